package hierarchy

import (
	"strings"
	"testing"

	"quadrille/feature"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places"
)

// settled returns a view of only places.
func settled(t *testing.T, list ...places.Place) *View {
	t.Helper()
	store := buildtest.NewStore(t)
	for i := range list {
		p := &list[i]
		p.ID, p.Class = uint32(i+1), "P"
		if p.Code == "" {
			p.Code = "PPL"
		}
	}
	info, _ := must.Two(places.Build(t.Context(), store, places.Source{Places: buildtest.SeqOf(list)}, places.BuildOptions{})).In(t)
	return &View{Places: must.Get(places.Open(t.Context(), store, info)).In(t), Generations: Generations{Places: 1}, Layers: new(Layers)}
}

// A great city reaches over the towns around it, but not over ground of another town, ground in
// another division or country, or ground too far away.
func TestGreatCity(t *testing.T) {
	testrace.SkipUnderRace(t, "one question after the other, which TestKeptConcurrently asks at once")
	v := settled(t,
		places.Place{Name: "Great", Country: "AA", Admin1: "1", Lat: 48, Lon: 2, Population: 2_000_000},
		places.Place{Name: "Suburb", Country: "AA", Admin1: "1", Lat: 48, Lon: 2.08, Population: 60_000},
		places.Place{Name: "Village", Country: "AA", Admin1: "1", Lat: 48.1, Lon: 2, Population: 900},
		places.Place{Name: "Neighbour", Country: "AA", Admin1: "2", Lat: 47.95, Lon: 2, Population: 3_000},
		places.Place{Name: "Abroad", Country: "BB", Admin1: "1", Lat: 48, Lon: 1.92, Population: 3_000},
		places.Place{Name: "Quarter", Country: "AA", Admin1: "1", Code: "PPLX", Lat: 48.03, Lon: 2.03, Population: 5_000},
		places.Place{Name: "Far", Country: "AA", Admin1: "1", Lat: 48.2, Lon: 2, Population: 900},
		places.Place{Name: "Dateline", Country: "CC", Lat: 0, Lon: 179.99, Population: 3_000_000},
		places.Place{Name: "Beyond", Country: "CC", Lat: 0, Lon: -179.93, Population: 1_000},
	)
	for _, c := range []struct {
		what     string
		lat, lon float64
		radius   float64
		want     string
	}{
		{"a tower nearer to the suburb", 48, 2.05, 50_000, "Great"},
		{"the middle of the suburb", 48, 2.079, 50_000, "Suburb"},
		{"the edge of the suburb", 48.005, 2.085, 50_000, "Suburb"},
		{"the middle of a village", 48.1, 2.002, 50_000, "Village"},
		{"between the city and the village", 48.055, 1.95, 50_000, "Great"},
		{"in another division", 47.96, 2, 50_000, "Neighbour"},
		{"abroad", 48, 1.93, 50_000, "Abroad"},
		{"in a part of the city", 48.029, 2.029, 50_000, "Quarter"},
		{"too far away", 48.18, 2, 50_000, "Far"},
		{"a radius that the city is not in", 48, 2.05, 3_000, "Suburb"},
		{"across 180 degrees", 0, -179.96, 50_000, "Dateline"},
	} {
		for range 2 { // the second answer may come from the cache
			hits, first, err := v.Nearest(t.Context(), feature.Query{
				Near:   feature.NearTo(c.lat, c.lon, c.radius),
				Filter: places.OnlyPopulated,
				Limit:  3,
			}, nil)
			if err != nil || first.AcrossBorder() || hits[0].Name != c.want || !strings.Contains(string(hits[0].JSON), c.want) {
				t.Errorf("%s: %s, %v, want %s", c.what, hits[0].Name, err, c.want)
				continue
			}
			seen := map[uint32]bool{}
			for _, h := range hits {
				if seen[h.ID] {
					t.Errorf("%s: %s twice", c.what, h.Name)
				}
				seen[h.ID] = true
			}
		}
	}
}

// A city whose row names no second-level division spans several, and its sections may be in any of
// them. A distant section has no city.
func TestCityOfSeveralDivisions(t *testing.T) {
	v := settled(t,
		places.Place{Name: "Great", Country: "AA", Admin1: "1", Lat: 40, Lon: 2, Population: 8_000_000},
		places.Place{Name: "Quarter", Country: "AA", Admin1: "1", Admin2: "81", Code: section, Lat: 40, Lon: 2.2, Population: 5_000},
		places.Place{Name: "Town", Country: "AA", Admin1: "1", Lat: 50, Lon: 2, Population: 20_000},
		places.Place{Name: "Elsewhere", Country: "AA", Admin1: "1", Admin2: "81", Code: section, Lat: 50, Lon: 2.1, Population: 5_000},
	)
	for id, want := range map[uint32]string{2: "Great", 4: ""} {
		var p places.Hit
		must.Do(t, v.Places.Hit(t.Context(), id, &p))
		if city, ok, err := v.City(t.Context(), &p); err != nil || ok != (want != "") || city.Name != want {
			t.Errorf("%s is a part of %q, %v, %v; want %q", p.Name, city.Name, ok, err, want)
		}
	}
}

// TestReach tests that reachM stays within its limits for any population that a source may have.
func TestReach(t *testing.T) {
	for people, want := range map[int64]float64{-1: reachM(leastPeople), 0: reachM(leastPeople), 1_000_000: millionM, 1 << 62: mostReachM} {
		if got := reachM(people); got < want-1 || got > want+1 {
			t.Errorf("%d people: %v m, want %v", people, got, want)
		}
	}
}
