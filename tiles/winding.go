package tiles

import (
	"slices"
)

// The sweep here finds the winding numbers on either side of every line and keeps
// the lines between the inside and the outside. Shells and holes are counted
// apart.

// drawn is a line of a border, with how often shells and holes run along it from
// a to b, less the times they run the other way.
type drawn struct {
	a, b          point
	shells, holes int32
}

// winding is what lies on one side of a line.
type winding struct{ shells, holes int32 }

// touched is whether anything winds around a place.
func (w winding) touched() bool { return w != winding{} }

// covered is whether a place is in a shell and in no hole, when each winds with
// the inside on the right.
func (w winding) covered() bool { return w.shells > 0 && w.holes == 0 }

// plain reports whether the winding numbers are those of valid polygons.
func (w winding) plain() bool {
	return w.holes >= 0 && w.holes <= w.shells && w.shells <= 1
}

// errCrossing says that lines meet elsewhere than at vertices. Nobody sees it
// where lines have been snap-rounded.
var errCrossing = badGeometry("borders cross between their vertices: report this with the source")

// resolve returns the edges between the inside and the outside, with the inside
// on the right, and whether the lines are other than those of valid polygons. The
// lines, of which no two may have the same ends, are sorted here. The error is
// errCrossing.
func resolve(lines []drawn, inside func(winding) bool, dst []edge) (border []edge, repaired bool, err error) {
	slices.SortFunc(lines, func(l, m drawn) int { return compareEdges(edge{l.a, l.b}, edge{m.a, m.b}) })
	ends := make([]point, 0, len(lines))
	for _, l := range lines {
		ends = append(ends, l.b)
	}
	slices.SortFunc(ends, comparePoints)
	s := sweep{inside: inside}
	for i, j := 0, 0; i < len(lines) || j < len(ends); {
		var v point
		switch {
		case j == len(ends), i < len(lines) && comparePoints(lines[i].a, ends[j]) < 0:
			v = lines[i].a
		default:
			v = ends[j]
		}
		for j < len(ends) && ends[j] == v {
			j++
		}
		from := i
		for i < len(lines) && lines[i].a == v {
			i++
		}
		if dst = s.vertex(v, lines[from:i], dst); s.crossed {
			return dst, false, errCrossing
		}
	}
	return dst, s.repaired, nil
}

// sweep is the state of a sweep from west to east and, where x is the same,
// from north to south: the lines that pass it, from north to south. Lines that
// come to lie next to each other are compared, so that the first place where two
// meet that should not is noticed when the sweep is there.
type sweep struct {
	inside   func(winding) bool
	active   []passing
	fresh    []passing // to be put in
	repaired bool
	crossed  bool
}

type passing struct {
	e     edge
	south winding // just south of the line
}

// vertex takes the lines that end at v out and those that start there in.
func (s *sweep) vertex(v point, starting []drawn, dst []edge) []edge {
	at, _ := slices.BinarySearchFunc(s.active, v, func(p passing, v point) int {
		if side(p.e, v) > 0 {
			return -1
		}
		return 1
	})
	end := at
	for end < len(s.active) && s.active[end].e.b == v {
		end++
	}
	s.crossed = end < len(s.active) && side(s.active[end].e, v) == 0 // passes through v
	var w winding
	if at > 0 {
		w = s.active[at-1].south
	}
	slices.SortFunc(starting, func(l, m drawn) int {
		c := crossDir(dir(edge{l.a, l.b}), dir(edge{m.a, m.b}))
		switch {
		case c > 0:
			return -1
		case c < 0:
			return 1
		}
		return 0
	})
	// Most often one line follows another.
	for len(starting) < end-at {
		s.active = slices.Delete(s.active, end-1, end)
		end--
	}
	fit := end - at
	s.fresh = s.fresh[:0]
	for k, l := range starting {
		north := w
		w.shells += l.shells
		w.holes += l.holes
		e := edge{l.a, l.b}
		p := passing{e, w}
		if k < fit {
			s.active[at+k] = p
		} else {
			s.fresh = append(s.fresh, p)
		}
		s.repaired = s.repaired || !w.plain()
		switch {
		case s.inside(w) == s.inside(north):
			// Both sides alike: a border of nothing.
		case s.inside(w):
			dst = append(dst, e)
		default:
			dst = append(dst, e.reversed())
		}
	}
	s.active = slices.Insert(s.active, at+min(fit, len(starting)), s.fresh...)
	s.compare(at)
	for k := range starting {
		s.compare(at + k + 1)
	}
	return dst
}

// compare notices when an active line meets the one north of it.
func (s *sweep) compare(i int) {
	if i > 0 && i < len(s.active) {
		s.crossed = s.crossed || collide(s.active[i-1].e, s.active[i].e)
	}
}

// collide reports whether two upward edges have any point in common but an end of
// both.
func collide(e, f edge) bool {
	if f.a.x > e.b.x || e.a.x > f.b.x {
		return false
	}
	within := func(e edge, p point) bool { return comparePoints(e.a, p) < 0 && comparePoints(p, e.b) < 0 }
	s1, s2, t1, t2 := side(e, f.a), side(e, f.b), side(f, e.a), side(f, e.b)
	if s1 == 0 && s2 == 0 {
		return within(e, f.a) || within(e, f.b) || within(f, e.a) || within(f, e.b) || e == f
	}
	return s1 == 0 && within(e, f.a) || s2 == 0 && within(e, f.b) ||
		t1 == 0 && within(f, e.a) || t2 == 0 && within(f, e.b) ||
		s1 != 0 && s2 != 0 && t1 != 0 && t2 != 0 && (s1 > 0) != (s2 > 0) && (t1 > 0) != (t2 > 0)
}
