package grid

import (
	"math/bits"
	"slices"
)

// shared says that a place is on the right of both chains.
func (w Winding) shared() bool { return w.shells > 0 && w.holes > 0 }

// Share reports whether two closed chains enclose common ground, more than points and lines. Chains that
// meet at vertices only, as neighbours do, are compared exactly. Others are snap-rounded on a grid as fine as
// numbers allow, so ground that vanishes there is not seen: in a tile of zoom 13, what is narrower than a
// millimetre. No ground is seen that is not there.
func (o *Outliner) Share(a, b []Edge) (bool, error) {
	if len(a) == 0 || len(b) == 0 {
		return false, nil
	}
	p, q := boxOf(a), boxOf(b)
	if p.X0 >= q.X1 || q.X0 >= p.X1 || p.Y0 >= q.Y1 || q.Y0 >= p.Y1 {
		return false, nil
	}
	corner := Point{min(p.X0, q.X0), min(p.Y0, q.Y0)}
	size := max(p.X1, q.X1) - corner.X
	size = max(size, p.Y1-corner.Y, q.Y1-corner.Y)
	shift := max(0, worldBits-bits.Len32(uint32(size)))
	o.shell, o.holes = magnified(o.shell[:0], a, corner, shift), magnified(o.holes[:0], b, corner, shift)
	border, _, err := o.mend(o.shell, o.holes, Winding.shared)
	return len(border) > 0, err
}

func boxOf(edges []Edge) Box {
	b := boundsOf(edges[0])
	for _, e := range edges[1:] { // chains are closed, so every vertex begins an edge
		b = Box{min(b.X0, e.A.X), min(b.Y0, e.A.Y), max(b.X1, e.A.X), max(b.Y1, e.A.Y)}
	}
	return b
}

// magnified appends edges relative to an origin, 2^shift times as large.
func magnified(dst, edges []Edge, origin Point, shift int) []Edge {
	at := func(p Point) Point { return Point{(p.X - origin.X) << shift, (p.Y - origin.Y) << shift} }
	for _, e := range edges {
		dst = append(dst, Edge{at(e.A), at(e.B)})
	}
	return dst
}

// Enters reports whether an edge has a point strictly within the rings of polygons.
func Enters(chain []Edge, e Edge) bool {
	within := func(f Edge, p Point) bool { return side(f, p) == 0 && inBox(p, boundsOf(f)) }
	// The edge is cut where vertices of the chain lie on it, so that each piece is within, beside or on the
	// chain as a whole.
	cuts := []Point{e.A, e.B}
	for _, f := range chain {
		s, t, u, v := side(e, f.A), side(e, f.B), side(f, e.A), side(f, e.B)
		if (s > 0 && t < 0 || s < 0 && t > 0) && (u > 0 && v < 0 || u < 0 && v > 0) {
			return true
		}
		if within(e, f.A) {
			cuts = append(cuts, f.A)
		}
	}
	slices.SortFunc(cuts, ComparePoints)
	var twice []Edge
	for i, p := range cuts[1:] {
		q := cuts[i]
		if p == q {
			continue
		}
		if twice == nil { // so that the middles of pieces are whole numbers
			twice = magnified(nil, chain, Point{}, 1)
		}
		middle := Point{p.X + q.X, p.Y + q.Y}
		on := slices.ContainsFunc(twice, func(f Edge) bool { return within(f, middle) })
		if !on && WindingFromNorth(twice, middle) > 0 {
			return true
		}
	}
	return false
}
