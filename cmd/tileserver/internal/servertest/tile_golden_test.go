package servertest_test

import (
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

func TestTileGolden(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	servertest.GoldenSmall(t, "tile",
		"/tiles/country/3/4/2.mvt",
		"/tiles/country/3/4/2.pbf",
		"/tiles/state,country:us,country:fr,country:us/2/1/1.geojson",
		"/tiles/state%2Ccountry%3Aus/2/1/1.geojson",
		"/tiles/places/0/0/0.geojson",
		"/tiles/all/22/2124531/1443076.geojson",
		"HEAD /tiles/country/3/4/2.mvt",
	)
}

func TestGoldenTileJSON(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	servertest.GoldenSmall(t, "tilejson",
		"/tiles/all.json",
		"/tiles/places.json | X-Forwarded-Host: evil.example",
		"/tiles/country:us,state.json | Host: [2001:db8::1]:8080",
		"/tiles/all.png.json",
		"/tiles/country:us,state.png.json?scale=2&theme=dark&pinned=true",
	)
}
