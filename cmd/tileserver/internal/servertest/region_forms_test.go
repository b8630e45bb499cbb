//go:build !race

package servertest_test

import (
	"encoding/csv"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
)

// Regions are the same in every form and on every page, with their borders if these are requested.
func TestRegionsWithinInForms(t *testing.T) {
	w := servertest.NewWorld(t)
	const path = "/regions/within?bbox=-180,-90,180,90"
	want := regions(w, path+"&limit=1000").Regions
	if len(want) < 4 {
		t.Fatalf("%d regions", len(want))
	}
	type collection struct {
		Features []struct {
			ID         any
			Geometry   *struct{ Type string }
			Properties struct {
				Type, ID string
				BBox     [4]float64
			}
		}
		Next string
	}
	var page collection
	if err := json.Unmarshal([]byte(servertest.Body(t, w.Get(path+"&format=geojson&limit=1000"))), &page); err != nil ||
		len(page.Features) != len(want) {
		t.Fatalf("%v, %d features", err, len(page.Features))
	}
	for i, f := range page.Features {
		if f.Geometry == nil || f.Properties.Type != want[i].Type || f.Properties.ID != want[i].ID ||
			f.Properties.BBox != want[i].BBox || f.ID != nil {
			t.Errorf("%+v, want %+v with a border", f, want[i])
		}
	}
	if text := servertest.Body(t, w.Get(path+"&format=geojson&skipGeometry=true")); strings.Contains(text, "coordinates") ||
		!strings.Contains(text, `"geometry":null`) {
		t.Errorf("without geometries: %.300s", text)
	}
	for _, columns := range []struct{ query, names string }{
		{"", "id,name,bbox,iso,map_color,type,lat,lon,wkt"},
		{"&skipGeometry=true", "id,name,bbox,iso,map_color,type"},
		{"&skipGeometry=true&properties=iso,name,bbox", "id,name,bbox,iso,type"},
	} {
		var all [][]string
		next := path + "&format=csv&limit=2" + columns.query
		for next != "" {
			res := w.Get(next)
			rows, err := csv.NewReader(strings.NewReader(servertest.Body(t, res))).ReadAll()
			if err != nil || strings.Join(rows[0], ",") != columns.names {
				t.Fatalf("%s: %v %q", next, err, rows)
			}
			all = append(all, rows[1:]...)
			next, _, _ = strings.Cut(strings.TrimPrefix(res.Header.Get("Link"), "<http://example.com"), ">")
		}
		if len(all) != len(want) {
			t.Fatalf("%d rows, want %d", len(all), len(want))
		}
		for i, row := range all {
			cell := func(name string) string { return row[slices.Index(strings.Split(columns.names, ","), name)] }
			if row[0] != want[i].ID || cell("type") != want[i].Type || cell("iso") == "" && want[i].Type == "country" ||
				columns.query == "" && !strings.Contains(cell("wkt"), "POLYGON((") {
				t.Errorf("%q, want %+v", row, want[i])
			}
		}
	}
	if text := servertest.Body(t, w.Get(path+"&format=ndjson&types=country")); strings.Count(text, "\n") < 2 ||
		strings.Count(text, `"type":"country"`) != strings.Count(text, "\n") {
		t.Errorf("lines: %.300s", text)
	}
	for query, has := range map[string]bool{"": false, "&properties=iso": true, "&format=geojson": false, "&format=geojson&properties=iso": true} {
		near := "/regions/nearby?lat=47&lon=5&types=country"
		for _, path := range []string{path + query, near + query} {
			if text := servertest.Body(t, w.Get(path)); strings.Contains(text, `,"iso":"`) != has || strings.Contains(text, "map_color") {
				t.Errorf("%s: %.300s", path, text)
			}
		}
	}
	for _, query := range []string{"&properties=none", "&types=country&id=wl&properties=iso"} {
		servertest.WantProblem(t, w.Get(path+query), http.StatusBadRequest, "bad-parameter")
	}
	servertest.WantProblem(t, w.Get(path+"&types=country&id=wl&format=csv"), http.StatusBadRequest, "bad-parameter")
	servertest.WantProblem(t, w.Get(path+"&format=xml"), http.StatusBadRequest, "bad-parameter")
}
