package grid

// Simplification follows Visvalingam and Whyatt: the vertex whose triangle with
// its two neighbours is smallest goes first. It goes only if no other vertex of
// any arc or layer lies in that triangle. So no line moves across another or
// across itself, and simplified borders meet exactly where they met before.

// MaxThinArea2 is twice the area of the largest triangle that may vanish, in squared steps of a
// zoom's grid. A tile has 4096 steps. On a screen a step is 1/8 or 1/16 of a pixel.
const MaxThinArea2 = 64

// Simplifier simplifies the arcs of an arrangement in stages.
type Simplifier struct {
	*arcs
	tree  *vertexTree
	limit int64     // of Thin
	queue triangles // of sizes up to limit
	size  []int64   // of each step's triangle; −1: gone or fixed

	// joined counts the arcs that are reduced to a single line. Its keys are the two vertices of
	// the line, the lesser first.
	joined map[[2]int32]int
}

// NewSimplifier cuts an arrangement into arcs to thin. Its lines must be sorted.
func NewSimplifier(lines []Line, reg *ShareSets) *Simplifier {
	a := newArcs(lines, reg)
	s := &Simplifier{arcs: a, tree: newVertexTree(a.at), size: make([]int64, len(a.steps)), joined: map[[2]int32]int{}}
	for _, arc := range a.arcs {
		if a.next[arc.first] == arc.last {
			s.joined[s.pair(arc.first, arc.last)]++
		}
	}
	for i := range a.steps {
		s.measure(int32(i))
	}
	return s
}

// measure sets the size of a step.
func (s *Simplifier) measure(step int32) {
	p, n := s.prev[step], s.next[step]
	if p == noStep || n == noStep {
		s.size[step] = -1
		return
	}
	v := side(Edge{s.point(p), s.point(n)}, s.point(step))
	s.size[step] = max(v, -v)
}

// enqueue measures a step, and queues it if it is not too large or fixed.
func (s *Simplifier) enqueue(step int32) {
	s.measure(step)
	if size := s.size[step]; size >= 0 && size <= s.limit {
		s.queue.push(triangle{size, step})
	}
}

// Thin removes vertices whose triangles have an area of at most limit/2.
func (s *Simplifier) Thin(limit int64) {
	s.limit = limit
	for step, size := range s.size {
		if size >= 0 && size <= limit {
			s.queue = append(s.queue, triangle{size, int32(step)})
		}
	}
	s.queue.heapify()
	for len(s.queue) > 0 {
		t := s.queue.pop()
		if s.size[t.step] != t.size {
			continue // queued again since, or gone
		}
		p, n := s.prev[t.step], s.next[t.step]
		if !s.mayGo(p, t.step, n) {
			continue // until the next call, or until its triangle changes
		}
		s.size[t.step] = -1
		s.tree.remove(s.steps[t.step])
		s.next[p], s.prev[n] = n, p
		if s.prev[p] == noStep && s.next[n] == noStep {
			s.joined[s.pair(p, n)]++
		}
		s.enqueue(p)
		s.enqueue(n)
	}
}

// mayGo reports whether a vertex may be dropped from between its neighbours.
func (s *Simplifier) mayGo(p, step, n int32) bool {
	vp, v, vn := s.steps[p], s.steps[step], s.steps[n]
	// A ring keeps three vertices. The zoom's grid decides whether it is too
	// small to be seen.
	if vp == vn || s.is(s.next[n], vp) || s.is(s.prev[p], vn) {
		return false
	}
	// If two arcs between the same vertices both became one straight line, the area between them
	// would vanish. So only one may.
	if s.prev[p] == noStep && s.next[n] == noStep && s.joined[s.pair(p, n)] > 0 {
		return false
	}
	return !s.tree.anyIn(s.at[vp], s.at[v], s.at[vn], vp, v, vn)
}

// pair returns the vertices of two steps in a fixed order.
func (s *Simplifier) pair(p, q int32) [2]int32 {
	return [2]int32{min(s.steps[p], s.steps[q]), max(s.steps[p], s.steps[q])}
}

// is reports whether the step exists and is at vertex v.
func (s *Simplifier) is(step, v int32) bool { return step != noStep && s.steps[step] == v }

type triangle struct {
	size int64
	step int32
}

// triangles is a heap, smallest triangle first. Equal triangles are ordered by
// step, so every build has the same order.
type triangles []triangle

func (t triangle) less(u triangle) bool {
	return t.size < u.size || t.size == u.size && t.step < u.step
}

func (h *triangles) push(t triangle) {
	q := append(*h, t)
	i := len(q) - 1
	for i > 0 {
		up := (i - 1) / 2
		if !t.less(q[up]) {
			break
		}
		q[i] = q[up]
		i = up
	}
	q[i] = t
	*h = q
}

// heapify puts triangles of any order into that of a heap.
func (h triangles) heapify() {
	for i := len(h)/2 - 1; i >= 0; i-- {
		h.sink(i, h[i])
	}
}

func (h *triangles) pop() triangle {
	q := *h
	top, t := q[0], q[len(q)-1]
	if q = q[:len(q)-1]; len(q) > 0 {
		q.sink(0, t)
	}
	*h = q
	return top
}

// sink puts a triangle into the free place i, or below it.
func (h triangles) sink(i int, t triangle) {
	for {
		c := 2*i + 1
		if c >= len(h) {
			break
		}
		if c+1 < len(h) && h[c+1].less(h[c]) {
			c++
		}
		if !h[c].less(t) {
			break
		}
		h[i] = h[c]
		i = c
	}
	h[i] = t
}
