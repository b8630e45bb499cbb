package hierarchy

import (
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places"
)

// TestKeptIsFound tests that the cached regions of a place equal newly found ones, in each
// generation, and that a caller who changes a returned list does not change the cache.
func TestKeptIsFound(t *testing.T) {
	testrace.SkipUnderRace(t, "one question after the other, which TestKeptConcurrently asks at once")
	var list []places.Place
	for i := range 40 {
		p := places.Place{
			Name:       "P",
			Country:    "US",
			Admin1:     "MI",
			Admin2:     []string{"163", "115", ""}[i%3],
			Code:       []string{"PPL", "PPLX"}[i%2],
			Population: int64(i),
			Lat:        42.05 + float64(i%7)/10,
			Lon:        -84.9 + float64(i)/20,
		}
		list = append(list, p)
	}
	a, b := world(t, list...), world(t, list[20:]...)
	b.Layers, b.Generations.Places = a.Layers, 2
	views := []*View{a, b}
	rapid.Check(t, func(rt *rapid.T) {
		v := rapid.SampledFrom(views).Draw(rt, "view")
		fresh := *v
		fresh.Layers = new(Layers)
		var hit places.Hit
		id := rapid.Uint32Range(1, 20).Draw(rt, "id")
		must.Do(rt, v.Places.Hit(t.Context(), id, &hit))
		want := must.Get(fresh.find(t.Context(), &hit)).In(rt)
		for range 2 {
			got, err := v.ParentsOf(t.Context(), &hit)
			if err != nil || !slices.Equal(got, want) {
				rt.Fatalf("%v, want %v, %v", got, want, err)
			}
			for i := range got {
				got[i].Name = "changed"
			}
		}
		city, ok, err := v.City(t.Context(), &hit)
		if own, known, _ := fresh.City(t.Context(), &hit); err != nil || city.ID != own.ID || ok != known {
			rt.Fatalf("city %d %v, want %d %v, %v", city.ID, ok, own.ID, known, err)
		}
	})
}

// Goroutines may read and fill the cache concurrently.
func TestKeptConcurrently(t *testing.T) {
	v := world(t, places.Place{Name: "A", Country: "US", Admin1: "MI", Admin2: "163", Lat: 42.5, Lon: -83.05})
	other := *v
	other.Generations.Names = 7
	hit := places.Hit{ID: 1, Country: "US", Admin1: "MI", Lat: 42.5, Lon: -83.05}
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			view := []*View{v, &other}[i%2]
			for range 100 {
				if got, err := view.ParentsOf(t.Context(), &hit); err != nil || ids(got) != "26163 us-mi us" {
					t.Errorf("%v, %v", got, err)
					return
				}
			}
		})
	}
	wg.Wait()
}
