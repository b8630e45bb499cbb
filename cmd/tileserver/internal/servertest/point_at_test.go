//go:build !race

package servertest_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/names"
	"quadrille/places/search"
	"quadrille/quadkey"
)

// pointAnswer is the answer of /at, as a client reads it.
type pointAnswer struct {
	Regions  []struct{ Type, ID, Match string }
	Timezone struct {
		ID, Offset, Source, Match, Abbreviation string
		OffsetS                                 *int   `json:"offset_s"`
		LocalTime                               string `json:"local_time"`
		Nautical                                bool
		Also                                    []string
		DistanceM                               *float64 `json:"distance_m"`
	}
	Place, Airport, Station *struct {
		Name      string
		DistanceM *float64 `json:"distance_m"`
		Match     string
	}
	Missing []string
}

func at(g *servertest.Server, query string) (a pointAnswer) {
	g.T.Helper()
	res := g.Get("/at?" + query)
	text := servertest.Body(g.T, res)
	if res.StatusCode != 200 {
		g.T.Fatalf("%s: %d %s", query, res.StatusCode, text)
	}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		g.T.Fatalf("%s: %v: %s", query, err, text)
	}
	return a
}

func TestTimeZoneAt(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	for _, tt := range []struct {
		name, query       string
		id, source, match string
	}{
		{"a region that is a zone", "lat=20&lon=80", "Asia/Kolkata", "region", "inside"},
		{"the nearest place in the same country", "lat=47.58&lon=8.2", "Europe/Zurich", "place", "nearest"},
		{"not the nearer place across the border", "lat=47.61&lon=8.55", "Europe/Berlin", "place", "nearest"},
		{"an area of one offset is not asked before places", "lat=-12&lon=-77", "America/Lima", "place", "nearest"},
		{"but where there are none", "lat=-16&lon=-68.1", "America/New_York", "region", "derived"},
		{"land far from all places of the country", "lat=35&lon=-100", "America/Los_Angeles", "airport", "nearest"},
		{"the sea near land", "lat=-12&lon=-78.9", "America/Lima", "place", "nearest"},
		{"territorial waters", "lat=-12&lon=-82.1", "America/Lima", "place", "nearest"},
		{"the sea", "lat=0&lon=-140", "Etc/GMT+9", "longitude", "derived"},
		{"a pole on land", "lat=-90&lon=0", "", "", ""},
		{"a pole at sea", "lat=90&lon=0", "Etc/GMT", "longitude", "derived"},
		{"open sea near places without a zone", "lat=52.2&lon=0.2", "Etc/GMT", "longitude", "derived"},
		{"a town that the map leaves in the sea", "lat=52.2&lon=0.13", "", "", ""},
	} {
		a := at(g, tt.query)
		z := a.Timezone
		if z.ID != tt.id || z.Source != tt.source || z.Match != tt.match || (z.OffsetS == nil) != (tt.id == "") {
			t.Errorf("%s: %+v, want %s by %s, %s", tt.name, z, tt.id, tt.source, tt.match)
		}
		if z.Nautical != (tt.source == "longitude") || (z.DistanceM != nil) != (tt.match == "nearest") {
			t.Errorf("%s: %+v", tt.name, z)
		}
	}
}

// Regions and the place have names in the requested language, as in /reverse. The zone is still
// found by the untranslated name of its region.
func TestAtInALanguage(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	g.PublishRows(servertest.Names(names.Feature{
		Kind: names.Region, Type: "country", ID: "ch", Name: "Switzerland", Lat: 47, Lon: 8, Bounds: [4]float64{6, 45.8, 10.5, 47.6},
		Names: []search.Name{{Text: "Schweiz", Lang: "de"}, {Text: "Suiza", Lang: "es"}},
	}))
	for query, want := range map[string]string{
		"":                       "Switzerland",
		"&lang=de":               "Schweiz",
		"&lang=es-MX":            "Suiza",
		"&lang=fr":               "Switzerland",
		"&lang=de&types=country": "Schweiz",
	} {
		for range 2 { // a reader's own regions keep their names
			text := servertest.Body(t, g.Get("/at?lat=47.4&lon=8.5&at=2026-01-01T00:00:00Z"+query))
			if !strings.Contains(text, `{"type":"country","id":"ch","name":"`+want+`","match":"inside"}`) ||
				!strings.Contains(text, `"timezone":{"id":"Europe/Zurich"`) {
				t.Errorf("%s: %s", query, text)
			}
		}
	}
	if text := servertest.Body(t, g.Get("/reverse?lat=47.4&lon=8.5&lang=de&kinds=region")); !strings.Contains(text, `"name":"Schweiz"`) {
		t.Errorf("/reverse: %s", text)
	}
}

// If places have no zones, the zone is that of the nearest airport in the same country.
func TestTimeZoneOfAirports(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	g.PublishRows(servertest.Airports(
		airports.Airport{ID: 1, Ident: "1", Name: "None", Type: airports.Large, Country: "US", Lat: 35.1, Lon: -100},
		airports.Airport{
			ID:       2,
			Ident:    "2",
			Name:     "Denver",
			Type:     airports.Large,
			Country:  "US",
			Lat:      39.85,
			Lon:      -104.67,
			TimeZone: "America/Los_Angeles",
		},
		airports.Airport{
			ID:       3,
			Ident:    "3",
			Name:     "Stansted",
			Type:     airports.Large,
			Country:  "GB",
			Lat:      51.885,
			Lon:      0.235,
			TimeZone: "Etc/GMT-1",
		},
	))
	if z := at(g, "lat=35&lon=-100").Timezone; z.ID != "America/Los_Angeles" || z.Source != "airport" || z.Match != "nearest" ||
		z.OffsetS == nil {
		t.Errorf("%+v", z)
	}
	if text := servertest.Body(t, g.Get("/places/2653941/offset?at=2026-07-01T12:00:00Z")); !strings.Contains(text, `"timezone":"Etc/GMT-1"`) {
		t.Error(text)
	}
	if z := at(g, "lat=47.58&lon=8.2").Timezone; z.Source != "place" {
		t.Errorf("places come first: %+v", z)
	}
}

// TestTimeZoneOfTerritories tests territories that the map assigns to a country although the
// gazetteer has a separate code. Their points must have the zone of the nearest place.
func TestTimeZoneOfTerritories(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	territory := places.Place{
		ID:       1,
		Name:     "Territory",
		Country:  "GF",
		Class:    "P",
		Code:     "PPLC",
		TimeZone: "America/Lima",
		Lat:      -16,
		Lon:      -68.1,
	}
	g.PublishRows(servertest.Places([]places.Place{territory}, nil, places.Gazetteer{}))
	if z := at(g, "lat=-16.1&lon=-68.1").Timezone; z.ID != "America/Lima" || z.Source != "place" {
		t.Errorf("close by: %+v", z)
	}
	typo := places.Place{ID: 2, Name: "Typo", Country: "PE", Class: "P", Code: "PPL", TimeZone: "America/Nowhere", Lat: -16.1, Lon: -68.1}
	g.PublishRows(servertest.Places([]places.Place{territory, typo}, nil, places.Gazetteer{}))
	if z := at(g, "lat=-16.1&lon=-68.1").Timezone; z.ID != "America/Lima" || z.Source != "place" {
		t.Errorf("behind one with a zone there is not: %+v", z)
	}
	if z := at(g, "lat=-17.5&lon=-70.1").Timezone; z.ID != "America/New_York" || z.Match != "derived" {
		t.Errorf("far away: %+v", z)
	}
}

// TestAtMissing tests that an unpublished data set is omitted and named. A published data set that
// cannot be read is an error.
func TestAtMissing(t *testing.T) {
	every := []string{ask.Boundaries.Name, ask.TimeZones.Name, ask.Places.Name, ask.Airports.Name, ask.Stations.Name}
	for i := range every {
		published := slices.Delete(slices.Clone(every), i, i+1)
		g := servertest.NewGlobe(t, nil, published...)
		if every[i] != ask.Airports.Name {
			g.PublishRows(servertest.Airports(airports.Airport{
				ID:       1,
				Ident:    "LSZH",
				Name:     "Kloten",
				Type:     airports.Large,
				Country:  "CH",
				Lat:      47.46,
				Lon:      8.55,
				TimeZone: "Europe/Zurich",
			}))
		}
		a := at(g, "lat=47.4&lon=8.5")
		if !slices.Equal(a.Missing, every[i:i+1]) {
			t.Errorf("without %s: missing %q", every[i], a.Missing)
		}
		if (a.Place == nil) != (every[i] == ask.Places.Name) || (a.Airport == nil) != (every[i] == ask.Airports.Name) ||
			(a.Station == nil) != (every[i] == ask.Stations.Name) || (a.Regions == nil) != (every[i] == ask.Boundaries.Name) {
			t.Errorf("without %s: %+v", every[i], a)
		}
		if (a.Timezone.LocalTime == "") != (every[i] == ask.TimeZones.Name) || a.Timezone.ID == "" {
			t.Errorf("without %s: %+v", every[i], a.Timezone)
		}
	}
	servertest.WantProblem(t, servertest.NewGlobe(t, nil, ask.Addresses.Name).Get("/at?lat=1&lon=1"), 404, "dataset-missing")

	for name, spoil := range map[string]func(*servertest.Server){
		"places":   func(g *servertest.Server) { g.Places.ReadErr = servertest.ErrHidden },
		"regions":  func(g *servertest.Server) { g.Boundaries.ReadErr = servertest.ErrHidden },
		"airports": func(g *servertest.Server) { g.Airports.ReadErr = servertest.ErrHidden },
		"stations": func(g *servertest.Server) { g.Stations.ReadErr = servertest.ErrHidden },
		"record": func(g *servertest.Server) {
			g.Boundaries.ChangeRow = func(table string, row *cellstore.Row) {
				for i := range row.Cells {
					if table == "region_info" {
						row.Cells[i].Value = []byte("{")
					}
				}
			}
		},
	} {
		g := servertest.NewGlobe(t, nil)
		spoil(g)
		if p := servertest.WantProblem(t, g.Get("/at?lat=20&lon=80"), 500, "data-corrupt"); strings.Contains(p.Detail, "secret") {
			t.Errorf("%s: internals shown: %+v", name, p)
		}
	}
	// Data without a station or without an open airport does not count as damaged.
	g := servertest.NewGlobe(t, nil)
	closed := airports.Airport{ID: 1, Ident: "X", Name: "Closed", Type: airports.Closed, Country: "CH", Lat: 47.4, Lon: 8.5}
	g.PublishRows(servertest.Stations(), servertest.Airports(closed))
	if a := at(g, "lat=47.4&lon=8.5"); a.Station != nil || a.Airport != nil || a.Missing != nil {
		t.Errorf("%+v", a)
	}
	// The nearest airport is neither closed nor a heliport.
	var list []airports.Airport
	for i, typ := range []string{airports.Closed, airports.Heliport, airports.Small, airports.Large} { // the nearest first
		list = append(list, airports.Airport{
			ID:      uint32(i + 1),
			Ident:   fmt.Sprint("X", i),
			Name:    typ,
			Type:    typ,
			Country: "CH",
			Lat:     47.4 + float64(i)/100,
			Lon:     8.5,
		})
	}
	g.PublishRows(servertest.Airports(list...))
	if a := at(g, "lat=47.4&lon=8.5"); a.Airport == nil || a.Airport.Name != airports.Small {
		t.Errorf("%+v", a.Airport)
	}
}

// TestAtCaching tests that an answer about a given instant may be cached, but an answer about the
// present may not.
func TestAtCaching(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	const path = "/at?lat=47.4&lon=8.5"
	now := g.Get(path)
	if now.Header.Get("Etag") != "" || now.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v", now.Header)
	}
	const fixed = path + "&at=2026-07-01T12:00:00Z"
	then := g.Get(fixed)
	tag := then.Header.Get("Etag")
	if a, b := servertest.Body(t, now), servertest.Body(t, then); a != b || tag == "" {
		t.Errorf("%s\n%s %v", a, b, then.Header)
	}
	reads := g.Places.Reads.Load() + g.Boundaries.Reads.Load()
	if res := g.Get(fixed, "If-None-Match", tag); res.StatusCode != http.StatusNotModified ||
		reads != g.Places.Reads.Load()+g.Boundaries.Reads.Load() {
		t.Errorf("%d with its tag", res.StatusCode)
	}
	for _, name := range []string{ask.Boundaries.Name, ask.Places.Name, ask.Airports.Name, ask.TimeZones.Name, ask.Stations.Name} {
		g.Publish(name)
		g.Poll()
		res := g.Get(fixed, "If-None-Match", tag)
		if res.StatusCode != 200 || res.Header.Get("Etag") == tag {
			t.Errorf("%d after %s was published", res.StatusCode, name)
		}
		tag = res.Header.Get("Etag")
	}
}

// TestAtEverywhere tests that every point has an answer and a cell. It also has a time zone, unless
// the data has none for its land.
func TestAtEverywhere(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	for lat := -90.0; lat <= 90; lat += 22.5 {
		for lon := -180.0; lon <= 180; lon += 22.5 {
			a := at(g, fmt.Sprintf("lat=%v&lon=%v&at=2026-03-29T01:00:00Z", lat, lon))
			unknown := len(a.Regions) == 1 && a.Regions[0].ID == "nobodys-land"
			if (a.Timezone.ID == "") != unknown || (a.Timezone.LocalTime == "") != unknown || a.Place == nil ||
				a.Place.DistanceM == nil || *a.Place.DistanceM > quadkey.EarthRadius*math.Pi {
				t.Fatalf("%v, %v: %+v", lat, lon, a)
			}
		}
	}
}
