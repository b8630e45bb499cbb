package tiles

import (
	"cmp"
	"slices"
)

// polygon is a shell followed by its holes. Rings do not repeat their first
// point; shells have a positive area, holes a negative one.
type polygon [][]point

// assembler turns closed chains into polygons.
type assembler struct {
	used    []bool
	leaving []int32 // for each edge, the first edge that starts where it ends
	stack   []point
	seen    map[point]int // places of repeatable vertices on the stack
	rings   [][]point
	arena   []point
	polys   []polygon
	shells  []shell
	holes   [][]point
}

type shell struct {
	area int64
	b    box
}

// polygons links the edges of a closed chain into simple rings, sorts holes
// into their shells and returns the polygons, which are valid until the next
// call. The edges are reordered.
//
// Where several edges leave a vertex the walk takes the sharpest turn towards
// the interior, so that it goes around one face; a ring that comes back to a
// vertex is cut there. Thus rings repeat no vertex, and where the chain's edges
// meet at vertices only they do not cross either.
func (s *assembler) polygons(edges []edge) []polygon {
	edges = s.sortAndCancel(edges)
	s.rings = s.rings[:0]
	s.arena = s.arena[:0]
	if s.seen == nil {
		s.seen = make(map[point]int)
	}
	for i := range edges {
		if !s.used[i] {
			s.walk(edges, i)
		}
	}
	return s.nest()
}

// sortAndCancel sorts edges by their start, drops pairs of opposite ones, and
// fills used and leaving.
func (s *assembler) sortAndCancel(edges []edge) []edge {
	slices.SortFunc(edges, compareEdges)
	s.used = append(s.used[:0], make([]bool, len(edges))...)
	n := 0
	for i, e := range edges {
		if s.used[i] || e.a == e.b {
			s.used[i] = true
			continue
		}
		j, found := slices.BinarySearchFunc(edges, e.reversed(), compareEdges)
		for found && j < len(edges) && s.used[j] {
			j++
		}
		if found && j < len(edges) && edges[j] == e.reversed() {
			s.used[i], s.used[j] = true, true
		}
	}
	for i, e := range edges {
		if !s.used[i] {
			edges[n] = e
			n++
		}
	}
	edges = edges[:n]
	s.used = s.used[:n]
	clear(s.used)
	s.leaving = s.leaving[:0]
	for _, e := range edges {
		lo, _ := slices.BinarySearchFunc(edges, e.b, func(e edge, p point) int { return comparePoints(e.a, p) })
		s.leaving = append(s.leaving, int32(lo))
	}
	return edges
}

// repeats reports whether several edges leave the start of edge i.
func repeats(edges []edge, i int) bool {
	return i > 0 && edges[i-1].a == edges[i].a || i+1 < len(edges) && edges[i+1].a == edges[i].a
}

func (s *assembler) walk(edges []edge, first int) {
	s.stack = s.stack[:0]
	clear(s.seen)
	start := edges[first].a
	i := first
	for {
		s.used[i] = true
		e := edges[i]
		if repeats(edges, i) {
			s.seen[e.a] = len(s.stack)
		}
		s.stack = append(s.stack, e.a)
		v := e.b
		best := -1
		for j := int(s.leaving[i]); j < len(edges) && edges[j].a == v; j++ {
			if !s.used[j] && (best < 0 || turnsSooner(e, edges[j], edges[best])) {
				best = j
			}
		}
		// Back at a vertex of the walk: what lies since then is a ring.
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
			// A closed chain ends only where it began.
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
	if len(ring) < 3 || ringArea2(ring) == 0 {
		return
	}
	n := len(s.arena)
	s.arena = append(s.arena, ring...)
	s.rings = append(s.rings, s.arena[n:len(s.arena):len(s.arena)])
}

// turnsSooner reports whether, arriving along e, edge f is met before g when
// turning from the way back through the interior, which lies on the right.
func turnsSooner(e, f, g edge) bool {
	back := point{e.a.x - e.b.x, e.a.y - e.b.y}
	return turn(back, f) < turn(back, g) ||
		turn(back, f) == turn(back, g) && crossDir(dir(f), dir(g)) < 0
}

func dir(e edge) point { return point{e.b.x - e.a.x, e.b.y - e.a.y} }

func crossDir(p, q point) int64 {
	return int64(p.x)*int64(q.y) - int64(p.y)*int64(q.x)
}

// turn says in which part of the turn from direction back an edge lies, when
// turning counterclockwise on a screen: 0 in the first half, 1 straight ahead
// of back's opposite or in the second half, 2 all the way round.
func turn(back point, e edge) int {
	d := dir(e)
	c := crossDir(back, d)
	switch {
	case c < 0:
		return 0
	case c > 0:
		return 2
	}
	if int64(back.x)*int64(d.x)+int64(back.y)*int64(d.y) > 0 {
		return 3
	}
	return 1
}

func ringArea2(r []point) int64 {
	var s int64
	for i, p := range r {
		q := r[(i+1)%len(r)]
		s += int64(p.x)*int64(q.y) - int64(q.x)*int64(p.y)
	}
	return s
}

// nest sorts the holes into the smallest shells around them. A hole without a
// shell encloses nothing and is dropped.
func (s *assembler) nest() []polygon {
	s.polys = s.polys[:0]
	shells, holes := s.shells[:0], s.holes[:0]
	for _, r := range s.rings {
		if a := ringArea2(r); a > 0 {
			s.polys = append(s.polys, polygon{r})
			shells = append(shells, shell{a, ringBox(r)})
		} else {
			holes = append(holes, r)
		}
	}
	s.shells, s.holes = shells, holes
	for _, h := range holes {
		hb := ringBox(h)
		best := -1
		for i, sh := range shells {
			if hb.x0 < sh.b.x0 || hb.x1 > sh.b.x1 || hb.y0 < sh.b.y0 || hb.y1 > sh.b.y1 ||
				best >= 0 && sh.area >= shells[best].area {
				continue
			}
			if ringHolds(s.polys[i][0], h) {
				best = i
			}
		}
		if best >= 0 {
			s.polys[best] = append(s.polys[best], h)
		}
	}
	// Where a walk begins depends on the order of edges only; sorting makes
	// the order of polygons a property of the shape.
	slices.SortFunc(s.polys, func(p, q polygon) int {
		if c := comparePoints(p[0][0], q[0][0]); c != 0 {
			return c
		}
		return cmp.Compare(len(p[0]), len(q[0]))
	})
	return s.polys
}

func ringBox(r []point) box {
	b := box{r[0].x, r[0].y, r[0].x, r[0].y}
	for _, p := range r[1:] {
		b.x0, b.x1 = min(b.x0, p.x), max(b.x1, p.x)
		b.y0, b.y1 = min(b.y0, p.y), max(b.y1, p.y)
	}
	return b
}

// ringHolds reports whether hole h lies inside ring r, judged by the first
// vertex of h that is not on r, or by the middle of an edge if all are.
func ringHolds(r, h []point) bool {
	for _, p := range h {
		switch pointInRing(r, 2*int64(p.x), 2*int64(p.y)) {
		case 1:
			return true
		case -1:
			return false
		}
	}
	for i, p := range h {
		q := h[(i+1)%len(h)]
		if in := pointInRing(r, int64(p.x)+int64(q.x), int64(p.y)+int64(q.y)); in != 0 {
			return in > 0
		}
	}
	return false
}

// pointInRing tells whether the point (x2/2, y2/2) is inside (1), outside (−1)
// or on (0) a ring.
func pointInRing(r []point, x2, y2 int64) int {
	in := -1
	for i, p := range r {
		q := r[(i+1)%len(r)]
		px, py, qx, qy := 2*int64(p.x), 2*int64(p.y), 2*int64(q.x), 2*int64(q.y)
		c := (qx-px)*(y2-py) - (qy-py)*(x2-px)
		if c == 0 && min(px, qx) <= x2 && x2 <= max(px, qx) && min(py, qy) <= y2 && y2 <= max(py, qy) {
			return 0
		}
		if (py <= y2) != (qy <= y2) && (c > 0) == (qy > py) {
			in = -in
		}
	}
	return in
}
