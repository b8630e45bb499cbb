//go:build !race

package httpapi_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/instant"
)

// TestTimesAgree tests that every parameter for a time accepts the same texts as the others.
func TestTimesAgree(tt *testing.T) {
	writers, stations, globe := servertest.NewWriters(tt), servertest.NewStations(tt, ask.Stations.Name,
		ask.Weather.Name), servertest.NewGlobe(tt, nil)
	get := func(f *servertest.Server, path string) func(text string) *http.Response {
		return func(text string) *http.Response {
			return f.Get(strings.ReplaceAll(path, "{}", url.QueryEscape(text)))
		}
	}
	faces := map[string]func(text string) *http.Response{
		"at":               get(globe, "/at?lat=47&lon=8&at={}"),
		"day":              get(stations, "/stations/nearby?lat=47&lon=8&at={}"),
		"from":             get(stations, "/stations/040180-99999/observations?from={}"),
		"datetime":         get(stations, "/ogc/collections/stations/items?datetime={}"),
		"interval":         get(stations, "/ogc/collections/stations/items?datetime={}/.."),
		"end":              get(stations, "/ogc/collections/stations/items?datetime=../{}"),
		"filter":           get(stations, "/ogc/collections/stations/items?filter=begin%3CTIMESTAMP('{}')"),
		"filter of points": get(writers, "/ogc/collections/points:drivers/items?filter=name%3CTIMESTAMP('{}')"),
		"expires": func(text string) *http.Response {
			return writers.SendTo("PUT", "/points/drivers/d-9",
				strings.NewReader(`{"type":"Feature","id":"d-9","expires":"`+text+
					`","geometry":{"type":"Point","coordinates":[8,47]},"properties":{}}`), "X-Api-Key", servertest.TestKey)
		},
	}
	rapid.Check(tt, func(t *rapid.T) {
		text := rapid.StringMatching(`20[2-9][0-9]-[01][0-9]-[0-3][0-9]([Tt ][0-2][0-9]:[0-5][0-9]:[0-6][0-9]([.,][0-9]{1,11})?([Zz]|[+-][0-2][0-9]:[0-6][0-9])?)?`).Draw(t, "time")
		_, want := instant.Parse(text)
		for name, ask := range faces {
			res := ask(text)
			if took := res.StatusCode != http.StatusBadRequest; took != want {
				t.Errorf("%s: %q: %s, want it taken: %v: %s", name, text, res.Status, want, servertest.Body(tt, res))
			}
		}
	})
}
