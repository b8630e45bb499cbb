package points_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/feature"
	"quadrille/internal/buildtest"
	"quadrille/internal/manypoints"
	"quadrille/internal/must"
	"quadrille/places/points"
	"quadrille/quadkey"
)

func buildMany(b *testing.B, store cellstore.Store, n int) points.Meta {
	b.Helper()
	seq := func(yield func(points.Point, error) bool) {
		line := int64(0)
		for p := range manypoints.Each(n) {
			if line++; !yield(points.Point{ID: p.ID, Lat: p.Lat, Lon: p.Lon, Properties: p.Properties, Line: line}, nil) {
				return
			}
		}
	}
	return must.Get(points.Build(b.Context(), store, seq, points.BuildOptions{Name: "shops", Memory: 512 << 20})).In(b)
}

// BenchmarkBuild builds a million points with ten properties each.
func BenchmarkBuild(b *testing.B) {
	const n = 1_000_000
	b.ReportAllocs()
	for b.Loop() {
		buildMany(b, buildtest.Open(b, b.TempDir(), nil), n)
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "points/s")
}

// BenchmarkRead queries collections of rising size: the ten nearest, pages of a box that has about
// the same number of points in each size, and all points. It reports the growth of their times for
// a tenfold size. The largest needs QUADRILLE_FULL and 3 GB of disk.
func BenchmarkRead(b *testing.B) {
	sizes := []int{100_000, 1_000_000}
	if os.Getenv("QUADRILLE_FULL") != "" {
		sizes = append(sizes, 10_000_000)
	}
	for _, n := range sizes {
		b.Run(fmt.Sprint("points=", n), func(b *testing.B) { benchmarkReads(b, n) })
	}
}

func benchmarkReads(b *testing.B, n int) {
	store := must.Get(pebblestore.Open(b.TempDir(), &pebblestore.Options{Cache: pebblestore.NewCache(512 << 20)})).In(b)
	b.Cleanup(func() { store.Close() })
	c := must.Get(points.Open(b.Context(), store, buildMany(b, store, n))).In(b)
	var at [][2]float64
	for p := range manypoints.Each(2000) {
		at = append(at, [2]float64{p.Lat, p.Lon})
	}
	var hits []points.Hit
	nearby := func(filter feature.Filter) func(*testing.B) {
		return func(b *testing.B) {
			ask := func(p [2]float64) error {
				var err error
				hits, _, err = c.Nearby(b.Context(), points.NearbyQuery{Lat: p[0], Lon: p[1], Limit: 10, Filter: filter}, hits)
				if err == nil && len(hits) != 10 {
					err = fmt.Errorf("%d points", len(hits))
				}
				return err
			}
			benchmarkAsk(b, at, ask)
		}
	}
	b.Run("nearby", nearby(nil))
	b.Run("nearby/zoo", nearby((&filter{terms: []feature.Term{{Name: "category", Values: []string{"zoo"}}}}).parse(b, c.Meta().Schema)))
	b.Run("within", func(b *testing.B) {
		// The distance of the hundredth nearest gives the width of a box with some 100 points.
		areas := make(map[[2]float64]feature.Box, len(at))
		for _, p := range at {
			near, _ := must.Two(c.Nearby(b.Context(), points.NearbyQuery{Lat: p[0], Lon: p[1], Limit: 100}, nil)).In(b)
			d := min(near[len(near)-1].DistanceM/111_000, 1)
			areas[p] = feature.Box(quadkey.Box{West: wrapped(p[1] - d), South: max(p[0]-d, -90), East: wrapped(p[1] + d), North: min(p[0]+d, 90)})
		}
		benchmarkAsk(b, at, func(p [2]float64) (err error) {
			hits, _, err = c.Within(b.Context(), points.WithinQuery{Area: areas[p], Limit: 50}, hits)
			return err
		})
	})
	for _, z := range []uint8{0, 2, 4, 6, 8, 10, 12} {
		b.Run(fmt.Sprint("tile/zoom=", z), func(b *testing.B) {
			benchmarkAsk(b, at, func(p [2]float64) error {
				tile, err := quadkey.TileAt(p[1], p[0], z)
				if err == nil {
					err = c.ShowTile(b.Context(), tile, func(*points.Shown) error { return nil })
				}
				return err
			})
		})
	}
	b.Run("each", func(b *testing.B) {
		listed := 0
		for b.Loop() {
			if err := c.Each(b.Context(), points.WithinQuery{Area: feature.Tile{}}, func(*points.Hit) error { listed++; return nil }); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(listed)/b.Elapsed().Seconds(), "points/s")
	})
}

// benchmarkAsk calls ask with one position after the other, and reports percentiles of the times.
// The first round fills caches and is not measured.
func benchmarkAsk(b *testing.B, at [][2]float64, ask func([2]float64) error) {
	b.Helper()
	for _, p := range at {
		must.Do(b, ask(p))
	}
	b.ReportAllocs()
	took := make([]time.Duration, 0, 1<<20)
	for i := 0; b.Loop(); i++ {
		begin := time.Now()
		if err := ask(at[i%len(at)]); err != nil {
			b.Fatal(err)
		}
		if len(took) < cap(took) {
			took = append(took, time.Since(begin))
		}
	}
	slices.Sort(took)
	for _, p := range []int{50, 99} {
		b.ReportMetric(float64(took[(len(took)-1)*p/100].Nanoseconds())/1e3, fmt.Sprintf("p%d-µs", p))
	}
}

// BenchmarkWrite moves points by 64 callers, with one or a hundred points in each call.
func BenchmarkWrite(b *testing.B) {
	for _, lines := range []int{1, 100} {
		b.Run(fmt.Sprint(lines), func(b *testing.B) {
			_, c := openLiveIn(b, buildtest.Open(b, b.TempDir(), nil))
			b.SetParallelism(32)
			var next sync.Mutex
			n := uint64(0)
			b.RunParallel(func(pb *testing.PB) {
				next.Lock()
				n++
				r := rand.New(rand.NewPCG(5, n))
				next.Unlock()
				outcomes := make([]points.Outcome, lines)
				writes := make([]points.Write, lines)
				for pb.Next() {
					for i := range writes {
						p := randomPoint(r, r.IntN(100_000), distributions["cities"])
						writes[i] = putOf(p)
					}
					if err := c.Write(b.Context(), writes, outcomes); err != nil {
						b.Error(err)
					}
				}
			})
			b.ReportMetric(float64(b.N*lines)/b.Elapsed().Seconds(), "writes/s")
		})
	}
}
