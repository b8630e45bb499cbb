package grid

import (
	"errors"
	"slices"
)

// The sweep finds the winding numbers on either side of every line and keeps
// the lines between inside and outside. It counts shells and holes separately.

// CountedLine is a line of a border with the number of times that shells and
// holes run along it from A to B, less the times they run the other way.
type CountedLine struct {
	A, B          Point
	Shells, holes int32
}

// Winding is the pair of winding numbers on one side of a line.
type Winding struct{ shells, holes int32 }

// touched reports whether anything winds around the place.
func (w Winding) touched() bool { return w != Winding{} }

// Covered reports whether the place is in a shell and in no hole, if each winds
// with the inside on the right.
func (w Winding) Covered() bool { return w.shells > 0 && w.holes == 0 }

// plain reports whether the winding numbers are those of valid polygons.
func (w Winding) plain() bool {
	return w.holes >= 0 && w.holes <= w.shells && w.shells <= 1
}

// errCrossing says that lines meet away from vertices. Snap-rounded lines never
// cause it.
var errCrossing = errors.New("borders cross between their vertices: report this with the source")

// Resolve returns the edges between the inside and the outside, with the inside
// on the right. repaired reports whether the lines were not those of valid
// polygons. Resolve sorts the lines. No two of them may have the same ends. The
// error is errCrossing.
func Resolve(lines []CountedLine, inside func(Winding) bool, dst []Edge) (border []Edge, repaired bool, err error) {
	slices.SortFunc(lines, func(l, m CountedLine) int { return CompareEdges(Edge{l.A, l.B}, Edge{m.A, m.B}) })
	ends := make([]Point, 0, len(lines))
	for _, l := range lines {
		ends = append(ends, l.B)
	}
	slices.SortFunc(ends, ComparePoints)
	s := sweep{inside: inside}
	for i, j := 0, 0; i < len(lines) || j < len(ends); {
		var v Point
		switch {
		case j == len(ends), i < len(lines) && ComparePoints(lines[i].A, ends[j]) < 0:
			v = lines[i].A
		default:
			v = ends[j]
		}
		for j < len(ends) && ends[j] == v {
			j++
		}
		from := i
		for i < len(lines) && lines[i].A == v {
			i++
		}
		if dst = s.vertex(v, lines[from:i], dst); s.crossed {
			return dst, false, errCrossing
		}
	}
	return dst, s.repaired, nil
}

// sweep is the state of a sweep from west to east and, at one x, from north to
// south. It holds the lines that cross the sweep line, from north to south.
// Lines that become neighbours are compared, so the sweep notices the first
// wrong meeting when it gets there.
type sweep struct {
	inside   func(Winding) bool
	active   []passing
	fresh    []passing // to be put in
	repaired bool
	crossed  bool
}

type passing struct {
	e     Edge
	south Winding // just south of the line
}

// vertex removes the lines that end at v and inserts those that start there.
func (s *sweep) vertex(v Point, starting []CountedLine, dst []Edge) []Edge {
	at, _ := slices.BinarySearchFunc(s.active, v, func(p passing, v Point) int {
		if side(p.e, v) > 0 {
			return -1
		}
		return 1
	})
	end := at
	for end < len(s.active) && s.active[end].e.B == v {
		end++
	}
	s.crossed = end < len(s.active) && side(s.active[end].e, v) == 0 // passes through v
	var w Winding
	if at > 0 {
		w = s.active[at-1].south
	}
	slices.SortFunc(starting, func(l, m CountedLine) int {
		c := crossDir(dir(Edge{l.A, l.B}), dir(Edge{m.A, m.B}))
		switch {
		case c > 0:
			return -1
		case c < 0:
			return 1
		}
		return 0
	})
	// Usually one line follows another.
	for len(starting) < end-at {
		s.active = slices.Delete(s.active, end-1, end)
		end--
	}
	fit := end - at
	s.fresh = s.fresh[:0]
	for k, l := range starting {
		north := w
		w.shells += l.Shells
		w.holes += l.holes
		e := Edge{l.A, l.B}
		p := passing{e, w}
		if k < fit {
			s.active[at+k] = p
		} else {
			s.fresh = append(s.fresh, p)
		}
		s.repaired = s.repaired || !w.plain()
		switch {
		case s.inside(w) == s.inside(north):
			// Both sides are alike, so the line borders nothing.
		case s.inside(w):
			dst = append(dst, e)
		default:
			dst = append(dst, e.Reversed())
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

// collide reports whether two upward edges have a common point other than an
// end of both.
func collide(e, f Edge) bool {
	if f.A.X > e.B.X || e.A.X > f.B.X {
		return false
	}
	within := func(e Edge, p Point) bool { return ComparePoints(e.A, p) < 0 && ComparePoints(p, e.B) < 0 }
	s1, s2, t1, t2 := side(e, f.A), side(e, f.B), side(f, e.A), side(f, e.B)
	if s1 == 0 && s2 == 0 {
		return within(e, f.A) || within(e, f.B) || within(f, e.A) || within(f, e.B) || e == f
	}
	return s1 == 0 && within(e, f.A) || s2 == 0 && within(e, f.B) ||
		t1 == 0 && within(f, e.A) || t2 == 0 && within(f, e.B) ||
		s1 != 0 && s2 != 0 && t1 != 0 && t2 != 0 && (s1 > 0) != (s2 > 0) && (t1 > 0) != (t2 > 0)
}
