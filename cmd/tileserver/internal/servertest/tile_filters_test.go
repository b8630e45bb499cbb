package servertest_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/cmd/tileserver/internal/tile"
	"quadrille/places/live"
	"quadrille/tiles/build"
)

// Tiles, their documents and pictures take the filters of lists: each tile has only what passes, and
// clusters are counted and listed with the filter.
func TestFilteredTiles(t *testing.T) {
	w := servertest.NewShops(t)
	count := func(path string) int {
		t.Helper()
		var n struct{ Count int }
		if err := json.Unmarshal([]byte(servertest.Body(t, w.Get(path))), &n); err != nil {
			t.Fatal(path, err)
		}
		return n.Count
	}
	const filter = "category=cafe&price.lt=20"
	want, all := count("/points/shops/count?"+filter), count("/points/shops/count")
	if want == 0 || want == all {
		t.Fatalf("%d of %d pass", want, all)
	}
	for z := range 4 {
		sum, json := 0, 0
		for x := range 1 << z {
			for y := range 1 << z {
				at := fmt.Sprintf("/%d/%d/%d", z, x, y)
				single, clustered := pointsOf(t, servertest.Body(t, w.Get("/tiles/points:shops"+at+".mvt?"+filter)), "points:shops")
				sum += single + clustered
				for _, f := range featuresOf(t, w, "/tiles/points:shops"+at+".geojson?"+filter) {
					if !f.Properties.Cluster {
						json++
						continue
					}
					json += f.Properties.Count
					if z == 2 {
						listed := featuresOf(t, w, "/points/shops/cluster/"+f.Properties.ID+"?format=geojson&limit=1000&"+filter)
						if len(listed) != f.Properties.Count {
							t.Errorf("cluster %s says %d and has %d", f.Properties.ID, f.Properties.Count, len(listed))
						}
						for _, other := range []string{"", "?category=bakery"} {
							servertest.WantProblem(t, w.Get("/points/shops/cluster/"+f.Properties.ID+other), http.StatusNotFound, "cluster-not-found")
						}
					}
				}
			}
		}
		if sum != want || json != want {
			t.Errorf("zoom %d: %d and %d are shown, %d pass", z, sum, json, want)
		}
	}

	// The same filter in another order is the same tile; another filter is another.
	tag := func(path string) string { return w.Get(path).Header.Get("ETag") }
	const at = "/tiles/points:shops/0/0/0.mvt?"
	if a, b := tag(at+filter), tag(at+"price.lt=20.0&category=cafe"); a != b || a == "" {
		t.Errorf("tags %q and %q of one filter", a, b)
	}
	seen := map[string]bool{tag(at): true}
	for _, other := range []string{"category=cafe", "category=bakery", "category=cafe,bakery", "category=cafe%5C,bakery", "category.ne=cafe"} {
		if one := tag(at + other); seen[one] {
			t.Errorf("the tag of %s is that of another filter", other)
		} else {
			seen[one] = true
		}
	}

	// Documents lead to filtered tiles.
	const encoded = "category=cafe&price.lt=20"
	for path, part := range map[string]string{
		"/tiles/points:shops.json?" + filter:                                   "/{z}/{x}/{y}.mvt?" + encoded,
		"/tiles/country,points:shops.mlt.json?" + filter:                       "/{z}/{x}/{y}.mlt?" + encoded,
		"/tiles/points:shops.png.json?theme=dark&" + filter:                    ".png?theme=dark&" + encoded,
		"/tiles/points:shops.json?name.prefix=" + url.QueryEscape("é&{x}"):     ".mvt?name.prefix=%C3%A9%26%7Bx%7D",
		"/style.json?layers=country,points:shops&" + filter:                    "/tiles/points:shops.json?pixels=512&" + encoded,
		"/ogc/collections/points:shops/tiles/WebMercatorQuad?f=json&" + filter: "?f=mvt&" + encoded,
	} {
		var doc any
		text := servertest.Body(t, w.Get(path))
		if err := json.Unmarshal([]byte(text), &doc); err != nil {
			t.Fatal(path, err)
		}
		text = strings.ReplaceAll(text, `\u0026`, "&")
		if !strings.Contains(text, part) {
			t.Errorf("%s has no %s: %.2000s", path, part, text)
		}
		if strings.Contains(path, "country,points") && strings.Contains(text, "/tiles/country.json?category") {
			t.Errorf("%s filters regions: %s", path, text)
		}
	}
	single, clustered := pointsOf(t, servertest.Body(t, w.Get("/ogc/collections/points:shops/tiles/WebMercatorQuad/0/0/0?f=mvt&"+filter)), "points:shops")
	if single+clustered != want {
		t.Errorf("a tile of OGC API shows %d of %d", single+clustered, want)
	}
	var pinned struct{ Tiles []string }
	if err := json.Unmarshal([]byte(servertest.Body(t, w.Get("/tiles/places.json?pinned=true&code=PPLC"))), &pinned); err != nil {
		t.Fatal(err)
	}
	address := strings.NewReplacer("{z}", "3", "{x}", "4", "{y}", "2").Replace(pinned.Tiles[0][strings.Index(pinned.Tiles[0], "/g/"):])
	if !strings.HasSuffix(address, "?code=PPLC") || tag(address) == tag(strings.TrimSuffix(address, "?code=PPLC")) {
		t.Errorf("the pinned address %s is not filtered", address)
	}
	whole, some := servertest.Body(t, w.Get("/tiles/points:shops/0/0/0.png")), servertest.Body(t, w.Get("/tiles/points:shops/0/0/0.png?category=zoo"))
	if whole == some {
		t.Error("a picture is not filtered")
	}

	// Live layers are filtered beside others, as they are now.
	single, clustered = pointsOf(t, servertest.Body(t, w.Get("/tiles/country,points:drivers/0/0/0.mvt?category=cafe")), "points:drivers")
	if single != 1 || clustered != 0 {
		t.Errorf("%d live points and %d in clusters, 1 passes", single, clustered)
	}
	for _, f := range featuresOf(t, w, "/tiles/places/3/4/2.geojson?code=PPLC") {
		if f.Properties.Code != "PPLC" {
			t.Errorf("a place of the code %s", f.Properties.Code)
		}
	}

	// A filter for one layer alone leaves the others whole, in tiles, in the addresses of a style and in counts.
	const both = "/tiles/points:shops,points:drivers/0/0/0.mvt?points:shops.category=cafe&points:shops.price.lt=20"
	single, clustered = pointsOf(t, servertest.Body(t, w.Get(both)), "points:shops")
	liveSingle, liveClustered := pointsOf(t, servertest.Body(t, w.Get(both)), "points:drivers")
	if single+clustered != want || liveSingle+liveClustered != 2 {
		t.Errorf("%d of %d shops and %d of 2 drivers pass", single+clustered, want, liveSingle+liveClustered)
	}
	style := strings.ReplaceAll(servertest.Body(t, w.Get("/style.json?layers=points:shops,points:drivers&points:shops.price=3")), `\u0026`, "&")
	if !strings.Contains(style, "/tiles/points:shops.json?pixels=512&points%3Ashops.price=3") ||
		strings.Contains(style, "/tiles/points:drivers.json?pixels=512&points") {
		t.Errorf("a style does not filter one layer alone: %s", style)
	}
	if got := count("/points/shops/count?points:shops.category=cafe&points:shops.price.lt=20"); got != want {
		t.Errorf("%d are counted, want %d", got, want)
	}

	for path, detail := range map[string]string{
		"/tiles/points:shops/0/0/0.mvt?points:drivers.category=cafe":  "Unknown parameter points:drivers.category",
		"/tiles/points:shops/0/0/0.mvt?points:shops.categori=cafe":    "it names no property of points:shops",
		"/tiles/country/0/0/0.mvt?category=cafe":                      "it names no property of country",
		"/tiles/points:shops/0/0/0.mvt?categori=cafe":                 "it names no property of points:shops",
		"/tiles/points:shops/0/0/0.mvt?price.lt=cheap":                "The filter cannot be used",
		"/tiles/points:shops,points:drivers/0/0/0.mvt?stars=1":        "it names no property of points:drivers",
		"/tiles/points:shops.json?pined=true":                         "did you mean pinned?",
		"/style.json?layers=points:shops&category=cafe&category=shop": "Give category once",
	} {
		if p := servertest.WantProblem(t, w.Get(path), http.StatusBadRequest, "bad-parameter"); !strings.Contains(p.Detail, detail) {
			t.Errorf("%s: %s", path, p.Detail)
		}
	}
}

// Tiles of regions have those that pass, by every address that leads to them. Other layers are the ground.
func TestFilteredRegions(t *testing.T) {
	f := servertest.New(t, nil)
	land := build.Layer{Type: "country", Features: []build.Feature{servertest.Region("wl", "Land", -5, -5, 25, 5)}}
	f.PublishRows(servertest.Regions(districts(), land))
	get := func(path string) string {
		t.Helper()
		res := f.Get(path)
		text := servertest.Body(t, res)
		if res.StatusCode != 200 {
			t.Fatalf("%s: %d %s", path, res.StatusCode, text)
		}
		return text
	}
	for _, tc := range []struct {
		filter string
		passes func(i int) bool
	}{
		{"turnover.gt=10", func(i int) bool { return i%5 > 0 && i > 6 }},
		{"turnover=3,4.50", func(i int) bool { return i == 2 || i == 3 }},
		{"-turnover=", func(i int) bool { return i%5 == 0 }},
		{"id=d3,D4", func(i int) bool { return i == 3 || i == 4 }},
		{"district.id=d3,D4", func(i int) bool { return i == 3 || i == 4 }}, // of this layer alone
		{"a%2Cb=red&turnover.lte=20", func(i int) bool { return i%3 == 0 && i%5 > 0 && i < 14 }},
	} {
		want := map[string]bool{}
		for i := range 20 {
			if tc.passes(i) {
				want[fmt.Sprint("d", i)] = true
			}
		}
		var doc struct{ Tiles []string }
		if err := json.Unmarshal([]byte(get("/tiles/country,district.json?pinned=true&"+tc.filter)), &doc); err != nil {
			t.Fatal(err)
		}
		pinned := strings.NewReplacer("{z}", "4", "{x}", "8", "{y}", "7").Replace(doc.Tiles[0])
		for _, path := range []string{
			"/tiles/country,district/4/8/7.mvt?" + tc.filter, "/tiles/district/4/8/7.mvt?fields=turnover&" + tc.filter,
			"/ogc/collections/district/tiles/WebMercatorQuad/4/7/8?f=mvt&" + tc.filter, pinned[strings.Index(pinned, "/g/"):],
		} {
			tile := get(path)
			got := map[string]bool{}
			for _, layer := range []string{"district", "district_line", "district_label"} {
				for _, all := range fieldsOf(t, tile, layer) {
					for _, key := range []string{"id", "left", "right", "region"} {
						if id, is := all[key].(string); is {
							got[id] = true
						}
					}
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("%s has %v, want %v", path, got, want)
			}
			if ground := fieldsOf(t, tile, "country"); tc.filter != "id=d3,D4" && strings.Contains(path, "country") != (len(ground) == 1) {
				t.Errorf("%s has %d countries", path, len(ground))
			}
		}
		var all struct {
			Features []struct{ Properties struct{ ID, Type string } }
		}
		if err := json.Unmarshal([]byte(get("/tiles/district/4/8/7.geojson?"+tc.filter)), &all); err != nil || len(all.Features) != len(want) {
			t.Errorf("GeoJSON has %v, %v", all, err)
		}
		if a, b := get("/tiles/district/4/8/7.png?"+tc.filter), get("/tiles/district/4/8/7.png"); a == b {
			t.Errorf("%s: the picture is not filtered", tc.filter)
		}
		if a, b := get("/tiles/district/4/8/7.mlt?"+tc.filter), get("/tiles/district/4/8/7.mlt"); a == b {
			t.Errorf("%s: the MapLibre tile is not filtered", tc.filter)
		}
		// The style leads to filtered tiles, and its legend counts what passes.
		var s tile.MapStyle
		if err := json.Unmarshal([]byte(get("/style.json?layers=country,district&color=district.a%2Cb&"+tc.filter)), &s); err != nil {
			t.Fatal(err)
		}
		count := 0
		for _, class := range s.Metadata.Legend.Classes {
			count += class.Count
		}
		if count != len(want) || !strings.Contains(s.Sources["quadrille"].URL, strings.Split(tc.filter, "=")[0]) {
			t.Errorf("%s: %d in the legend, want %d; %+v", tc.filter, count, len(want), s.Sources)
		}
		get("/static/country,district.png?center=0,10&zoom=4&color=district.turnover&" + tc.filter)
	}
	tag := func(query string) string { return f.Get("/tiles/district/4/8/7.mvt?" + query).Header.Get("ETag") }
	if a, b := tag("turnover=3,6"), tag("turnover=6.0,3"); a != b || a == tag("turnover=3") || a == tag("") {
		t.Errorf("tags %q and %q of one filter", a, b)
	}
	const none = "?turnover.gt=1000"
	if a, b := f.Get("/tiles/district/4/8/7.mvt"+none), f.Get("/tiles/district/4/8/7.png"+none); a.StatusCode != 204 || b.StatusCode != 200 {
		t.Errorf("nothing passes: %d, %d", a.StatusCode, b.StatusCode)
	}
	for query, detail := range map[string]string{
		"turnovr.gt=5":     "did you mean the property turnover?",
		"turnover.gt=much": "The filter cannot be used",
		"sales.turnover=1": "it names no property of",
	} {
		for _, form := range []string{"/tiles/district/4/8/7.mvt?", "/tiles/country,district/4/8/7.png?", "/tiles/district.json?",
			"/style.json?layers=district&", "/static/district.png?center=0,0&zoom=4&"} {
			p := servertest.WantProblem(t, f.Get(form+query), 400, "bad-parameter")
			if !strings.Contains(p.Detail, detail) && !strings.Contains(form, "country") {
				t.Errorf("%s%s: %s", form, query, p.Detail)
			}
		}
	}
}

// A filter takes values of collections whose ids are those of regions: as they are now, if they are live.
func TestRegionsFilteredByCollections(t *testing.T) {
	w, cars := servertest.NewCollections(t)
	countries := func() (ids []string) {
		t.Helper()
		for _, of := range fieldsOf(t, servertest.Body(t, w.Get("/tiles/country/0/0/0.mvt?cars.speed.gt=5&cars.speed.lt=9")), "country") {
			ids = append(ids, of["id"].(string))
		}
		return ids
	}
	for speed, want := range map[string]int{"4": 0, "7": 1, "8.5": 1} {
		write := []live.Write{{Kind: live.Put, ID: "WL", Lat: 1, Lon: 20, Properties: []byte(`{"speed":` + speed + `}`)}}
		if err := cars.Write(t.Context(), write, make([]live.Outcome, 1)); err != nil {
			t.Fatal(err)
		}
		if got := countries(); len(got) != want || want == 1 && got[0] != "wl" {
			t.Errorf("speed %s: %q", speed, got)
		}
	}
	if res := w.Get("/tiles/country/0/0/0.png?cars.speed.gt=1"); res.Header.Get("Cache-Control") != "no-store" || res.StatusCode != 200 {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	tag := func(query string) string { return w.Get("/tiles/country/0/0/0.mvt" + query).Header.Get("ETag") }
	if one := tag("?has=shops.stars"); one == "" || one == tag("") {
		t.Errorf("the tag %q", one)
	}
	text := servertest.Body(t, w.Get("/tiles/country.json?pinned=true&shops.stars.gt=3"))
	if strings.Contains(text, "/g/") || !strings.Contains(text, "shops.stars.gt=3") {
		t.Errorf("pinned: %s", text)
	}
	servertest.WantProblem(t, w.Get("/tiles/country/0/0/0.mvt?secret.stars=1"), 400, "bad-parameter")
}

type tileFeature struct {
	Properties struct {
		Cluster bool
		Code    string
		ID      string `json:"cluster_id"`
		Count   int    `json:"point_count"`
	}
}

func featuresOf(t *testing.T, w *servertest.Shops, path string) []tileFeature {
	t.Helper()
	var all struct{ Features []tileFeature }
	if err := json.Unmarshal([]byte(servertest.Body(t, w.Get(path))), &all); err != nil {
		t.Fatal(path, err)
	}
	return all.Features
}

// The pass over all points for the first tile with a filter takes a heavy place. Later tiles need
// none.
func TestFirstFilteredTileIsHeavy(t *testing.T) {
	w := servertest.NewShops(t)
	free := servertest.FillHeavy(w.Composed)
	const tile = "/tiles/points:shops/%d/0/0.mvt?category=zoo"
	servertest.WantProblem(t, w.Get(fmt.Sprintf(tile, 0)), http.StatusServiceUnavailable, "too-busy")
	free()
	servertest.Body(t, w.Get(fmt.Sprintf(tile, 0)))
	defer servertest.FillHeavy(w.Composed)()
	servertest.Body(t, w.Get(fmt.Sprintf(tile, 1)))
}
