package grid

import (
	"cmp"
	"math"
	"slices"
)

// A cut edge ends at a rounded point. It therefore deviates from the original edge by up to half a
// step, and may pass vertices of its region on the wrong side or run through them. It is bent
// around such vertices, as a taut string would be. The same edge of a neighbour is not bent, so the
// two may differ by that half step.

// cut is an edge that Clip has shortened: the original edge, and the index of the remaining piece
// in Clipper.inside.
type cut struct {
	whole Edge
	at    int
	side  int // of the box, where it was cut
}

// bend leads the cut edges around those vertices inside the box onto which, or past which, rounding
// has moved the edges. It keeps the chain closed, and its ends on the perimeter.
func (c *Clipper) bend() {
	// Few vertices are as near to a side of the box as the pieces cut at that side.
	var strips [4]Box
	for i := range strips {
		strips[i] = Box{math.MaxInt32, math.MaxInt32, math.MinInt32, math.MinInt32}
	}
	for _, k := range c.cuts {
		s, b := &strips[k.side], boundsOf(c.inside[k.at])
		*s = Box{min(s.X0, b.X0), min(s.Y0, b.Y0), max(s.X1, b.X1), max(s.Y1, b.Y1)}
	}
	c.corners = c.corners[:0]
	for _, e := range c.inside {
		if inBox(e.A, strips[0]) || inBox(e.A, strips[1]) || inBox(e.A, strips[2]) || inBox(e.A, strips[3]) {
			c.corners = append(c.corners, e.A)
		}
	}
	slices.SortFunc(c.corners, func(p, q Point) int { return cmp.Compare(p.X, q.X) })
	bent := false
	for _, k := range c.cuts {
		part := c.inside[k.at]
		via := c.between(k.whole, part)
		for _, p := range via {
			c.inside = append(c.inside, Edge{part.A, p})
			part.A = p
		}
		c.inside[k.at] = part
		bent = bent || len(via) > 0
	}
	if bent {
		// The bent edge may run back along edges that end at the same vertices.
		c.inside = CancelEdges(c.inside)
	}
}

// between returns the vertices around which the edge part must be bent, in order. part is a rounded
// piece of the edge whole. The vertices are the hull, on the side of whole, of all vertices between
// part and whole.
func (c *Clipper) between(whole, part Edge) (via []Point) {
	box := boundsOf(part)
	from, _ := slices.BinarySearchFunc(c.corners, box.X0, func(p Point, x int32) int { return cmp.Compare(p.X, x) })
	for _, p := range c.corners[from:] {
		if p.X > box.X1 {
			break
		}
		if p == part.A || p == part.B || !inBox(p, box) {
			continue
		}
		if s := side(part, p); s == 0 || (s > 0) != (side(whole, p) > 0) && side(whole, p) != 0 {
			via = append(via, p)
		}
	}
	if len(via) < 2 {
		return via
	}
	along := func(p Point) int64 {
		return int64(p.X-part.A.X)*int64(part.B.X-part.A.X) + int64(p.Y-part.A.Y)*int64(part.B.Y-part.A.Y)
	}
	slices.SortFunc(via, func(p, q Point) int { return cmp.Or(cmp.Compare(along(p), along(q)), ComparePoints(p, q)) })
	via = slices.Compact(via)
	// A dropped vertex may lie on the wrong side of the new piece, because of vertices on the other
	// side of whole. It is then kept for good.
	kept := make([]bool, len(via))
	for {
		path := hull(whole, part, via, kept)
		wrong := false
		for i, p := range via {
			if !kept[i] && !slices.Contains(path, p) {
				k, _ := slices.BinarySearchFunc(path, along(p), func(q Point, d int64) int { return cmp.Compare(along(q), d) })
				from, to := part.A, part.B
				if k > 0 {
					from = path[k-1]
				}
				if k < len(path) {
					to = path[k]
				}
				kept[i] = !passes(whole, from, to, p)
				wrong = wrong || kept[i]
			}
		}
		if !wrong {
			return path
		}
	}
}

// hull pulls a string that is fixed at the ends of part from whole towards part. It returns the
// vertices of via that the string touches, in order along part, and all kept ones.
func hull(whole, part Edge, via []Point, kept []bool) []Point {
	path, held := []Point{part.A}, []bool{true}
	for i := range len(via) + 1 {
		p, hold := part.B, true
		if i < len(via) {
			p, hold = via[i], kept[i]
		}
		for n := len(path); n > 1 && !held[n-1] && passes(whole, path[n-2], p, path[n-1]); n-- {
			path, held = path[:n-1], held[:n-1]
		}
		path, held = append(path, p), append(held, hold)
	}
	return path[1 : len(path)-1]
}

// passes reports whether the edges from–to and whole have the point p on the same side. p is a
// vertex near whole.
func passes(whole Edge, from, to, p Point) bool {
	turn := side(Edge{from, to}, p)
	return turn != 0 && (turn > 0) == (side(whole, p) > 0)
}

// boundsOf returns the least box with an edge, its sides included.
func boundsOf(e Edge) Box {
	return Box{min(e.A.X, e.B.X), min(e.A.Y, e.B.Y), max(e.A.X, e.B.X), max(e.A.Y, e.B.Y)}
}
