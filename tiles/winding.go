package tiles

import (
	"slices"
)

// A source may draw the border of one region over itself: rings that cross
// themselves, holes that reach out of their shells, polygons that overlap. The
// sweep here finds the winding numbers on either side of every line and keeps
// the lines between the inside and the outside. Shells and holes are counted
// apart. A place is inside if shells wind around it more often than holes do,
// whichever way round; so both lobes of a figure eight are.

// drawn is a line of one region's border, with how often shells and holes run
// along it from a to b, less the times they run the other way.
type drawn struct {
	a, b          point
	shells, holes int32
}

// winding is what lies on one side of a line.
type winding struct{ shells, holes int32 }

func (w winding) inside() bool { return magnitude(w.shells) > magnitude(w.holes) }

// plain reports whether the winding numbers are those of valid polygons.
func (w winding) plain() bool {
	w0 := w.shells + w.holes
	return w0 == 0 || w0 == 1
}

func magnitude(v int32) int32 { return max(v, -v) }

// resolve returns the edges of the region's true border, with the inside on
// the right, and whether anything had to be repaired. The lines must meet at
// vertices only and are sorted here.
func resolve(lines []drawn, dst []edge) (border []edge, repaired bool) {
	slices.SortFunc(lines, func(l, m drawn) int { return compareEdges(edge{l.a, l.b}, edge{m.a, m.b}) })
	ends := make([]point, 0, len(lines))
	for _, l := range lines {
		ends = append(ends, l.b)
	}
	slices.SortFunc(ends, comparePoints)
	s := sweep{}
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
		dst = s.vertex(v, lines[from:i], dst)
	}
	return dst, s.repaired
}

// sweep is the state of a sweep from west to east and, where x is the same,
// from north to south: the lines that pass it, from north to south.
type sweep struct {
	active   []passing
	fresh    []passing // to be put in
	repaired bool
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
		case w.inside() == north.inside():
			// Both sides alike: a border of nothing.
		case w.inside():
			dst = append(dst, e)
		default:
			dst = append(dst, e.reversed())
		}
	}
	s.active = slices.Insert(s.active, at+min(fit, len(starting)), s.fresh...)
	return dst
}
