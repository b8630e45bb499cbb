//go:build !race

package httpapi

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/web"
)

func TestBasePath(t *testing.T) {
	f := newFixture(t, func(c *Config) {
		c.BasePath = "/maps"
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("198.51.100.7/32")}
	}, all...)
	bare := newFixture(t, nil, all...)
	const tile = "/tiles/country,places/3/4/2.mvt"
	a, b := f.get("/maps"+tile), bare.get(tile)
	if a.StatusCode != 200 || a.Header.Get("Etag") != b.Header.Get("Etag") || body(t, a) != body(t, b) {
		t.Errorf("tile: %d %v, without a base %v", a.StatusCode, a.Header, b.Header)
	}
	for path, want := range map[string]int{"/maps/": 200, "/maps/readyz": 200, "/maps/regions/country/f%72": 200, "/maps/tiles/country%2Cplaces/3/4/2.mvt": 200} {
		if res := f.get(path); res.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, res.StatusCode, want)
		}
	}
	for _, path := range []string{"/", tile, "/mapsx", "/mapsx/readyz", "/MAPS/readyz", "/readyz", "/maps/nowhere", "/m%61psx/"} {
		wantProblem(t, f.get(path), 404, "not-found")
	}
	for _, tt := range []struct{ header, prefix string }{
		{"", ""}, {"/eu", "/eu"}, {"/eu/", "/eu"}, {"/a, /eu", "/eu"}, {"eu", ""}, {"//evil.example", ""}, {"/a/../b", ""}, {"/\"><script>", ""}, {"/" + strings.Repeat("x", 300), ""},
	} {
		res := f.get("/maps?a=b", "X-Forwarded-Prefix", tt.header)
		if want := tt.prefix + "/maps/?a=b"; res.StatusCode != 308 || res.Header.Get("Location") != want {
			t.Errorf("%q: %d to %s, want %s", tt.header, res.StatusCode, res.Header.Get("Location"), want)
		}
		// What clients are generated of leads back here. It is "/" for the root alone.
		api := body(t, f.get("/maps/openapi.json", "X-Forwarded-Prefix", tt.header))
		if want := `"servers":[{"url":"` + tt.prefix + `/maps"}]`; !strings.Contains(api, want) {
			t.Errorf("%q: no %s in %.200s", tt.header, want, api)
		}
		doc := body(t, f.get("/maps/tiles/country.json", "X-Forwarded-Prefix", tt.header))
		if want := `"http://example.com` + tt.prefix + `/maps/tiles/country/{z}/{x}/{y}.mvt"`; !strings.Contains(doc, want) {
			t.Errorf("%q: no %s in %s", tt.header, want, doc)
		}
	}
	one, other := f.get("/maps/openapi.json"), f.get("/maps/openapi.json", "X-Forwarded-Prefix", "/eu")
	if tag := one.Header.Get("Etag"); tag == other.Header.Get("Etag") || f.get("/maps/openapi.json", "If-None-Match", tag).StatusCode != 304 {
		t.Errorf("the tags are %s and %s", tag, other.Header.Get("Etag"))
	}
	if api := body(t, bare.get("/openapi.json")); !strings.Contains(api, `"servers":[{"url":"/"}]`) {
		t.Errorf("without a path: %.200s", api)
	}
	// Nobody else's prefix is believed, and a public address has it already.
	if doc := body(t, bare.get("/tiles/country.json", "X-Forwarded-Prefix", "/eu")); strings.Contains(doc, "/eu/") {
		t.Errorf("believed: %s", doc)
	}
	f.cfg.PublicURL = "https://maps.example.org/maps"
	f.handler = New(f.cfg)
	if doc := body(t, f.get("/maps/tiles/country.json", "X-Forwarded-Prefix", "/eu")); !strings.Contains(doc, `"https://maps.example.org/maps/tiles/country/`) {
		t.Errorf("public address: %s", doc)
	}
}

func TestValidBasePath(t *testing.T) {
	for p, want := range map[string]bool{
		"": true, "/maps": true, "/a/b-c_d.e~f": true, "/": false, "maps": false, "/maps/": false, "//maps": false, "/a//b": false, "/..": false, "/a/./b": false,
		"/a b": false, "/a%20b": false, "/ä": false, "/a?b": false, "/a#b": false, "/a:b": false, "/a\nb": false,
	} {
		if got := web.ValidBasePath(p); got != want {
			t.Errorf("%q: %v", p, got)
		}
	}
}

func TestEmptyTile(t *testing.T) {
	for _, status := range []int{0, 204, 200, 404} {
		f := newFixture(t, func(c *Config) { c.EmptyTile = status }, all...)
		for i := range 4 { // made and kept
			extension, contentType := "mvt", "application/vnd.mapbox-vector-tile"
			if i >= 2 {
				extension, contentType = "mlt", "application/vnd.maplibre-tile"
			}
			res := f.get("/tiles/places/3/0/0." + extension)
			switch b := body(t, res); {
			case status == 404:
				if res.StatusCode != 404 || !strings.Contains(b, "tile-empty") {
					t.Errorf("%d: %d %s", status, res.StatusCode, b)
				}
			case res.StatusCode != max(status, 200) && status != 0 || status == 0 && res.StatusCode != 204:
				t.Errorf("%d: %d", status, res.StatusCode)
			case b != "" || res.Header.Get("Etag") == "" || status == 200 && (res.Header.Get("Content-Length") != "0" || res.Header.Get("Content-Type") != contentType):
				t.Errorf("%d: %v %q", status, res.Header, b)
			}
		}
		// Only vector tiles have nothing in them.
		if res := f.get("/tiles/places/3/0/0.geojson"); res.StatusCode != 200 || !strings.Contains(body(t, res), "FeatureCollection") {
			t.Errorf("%d: GeoJSON %d", status, res.StatusCode)
		}
		wantProblem(t, f.get("/tiles/places/3/9/0.mvt"), 404, "tile-outside")
	}
}

// An empty tile that is 404 has no representation, so no condition makes it 304:
// neither "*" nor a tag, whoever gave it. One that is 204 or 200 has an empty
// one, with a tag.
func TestEmptyTileConditions(t *testing.T) {
	const tag = `"0123456789abcdef"`
	lists := []string{"*", " * ", tag, "W/" + tag, `"x", ` + tag, `W/"x",W/` + tag, `"x"`, `"a,*,b"`, "W/*", `"x", *`, ""}
	matched := []bool{true, true, true, true, true, true, false, false, false, false, false}
	paths := []string{"/tiles/places/3/0/0.mvt", "/tiles/places/3/0/0.pbf", "/g/{pinned}/tiles/places/3/0/0.mvt"}
	own := map[string]string{} // tags of paths, given where empty tiles have one
	for _, status := range []int{204, 200, 404} {
		f := newFixture(t, func(c *Config) { c.EmptyTile = status }, all...)
		for _, path := range paths {
			address := path
			if strings.Contains(path, "{pinned}") {
				address = f.pin(strings.Replace(path, "/g/{pinned}", "{pinned}", 1))
			}
			if status != 404 {
				own[path] = f.get(address).Header.Get("Etag")
			}
			for _, kept := range []bool{false, true} {
				for i, list := range lists {
					for _, method := range []string{http.MethodGet, http.MethodHead} {
						if !kept {
							f.handler = New(f.cfg)
						}
						want := status
						if matched[i] && status != 404 {
							want = http.StatusNotModified
						}
						res := f.do(method, address, "If-None-Match", strings.ReplaceAll(list, tag, own[path]))
						if res.StatusCode != want {
							t.Errorf("%d: %s %s, If-None-Match %s: %d, want %d", status, method, address, list, res.StatusCode, want)
						}
						if got := res.Header.Get("Etag"); (got == "") != (status == 404) {
							t.Errorf("%d: %s %s, If-None-Match %s: the tag is %q", status, method, address, list, got)
						}
					}
				}
			}
			// A tile with something in it has a representation in every mode.
			full := strings.Replace(address, "places/3/0/0", "country/3/4/2", 1)
			res := f.get(full)
			for _, list := range []string{"*", res.Header.Get("Etag")} {
				if again := f.get(full, "If-None-Match", list); res.StatusCode != 200 || again.StatusCode != http.StatusNotModified {
					t.Errorf("%d: %s is %d, then %d to If-None-Match %s", status, full, res.StatusCode, again.StatusCode, list)
				}
			}
		}
	}
}

// Pages of other origins may read every header. Who asks makes no difference, so that
// caches can keep the answer for all.
func TestExposedHeaders(t *testing.T) {
	f := newFixture(t, nil, all...)
	for _, path := range []string{"/tiles/country/1/0/0.mvt", "/status", "/tiles/nowhere/1/0/0.mvt"} {
		for _, headers := range [][]string{nil, {"Origin", "https://a.example"}} {
			if got := f.get(path, headers...).Header.Get("Access-Control-Expose-Headers"); got != "*" {
				t.Errorf("%s with %v: %q", path, headers, got)
			}
		}
	}
	f.cfg.CORSOrigin = "none"
	f.handler = New(f.cfg)
	if got := f.get("/status", "Origin", "https://a.example").Header.Get("Access-Control-Expose-Headers"); got != "" {
		t.Errorf("none: %q", got)
	}
}
