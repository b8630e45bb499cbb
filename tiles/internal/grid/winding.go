package grid

import (
	"errors"
	"slices"
)

// The sweep finds the winding numbers on either side of every line and keeps
// the lines between inside and outside. It counts shells and holes separately.

// CountedLine is a line of a border with two counts: how often shells and holes run along it from A
// to B, less the times they run from B to A.
type CountedLine struct {
	A, B          Point
	Shells, holes int32
}

// Winding is the pair of winding numbers on one side of a line.
type Winding struct{ shells, holes int32 }

// touched reports whether any ring winds around the place.
func (w Winding) touched() bool { return w != Winding{} }

// Covered reports whether the place is in a shell and in no hole. All rings must have their inside
// on the right.
func (w Winding) Covered() bool { return w.shells > 0 && w.holes == 0 }

// plain reports whether the winding numbers are those of valid polygons.
func (w Winding) plain() bool {
	return w.holes >= 0 && w.holes <= w.shells && w.shells <= 1
}

// errCrossing is returned when lines meet away from vertices. Snap-rounded lines never cause it.
var errCrossing = errors.New("borders cross between their vertices: report this with the source")

// Resolve returns the edges between the inside and the outside, with the inside on the right.
// repaired is true if the lines were not the borders of valid polygons. Resolve sorts the lines. No
// two lines may have the same ends. The error is errCrossing.
func Resolve(lines []CountedLine, inside func(Winding) bool, dst []Edge) (border []Edge, repaired bool, err error) {
	sortBy(lines, func(l *CountedLine) uint64 { return l.A.key() }, func(l, m CountedLine) int {
		return CompareEdges(Edge{l.A, l.B}, Edge{m.A, m.B})
	})
	ends := make([]Point, 0, len(lines))
	for _, l := range lines {
		ends = append(ends, l.B)
	}
	sortPoints(ends)
	s := resolver{inside: inside}
	for i, j := 0, 0; i < len(lines) || j < len(ends); {
		var v Point
		switch {
		case j == len(ends), i < len(lines) && ComparePoints(lines[i].A, ends[j]) < 0:
			v = lines[i].A
		default:
			v = ends[j]
		}
		ended := j
		for j < len(ends) && ends[j] == v {
			j++
		}
		from := i
		for i < len(lines) && lines[i].A == v {
			i++
		}
		if dst = s.vertex(v, j-ended, lines[from:i], dst); s.crossed {
			return dst, false, errCrossing
		}
	}
	return dst, s.repaired, nil
}

// resolver is a sweep that computes the winding numbers between the lines.
type resolver struct {
	sweepLine[Winding]
	inside   func(Winding) bool
	repaired bool
}

// vertex moves the sweep to v, where the given number of lines end.
func (s *resolver) vertex(v Point, ends int, starting []CountedLine, dst []Edge) []Edge {
	w := s.begin(v, ends)
	slices.SortFunc(starting, func(l, m CountedLine) int {
		return southward(Edge{l.A, l.B}, Edge{m.A, m.B})
	})
	for _, l := range starting {
		north := w
		w.shells += l.Shells
		w.holes += l.holes
		e := Edge{l.A, l.B}
		s.add(e, w)
		s.repaired = s.repaired || !w.plain()
		switch {
		case s.inside(w) == s.inside(north):
			// Both sides are equal, so the line is not a border.
		case s.inside(w):
			dst = append(dst, e)
		default:
			dst = append(dst, e.Reversed())
		}
	}
	s.finish()
	return dst
}
