//go:build !race

package servertest_test

import (
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
)

// If the operator changes the source of a place's country, the ETags of all endpoints change.
func TestCountryOfIsInTags(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	paths := []string{
		"/reverse?lat=47.4&lon=8.5", "/geocode?q=bern", "/photon/reverse?lat=47.4&lon=8.5", "/photon/api?q=bern",
		"/nominatim/reverse?lat=47.4&lon=8.5&format=json", "/nominatim/search?q=bern&format=json",
		"/nominatim/lookup?osm_ids=N2657896&format=json",
		"/at?lat=47.4&lon=8.5&at=2026-07-01T12:00:00Z", "/places/search?q=bern&country=CH",
		"/searchJSON?q=bern", "/findNearbyJSON?lat=47.4&lng=8.5", "/findNearbyPlaceNameJSON?lat=47.4&lng=8.5", "/getJSON?geonameId=2657896",
		"/countryCodeJSON?lat=47.4&lng=8.5", "/countrySubdivisionJSON?lat=47.4&lng=8.5",
	}
	tags := map[string]string{}
	for _, byMap := range []bool{false, true, false} {
		g.Config.CountryByMap = byMap
		g.Serve()
		for _, path := range paths {
			tag := g.Get(path).Header.Get("ETag")
			key := path
			if byMap {
				key += " by the map"
			}
			if before, known := tags[key]; tag == "" || known && tag != before || tag == tags[path] && byMap {
				t.Errorf("%s: %q, by the source %q", key, tag, tags[path])
			}
			tags[key] = tag
		}
	}
}
