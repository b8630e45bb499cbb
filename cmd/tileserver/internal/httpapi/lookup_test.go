package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"quadrille/cellstore"
	"quadrille/cmd/internal/catalogue"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/quadkey"
)

// Every parameter that cannot be used is refused by name.
func TestBadParameters(t *testing.T) {
	f := newFixture(t, nil, all...)
	const point = "/places/nearby?lat=1&lon=2"
	const box = "/regions/within?bbox=0,0,1,1"
	for _, tt := range []struct{ path, parameter string }{
		{"/regions/at", "lat"},
		{"/regions/at?lon=1", "lat"},
		{"/regions/at?lat=1", "lon"},
		{"/regions/at?lat=&lon=1", "lat"},
		{"/regions/at?lat=NaN&lon=1", "lat"},
		{"/regions/at?lat=nan&lon=1", "lat"},
		{"/regions/at?lat=Inf&lon=1", "lat"},
		{"/regions/at?lat=-Infinity&lon=1", "lat"},
		{"/regions/at?lat=1e999&lon=1", "lat"},
		{"/regions/at?lat=90.0000001&lon=1", "lat"},
		{"/regions/at?lat=-91&lon=1", "lat"},
		{"/regions/at?lat=0x1p3&lon=1", "lat"},
		{"/regions/at?lat=1_0&lon=1", "lat"},
		{"/regions/at?lat=1,5&lon=1", "lat"},
		{"/regions/at?lat=48°N&lon=1", "lat"},
		{"/regions/at?lat=%2048&lon=1", "lat"},
		{"/regions/at?lat=%00&lon=1", "lat"},
		{"/regions/at?lat=1&lat=2&lon=1", "lat"},
		{"/regions/at?lat=" + strings.Repeat("1", 100) + "&lon=1", "lat"},
		{"/regions/at?lat=1&lon=180.1", "lon"},
		{"/regions/at?lat=1&lon=-180.1", "lon"},
		{"/regions/at?lat=1&lon=NaN", "lon"},
		{"/regions/at?lat=1&lon=1&lon=1", "lon"},
		{"/regions/at?lat=1&lon=1&types=a&types=b", "types"},
		{"/regions/at?lat=1&lon=1&types=", "types"},
		{"/regions/at?lat=1&lon=1&types=" + strings.Repeat("a,", 100), "types"},
		{"/regions/at?lat=%zz&lon=1", ""},
		{"/regions/at?lat=1;lon=1", ""},
		{"/regions/at?lat=1&lon=1&snap=", "snap"},
		{"/regions/at?lat=1&lon=1&snap=-1", "snap"},
		{"/regions/at?lat=1&lon=1&snap=50000.1", "snap"},
		{"/regions/at?lat=1&lon=1&snap=NaN", "snap"},
		{"/regions/at?lat=1&lon=1&snap=5km", "snap"},
		{"/regions/at?lat=1&lon=1&snap=1&snap=2", "snap"},
		{"/regions/within", "bbox"},
		{"/regions/within?bbox=", "bbox"},
		{"/regions/within?bbox=1,2,3", "bbox"},
		{"/regions/within?bbox=1,2,3,4,5", "bbox"},
		{"/regions/within?bbox=1,2,3,NaN", "bbox"},
		{"/regions/within?bbox=1,2,3,0x4", "bbox"},
		{"/regions/within?bbox=1,2,181,4", "bbox"},
		{"/regions/within?bbox=1,-91,2,4", "bbox"},
		{"/regions/within?bbox=1,4,2,3", "bbox"},
		{"/regions/within?bbox=1,2,3,4&bbox=1,2,3,4", "bbox"},
		{"/regions/within?bbox=" + strings.Repeat("1", 200) + ",2,3,4", "bbox"},
		{box + "&types=", "types"},
		{box + "&id=us", "types"},
		{box + "&types=country,state&id=us", "types"},
		{box + "&types=country&id=", "id"},
		{box + "&types=country&id=a%00", "id"},
		{box + "&types=country&id=" + strings.Repeat("a", 2000), "id"},
		{box + "&types=country&id=us&limit=3", "id"},
		{box + "&types=country&id=us&cursor=x", "id"},
		{box + "&limit=0", "limit"},
		{box + "&limit=1001", "limit"},
		{box + "&cursor=", "cursor"},
		{box + "&cursor=" + strings.Repeat("a", 600), "cursor"},
		{"/regions/country/us?geometry=1", "geometry"},
		{"/regions/country/us?geometry=true&geometry=true", "geometry"},
		{"/places/nearby?lat=91&lon=1", "lat"},
		{point + "&radius=-1", "radius"},
		{point + "&radius=0", "radius"},
		{point + "&radius=NaN", "radius"},
		{point + "&radius=1e9", "radius"},
		{point + "&radius=5km", "radius"},
		{point + "&limit=0", "limit"},
		{point + "&limit=-5", "limit"},
		{point + "&limit=1001", "limit"},
		{point + "&limit=1.5", "limit"},
		{point + "&limit=99999999999999999999", "limit"},
		{point + "&class=PP", "class"},
		{point + "&class=1", "class"},
		{point + "&class=", "class"},
		{point + "&code=P-L", "code"},
		{point + "&code=ABCDEFGHIJK", "code"},
		{point + "&country=FRA", "country"},
		{point + "&country=F1", "country"},
		{point + "&country=%C3%A9", "country"},
		{point + "&min_population=-1", "min_population"},
		{point + "&min_population=many", "min_population"},
		{point + "&format=xml", "format"},
		{point + "&cursor=" + strings.Repeat("a", 600), "cursor"},
		{point + "&cursor=a%0Ab", "cursor"},
		{"/places/-1", "id"},
		{"/places/4294967296", "id"},
		{"/places/2988507x", "id"},
		{"/ip/1.2.3", ""},
		{"/ip/1.2.3.4.5", ""},
		{"/ip/01.2.3.4", ""},
		{"/ip/999.1.1.1", ""},
		{"/ip/::g", ""},
		{"/ip/1.2.3.4/24", ""},
		{"/ip/localhost", ""},
		{"/ip/" + strings.Repeat("1", 500), ""},
	} {
		t.Run(tt.path[:min(len(tt.path), 80)], func(t *testing.T) {
			if p := wantProblem(t, f.get(tt.path), 400, "bad-parameter"); p.Parameter != tt.parameter {
				t.Errorf("parameter %q, want %q", p.Parameter, tt.parameter)
			}
		})
	}
	if n := f.bounds.reads.Load() + f.places.reads.Load() + f.ips.reads.Load(); n != 0 {
		t.Errorf("bad parameters cost %d reads", n)
	}
}

func TestEdgesOfTheWorld(t *testing.T) {
	f := newFixture(t, nil, all...)
	for _, lat := range []string{"90", "-90", "+12.5", "-0", "0.0000000001", "1e1"} {
		for _, lon := range []string{"180", "-180", "-179.9999999"} {
			for _, path := range []string{"/regions/at", "/places/nearby"} {
				url := path + "?lat=" + strings.ReplaceAll(lat, "+", "%2B") + "&lon=" + lon
				res := f.get(url)
				if b := body(t, res); res.StatusCode != 200 || !json.Valid([]byte(b)) {
					t.Errorf("%s: %d %s", url, res.StatusCode, b)
				}
			}
		}
	}
}

func TestRegionQueries(t *testing.T) {
	f := newFixture(t, nil, catalogue.Boundaries.Name)
	for _, tt := range []struct {
		query string
		box   quadkey.Box
		types []string
		limit int
	}{
		{"bbox=1,2,3,4", quadkey.Box{West: 1, South: 2, East: 3, North: 4}, []string{"country", "state"}, 100},
		{"bbox=179.5,%20-1e1%20,-179.5,4&types=state,country&limit=7", quadkey.Box{West: 179.5, South: -10, East: -179.5, North: 4}, []string{"country", "state"}, 7},
		{"bbox=1,2,1,2&types=state,state", quadkey.Box{West: 1, South: 2, East: 1, North: 2}, []string{"state"}, 100},
	} {
		f.bounds.asked = nil
		if res := f.get("/regions/within?" + tt.query); res.StatusCode != 200 {
			t.Fatalf("%s: %d %s", tt.query, res.StatusCode, body(t, res))
		}
		want := feature.Query{In: feature.Box(tt.box), Limit: tt.limit + 1, Detail: feature.WithoutGeometry}
		if diff := cmp.Diff(want, f.bounds.query) + cmp.Diff(tt.types, f.bounds.asked); diff != "" {
			t.Errorf("%s: %s", tt.query, diff)
		}
	}
	for _, snap := range []float64{0, 0.5, 50000} {
		if res := f.get(fmt.Sprintf("/regions/at?lat=1&lon=2&snap=%v", snap)); res.StatusCode != 200 || f.bounds.radius != snap {
			t.Errorf("snap %v: %d, radius %v", snap, res.StatusCode, f.bounds.radius)
		}
	}
}

func TestNearbyQuery(t *testing.T) {
	f := newFixture(t, nil, catalogue.Places.Name)
	for _, tt := range []struct {
		query string
		want  feature.Query
		terms []feature.Term
	}{
		{query: "", want: feature.Query{Limit: 11}},
		{"&radius=2500.5&limit=1000&class=p&code=ppLc&country=fr&min_population=5000", feature.Query{Near: &feature.Near{MaxM: 2500.5}, Limit: 1001}, []feature.Term{
			{Name: "class", Values: []string{"P"}}, {Name: "code", Values: []string{"PPLC"}}, {Name: "country", Values: []string{"FR"}},
			{Name: "population", Op: feature.OpGreaterOrEqual, Values: []string{"5000"}},
		}},
		{"&class=p,S&code=ppl,CH&country=fr,De", feature.Query{Limit: 11}, []feature.Term{
			{Name: "class", Values: []string{"P", "S"}}, {Name: "code", Values: []string{"PPL", "CH"}}, {Name: "country", Values: []string{"FR", "DE"}},
		}},
		{query: "&_=parameter&limit=1", want: feature.Query{Limit: 2}},
	} {
		if tt.want.Near == nil {
			tt.want.Near = &feature.Near{}
		}
		tt.want.Near.Lat, tt.want.Near.Lon = 48.8566, 2.3522
		if res := f.get("/places/nearby?lat=48.8566&lon=2.3522" + tt.query); res.StatusCode != 200 {
			t.Errorf("%s: %s", tt.query, body(t, res))
		}
		wantQuery(t, tt.query, &f.places.asked, tt.want, tt.terms)
	}
}

// wantQuery compares what a layer was asked.
func wantQuery(t *testing.T, name string, got *feature.Query, want feature.Query, terms []feature.Term) {
	t.Helper()
	asked, all := *got, true
	var filter []feature.Term
	if asked.Filter != nil {
		filter, all = asked.Filter.Terms()
	}
	asked.Filter, asked.Step = nil, nil
	if d := cmp.Diff(want, asked); d != "" || !all {
		t.Errorf("%s: query differs, all of the filter %v:\n%s", name, all, d)
	}
	if d := cmp.Diff(terms, filter); d != "" {
		t.Errorf("%s: filter differs:\n%s", name, d)
	}
}

func TestNearbyNothing(t *testing.T) {
	f := newFixture(t, nil, catalogue.Places.Name)
	const path = "/places/nearby?lat=1&lon=1"
	if got := body(t, f.get(path)); got != `{"places":[]}` {
		t.Error(got)
	}
	if got := body(t, f.get(path+"&format=geojson")); got != `{"type":"FeatureCollection","features":[]}` {
		t.Error(got)
	}
}

func TestNearbyFailures(t *testing.T) {
	f := newFixture(t, nil, catalogue.Places.Name)
	for _, tt := range []struct {
		err    error
		status int
		typ    string
	}{
		{places.ErrCursor, 400, "bad-parameter"},
		{places.ErrQuery, 400, "bad-parameter"},
		{places.ErrCursorExpired, 410, "cursor-expired"},
		{places.ErrTooMuchWork, 422, "search-too-wide"},
		{cellstore.ErrCorrupt, 500, "data-corrupt"},
		{errors.New("secret"), 500, "internal"},
	} {
		f.places.err = fmt.Errorf("secret: %w", tt.err)
		p := wantProblem(t, f.get("/places/nearby?lat=1&lon=1"), tt.status, tt.typ)
		if strings.Contains(p.Detail, "secret") {
			t.Errorf("internals shown: %+v", p)
		}
	}
}

func TestNearbyFormat(t *testing.T) {
	f := newFixture(t, nil, catalogue.Places.Name)
	for _, tt := range []struct {
		accept, format string
		geo            bool
	}{
		{"", "", false},
		{"*/*", "", false},
		{"application/json", "", false},
		{"application/json, application/problem+json;q=0.5", "", false},
		{"application/geo+json", "", true},
		{"Application/Geo+JSON;charset=utf-8", "", true},
		{"application/geo+json, application/json;q=0.9", "", true},
		{"application/geo+json;q=0.5, application/json", "", false},
		{"application/geo+json;q=0", "", false},
		{"text/html, application/geo+json;q=0.1, */*", "", true},
		{"application/geo+json", "json", false},
		{"application/json", "geojson", true},
	} {
		path := "/places/nearby?lat=1&lon=1"
		if tt.format != "" {
			path += "&format=" + tt.format
		}
		res := f.get(path, "Accept", tt.accept)
		want := "application/json"
		if tt.geo {
			want = "application/geo+json"
		}
		if got := res.Header.Get("Content-Type"); got != want || res.Header.Get("Vary") != "Accept" {
			t.Errorf("Accept %q, format %q: %v, want %s", tt.accept, tt.format, res.Header, want)
		}
	}
}

// Answers that depend only on the address and the published data have tags,
// which answer without a read; "*" needs one.
func TestLookupRevalidation(t *testing.T) {
	f := newFixture(t, nil, all...)
	reads := func() int64 { return f.bounds.reads.Load() + f.places.reads.Load() + f.ips.reads.Load() }
	for _, path := range []string{"/regions/at?lat=1&lon=1", "/regions/country/us", "/places/nearby?lat=1&lon=1", "/places/2988507", "/tiles/all.json"} {
		etag := f.get(path).Header.Get("Etag")
		before := reads()
		if res := f.get(path, "If-None-Match", etag); res.StatusCode != http.StatusNotModified || reads() != before {
			t.Errorf("%s: %d with the tag %s, %d reads", path, res.StatusCode, etag, reads()-before)
		}
		if res := f.get(path, "If-None-Match", "*"); res.StatusCode != http.StatusNotModified {
			t.Errorf("%s: %d with *", path, res.StatusCode)
		}
		if other := f.get(path, "Accept-Encoding", "gzip").Header.Get("Etag"); other == etag {
			t.Errorf("%s: the coding is not in the tag", path)
		}
	}
	for _, path := range []string{"/regions/country/nowhere", "/places/1", "/ip/2606:4700::1111"} {
		if res := f.get(path, "If-None-Match", "*"); res.StatusCode != 404 {
			t.Errorf("%s: %d with *, want 404", path, res.StatusCode)
		}
	}
	etags := map[string]bool{}
	for _, path := range []string{"/places/2988507", "/tiles/all.json", "/regions/at?lat=1&lon=1", "/regions/at?lat=1&lon=1&types=state", "/regions/country/us?geometry=true"} {
		etags[f.get(path).Header.Get("Etag")] = true
	}
	if len(etags) != 5 {
		t.Errorf("%d tags for 5 answers", len(etags))
	}
}

func TestIPMe(t *testing.T) {
	f := newFixture(t, nil, catalogue.IP.Name)
	res := f.get("/ip/me", "X-Forwarded-For", "1.2.3.4")
	if b := body(t, res); !strings.Contains(b, `"ip":"198.51.100.7"`) || res.Header.Get("Cache-Control") != "private, no-store" || res.Header.Get("Etag") != "" {
		t.Errorf("%v %s", res.Header, b)
	}
}

func TestMissingDatasets(t *testing.T) {
	f := newFixture(t, nil)
	for _, path := range []string{"/tiles/country/0/0/0.mvt", "/tiles/all/0/0/0.geojson", "/tiles/places/0/0/0.mvt", "/tiles/all.json", "/tiles/places.json",
		"/regions/at?lat=1&lon=1", "/regions/country/us", "/places/nearby?lat=1&lon=1", "/places/1", "/ip/1.2.3.4", "/ip/me"} {
		t.Run(path, func(t *testing.T) { wantProblem(t, f.get(path), 404, "dataset-missing") })
	}
	if res := f.get("/readyz"); res.StatusCode != 200 {
		t.Errorf("readyz with nothing published: %d, want 200", res.StatusCode)
	}
	f.publish(catalogue.Places.Name)
	f.poll()
	if res := f.get("/tiles/all/0/0/0.mvt"); res.StatusCode != 204 {
		t.Errorf("all, with places only: %d", res.StatusCode)
	}
}
