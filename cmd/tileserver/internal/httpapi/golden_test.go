package httpapi

import (
	"bytes"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quadrille/feature"
	"quadrille/internal/testrace"
	"quadrille/places"
	"quadrille/quadkey"
	"quadrille/tiles"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// TestGolden pins whole answers, headers included: clients rely on them. One
// file of testdata per family of endpoints.
func TestGolden(t *testing.T) {
	testrace.Plain(t, "one request after the other, which TestEverythingAtOnce sends at once")
	for _, family := range []struct {
		name     string
		requests []string // path and headers, separated by " | "
	}{
		{"tile", []string{
			"/tiles/country/3/4/2.mvt",
			"/tiles/country/3/4/2.pbf",
			"/tiles/state,country:us,country:fr,country:us/3/4/2.geojson",
			"/tiles/state%2Ccountry%3Aus/3/4/2.geojson",
			"/tiles/places/0/0/0.geojson",
			"/tiles/all/22/4194303/4194303.geojson",
			"HEAD /tiles/country/3/4/2.mvt",
		}},
		{"tilejson", []string{
			"/tiles/all.json",
			"/tiles/places.json | X-Forwarded-Host: evil.example",
			"/tiles/country:us,state.json | Host: [2001:db8::1]:8080",
			"/tiles/all.png.json",
			"/tiles/country:us,state.png.json?scale=2&theme=dark&pinned=true",
		}},
		{"region", []string{
			"/regions/at?lat=38.5&lon=-98.3",
			"/regions/at?lat=38.5&lon=-98.3&types=state",
			"/regions/at?lat=-90&lon=180&types=country",
			"/regions/at?lat=38.5&lon=-98.3&snap=50000",
			"/regions/at?lat=38.5&lon=-98.3&snap=0&types=state",
			"/regions/at?lat=38.5&lon=-98.3&snap=0&types=country",
			"/regions/within?bbox=170,-20,-170,10.5",
			"/regions/within?bbox=-1e1,-20,5,+1&types=state&limit=1",
			"/regions/within?bbox=-180,-90,180,90&types=country&id=us",
			"/regions/within?bbox=1,2,1,2&types=country&id=none",
			"HEAD /regions/within?bbox=1,2,1,2",
			"/regions/country/us",
			"/regions/country/us?geometry=true",
			"HEAD /regions/country/us",
		}},
		{"place", []string{
			"/places/nearby?lat=48.8566&lon=2.3522",
			"/places/nearby?lat=48.8566&lon=2.3522&format=geojson",
			"/places/nearby?lat=48.8566&lon=2.3522 | Accept: application/geo+json",
			"/places/2988507",
		}},
		{"ip", []string{
			"/ip/1.2.3.4",
			"/ip/::ffff:1.2.3.4",
			"/ip/me",
			"/ip/me | X-Forwarded-For: 10.0.0.1",
			"/ip/1.2.3.4?lang=de",
			"/ip/headers",
			"POST /ip/headers/any/path",
			"/geoip/v2.1/city/10.1.2.3",
			"/geoip/v2.1/country/x",
			"/geoip/v2.1/insights/1.2.3.4",
			"/geoip/v2.1/city/1.2.3.4 | Accept: text/html",
			"/geoip/v2.1/city/1.2.3.4 | Accept-Charset: latin1",
			"OPTIONS /ip/batch",
			"/ip/batch",
		}},
		{"ops", []string{
			"/healthz",
			"/readyz",
			"/status",
			"OPTIONS /tiles/country/3/4/2.mvt | Origin: https://a.example | Access-Control-Request-Method: GET",
			"OPTIONS /nowhere",
			"/",
			"/favicon.ico",
		}},
		{"problem", []string{
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
		}},
	} {
		t.Run(family.name, func(t *testing.T) {
			f := newFixture(t, nil, all...)
			f.bounds.at = []tiles.Region{
				{Type: "country", ID: "us", Name: `The "States" <b>&`},
				{Type: "state", ID: "us-ks", Name: "Kansas"},
				{Type: "state", ID: "nameless"},
			}
			f.bounds.matches = []tiles.Match{
				{Region: tiles.Region{Type: "country", ID: "us", Name: `The "States" <b>&`}, Kind: tiles.MatchInside},
				{Region: tiles.Region{Type: "state", ID: "us-ks", Name: "Kansas"}, Kind: tiles.MatchSnapped, Distance: 1234.56},
				{Region: tiles.Region{Type: "lake"}},
				{Region: tiles.Region{Type: "reef"}, Truncated: true},
			}
			region := func(lat, lon float64, bounds quadkey.Box, members string) feature.Feature {
				return feature.Feature{Position: quadkey.Position{Lat: lat, Lon: lon}, Bounds: bounds, Properties: feature.Compact([]byte(members))}
			}
			f.bounds.regions = map[string][]feature.Feature{
				"country": {region(-17, 178, quadkey.Box{West: 177.25, South: -18.5, East: -179.75, North: 0}, `"type":"country","id":"fj","name":"Fiji"`)},
				"state": {
					region(1, 1, quadkey.Box{West: -0.000001, South: 1, East: 2, North: 3}, `"type":"state","id":"nameless"`),
					region(0, 1, quadkey.Box{East: 2, North: 1}, `"type":"state","id":"next"`),
				},
			}
			for _, list := range f.bounds.regions {
				for i := range list {
					list[i].ID = list[i].Properties.Text("id")
				}
			}
			f.places.hits = []places.Hit{
				{ID: 2988507, Lat: 48.85341, Lon: 2.3488, DistanceM: 432.06, JSON: []byte(`"id":2988507,"name":"Paris","lat":48.85341,"lon":2.3488`)},
				{ID: 3, Lat: -1, Lon: 1e-7, DistanceM: 0, JSON: []byte(`"id":3,"name":"Ω"`)},
			}
			f.places.tile = []fakePlace{{id: 7, lon: 2.35, lat: 48.85, name: "P", code: "PPL", population: 5}}
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
				dump(&out, line, f.do(method, path, headers...))
			}
			golden(t, family.name, out.Bytes())
		})
	}
}

var (
	since = regexp.MustCompile(`"since":"[^"]*"`)
	taken = regexp.MustCompile(`"bytes":[0-9]+`) // on the disk, which depends on its blocks
)

// dump writes a response as text that is easy to compare.
func dump(out *bytes.Buffer, request string, res *http.Response) {
	fmt.Fprintf(out, "> %s\n%d\n", request, res.StatusCode)
	var b bytes.Buffer
	_, _ = b.ReadFrom(res.Body)
	text := taken.ReplaceAllString(b.String(), `"bytes":0`)
	if n := strconv.Itoa(b.Len()); res.Header.Get("Content-Length") == n {
		res.Header.Set("Content-Length", strconv.Itoa(len(text)))
	}
	var names []string
	for name := range res.Header {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := strings.Join(res.Header[name], " + ")
		if name == "Etag" && len(value) == 18 {
			value = "(a tag)"
		}
		fmt.Fprintf(out, "%s: %s\n", name, value)
	}
	text = since.ReplaceAllString(strings.TrimRight(text, "\n"), `"since":"…"`)
	fmt.Fprintf(out, "\n%s\n\n", text)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run go test with -update to write it", err)
	}
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			t.Fatalf("%s:%d\n got %s\nwant %s", path, i+1, g[i], w[i])
		}
	}
	t.Fatalf("%s has %d lines, want %d", path, len(g), len(w))
}
