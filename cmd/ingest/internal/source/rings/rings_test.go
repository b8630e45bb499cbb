package rings

import (
	"math"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"
	"pgregory.net/rapid"
)

// Holes along the border of their shells stay in these when coordinates are rounded, so that areas
// stay the same.
func TestHolesKeepTheirShells(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		fraction := func(from, to float64) float64 { return rapid.Float64Range(from, to).Draw(t, "fraction") }
		between := func(a, b orb.Point, share float64) orb.Point {
			return orb.Point{a[0] + share*(b[0]-a[0]), a[1] + share*(b[1]-a[1])}
		}
		round := func(r orb.Ring, area float64) orb.Ring { // and restore the direction
			for i, p := range r {
				r[i] = orb.Point{math.Round(p[0]*1e6) / 1e6, math.Round(p[1]*1e6) / 1e6}
			}
			if r = append(r, r[0]); planar.Area(r) > 0 == (area > 0) { // planar: anticlockwise is positive
				slices.Reverse(r)
			}
			return r
		}
		var all []ring
		areas := map[orb.Point]float64{} // by the first point of a shell
		for i := range rapid.IntRange(1, 4).Draw(t, "shells") {
			middle := orb.Point{3*float64(i) - 6, fraction(-1, 1)}
			shell := make(orb.Ring, rapid.IntRange(4, 12).Draw(t, "corners"))
			for k := range shell {
				sin, cos := math.Sincos(2 * math.Pi * float64(k) / float64(len(shell)))
				radius := fraction(0.5, 1.4)
				shell[k] = orb.Point{middle[0] + radius*cos, middle[1] + radius*sin}
			}
			var holes []orb.Ring
			for k := 0; k+1 < len(shell); k += 2 { // one on every second side
				a, b := shell[k], shell[k+1]
				holes = append(holes, round(orb.Ring{between(a, b, fraction(0.1, 0.4)), between(a, b, fraction(0.6, 0.9)),
					between(middle, between(a, b, 0.5), fraction(0.2, 0.8))}, -1))
			}
			shell = round(shell, 1)
			all = append(all, newRing(shell, nil))
			areas[shell[0]] = math.Abs(planar.Area(shell))
			for _, h := range holes {
				all = append(all, newRing(h, nil))
				areas[shell[0]] -= math.Abs(planar.Area(h))
			}
		}
		var g assembly
		if !g.nest(rapid.Permutation(all).Draw(t, "order"), maxTests) || g.repair != "" || len(g.polygons) != len(areas) {
			t.Fatalf("%d polygons, not %d; %q", len(g.polygons), len(areas), g.repair)
		}
		for _, p := range g.polygons {
			got := math.Abs(planar.Area(p[0]))
			for _, h := range p[1:] {
				got -= math.Abs(planar.Area(h))
			}
			if want := areas[p[0][0]]; math.Abs(got-want) > 1e-9 {
				t.Errorf("area %v, want %v", got, want)
			}
		}
	})
}

// TestNestingIsBounded tests that the nesting of rings is given up after bounded work, for a shape
// in which every hole must be compared with every edge.
func TestNestingIsBounded(t *testing.T) {
	// The ring is a comb: every horizontal line through its teeth crosses all of them.
	const teeth = 2000
	comb := orb.Ring{{0, 0}}
	for i := range teeth {
		x := float64(i) / teeth * 10
		comb = append(comb, orb.Point{x, 10}, orb.Point{x + 4.0/teeth, 1})
	}
	comb = append(comb, orb.Point{10, 0}, orb.Point{0, 0})
	rings := []ring{newRing(comb, nil)}
	for i := range 1000 {
		y := 0.001 + float64(i)/2000
		rings = append(rings, newRing(orb.Ring{{1, y}, {1.00001, y}, {1, y + 0.00001}, {1, y}}, nil))
	}
	var g assembly
	if !g.nest(rings, maxTests) || len(g.polygons) != 1 || len(g.polygons[0]) != 1001 {
		t.Errorf("%d polygons", len(g.polygons))
	}
	for i := range rings[1:] {
		for j := range rings[1+i].flat {
			rings[1+i].flat[j][1] += 2
		}
		rings[1+i] = newRing(rings[1+i].flat, nil)
	}
	if g := (assembly{}); g.nest(rings, 1<<20) {
		t.Error("a million comparisons were enough")
	}
}

// A ring without area, such as an even bow-tie, has no direction. The rings around it decide
// whether it is a hole.
func TestNestingOfRingsWithoutArea(t *testing.T) {
	box := func(x0, y0, x1, y1 float64) orb.Ring { // clockwise
		return orb.Ring{{x0, y0}, {x0, y1}, {x1, y1}, {x1, y0}, {x0, y0}}
	}
	back := func(r orb.Ring) orb.Ring {
		r = slices.Clone(r)
		slices.Reverse(r)
		return r
	}
	bowTie := orb.Ring{{4, 4}, {6, 6}, {6, 4}, {4, 6}, {4, 4}}
	for name, tc := range map[string]struct {
		rings []orb.Ring
		want  []int // rings of each polygon
	}{
		"alone":                {[]orb.Ring{bowTie}, []int{1}},
		"in an outer ring":     {[]orb.Ring{box(0, 0, 10, 10), bowTie}, []int{2}},
		"an island in a hole":  {[]orb.Ring{box(0, 0, 10, 10), back(box(1, 1, 9, 9)), bowTie}, []int{2, 1}},
		"before its hole":      {[]orb.Ring{bowTie, back(box(1, 1, 9, 9)), box(0, 0, 10, 10)}, []int{1, 2}},
		"a hole in an island":  {[]orb.Ring{box(0, 0, 10, 10), back(box(1, 1, 9, 9)), box(2, 2, 8, 8), bowTie}, []int{2, 2}},
		"beside an outer ring": {[]orb.Ring{box(20, 0, 30, 10), bowTie}, []int{1, 1}},
	} {
		var rings []ring
		for _, r := range tc.rings {
			rings = append(rings, newRing(r, nil))
		}
		var g assembly
		if !g.nest(rings, maxTests) {
			t.Fatal(name)
		}
		var got []int
		for _, p := range g.polygons {
			got = append(got, len(p))
		}
		if !slices.Equal(got, tc.want) || g.repair != "" {
			t.Errorf("%s: %v, %q", name, g.polygons, g.repair)
		}
	}
}
