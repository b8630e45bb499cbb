package points_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/places/points"
)

// shops yields points that lie as places do, in cities of all sizes, with ten properties.
func shops(n int) func(yield func(points.Point, error) bool) {
	return func(yield func(points.Point, error) bool) {
		r := rand.New(rand.NewPCG(9, 9))
		type city struct{ lat, lon, size float64 }
		cities := make([]city, 5000)
		for i := range cities {
			cities[i] = city{r.Float64()*130 - 60, r.Float64()*360 - 180, 0.005 + r.ExpFloat64()*0.05}
		}
		var b []byte
		for i := range n {
			c := cities[int(float64(len(cities))*r.Float64()*r.Float64()*r.Float64())]
			lat, lon := c.lat+r.NormFloat64()*c.size, wrapped(c.lon+r.NormFloat64()*c.size)
			b = fmt.Appendf(b[:0], `{"name":"Shop number %d","category":%q,"price":%d.%d,"open":%v,"phone":"+41 44 %07d","street":"Main Street %d","city":"City %d","opened":"20%02d-0%d-11T00:00:00Z","tags":["a%d","b%d"],"rating":%d}`,
				i, categories[min(int(r.ExpFloat64()), len(categories)-1)], r.IntN(100), r.IntN(10), r.IntN(3) > 0, r.IntN(1e7), r.IntN(300), r.IntN(5000), r.IntN(26), 1+r.IntN(9), r.IntN(20), r.IntN(20), r.IntN(6))
			if !yield(points.Point{ID: fmt.Sprint("shop-", i), Lat: lat, Lon: lon, Properties: b, Line: int64(i)}, nil) {
				return
			}
		}
	}
}

const benchPoints = 1_000_000

var benchOnce = sync.OnceValues(func() (*points.Collection, error) {
	dir, err := benchDir()
	if err != nil {
		return nil, err
	}
	store, err := pebblestore.Open(dir, &pebblestore.Options{Cache: pebblestore.NewCache(512 << 20)})
	if err != nil {
		return nil, err
	}
	return buildInto(store, benchPoints)
})

func buildInto(store cellstore.Store, n int) (*points.Collection, error) {
	ctx := contextOf()
	meta, err := points.Build(ctx, store, shops(n), points.BuildOptions{Name: "shops", Memory: 512 << 20})
	if err != nil {
		return nil, err
	}
	return points.Open(ctx, store, meta)
}

func BenchmarkBuild(b *testing.B) {
	for b.Loop() {
		store := openStore(b)
		if _, err := buildInto(store, benchPoints/4); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(benchPoints/4*b.N)/b.Elapsed().Seconds(), "points/s")
}

// BenchmarkNearby asks for the ten nearest of a million points.
func BenchmarkNearby(b *testing.B) {
	c, err := benchOnce()
	if err != nil {
		b.Fatal(err)
	}
	var at [][2]float64
	for p := range shops(2000) {
		at = append(at, [2]float64{p.Lat, p.Lon})
	}
	for _, f := range []struct {
		name  string
		terms []points.Term
	}{{"all", nil}, {"category", []points.Term{{Name: "category", Values: []string{"zoo"}}}}} {
		b.Run(f.name, func(b *testing.B) {
			filter := (&filter{terms: f.terms}).parse(b, c.Meta().Schema)
			b.ReportAllocs()
			var hits []points.Hit
			for i := 0; b.Loop(); i++ {
				p := at[i%len(at)]
				var err error
				if hits, _, err = c.Nearby(b.Context(), points.NearbyQuery{Lat: p[0], Lon: p[1], Limit: 10, Filter: filter}, hits); err != nil || len(hits) != 10 {
					b.Fatal(len(hits), err)
				}
			}
		})
	}
}

// BenchmarkEach lists a million points.
func BenchmarkEach(b *testing.B) {
	c, err := benchOnce()
	if err != nil {
		b.Fatal(err)
	}
	n := 0
	for b.Loop() {
		if err := c.Each(b.Context(), points.WithinQuery{Area: points.Tile{}}, func(*points.Hit) error { n++; return nil }); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "points/s")
}

// BenchmarkWrite moves points, one or a hundred with each call of 64 callers.
func BenchmarkWrite(b *testing.B) {
	for _, lines := range []int{1, 100} {
		b.Run(fmt.Sprint(lines), func(b *testing.B) {
			_, c := openLive(b)
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

func benchDir() (string, error) { return os.MkdirTemp("", "quadrille-points-") }

func contextOf() context.Context { return context.Background() }
