package tilestest

import (
	"math"
	"slices"

	"github.com/paulmach/orb"
)

// A Figure is polygons in the form of a source: each a shell and its holes, with whole coordinates.
type Figure [][][][2]int

// winds counts how often a ring goes around a point that lies on none of its edges. It counts the
// quadrants that the ring passes, a method that the code under test does not use.
func winds(ring [][2]int, x, y float64) int {
	quadrant := func(p [2]int) int {
		dx, dy := float64(p[0])-x, float64(p[1])-y
		switch {
		case dx >= 0 && dy >= 0:
			return 0
		case dx < 0 && dy >= 0:
			return 1
		case dx < 0:
			return 2
		}
		return 3
	}
	quarters := 0
	for i, p := range ring {
		q := ring[(i+1)%len(ring)]
		switch step := (quadrant(q) - quadrant(p) + 4) % 4; step {
		case 1:
			quarters++
		case 3:
			quarters--
		case 2:
			if (float64(p[0])-x)*(float64(q[1])-y)-(float64(q[0])-x)*(float64(p[1])-y) > 0 {
				quarters += 2
			} else {
				quarters -= 2
			}
		}
	}
	return quarters / 4
}

// Holds reports whether a point is inside the figure by the rule for sources: a shell winds around
// it, and no hole of the same polygon does.
func (f Figure) Holds(x, y float64) bool {
	return slices.ContainsFunc(f, func(p [][][2]int) bool {
		return len(p) > 0 && winds(p[0], x, y) != 0 &&
			!slices.ContainsFunc(p[1:], func(hole [][2]int) bool { return winds(hole, x, y) != 0 })
	})
}

// DistanceToBoundary returns the distance of a point from the edges.
func (f Figure) DistanceToBoundary(x, y float64) float64 {
	least := math.Inf(1)
	for _, p := range f {
		for _, r := range p {
			for i, a := range r {
				b := r[(i+1)%len(r)]
				ax, ay := float64(a[0])-x, float64(a[1])-y
				dx, dy := float64(b[0]-a[0]), float64(b[1]-a[1])
				t := 0.0
				if l := dx*dx + dy*dy; l > 0 {
					t = max(0, min(1, -(ax*dx+ay*dy)/l))
				}
				least = min(least, math.Hypot(ax+t*dx, ay+t*dy))
			}
		}
	}
	return least
}

// Polygons returns the polygons of the figure at an origin, with a scale.
func (f Figure) Polygons(x0, y0, scale float64) (mp orb.MultiPolygon) {
	for _, p := range f {
		var poly orb.Polygon
		for _, r := range p {
			var ring orb.Ring
			for _, q := range r {
				ring = append(ring, orb.Point{x0 + scale*float64(q[0]), y0 + scale*float64(q[1])})
			}
			poly = append(poly, append(ring, ring[0]))
		}
		mp = append(mp, poly)
	}
	return mp
}

// Box returns the ring of a box.
func Box(x0, y0, x1, y1 int) [][2]int {
	return [][2]int{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}}
}
