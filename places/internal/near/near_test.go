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

// For any offers, the kept points are the first of all of them sorted, and their slots are
// distinct and lower than Want.
func TestBestAgainstSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var b Best[ID]
	for range 2000 {
		want, limit := 1+rng.IntN(20), uint64(rng.IntN(30))
		after := Cursor{uint64(rng.IntN(4)), ID(rng.IntN(10))}
		b.Reset(want, limit, after)
		var all []Cursor
		slots := map[int]ID{}
		for id := range ID(rng.IntN(100)) {
			x := Cursor{uint64(rng.IntN(40)), id + 1}
			if b.Wants(x.Rank, x.Key) {
				slots[b.Slot()] = x.Key
				b.Keep(x.Rank, x.Key)
			}
			if x.Rank <= limit && x.compare(&after) > 0 {
				all = append(all, x)
			}
		}
		slices.SortFunc(all, func(x, y Cursor) int { return cmp.Or(cmp.Compare(x.Rank, y.Rank), cmp.Compare(x.Key, y.Key)) })
		all = all[:min(len(all), want)]
		got := b.Sorted()
		if len(got) != len(all) || len(slots) != len(all) {
			t.Fatalf("%d kept in %d slots, want %d", len(got), len(slots), len(all))
		}
		for i, x := range got {
			if x.Ranked != all[i] || slots[x.Slot] != x.Key || x.Slot >= want {
				t.Fatalf("%v is number %d, want %v", x, i, all[i])
			}
		}
	}
}

// everywhere ranks cells by their numbers. It splits tiles down to one cell.
type everywhere struct {
	Lists
	lists [][]quadkey.Cell
	read  int
}

func (e *everywhere) Bound(n *Node) (uint64, bool) {
	first, _ := n.Tile.CellRange()
	return uint64(first), n.Lo < n.Hi
}

func (e *everywhere) Visit(_ context.Context, n *Node) error {
	if n.Hi-n.Lo > 1 && n.Tile.Z < quadkey.CellZoom {
		e.Split(e, n)
		return nil
	}
	for i := n.Lo; i < n.Hi; i++ {
		e.read++
		if rank, id := uint64(e.lists[n.List][i]), ID(n.List)<<32+ID(i)+1; e.Wants(rank, id) {
			e.Keep(rank, id)
		}
	}
	return nil
}

// TestSearchAgainstSorting tests that a descent through several lists finds the same first points
// as sorting all points, and reads few others.
func TestSearchAgainstSorting(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		e := &everywhere{lists: make([][]quadkey.Cell, 1+rng.IntN(3))}
		var all []quadkey.Cell
		for i := range e.lists {
			for range rng.IntN(200) {
				e.lists[i] = append(e.lists[i], quadkey.Cell(rng.Uint32()>>rng.IntN(30)))
			}
			slices.Sort(e.lists[i])
			all = append(all, e.lists[i]...)
		}
		slices.Sort(all)
		want := 1 + rng.IntN(50)
		e.Reset(want, math.MaxUint64, Cursor{})
		must.Do(t, e.Run(t.Context(), e, e.lists...))
		all = all[:min(len(all), want)]
		got := e.Sorted()
		for i := range got {
			if got[i].Rank != uint64(all[i]) {
				t.Fatalf("number %d is %d, want %d", i, got[i].Rank, all[i])
			}
		}
		if len(got) != len(all) {
			t.Fatalf("%d found, want %d", len(got), len(all))
		}
	}
}

// No point of a box is in a tile that the box does not overlap.
func TestOverlap(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	units := func(v float64) float64 { return math.Round(v*1e7) / 1e7 }
	edges := []float64{-180, 180, 0, 90, -90, 45}
	apart := 0
	for range 200_000 {
		lon, lat := units(rng.Float64()*360-180), units(rng.Float64()*180-90)
		if rng.IntN(5) == 0 {
			lon = edges[rng.IntN(len(edges))]
		}
		if rng.IntN(5) == 0 {
			lat = []float64{-90, 90, 0, 85.0511287, -85.0511288}[rng.IntN(5)]
		}
		tile := must.Get(quadkey.TileAt(lon, lat, uint8(rng.IntN(quadkey.CellZoom+1)))).In(t)
		size := math.Exp(rng.Float64()*12 - 9)
		b := quadkey.Box{
			West:  lon - size*rng.Float64(),
			East:  lon + size*rng.Float64(),
			South: max(lat-size*rng.Float64(), -90),
			North: min(lat+size*rng.Float64(), 90),
		}
		switch rng.IntN(4) {
		case 0:
			b.West = lon
		case 1:
			b.East, b.South = lon, lat
		}
		if b.West < -180 {
			b.West += 360
		}
		if b.East > 180 {
			b.East -= 360
		}
		if !b.Valid() || !b.Contains(lon, lat) {
			continue
		}
		if !BoxMeetsTile(b, tile) {
			t.Fatalf("%v has %v,%v of tile %v", b, lon, lat, tile)
		}
		if other := (quadkey.Tile{Z: 8, X: rng.Uint32() % 256, Y: rng.Uint32() % 256}); !BoxMeetsTile(b, other) {
			apart++
		}
	}
	if apart < 50_000 {
		t.Errorf("only %d tiles are apart from boxes", apart)
	}
}
