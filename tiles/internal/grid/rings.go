package grid

import (
	"math"
	"slices"
)

// Polygon is a shell followed by its holes. Rings do not repeat their first
// point; shells have a positive area, holes a negative one.
type Polygon [][]Point

// assembler converts closed chains to polygons.
type assembler struct {
	used    []bool
	leaving []int32 // for each edge, the first edge that starts where it ends
	place   []int32 // of each edge after others have been removed
	stack   []Point
	seen    map[Point]int // places of repeatable vertices on the stack
	rings   [][]Point
	arena   []Point
	polys   []Polygon
	holes   [][]Point
	nester  nester
	starts  EdgeTable // edges by the points where they start
}

// polygons links the edges of a closed chain into simple rings, sorts holes
// into their shells and returns the polygons, which are valid until the next
// call. It reorders the edges.
//
// Where several edges leave a vertex, the walk takes the sharpest turn towards
// the interior, so that it goes around one face. A ring that returns to a
// vertex is cut there. Rings therefore repeat no vertex. If the chain's edges
// meet at vertices only, rings do not cross either.
func (s *assembler) polygons(edges []Edge) []Polygon {
	s.rings = s.rings[:0]
	s.arena = s.arena[:0]
	if s.link(edges) {
		s.simple(edges)
		return s.nest()
	}
	edges = s.sortAndCancel(edges)
	if s.seen == nil {
		s.seen = make(map[Point]int)
	}
	for i := range edges {
		if !s.used[i] {
			s.walk(edges, i)
		}
	}
	return s.nest()
}

// mostLinked bounds the edges that link takes, and thereby the memory of starts.
const mostLinked = 1 << 16

// link sets leaving to the edge that starts where each edge ends. It returns false unless exactly one
// edge starts and one ends at each vertex.
func (s *assembler) link(edges []Edge) bool {
	if len(edges) > mostLinked {
		return false
	}
	s.starts.Reset(len(edges))
	for i, e := range edges {
		if int(s.starts.Number(Edge{e.A, e.A}, int32(i))) != i {
			return false
		}
	}
	s.used = append(s.used[:0], make([]bool, len(edges))...)
	s.leaving = s.leaving[:0]
	for _, e := range edges {
		next := s.starts.Find(Edge{e.B, e.B})
		if next < 0 || s.used[next] {
			return false
		}
		s.used[next] = true
		s.leaving = append(s.leaving, next)
	}
	return true
}

// simple makes rings of edges that are linked. Without any choice between edges they are the rings
// that walks over sorted edges make: each begins at its least vertex, and they are in the order of
// these.
func (s *assembler) simple(edges []Edge) {
	for i := range edges { // link has set used
		if !s.used[i] {
			continue
		}
		first := int32(i)
		for j := first; s.used[j]; j = s.leaving[j] {
			s.used[j] = false
			if ComparePoints(edges[j].A, edges[first].A) < 0 {
				first = j
			}
		}
		s.stack = append(s.stack[:0], edges[first].A)
		for j := s.leaving[first]; j != first; j = s.leaving[j] {
			s.stack = append(s.stack, edges[j].A)
		}
		s.emit(0)
	}
	if len(s.rings) > 1 {
		slices.SortFunc(s.rings, func(r, q []Point) int { return ComparePoints(r[0], q[0]) })
	}
}

// sortAndCancel sorts edges by their start, drops pairs of opposite edges, and
// fills used and leaving.
func (s *assembler) sortAndCancel(edges []Edge) []Edge {
	sortBy(edges, func(e *Edge) uint64 { return e.A.key() }, CompareEdges)
	s.used = append(s.used[:0], make([]bool, len(edges))...)
	s.leaving = s.leaving[:0]
	n := len(edges)
	for i, e := range edges {
		next := firstFrom(edges, i, Edge{e.B, Point{math.MinInt32, math.MinInt32}})
		s.leaving = append(s.leaving, int32(next))
		if s.used[i] || e.A == e.B {
			s.used[i] = true
			n--
			continue
		}
		j := next
		if j < len(edges) {
			j = firstFrom(edges, j, e.Reversed())
		}
		for j < len(edges) && s.used[j] && edges[j] == e.Reversed() {
			j++
		}
		if j < len(edges) && edges[j] == e.Reversed() {
			s.used[i], s.used[j] = true, true
			n--
		}
	}
	if n < len(edges) {
		s.compact(edges)
	}
	clear(s.used[:n])
	s.used, s.leaving = s.used[:n], s.leaving[:n]
	return edges[:n]
}

// compact removes the edges that are used, and adjusts leaving.
func (s *assembler) compact(edges []Edge) {
	s.place = s.place[:0]
	n := int32(0)
	for i, used := range s.used {
		s.place = append(s.place, n)
		if !used {
			edges[n], s.leaving[n] = edges[i], s.leaving[i]
			n++
		}
	}
	s.place = append(s.place, n)
	for i, next := range s.leaving[:n] {
		s.leaving[i] = s.place[next]
	}
}

// firstFrom returns the index of the first of the sorted edges that is not less than e, or their
// number. It searches outward from index near.
func firstFrom(edges []Edge, near int, e Edge) int {
	from, to := near, near
	if CompareEdges(edges[near], e) < 0 {
		for step := 1; to < len(edges) && CompareEdges(edges[to], e) < 0; step *= 2 {
			from, to = to+1, to+step
		}
		to = min(to, len(edges))
	} else {
		for step := 1; from > 0 && CompareEdges(edges[from-1], e) >= 0; step *= 2 {
			from, to = max(0, from-step), from-1
		}
		// Edges before from are less than e. The edge at to is not.
	}
	i, _ := slices.BinarySearchFunc(edges[from:to], e, CompareEdges)
	return from + i
}

// repeats reports whether several edges leave the start of edge i.
func repeats(edges []Edge, i int) bool {
	return i > 0 && edges[i-1].A == edges[i].A || i+1 < len(edges) && edges[i+1].A == edges[i].A
}

func (s *assembler) walk(edges []Edge, first int) {
	s.stack = s.stack[:0]
	if len(s.seen) > 0 { // clearing takes as long as the largest set so far was
		clear(s.seen)
	}
	start := edges[first].A
	i := first
	for {
		s.used[i] = true
		e := edges[i]
		if repeats(edges, i) {
			s.seen[e.A] = len(s.stack)
		}
		s.stack = append(s.stack, e.A)
		v := e.B
		best := -1
		for j := int(s.leaving[i]); j < len(edges) && edges[j].A == v; j++ {
			if !s.used[j] && (best < 0 || turnsSooner(e, edges[j], edges[best])) {
				best = j
			}
		}
		// The walk is back at one of its vertices, so its edges since then are
		// a ring.
		if v == start {
			s.emit(0)
			return
		}
		if len(s.seen) > 0 {
			if at, ok := s.seen[v]; ok {
				s.emit(at)
			}
		}
		if best < 0 {
			// A closed chain ends only at its start.
			return
		}
		i = best
	}
}

// emit cuts the ring that starts at stack position `at` off the walk.
func (s *assembler) emit(at int) {
	ring := s.stack[at:]
	if len(s.seen) > 0 {
		for _, p := range ring {
			delete(s.seen, p)
		}
	}
	s.stack = s.stack[:at]
	if len(ring) < 3 || RingArea2(ring) == 0 {
		return
	}
	n := len(s.arena)
	s.arena = append(s.arena, ring...)
	s.rings = append(s.rings, s.arena[n:len(s.arena):len(s.arena)])
}

// turnsSooner reports whether a turn meets edge f before g. The turn begins at the reverse of e and
// goes through the interior, which lies on the right.
func turnsSooner(e, f, g Edge) bool {
	back := Point{e.A.X - e.B.X, e.A.Y - e.B.Y}
	return turn(back, f) < turn(back, g) ||
		turn(back, f) == turn(back, g) && crossDir(dir(f), dir(g)) < 0
}

func dir(e Edge) Point { return Point{e.B.X - e.A.X, e.B.Y - e.A.Y} }

func crossDir(p, q Point) int64 {
	return int64(p.X)*int64(q.Y) - int64(p.Y)*int64(q.X)
}

// turn returns the part of the counterclockwise turn (on a screen) from
// direction back in which an edge lies: 0 in the first half, 1 at half a turn,
// 2 in the second half, 3 at a full turn.
func turn(back Point, e Edge) int {
	d := dir(e)
	c := crossDir(back, d)
	switch {
	case c < 0:
		return 0
	case c > 0:
		return 2
	}
	if int64(back.X)*int64(d.X)+int64(back.Y)*int64(d.Y) > 0 {
		return 3
	}
	return 1
}

// RingArea2 returns twice the area of a ring, negative for holes.
func RingArea2(r []Point) int64 {
	var s int64
	for i, p := range r {
		q := r[(i+1)%len(r)]
		s += int64(p.X)*int64(q.Y) - int64(q.X)*int64(p.Y)
	}
	return s
}

// RingBox returns the bounding box of a ring.
func RingBox(r []Point) Box {
	b := Box{r[0].X, r[0].Y, r[0].X, r[0].Y}
	for _, p := range r[1:] {
		b.X0, b.X1 = min(b.X0, p.X), max(b.X1, p.X)
		b.Y0, b.Y1 = min(b.Y0, p.Y), max(b.Y1, p.Y)
	}
	return b
}
