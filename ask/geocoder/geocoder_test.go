package geocoder

import (
	"cmp"
	"encoding/json"
	"errors"
	"log"
	"net/netip"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/ipgeo"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// The small world of these tests has real names, with boxes for borders.

type box struct {
	typ, id, name, country string
	codes                  []string
	west, south, east, top float64
	people                 uint64
}

var world = []box{
	{"country", "us", "United States of America", "US", []string{"US", "USA"}, -125, 25, -66, 49, 300e6},
	{"country", "fr", "France", "FR", []string{"FR", "FRA"}, -4, 43, 7, 51, 60e6},
	{"country", "de", "Germany", "DE", []string{"DE", "DEU"}, 7.5, 47.5, 15, 54, 80e6},
	{"state", "us-or", "Oregon", "US", []string{"OR", "US-OR"}, -124, 42, -117, 46, 4e6},
	{"state", "us-me", "Maine", "US", []string{"ME"}, -71, 43, -67, 47, 1e6},
	{"state", "us-tx", "Texas", "US", []string{"TX"}, -106, 26, -94, 36, 29e6},
	{"state", "us-ks", "Kansas", "US", []string{"KS"}, -102, 37, -95, 40, 2e6},
	{"state", "de-by", "Bayern", "DE", []string{"BY"}, 9, 47.5, 13.8, 50, 13e6},
	{"county", "20159", "Rice", "US", nil, -98.5, 38.2, -98, 38.6, 9e3},
	{"country", "2400553", "", "GA", nil, 13, -3, 15, 0, 0}, // whose file has no names
}

var towns = []places.Place{
	{ID: 1, Name: "Portland", Country: "US", Lat: 45.52, Lon: -122.68, Population: 650_000},
	{ID: 2, Name: "Portland", Country: "US", Lat: 43.66, Lon: -70.26, Population: 66_000},
	{ID: 3, Name: "Paris", Country: "FR", Code: "PPLC", Lat: 48.85, Lon: 2.35, Population: 2_100_000},
	{ID: 4, Name: "Paris", Country: "US", Lat: 33.66, Lon: -95.56, Population: 25_000},
	{ID: 5, Name: "Munich", AlternateNames: "München,Мюнхен", Country: "DE", Lat: 48.14, Lon: 11.58, Population: 1_260_000},
	{ID: 6, Name: "Franceville", Country: "GA", Lat: -1.63, Lon: 13.58, Population: 42_000},
	{ID: 7, Name: "Kansas City", Country: "US", Lat: 39.1, Lon: -94.58, Population: 475_000},
	{ID: 8, Name: "Germantown", Country: "US", Lat: 39.17, Lon: -77.27, Population: 86_000},
	{ID: 9, Name: "Zurich", Country: "US", Lat: 39.23, Lon: -99.43, Population: 99},
	{ID: 10, Name: "Oregon", Country: "US", Lat: 41.64, Lon: -83.43, Population: 20_000},
}

var airportsOf = []names.Feature{
	{Kind: names.Airport,
		Type:    "large_airport",
		ID:      "LFPG",
		Name:    "Charles de Gaulle International Airport",
		Country: "FR",
		Code:    "CDG",
		Lat:     49.01,
		Lon:     2.55,
		Names:   []search.Name{{Text: "CDG", Lang: search.CodeLang}}},
	{Kind: names.Zone, ID: "America/Chicago", Name: "America/Chicago", Lat: 41, Lon: -88, Names: []search.Name{{Text: "Chicago"}}},
	{Kind: names.Station, ID: "72456013920", Name: "FORBES FLD AIRPORT", Country: "US", Lat: 38.95, Lon: -95.66},
	{Kind: names.Point, Type: "shops", ID: "17", Name: "Corner <shop>", Lat: 39, Lon: -98},
}

// set is a data set with the layout of its rows.
type set struct {
	name   string
	schema int
}

var (
	placesSet   = set{ask.PlacesName, places.SchemaVersion}
	boundarySet = set{ask.BoundariesName, tiles.SchemaVersion}
	nameSet     = set{ask.NamesName, names.SchemaVersion}
	addressSet  = set{ask.AddressesName, ipgeo.Layout}
)

func openStore(_, dir string, readOnly bool) (cellstore.Store, error) {
	return pebblestore.Open(dir, &pebblestore.Options{ReadOnly: readOnly})
}

// publish publishes a generation of a data set.
func publish[M any](t *testing.T, c *dataset.Catalog, d set, write func(cellstore.Store) (M, error)) {
	t.Helper()
	b := must.Get(c.Begin(t.Context(), d.name)).In(t)
	meta := must.Get(write(b.Store())).In(t)
	raw := must.Get(json.Marshal(meta)).In(t)
	must.Get(b.Publish(t.Context(), dataset.Manifest{SchemaVersion: d.schema, Meta: raw, Built: time.Unix(0, 0)})).In(t)
}

// regionNames makes the features of the boxes.
func regionNames() (list []names.Feature) {
	levels := []string{"country", "state", "county"}
	for _, b := range world {
		if b.name == "" {
			continue
		}
		f := names.Feature{
			Kind: names.Region, Type: b.typ, ID: b.id, Name: b.name, Country: b.country, Population: b.people, Level: slices.Index(levels, b.typ),
			Lat: (b.south + b.top) / 2, Lon: (b.west + b.east) / 2, Bounds: [4]float64{b.west, b.south, b.east, b.top},
		}
		if b.typ == "county" {
			f.Title = b.name + " County"
			f.Names = append(f.Names, search.Name{Text: f.Title})
		}
		for _, code := range b.codes {
			f.Names = append(f.Names, search.Name{Text: code, Lang: search.CodeLang})
		}
		if b.id == "de" {
			f.Names = append(f.Names, search.Name{Text: "Allemagne", Lang: "fr"}, search.Name{Text: "Германия", Lang: "ru"})
		}
		for _, outer := range slices.Backward(world) {
			if slices.Index(levels, outer.typ) < f.Level && outer.west <= f.Lon && f.Lon <= outer.east && outer.south <= f.Lat &&
				f.Lat <= outer.top {
				f.Parents = append(f.Parents, names.Parent{Type: outer.typ, ID: outer.id, Name: outer.name})
			}
		}
		list = append(list, f)
	}
	return list
}

// serve publishes the named data sets and returns a session of them.
func serve(t *testing.T, sets ...set) *Session {
	return serveFrom(t, openStore, towns, airportsOf, sets...)
}

// serveFrom does the same as serve, with other stores, places and names.
func serveFrom(t *testing.T, open dataset.Opener, towns []places.Place, more []names.Feature, sets ...set) *Session {
	t.Helper()
	c := must.Get(dataset.Open(t.TempDir(), open)).In(t)
	publishSets(t, c, towns, more, sets...)
	return follow(t, c)
}

func publishSets(t *testing.T, c *dataset.Catalog, towns []places.Place, more []names.Feature, sets ...set) {
	t.Helper()
	for _, d := range sets {
		switch d {
		case placesSet:
			publish(t, c, d, func(s cellstore.Store) (places.Meta, error) {
				for i := range towns {
					towns[i].Class = cmp.Or(towns[i].Class, "P")
					if towns[i].Code == "" {
						towns[i].Code = "PPL"
					}
				}
				meta, _, err := places.Build(t.Context(), s, places.Source{
					Places:    buildtest.SeqOf(towns),
					Gazetteer: places.Gazetteer{Countries: []places.Country{{Code: "GA", Name: "Gabon"}}},
				}, places.BuildOptions{})
				return meta, err
			})
		case boundarySet:
			publish(t, c, d, func(s cellstore.Store) (any, error) {
				var layers []build.Layer
				for _, b := range world {
					ring := orb.Ring{{b.west, b.south}, {b.east, b.south}, {b.east, b.top}, {b.west, b.top}, {b.west, b.south}}
					i := slices.IndexFunc(layers, func(l build.Layer) bool { return l.Type == b.typ })
					if i < 0 {
						i, layers = len(layers), append(layers, build.Layer{Type: b.typ})
					}
					layers[i].Features = append(layers[i].Features, build.Feature{ID: b.id, Name: b.name, Geometry: orb.Polygon{ring}})
				}
				meta, _, err := build.Run(t.Context(), s, layers, build.Options{})
				return meta, err
			})
		case nameSet:
			publish(t, c, d, func(s cellstore.Store) (names.Meta, error) {
				return names.Build(t.Context(), s, buildtest.SeqOf(append(regionNames(), more...)), names.Options{TempDir: t.TempDir()})
			})
		case addressSet:
			publish(t, c, d, func(s cellstore.Store) (ipgeo.Meta, error) {
				lat, lon := 45.5, -122.6
				ranges := []ipgeo.Range{
					{
						First:  netip.MustParseAddr("8.8.8.0"),
						Last:   netip.MustParseAddr("8.8.8.255"),
						Record: ipgeo.Record{Country: ipgeo.Country{ISOCode: "US"}},
					},
					{First: netip.MustParseAddr("9.9.9.0"),
						Last: netip.MustParseAddr("9.9.9.255"),
						Record: ipgeo.Record{Country: ipgeo.Country{ISOCode: "US"},
							Location: ipgeo.Location{Latitude: &lat, Longitude: &lon}}},
				}
				meta, _, err := ipgeo.Build(t.Context(), s, buildtest.SeqOf(ranges), ipgeo.BuildOptions{})
				return meta, err
			})
		}
	}
}

// follow opens the published data.
func follow(t *testing.T, c *dataset.Catalog) *Session {
	t.Helper()
	s := ask.PublishedSets(c.Generations)
	must.Do(t, s.Poll(t.Context()))
	must.Close(t, &s)
	v := ask.NewViews(s).Take(time.Now())
	t.Cleanup(v.Release)
	return &Session{View: v}
}

// wholeWorld is the directory in which the first test that needs it publishes all data sets for the
// others.
var wholeWorld struct {
	dir       string
	published bool
}

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "geocoder")
	if err != nil {
		log.Fatal(err)
	}
	wholeWorld.dir = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func whole(t *testing.T) *Session {
	c := must.Get(dataset.Open(wholeWorld.dir, openStore)).In(t)
	if !wholeWorld.published {
		publishSets(t, c, towns, airportsOf, boundarySet, placesSet, nameSet, addressSet)
		wholeWorld.published = true
	}
	s := follow(t, c)
	return s
}

func TestSearch(t *testing.T) {
	s := whole(t)
	for text, want := range map[string]string{
		"france":                           "region France",
		"fr":                               "region France",
		"kansas":                           "region Kansas, United States of America",
		"kansas city":                      "place Kansas City, United States of America",
		"germany":                          "region Germany",
		"oregon":                           "region Oregon, United States of America",
		"portland":                         "place Portland, Oregon, United States of America",
		"portland oregon":                  "place Portland, Oregon, United States of America",
		"portland, maine":                  "place Portland, Maine, United States of America",
		"maine portland":                   "place Portland, Maine, United States of America",
		"portland me":                      "place Portland, Maine, United States of America",
		"portland, me, usa":                "place Portland, Maine, United States of America",
		"portland mai":                     "place Portland, Maine, United States of America",
		"paris":                            "place Paris, France",
		"paris texas":                      "place Paris, Texas, United States of America",
		"paris, tx":                        "place Paris, Texas, United States of America",
		"TX PARIS":                         "place Paris, Texas, United States of America",
		"münchen bayern":                   "place Munich, Bayern, Germany",
		"muenchen":                         "place Munich, Bayern, Germany",
		"rice county":                      "region Rice County, Kansas, United States of America",
		"rice county kansas":               "region Rice County, Kansas, United States of America",
		"rice":                             "region Rice County, Kansas, United States of America",
		"charles de gaulle":                "airport Charles de Gaulle International Airport, France",
		"cdg":                              "airport Charles de Gaulle International Airport, France",
		"charles gaulle air base":          "airport Charles de Gaulle International Airport, France",
		"charles de gaulle base":           "airport Charles de Gaulle International Airport, France",
		"old portland oregon":              "place Portland, Oregon, United States of America",
		"xyzzy / de gaulle airport":        "airport Charles de Gaulle International Airport, France",
		"charles de gaulle xyzzy terminal": "",
		"forbes fld":                       "station FORBES FLD AIRPORT, United States",
		"corner shop":                      "point Corner <shop>",
		"chicago":                          "timezone America/Chicago",
		"45.5, -122.5":                     "position 45.5, -122.5, Oregon, United States of America",
		"paris, f":                         "place Paris, France",
		"paris, fr":                        "place Paris, France",
		"paris, T":                         "place Paris, Texas, United States of America",
		"portland, m":                      "place Portland, Maine, United States of America",
		"munich, g":                        "place Munich, Bayern, Germany",
		"munich, de":                       "place Munich, Bayern, Germany",
		"munich, x":                        "place Munich, Bayern, Germany", // in part
		"europe":                           "region Europe",
		"EU":                               "",
		"geo:0,0?q=portland%2C+maine":      "place Portland, Maine, United States of America",
		"geo:0,0?q=45.5,-122.5(Home)":      "position 45.5, -122.5, Oregon, United States of America",
		"the Democratic Union of Germany":  "region Germany",
		"Germany, United Republic of":      "region Germany",
		"9.9.9.9":                          "ip 9.9.9.9, Oregon, United States of America",
		" 8.8.8.8":                         "ip 8.8.8.8, United States of America",
		"::ffff:8.8.8.8":                   "ip 8.8.8.8, United States of America",
		"8.8.9.8":                          "",
		"10.0.0.1":                         "",
		"G8HF+7X Portland Oregon":          "position 45.5281875, -122.6750625, Oregon, United States of America",
		"portland oregon g8hf+7x":          "position 45.5281875, -122.6750625, Oregon, United States of America",
		"portlnad oregon":                  "place Portland, Oregon, United States of America",
		"portland oregn":                   "place Portland, Oregon, United States of America",
		"paris texas usa":                  "place Paris, Texas, United States of America",
		"G8HF+7X":                          "",
		"portland france":                  "",
		"Republic of France":               "region France",
		"France, Republic of":              "region France",
		"Republic of FR":                   "region France",
		"united fr":                        "", // more letters may follow
		"republic of fr":                   "region France",
		"State of Oregon":                  "region Oregon, United States of America",
		"oregon state":                     "region Oregon, United States of America",
		"City of Oregon":                   "place Oregon, United States of America",
		"City of Paris":                    "place Paris, France",
		"Portland, State of Oregon":        "place Portland, Oregon, United States of America",
		"Kingdom of Xyzzy":                 "",
		"xyzzy county":                     "",
		"xyzzy airport":                    "",
		"75001 Paris":                      "place Paris, France",
		"Paris 3":                          "place Paris, France",
		"Rice 3":                           "",
		"12 Xyzzy Street, Paris, TX 75460": "place Paris, Texas, United States of America",
		"portland, xyzzy":                  "place Portland, Oregon, United States of America",
	} {
		got, err := s.Search(t.Context(), Query{Text: text})
		first := ""
		if len(got) > 0 {
			first = string(got[0].Kind) + " " + got[0].Label
		}
		if err != nil || first != want {
			t.Errorf("%q: %q, %v; want %q", text, first, err, want)
		}
	}
}

func TestSearchWithin(t *testing.T) {
	s := whole(t)
	usa := []string{"US"}
	for _, c := range []struct {
		q    Query
		want []string
	}{
		{Query{Text: "paris", Countries: usa}, []string{"4"}},
		{Query{Text: "paris", Limit: 1}, []string{"3"}},
		{Query{Text: "paris", Kinds: []names.Kind{Place}}, []string{"3", "4"}},
		{Query{Text: "oregon", Kinds: []names.Kind{Place}}, []string{"10"}},
		{Query{Text: "oregon", Kinds: []names.Kind{names.Region}}, []string{"us-or"}},
		{Query{Text: "oregon", Kinds: []names.Kind{names.Airport}}, nil},
		{Query{Text: "portland", Box: &quadkey.Box{West: -75, South: 40, East: -65, North: 45}}, []string{"2"}},
		{Query{Text: "portland", Bias: true, Lat: 43.6, Lon: -70.2}, []string{"2", "1"}},
		{Query{Text: "9.9.9.9", Kinds: []names.Kind{Place}}, nil},
		{Query{Text: "america", Kinds: []names.Kind{names.Zone}, Limit: 1}, []string{"America/Chicago"}},
		{Query{Text: "c", Kinds: []names.Kind{names.Point}, Limit: 1}, []string{"17"}},
		{Query{Text: "c", Kinds: []names.Kind{Position}}, nil},
		{Query{Text: "1, 2", Kinds: []names.Kind{Place}}, nil},
	} {
		got, err := s.Search(t.Context(), c.q)
		var ids []string
		for _, r := range got {
			ids = append(ids, r.ID)
		}
		if err != nil || !slices.Equal(ids, c.want) {
			t.Errorf("%+v: %v, %v; want %v", c.q, ids, err, c.want)
		}
	}
	if _, err := s.Search(t.Context(), Query{Text: "…"}); !errors.Is(err, places.ErrQuery) {
		t.Error(err)
	}
}

// Data sets that are not published have no results. Without any data set to search, there is an
// error.
func TestWithoutData(t *testing.T) {
	s := serve(t, placesSet)
	got, err := s.Search(t.Context(), Query{Text: "portland oregon"})
	if err != nil || len(got) != 0 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = s.Search(t.Context(), Query{Text: "portland"}); err != nil || len(got) != 2 || got[0].Label != "Portland, United States" {
		t.Errorf("%+v, %v", got, err)
	}
	none := serve(t)
	if _, err := none.Search(t.Context(), Query{Text: "portland"}); !errors.Is(err, ask.ErrMissing) {
		t.Error(err)
	}
}

func TestReverse(t *testing.T) {
	s := whole(t)
	for _, c := range []struct {
		q    ReverseQuery
		want []string
	}{
		{
			ReverseQuery{Lat: 45.5, Lon: -122.6},
			[]string{"Portland, Oregon, United States of America", "Oregon, United States of America", "United States of America"},
		},
		{
			ReverseQuery{Lat: 38.4, Lon: -98.2},
			[]string{"Rice County, Kansas, United States of America", "Kansas, United States of America", "United States of America"},
		},
		{ReverseQuery{Lat: 0, Lon: 0}, nil},
		{ReverseQuery{Lat: -1.6, Lon: 13.6}, []string{"Franceville, Gabon", ""}},
		{ReverseQuery{Lat: 45.5, Lon: -122.6, Kinds: []names.Kind{Place}}, []string{"Portland, Oregon, United States of America"}},
		{ReverseQuery{Lat: 45.5, Lon: -122.6, RadiusM: 10}, []string{"Oregon, United States of America", "United States of America"}},
	} {
		got, err := s.Reverse(t.Context(), c.q)
		var labels []string
		for _, r := range got {
			labels = append(labels, r.Label)
			if slices.ContainsFunc(r.Parents, func(p names.Parent) bool { return p.Name == "" }) {
				t.Errorf("%+v: %q is in a region without a name: %v", c.q, r.Name, r.Parents)
			}
		}
		if err != nil || !slices.Equal(labels, c.want) {
			t.Errorf("%+v: %q, %v; want %q", c.q, labels, err, c.want)
		}
	}
}
