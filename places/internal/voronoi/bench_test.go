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

// lands draws n positions evenly in rectangles, which have straight coasts.
func lands(rng *rand.Rand, n int) []Position {
	list := make([]Position, 0, n)
	for len(list) < n {
		south, west := 120*rng.Float64()-60, 360*rng.Float64()-180
		height, width := 10*rng.Float64(), 20*rng.Float64()
		for range min(n-len(list), 1+rng.IntN(n/20)) {
			list = append(list, PositionOf(south+height*rng.Float64(), math.Remainder(west+width*rng.Float64(), 360)))
		}
	}
	return list
}

func BenchmarkDivide(b *testing.B) {
	const n = 200_000
	for name, list := range map[string][]Position{
		"towns": clusters(rand.New(rand.NewPCG(1, 2)), n),
		"lands": lands(rand.New(rand.NewPCG(3, 4)), n),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				s := sitesOf(b, list)
				b.StartTimer()
				sum := 0
				d := Division{Sites: s, Emit: func(_ quadkey.Tile, listed []Site) error { sum += len(listed); return nil }}
				must.Do(b, d.Run(b.Context()))
				b.ReportMetric(float64(sum)/float64(d.leaves), "positions/leaf")
				b.ReportMetric(float64(d.leaves)/float64(s.Len()), "leaves/position")
				b.ReportMetric(float64(d.work)/float64(s.Len()), "comparisons/position")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/position")
		})
	}
}
