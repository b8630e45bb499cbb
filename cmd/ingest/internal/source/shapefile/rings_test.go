package shapefile

import (
	"testing"

	"github.com/paulmach/orb"
)

// A ring whose every hole must be compared with every edge is given up in time.
func TestNestingIsBounded(t *testing.T) {
	// A comb: every horizontal line between its teeth crosses all of them.
	const teeth = 2000
	comb := orb.Ring{{0, 0}}
	for i := range teeth {
		x := float64(i) / teeth * 10
		comb = append(comb, orb.Point{x, 10}, orb.Point{x + 4.0/teeth, 1})
	}
	comb = append(comb, orb.Point{10, 0}, orb.Point{0, 0})
	rings := []ring{newRing(comb)}
	for i := range 1000 {
		y := 0.001 + float64(i)/2000
		rings = append(rings, newRing(orb.Ring{{1, y}, {1.00001, y}, {1, y + 0.00001}, {1, y}}))
	}
	var g shape
	if !g.nest(rings, maxTests) || len(g.polygons) != 1 || len(g.polygons[0]) != 1001 {
		t.Errorf("%d polygons", len(g.polygons))
	}
	for i := range rings[1:] {
		for j := range rings[1+i].flat {
			rings[1+i].flat[j][1] += 2
		}
		rings[1+i] = newRing(rings[1+i].flat)
	}
	if g := (shape{}); g.nest(rings, 1<<20) {
		t.Error("a million comparisons were enough")
	}
}
