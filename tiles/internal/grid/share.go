package grid

import (
	"errors"
	"slices"
)

// shared reports whether the place is inside both chains, which have their inside on the right.
func (w Winding) shared() bool { return w.shells > 0 && w.holes > 0 }

// Overlap reports whether polygons have common ground, more than points and lines. a and b are the
// edges of their rings. The result is exact.
func (o *Outliner) Overlap(a, b []Edge) (bool, error) {
	if len(a) == 0 || len(b) == 0 {
		return false, nil
	}
	if BoxOf(a).Disjoint(BoxOf(b)) {
		return false, nil
	}
	border, _, err := o.resolve(a, b, Winding.shared)
	if errors.Is(err, errCrossing) {
		if slices.ContainsFunc(a, func(e Edge) bool { return slices.ContainsFunc(b, func(f Edge) bool { return crosses(e, f) }) }) {
			return true, nil
		}
		// Where no edges cross, they meet at vertices of one of them.
		o.shell, o.holes = splitAt(o.shell[:0], a, b), splitAt(o.holes[:0], b, a)
		border, _, err = o.mend(o.shell, o.holes, Winding.shared)
	}
	return len(border) > 0, err
}

// Shared returns the border of the ground that polygons have in common, valid until the next call. a
// and b are the edges of their rings.
func (o *Outliner) Shared(a, b []Edge) ([]Edge, error) {
	border, _, err := o.mend(a, b, Winding.shared)
	return border, err
}

// Minus returns the border of the ground of polygons without that of others, as Shared does.
func (o *Outliner) Minus(a, b []Edge) ([]Edge, error) {
	border, _, err := o.mend(a, b, Winding.Covered)
	return border, err
}

// Disjoint reports whether the interiors of two boxes have nothing in common.
func (b Box) Disjoint(c Box) bool {
	return b.X0 >= c.X1 || c.X0 >= b.X1 || b.Y0 >= c.Y1 || c.Y0 >= b.Y1
}

// crosses reports whether two edges cross between their ends.
func crosses(e, f Edge) bool {
	p, q := boundsOf(e), boundsOf(f) // most are far from each other
	if p.X0 > q.X1 || q.X0 > p.X1 || p.Y0 > q.Y1 || q.Y0 > p.Y1 {
		return false
	}
	apart := func(s, t int64) bool { return s > 0 && t < 0 || s < 0 && t > 0 }
	return apart(side(e, f.A), side(e, f.B)) && apart(side(f, e.A), side(f, e.B))
}

// has reports whether a point lies on an edge.
func (e Edge) has(p Point) bool { return inBox(p, boundsOf(e)) && side(e, p) == 0 }

// splitAt appends edges, split where vertices of others lie on them.
func splitAt(dst, edges, others []Edge) []Edge {
	cuts := make([]Point, 0, 8)
	for _, e := range edges {
		cuts = append(cuts[:0], e.A, e.B)
		for _, f := range others {
			if e.has(f.A) {
				cuts = append(cuts, f.A)
			}
		}
		slices.SortFunc(cuts, ComparePoints)
		for i, p := range cuts[1:] {
			switch q := cuts[i]; {
			case p == q:
			case e.Upward():
				dst = append(dst, Edge{q, p})
			default:
				dst = append(dst, Edge{p, q})
			}
		}
	}
	return dst
}

// BoxOf returns the box around closed chains with at least one edge.
func BoxOf(edges []Edge) Box {
	b := boundsOf(edges[0])
	for _, e := range edges[1:] { // chains are closed, so every vertex begins an edge
		b = Box{min(b.X0, e.A.X), min(b.Y0, e.A.Y), max(b.X1, e.A.X), max(b.Y1, e.A.Y)}
	}
	return b
}

// EntersInterior reports whether lines have a point strictly within polygons. rings are the edges
// of the polygons.
func (o *Outliner) EntersInterior(lines, rings []Edge) bool {
	if len(rings) == 0 {
		return false
	}
	box, drawn := BoxOf(rings), false
	for _, e := range lines {
		if b := boundsOf(e); b.X0 > box.X1 || b.X1 < box.X0 || b.Y0 > box.Y1 || b.Y1 < box.Y0 {
			continue
		}
		if slices.ContainsFunc(rings, func(f Edge) bool { return crosses(e, f) }) {
			return true
		}
		if !drawn { // twice as large, so that middles are whole numbers
			o.ring, drawn = o.ring[:0], true
			for _, f := range rings {
				o.ring = append(o.ring, Edge{Point{2 * f.A.X, 2 * f.A.Y}, Point{2 * f.B.X, 2 * f.B.Y}})
			}
		}
		// Each piece between vertices lies as a whole inside, outside or on the rings.
		o.shell = splitAt(o.shell[:0], []Edge{e}, rings)
		for _, piece := range o.shell {
			middle := Point{piece.A.X + piece.B.X, piece.A.Y + piece.B.Y}
			on := slices.ContainsFunc(o.ring, func(f Edge) bool { return f.has(middle) })
			if !on && WindingFromNorth(o.ring, middle) > 0 {
				return true
			}
		}
	}
	return false
}
