package servertest

import (
	"sync"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/stations"
	"quadrille/tiles/build"
)

// GlobePlaces is a short list of real places, typed by hand.
var GlobePlaces = []places.Place{
	{ID: 2657896,
		Name:           "Zürich",
		Country:        "CH",
		Class:          "P",
		Code:           "PPLA",
		Population:     341730,
		Admin1:         "ZH",
		Admin2:         "112",
		Admin3:         "261",
		TimeZone:       "Europe/Zurich",
		Lat:            47.36667,
		Lon:            8.55,
		ASCIIName:      "Zurich",
		AlternateNames: "ZRH,Zurich",
		Elevation:      metres(408),
		DEM:            metres(429),
		Modified:       time.Date(2024, 1, 2, 0, 0, 0, 0, time.UTC)},
	{
		ID:         2661552,
		Name:       "Bern",
		Country:    "CH",
		Class:      "P",
		Code:       "PPLC",
		Population: 121631,
		Admin1:     "BE",
		TimeZone:   "Europe/Zurich",
		Lat:        46.94809,
		Lon:        7.44744,
	},
	{
		ID:         2925177,
		Name:       "Freiburg im Breisgau",
		Country:    "DE",
		Class:      "P",
		Code:       "PPLA3",
		Population: 215966,
		Admin1:     "01",
		TimeZone:   "Europe/Berlin",
		Lat:        47.9959,
		Lon:        7.85222,
	},
	{
		ID:         2825297,
		Name:       "Stuttgart",
		Country:    "DE",
		Class:      "P",
		Code:       "PPLA",
		Population: 589793,
		Admin1:     "01",
		TimeZone:   "Europe/Berlin",
		Lat:        48.78232,
		Lon:        9.17702,
	},
	{
		ID:         5746545,
		Name:       "Portland",
		Country:    "US",
		Class:      "P",
		Code:       "PPLA2",
		Population: 652503,
		Admin1:     "OR",
		TimeZone:   "America/Los_Angeles",
		Lat:        45.52345,
		Lon:        -122.67621,
	},
	{
		ID:         4975802,
		Name:       "Portland",
		Country:    "US",
		Class:      "P",
		Code:       "PPL",
		Population: 66881,
		Admin1:     "ME",
		TimeZone:   "America/New_York",
		Lat:        43.65737,
		Lon:        -70.2589,
	},
	{
		ID:         3936456,
		Name:       "Lima",
		Country:    "PE",
		Class:      "P",
		Code:       "PPLC",
		Population: 7737002,
		Admin1:     "15",
		TimeZone:   "America/Lima",
		Lat:        -12.04318,
		Lon:        -77.02824,
	},
	{ID: 7280291, Name: `Null "Island" <b>`, Class: "T", Code: "ISL", DEM: metres(-9999)},
	{
		ID:         2658434,
		Name:       "Switzerland",
		Country:    "CH",
		Class:      "A",
		Code:       "PCLI",
		Population: 8516543,
		Admin1:     "00",
		TimeZone:   "Europe/Zurich",
		Lat:        47.00016,
		Lon:        8.01427,
	},
	{
		ID:       6295533,
		Name:     "Zürich Flughafen",
		Country:  "CH",
		Class:    "S",
		Code:     "AIRP",
		Admin1:   "ZH",
		TimeZone: "Europe/Zurich",
		Lat:      47.45806,
		Lon:      8.54806,
	},
	{ID: 2653941, Name: "Cambridge", Country: "GB", Class: "P", Code: "PPLA2", Population: 145700, Admin1: "ENG", Lat: 52.2, Lon: 0.11667},
}

func metres(m int) *int { return &m }

// GlobeNames has the names of GlobePlaces in languages.
var GlobeNames = []places.AlternateName{
	{PlaceID: 2657896, Name: "Zurich", Lang: "en", Preferred: true},
	{PlaceID: 2657896, Name: "Zürich", Lang: "de"},
	{PlaceID: 2657896, Name: "Zurich", Lang: "fr"},
	{PlaceID: 2657896, Name: "Zurigo", Lang: "it"},
	{PlaceID: 2657896, Name: "Turicum", Lang: "la", Historic: true},
	{PlaceID: 2657896, Name: "Züri", Lang: "gsw", Colloquial: true},
	{PlaceID: 2661552, Name: "Berne", Lang: "fr"},
	{PlaceID: 2658434, Name: "Schweiz", Lang: "de"},
	{PlaceID: 2658434, Name: "Suisse", Lang: "fr"},
	{PlaceID: 2921044, Name: "Saksamaa", Lang: "et"}, // of a country that is no place here
}

// GlobeGazetteer explains the codes of GlobePlaces.
var GlobeGazetteer = places.Gazetteer{
	Countries: []places.Country{
		{Code: "CH", Name: "Switzerland", Capital: "Bern", Continent: "EU", AreaKM2: 41290, CurrencyCode: "CHF", ID: 2658434,
			Languages: []string{"de-CH", "fr-CH", "it-CH", "rm"}, Neighbours: []string{"DE", "FR"}},
		{Code: "DE", Name: "Germany", Continent: "EU", ID: 2921044, Languages: []string{"de"}},
		{Code: "US", Name: "United States", Continent: "NA", ID: 6252001, Languages: []string{"en-US", "es-US"}},
		{Code: "PE", Name: "Peru", Continent: "SA", ID: 3932488, Languages: []string{"es-PE", "qu", "ay"}},
	},
	Admin1: []places.Division{
		{Code: "CH.ZH", Name: "Zurich", ID: 2657895},
		{Code: "CH.BE", Name: "Bern"},
		{Code: "DE.01", Name: "Baden-Württemberg"},
		{Code: "US.OR", Name: "Oregon"},
		{Code: "US.ME", Name: "Maine"},
		{Code: "GB.ENG", Name: "England"},
	},
	Admin2: []places.Division{{Code: "CH.ZH.112", Name: "Zürich District", ID: 6458798}},
	Features: []places.Feature{
		{Code: "P.PPL", Name: "populated place"},
		{Code: "P.PPLA", Name: "seat of a first-order administrative division"},
		{Code: "P.PPLC", Name: "capital of a political entity"},
		{Code: "T.ISL", Name: "island"},
	},
}

// GlobeRegions returns the boundaries of the globe, as boxes.
func GlobeRegions() []build.Layer {
	return []build.Layer{
		{Type: "country", Features: []build.Feature{
			Region("ch", "Switzerland", 6, 45.8, 10.5, 47.6),
			Region("de", "Germany", 6, 47.6, 15, 55),
			Region("us", "United States", -125, 25, -66, 49),
			Region("pe", "Peru", -82, -18, -68, 0),
			Region("nobodys-land", "Nobody's Land", -180, -90, 180, -60),
		}},
		{Type: "state", Features: []build.Feature{
			Region("ch-zh", "Zürich", 8.3, 47.2, 8.9, 47.6),
			Region("us-or", "Oregon", -124, 42, -117, 46),
		}},
		{Type: "timezone", Features: []build.Feature{
			Region("rough", "America/New_York", -82, -18, -66, 45, build.Property{Name: "utc_offset", Value: "UTC-05:00"}),
			Region("kolkata", "Asia/Kolkata", 68, 8, 97, 35),
		}},
	}
}

// GlobeAirports are the airports of the globe.
var GlobeAirports = []airports.Airport{
	{ID: 3780,
		Ident:        "KPDX",
		IATA:         "PDX",
		ICAO:         "KPDX",
		Name:         "Portland International <Airport>",
		Type:         airports.Large,
		Municipality: "Portland",
		Country:      "US",
		Region:       "US-OR",
		Scheduled:    true,
		Lat:          45.588699, Lon: -122.598, TimeZone: "America/Los_Angeles"},
	{ID: 1, Ident: "X", IATA: "ZUR", Name: "Small", Type: airports.Small, Country: "CH", Lat: 47, Lon: 8},
}

// Station returns a station with only a number, a name and a position.
func Station(id, name string, lat, lon float64) stations.Station {
	number, err := stations.ParseID(id)
	if err != nil {
		panic(err)
	}
	return stations.Station{ID: number, Name: name, Lat: lat, Lon: lon}
}

var globe = sync.OnceValue(func() map[string]*Rows {
	all := byDataset(
		Regions(GlobeRegions()...),
		Places(GlobePlaces, GlobeNames, GlobeGazetteer),
		Airports(GlobeAirports...),
		Stations(Station("72698024229", "PORTLAND INTL", 45.5908, -122.6003)),
		Zones([]string{"Europe/Zurich", "Europe/Berlin", "America/Lima", "America/New_York", "America/Los_Angeles", "Asia/Kolkata",
			"Etc/GMT-1"}, nil),
	)
	all[ask.Addresses.Name] = small()[ask.Addresses.Name]
	return all
})

// globeNoon is the time on the clock of the globe.
var globeNoon = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// NewGlobe serves the named data sets of the globe, or all if none is named: a few real places and
// regions, two airports, a station and time zones.
func NewGlobe(t testing.TB, change func(*httpapi.Config), published ...string) *Server {
	t.Helper()
	if len(published) == 0 {
		published = append([]string{ask.Airports.Name, ask.TimeZones.Name, ask.Stations.Name}, DefaultDatasets...)
	}
	return serve(t, globe(), func(c *httpapi.Config) {
		if change != nil {
			change(c)
		}
		c.Now = func() time.Time { return globeNoon }
	}, published)
}

// ZurichRegions returns boundaries only around Zürich, with Switzerland as one state, and of a
// distant sea and a distant lake.
var ZurichRegions = sync.OnceValue(func() *Rows {
	ch := orb.Polygon{{{6, 46}, {8, 45.8}, {8.1, 45.8}, {10.4, 46.5}, {8, 47.7}, {6, 46}}}
	return Regions(
		build.Layer{Type: "country", Features: []build.Feature{{ID: "ch", Name: "Switzerland", Geometry: ch}}},
		build.Layer{Type: "state", Features: []build.Feature{{ID: "ch-zh", Name: "Zürich", Geometry: ch}}},
		build.Layer{Type: "marine", Features: []build.Feature{Region("sea", "Sea of Trial", -20.1, -30.1, -19.9, -29.9)}},
		build.Layer{Type: "lake", Features: []build.Feature{Region("lake", "Lake of Trial", -20.1, -31.1, -19.9, -30.9)}},
	)
})
