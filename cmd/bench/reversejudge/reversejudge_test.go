package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/bench/judged"
)

// world returns two countries, an enclave in Canada and a lake in Michigan. The countries are the
// United States, west of Greenwich, with two states of one county each, and Canada to the east.
func world(t *testing.T) *judged.World {
	t.Helper()
	layer := func(describe func(id string, text func(...string) string) *judged.Region, boxes ...string) *judged.Layer {
		var features []string
		for _, box := range boxes {
			var id, name string
			var w, s, e, n int
			if _, err := fmt.Sscan(box, &id, &name, &w, &s, &e, &n); err != nil {
				t.Fatal(err)
			}
			features = append(features,
				fmt.Sprintf(`{"id":%q,"properties":{"name":%q},"geometry":{"type":"Polygon","coordinates":[[[%d,%d],[%d,%d],[%d,%d],[%d,%d],[%d,%d]]]}}`,
					id, name, w, s, e, s, e, n, w, n, w, s))
		}
		file := filepath.Join(t.TempDir(), "layer.json")
		if err := os.WriteFile(file, []byte(`{"features":[`+strings.Join(features, ",")+`]}`), 0o644); err != nil {
			t.Fatal(err)
		}
		l, err := judged.ReadLayer(file, "", describe)
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	in := func(country string) func(string, func(...string) string) *judged.Region {
		return func(id string, text func(...string) string) *judged.Region {
			r := &judged.Region{Names: []string{text("name")}, Codes: []string{id}, Country: country}
			if country == "" {
				r.Country = strings.ToUpper(id)
			}
			return r
		}
	}
	w := &judged.World{Lakes: layer(in("-"), "lake Erie -8 4 -7 5")}
	w.Layers = [judged.Levels]*judged.Layer{
		layer(in(""), "us States -10 0 0 10", "ca Canada 0 0 10 10", "va Vatican 4 4 5 5"),
		layer(in("US"), "us-mi Michigan -10 0 -5 10", "us-oh Ohio -5 0 0 10"),
		layer(in("US"), "26163 Wayne -10 0 -5 10", "39001 Adams -5 0 0 10"),
	}
	for i, at := range [][2]float64{{-9, 5}, {-8.5, 5}, {-8, 6}, {-1, 5}, {-0.1, 5}, {-0.2, 6}, {0.2, 5}, {1, 5}, {2, 5}, {4.5, 4.5}} {
		p := judged.Place{ID: i + 1, Name: fmt.Sprint("Town ", i+1), Lon: at[0], Lat: at[1], Country: "US", Admin1: "MI", Admin2: "163"}
		if at[0] > -5 {
			p.Admin1, p.Admin2 = "OH", "001"
		}
		if at[0] > 0 {
			p.Country, p.Admin1, p.Admin2 = "CA", "08", ""
		}
		w.Places = append(w.Places, p)
	}
	w.Finish()
	return w
}

// right has the correct answer of each endpoint for a point in Wayne. town is a town there.
var right = map[string]string{
	"/regions/at":              `{"regions":[{"type":"country","id":"us","name":"States"},{"type":"state","id":"us-mi","name":"Michigan"},{"type":"county","id":"26163","name":"Wayne"},{"type":"lake","id":"erie","name":"Erie"}]}`,
	"/reverse":                 `{"results":[{"kind":"place","id":"1","name":"Town 1","country":"US","parents":[{"type":"county","id":"26163"},{"type":"state","id":"us-mi"},{"type":"country","id":"us"}]},{"kind":"region","type":"county","id":"26163","parents":[{"type":"state","id":"us-mi"},{"type":"country","id":"us"}]},{"kind":"region","type":"lake","id":"erie"},{"kind":"region","type":"state","id":"us-mi","parents":[{"type":"country","id":"us"}]},{"kind":"region","type":"country","id":"us"}]}`,
	"/at":                      `{"regions":[{"type":"country","id":"us","name":"States"},{"type":"state","id":"us-mi","name":"Michigan"},{"type":"county","id":"26163","name":"Wayne"}],"place":{"id":1,"country":"US","admin1":"MI"}}`,
	"/photon/reverse":          `{"features":[{"properties":{"osm_type":"N","osm_id":1,"name":"Town 1","county":"Wayne","state":"Michigan","country":"States","countrycode":"US"}}]}`,
	"/nominatim/reverse":       `{"osm_type":"node","place_id":1,"display_name":"Town 1, Wayne, Michigan, States","address":{"county":"Wayne","state":"Michigan","ISO3166-2-lvl4":"US-MI","country":"States","country_code":"us"}}`,
	"/countryCodeJSON":         `{"countryCode":"US","countryName":"States"}`,
	"/countrySubdivisionJSON":  `{"countryCode":"US","adminCode1":"MI","adminName1":"Michigan","codes":[{"code":"MI","level":"1"}],"adminCode2":"163","adminName2":"Wayne County"}`,
	"/timezoneJSON":            `{"countryCode":"US"}`,
	"/findNearbyPlaceNameJSON": `{"geonames":[{"geonameId":1,"countryCode":"US","adminCode1":"MI","adminCode2":"163"}]}`,
	"/findNearbyJSON":          `{"geonames":[]}`,
}

func TestFaults(t *testing.T) {
	w := world(t)
	j := judge{w}
	faultsOf := func(name, body string, q question) string {
		f := &faces[slices.IndexFunc(faces, func(f face) bool { return f.name == name })]
		a, err := f.read([]byte(body))
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		truth := truths(w, q)
		var list []string
		for is := range j.faults(f, q, &a, &truth) {
			list = append(list, is.String())
		}
		slices.Sort(list)
		return strings.Join(list, "; ")
	}
	wayne := question{lat: 4.5, lon: -7.5}
	for name, body := range right {
		if got := faultsOf(name, body, wayne); got != "" {
			t.Errorf("%s: %s", name, got)
		}
	}
	if len(right) != len(faces) {
		t.Errorf("%d of %d faces have a right answer", len(right), len(faces))
	}
	canada, border, enclave := question{lat: 5, lon: 0.1}, question{lat: 5, lon: 0.0005}, question{lat: 4.5, lon: 4.5}
	for _, c := range []struct {
		q                question
		face, body, want string
	}{
		{canada, "/reverse", `{"results":[{"kind":"place","id":"5","country":"US","parents":[{"type":"country","id":"ca"}]},{"kind":"region","type":"country","id":"ca"}]}`,
			"members disagree; place beside a country that it is not in; place of another country, one of its own near"},
		{canada, "/reverse", `{"results":[{"kind":"place","id":"3","country":"US","parents":[{"type":"country","id":"us"}]},{"kind":"region","type":"country","id":"ca"}]}`,
			"place of another country, one of its own near"},
		{
			canada,
			"/photon/reverse",
			`{"features":[{"properties":{"osm_type":"N","osm_id":5,"country":"States","countrycode":"US","state":"Ohio"}}]}`,
			"place of another country, one of its own near; wrong country",
		},
		{canada, "/photon/reverse", `{"features":[]}`, "no country"},
		{
			canada,
			"/nominatim/reverse",
			`{"display_name":"Town, Ohio, Canada","address":{"state":"Ohio","country":"Canada","country_code":"ca"}}`,
			"members disagree",
		},
		{canada, "/countryCodeJSON", `{"status":{"message":"no country code found","value":15}}`, "no country"},
		{canada, "/timezoneJSON", `{"timezoneId":"America/Toronto"}`, "no country"},
		{border, "/countryCodeJSON", `{"countryCode":"US"}`, ""},
		{border, "/countryCodeJSON", `{"countryCode":"VA"}`, "wrong country"},
		{enclave, "/regions/at", `{"regions":[{"type":"country","id":"ca"},{"type":"country","id":"va"}]}`, "wrong country"},
		{
			enclave,
			"/reverse",
			`{"results":[{"kind":"region","type":"country","id":"va","parents":[{"type":"country","id":"ca"}]}]}`,
			"region in one of its own kind",
		},
		{
			wayne,
			"/nominatim/reverse",
			strings.Replace(right["/nominatim/reverse"], "Wayne, Michigan", "Wayne, Erie, Michigan", 1),
			"lake among the parents",
		},
		{
			wayne,
			"/nominatim/reverse",
			strings.ReplaceAll(right["/nominatim/reverse"], "Wayne", "Adams"),
			"members disagree; place beside a county that it is not in; wrong county",
		},
		{
			wayne,
			"/countrySubdivisionJSON",
			`{"countryCode":"US","adminCode1":"OH","adminName1":"Michigan","codes":[{"code":"MI","level":"1"}]}`,
			"no county; wrong state",
		},
		{wayne, "/findNearbyPlaceNameJSON", `{"geonames":[{"geonameId":1,"countryCode":"US","adminCode1":"OH","adminCode2":"163"}]}`,
			"place with another county than its row's; place with another state than its row's"},
	} {
		if got := faultsOf(c.face, c.body, c.q); got != c.want {
			t.Errorf("%v %s %s: got %q, want %q", c.q, c.face, c.body, got, c.want)
		}
	}
}

func TestRefusal(t *testing.T) {
	if _, err := readGeoNames([]byte(`{"status":{"message":"not published","value":12}}`)); err == nil || err.Error() != "not published" {
		t.Errorf("got %v", err)
	}
}

func TestAsk(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, right[r.URL.Path]) }))
	defer server.Close()
	r, err := ask(t.Context(), server.URL, world(t), []question{{4.5, -7.5, "here"}, {5, 5.5, "abroad"}, {50, 50, "sea"}})
	if err != nil {
		t.Fatal(err)
	}
	table := r.table()
	for _, want := range []string{
		"3 points; judged are the country of 2, the state of 1 and the county of 1.", "Country 1, state 2, county 2 in no polygon",
		"| wrong country | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 1 | 0 | 0 |",
	} {
		if !strings.Contains(table, want) {
			t.Errorf("%q is not in\n%s", want, table)
		}
	}
	if got := r.list(1); !strings.Contains(got, "wrong country, /countryCodeJSON: 5,5.5 (abroad): US") {
		t.Errorf("got\n%s", got)
	}
}

func TestSampler(t *testing.T) {
	w := world(t)
	draw := func() []question { return (&sampler{w, rand.New(rand.NewPCG(1, 0))}).questions(60) }
	list, count := draw(), map[string]int{}
	for _, q := range list {
		count[q.from]++
		level := slices.IndexFunc([]string{"country", "state", "county"}, func(name string) bool { return strings.HasSuffix(q.from, name) })
		if strings.HasPrefix(q.from, "border") &&
			!slices.ContainsFunc(w.Layers[level].Regions, func(r *judged.Region) bool { return r.EdgeNearer(q.lon, q.lat, 5100) }) {
			t.Errorf("%+v is at no border", q)
		}
		if strings.HasPrefix(q.from, "towns") && (q.lon < -0.2 || q.lon > 0.3) {
			t.Errorf("%+v is not between towns", q)
		}
	}
	if count["border of country"] != 10 || count["border of state"] < 10 || count["border of county"] < 10 ||
		count["towns of country"] != 10 || count["town in several of country"] != 1 {
		t.Errorf("%v", count)
	}
	if !slices.Equal(list, draw()) {
		t.Error("the same seed draws other points")
	}
}
