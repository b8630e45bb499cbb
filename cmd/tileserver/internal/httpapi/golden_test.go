package httpapi_test

import (
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

// TestGolden compares the problems of all faces with golden files.
func TestGolden(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	servertest.GoldenSmall(t, "problem",
		"/nowhere",
		"POST /ip/me",
		"DELETE /",
		"/tiles/country/23/0/0.mvt",
		"/tiles/country/3/8/0.mvt",
		"/tiles/country/3/0/-1.mvt",
		"/tiles/country/3/x/0.mvt",
		"/tiles/country/3/0/0.jpg",
		"/tiles/country/3/0/0@3x.png",
		"/tiles/county/3/0/0.mvt",
		"/tiles/country:zzz/3/0/0.mvt",
		"/tiles/county.json",
		"/tiles/country.xml",
		"/tiles/all.json | Host: a\"b",
		"/regions/at?lat=38.5",
		"/regions/at?lat=NaN&lon=1",
		"/regions/at?lat=1&lon=1&types=planet",
		"/regions/at?lat=1&lon=1&types=",
		"/regions/at?lat=1&lon=1&snap=50001",
		"/regions/within",
		"/regions/within?bbox=1,3,2,2",
		"/regions/within?bbox=0,0,1,1&types=planet",
		"/regions/within?bbox=0,0,1,1&types=country&id=zzz",
		"/regions/within?bbox=0,0,1,1&id=us",
		"/regions/within?bbox=0,0,1,1&cursor=bad",
		"/regions/country/zzz",
		"/regions/planet/us",
		"/regions/country/us?geometry=maybe",
		"/places/nearby?lat=1&lon=1&limit=0",
		"/places/1",
		"/places/x",
		"/ip/1.2.3",
		"/ip/2606:4700::1111",
		"/ip/10.1.2.3",
	)
}
