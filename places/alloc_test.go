//go:build !race

package places

import (
	"testing"
)

// The race detector makes pools forget, so this says nothing under it.
func TestNearbyAllocatesLittle(t *testing.T) {
	f := build(t, scatter(2, 5000, clustered))
	q := NearbyQuery{Lat: 10, Lon: 10}
	var dst []Hit
	var err error
	run := func() {
		if dst, _, err = f.Nearby(t.Context(), q, dst); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(100, run); n > 60 {
		t.Errorf("%v allocations per query", n)
	}
}
