package tiles_test

import (
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"quadrille/internal/tilestest"
	"quadrille/tiles"
	"quadrille/tiles/build"
)

// TestAtRemembers tests that the cache of a Reader never changes an answer of At, whatever types
// earlier queries had. It saves the seeks of points in tiles for which there is only one answer.
func TestAtRemembers(t *testing.T) {
	layers := []build.Layer{
		{
			Type: "country",
			Features: []build.Feature{
				{ID: "a", Name: "A", Geometry: tilestest.Square(0, 0, 2, 2)},
				{ID: "b", Name: "B", Geometry: tilestest.Square(2, 0, 4, 2)},
			},
		},
		{
			Type: "state",
			Features: []build.Feature{
				{ID: "s", Geometry: tilestest.Square(0.5, 0.5, 2, 1.01)},
				{ID: "over", Geometry: tilestest.Square(1.9, 0.4, 2.1, 1.6)},
				{ID: "t", Geometry: tilestest.Square(2, 0, 3.3, 1)},
			},
		},
		{Type: "zone", Features: []build.Feature{{ID: "z", Geometry: tilestest.Square(-1, -1, 5, 5)}}},
	}
	store := tilestest.OpenStore(t)
	meta, _, err := build.Run(t.Context(), store, layers, build.Options{Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	open := func() *tiles.Reader {
		r, err := tiles.Open(t.Context(), store, meta)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := open()
	subsets := [][]string{nil, {"country"}, {"state", "zone"}, {"zone"}, {"zone", "country", "state"}}
	type question struct {
		lat, lon float64
		types    []string
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	questions := make([]question, 4000)
	want := make([][]tiles.Region, len(questions))
	for i := range questions {
		q := question{rnd.Float64()*3 - 0.5, rnd.Float64()*5 - 0.5, subsets[rnd.IntN(len(subsets))]}
		switch rnd.IntN(3) {
		case 0: // near a border
			q.lat, q.lon = 1+rnd.NormFloat64()*0.01, 2+rnd.NormFloat64()*0.01
		case 1: // in a tile of an earlier question
			if i > 0 {
				before := questions[rnd.IntN(i)]
				q.lat, q.lon = before.lat+rnd.NormFloat64()*0.005, before.lon+rnd.NormFloat64()*0.005
			}
		}
		questions[i] = q
		if want[i], err = open().At(t.Context(), q.lat, q.lon, q.types...); err != nil {
			t.Fatal(err)
		}
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range 2 {
				for i, q := range questions {
					got, err := r.At(t.Context(), q.lat, q.lon, q.types...)
					if err != nil || !slices.Equal(got, want[i]) {
						t.Errorf("%+v: %v %v, want %v", q, got, err, want[i])
						return
					}
					for j := range got {
						got[j].ID = "the caller's own"
					}
				}
			}
		})
	}
	all.Wait()
	for range 2 {
		if got := ids(t, r, 0.7, 0.2); got == "" {
			t.Fatal("nothing at a point")
		}
	}
	before := store.Stats().Seeks
	if _, err := r.At(t.Context(), 0.7001, 0.2001); err != nil || store.Stats().Seeks != before {
		t.Errorf("%d seeks for a point of a known tile, %v", store.Stats().Seeks-before, err)
	}
}
