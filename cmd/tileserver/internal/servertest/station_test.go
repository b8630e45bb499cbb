//go:build !race

package servertest_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

const (
	zurichJSON = `{"id":"06660099999","usaf":"066600","wban":"99999","name":"ZÜRICH \u003cb\u003e","country":"CH","icao":"LSZX","elevation_m":431.9,"begin":"1949-01-02","end":"2025-01-02","lat":47.383,"lon":8.567`
	klotenJSON = `{"id":"06670099999","usaf":"066700","wban":"99999","name":"KLOTEN","country":"CH","begin":"1931-01-02","end":"1990-01-02","lat":47.48,"lon":8.536`
	lineJSON   = `{"id":"A0000100001","usaf":"A00001","wban":"00001","name":"DATE LINE","lat":-17,"lon":-179.9`
	ghcnJSON   = `{"id":"ARM00087544","wmo":"87544","name":"PEHUAJO","country":"AR","lat":-35.87,"lon":-61.9`
	suvaJSON   = `{"id":"91690099999","usaf":"916900","wban":"99999","name":"SUVA","country":"FJ","lat":-18.05,"lon":178.567`
)

func TestStationAnswers(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	f := servertest.NewStations(t, ask.Stations.Name, ask.Weather.Name)
	for _, tt := range []struct{ path, want string }{
		{"/stations/nearest?lat=47.383&lon=8.567", `{"station":` + zurichJSON + `,"distance_m":0.0}}`},
		{"/stations/nearest?lat=-17&lon=180&format=json", `{"station":` + lineJSON + `,"distance_m":10633.6}}`},
		{"/stations/nearest?lat=-17&lon=-180&format=geojson",
			`{"type":"Feature","id":"A0000100001","geometry":{"type":"Point","coordinates":[-179.9,-17]},"properties":` + lineJSON +
				`,"distance_m":10633.6}}`},
		{"/stations/nearby?lat=47.383&lon=8.567&radius=20000",
			`{"stations":[` + zurichJSON + `,"distance_m":0.0},` + klotenJSON + `,"distance_m":11035.1}]}`},
		{"/stations/nearby?lat=47.383&lon=8.567&radius=20000&at=1940-06-01", `{"stations":[` + klotenJSON + `,"distance_m":11035.1}]}`},
		{
			"/stations/nearby?lat=47.383&lon=8.567&limit=1&at=2000-06-01T12:00:00%2B02:00&country=ch",
			`{"stations":[` + zurichJSON + `,"distance_m":0.0}]}`,
		},
		{"/stations/nearby?lat=0&lon=0&radius=1", `{"stations":[]}`},
		{"/stations/within?bbox=170,-20,-170,-10&limit=5", `{"bbox":[170,-20,-170,-10],"stations":[` + lineJSON + `},` + suvaJSON + `}]}`},
		{"/stations/within?bbox=0,0,1,1&format=geojson", `{"bbox":[0,0,1,1],"type":"FeatureCollection","features":[]}`},
		{"/stations/066600-99999", zurichJSON + `}`},
		{"/stations/a0000100001", lineJSON + `}`},
		{"/stations/arm00087544", ghcnJSON + `}`},
		{"/stations/ARM00087544/observations", `{"station":"ARM00087544","observations":[]}`},
		{"/stations/within?bbox=-62,-36,-61,-35", `{"bbox":[-62,-36,-61,-35],"stations":[` + ghcnJSON + `}]}`},
		{
			"/stations/066600-99999/observations?limit=1&from=2024-01-01&to=2024-01-01T00:59:59Z",
			`{"station":"06660099999","observations":[{"time":"2024-01-01T00:00:00Z","temperature_c":0}]}`,
		},
		{
			"/stations/066700-99999/observations?from=2024-01-02T04:00:00Z",
			`{"station":"06670099999","observations":[{"time":"2024-01-02T05:00:00Z","temperature_c":29.1},{"time":"2024-01-02T04:00:00Z","temperature_c":28.1}]}`,
		},
		{"/stations/916900-99999/observations", `{"station":"91690099999","observations":[]}`},
		{"/weather/0/0/0.json", `{"tile":"0/0/0","hour":"2024-01-02T05:00:00Z","observations":2,"temperature_c":29.05,"temperature_min_c":29,"temperature_max_c":29.1,"side":4,` +
			`"parts":[{"x":2,"y":1,"observations":2,"temperature_c":29.05,"temperature_min_c":29,"temperature_max_c":29.1}]}`},
		{"/weather/8/134/89.json?at=2024-01-01T03:59:00Z",
			`{"tile":"8/134/89","hour":"2024-01-01T03:00:00Z","observations":2,"temperature_c":3.05,"temperature_min_c":3,"temperature_max_c":3.1,"side":1,` +
				`"parts":[{"x":0,"y":0,"observations":2,"temperature_c":3.05,"temperature_min_c":3,"temperature_max_c":3.1}]}`},
		{"/weather/7/0/0.json?at=1950-01-01", `{"tile":"7/0/0","hour":"1950-01-01T00:00:00Z","observations":0,"side":2,"parts":[]}`},
	} {
		res := f.Get(tt.path)
		text := servertest.Body(t, res)
		if res.StatusCode != 200 || text != tt.want {
			t.Errorf("%s: %d\n got %s\nwant %s", tt.path, res.StatusCode, text, tt.want)
		}
		if !json.Valid([]byte(text)) {
			t.Errorf("%s: not JSON", tt.path)
		}
		wantType := "application/json"
		if strings.Contains(tt.path, "geojson") {
			wantType = "application/geo+json"
		}
		if got := res.Header.Get("Content-Type"); got != wantType {
			t.Errorf("%s: %s", tt.path, got)
		}
		if res := f.Get(tt.path, "If-None-Match", res.Header.Get("Etag")); res.StatusCode != http.StatusNotModified {
			t.Errorf("%s: %d for what the client has", tt.path, res.StatusCode)
		}
		if res := f.Do(http.MethodHead, tt.path); res.StatusCode != 200 || servertest.Body(t, res) != "" {
			t.Errorf("%s: HEAD answers %d", tt.path, res.StatusCode)
		}
	}
	if res := f.Get("/stations/nearest?lat=1&lon=1", "Accept",
		"application/geo+json"); res.Header.Get("Content-Type") != "application/geo+json" ||
		!strings.HasPrefix(res.Header.Get("Vary"), "Accept") {
		t.Error(res.Header)
	}
	// The tiles of a station cover the station, and all are different.
	var doc struct {
		ID    string
		Tiles []string
	}
	if err := json.Unmarshal([]byte(servertest.Body(t, f.Get("/stations/066600-99999/tiles"))), &doc); err != nil ||
		doc.ID != "06660099999" || len(doc.Tiles) == 0 {
		t.Error(doc, err)
	}
}

func TestStationPages(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	f := servertest.NewStations(t, ask.Stations.Name, ask.Weather.Name)
	for path, want := range map[string]int{
		"/stations/within?bbox=-180,-90,180,90&limit=1":                     5,
		"/stations/066600-99999/observations?limit=7":                       30,
		"/stations/066600-99999/observations?limit=7&to=2024-01-01":         24,
		"/stations/066600-99999/observations?from=2024-01-01T12:00:00Z":     18,
		"/stations/066600-99999/observations?from=2023-01-01&to=2024-06-01": 30,
	} {
		got, next := 0, ""
		for {
			var page struct {
				Stations, Observations []json.RawMessage
				Next                   string
			}
			address := path
			if next != "" {
				address += "&cursor=" + next
			}
			if err := json.Unmarshal([]byte(servertest.Body(t, f.Get(address))), &page); err != nil {
				t.Fatal(err)
			}
			got += len(page.Stations) + len(page.Observations)
			if next = page.Next; next == "" {
				break
			}
		}
		if got != want {
			t.Errorf("%s: %d in all, want %d", path, got, want)
		}
	}
	// A cursor is valid only for its generation.
	var page struct{ Next string }
	if err := json.Unmarshal([]byte(servertest.Body(t, f.Get("/stations/066600-99999/observations?limit=7"))), &page); err != nil {
		t.Fatal(err)
	}
	servertest.WantProblem(t, f.Get("/stations/066700-99999/observations?limit=7&cursor="+page.Next), 400, "bad-parameter")
	servertest.WantProblem(t, f.Get("/stations/066700-99999/observations?cursor=xyz"), 400, "bad-parameter")
}

func TestStationProblems(t *testing.T) {
	f := servertest.NewStations(t, ask.Stations.Name, ask.Weather.Name)
	for _, tt := range []struct{ path, parameter string }{
		{"/stations/nearest", "lat"},
		{"/stations/nearest?lat=1&lon=181", "lon"},
		{"/stations/nearest?lat=1&lon=1&format=xml", "format"},
		{"/stations/nearby?lat=1", "lon"},
		{"/stations/nearby?lat=1&lon=1&radius=0", "radius"},
		{"/stations/nearby?lat=1&lon=1&limit=1001", "limit"},
		{"/stations/nearby?lat=1&lon=1&at=yesterday", "at"},
		{"/stations/nearby?lat=1&lon=1&at=2024-02-30", "at"},
		{"/stations/nearby?lat=1&lon=1&at=9999-01-01", "at"},
		{"/stations/nearby?lat=1&lon=1&at=2024-01-01T00:00:00+02:00", "at"}, // the plus is a blank
		{"/stations/nearby?lat=1&lon=1&country=FRA", "country"},
		{"/stations/within", "bbox"},
		{"/stations/within?bbox=1,2,3", "bbox"},
		{"/stations/within?bbox=0,0,1,1&cursor=", "cursor"},
		{"/stations/xyz", "id"},
		{"/stations/066600-9999/tiles", "id"},
		{"/stations/066600-99999/observations?from=", "from"},
		{"/stations/066600-99999/observations?from=2024-01-02&to=2024-01-01", "from"},
		{"/stations/066600-99999/observations?limit=0", "limit"},
		{"/weather/1/0/0.json?at=now", "at"},
		{"/weather/a/0/0.json", "z"},
		{"/weather/1/x/0.json", "x"},
		{"/weather/1/0/0x.json", "y"},
	} {
		if p := servertest.WantProblem(t, f.Get(tt.path), 400, "bad-parameter"); p.Parameter != tt.parameter {
			t.Errorf("%s: parameter %q, want %q", tt.path, p.Parameter, tt.parameter)
		}
	}
	servertest.WantProblem(t, f.Get("/stations/000000-00000"), 404, "station-not-found")
	servertest.WantProblem(t, f.Get("/stations/000000-00000/tiles"), 404, "station-not-found")
	servertest.WantProblem(t, f.Get("/stations/000000-00000/observations"), 404, "station-not-found")
	servertest.WantProblem(t, f.Get("/weather/9/0/0.json"), 404, "tile-outside")
	servertest.WantProblem(t, f.Get("/weather/1/2/0.json"), 404, "tile-outside")
	servertest.WantProblem(t, f.Get("/weather/1/0/0.png"), 404, "unknown-format")
	servertest.WantProblem(t, f.Get("/weather/1/0/0/0.json"), 404, "not-found")
	servertest.WantProblem(t, f.Get("/stations/066600-99999/other"), 404, "not-found")
}

// TestStationDatasets tests that the data sets of stations and of weather have endpoints of their
// own, which answer once the data set is published.
func TestStationDatasets(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	paths := []string{"/stations/nearest?lat=1&lon=1", "/stations/nearby?lat=1&lon=1", "/stations/within?bbox=0,0,1,1",
		"/stations/066600-99999", "/stations/066600-99999/tiles"}
	weather := []string{"/stations/066600-99999/observations", "/weather/0/0/0.json"}
	f := servertest.NewStations(t)
	for _, path := range append(paths, weather...) {
		servertest.WantProblem(t, f.Get(path), 404, "dataset-missing")
	}
	f.Publish(ask.Stations.Name)
	f.Poll()
	for _, path := range paths {
		if res := f.Get(path); res.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, res.StatusCode, servertest.Body(t, res))
		}
	}
	for _, path := range weather {
		servertest.WantProblem(t, f.Get(path), 404, "dataset-missing")
	}
	f.Publish(ask.Weather.Name)
	f.Poll()
	for _, path := range weather {
		if res := f.Get(path); res.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, res.StatusCode, servertest.Body(t, res))
		}
	}
	if res := f.Get("/readyz"); res.StatusCode != 200 {
		t.Error(servertest.Body(t, res))
	}
	status := servertest.Body(t, f.Get("/status"))
	for _, name := range []string{ask.Stations.Name, ask.Weather.Name} {
		if !strings.Contains(status, `{"name":"`+name+`","state":"serving","generation":1`) {
			t.Errorf("%s: %s", name, status)
		}
	}
	// A newer generation is taken into service, and answers have another ETag.
	tag := f.Get(paths[0]).Header.Get("Etag")
	f.Publish(ask.Stations.Name)
	f.Poll()
	if res := f.Get(paths[0], "If-None-Match", tag); res.StatusCode != 200 {
		t.Error(res.StatusCode)
	}
}

// A search for the nearest station costs one seek, and one more for the record.
func TestStationSeeks(t *testing.T) {
	f := servertest.NewStations(t, ask.Stations.Name)
	before := f.Stations.Reads.Load()
	if res := f.Get("/stations/nearest?lat=1&lon=1"); res.StatusCode != 200 {
		t.Fatal(servertest.Body(t, res))
	}
	if n := f.Stations.Reads.Load() - before; n != 2 {
		t.Errorf("%d seeks", n)
	}
}
