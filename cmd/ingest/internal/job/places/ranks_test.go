package places

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"quadrille/cmd/ingest/internal/job"
	"quadrille/cmd/ingest/internal/job/jobtest"
	"quadrille/cmd/ingest/internal/source/geonames"
	"quadrille/cmd/internal/testfile"
	"quadrille/feature"
	"quadrille/quadkey"
)

// drawn collects the places of a tile as an encoder of vector tiles gets them.
type drawn struct {
	name string
	all  map[string]int64 // the population on the map
}

func (d *drawn) Begin(uint64, quadkey.Position) error { return nil }
func (d *drawn) Text(name, value string) {
	if name == "name" {
		d.name = value
	}
}
func (d *drawn) Integer(name string, n int64) {
	if name == "map_population" {
		d.all[d.name] = n
	}
}
func (*drawn) Boolean(string, bool) {}
func (*drawn) End()                 {}

// rankedRows is a gazetteer: a city and its capital, which have each other's names, a district's population, and others.
func rankedRows() string {
	row := func(id int, name, others string, lat, lon float64, code, country string, people int) string {
		return fmt.Sprintf("%d\t%s\t\t%s\t%v\t%v\tP\t%s\t%s\t\t\t\t\t\t%d\t\t-9999\t\t2020-01-02\n",
			id, name, others, lat, lon, code, country, people)
	}
	return row(1, "Delhi", "Dilli,New Delhi", 28.65, 77.23, "PPLA", "IN", 10_900_000) +
		row(2, "New Delhi", "", 28.64, 77.22, "PPLC", "IN", 317_000) +
		row(3, "Bayan", "", 20, 80, "PPL", "IN", 1_100_000) +
		row(4, "Hamlet", "", 20.1, 80.1, "PPL", "IN", 100_000) +
		row(5, "Fort Worth", "", 32.75, -97.33, "PPLA2", "US", 830_000) +
		row(6, "Worth", "", 32.76, -97.3, "PPL", "US", 3_000) +
		row(7, "Anadyr", "", 64.73, -179.99, "PPLA", "RU", 13_000) +
		row(8, "Oslo", "", 59.91, 10.75, "PPLC", "NO", 580_000) +
		row(9, "Juba", "", 4.85, 31.6, "PPLC", "SS", 450_000)
}

func TestRanks(t *testing.T) {
	gazetteer := testfile.WriteTemp(t, "places.txt", rankedRows())
	ranks := testfile.WriteTemp(t, "ranks.csv", "city,lat,lng,pop,iso2\n"+
		"Delhi,28.67,77.2,15900000.5,IN\nNew Delhi,28.6,77.2,300000,IN\nFt. Worth,32.75,-97.34,1090000,us\n"+
		"ANADYR,64.8,179.9,11000,RU\nOslo,59.91,10.75,800000,SE\nNowhere,0,0,5,\nJuba,4.8,31.6,111000,SS\n,1,1,5,\nBad,1,1,many,\nBad,91,1,5,\n")
	rep, c := &jobtest.Recorder{}, jobtest.Catalog(t)
	inputs := append(placeFiles(gazetteer), Input{Input: job.Input{Path: ranks}, Kind: geonames.KindRanks})
	m, err := Ingest(t.Context(), c, inputs, job.Options{Reporter: rep, MaxBad: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	const told = `ranks: 5 of 7 belong to a place; no place of such a name or size is near "Oslo", "Nowhere"`
	if notes := strings.Join(rep.Notes, "\n"); !strings.Contains(notes, told) ||
		len(m.Sources) != 2 || m.Sources[1].Records != 7 || len(m.Bad) != 3 {
		t.Errorf("%s\n%+v %v", notes, m.Sources, m.Bad)
	}
	f, _ := openPlaces(t, c)
	// Oslo is in a country without ranks, and the population of Anadyr is greater than its rank.
	want := map[string]int64{"Delhi": 15_900_000, "New Delhi": 300_000, "Bayan": 200_000, "Fort Worth": 1_090_000, "Juba": 135_000}
	for _, zoom := range []uint8{6, 11, 15} {
		got := &drawn{all: map[string]int64{}}
		features := map[string]int64{}
		for name, at := range map[string][2]float64{
			"Delhi": {77.23, 28.65}, "New Delhi": {77.22, 28.64}, "Bayan": {80, 20}, "Hamlet": {80.1, 20.1},
			"Fort Worth": {-97.33, 32.75}, "Anadyr": {-179.99, 64.73}, "Oslo": {10.75, 59.91}, "Juba": {31.6, 4.85},
		} {
			tile, err := quadkey.TileAt(at[0], at[1], zoom)
			if err != nil {
				t.Fatal(name, err)
			}
			if err := f.Draw(t.Context(), tile, nil, got); err != nil {
				t.Fatal(err)
			}
			if err := feature.Each(f.Tile(t.Context(), tile, nil), func(of *feature.Feature) error {
				if v, ok := of.Properties.Lookup("map_population"); ok {
					n, _ := v.Number()
					features[of.Name()] = int64(math.Round(n))
				}
				return nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		if fmt.Sprint(got.all) != fmt.Sprint(want) || fmt.Sprint(features) != fmt.Sprint(want) {
			t.Errorf("zoom %d: drawn %v, features %v", zoom, got.all, features)
		}
	}
}

// TestCrowdedRanks refuses more ranks in one place than can be compared with each town there.
func TestCrowdedRanks(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("city,lat,lng,pop\n")
	for i := range mostInCell + 3 {
		fmt.Fprintf(&rows, "Town %d%s,28.5,77.5,5\n", i, strings.Repeat("|x", mostRankNames))
	}
	ranks := testfile.WriteTemp(t, "ranks.csv", rows.String())
	inputs := append(placeFiles(testfile.WriteTemp(t, "places.txt", rankedRows())), Input{Input: job.Input{Path: ranks}, Kind: geonames.KindRanks})
	m, err := Ingest(t.Context(), jobtest.Catalog(t), inputs, job.Options{MaxBad: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	if m.Bad["is one of too many in its square degree"] != 3 {
		t.Errorf("bad %v", m.Bad)
	}
}

func TestBadRanks(t *testing.T) {
	gazetteer := testfile.WriteTemp(t, "places.txt", rankedRows())
	for text, want := range map[string]string{
		"city,lat,lng,size\nDelhi,28,77,5\n": "none of its rows is a rank",
		"city,pop\nDelhi,5\n":                "latitudes and longitudes",
		"":                                   "empty",
	} {
		ranks := testfile.WriteTemp(t, "ranks.csv", text)
		inputs := append(placeFiles(gazetteer), Input{Input: job.Input{Path: ranks}, Kind: geonames.KindRanks})
		if _, err := Ingest(t.Context(), jobtest.Catalog(t), inputs, job.Options{MaxBad: 1}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
