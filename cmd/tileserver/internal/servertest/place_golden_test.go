//go:build !race

package servertest_test

import (
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

func TestPlaceGolden(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	servertest.GoldenSmall(t, "place",
		"/places/nearby?lat=48.8566&lon=2.3522",
		"/places/nearby?lat=48.8566&lon=2.3522&format=geojson",
		"/places/nearby?lat=48.8566&lon=2.3522 | Accept: application/geo+json",
		"/places/2988507",
	)
}

func TestGoldenSearch(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	servertest.GoldenGlobe(t, "search",
		"/places/search?q=z%C3%BCr",
		"/places/search?q=zur&limit=1",
		"/places/search?q=zur&lang=it&country=ch&class=P",
		"/places/search?q=zur&format=geojson&lat=47&lon=8",
		"/places/search?q=bern | Accept: application/geo+json",
		"/places/search?q=pdx",
		"/places/search?q=kpdx&format=geojson",
		"/places/search?q=nothing",
		"/places/search?q=null",
		"HEAD /places/search?q=zur",
		"/places/within?bbox=5,45,11,48.5&limit=2",
		"/places/within?bbox=5,45,11,48.5&limit=2&cursor={next}",
		"/places/within?tile=4/8/5&class=A,S&format=geojson",
		"/places/within?bbox=170,-10,-170,10",
		"HEAD /places/within?bbox=5,45,11,48.5",
		"/places/search",
		"/places/search?q=",
		"/places/search?q=%20",
		"/places/search?q=a%00b",
		"/places/search?q=%ff%fe",
		"/places/search?q=a&limit=101",
		"/places/search?q=a&lat=1",
		"/places/search?q=a&lang=d%22",
		"/places/search?q=a&country=CHE",
		"/places/search?q=a&bbox=1,2,3",
		"/countries/CH",
		"/countries/ch?lang=fr",
		"/countries/DE",
		"/countries/DE?lang=et",
		"/countries/ZZ",
		"/places/within",
		"/places/within?bbox=0,0,1,1&tile=0/0/0",
		"/places/within?tile=3/8/0",
		"/places/within?bbox=0,0,1,1&cursor=",
	)
}
