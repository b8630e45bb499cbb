//go:build !race

package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
)

// A parameter that an endpoint does not know is refused by its name.
func TestUnknownParameters(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	for _, tt := range []struct{ path, parameter, detail string }{
		{"/places/nearby?lat=1&lon=2&limt=1", "limt", "Unknown parameter limt: did you mean limit? "},
		{"/places/nearby?lat=1&lon=2&category=cafe", "category", "Unknown parameter category. This endpoint takes lat, lon, from, radius, limit,"},
		{"/places/nearby?lat=1&lon=2&LIMIT=1", "LIMIT", "did you mean limit?"},
		{"/places/nearby?Lat=1&lon=2", "Lat", "did you mean lat?"},
		{"/places/nearby?lat=1&lng=2", "lng", "did you mean lon?"},
		{"/at?latitude=1&longitude=2", "latitude", "did you mean lat?"},
		{"/places/search?q=a&f=json", "f", "Unknown parameter f. "},
		{"/places/search?Q=a", "Q", "did you mean q?"},
		{"/places/2988507?language=de", "language", "did you mean lang?"},
		{"/tiles/country/3/1/2.mvt?access_token=x", "access_token", "it names no property of country"},
		{"/tiles/country/3/1/2.mvt?v", "v", "Unknown parameter v. "},
		{"/tiles/all.json?pined=true", "pined", "did you mean pinned?"},
		{"/style.json?layer=country", "layer", "did you mean layers?"},
		{"/regions/country/fr?geom=true", "geom", "did you mean geometry?"},
		{"/regions/at?lat=1&lon=2&type=country", "type", "did you mean types?"},
		{"/ip/1.2.3.4?field=country", "field", "did you mean fields?"},
		{"/ip/me?ip=1.2.3.4", "ip", "Unknown parameter ip. "},
		{"/ip/1.2.3.4?=x", `""`, `Unknown parameter "". `},
		{"/ip/1.2.3.4?%66ield=x", "field", "did you mean fields?"},
		{"/ip/1.2.3.4?%FF%00=x", `"\xff\x00"`, `Unknown parameter "\xff\x00". `},
		{"/ip/1.2.3.4?a%20b=x", `"a b"`, `Unknown parameter "a b". `},
		{"/ip/1.2.3.4?" + strings.Repeat("long", 2500) + "=x", strings.Repeat("long", 10) + "…", ""},
		{"/ip/1.2.3.4?__proto__=x&lang", "lang", "Set lang"}, // the first begins with _, the second is empty
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			res := f.Do(method, tt.path)
			if method == http.MethodHead {
				if res.StatusCode != http.StatusBadRequest {
					t.Errorf("HEAD %.60s: %d", tt.path, res.StatusCode)
				}
				continue
			}
			if p := servertest.WantProblem(t, res, http.StatusBadRequest, "bad-parameter"); p.Parameter != tt.parameter ||
				!strings.Contains(p.Detail, tt.detail) || len(p.Detail) > 400 {
				t.Errorf("%.60s: %q: %q", tt.path, p.Parameter, p.Detail)
			}
		}
	}
	if p := servertest.WantProblem(t, f.PostTo("/ip/batch?filds=ip", strings.NewReader("1.2.3.4\n")), http.StatusBadRequest,
		"bad-parameter"); p.Parameter != "filds" {
		t.Errorf("%+v", p)
	}
}

// TestFreeParameters tests which unknown parameters are accepted: names that begin with _,
// everywhere, and all parameters outside our own interface. These are those of imitated services,
// of the page and the documents, of probes, and of proxies' requests.
func TestFreeParameters(t *testing.T) {
	f := servertest.New(t, servertest.WithMetrics, servertest.DefaultDatasets...)
	for _, path := range []string{
		"/places/nearby?lat=1&lon=2&_=1&_=2&_cache=x", "/tiles/country/3/1/2.mvt?_t=1700000000", "/tiles/all.json?_", "/ip/1.2.3.4?_=%20",
		"/regions/at?lat=1&lon=2&key=none-is-asked-for", "/tiles/country/3/1/2.mvt?key=x", "/regions/at?&lat=1&&lon=2&",
		"/?utm_source=x&limt=1", "/docs?utm_source=x", "/docs.css?v=3", "/openapi.json?v=3", "/healthz?probe=1", "/readyz?a;b=%zz",
		"/status?a=1&a=2", "/metrics?name%5B%5D=x",
		"/ip/headers?limt=1", "/ip/headers/a?b=c&lat=%zz", "/geoip/v2.1/country/1.2.3.4?pretty=1",
		"/findNearbyJSON?lat=1&lng=2&limt=1&lat=3", "/countryCode?lat=1&lng=2&utm=x", "/searchJSON?q=a&operator=OR&%zz",
	} {
		if res := f.Get(path); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", path, res.StatusCode, servertest.Body(t, res))
		}
	}
	if res := f.Do(http.MethodOptions, "/places/nearby?limt=1"); res.StatusCode != http.StatusNoContent {
		t.Errorf("OPTIONS: %d", res.StatusCode)
	}
}
