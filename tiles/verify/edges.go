package verify

import (
	"cmp"
	"slices"

	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/mvt"
)

// checkEdge is a directed edge of a polygon. Its region is on the right.
type checkEdge struct {
	a, b   grid.Point
	region int32
	ring   int32 // through all regions of the tile
	inside bool  // within the tile, without the buffer
}

func newCheckEdge(a, b grid.Point, region, ring int32) checkEdge {
	return checkEdge{a, b, region, ring, min(a.X, a.Y, b.X, b.Y) >= 0 && max(a.X, a.Y, b.X, b.Y) <= mvt.Extent}
}

// cross returns twice the area of the triangle a, b, p. It is positive if p
// lies on the right of a → b, in the axes of a tile.
func cross(a, b, p grid.Point) int64 {
	return int64(b.X-a.X)*int64(p.Y-a.Y) - int64(b.Y-a.Y)*int64(p.X-a.X)
}

// areaWithin returns the contribution of a directed edge to the area of its polygon within the
// tile, without the buffer: the area between the edge and the tile's western side. It is exact for
// the edges of a build, which have a vertex at each tile line. It is also exact for the upright
// edges of a buffer's frame. Other edges are cut at fractions.
func areaWithin(a, b grid.Point) float64 {
	ax, ay, bx, by := float64(a.X), float64(a.Y), float64(b.X), float64(b.Y)
	clamp := func(v float64) float64 { return min(max(v, 0), mvt.Extent) }
	if ay == by {
		return 0
	}
	// Only the part of the edge within the rows of the tile is used.
	xAt := func(y float64) float64 { return ax + (bx-ax)*(y-ay)/(by-ay) }
	y0, y1 := clamp(ay), clamp(by)
	if y0 == y1 {
		return 0
	}
	x0, x1 := ax, bx
	if y0 != ay {
		x0 = xAt(y0)
	}
	if y1 != by {
		x1 = xAt(y1)
	}
	// Add the trapezoids between the points where the edge enters or leaves the
	// columns.
	cuts := [4]float64{0, 1, 1, 1}
	n := 1
	for _, line := range [2]float64{0, mvt.Extent} {
		if (x0 < line) != (x1 < line) && x0 != line && x1 != line {
			cuts[n] = (line - x0) / (x1 - x0)
			n++
		}
	}
	if n == 3 && cuts[1] > cuts[2] {
		cuts[1], cuts[2] = cuts[2], cuts[1]
	}
	cuts[n] = 1
	sum := 0.0
	for i := range n {
		s, t := cuts[i], cuts[i+1]
		sum += (clamp(x0+(x1-x0)*s) + clamp(x0+(x1-x0)*t)) / 2 * (y1 - y0) * (t - s)
	}
	return sum
}

// packXY packs a point within the buffer into 26 bits, ordered by x.
func packXY(p grid.Point) uint64 { return uint64(p.X-checkMin)<<13 | uint64(p.Y-checkMin) }

// polygons checks that rings repeat no vertex. crossings and coverage check
// everything else about polygons.
func (p *checkPart) polygons(typ int, t quadkey.Tile) {
	c := &p.tile
	for i := 0; i < len(c.edges); {
		from := i
		c.packed = c.packed[:0]
		for ; i < len(c.edges) && c.edges[i].ring == c.edges[from].ring; i++ {
			c.packed = append(c.packed, packXY(c.edges[i].a))
		}
		slices.Sort(c.packed)
		for j := 1; j < len(c.packed); j++ {
			if c.packed[j] == c.packed[j-1] {
				e := &c.edges[from]
				p.find(typ, ProblemPolygon, t, e.region, "a ring passes a vertex twice")
				break
			}
		}
	}
}

// meeting is the way in which two edges meet.
type meeting uint8

const (
	meetNot   meeting = iota // the edges are apart, or share only ends
	meetTouch                // an end of one lies within the other
	meetCross
	meetAlong // they overlap along a stretch
	meetTwin  // they are equal or opposite
)

func meet(e, f *checkEdge) meeting {
	if e.a == f.b && e.b == f.a || e.a == f.a && e.b == f.b {
		return meetTwin
	}
	fa, fb := cross(e.a, e.b, f.a), cross(e.a, e.b, f.b)
	ea, eb := cross(f.a, f.b, e.a), cross(f.a, f.b, e.b)
	if fa == 0 && fb == 0 {
		// The edges are on one line, so they are compared along its longer axis.
		lo := func(a, b grid.Point) (int32, int32) {
			if d := e.b.X - e.a.X; d != 0 {
				return min(a.X, b.X), max(a.X, b.X)
			}
			return min(a.Y, b.Y), max(a.Y, b.Y)
		}
		e0, e1 := lo(e.a, e.b)
		f0, f1 := lo(f.a, f.b)
		if max(e0, f0) < min(e1, f1) {
			return meetAlong
		}
		return meetNot
	}
	opposite := func(p, q int64) bool { return p < 0 && q > 0 || p > 0 && q < 0 }
	switch {
	case opposite(fa, fb) && opposite(ea, eb):
		return meetCross
	case (fa == 0 || fb == 0) && opposite(ea, eb), (ea == 0 || eb == 0) && opposite(fa, fb):
		return meetTouch
	}
	return meetNot
}

// crossings sweeps over the edges from west to east and compares each pair that may touch. It
// compares edges of different regions only within the tile, because beyond it the frames of
// neighbours coincide.
func (p *checkPart) crossings(typ int, t quadkey.Tile) {
	c := &p.tile
	c.byStart(func(e *checkEdge) int32 { return min(e.a.X, e.b.X) })
	c.active = c.active[:0]
	for _, i := range c.order {
		e := &c.edges[i]
		west := min(e.a.X, e.b.X)
		top, bottom := min(e.a.Y, e.b.Y), max(e.a.Y, e.b.Y)
		keep := c.active[:0]
		for _, j := range c.active {
			f := &c.edges[j]
			if max(f.a.X, f.b.X) < west {
				continue
			}
			keep = append(keep, j)
			if min(f.a.Y, f.b.Y) > bottom || max(f.a.Y, f.b.Y) < top {
				continue
			}
			same := e.region == f.region
			if !same && !(e.inside && f.inside) {
				continue
			}
			switch m := meet(e, f); {
			case m == meetNot, m == meetTwin && !same:
			case same && m == meetTouch && e.ring != f.ring:
				// Rings of one polygon may touch each other.
			case same:
				p.find(typ, ProblemPolygon, t, e.region, "edges %v–%v and %v–%v %s", e.a, e.b, f.a, f.b, m)
			default:
				p.find(typ, ProblemCrossing, t, e.region, "edges %v–%v and, of %s, %v–%v %s",
					e.a, e.b, p.v.types[typ].ids[f.region], f.a, f.b, m)
			}
		}
		c.active = append(keep, i)
	}
}

func (m meeting) String() string {
	return [...]string{"are apart", "touch between ends", "cross", "lie along each other", "are one"}[m]
}

// byStart fills order with the edges, sorted by a coordinate.
func (c *tileCheck) byStart(start func(*checkEdge) int32) {
	c.order = c.order[:0]
	for i := range c.edges {
		c.order = append(c.order, int32(i))
	}
	slices.SortFunc(c.order, func(i, j int32) int {
		return cmp.Or(cmp.Compare(start(&c.edges[i]), start(&c.edges[j])), cmp.Compare(i, j))
	})
}

// coverage counts how many polygons cover the places on both sides of each edge. The edge's own
// region must cover the right side once and the left side never. All regions together must cover
// each side at most once. The check moves from the west to the middle of each edge that is not
// horizontal. Every face has such an edge.
func (p *checkPart) coverage(typ int, t quadkey.Tile) {
	c := &p.tile
	c.byStart(func(e *checkEdge) int32 { return min(e.a.Y, e.b.Y) })
	c.queries = c.queries[:0]
	for i := range c.edges {
		if c.edges[i].a.Y != c.edges[i].b.Y {
			c.queries = append(c.queries, int32(i))
		}
	}
	middle := func(i int32) int32 { return c.edges[i].a.Y + c.edges[i].b.Y } // doubled
	slices.SortFunc(c.queries, func(i, j int32) int { return cmp.Or(cmp.Compare(middle(i), middle(j)), cmp.Compare(i, j)) })
	c.active = c.active[:0]
	next := 0
	for _, q := range c.queries {
		y := middle(q)
		for ; next < len(c.order); next++ {
			if e := &c.edges[c.order[next]]; 2*min(e.a.Y, e.b.Y) > y {
				break
			}
			if e := &c.edges[c.order[next]]; e.a.Y != e.b.Y {
				c.active = append(c.active, c.order[next])
			}
		}
		e := &c.edges[q]
		var own, all [2]int // the count west of the edge, and the sum of the edges that coincide with it
		keep := c.active[:0]
		for _, j := range c.active {
			f := &c.edges[j]
			if 2*max(f.a.Y, f.b.Y) <= y {
				continue
			}
			keep = append(keep, j)
			side := besideMiddle(e, f)
			if side > 0 {
				continue
			}
			w := 1
			if f.b.Y > f.a.Y {
				w = -1 // the edge runs south, so its region is in the west
			}
			all[1+side] += w
			if f.region == e.region {
				own[1+side] += w
			}
		}
		c.active = keep
		left, right := own[0], own[0]+own[1]
		if e.b.Y > e.a.Y {
			left, right = right, left
		}
		if left != 0 || right != 1 {
			p.find(typ, ProblemPolygon, t, e.region, "winds %d times around the left side of edge %v–%v, %d times around the right",
				left, e.a, e.b, right)
		}
		if e.inside && max(all[0], all[0]+all[1]) > 1 {
			p.covered(typ, t, e)
		}
	}
}

// besideMiddle reports where edge f lies at the height of the middle of e: west
// of it (−1), east of it (1) or there (0). f must reach that height.
func besideMiddle(e, f *checkEdge) int {
	lo, hi := f.a, f.b
	if lo.Y > hi.Y {
		lo, hi = hi, lo
	}
	x, y := int64(e.a.X)+int64(e.b.X), int64(e.a.Y)+int64(e.b.Y)
	d := int64(hi.X-lo.X)*(y-2*int64(lo.Y)) - (x-2*int64(lo.X))*int64(hi.Y-lo.Y)
	return cmp.Compare(d, 0)
}

// covered reports a fault if several regions cover the side of an edge.
func (p *checkPart) covered(typ int, t quadkey.Tile, e *checkEdge) {
	c := &p.tile
	if c.covers == nil {
		c.covers = map[int32]int{}
	}
	for _, eastToo := range [2]bool{false, true} {
		clear(c.covers)
		for _, j := range c.active {
			f := &c.edges[j]
			if side := besideMiddle(e, f); side < 0 || side == 0 && eastToo {
				if f.b.Y > f.a.Y {
					c.covers[f.region]--
				} else {
					c.covers[f.region]++
				}
			}
		}
		var some []int32
		for r, w := range c.covers {
			if w > 0 {
				some = append(some, r)
			}
		}
		slices.Sort(some)
		for i, a := range some {
			for _, b := range some[i+1:] {
				p.overlap(typ, t, a, b, false)
			}
		}
	}
}
