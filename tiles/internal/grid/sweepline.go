package grid

import (
	"cmp"
	"slices"
	"sort"
)

// A plane sweep runs from west to east and, at one x, from north to south. Its sweep line crosses
// some of the lines of an arrangement. sweepLine holds these from north to south, each with the
// caller's data about the place just south of it. An array would move all its lines at every
// vertex, and a sweep over a continent crosses tens of thousands. Therefore the lines are stored in
// chunks.

// passing is a line that the sweep line crosses.
type passing[T any] struct {
	e     Edge // upward
	south T    // describes the place just south of the line
}

// chunkSize is the greatest number of lines in a chunk.
const chunkSize = 128

// sweepLine holds the lines that the sweep line crosses. For each vertex in order the caller calls
// begin, add for each line that starts there, from north to south, and finish. Lines that become
// neighbours are compared, so the sweep notices the first crossing away from a vertex when it gets
// there.
type sweepLine[T any] struct {
	chunks [][]passing[T] // none is empty
	spare  [][]passing[T] // chunks for reuse

	at      place // where the vertex is
	ending  int   // lines at that place that end there and are not replaced yet
	crossed bool  // lines meet away from vertices
}

// place is the position of a line in a chunk, or the position after the last line: the start of a
// chunk that does not exist.
type place struct{ chunk, index int }

func (s *sweepLine[T]) reset() {
	for _, c := range s.chunks {
		s.spare = append(s.spare, c[:0])
	}
	s.chunks, s.crossed = s.chunks[:0], false
}

// begin finds the place of a vertex at which the given number of lines end. It returns the caller's
// data of the line north of the vertex.
func (s *sweepLine[T]) begin(v Point, ends int) (north T) {
	s.at = s.find(v)
	s.ending = 0
	p := s.at
	l := s.line(p)
	for ; l != nil && l.e.B == v; l = s.line(p) {
		s.ending++
		p = s.after(p)
	}
	if l != nil && side(l.e, v) == 0 { // it passes through v
		s.crossed = true
	}
	if s.ending < ends {
		s.crossed = true
		s.removeStray(v)
	}
	if l := s.line(s.before(s.at)); l != nil {
		north = l.south
	}
	return north
}

// add inserts a line that starts at the vertex.
func (s *sweepLine[T]) add(e Edge, south T) {
	p := passing[T]{e, south}
	if s.ending > 0 {
		// Usually a line that starts replaces one that ends.
		s.ending--
		*s.line(s.at) = p
	} else {
		s.insert(p)
	}
	s.compare()
	s.at = s.after(s.at)
}

// finish removes the lines that end at the vertex.
func (s *sweepLine[T]) finish() {
	for ; s.ending > 0; s.ending-- {
		s.at = s.remove(s.at)
	}
	s.compare()
}

// find returns the place of the first line that is not north of a point.
func (s *sweepLine[T]) find(v Point) place {
	c := sort.Search(len(s.chunks), func(i int) bool {
		chunk := s.chunks[i]
		return side(chunk[len(chunk)-1].e, v) <= 0
	})
	if c == len(s.chunks) {
		return place{c, 0}
	}
	chunk := s.chunks[c]
	return place{c, sort.Search(len(chunk), func(i int) bool { return side(chunk[i].e, v) <= 0 })}
}

// line returns the line at a place, or nil.
func (s *sweepLine[T]) line(p place) *passing[T] {
	if p.chunk < 0 || p.chunk >= len(s.chunks) {
		return nil
	}
	return &s.chunks[p.chunk][p.index]
}

func (s *sweepLine[T]) after(p place) place {
	if p.index++; p.index == len(s.chunks[p.chunk]) {
		return place{p.chunk + 1, 0}
	}
	return p
}

// before returns the place north of p. If p is the first place, the returned place has no line.
func (s *sweepLine[T]) before(p place) place {
	if p.index > 0 {
		return place{p.chunk, p.index - 1}
	}
	if p.chunk == 0 {
		return place{-1, 0}
	}
	return place{p.chunk - 1, len(s.chunks[p.chunk-1]) - 1}
}

// insert inserts a line at the position of the vertex.
func (s *sweepLine[T]) insert(p passing[T]) {
	switch {
	case len(s.chunks) == 0:
		s.chunks = append(s.chunks, append(s.newChunk(), p))
		s.at = place{0, 0}
		return
	case s.at.index == 0 && s.at.chunk > 0:
		s.at.chunk--
		s.at.index = len(s.chunks[s.at.chunk])
	}
	if len(s.chunks[s.at.chunk]) == chunkSize {
		full := s.chunks[s.at.chunk]
		s.chunks = slices.Insert(s.chunks, s.at.chunk+1, append(s.newChunk(), full[chunkSize/2:]...))
		s.chunks[s.at.chunk] = full[:chunkSize/2]
		if s.at.index > chunkSize/2 {
			s.at = place{s.at.chunk + 1, s.at.index - chunkSize/2}
		}
	}
	s.chunks[s.at.chunk] = slices.Insert(s.chunks[s.at.chunk], s.at.index, p)
}

func (s *sweepLine[T]) newChunk() []passing[T] {
	if n := len(s.spare); n > 0 {
		c := s.spare[n-1]
		s.spare = s.spare[:n-1]
		return c
	}
	if len(s.chunks) == 0 {
		return nil // most rings are small
	}
	return make([]passing[T], 0, chunkSize)
}

// remove removes a line and returns the place of the line that followed it.
func (s *sweepLine[T]) remove(p place) place {
	c := slices.Delete(s.chunks[p.chunk], p.index, p.index+1)
	s.chunks[p.chunk] = c
	switch {
	case len(c) == 0:
		s.spare = append(s.spare, c)
		s.chunks = slices.Delete(s.chunks, p.chunk, p.chunk+1)
		return place{p.chunk, 0}
	case p.index == len(c):
		return place{p.chunk + 1, 0}
	}
	return p
}

// removeStray removes the lines that end at a vertex but are stored elsewhere in the sweep line,
// because lines have crossed. They would otherwise mislead the rest of the sweep.
func (s *sweepLine[T]) removeStray(v Point) {
	for c := len(s.chunks) - 1; c >= 0; c-- {
		for i := len(s.chunks[c]) - 1; i >= 0; i-- {
			if s.chunks[c][i].e.B == v {
				s.remove(place{c, i})
			}
		}
	}
	s.at, s.ending = s.find(v), 0
}

// compare sets crossed if the line at the place of the vertex meets the line to the north of it.
func (s *sweepLine[T]) compare() {
	north, l := s.line(s.before(s.at)), s.line(s.at)
	s.crossed = s.crossed || north != nil && l != nil && collide(north.e, l.e)
}

// southward orders upward edges with a common start from north to south.
func southward(e, f Edge) int { return cmp.Compare(0, crossDir(dir(e), dir(f))) }

// collide reports whether two upward edges have a common point that is not an end of both.
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
