package tiles_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
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

// buildStore builds layers into a new store.
func buildStore(t testing.TB, layers ...build.Layer) (cellstore.Store, tiles.Meta) {
	t.Helper()
	store := tilestest.OpenStore(t)
	meta, _, err := build.Run(t.Context(), store, layers, build.Options{Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	return store, meta
}

// TestPointJoinConcurrently joins from several goroutines, which share a table of answers, and more
// points than a chunk has.
func TestPointJoinConcurrently(t *testing.T) {
	store, meta := buildStore(t, build.Layer{
		Type: "land", Features: []build.Feature{
			{ID: "a", Geometry: tilestest.Square(0, 40, 9, 60)},
			{ID: "b", Geometry: tilestest.Square(9, 40, 20, 47)},
		},
	}, build.Layer{Type: "area", Features: []build.Feature{
		{ID: "c", Geometry: tilestest.Square(7, 46, 9.5, 50)},
		{ID: "d", Geometry: tilestest.Square(8, 45, 14, 48)},
	}})
	r, err := tiles.Open(t.Context(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	j, err := r.PointJoin("area", "land")
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for seed := range uint64(3) {
		all.Go(func() {
			rnd := rand.New(rand.NewPCG(seed, 1))
			points := make([]quadkey.Position, 300_000)
			for i := range points {
				points[i] = quadkey.Position{Lat: 47.4 + 9*rnd.NormFloat64()/2, Lon: 8.5 + 6*rnd.NormFloat64()}
			}
			out := [][]int32{make([]int32, len(points)), make([]int32, len(points))}
			if err := j.Find(t.Context(), points, out); err != nil {
				t.Error(err)
				return
			}
			for range 3000 {
				i := rnd.IntN(len(points))
				want, err := r.At(t.Context(), points[i].Lat, points[i].Lon)
				if got := append(slices.Clone(j.Regions(0, out[0][i])), j.Regions(1, out[1][i])...); err != nil || !sameRegions(got, want) {
					t.Errorf("%v: %v, want %v, %v", points[i], got, want, err)
				}
			}
		})
	}
	all.Wait()
}

// sameRegions compares regions type by type, whatever the order of the types.
func sameRegions(a, b []tiles.Region) bool {
	byType := func(a, b tiles.Region) int { return strings.Compare(a.Type, b.Type) }
	slices.SortStableFunc(a, byType)
	slices.SortStableFunc(b, byType)
	return slices.Equal(a, b)
}

// TestOlderAnswersConcurrently asks a build without finished answers from several goroutines, with hardly any memory:
// tiles of one leaf and tiles of borders, whose answers are kept in different ways.
func TestOlderAnswersConcurrently(t *testing.T) {
	tiles.SetCacheBytes(20_000)
	defer tiles.SetCacheBytes(tiles.DefaultCacheBytes)
	store, meta := buildStore(t, build.Layer{Type: "land", Features: []build.Feature{
		{ID: "a", Geometry: tilestest.Square(0, 40, 9, 60)},
		{ID: "b", Geometry: tilestest.Square(9, 40, 20, 47)},
	}})
	want, err := tiles.Open(t.Context(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	meta.Stamp = 0
	for range 20 {
		r, err := tiles.Open(t.Context(), store, meta)
		if err != nil {
			t.Fatal(err)
		}
		var all sync.WaitGroup
		for seed := range uint64(4) {
			all.Go(func() {
				rnd := rand.New(rand.NewPCG(seed%2, 7)) // two ask for the same at one time
				for range 100 {
					lat, lon := 46+6*rnd.Float64(), 4+8*rnd.Float64()
					found, err := r.At(t.Context(), lat, lon)
					same, failed := want.At(t.Context(), lat, lon)
					if err != nil || failed != nil || !slices.Equal(found, same) {
						t.Errorf("%v,%v: %v, want %v; %v %v", lat, lon, found, same, err, failed)
					}
				}
			})
		}
		all.Wait()
	}
}
