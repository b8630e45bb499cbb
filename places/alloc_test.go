//go:build !race

package places

import (
	"testing"

	"quadrille/feature"
	"quadrille/internal/must"
)

// TestNearbyAllocatesLittle bounds the allocations of Finder.Nearby. The race detector empties
// pools, so the test proves nothing under it.
func TestNearbyAllocatesLittle(t *testing.T) {
	f := build(t, scatter(2, 5000, clustered))
	q := NearbyQuery{Lat: 10, Lon: 10}
	var dst []Hit
	run := func() {
		dst, _ = must.Two(f.Nearby(t.Context(), q, dst)).In(t)
	}
	run()
	if n := testing.AllocsPerRun(100, run); n > 60 {
		t.Errorf("%v allocations per query", n)
	}
}

// TestNearestAllocatesLittle bounds the allocations of a query for the nearest populated place: the
// text of its id, and the iterator.
func TestNearestAllocatesLittle(t *testing.T) {
	f := build(t, scatter(2, 5000, clustered))
	q := feature.Query{Near: feature.NearTo(10, 10, 0), Filter: OnlyPopulated, Limit: 1}
	var dst []Hit
	run := func() {
		dst = must.Get(CollectHits(dst, f.Features(t.Context(), &q))).In(t)
	}
	run()
	if n := testing.AllocsPerRun(100, run); n > 2 {
		t.Errorf("%v allocations per query", n)
	}
}
