//go:build !race

package httpapi

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
)

// TestGoldenGlobe pins whole answers of searches, of points and of the
// GeoNames endpoints, whose shapes their clients rely on.
func TestGoldenGlobe(t *testing.T) {
	for _, family := range []struct {
		name     string
		requests []string // path and headers, separated by " | "
	}{
		{"search", []string{
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
			"/places/within?bbox=5,45,11,48.5&limit=2&cursor=A-OwxELtL8ejhoJAMQAAAAAAAAAAAAAAAAAAAAU",
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
			"/places/within",
			"/places/within?bbox=0,0,1,1&tile=0/0/0",
			"/places/within?tile=3/8/0",
			"/places/within?bbox=0,0,1,1&cursor=",
		}},
		{"at", []string{
			"/at?lat=47.4&lon=8.5&at=2026-01-15T11:30:00Z",
			"/at?lat=47.4&lon=8.5&at=2026-07-15T13:30:00%2B02:00&types=country&lang=fr",
			"/at?lat=47.4&lon=8.5",
			"/at?lat=-12&lon=-77&at=2026-07-15T12:00:00Z",
			"/at?lat=20&lon=80&at=2026-07-15T12:00:00Z&types=timezone",
			"/at?lat=0&lon=-140&at=2026-07-15T12:00:00Z",
			"/at?lat=90&lon=180&at=1900-01-01T00:00:00Z",
			"HEAD /at?lat=47.4&lon=8.5",
			"/at?lat=47.4",
			"/at?lat=47.4&lon=8.5&at=noon",
			"/at?lat=47.4&lon=8.5&at=2101-01-01T00:00:00Z",
			"/at?lat=47.4&lon=8.5&types=planet",
		}},
		{"geonames", []string{
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
		}},
	} {
		t.Run(family.name, func(t *testing.T) {
			g := newGlobe(t, nil)
			g.places.completions = map[string]string{
				"zür": `{"places":[{"id":2657896,"name":"Zürich","population":341730,"match":{"kind":"prefix","highlight":[0,3]}},{"id":1,"name":"\"population\":9}"}]}`,
			}
			var out bytes.Buffer
			for _, line := range family.requests {
				parts := strings.Split(line, " | ")
				method, path := http.MethodGet, parts[0]
				if m, p, ok := strings.Cut(path, " "); ok {
					method, path = m, p
				}
				var headers []string
				for _, h := range parts[1:] {
					name, value, _ := strings.Cut(h, ": ")
					headers = append(headers, name, value)
				}
				dump(&out, line, g.do(method, path, headers...))
			}
			golden(t, family.name, out.Bytes())
		})
	}
}
