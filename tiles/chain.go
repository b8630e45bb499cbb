package tiles

import (
	"cmp"
	"math"
	"slices"
)

// A region on the grid is a chain: a set of directed edges whose ends cancel,
// so that every point of the plane has a winding number. The interior is on
// the right of each edge, seen with y to the south: outer rings run clockwise
// on a screen. Chains make the hard parts of clipping simple: two edges that
// run along each other in opposite directions are nothing, so parts that share
// a border melt into one, the doubled edges other clippers leave behind cannot
// exist, and cutting needs no knowledge of rings.
//
// The world is a cylinder. A chain is periodic: an edge stands for itself and
// for its copies shifted by whole worlds.

// edge is a directed edge from a to b.
type edge struct{ a, b point }

func (e edge) reversed() edge { return edge{e.b, e.a} }

// upward reports whether the edge runs from its lesser to its greater end in
// (x, y) order. Computations that must give neighbours the same answer for a
// shared border are made on that direction.
func (e edge) upward() bool {
	return e.a.x < e.b.x || e.a.x == e.b.x && e.a.y < e.b.y
}

// key orders points by x, then y, as one number.
func (p point) key() uint64 {
	return uint64(uint32(p.x)^1<<31)<<32 | uint64(uint32(p.y)^1<<31)
}

func comparePoints(p, q point) int { return cmp.Compare(p.key(), q.key()) }

func compareEdges(e, f edge) int {
	if e.a != f.a {
		return comparePoints(e.a, f.a)
	}
	return comparePoints(e.b, f.b)
}

// cancel removes edges of no length and pairs of opposite edges, in place, and
// sorts what remains.
func cancel(edges []edge) []edge {
	n := 0
	for _, e := range edges {
		if e.a != e.b {
			edges[n] = e
			n++
		}
	}
	edges = edges[:n]
	slices.SortFunc(edges, func(e, f edge) int {
		eu, fu := e, f
		if !e.upward() {
			eu = e.reversed()
		}
		if !f.upward() {
			fu = f.reversed()
		}
		if c := compareEdges(eu, fu); c != 0 {
			return c
		}
		return compareEdges(e, f)
	})
	n = 0
	for i := 0; i < len(edges); {
		key := edges[i]
		if !key.upward() {
			key = key.reversed()
		}
		sum := 0
		j := i
		for ; j < len(edges); j++ {
			switch edges[j] {
			case key:
				sum++
			case key.reversed():
				sum--
			default:
				goto done
			}
		}
	done:
		for ; sum > 0; sum-- {
			edges[n] = key
			n++
		}
		for ; sum < 0; sum++ {
			edges[n] = key.reversed()
			n++
		}
		i = j
	}
	return edges[:n]
}

// normalize shifts every edge by whole worlds so that its western end lies in
// [0, worldSize), and melts the seam: edges along the antimeridian, where
// sources cut their polygons, cancel against those of the other side.
func normalize(edges []edge) []edge {
	var seam []edge
	n := 0
	for _, e := range edges {
		west := min(e.a.x, e.b.x)
		if shift := west &^ (worldSize - 1); shift != 0 {
			e.a.x -= shift
			e.b.x -= shift
		}
		if e.a.x == 0 && e.b.x == 0 {
			seam = append(seam, e)
			continue
		}
		edges[n] = e
		n++
	}
	return append(edges[:n], sumVertical(seam)...)
}

// sumVertical adds up edges along one vertical line, which may overlap in
// part, into edges that do not.
func sumVertical(edges []edge) []edge {
	if len(edges) == 0 {
		return nil
	}
	type event struct {
		y int32
		d int
	}
	var events []event
	for _, e := range edges {
		switch {
		case e.a.y < e.b.y:
			events = append(events, event{e.a.y, 1}, event{e.b.y, -1})
		case e.a.y > e.b.y:
			events = append(events, event{e.b.y, -1}, event{e.a.y, 1})
		}
	}
	slices.SortFunc(events, func(p, q event) int { return cmp.Compare(p.y, q.y) })
	x := edges[0].a.x
	var out []edge
	sum := 0
	for i, ev := range events {
		if i > 0 && events[i-1].y != ev.y {
			down := edge{point{x, events[i-1].y}, point{x, ev.y}}
			for range sum {
				out = append(out, down)
			}
			for range -sum {
				out = append(out, down.reversed())
			}
		}
		sum += ev.d
	}
	return out
}

// appendCrossings appends the crossings of an upward edge with the lines
// x, y = k·2^ts strictly inside it, in order along the edge. The coordinate
// along the line is rounded to a multiple of 2^gs. As the lines lie on that
// grid themselves, rounding never carries a crossing over another line.
func appendCrossings(dst []point, u edge, ts, gs uint) []point {
	start := len(dst)
	dx, dy := int64(u.b.x)-int64(u.a.x), int64(u.b.y)-int64(u.a.y)
	if dx > 0 {
		for x := (u.a.x>>ts + 1) << ts; x < u.b.x; x += 1 << ts {
			y := int64(u.a.y) + divRound(int64(x-u.a.x)*dy, dx, gs, int64(u.a.y))
			dst = append(dst, point{x, int32(y)})
		}
	}
	lo, hi := min(u.a.y, u.b.y), max(u.a.y, u.b.y)
	if lo < hi {
		for y := (lo>>ts + 1) << ts; y < hi; y += 1 << ts {
			x := int64(u.a.x) + divRound(int64(y-u.a.y)*dx, dy, gs, int64(u.a.x))
			dst = append(dst, point{int32(x), y})
		}
	}
	down := dy >= 0
	slices.SortFunc(dst[start:], func(p, q point) int {
		if c := cmp.Compare(p.x, q.x); c != 0 {
			return c
		}
		if down {
			return cmp.Compare(p.y, q.y)
		}
		return cmp.Compare(q.y, p.y)
	})
	return dst
}

// divRound returns d such that base+d is the multiple of 2^gs nearest to
// base+num/den, halves towards +∞.
func divRound(num, den int64, gs uint, base int64) int64 {
	if den < 0 {
		num, den = -num, -den
	}
	// floor((base + num/den) / 2^gs + 1/2) · 2^gs − base
	step := den << gs
	v := base*den + num + step>>1
	q := v / step
	if v%step != 0 && v < 0 {
		q--
	}
	return q<<gs - base
}

// carry returns the winding number at the reference of `to`, given the winding
// number w at the reference of `from`, both north-west corners with to ≥ from
// in both axes. edges must hold every edge that meets the interior of the box
// the two corners span.
//
// The reference of a corner is the point infinitely near it at (x+ε, y+δ), with
// δ infinitely smaller than ε: inside the box whose north-west corner it is. No
// edge between grid points passes through such a point, whatever it does in the
// corner itself, so winding numbers there are never in doubt.
func carry(edges []edge, from, to point, w int32) int32 {
	if from == to {
		return w
	}
	for _, e := range edges {
		// East along y = from.y+δ. Crossing an edge that runs north leads in.
		if (e.a.y <= from.y) != (e.b.y <= from.y) {
			if !xAtMost(e, from.y, from.x) && xAtMost(e, from.y, to.x) {
				if e.b.y < e.a.y {
					w++
				} else {
					w--
				}
			}
		}
		// South along x = to.x+ε. Crossing an edge that runs east leads in.
		if (e.a.x <= to.x) != (e.b.x <= to.x) {
			if !yBelow(e, to.x, from.y) && yBelow(e, to.x, to.y) {
				if e.b.x > e.a.x {
					w++
				} else {
					w--
				}
			}
		}
	}
	return w
}

// windingFromNorth returns the winding number at the reference of corner c of
// a chain that does not reach infinitely far north.
func windingFromNorth(edges []edge, c point) int32 {
	var w int32
	for _, e := range edges {
		if (e.a.x <= c.x) != (e.b.x <= c.x) && yBelow(e, c.x, c.y) {
			if e.b.x > e.a.x {
				w++
			} else {
				w--
			}
		}
	}
	return w
}

// xAtMost reports whether edge e, which crosses y+δ, does so at or west of
// x+ε.
func xAtMost(e edge, y, x int32) bool {
	if e.a.y > e.b.y {
		e = e.reversed()
	}
	// e.a.x + (y−e.a.y)·dx/dy ≤ x
	return int64(y-e.a.y)*int64(e.b.x-e.a.x) <= int64(x-e.a.x)*int64(e.b.y-e.a.y)
}

// yBelow reports whether edge e, which crosses x+ε, does so at a y less than
// y+δ: north of it, or on it and not descending to the south.
func yBelow(e edge, x, y int32) bool {
	if e.a.x > e.b.x {
		e = e.reversed()
	}
	dy := int64(e.b.y - e.a.y)
	lhs := int64(x-e.a.x) * dy
	rhs := int64(y-e.a.y) * int64(e.b.x-e.a.x)
	return lhs < rhs || lhs == rhs && dy <= 0
}

// meets reports whether the edge has a point in the closed box.
func meets(e edge, b box) bool {
	if max(e.a.x, e.b.x) < b.x0 || min(e.a.x, e.b.x) > b.x1 ||
		max(e.a.y, e.b.y) < b.y0 || min(e.a.y, e.b.y) > b.y1 {
		return false
	}
	if inBox(e.a, b) || inBox(e.b, b) {
		return true
	}
	// The corners on both sides of the edge's line?
	var neg, pos bool
	for _, c := range [4]point{{b.x0, b.y0}, {b.x1, b.y0}, {b.x1, b.y1}, {b.x0, b.y1}} {
		switch s := side(e, c); {
		case s < 0:
			neg = true
		case s > 0:
			pos = true
		default:
			return true
		}
	}
	return neg && pos
}

func inBox(p point, b box) bool {
	return p.x >= b.x0 && p.x <= b.x1 && p.y >= b.y0 && p.y <= b.y1
}

// side is the sign of where p lies: positive on the right of the edge (with y
// to the south), negative on the left, 0 on its line.
func side(e edge, p point) int64 {
	return int64(e.b.x-e.a.x)*int64(p.y-e.a.y) - int64(e.b.y-e.a.y)*int64(p.x-e.a.x)
}

// area2 is twice the area a closed chain encloses, positive for outer rings.
func area2(edges []edge) int64 {
	var s int64
	for _, e := range edges {
		s += int64(e.a.x)*int64(e.b.y) - int64(e.b.x)*int64(e.a.y)
	}
	return s
}

func roundUnit(v float64) int32 { return int32(math.Floor(v + 0.5)) }
