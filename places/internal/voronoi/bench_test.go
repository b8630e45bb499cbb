package voronoi

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quadrille/internal/must"
	"quadrille/quadkey"
)

// clusters draws n positions around towns of different sizes. They cover a tenth of the globe.
func clusters(rng *rand.Rand, n int) []Position {
	list := make([]Position, 0, n)
	for len(list) < n {
		lat, lon := 50*rng.Float64()-10, 100*rng.Float64()
		spread := math.Exp(rng.Float64() * 4 / 2)
		for range min(n-len(list), 1+rng.IntN(5000)) {
			list = append(list, PositionOf(lat+spread*rng.NormFloat64()/2, lon+spread*rng.NormFloat64()))
		}
	}
	return list
}

// sitesOf returns the sites of positions, with their numbers.
func sitesOf(tb testing.TB, list []Position) *Sites {
	tb.Helper()
	type placed struct {
		cell quadkey.Cell
		n    int
	}
	order := make([]placed, len(list))
	for i := range list {
		order[i] = placed{must.Get(quadkey.CellOf(list[i].Degrees())).In(tb), i}
	}
	slices.SortStableFunc(order, func(a, b placed) int { return cmp.Compare(a.cell, b.cell) })
	s := &Sites{}
	s.Grow(len(list))
	for _, p := range order {
		s.Add(p.cell, Site{Position: list[p.n], Ref: uint32(p.n)})
	}
	return s
}

func BenchmarkDivide(b *testing.B) {
	const n = 400_000
	list := clusters(rand.New(rand.NewPCG(1, 2)), n)

	for b.Loop() {
		b.StopTimer()
		s := sitesOf(b, list)
		b.StartTimer()
		listed := 0
		d := Division{Sites: s, Emit: func(_ quadkey.Tile, listed_ []Site) error { listed += len(listed_); return nil }}
		must.Do(b, d.Run(b.Context()))
		b.ReportMetric(float64(listed)/float64(d.leaves), "positions/leaf")
		b.ReportMetric(float64(d.leaves)/float64(s.Len()), "leaves/position")
		b.ReportMetric(float64(d.work)/float64(s.Len()), "comparisons/position")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/position")
}
