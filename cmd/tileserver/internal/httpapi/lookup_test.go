package httpapi_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/servertest"
)

// Every invalid parameter is refused by name.
func TestBadParameters(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	before := f.Boundaries.Reads.Load() + f.Places.Reads.Load() + f.Addresses.Reads.Load() // of opening them
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
			if p := servertest.WantProblem(t, f.Get(tt.path), 400, "bad-parameter"); p.Parameter != tt.parameter {
				t.Errorf("parameter %q, want %q", p.Parameter, tt.parameter)
			}
		})
	}
	if n := f.Boundaries.Reads.Load() + f.Places.Reads.Load() + f.Addresses.Reads.Load() - before; n != 0 {
		t.Errorf("bad parameters cost %d reads", n)
	}
}

func TestEdgesOfTheWorld(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	for _, lat := range []string{"90", "-90", "+12.5", "-0", "0.0000000001", "1e1"} {
		for _, lon := range []string{"180", "-180", "-179.9999999"} {
			for _, path := range []string{"/regions/at", "/places/nearby"} {
				url := path + "?lat=" + strings.ReplaceAll(lat, "+", "%2B") + "&lon=" + lon
				res := f.Get(url)
				if b := servertest.Body(t, res); res.StatusCode != 200 || !json.Valid([]byte(b)) {
					t.Errorf("%s: %d %s", url, res.StatusCode, b)
				}
			}
		}
	}
}

// Answers that depend only on the address and the published data have ETags. An ETag is revalidated
// without a read; "*" needs a read.
func TestLookupRevalidation(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	reads := func() int64 { return f.Boundaries.Reads.Load() + f.Places.Reads.Load() + f.Addresses.Reads.Load() }
	for _, path := range []string{"/regions/at?lat=1&lon=1", "/regions/country/us", "/places/nearby?lat=1&lon=1",
		"/places/2988507", "/tiles/all.json"} {
		etag := f.Get(path).Header.Get("Etag")
		before := reads()
		if res := f.Get(path, "If-None-Match", etag); res.StatusCode != http.StatusNotModified || reads() != before {
			t.Errorf("%s: %d with the tag %s, %d reads", path, res.StatusCode, etag, reads()-before)
		}
		if res := f.Get(path, "If-None-Match", "*"); res.StatusCode != http.StatusNotModified {
			t.Errorf("%s: %d with *", path, res.StatusCode)
		}
		if other := f.Get(path, "Accept-Encoding", "gzip").Header.Get("Etag"); other == etag {
			t.Errorf("%s: the coding is not in the tag", path)
		}
	}
	for _, path := range []string{"/regions/country/nowhere", "/places/1", "/ip/2606:4700::1111"} {
		if res := f.Get(path, "If-None-Match", "*"); res.StatusCode != 404 {
			t.Errorf("%s: %d with *, want 404", path, res.StatusCode)
		}
	}
	etags := map[string]bool{}
	for _, path := range []string{"/places/2988507", "/tiles/all.json", "/regions/at?lat=1&lon=1",
		"/regions/at?lat=1&lon=1&types=state", "/regions/country/us?geometry=true"} {
		etags[f.Get(path).Header.Get("Etag")] = true
	}
	if len(etags) != 5 {
		t.Errorf("%d tags for 5 answers", len(etags))
	}
}

func TestMissingDatasets(t *testing.T) {
	f := servertest.New(t, nil)
	for _, path := range []string{"/tiles/country/0/0/0.mvt", "/tiles/all/0/0/0.geojson", "/tiles/places/0/0/0.mvt",
		"/tiles/all.json", "/tiles/places.json",
		"/regions/at?lat=1&lon=1", "/regions/country/us", "/places/nearby?lat=1&lon=1", "/places/1", "/ip/1.2.3.4", "/ip/me"} {
		t.Run(path, func(t *testing.T) { servertest.WantProblem(t, f.Get(path), 404, "dataset-missing") })
	}
	if res := f.Get("/readyz"); res.StatusCode != 200 {
		t.Errorf("readyz with nothing published: %d, want 200", res.StatusCode)
	}
	f.Publish(ask.Places.Name)
	f.Poll()
	if res := f.Get("/tiles/all/0/0/0.mvt"); res.StatusCode != 200 {
		t.Errorf("all, with places only: %d", res.StatusCode)
	}
}
