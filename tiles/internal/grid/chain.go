package grid

import (
	"cmp"
	"slices"
)

// A region on the grid is a chain: a set of directed edges whose ends cancel,
// so that every point of the plane has a winding number. The interior is on the
// right of each edge, seen with y to the south: outer rings run clockwise on a
// screen. Chains make the hard parts of clipping simple. Two edges that run
// along each other in opposite directions cancel, so parts that share a border
// become one. The doubled edges that other clippers leave behind cannot exist.
// Cutting needs no knowledge of rings.
//
// The world is a cylinder. A chain is periodic: an edge represents itself and its copies that are
// shifted by whole worlds.

// Edge is a directed edge from A to B.
type Edge struct{ A, B Point }

// Reversed returns the edge in the other direction.
func (e Edge) Reversed() Edge { return Edge{e.B, e.A} }

// Upward reports whether the edge runs from its lesser to its greater end in
// (x, y) order. Computations that must give both neighbours of a border the
// same answer use that direction.
func (e Edge) Upward() bool {
	return e.A.X < e.B.X || e.A.X == e.B.X && e.A.Y < e.B.Y
}

// key encodes a point as one number, ordered by x, then y.
func (p Point) key() uint64 {
	return uint64(uint32(p.X)^1<<31)<<32 | uint64(uint32(p.Y)^1<<31)
}

// ComparePoints orders points by x, then by y.
func ComparePoints(p, q Point) int { return cmp.Compare(p.key(), q.key()) }

// CompareEdges orders edges by their start points, then by their end points.
func CompareEdges(e, f Edge) int {
	if e.A != f.A {
		return ComparePoints(e.A, f.A)
	}
	return ComparePoints(e.B, f.B)
}

// CancelEdges removes edges of no length and pairs of opposite edges, in place, and
// sorts the rest.
func CancelEdges(edges []Edge) []Edge {
	n := 0
	for _, e := range edges {
		if e.A != e.B {
			edges[n] = e
			n++
		}
	}
	edges = edges[:n]
	upward := func(e Edge) Edge {
		if e.Upward() {
			return e
		}
		return e.Reversed()
	}
	sortBy(edges, func(e *Edge) uint64 { return upward(*e).A.key() }, func(e, f Edge) int {
		return cmp.Or(CompareEdges(upward(e), upward(f)), CompareEdges(e, f))
	})
	n = 0
	for i := 0; i < len(edges); {
		key := edges[i]
		if !key.Upward() {
			key = key.Reversed()
		}
		sum := 0
		j := i
		for ; j < len(edges); j++ {
			switch edges[j] {
			case key:
				sum++
			case key.Reversed():
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
			edges[n] = key.Reversed()
			n++
		}
		i = j
	}
	return edges[:n]
}

// appendCrossings appends the crossings of an upward edge with the lines x, y =
// k·2^ts strictly inside it, in order along the edge. The coordinate along the
// line is rounded to a multiple of 2^gs. The lines lie on that grid too, so
// rounding never carries a crossing over another line.
func appendCrossings(dst []Point, u Edge, ts, gs uint) []Point {
	start := len(dst)
	dx, dy := int64(u.B.X)-int64(u.A.X), int64(u.B.Y)-int64(u.A.Y)
	if dx > 0 {
		for x := (u.A.X>>ts + 1) << ts; x < u.B.X; x += 1 << ts {
			y := int64(u.A.Y) + divRound(int64(x-u.A.X)*dy, dx, gs, int64(u.A.Y))
			dst = append(dst, Point{x, int32(y)})
		}
	}
	lo, hi := min(u.A.Y, u.B.Y), max(u.A.Y, u.B.Y)
	if lo < hi {
		for y := (lo>>ts + 1) << ts; y < hi; y += 1 << ts {
			x := int64(u.A.X) + divRound(int64(y-u.A.Y)*dx, dy, gs, int64(u.A.X))
			dst = append(dst, Point{int32(x), y})
		}
	}
	down := dy >= 0
	slices.SortFunc(dst[start:], func(p, q Point) int {
		if c := cmp.Compare(p.X, q.X); c != 0 {
			return c
		}
		if down {
			return cmp.Compare(p.Y, q.Y)
		}
		return cmp.Compare(q.Y, p.Y)
	})
	return dst
}

// divRound returns d such that base+d is the multiple of 2^gs nearest to base+num/den. Halves round
// towards +∞.
func divRound(num, den int64, gs uint, base int64) int64 {
	if den < 0 {
		num, den = -num, -den
	}
	// The result is floor((base + num/den) / 2^gs + 1/2) · 2^gs − base.
	step := den << gs
	v := base*den + num + step>>1
	q := v / step
	if v%step != 0 && v < 0 {
		q--
	}
	return q<<gs - base
}

// CarryWinding returns the winding number at the reference of `to`, given the
// winding number w at the reference of `from`. Both are north-west corners,
// with to ≥ from in both axes. edges must include every edge that meets the
// interior of the box between the two corners.
//
// The reference of a corner is the point infinitely near it at (x+ε, y+δ), with δ infinitely
// smaller than ε. It lies inside the box whose north-west corner it is. No edge between grid points
// passes through such a point, even if it passes through the corner itself. So winding numbers
// there are always defined.
func CarryWinding(edges []Edge, from, to Point, w int32) int32 {
	if from == to {
		return w
	}
	for _, e := range edges {
		// The path first goes east along y = from.y+δ. Crossing an edge that runs north means
		// entering.
		if (e.A.Y <= from.Y) != (e.B.Y <= from.Y) {
			if !xAtMost(e, from.Y, from.X) && xAtMost(e, from.Y, to.X) {
				if e.B.Y < e.A.Y {
					w++
				} else {
					w--
				}
			}
		}
		// Then the path goes south along x = to.x+ε. Crossing an edge that runs east means
		// entering.
		if (e.A.X <= to.X) != (e.B.X <= to.X) {
			if !yBelow(e, to.X, from.Y) && yBelow(e, to.X, to.Y) {
				if e.B.X > e.A.X {
					w++
				} else {
					w--
				}
			}
		}
	}
	return w
}

// WindingFromNorth returns the winding number at the reference of corner c. The chain must not
// reach infinitely far north.
func WindingFromNorth(edges []Edge, c Point) int32 {
	var w int32
	for _, e := range edges {
		if (e.A.X <= c.X) != (e.B.X <= c.X) && yBelow(e, c.X, c.Y) {
			if e.B.X > e.A.X {
				w++
			} else {
				w--
			}
		}
	}
	return w
}

// xAtMost reports whether edge e, which crosses the line y+δ, crosses it at or west of x+ε.
func xAtMost(e Edge, y, x int32) bool {
	if e.A.Y > e.B.Y {
		e = e.Reversed()
	}
	// e.a.x + (y−e.a.y)·dx/dy ≤ x
	return int64(y-e.A.Y)*int64(e.B.X-e.A.X) <= int64(x-e.A.X)*int64(e.B.Y-e.A.Y)
}

// yBelow reports whether edge e, which crosses the line x+ε, crosses it at a y less than y+δ: north
// of y, or at y and not descending to the south.
func yBelow(e Edge, x, y int32) bool {
	if e.A.X > e.B.X {
		e = e.Reversed()
	}
	dy := int64(e.B.Y - e.A.Y)
	lhs := int64(x-e.A.X) * dy
	rhs := int64(y-e.A.Y) * int64(e.B.X-e.A.X)
	return lhs < rhs || lhs == rhs && dy <= 0
}

// Beyond reports whether the edge lies wholly beyond one side of the box.
func (e Edge) Beyond(b Box) bool {
	return max(e.A.X, e.B.X) < b.X0 || min(e.A.X, e.B.X) > b.X1 ||
		max(e.A.Y, e.B.Y) < b.Y0 || min(e.A.Y, e.B.Y) > b.Y1
}

// EndsIn reports whether an end of the edge lies in the closed box.
func (e Edge) EndsIn(b Box) bool { return inBox(e.A, b) || inBox(e.B, b) }

// Meets reports whether the edge has a point in the closed box.
func Meets(e Edge, b Box) bool {
	if e.Beyond(b) {
		return false
	}
	if e.EndsIn(b) {
		return true
	}
	// The edge may meet the box if corners lie on both sides of its line.
	var neg, pos bool
	for _, c := range [4]Point{{b.X0, b.Y0}, {b.X1, b.Y0}, {b.X1, b.Y1}, {b.X0, b.Y1}} {
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

func inBox(p Point, b Box) bool {
	return p.X >= b.X0 && p.X <= b.X1 && p.Y >= b.Y0 && p.Y <= b.Y1
}

// side returns the sign of p's place: positive on the right of the edge (with y
// to the south), negative on the left, 0 on its line.
func side(e Edge, p Point) int64 {
	return int64(e.B.X-e.A.X)*int64(p.Y-e.A.Y) - int64(e.B.Y-e.A.Y)*int64(p.X-e.A.X)
}

// Area2 returns twice the area of a closed chain, positive for outer rings.
func Area2(edges []Edge) int64 {
	var s int64
	for _, e := range edges {
		s += int64(e.A.X)*int64(e.B.Y) - int64(e.B.X)*int64(e.A.Y)
	}
	return s
}

// sumVertical adds up edges along one vertical line. The edges may partly overlap; the results do
// not overlap.
func sumVertical(edges []Edge) []Edge {
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
		case e.A.Y < e.B.Y:
			events = append(events, event{e.A.Y, 1}, event{e.B.Y, -1})
		case e.A.Y > e.B.Y:
			events = append(events, event{e.B.Y, -1}, event{e.A.Y, 1})
		}
	}
	slices.SortFunc(events, func(p, q event) int { return cmp.Compare(p.y, q.y) })
	x := edges[0].A.X
	var out []Edge
	sum := 0
	for i, ev := range events {
		if i > 0 && events[i-1].y != ev.y {
			down := Edge{Point{x, events[i-1].y}, Point{x, ev.y}}
			for range sum {
				out = append(out, down)
			}
			for range -sum {
				out = append(out, down.Reversed())
			}
		}
		sum += ev.d
	}
	return out
}

// SumAxisEdges adds up vertical and horizontal edges, line by line. Where two tiles
// of a region meet, their edges cancel.
func SumAxisEdges(edges []Edge) []Edge {
	flip := func(e Edge) Edge { return Edge{Point{e.A.Y, e.A.X}, Point{e.B.Y, e.B.X}} }
	var lines [2][]Edge // vertical lines, and horizontal ones with x and y exchanged
	for _, e := range edges {
		if e.A.X == e.B.X {
			lines[0] = append(lines[0], e)
		} else {
			lines[1] = append(lines[1], flip(e))
		}
	}
	out := edges[:0]
	for i, line := range lines {
		slices.SortFunc(line, func(e, f Edge) int { return cmp.Compare(e.A.X, f.A.X) })
		for len(line) > 0 {
			n := 1
			for n < len(line) && line[n].A.X == line[0].A.X {
				n++
			}
			for _, e := range sumVertical(line[:n]) {
				if i == 1 {
					e = flip(e)
				}
				out = append(out, e)
			}
			line = line[n:]
		}
	}
	return out
}

// Coarsen rounds every vertex to the nearest multiple of 2^shift, halves up, in
// place, and cancels edges that collapse.
func Coarsen(edges []Edge, shift uint) []Edge {
	half := int32(1) << shift >> 1
	for i, e := range edges {
		edges[i] = Edge{
			Point{(e.A.X + half) >> shift << shift, (e.A.Y + half) >> shift << shift},
			Point{(e.B.X + half) >> shift << shift, (e.B.Y + half) >> shift << shift},
		}
	}
	return CancelEdges(edges)
}
