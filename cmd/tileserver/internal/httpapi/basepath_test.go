//go:build !race

package httpapi_test

import (
	"net/netip"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/cmd/tileserver/internal/web"
)

func TestBasePath(t *testing.T) {
	f := servertest.New(t, func(c *httpapi.Config) {
		c.BasePath = "/maps"
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("1.2.0.7/32")}
	}, servertest.DefaultDatasets...)
	bare := servertest.New(t, nil, servertest.DefaultDatasets...)
	const tile = "/tiles/country,places/3/4/2.mvt"
	a, b := f.Get("/maps"+tile), bare.Get(tile)
	if a.StatusCode != 200 || a.Header.Get("Etag") != b.Header.Get("Etag") || servertest.Body(t, a) != servertest.Body(t, b) {
		t.Errorf("tile: %d %v, without a base %v", a.StatusCode, a.Header, b.Header)
	}
	for path, want := range map[string]int{
		"/maps/":                                 200,
		"/maps/readyz":                           200,
		"/maps/regions/country/f%72":             200,
		"/maps/tiles/country%2Cplaces/3/4/2.mvt": 200,
	} {
		if res := f.Get(path); res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
	}
	for _, path := range []string{"/", tile, "/mapsx", "/mapsx/readyz", "/MAPS/readyz", "/readyz", "/maps/nowhere", "/m%61psx/"} {
		servertest.WantProblem(t, f.Get(path), 404, "not-found")
	}
	for _, tt := range []struct{ header, prefix string }{
		{"", ""}, {"/eu", "/eu"}, {"/eu/", "/eu"}, {"/a, /eu", "/eu"}, {"eu", ""}, {"//evil.example", ""}, {"/a/../b",
			""}, {"/\"><script>", ""}, {"/" + strings.Repeat("x", 300), ""},
	} {
		res := f.Get("/maps?a=b", "X-Forwarded-Prefix", tt.header)
		if want := tt.prefix + "/maps/?a=b"; res.StatusCode != 308 || res.Header.Get("Location") != want {
			t.Errorf("%q: %d to %s, want %s", tt.header, res.StatusCode, res.Header.Get("Location"), want)
		}
		// The description, from which clients are generated, must contain this address. It has "/"
		// only for the root.
		api := servertest.Body(t, f.Get("/maps/openapi.json", "X-Forwarded-Prefix", tt.header))
		if want := `"servers":[{"url":"` + tt.prefix + `/maps"}]`; !strings.Contains(api, want) {
			t.Errorf("%q: no %s in %.200s", tt.header, want, api)
		}
		doc := servertest.Body(t, f.Get("/maps/tiles/country.json", "X-Forwarded-Prefix", tt.header))
		if want := `"http://example.com` + tt.prefix + `/maps/tiles/country/{z}/{x}/{y}.mvt"`; !strings.Contains(doc, want) {
			t.Errorf("%q: no %s in %s", tt.header, want, doc)
		}
	}
	one, other := f.Get("/maps/openapi.json"), f.Get("/maps/openapi.json", "X-Forwarded-Prefix", "/eu")
	if tag := one.Header.Get("Etag"); tag == other.Header.Get("Etag") || f.Get("/maps/openapi.json", "If-None-Match", tag).StatusCode != 304 {
		t.Errorf("the tags are %s and %s", tag, other.Header.Get("Etag"))
	}
	if api := servertest.Body(t, bare.Get("/openapi.json")); !strings.Contains(api, `"servers":[{"url":"/"}]`) {
		t.Errorf("without a path: %.200s", api)
	}
	// A prefix from an untrusted peer is ignored. A public address already includes its prefix.
	if doc := servertest.Body(t, bare.Get("/tiles/country.json", "X-Forwarded-Prefix", "/eu")); strings.Contains(doc, "/eu/") {
		t.Errorf("believed: %s", doc)
	}
	f.Config.PublicURL = "https://maps.example.org/maps"
	f.Serve()
	if doc := servertest.Body(t, f.Get("/maps/tiles/country.json", "X-Forwarded-Prefix", "/eu")); !strings.Contains(doc,
		`"https://maps.example.org/maps/tiles/country/`) {
		t.Errorf("public address: %s", doc)
	}
}

func TestValidBasePath(t *testing.T) {
	for p, want := range map[string]bool{
		"":             true,
		"/maps":        true,
		"/a/b-c_d.e~f": true,
		"/":            false,
		"maps":         false,
		"/maps/":       false,
		"//maps":       false,
		"/a//b":        false,
		"/..":          false,
		"/a/./b":       false,
		"/a b":         false, "/a%20b": false, "/ä": false, "/a?b": false, "/a#b": false, "/a:b": false, "/a\nb": false,
	} {
		if got := web.ValidBasePath(p); got != want {
			t.Errorf("%q: %v", p, got)
		}
	}
}

// Pages of other origins may read every header. The header does not depend on the requesting
// origin, so that caches can store one answer for all origins.
func TestExposedHeaders(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	for _, path := range []string{"/tiles/country/1/0/0.mvt", "/status", "/tiles/nowhere/1/0/0.mvt"} {
		for _, headers := range [][]string{nil, {"Origin", "https://a.example"}} {
			if got := f.Get(path, headers...).Header.Get("Access-Control-Expose-Headers"); got != "*" {
				t.Errorf("%s with %v: %q", path, headers, got)
			}
		}
	}
	f.Config.CORSOrigin = "none"
	f.Serve()
	if got := f.Get("/status", "Origin", "https://a.example").Header.Get("Access-Control-Expose-Headers"); got != "" {
		t.Errorf("none: %q", got)
	}
}

// Pages that isolate themselves from other sites may show pictures without CORS, if every origin
// may read them. Cross-Origin-Resource-Policy has no lists of origins. Other answers can be loaded
// only with CORS.
func TestResourcePolicy(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	paths := []string{"/tiles/places/0/0/0.png", "/tiles/places/0/0/0@2x.png", "/sprite.png", "/"}
	loaded := []string{"/tiles/country/1/0/0.mvt", "/tiles/country.json", "/style.json", "/regions/at?lat=1&lon=1"}
	for origin, want := range map[string]string{
		"*":                                   "cross-origin",
		"none":                                "",
		"https://a.example":                   "",
		"https://a.example,https://b.example": "",
	} {
		f.Config.CORSOrigin = origin
		f.Serve()
		for _, path := range paths {
			res := f.Get(path)
			if got := res.Header.Get("Cross-Origin-Resource-Policy"); got != want || res.StatusCode != 200 && res.StatusCode != 204 {
				t.Errorf("%s for %s: %d, %q, want %q", path, origin, res.StatusCode, got, want)
			}
		}
		for _, path := range loaded {
			if got := f.Get(path).Header.Get("Cross-Origin-Resource-Policy"); got != "" {
				t.Errorf("%s for %s: %q", path, origin, got)
			}
		}
	}
}

// A path with an extra slash is refused with a message about the slash.
func TestSlashes(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	for path, want := range map[string]string{
		"//healthz":                           "slashes in a row in the path: write one",
		"/tiles//country/1/0/0.mvt":           "two slashes in a row",
		"/regions//at?lat=1&lon=1":            "two slashes in a row",
		"/ogc///collections":                  "two slashes in a row",
		"/regions/at/?lat=1&lon=1":            "ends with a slash: leave it out",
		"/docs/":                              "ends with a slash",
		"/nowhere":                            "",
		"/points/shops/https:%2F%2Fx.org%2F1": "",
		"/points/shops/x%2F":                  "",
		"/":                                   "",
		"/tiles/country/x/0/0.mvt":            "",
	} {
		res := f.Get(path)
		body := servertest.Body(t, res)
		if strings.Contains(body, "slash") != (want != "") || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %q", path, res.StatusCode, body, want)
		}
	}
}
