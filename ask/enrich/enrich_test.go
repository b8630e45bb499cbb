package enrich_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"quadrille/ask"
	"quadrille/ask/enrich"
	"quadrille/ask/localtime"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/published"
	"quadrille/feature"
	"quadrille/internal/buildtest"
	"quadrille/internal/smallworld"
	"quadrille/ipgeo"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// at is the instant of all views.
var at = time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)

// dir has the small world.
var dir string

func TestMain(m *testing.M) {
	var err error
	if dir, err = os.MkdirTemp("", "enrich"); err == nil {
		err = smallworld.Publish(context.Background(), dir)
	}
	if err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// world takes a view of the small world.
func world(t testing.TB, more ...func(*ask.Sets)) ask.View {
	catalog, err := published.OpenCatalog(dir)
	if err != nil {
		t.Fatal(err)
	}
	sets := ask.PublishedSets(catalog.Generations)
	if err := sets.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, change := range more {
		change(&sets)
	}
	v := ask.NewViews(sets).Take(at)
	t.Cleanup(v.Release)
	return v
}

// must returns a function that fails the test if there is an error.
func must(t testing.TB) func(enrich.Source, error) enrich.Source {
	return func(s enrich.Source, err error) enrich.Source {
		if err != nil {
			t.Helper()
			t.Fatal(err)
		}
		return s
	}
}

// rows returns the filled cells, joined by bars.
func rows(t testing.TB, c *enrich.Chunk, sources ...enrich.Source) (header string, list []string) {
	p, err := enrich.New(sources...)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, column := range p.Columns() {
		names = append(names, column.Name)
	}
	cells, err := p.Filler().Fill(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	for i := range c.Points {
		var row []string
		for k := range cells {
			if cells[k].Len() != len(c.Points) {
				t.Fatalf("%s: %d cells of %d rows", names[k], cells[k].Len(), len(c.Points))
			}
			row = append(row, string(cells[k].At(i)))
		}
		list = append(list, strings.Join(row, "|"))
	}
	return strings.Join(names, "|"), list
}

var points = []quadkey.Position{
	{Lat: 47.37, Lon: 8.54}, {Lat: 45.81, Lon: 9.08}, enrich.NoPosition, {Lat: 30, Lon: -40}, {Lat: 91, Lon: 8}, {Lat: -90, Lon: 180},
}

// regions returns a world with the regions of layers, and their reader.
func regions(t testing.TB, layers []build.Layer) (ask.View, *tiles.Reader) {
	t.Helper()
	store := buildtest.NewStore(t)
	meta, _, err := build.Run(t.Context(), store, layers, build.Options{})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := tiles.Open(t.Context(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	return world(t, func(s *ask.Sets) {
		s.Boundaries = dataset.NewFixedLive(reader, dataset.Manifest{Dataset: ask.BoundariesName})
	}), reader
}

func TestColumns(t *testing.T) {
	v := world(t)
	ok := must(t)
	for name, tc := range map[string]struct {
		source enrich.Source
		header string
		want   []string
	}{
		"regions": {
			ok(enrich.Regions(v)), "country|country_id|state|state_id",
			[]string{"Switzerland|ch|Zürich|ch-zh", "Italy|it||", "|||", "|||", "|||", "|||"},
		},
		"one type": {ok(enrich.Regions(v, "state")), "state|state_id", []string{"Zürich|ch-zh", "|", "|", "|", "|", "|"}},
		"time zone": {
			ok(enrich.TimeZone(v, "")), "timezone|utc_offset",
			[]string{"Europe/Zurich|+02:00", "Europe/Rome|+02:00", "|", "Etc/GMT+3|-03:00", "|", "Etc/GMT+12|-12:00"},
		},
		"airport": {
			ok(enrich.Nearest(v, "airport", "iata", "distance_m", "lat")), "airport_iata|airport_distance_m|airport_lat",
			nil,
		},
		"place": {
			ok(enrich.Nearest(v, "place")), "place_name|place_distance_m",
			nil,
		},
	} {
		header, got := rows(t, &enrich.Chunk{Points: points}, tc.source)
		if header != tc.header {
			t.Errorf("%s: %s, want %s", name, header, tc.header)
		}
		if name == "place" {
			if !strings.HasPrefix(got[0], "Zürich|") || !strings.HasPrefix(got[1], "Como|") || got[2] != "|" {
				t.Errorf("%s: %q", name, got)
			}
			continue
		}
		if name == "airport" { // distances are those of the layer, see TestSameAsSingleQuestions
			if !strings.HasPrefix(got[0], "ZRH|") || !strings.HasSuffix(got[0], "|47.4581") || got[2] != "||" || got[4] != "||" {
				t.Errorf("%s: %q", name, got)
			}
			continue
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}

// Every cell is what a single question about its point answers.
func TestSameAsSingleQuestions(t *testing.T) {
	v := world(t)
	ok := must(t)
	r := rand.New(rand.NewPCG(1, 2))
	var many []quadkey.Position
	for range 3000 {
		p := quadkey.Position{Lat: 44 + 5*r.Float64(), Lon: 5 + 6*r.Float64()}
		if r.IntN(10) == 0 {
			p = quadkey.Position{Lat: 180*r.Float64() - 90, Lon: 360*r.Float64() - 180}
		}
		many = append(many, p)
	}
	_, got := rows(t, &enrich.Chunk{Points: many}, ok(enrich.Regions(v)), ok(enrich.TimeZone(v, "")), ok(enrich.Nearest(v, "airport")),
		ok(enrich.Nearest(v, "places", "id", "name", "population", "distance_m")))
	local := localtime.ViewOf(v)
	reader, err := v.Boundaries.Get()
	if err != nil {
		t.Fatal(err)
	}
	for i, p := range many {
		at, err := reader.At(t.Context(), p.Lat, p.Lon)
		if err != nil {
			t.Fatal(err)
		}
		var want []string
		for _, typ := range []string{"country", "state"} {
			var names, ids []string
			for _, r := range at {
				if r.Type == typ {
					names, ids = append(names, r.Name), append(ids, r.ID)
				}
			}
			want = append(want, strings.Join(names, ";"), strings.Join(ids, ";"))
		}
		zone, err := local.Zone(t.Context(), p.Lat, p.Lon, v.At)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, zone.ID, zone.Local(v.At).Format("-07:00"))
		airport := nearest(t, v, ask.AirportsLayer, p, airports.ForTravellers)
		want = append(want, airport.Name(), strconv.FormatFloat(airport.DistanceM, 'f', 1, 64))
		place := nearest(t, v, ask.PlacesLayer, p, nil)
		population, _ := place.Properties.Lookup("population")
		want = append(want, place.ID, place.Name(), population.Text(), strconv.FormatFloat(place.DistanceM, 'f', 1, 64))
		if w := strings.Join(want, "|"); got[i] != w {
			t.Fatalf("%v: %s, want %s", p, got[i], w)
		}
	}
}

// Points that are near each other share what is read, and get the answers of single questions, also where
// many features are in a tile or at one position.
func TestSharedNearest(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	around := func(lat, lon, spread float64) quadkey.Position {
		return quadkey.Position{Lat: lat + spread*(r.Float64()-.5), Lon: lon + spread*(r.Float64()-.5)}
	}
	var list []places.Place
	for i := range 4000 {
		p := around(47, 8, []float64{.01, .2, 4, 60}[i%4])
		if i%10 == 3 {
			p = quadkey.Position{Lat: list[i-1].Lat, Lon: list[i-1].Lon}
		}
		list = append(list, places.Place{ID: uint32(4000 - i), Name: strconv.Itoa(i), Class: "P", Lat: p.Lat, Lon: p.Lon})
	}
	store := buildtest.NewStore(t)
	meta, _, err := places.Build(t.Context(), store, places.Source{Places: buildtest.SeqOf(list)}, places.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	finder, err := places.Open(t.Context(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	v := world(t, func(s *ask.Sets) { s.Places = dataset.NewFixedLive(finder, dataset.Manifest{Dataset: ask.PlacesName}) })
	c := &enrich.Chunk{}
	for i := range 6000 {
		c.Points = append(c.Points, around(47, 8, []float64{.02, .3, 5, 80}[i%4]))
	}
	c.Points = append(c.Points, quadkey.Position{Lat: 90}, quadkey.Position{Lat: 89.9, Lon: 180}, quadkey.Position{Lat: 10, Lon: -180})
	_, got := rows(t, c, must(t)(enrich.Nearest(v, "place", "id", "name", "distance_m", "lat")))
	for i, p := range c.Points {
		f := nearest(t, v, ask.PlacesLayer, p, places.OnlyPopulated)
		want := fmt.Sprintf("%s|%s|%.1f|%s", f.ID, f.Name(), f.DistanceM, strconv.FormatFloat(f.Lat, 'f', -1, 64))
		if got[i] != want {
			t.Fatalf("%d, %v: %s, want %s", i, p, got[i], want)
		}
	}
}

func nearest(t testing.TB, v ask.View, layer string, p quadkey.Position, filter feature.Filter) (found feature.Feature) {
	l, err := v.Layer(layer)
	if err != nil {
		t.Fatal(err)
	}
	q := &feature.Query{Near: feature.NearTo(p.Lat, p.Lon, 0), Filter: filter, Limit: 1}
	for f, err := range l.Features(t.Context(), q) {
		if err != nil {
			t.Fatal(err)
		}
		found = f.Clone()
	}
	return found
}

// Where regions of a type overlap, a cell has all of them.
func TestOverlap(t *testing.T) {
	layers := smallworld.Layers()
	wide := layers[0].Features[0]
	wide.ID, wide.Name = "alps", "Alps"
	layers[0].Features = append(layers[0].Features, wide)
	v, reader := regions(t, layers)
	_, got := rows(t, &enrich.Chunk{Points: points[:1]}, must(t)(enrich.Regions(v, "country")))
	at, err := reader.At(t.Context(), points[0].Lat, points[0].Lon, "country")
	if err != nil || len(at) != 2 {
		t.Fatal(at, err)
	}
	if want := at[0].Name + ";" + at[1].Name + "|" + at[0].ID + ";" + at[1].ID; got[0] != want {
		t.Errorf("%q, want %q", got[0], want)
	}
}

// Regions that are time zones answer as for single questions, also where they overlap, or are areas of one offset.
func TestZoneRegions(t *testing.T) {
	layers := smallworld.Layers()
	box := func(west, south, east, north float64) orb.Polygon {
		return orb.Polygon{{{west, south}, {east, south}, {east, north}, {west, north}, {west, south}}}
	}
	layers = append(layers, build.Layer{Type: localtime.TimeZoneType, Features: []build.Feature{
		{ID: "europe-zurich", Name: "Europe/Zurich", Geometry: box(6, 46, 10, 47.5)},
		{ID: "europe-rome", Name: "Europe/Rome", Geometry: box(6, 36, 18, 46.3)},
		{
			ID: "rough", Name: "Europe/Rome", Geometry: box(8, 47, 12, 49),
			Properties: []build.Property{{Name: "utc_offset", Value: "UTC+01:00"}},
		},
	}})
	v, _ := regions(t, layers)
	r := rand.New(rand.NewPCG(7, 8))
	c := &enrich.Chunk{}
	for range 2000 {
		c.Points = append(c.Points, quadkey.Position{Lat: 35 + 15*r.Float64(), Lon: 5 + 14*r.Float64()})
	}
	_, got := rows(t, c, must(t)(enrich.TimeZone(v, "")))
	local, seen := localtime.ViewOf(v), map[string]bool{}
	for i, p := range c.Points {
		z, err := local.Zone(t.Context(), p.Lat, p.Lon, v.At)
		if err != nil {
			t.Fatal(err)
		}
		want := z.ID + "|"
		if z.Known {
			want += z.Local(v.At).Format("-07:00")
		}
		if got[i] != want {
			t.Fatalf("%v: %s, want %s", p, got[i], want)
		}
		seen[z.ID+z.Source] = true
	}
	if len(seen) < 3 {
		t.Errorf("only %v", seen)
	}
}

// addresses publishes a few ranges.
func addresses(t testing.TB) func(*ask.Sets) {
	store := buildtest.NewStore(t)
	meta, _, err := ipgeo.Build(t.Context(), store, buildtest.SeqOf(ranges), ipgeo.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	reader, err := ipgeo.Open(t.Context(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	return func(s *ask.Sets) {
		s.Addresses = dataset.NewFixedLive[ask.AddressReader](reader, dataset.Manifest{Dataset: ask.AddressesName})
	}
}

var ranges = []ipgeo.Range{
	{First: netip.MustParseAddr("8.8.8.0"), Last: netip.MustParseAddr("8.8.8.255"), Record: ipgeo.Record{
		Country: ipgeo.Country{ISOCode: "US"},
		City:    ipgeo.City{Names: ipgeo.Names{"en": "Mountain \"View\""}},
		Traits:  ipgeo.Traits{AutonomousSystemNumber: 15169},
	}},
	{First: netip.MustParseAddr("2a00::"), Last: netip.MustParseAddr("2a00::ff"), Record: ipgeo.Record{Country: ipgeo.Country{ISOCode: "CH"}}},
}

func TestIP(t *testing.T) {
	v := world(t, addresses(t))
	texts := []string{"8.8.8.8", " 2a00::1 ", "", "10.0.0.1", "9.9.9.9", "nowhere", "8.8.8.9"}
	c := &enrich.Chunk{Inputs: make([]enrich.Cells, 1)}
	var bad []string
	c.Bad = func(row int, reason, detail string) { bad = append(bad, fmt.Sprint(row, " ", reason, " ", detail)) }
	for _, text := range texts {
		c.Inputs[0].Add(text)
		c.Points = append(c.Points, enrich.NoPosition)
	}
	header, got := rows(t, c, must(t)(enrich.IP(v, "client")))
	want := []string{`US|Mountain "View"|15169`, "CH||", "||", "||", "||", "||", `US|Mountain "View"|15169`}
	if header != "ip_country|ip_city|ip_asn" || !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", header, got, want)
	}
	if !slices.Equal(bad, []string{"5 not an IP address nowhere"}) {
		t.Errorf("bad: %q", bad)
	}
	if header, got = rows(t, c, must(t)(enrich.IP(v, "client", "city.names.en"))); header != "ip_city_names_en" || got[0] != `Mountain "View"` {
		t.Errorf("%s: %q", header, got)
	}
	if _, err := enrich.IP(v, "client", "town"); !errors.Is(err, ipgeo.ErrFields) {
		t.Error(err)
	}
}

func TestGeocode(t *testing.T) {
	v := world(t)
	ok := must(t)
	c := &enrich.Chunk{Points: slices.Repeat([]quadkey.Position{enrich.NoPosition}, 5), Inputs: make([]enrich.Cells, 2)}
	c.Points[1] = points[0]
	var bad []string
	c.Bad = func(row int, reason, detail string) { bad = append(bad, fmt.Sprint(row, " ", reason, " ", detail)) }
	for _, cells := range [][2]string{{"Lugano", "Schweiz"}, {"Lugano", ""}, {"", "ticino"}, {"", ""}, {"Atlantis", ""}} {
		c.Inputs[0].Add(cells[0])
		c.Inputs[1].Add(cells[1])
	}
	header, got := rows(t, c, ok(enrich.Geocode(v, "city", "region")), ok(enrich.Regions(v, "state")), ok(enrich.Reverse(v)))
	want := []string{
		"Lugano, Ticino, Switzerland|46.01008|8.96004|Ticino|ch-ti|Lugano, Ticino, Switzerland",
		"Lugano, Ticino, Switzerland|46.01008|8.96004|Zürich|ch-zh|Zürich, Switzerland", // the row's own position counts
		"Ticino, Switzerland|46.2|8.8|Ticino|ch-ti|Lugano, Ticino, Switzerland",
		"|||||", "|||||",
	}
	if header != "geocode_label|geocode_lat|geocode_lon|state|state_id|address" || !slices.Equal(got, want) {
		t.Errorf("%s: %q, want %q", header, got, want)
	}
	if !slices.Equal(bad, []string{"3 neither a position nor a text ", "4 nothing is found for the text Atlantis"}) {
		t.Errorf("bad: %q", bad)
	}
}

// The offset is that at the time of the row.
func TestTimes(t *testing.T) {
	v := world(t)
	texts := []string{"2026-01-01T00:00:00Z", "2026-07-01", "", "yesterday", "1066-10-14", "2026-07-01", "1900-01-01"}
	c := &enrich.Chunk{Points: slices.Repeat(points[:1], len(texts)), Inputs: make([]enrich.Cells, 1)}
	c.Points[5], c.Points[6] = points[3], points[1]
	var bad []string
	c.Bad = func(row int, _, detail string) { bad = append(bad, fmt.Sprint(row, " ", detail)) }
	for _, text := range texts {
		c.Inputs[0].Add(text)
	}
	_, got := rows(t, c, must(t)(enrich.TimeZone(v, "when")))
	want := []string{"Europe/Zurich|+01:00", "Europe/Zurich|+02:00", "Europe/Zurich|", "Europe/Zurich|", "Europe/Zurich|", "Etc/GMT+3|-03:00", "Europe/Rome|+01:00"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !slices.Equal(bad, []string{"3 yesterday", "4 1066-10-14"}) {
		t.Errorf("bad: %q", bad)
	}
}

// Without the rules of zones a plan says so, and each row with a zone does.
func TestNoRules(t *testing.T) {
	with := world(t)
	without := world(t, func(s *ask.Sets) { s.TimeZones = nil })
	var bad []string
	c := &enrich.Chunk{Points: points, Bad: func(row int, reason, detail string) { bad = append(bad, fmt.Sprint(row, " ", reason, " ", detail)) }}
	_, got := rows(t, c, must(t)(enrich.TimeZone(without, "")))
	if got[0] != "Europe/Zurich|" || got[3] != "Etc/GMT+3|-03:00" {
		t.Errorf("%q", got)
	}
	if !slices.Equal(bad, []string{"0 " + enrich.ReasonNoOffset + " Europe/Zurich", "1 " + enrich.ReasonNoOffset + " Europe/Rome"}) {
		t.Errorf("bad: %q", bad)
	}
	for v, notes := range map[*ask.View]int{&with: 0, &without: 1} {
		p, err := enrich.New(must(t)(enrich.TimeZone(*v, "")))
		if err != nil || len(p.Notes()) != notes {
			t.Errorf("%q, want %d; %v", p.Notes(), notes, err)
		}
	}
	if _, err := enrich.TimeZone(without, "when"); !errors.Is(err, ask.ErrMissing) {
		t.Error(err)
	}
}

func TestMissing(t *testing.T) {
	v := ask.NewViews(ask.Sets{}).Take(at)
	defer v.Release()
	_, regions := enrich.Regions(v)
	_, zone := enrich.TimeZone(v, "")
	_, near := enrich.Nearest(v, "airport")
	_, ip := enrich.IP(v, "ip")
	for i, err := range []error{regions, zone, near, ip} {
		if !errors.Is(err, ask.ErrMissing) {
			t.Errorf("%d: %v", i, err)
		}
	}
	w := world(t)
	if _, err := enrich.Regions(w, "planet"); !errors.Is(err, tiles.ErrUnknownType) {
		t.Error(err)
	}
	if _, err := enrich.Nearest(w, "moons"); !errors.Is(err, ask.ErrNoLayer) || !strings.Contains(err.Error(), "airports") {
		t.Error(err)
	}
	if _, err := enrich.Nearest(w, "airport", "gates"); err == nil || !strings.Contains(err.Error(), `no property "gates"`) {
		t.Error(err)
	}
	one := must(t)(enrich.Regions(w))
	if _, err := enrich.New(one, one); err == nil {
		t.Error("columns of one name")
	}
}

// A filler that is stopped returns the reason.
func TestStopped(t *testing.T) {
	v := world(t)
	p, err := enrich.New(must(t)(enrich.Regions(v)), must(t)(enrich.Nearest(v, "place")))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.Filler().Fill(ctx, &enrich.Chunk{Points: points}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// Filling chunk after chunk allocates nothing for rows of known regions.
func TestRegionsAllocateNothing(t *testing.T) {
	v := world(t)
	p, err := enrich.New(must(t)(enrich.Regions(v)))
	if err != nil {
		t.Fatal(err)
	}
	c := &enrich.Chunk{}
	for range 2000 {
		c.Points = append(c.Points, points[:2]...)
	}
	f := p.Filler()
	n := testing.AllocsPerRun(20, func() {
		if _, err := f.Fill(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	})
	if n > 20 {
		t.Errorf("%v allocations for %d rows", n, len(c.Points))
	}
}

// TestSizeOfEmptyCells tests that a table of empty cells has a size, by which its chunks end.
func TestSizeOfEmptyCells(t *testing.T) {
	var c enrich.Cells
	for range 1000 {
		c.Add("")
	}
	if c.Size() < 1000 {
		t.Errorf("1,000 empty cells take %d bytes", c.Size())
	}
}
