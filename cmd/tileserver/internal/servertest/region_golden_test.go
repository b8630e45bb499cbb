package servertest_test

import (
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

func TestRegionGolden(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	servertest.GoldenSmall(t, "region",
		"/regions/at?lat=38.5&lon=-98.3",
		"/regions/at?lat=38.5&lon=-98.3&types=state",
		"/regions/at?lat=1&lon=1",
		"/regions/at?lat=40.01&lon=-98.3&snap=50000",
		"/regions/at?lat=40.01&lon=-98.3&snap=0&types=state",
		"/regions/at?lat=38.5&lon=-98.3&snap=0&types=country",
		"/regions/within?bbox=170,-20,-170,10.5",
		"/regions/within?bbox=-1e1,-20,5,+1&types=state&limit=1",
		"/regions/within?bbox=-100,40,-90,45&types=country&id=us",
		"/regions/within?bbox=1,2,1,2&types=country&id=us",
		"HEAD /regions/within?bbox=1,2,1,2",
		"/regions/within?region=country:us&types=country,state",
		"/regions/within?tile=5/7/12&types=state&format=geojson&skipGeometry=true",
		"/regions/within?types=state",
		"/regions/within?region=us&types=state",
		"/regions/within?region=country:zz",
		"/regions/within?tile=5/7/12&types=country&id=us",
		"/regions/within?tile=5/7/12&region=country:us",
		"/regions/nearby?lat=38.5&lon=-98.3&limit=2",
		"/regions/nearby?lat=1&lon=170&types=country&radius=5000000&format=geojson&skipGeometry=true",
		"/regions/nearby?lat=38.5&lon=-98.3&types=state&format=csv&skipGeometry=true",
		"/regions/nearby?lat=38.5&lon=-98.3&types=state&format=ndjson&limit=1",
		"/regions/nearby?lat=1&lon=1&radius=10",
		"HEAD /regions/nearby?lat=1&lon=1",
		"/regions/count",
		"/regions/count?bbox=1,2,3,45&types=country",
		"/regions/count?region=state:us-ks",
		"/regions/count?tile=5/7/12",
		"/regions/country/us",
		"/regions/country/us?geometry=true",
		"HEAD /regions/country/us",
	)
}
