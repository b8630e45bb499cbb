//go:build !race

package servertest_test

import (
	"net/http"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
)

// TestIDsAsPublished tests that a region has one address, which contains its published id. Other
// spellings in the path redirect to that address, and keep the query. In a parameter any spelling
// of an id is accepted.
func TestIDsAsPublished(t *testing.T) {
	w := servertest.NewWhole(t)
	for path, to := range map[string]string{
		"/regions/country/WL":                      "wl",
		"/regions/country/Wl?geometry=true":        "wl?geometry=true",
		"/regions/state/wl_S":                      "wl-s",
		"/ogc/collections/country/items/WL?f=json": "wl?f=json",
		"/ogc/collections/state/items/WL.N?f=html": "wl-n?f=html",
	} {
		for _, method := range []string{http.MethodGet, http.MethodHead} {
			res := w.Do(method, path)
			if res.StatusCode != http.StatusPermanentRedirect || res.Header.Get("Location") != to || res.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s %s: %d, %v", method, path, res.StatusCode, res.Header)
			}
			at := path[:strings.LastIndexByte(path, '/')+1] + to
			if res := w.Do(method, at); res.StatusCode != http.StatusOK {
				t.Errorf("%s %s: %d", method, at, res.StatusCode)
			}
		}
	}
	for _, path := range []string{
		"/places/within/country/$?format=ndjson", "/stations/count?region=country:$", "/points/shops/within/country/$?format=ndjson",
		"/regions/within?bbox=-180,-90,180,90&types=country&id=$",
		"/tiles/country:$/3/4/2.mvt", "/tiles/country:$/3/4/2.geojson", "/tiles/country:$/3/4/2.png", "/tiles/country:$.json",
	} {
		ask := func(id string) string {
			res := w.Get(strings.Replace(path, "$", id, 1))
			if res.StatusCode != http.StatusOK {
				t.Errorf("%s: %d", strings.Replace(path, "$", id, 1), res.StatusCode)
			}
			return servertest.Body(t, res)
		}
		if own, other := ask("wl"), ask("WL"); own != other {
			t.Errorf("%s is\n%.300s, in capitals\n%.300s", path, own, other)
		}
	}
	for _, path := range []string{"/regions/country/W", "/regions/country/wl-", "/regions/country/%57L%2F",
		"/ogc/collections/country/items/xx"} {
		if res := w.Get(path); res.StatusCode == http.StatusOK {
			t.Errorf("%s: %d", path, res.StatusCode)
		}
	}
}
