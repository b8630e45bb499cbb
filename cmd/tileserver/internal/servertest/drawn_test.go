//go:build !race

package servertest_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"
	"github.com/paulmach/orb/planar"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/quadkey"
)

// drawnAreas are polygons on the toy world, whose positions are none of its points'.
var drawnAreas = []orb.Geometry{
	orb.Polygon{{{4.017, 46.013}, {9.011, 46.019}, {7.03, 50.023}, {4.017, 46.013}}},
	orb.Polygon{{{-179.999, -89.999}, {179.999, -89.999}, {179.999, 89.999}, {-179.999, 89.999}, {-179.999, -89.999}},
		{{5.001, 47.003}, {5.001, 49.007}, {8.003, 48.009}, {5.001, 47.003}}},
	orb.MultiPolygon{{{{5.013, 47.017}, {6.019, 47.023}, {6.029, 48.031}, {5.013, 47.017}}}, {{{-10.007, -10.009}, {5.503, -10.011}, {5.507, 60.013}, {-10.007, -10.009}}}},
	orb.Polygon{{{30.003, 10.001}, {31.007, 10.009}, {31.011, 11.013}, {30.003, 10.001}}},
}

// In every layer of points, a question about a drawn area finds the features whose positions are in it: in the order of
// the layer, in pages, as one list, as a count, by an address, by a body and by CQL2.
func TestWithinDrawnAreas(t *testing.T) {
	w := servertest.NewWhole(t)
	read := func(res *http.Response) string {
		t.Helper()
		text := servertest.Body(t, res)
		if res.StatusCode != http.StatusOK && res.StatusCode != http.StatusNoContent {
			t.Fatalf("%s %s: %d %s", res.Request.Method, res.Request.URL, res.StatusCode, text)
		}
		return text
	}
	pages := func(ask func(cursor string) *http.Response) (ids []string, at []orb.Point) {
		t.Helper()
		for cursor := ""; ; {
			var doc struct {
				Features []*geojson.Feature
				Next     string
			}
			if err := json.Unmarshal([]byte(read(ask(cursor))), &doc); err != nil {
				t.Fatal(err)
			}
			for _, f := range doc.Features {
				ids, at = append(ids, fmt.Sprint(f.ID)), append(at, f.Point())
			}
			if doc.Next == "" {
				return ids, at
			}
			cursor = "&cursor=" + doc.Next
		}
	}
	for _, layer := range []string{"/places", "/airports", "/stations", "/points/shops"} {
		more := "&format=geojson"
		if layer == "/airports" {
			more += "&closed=true"
		}
		all, at := pages(func(cursor string) *http.Response {
			return w.Get(layer + "/within?bbox=-180,-90,180,90&limit=1000" + more + cursor)
		})
		count := strings.Replace(more, "&format=geojson", "", 1)
		for _, area := range drawnAreas {
			var want []string
			for i, p := range at {
				in := false
				switch g := area.(type) {
				case orb.Polygon:
					in = planar.PolygonContains(g, p)
				case orb.MultiPolygon:
					in = planar.MultiPolygonContains(g, p)
				}
				if in {
					want = append(want, all[i])
				}
			}
			feature := geojson.NewFeature(area)
			body, err := feature.MarshalJSON()
			if err != nil {
				t.Fatal(err)
			}
			for _, limit := range []int{7, 1000} {
				got, _ := pages(func(cursor string) *http.Response {
					return w.PostTo(fmt.Sprintf("%s/within?limit=%d%s%s", layer, limit, more, cursor), strings.NewReader(string(body)))
				})
				if !slices.Equal(got, want) {
					t.Errorf("%s in %v, by %d: %d, want %d", layer, area, limit, len(got), len(want))
				}
			}
			text := wktOf(area)
			got, _ := pages(func(cursor string) *http.Response {
				return w.Get(layer + "/within?limit=100&polygon=" + url.QueryEscape(text) + more + cursor)
			})
			if !slices.Equal(got, want) {
				t.Errorf("%s in %s: %d, want %d", layer, text, len(got), len(want))
			}
			if n := strings.Count(read(w.PostTo(layer+"/within?format=ndjson"+count, strings.NewReader(string(body)))), "\n"); n != len(want) {
				t.Errorf("%s in %s: %d lines, want %d", layer, text, n, len(want))
			}
			number := fmt.Sprintf(`{"count":%d}`, len(want))
			if got := read(w.PostTo(layer+"/count?"+count, strings.NewReader(string(body)))); got != number {
				t.Errorf("%s in %s: %s, want %s", layer, text, got, number)
			}
			name := strings.TrimPrefix(strings.Replace(layer, "/points/", "points:", 1), "/")
			var items struct{ NumberMatched, NumberReturned int }
			for operator, n := range map[string]int{"S_INTERSECTS": len(want), "S_WITHIN": len(want), "S_DISJOINT": len(all) - len(want)} {
				if name == "airports" || n > 1000 {
					continue // closed ones are in the collection
				}
				filter := operator + "(geometry, " + text + ")"
				if err := json.Unmarshal([]byte(read(w.Get("/ogc/collections/"+name+"/items?limit=1000&filter="+url.QueryEscape(filter)))), &items); err != nil {
					t.Fatal(err)
				}
				if items.NumberReturned != n {
					t.Errorf("%s by %s: %d, want %d", name, filter, items.NumberReturned, n)
				}
			}
		}
		if len(at) == 0 {
			continue
		}
		// A circle has what is nearby.
		circle := fmt.Sprintf("polygon=%v,%v&radius=100000", at[0].Lon(), at[0].Lat())
		n := 0
		for _, p := range at {
			if quadkey.Distance(at[0].Lon(), at[0].Lat(), p.Lon(), p.Lat()) <= 100_000 {
				n++
			}
		}
		if got, want := read(w.Get(layer+"/count?"+circle+count)), fmt.Sprintf(`{"count":%d}`, n); got != want {
			t.Errorf("%s in %s: %s, want %s", layer, circle, got, want)
		}
	}
}

// positionInBrackets matches a position as Go writes it.
var positionInBrackets = regexp.MustCompile(`\[([-0-9.e]+ [-0-9.e]+)\]`)

// wktOf returns polygons in WKT.
func wktOf(g orb.Geometry) string {
	text := fmt.Sprintf("POLYGON%v", g)
	if _, ok := g.(orb.MultiPolygon); ok {
		text = "MULTI" + text
	}
	// Go writes [[[1 2] [3 4]]], and WKT ((1 2,3 4)).
	text = strings.NewReplacer("] [", "],[").Replace(text)
	text = positionInBrackets.ReplaceAllString(text, "$1")
	return strings.NewReplacer("[", "(", "]", ")").Replace(text)
}

// Regions that share ground with a drawn area are listed and counted, with the ground that they share.
func TestRegionsInDrawnAreas(t *testing.T) {
	w := servertest.NewWhole(t)
	type region struct {
		Type, ID      string
		ShareOfArea   float64 `json:"share_of_area"`
		ShareOfRegion float64 `json:"share_of_region"`
		Shared        float64 `json:"shared_m2"`
	}
	ask := func(body string) (found map[string]region) {
		t.Helper()
		var doc struct{ Regions []region }
		res := w.PostTo("/regions/within?shares=true&limit=1000", strings.NewReader(body))
		if err := json.Unmarshal([]byte(servertest.Body(t, res)), &doc); err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res.StatusCode, err)
		}
		var number struct{ Count int }
		if err := json.Unmarshal([]byte(servertest.Body(t, w.PostTo("/regions/count", strings.NewReader(body)))), &number); err != nil ||
			number.Count != len(doc.Regions) {
			t.Errorf("%s: %d are counted, %d listed: %v", body, number.Count, len(doc.Regions), err)
		}
		found = map[string]region{}
		for _, r := range doc.Regions {
			found[r.Type+":"+r.ID] = r
		}
		return found
	}
	world := ask(`{"type":"Polygon","coordinates":[[[-180,-90],[180,-90],[180,90],[-180,90],[-180,-90]]]}`)
	if len(world) < 5 {
		t.Fatalf("only %v are in the world", world)
	}
	// A region that is asked by its own border is all of it, and its halves are the whole.
	for key, r := range world {
		typ, id, _ := strings.Cut(key, ":")
		var record struct {
			BBox     [4]float64
			Geometry json.RawMessage
		}
		if err := json.Unmarshal([]byte(servertest.Body(t, w.Get("/regions/"+typ+"/"+id+"?geometry=true"))), &record); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(record.Geometry), "Polygon") {
			continue
		}
		if own := ask(string(record.Geometry))[key]; own.ShareOfArea < 0.9999 || own.ShareOfRegion < 0.9999 || math.Abs(own.Shared/r.Shared-1) > 1e-4 {
			t.Errorf("%s in itself: %+v, and in the world %+v", key, own, r)
		}
		if b := record.BBox; r.ShareOfRegion != 1 {
			t.Errorf("%s in the world: %+v", key, r)
		} else if b[0] < b[2] {
			sum := 0.0
			middle := (b[1] + b[3]) / 2
			for _, half := range [][2]float64{{b[1], middle}, {middle, b[3]}} {
				box := fmt.Sprintf(`{"type":"Polygon","coordinates":[[[%v,%v],[%v,%v],[%v,%v],[%v,%v],[%v,%v]]]}`,
					b[0], half[0], b[2], half[0], b[2], half[1], b[0], half[1], b[0], half[0])
				sum += ask(box)[key].Shared
			}
			if math.Abs(sum/r.Shared-1) > 1e-4 {
				t.Errorf("%s: halves are %g m², the whole %g", key, sum, r.Shared)
			}
		}
	}
	for body, want := range map[string]int{
		`{"type":"Point","coordinates":[1,2]}`: 400, `{"type":"Polygon","coordinates":[[[0,0],[1,1],[2,2],[0,0]]]}`: 400,
		`{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1]]]}`: 400, `{"type":"Polygon","coordinates":[[[0,null],[1,0],[1,1],[0,null]]]}`: 400,
		`{"type":"Polygon","coordinates":[[[47,120],[48,120],[48,121],[47,120]]]}`: 400, `{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]}`: 200,
		`{"type":"FeatureCollection","features":[]}`: 400, `null`: 400, `[]`: 400, `{"type":"Polygon"}`: 400, strings.Repeat("[", 1<<20): 400,
		`{"type":"LineString","coordinates":[` + strings.Repeat("[1,2],", 200_001) + `[1,3]]}`: 400, strings.Repeat(" ", 5<<20): 413,
		`{"type":"Polygon","coordinates":[[[0,0],[1e999,0],[1,1],[0,0]]]}`: 400, `{"type":"Polygon","coordinates":[[[0,0],[NaN,0],[1,1],[0,0]]]}`: 400,
		`{"type":"Polygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]]]}`: 400, strings.Repeat(`{"type":"Feature","geometry":`, 5000) + "{}" + strings.Repeat("}", 5000): 400,
	} {
		if res := w.PostTo("/regions/count", strings.NewReader(body)); res.StatusCode != want {
			t.Errorf("%.80s: %d %s", body, res.StatusCode, servertest.Body(t, res))
		}
	}
}

// Questions by POST are not kept, and do not tell whether a private collection exists.
func TestDrawnAreasArePrivate(t *testing.T) {
	w := servertest.NewShops(t)
	const body = `{"type":"Polygon","coordinates":[[[-180,-90],[180,-90],[180,90],[-180,90],[-180,-90]]]}`
	for _, path := range []string{"/points/shops/within", "/points/shops/count", "/places/within", "/regions/within", "/regions/count"} {
		res := w.PostTo(path, strings.NewReader(body))
		if h := res.Header; res.StatusCode != http.StatusOK || h.Get("Etag") != "" || h.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", path, res.StatusCode, h)
		}
	}
	if res := w.Get("/points/shops/count?polygon=0,0,1,0,1,1"); res.Header.Get("Etag") == "" {
		t.Errorf("an answer that its address tells may not be kept: %v", res.Header)
	}
	for _, path := range []string{"/within", "/count"} {
		secret := servertest.WantProblem(t, w.PostTo("/points/secret"+path, strings.NewReader(body)), http.StatusNotFound, "collection-not-found")
		none := servertest.WantProblem(t, w.PostTo("/points/nonesuch"+path, strings.NewReader(body)), http.StatusNotFound, "collection-not-found")
		if strings.ReplaceAll(secret.Detail, "secret", "nonesuch") != none.Detail {
			t.Errorf("%s: %q and %q", path, secret.Detail, none.Detail)
		}
	}
}

// CQL2 compares regions with polygons as a whole, too, and refuses what it cannot compare.
func TestRegionsByDrawnFilters(t *testing.T) {
	w := servertest.NewWhole(t)
	const world = "POLYGON((-180 -90, 0 -90, 180 -90, 180 90, -180 90, -180 -90))"
	all := strings.Count(servertest.Body(t, w.Get("/ogc/collections/country/items?f=ndjson&limit=1000")), "\n")
	for filter, want := range map[string]int{
		"S_WITHIN(geometry, " + world + ")": all, "S_INTERSECTS(geometry, " + world + ")": all, "S_DISJOINT(geometry, " + world + ")": 0,
		"S_WITHIN(geometry, POLYGON((5 47, 5.1 47, 5 47.1, 5 47)))":                0,
		"id = 'none' OR NOT S_WITHIN(geometry, BBOX(-180, -90, 180, 90))":          0,
		"S_DWITHIN(geometry, POINT(5 47), 10)":                                     1,
		"S_INTERSECTS(geometry, LINESTRING(5 47, 6 48))":                           2,
		"S_DISJOINT(geometry, LINESTRING(5 47, 6 48))":                             all - 2,
		"S_WITHIN(geometry, LINESTRING(5 47, 6 48))":                               0,
		"S_DWITHIN(geometry, POINT(5 47), 20000000)":                               all,
		"S_DWITHIN(geometry, MULTIPOINT((5 47), (0 -90)), 3, FEET)":                -1,
		"S_INTERSECTS(geometry, POLYGON((5 47, 6 47, 7 47, 5 47)))":                -1,
		"S_INTERSECTS(geometry, POLYGON((5 47, 6 47, 7 49)))":                      -1,
		"S_INTERSECTS(geometry, POLYGON((5 47, 5.2 47, 5.3 49, 5 47))) AND id='x'": 0,
	} {
		res := w.Get("/ogc/collections/country/items?f=ndjson&limit=1000&filter=" + url.QueryEscape(filter))
		text := servertest.Body(t, res)
		if want < 0 && res.StatusCode != http.StatusBadRequest || want >= 0 && strings.Count(text, "\n") != want {
			t.Errorf("%s: %d %.300s, want %d", filter, res.StatusCode, text, want)
		}
	}
}

// Regions along a line are those within a distance of it, in lists, counts and filters alike.
func TestRegionsAlongALine(t *testing.T) {
	w := servertest.NewWhole(t)
	const line = `{"type":"LineString","coordinates":[[5,47],[5.5,48]]}`
	counted := func(res *http.Response) int {
		t.Helper()
		var c struct{ Count int }
		if err := json.Unmarshal([]byte(servertest.Body(t, res)), &c); err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res.StatusCode, err)
		}
		return c.Count
	}
	most := 0
	for _, radius := range []string{"1", "50000", "500000", "20000000"} {
		n := counted(w.PostTo("/regions/count?types=country&radius="+radius, strings.NewReader(line)))
		if n < most || n == 0 {
			t.Errorf("within %s m are %d regions, and %d are nearer", radius, n, most)
		}
		most = n
		list := w.PostTo("/regions/within?types=country&format=ndjson&skipGeometry=true&limit=1000&radius="+radius, strings.NewReader(line))
		if got := strings.Count(servertest.Body(t, list), "\n"); got != n {
			t.Errorf("%d regions within %s m are listed, and %d counted", got, radius, n)
		}
		if got := counted(w.Get("/regions/count?types=country&polygon=5,47,5.5,48&radius=" + radius)); got != n {
			t.Errorf("%d regions within %s m by an address, %d by a body", got, radius, n)
		}
		filter := url.QueryEscape("S_DWITHIN(geometry, LINESTRING(5 47, 5.5 48), " + radius + ", meters)")
		if got := counted(w.Get("/ogc/collections/country/count?filter=" + filter)); got != n {
			t.Errorf("%d regions within %s m by a filter, %d by a body", got, radius, n)
		}
	}
	servertest.WantProblem(t, w.PostTo("/regions/within?radius=5&shares=true", strings.NewReader(line)), http.StatusBadRequest, "bad-parameter")
	servertest.WantProblem(t, w.PostTo("/regions/count", strings.NewReader(line)), http.StatusBadRequest, "bad-parameter")
}
