package near

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"quadrille/internal/must"
	"quadrille/quadkey"
)

// spot is a point of a list, in the order of cells.
type spot struct {
	cell     quadkey.Cell
	lon, lat float64
	id       ID
	passes   bool
}

// scattered searches spots that pass a filter.
type scattered struct {
	Lists
	lon, lat float64
	spots    [][]spot
}

func (s *scattered) Bound(n *Node) (uint64, bool) {
	rank, ok := s.MinRank(n.Tile)
	return rank, ok && n.Lo < n.Hi
}

func (s *scattered) Visit(_ context.Context, n *Node) error {
	if n.Hi-n.Lo > 4 && n.Tile.Z < quadkey.CellZoom {
		s.Split(s, n)
		return nil
	}
	for _, p := range s.spots[n.List][n.Lo:n.Hi] {
		if rank := DistanceRank(quadkey.Distance(s.lon, s.lat, p.lon, p.lat)); p.passes && s.Wants(rank, p.id) {
			s.Keep(rank, p.id)
		}
	}
	return nil
}

// A search from a point outwards finds the same as measuring every distance: at the poles, across
// 180°, with filters that few points pass, and page by page.
func TestRunFromAgainstEveryDistance(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	s := &scattered{}
	for range 600 {
		s.spots = make([][]spot, 1+rng.IntN(3))
		lists := make([][]quadkey.Cell, len(s.spots))
		lon, lat := rng.Float64()*360-180, math.Asin(rng.Float64()*2-1)*180/math.Pi
		switch rng.IntN(6) {
		case 0:
			lon = []float64{180, -180, 179.999}[rng.IntN(3)]
		case 1:
			lat = []float64{90, -90, 89.99, -85.1}[rng.IntN(4)]
		}
		spread, share := math.Exp(rng.Float64()*9-5), rng.Float64()
		var all []Cursor
		next := ID(1)
		for i := range s.spots {
			for range rng.IntN(3_000) {
				p := spot{
					lon:    math.Remainder(lon+rng.NormFloat64()*spread, 360),
					lat:    max(-90, min(90, lat+rng.NormFloat64()*spread)),
					id:     next,
					passes: rng.Float64() < share,
				}
				if rng.IntN(10) == 0 { // at the query's point, where others may be
					p.lon, p.lat = lon, lat
				}
				next++
				p.cell = must.Get(quadkey.CellOf(p.lon, p.lat)).In(t)
				s.spots[i] = append(s.spots[i], p)
				if p.passes {
					all = append(all, Cursor{DistanceRank(quadkey.Distance(lon, lat, p.lon, p.lat)), p.id})
				}
			}
			slices.SortFunc(s.spots[i], func(a, b spot) int { return cmp.Compare(a.cell, b.cell) })
			for _, p := range s.spots[i] {
				lists[i] = append(lists[i], p.cell)
			}
		}
		slices.SortFunc(all, func(a, b Cursor) int { return a.compare(&b) })
		s.lon, s.lat = lon, lat
		want := []int{1, 1, 2, 10, 19, 20, 21, 200}[rng.IntN(8)]
		limit := uint64(math.MaxUint64)
		switch rng.IntN(3) {
		case 0:
			limit = DistanceRank(math.Inf(1))
		case 1:
			limit = DistanceRank(math.Exp(rng.Float64() * 17))
		}
		var after Cursor
		if rng.IntN(4) == 0 && len(all) > 0 {
			last := all[rng.IntN(len(all))]
			after = last
		}
		all = slices.DeleteFunc(all, func(f Cursor) bool {
			return f.Rank > limit || f.compare(&after) <= 0
		})
		all = all[:min(len(all), want)]
		s.Reset(want, limit, after)
		must.Do(t, s.RunFrom(t.Context(), s, lon, lat, lists...))
		got := s.Sorted()
		if len(got) != len(all) {
			t.Fatalf("%v,%v within %v: %d found, want %d", lat, lon, math.Float64frombits(limit), len(got), len(all))
		}
		for i := range got {
			if got[i].Rank != all[i].Rank || got[i].Key != all[i].Key {
				t.Fatalf("%v,%v: number %d is %+v, want %+v", lat, lon, i, got[i], all[i])
			}
		}
	}
}
