//go:build !race

package servertest_test

import (
	"net/http"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
)

func TestEmptyTile(t *testing.T) {
	for _, status := range []int{0, 204, 200, 404} {
		f := servertest.New(t, func(c *httpapi.Config) { c.EmptyTile = status }, servertest.DefaultDatasets...)
		for i := range 4 { // made and cached
			extension, contentType := "mvt", "application/vnd.mapbox-vector-tile"
			if i >= 2 {
				extension, contentType = "mlt", "application/vnd.maplibre-tile"
			}
			res := f.Get("/tiles/places/3/0/0." + extension)
			switch b := servertest.Body(t, res); {
			case status == 404:
				if res.StatusCode != 404 || !strings.Contains(b, "tile-empty") {
					t.Errorf("%d: %d %s", status, res.StatusCode, b)
				}
			case res.StatusCode != max(status, 200) && status != 0 || status == 0 && res.StatusCode != 204:
				t.Errorf("%d: %d", status, res.StatusCode)
			case b != "" || res.Header.Get("Etag") == "" ||
				status == 200 && (res.Header.Get("Content-Length") != "0" || res.Header.Get("Content-Type") != contentType):
				t.Errorf("%d: %v %q", status, res.Header, b)
			}
		}
		// Only vector tiles can have an empty body.
		if res := f.Get("/tiles/places/3/0/0.geojson"); res.StatusCode != 200 || !strings.Contains(servertest.Body(t, res), "FeatureCollection") {
			t.Errorf("%d: GeoJSON %d", status, res.StatusCode)
		}
		servertest.WantProblem(t, f.Get("/tiles/places/3/9/0.mvt"), 404, "tile-outside")
	}
}

// An empty tile with status 404 has no representation, so no condition gives a 304, neither "*" nor
// an ETag. An empty tile with status 204 or 200 has an empty representation with an ETag.
func TestEmptyTileConditions(t *testing.T) {
	const tag = `"0123456789abcdef"`
	lists := []string{"*", " * ", tag, "W/" + tag, `"x", ` + tag, `W/"x",W/` + tag, `"x"`, `"a,*,b"`, "W/*", `"x", *`, ""}
	matched := []bool{true, true, true, true, true, true, false, false, false, false, false}
	paths := []string{"/tiles/places/3/0/0.mvt", "/tiles/places/3/0/0.pbf", "/g/{pinned}/tiles/places/3/0/0.mvt"}
	own := map[string]string{} // tags of paths, given where empty tiles have one
	for _, status := range []int{204, 200, 404} {
		f := servertest.New(t, func(c *httpapi.Config) { c.EmptyTile = status }, servertest.DefaultDatasets...)
		for _, path := range paths {
			address := path
			if strings.Contains(path, "{pinned}") {
				address = f.Pin(strings.Replace(path, "/g/{pinned}", "{pinned}", 1))
			}
			if status != 404 {
				own[path] = f.Get(address).Header.Get("Etag")
			}
			for _, kept := range []bool{false, true} {
				for i, list := range lists {
					for _, method := range []string{http.MethodGet, http.MethodHead} {
						if !kept {
							f.Serve()
						}
						want := status
						if matched[i] && status != 404 {
							want = http.StatusNotModified
						}
						res := f.Do(method, address, "If-None-Match", strings.ReplaceAll(list, tag, own[path]))
						if res.StatusCode != want {
							t.Errorf("%d: %s %s, If-None-Match %s: %d, want %d", status, method, address, list, res.StatusCode, want)
						}
						if got := res.Header.Get("Etag"); (got == "") != (status == 404) {
							t.Errorf("%d: %s %s, If-None-Match %s: the tag is %q", status, method, address, list, got)
						}
					}
				}
			}
			// A tile that is not empty has a representation in every mode.
			full := strings.Replace(address, "places/3/0/0", "country/3/4/2", 1)
			res := f.Get(full)
			for _, list := range []string{"*", res.Header.Get("Etag")} {
				if again := f.Get(full, "If-None-Match", list); res.StatusCode != 200 || again.StatusCode != http.StatusNotModified {
					t.Errorf("%d: %s is %d, then %d to If-None-Match %s", status, full, res.StatusCode, again.StatusCode, list)
				}
			}
		}
	}
}
