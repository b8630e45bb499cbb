package servertest_test

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/collection"
	"quadrille/cmd/tileserver/internal/layers"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/feature"
	"quadrille/internal/testrace"
	"quadrille/places/live"
	"quadrille/quadkey"
)

// shopAnswer is a page of points, in JSON or GeoJSON.
type shopAnswer struct {
	Type     string
	Points   []shopPoint
	Features []shopPoint
	Next     string
}

type shopPoint struct {
	Type       string
	ID         string
	Lat, Lon   float64
	Geometry   struct{ Coordinates [2]float64 }
	Collection string
	Distance   *float64 `json:"distance_m"`
	Version    int64
	Properties map[string]any
}

// answer reads a page.
func answer(w *servertest.Shops, path string) (a shopAnswer) {
	w.T.Helper()
	res := w.Get(path)
	text := servertest.Body(w.T, res)
	if res.StatusCode != http.StatusOK {
		w.T.Fatalf("%s: %d %s", path, res.StatusCode, text)
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		w.T.Fatalf("%s: %v in %s", path, err, text)
	}
	for _, f := range a.Features {
		f.Lon, f.Lat = f.Geometry.Coordinates[0], f.Geometry.Coordinates[1]
		a.Points = append(a.Points, f)
	}
	return a
}

// lines requests path and parses the NDJSON response.
func lines(w *servertest.Shops, path string) (list []shopPoint) {
	w.T.Helper()
	res := w.Get(path)
	text := servertest.Body(w.T, res)
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "application/x-ndjson" ||
		res.Header.Get("Cache-Control") != "no-store" {
		w.T.Fatalf("%s: %d %v %s", path, res.StatusCode, res.Header, text)
	}
	for line := range strings.Lines(text) {
		var p shopPoint
		if err := json.Unmarshal([]byte(line), &p); err != nil || p.Type != "Feature" {
			w.T.Fatalf("%s: %v in %s", path, err, line)
		}
		list = append(list, p)
	}
	return list
}

func idsOf(list []shopPoint) (ids []string) {
	for _, p := range list {
		ids = append(ids, p.ID)
	}
	return ids
}

// published returns the collection that is published.
func published(w *servertest.Shops) ask.Collection {
	h, err := w.Published.Acquire()
	if err != nil {
		w.T.Fatal(err)
	}
	w.T.Cleanup(h.Release)
	return h.Value()
}

// page returns a page as the collection itself lists it.
func page(w *servertest.Shops, c ask.Collection, q feature.Query, limit int, cursor string) (page []feature.Feature, next string) {
	w.T.Helper()
	err := q.Continue(c.Info(), cursor)
	if err == nil {
		next, err = feature.Page(w.T.Context(), c, q, limit, func(f *feature.Feature) error {
			page = append(page, f.Clone())
			return nil
		})
	}
	if err != nil {
		w.T.Fatal(err)
	}
	return page, next
}

// same compares a page with the list of the collection itself.
func same(w *servertest.Shops, path string, got shopAnswer, hits []feature.Feature, near bool) {
	w.T.Helper()
	if len(got.Points) != len(hits) {
		w.T.Fatalf("%s: %d points, want %d", path, len(got.Points), len(hits))
	}
	for i, h := range hits {
		p := got.Points[i]
		var properties map[string]any
		if err := json.Unmarshal(append(h.Properties.AppendMembers([]byte{'{'}), '}'), &properties); err != nil {
			w.T.Fatal(err)
		}
		want := fmt.Sprintf("%.1f", h.DistanceM)
		if p.ID != h.ID || p.Lat != h.Lat || p.Lon != h.Lon || p.Version != h.Version || fmt.Sprint(p.Properties) != fmt.Sprint(properties) ||
			(p.Distance != nil) != near || near && fmt.Sprintf("%.1f", *p.Distance) != want {
			w.T.Fatalf("%s: point %d is %+v, want %+v", path, i, p, h)
		}
	}
}

// shopFilters has filters as parameters, and the shops that pass them.
var shopFilters = []struct {
	query  string
	passes func(p map[string]any) bool
}{
	{"", func(map[string]any) bool { return true }},
	{"category=cafe", func(p map[string]any) bool { return p["category"] == "cafe" }},
	{"category=zoo,bakery&price.lt=20", func(p map[string]any) bool { return p["category"] != "cafe" && p["price"].(float64) < 20 }},
	{"-open=", func(p map[string]any) bool { return p["open"] == false }},
	{"p.limit=3&open=true", func(p map[string]any) bool { return p["limit"] == 3.0 && p["open"] == true }},
	{"since.gte=2020-01-01", func(p map[string]any) bool { return p["since"].(string) >= "2020" }},
	{"name.prefix=Shop%20%3C1", func(p map[string]any) bool { return strings.HasPrefix(p["name"].(string), "Shop <1") }},
	{"has=price,open&p.category.ne=zoo", func(p map[string]any) bool { return p["category"] != "zoo" }},
}

// The served answers equal those of the collection itself, in all forms and on every page.
func TestCollectionAnswers(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := servertest.NewShops(t)
	c := published(w)
	r := rand.New(rand.NewPCG(9, 9))
	for i, f := range shopFilters {
		var terms []feature.Term
		for part := range strings.SplitSeq(f.query, "&") {
			if name, value, ok := strings.Cut(part, "="); ok {
				value, _ = url.QueryUnescape(value)
				term, err := c.Meta().Schema.ParseTerm(strings.TrimPrefix(name, "p."), value)
				if err != nil {
					t.Fatal(err)
				}
				terms = append(terms, term)
			}
		}
		filter, err := feature.ParseFilter(c.Meta().Schema, terms)
		if err != nil {
			t.Fatal(err)
		}
		form := [...]string{"json", "geojson"}[i%2]
		near := &feature.Near{Position: quadkey.Position{Lat: 46 + 4*r.Float64(), Lon: 4 + 4*r.Float64()}, MaxM: 200_000, MinM: 1000}
		cursor := ""
		path := fmt.Sprintf("/points/shops/nearby?lat=%v&lon=%v&radius=200000&min_radius=1000&limit=7&format=%s&%s", near.Lat,
			near.Lon, form, f.query)
		for range 4 {
			hits, next := page(w, c, feature.Query{Near: near, Filter: filter}, 7, cursor)
			got := answer(w, path+cursorOf(cursor))
			same(w, path, got, hits, true)
			if got.Next != next {
				t.Fatalf("%s: the cursor is %q, want %q", path, got.Next, next)
			}
			if cursor = next; next == "" {
				break
			}
		}
		box := quadkey.Box{West: 4 + r.Float64(), South: 46 + r.Float64(), East: 6 + r.Float64(), North: 48 + r.Float64()}
		for sort, by := range map[string]feature.Sort{
			"":             {},
			"&sort=-price": {Field: feature.Field{Name: "price", Kind: feature.Number}, Descending: true},
			"&sort=since":  {Field: feature.Field{Name: "since", Kind: feature.Time}},
		} {
			path := fmt.Sprintf("/points/shops/within?bbox=%v,%v,%v,%v&limit=100&format=%s&%s%s", box.West, box.South, box.East,
				box.North, form, f.query, sort)
			query := feature.Query{In: feature.Box(box), Filter: filter, Order: feature.Order{Sort: by}}
			hits, next := page(w, c, query, 100, "")
			got := answer(w, path)
			same(w, path, got, hits, false)
			if (got.Next == "") != (next == "") {
				t.Errorf("%s: next is %q", path, got.Next)
			}
			for got.Next != "" && sort != "" {
				hits, next = page(w, c, query, 100, next)
				got = answer(w, path+cursorOf(got.Next))
				same(w, path, got, hits, false)
			}
		}
		// Lines and counts include all points; the test finds them without the collection.
		var want []string
		total := 0
		for p := range toyworld.EachShop(servertest.ShopNumber) {
			var properties map[string]any
			if err := json.Unmarshal(p.Properties, &properties); err != nil {
				t.Fatal(err)
			}
			if f.passes(properties) {
				if total++; box.Contains(p.Lon, p.Lat) {
					want = append(want, p.ID)
				}
			}
		}
		area := fmt.Sprintf("bbox=%v,%v,%v,%v&%s", box.West, box.South, box.East, box.North, f.query)
		got := idsOf(lines(w, "/points/shops/within?format=ndjson&"+area))
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %d lines, want %d", area, len(got), len(want))
		}
		if text := servertest.Body(t, w.Get("/points/shops/count?"+area)); text != fmt.Sprintf(`{"count":%d}`, len(want)) {
			t.Errorf("%s: %s, want %d", area, text, len(want))
		}
		if text := servertest.Body(t, w.Get("/points/shops/count?"+f.query)); text != fmt.Sprintf(`{"count":%d}`, total) {
			t.Errorf("%s: %s, want %d", f.query, text, total)
		}
	}
}

func cursorOf(cursor string) string {
	if cursor == "" {
		return ""
	}
	return "&cursor=" + url.QueryEscape(cursor)
}

// TestCollectionRegions tests that the search for the points in a region finds exactly those for
// which /regions/at returns this region.
func TestCollectionRegions(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := servertest.NewShops(t)
	inside := map[string][]string{}
	all := lines(w, "/points/shops/within?bbox=-180,-90,180,90&format=ndjson")
	if len(all) != servertest.ShopNumber {
		t.Fatalf("%d points", len(all))
	}
	for _, p := range all {
		var doc struct{ Regions []struct{ Type, ID string } }
		path := fmt.Sprintf("/regions/at?lat=%v&lon=%v", p.Geometry.Coordinates[1], p.Geometry.Coordinates[0])
		if err := json.Unmarshal([]byte(servertest.Body(t, w.Get(path))), &doc); err != nil {
			t.Fatal(err)
		}
		for _, r := range doc.Regions {
			if r.ID != "" {
				inside[r.Type+"/"+r.ID] = append(inside[r.Type+"/"+r.ID], p.ID)
			}
		}
	}
	if len(inside) != 5 {
		t.Fatalf("points are in %d regions", len(inside))
	}
	for region, want := range inside {
		path := "/points/shops/within/" + region
		if got := idsOf(lines(w, path+"?format=ndjson")); !slices.Equal(got, want) {
			t.Errorf("%s: %d points, want %d", region, len(got), len(want))
		}
		var pages []string
		for cursor := ""; ; {
			page := answer(w, path+"?limit=170"+cursor)
			pages = append(pages, idsOf(page.Points)...)
			if cursor = cursorOf(page.Next); cursor == "" {
				break
			}
		}
		if !slices.Equal(pages, want) {
			t.Errorf("%s: %d points in pages, want %d", region, len(pages), len(want))
		}
		text := servertest.Body(t, w.Get("/points/shops/count?region="+strings.Replace(region, "/", ":", 1)))
		if text != fmt.Sprintf(`{"count":%d}`, len(want)) {
			t.Errorf("%s: %s, want %d", region, text, len(want))
		}
		sorted := answer(w, path+"?sort=price&limit=1000").Points
		if !slices.IsSortedFunc(sorted, func(a, b shopPoint) int {
			return cmp.Compare(a.Properties["price"].(float64), b.Properties["price"].(float64))
		}) {
			t.Errorf("%s is not sorted", region)
		}
	}
	// The tag depends on the generations of both data sets.
	one, other := w.Get("/points/shops/within/country/wl").Header.Get("Etag"), w.Get("/points/shops/within/country/el").Header.Get("Etag")
	if one == "" || one == other {
		t.Errorf("tags %s and %s", one, other)
	}
}

// TestSeveralCollections tests requests that query several collections at once.
func TestSeveralCollections(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := servertest.NewShops(t)
	of := func(name string) (list []shopPoint) {
		for _, p := range answer(w, "/points/"+name+"/nearby?lat=48&lon=6.1&limit=20").Points {
			p.Collection = name
			list = append(list, p)
		}
		return list
	}
	want := append(of("shops"), of("drivers")...)
	slices.SortStableFunc(want, func(a, b shopPoint) int { return cmp.Compare(*a.Distance, *b.Distance) })
	got := answer(w, "/points/shops,drivers/nearby?lat=48&lon=6.1&limit=20")
	if len(got.Points) != 20 || got.Next != "" ||
		!slices.EqualFunc(got.Points, want[:20], func(a, b shopPoint) bool { return a.ID == b.ID && a.Collection == b.Collection }) {
		t.Errorf("got %v, want %v", got.Points, want[:20])
	}
	if text := servertest.Body(t, w.Get("/points/drivers%2Cshops/count")); text != `{"count":3002,"collections":{"drivers":2,"shops":3000}}` {
		t.Error(text)
	}
	if text := servertest.Body(t,
		w.Get("/points/drivers,shops/count?category=cafe&bbox=5.99,47.99,6.01,48.01")); !strings.Contains(text, `"drivers":1`) {
		t.Error(text)
	}
}

// A request that cannot be answered is refused with a problem that names the parameter.
func TestCollectionRefusals(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := servertest.NewShops(t)
	for _, tt := range []struct {
		path      string
		status    int
		typ       string
		parameter string
		detail    string
	}{
		{"/points/none", 404, "collection-not-found", "", "/points"},
		{"/points/secret/nearby?lat=1&lon=2", 404, "collection-not-found", "", "/points"},
		{"/points/shops,secret/nearby?lat=1&lon=2", 404, "collection-not-found", "", ""},
		{"/points/%00/count", 404, "collection-not-found", "", ""},
		{"/points/%3Cscript%3E/count", 404, "collection-not-found", "", ""},
		{"/points/shops,shops/count", 400, "bad-parameter", "collection", "once"},
		{"/points/" + strings.Repeat("a,", 10) + "b/count", 400, "bad-parameter", "collection", "at most 10"},
		{"/points/shops,drivers/within?tile=0/0/0", 400, "bad-parameter", "collection", "one collection"},
		{"/points/shops,drivers/nearby?lat=1&lon=2&cursor=x", 400, "bad-parameter", "cursor", "one page"},
		{"/points/shops/x", 404, "point-not-found", "", "id"},
		{"/points/shops/a/b", 404, "not-found", "", ""},
		{"/points/shops/%00", 404, "point-not-found", "", ""},
		{"/points/shops/" + strings.Repeat("x", 300), 404, "point-not-found", "", ""},
		{
			"/points/shops/nearby?lat=1&lon=2&limt=1",
			400,
			"bad-parameter",
			"limt",
			"did you mean limit? As a filter it names no property of shops: use one of category, limit, name, open, price, since.",
		},
		{"/points/shops/nearby?lat=1&lon=2&%22%3Cb%3E=1", 400, "bad-parameter", `"\"<b>"`, "no property"},
		{"/points/shops/nearby?lat=1&lon=2&p.colour=1", 400, "bad-parameter", "p.colour", "no property"},
		{"/points/shops/nearby?lat=1&lon=2&price=x", 400, "bad-parameter", "price", "number"},
		{"/points/shops/nearby?lat=1&lon=2&price.lt=1,2", 400, "bad-parameter", "price.lt", "2 values"},
		{"/points/shops/nearby?lat=1&lon=2&category.lt=1", 400, "bad-parameter", "category.lt", "less or greater"},
		{"/points/shops/nearby?lat=1&lon=2&has=colour", 400, "bad-parameter", "has", "no property"},
		{"/points/shops/nearby?lat=1&lon=2&category=a&category=b", 400, "bad-parameter", "category", "once"},
		{"/points/shops/nearby?lat=1&lon=2&category=%0a", 400, "bad-parameter", "category", "control"},
		{"/points/shops/nearby?lat=1&lon=2&category=%ff", 400, "bad-parameter", "category", "UTF-8"},
		{"/points/shops/nearby?lat=1&lon=2&category=" + strings.Repeat("a,", 60), 400, "bad-parameter", "category", "at most 50"},
		{"/points/shops/nearby?lat=1&lon=2&" + manyTerms(), 400, "bad-parameter", "", "at most 20"},
		{"/points/shops/nearby?lat=1&lon=2&radius=10&min_radius=11", 400, "bad-parameter", "min_radius", "at most radius"},
		{"/points/shops/nearby?lat=1&lon=2&fields=colour", 400, "bad-parameter", "fields", "no property colour"},
		{"/points/shops/nearby?lat=1&lon=2&format=xml", 400, "bad-parameter", "format", "json, geojson, ndjson, csv"},
		{"/points/shops/nearby?lat=1&lon=2&cursor=AAAA", 400, "bad-parameter", "", "cursor"},
		{"/points/shops/nearby?lat=1&lon=2&at=2026-01-01T00:00:00Z", 400, "bad-parameter", "at", "no history"},
		{"/points/drivers/nearby?lat=1&lon=2&at=2020-01-01T00:00:00Z", 400, "bad-parameter", "at", "24h0m0s"},
		{"/points/drivers/d-1?at=-5", 400, "bad-parameter", "at", "milliseconds"},
		{"/points/drivers/nearby?lat=1&lon=2&colour=red", 400, "bad-parameter", "colour", "busy"},
		{"/points/shops/within", 400, "bad-parameter", "bbox", "tile"},
		{"/points/shops/within?bbox=1,2,3", 400, "bad-parameter", "bbox", ""},
		{"/points/shops/within?tile=0/0/0&sort=colour", 400, "bad-parameter", "sort", "no property"},
		{"/points/shops/within?tile=0/0/0&sort=-name", 400, "bad-parameter", "sort", "type text"},
		{"/points/shops/within?tile=0/0/0&format=ndjson&limit=0", 400, "bad-parameter", "limit", ""},
		{"/points/shops/within?tile=0/0/0&format=ndjson&sort=-name", 400, "bad-parameter", "sort", "type text"},
		{"/points/shops/within/planet/x", 404, "unknown-layer", "type", "country"},
		{"/points/shops/within/country/x", 404, "region-not-found", "", ""},
		{"/points/shops/within/country/x?format=ndjson", 404, "region-not-found", "", ""},
		{"/points/shops/within/country", 404, "not-found", "", ""},
		{"/points/shops/count?bbox=1,2,3,4&tile=0/0/0", 400, "bad-parameter", "tile", "either"},
		{"/points/shops/count?region=country", 400, "bad-parameter", "region", "country:ch"},
		{"/points/shops/count?region=planet:x", 404, "unknown-layer", "region", ""},
	} {
		res := w.Get(tt.path)
		if p := servertest.WantProblem(t, res, tt.status, tt.typ); p.Parameter != tt.parameter || !strings.Contains(p.Detail, tt.detail) {
			t.Errorf("%.100s: %q: %s", tt.path, p.Parameter, p.Detail)
		}
	}
}

// manyTerms returns more filters than a request may have.
func manyTerms() string {
	var terms []string
	for _, name := range []string{"price", "p.price", "limit", "open"} {
		for _, op := range []string{"", ".ne", ".lt", ".lte", ".gt", ".gte"} {
			if name == "limit" || name == "open" {
				name = "p." + name
			}
			terms = append(terms, name+op+"=1")
		}
	}
	slices.Sort(terms)
	slices.Reverse(terms)
	return strings.Join(append(terms, "a=1"), "&")
}

// Ids with any characters are found, and fields can be selected.
func TestCollectionPoint(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := servertest.NewShops(t)
	for path, want := range map[string]string{
		"/points/shops/%63ount?fields=limit":                       `{"type":"Feature","id":"count","geometry":{"type":"Point","coordinates":[180,0]},"version":1767323045000,"properties":{"limit":0}}`,
		"/points/shops/a%2Fb%20%22%C3%BC%22%20%3Ci%3E?fields=name": `{"type":"Feature","id":"a/b \"ü\" \u003ci\u003e","geometry":{"type":"Point","coordinates":[10,90]},"version":1767323045000,"properties":{"name":"Shop \u003c1\u003e"}}`,
	} {
		if got := servertest.Body(t, w.Get(path)); unescaped(got) != unescaped(want) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	first := w.Get("/points/shops")
	if text := servertest.Body(t,
		first); !strings.Contains(text, `"name":"shops","title":"Shops \u003cb\u003e\u0026","points":3000,"bbox":[`) ||
		!strings.Contains(text, `{"name":"limit","type":"number"}`) {
		t.Error(text)
	}
}

// unescaped returns a JSON text in which < and > are not escaped.
func unescaped(s string) string {
	return strings.NewReplacer(`\u003c`, "<", `\u003e`, ">").Replace(s)
}

// Answers of published collections may be cached, those of live and private collections may not.
// Private collections exist only for clients that may read them.
func TestCollectionCaching(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	w := servertest.NewShops(t)
	for _, path := range []string{"", "/count", "/nearby?lat=1&lon=2", "/within?tile=0/0/0"} {
		for name, kept := range map[string]bool{"shops": true, "drivers": false} {
			res := w.Get("/points/" + name + path)
			if got := res.Header.Get("Etag") != ""; got != kept || (res.Header.Get("Cache-Control") == "no-store") == kept {
				t.Errorf("%s%s: %v", name, path, res.Header)
			}
		}
	}
	if text := servertest.Body(t, w.Get("/points")); strings.Contains(text, "secret") ||
		!strings.Contains(text, `{"name":"drivers","title":"Drivers","points":2,"live":true,"history":"24h0m0s",`) {
		t.Error(text)
	}
	mayRead := func(c echo.Context, name string) bool {
		return name == "secret" && c.Request().Header.Get("X-Reader") == "yes"
	}
	w.Composed.Handlers("collection").(*collection.Handlers).MayRead = mayRead
	w.Composed.Handlers("layers").(*layers.Handlers).MayRead = mayRead
	for _, path := range []string{"/points/secret", "/points/secret/d-1", "/points/secret,shops/nearby?lat=1&lon=2", "/points/secret/count",
		"/points/secret/nearby?from=points:secret:d-1"} {
		servertest.WantProblem(t, w.Get(path), http.StatusNotFound, "collection-not-found")
		if res := w.Get(path, "X-Reader", "yes"); res.StatusCode != http.StatusOK || res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
		}
	}
	if text := servertest.Body(t, w.Get("/points", "X-Reader", "yes")); !strings.Contains(text,
		`"name":"secret","points":2,"live":true,"private":true`) {
		t.Error(text)
	}
}

// A live collection answers with its present and its past, and with 404 after it is dropped.
func TestLiveCollection(t *testing.T) {
	w := servertest.NewShops(t)
	l := w.Live.Collection("drivers")
	first := lines(w, "/points/drivers/within?tile=0/0/0&format=ndjson")
	at := time.UnixMilli(slices.MaxFunc(first, func(a, b shopPoint) int { return cmp.Compare(a.Version, b.Version) }).Version)
	for time.Now().UnixMilli() <= at.UnixMilli() {
		time.Sleep(time.Millisecond)
	}
	w.Write(l, live.Write{ID: "d-1", Lat: -10, Lon: -20, Properties: []byte(`{}`)}, live.Write{Kind: live.Delete, ID: "d-2"})
	for _, when := range []string{fmt.Sprint(at.UnixMilli()), at.UTC().Format(time.RFC3339Nano)} {
		if got := lines(w, "/points/drivers/within?tile=0/0/0&format=ndjson&at="+when); !slices.EqualFunc(got, first,
			func(a, b shopPoint) bool { return a.ID == b.ID && a.Geometry == b.Geometry }) {
			t.Errorf("at %s: %v, want %v", when, got, first)
		}
		if text := servertest.Body(t, w.Get("/points/drivers/count?at="+when)); text != `{"count":2}` {
			t.Error(text)
		}
		if text := servertest.Body(t, w.Get("/points/drivers/d-2?at="+when)); !strings.Contains(text, `"expires":"`) {
			t.Error(text)
		}
		if got := answer(w, "/points/drivers/nearby?lat=48&lon=6&limit=1&at="+when); len(got.Points) != 1 || got.Points[0].Lat != 48 {
			t.Errorf("%+v", got)
		}
	}
	servertest.WantProblem(t, w.Get("/points/drivers/d-2"), http.StatusNotFound, "point-not-found")
	if got := answer(w, "/points/drivers/nearby?lat=48&lon=6").Points; len(got) != 1 || got[0].Lat != -10 {
		t.Errorf("%+v", got)
	}
	if err := w.Live.Drop(t.Context(), "drivers"); err != nil {
		t.Fatal(err)
	}
	servertest.WantProblem(t, w.Get("/points/drivers/count"), http.StatusNotFound, "collection-not-found")
}

// Any number of points can be sent as lines with bounded memory. A client that disconnects ends the
// answer.
func TestCollectionLines(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	const number = 100_000
	w := servertest.NewShopsOf(t, number)
	s := httptest.NewServer(w.Handler)
	t.Cleanup(s.Close)
	for _, coding := range []string{"identity", "gzip"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+"/points/shops/within?tile=0/0/0&format=ndjson&fields=name", nil)
		if err != nil {
			t.Fatal(err)
		}
		if coding == "identity" {
			r.Header.Set("Accept-Encoding", coding)
		} // else the client asks for gzip and unpacks it
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		seen := map[string]bool{}
		lines := bufio.NewScanner(res.Body)
		for lines.Scan() {
			var p shopPoint
			if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
				t.Fatal(err)
			}
			seen[p.ID] = true
		}
		if err := lines.Err(); err != nil || len(seen) != number || res.ContentLength != -1 || res.Uncompressed != (coding == "gzip") {
			t.Errorf("%s: %d points, %v, %d", coding, len(seen), err, res.ContentLength)
		}
		res.Body.Close()
	}
	res, err := http.Get(s.URL + "/points/shops/within?tile=0/0/0&format=ndjson")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(res.Body, make([]byte, 1000)); err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	for w.Composed.HeavyPlaces.Taken() != 0 { // ends when the handler has
		time.Sleep(time.Millisecond)
	}
	if res := w.Do(http.MethodHead, "/points/shops/within?tile=0/0/0&format=ndjson"); res.StatusCode != http.StatusOK ||
		res.Header.Get("Content-Type") != "application/x-ndjson" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
}

// An answer with all points begins only when a place for a heavy request is free. It then changes
// to a place for streams, which a slow client may occupy for a long time.
func TestLinesKeepNoHeavyPlace(t *testing.T) {
	w := servertest.NewShops(t)
	for _, area := range []string{"within?tile=0/0/0", "within/country/wl?"} {
		free := servertest.FillHeavy(w.Composed)
		servertest.WantProblem(t, w.Get("/points/shops/"+area+"&format=ndjson"), http.StatusServiceUnavailable, "too-busy")
		servertest.WantProblem(t, w.Get("/points/shops/"+area), http.StatusServiceUnavailable, "too-busy")
		free()
		if res := w.Get("/points/shops/" + area); res.StatusCode != http.StatusOK {
			t.Errorf("%s as a page: %d %s", area, res.StatusCode, servertest.Body(t, res))
		}
		if n := w.Composed.HeavyPlaces.Taken(); n != 0 {
			t.Errorf("%d places are not given back", n)
		}
	}
}
