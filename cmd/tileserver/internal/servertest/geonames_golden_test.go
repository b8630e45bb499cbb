package servertest_test

import (
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

func TestGeonamesGolden(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	servertest.GoldenGlobe(t, "geonames",
		"/searchJSON?q=zur&username=demo",
		"/searchJSON?name_equals=Bern&style=SHORT&lang=fr",
		"/searchJSON?name_startsWith=Port&countryBias=US&maxRows=1&startRow=1",
		"/searchJSON?country=CH&featureClass=P&orderby=population&style=LONG",
		"/searchJSON?continentCode=EU&country=de&country=CH&featureClass=P&adminCode1=01&style=SHORT",
		"/searchJSON?q=nowhere",
		"/search?q=bern&type=json&style=SHORT",
		"/search?q=bern&type=xml",
		"/searchJSON",
		"/searchJSON?q=x&maxRows=1001",
		"/searchJSON?q=x&startRow=5001",
		"/findNearbyJSON?lat=47.45&lng=8.55&maxRows=3",
		"/findNearbyJSON?lat=0&lng=0&radius=1",
		"/findNearbyPlaceNameJSON?lat=47.59&lng=7.9&localCountry=true&lang=de&style=FULL&maxRows=1",
		"/findNearbyPlaceName?lat=47.59&lng=7.9&maxRows=1&callback=cb",
		"/findNearbyPlaceNameJSON?lat=0&lng=-140",
		"/findNearbyPlaceNameJSON?lat=0&lng=0&radius=301",
		"/findNearbyPlaceNameJSON?lat=47.59",
		"/getJSON?geonameId=2657896&username=demo",
		"/getJSON?geonameId=1",
		"/getJSON?geonameId=x",
		"/timezoneJSON?lat=47.01&lng=10.2",
		"/timezoneJSON?lat=47.01&lng=10.2&date=2026-01-01&lang=de",
		"/timezoneJSON?lat=0&lng=-140",
		"/timezoneJSON?lat=-90&lng=0",
		"/countryCodeJSON?lat=47.03&lng=10.2",
		"/countryCode?lat=47.03&lng=10.2",
		"/countryCode?lat=0&lng=-140",
		"/countryCodeJSON?lat=0&lng=-140",
		"/countryCodeJSON?lat=45.7&lng=7&radius=20&lang=de",
		"/countrySubdivisionJSON?lat=47.36&lng=8.55",
		"/countrySubdivisionJSON?lat=47.99&lng=7.85",
		"/countrySubdivisionJSON?lat=47.36&lng=8.55&level=3",
		"/countrySubdivisionJSON?lat=-12.1&lng=-77",
		"/countrySubdivisionJSON?lat=0&lng=-140",
		"HEAD /getJSON?geonameId=2657896",
		"/getJSON?geonameId=2657896&callback=alert(1)",
	)
}
