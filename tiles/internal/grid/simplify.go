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
	tree    *vertexTree
	queue   triangles
	size    []int64 // of a step's triangle when it was last queued; −1: gone or fixed
	blocked []int32 // steps whose triangles were not empty

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
		s.enqueue(int32(i))
	}
	return s
}

// enqueue queues a step with its triangle, or marks the step as fixed.
func (s *Simplifier) enqueue(step int32) {
	p, n := s.prev[step], s.next[step]
	if p == noStep || n == noStep {
		s.size[step] = -1
		return
	}
	v := side(Edge{s.point(p), s.point(n)}, s.point(step))
	s.size[step] = max(v, -v)
	s.queue.push(triangle{s.size[step], step})
}

// Thin removes vertices whose triangles have an area of at most limit/2.
func (s *Simplifier) Thin(limit int64) {
	for _, step := range s.blocked {
		if s.size[step] >= 0 {
			s.queue.push(triangle{s.size[step], step})
		}
	}
	s.blocked = s.blocked[:0]
	for len(s.queue) > 0 && s.queue[0].size <= limit {
		t := s.queue.pop()
		if s.size[t.step] != t.size {
			continue // queued again since, or gone
		}
		p, n := s.prev[t.step], s.next[t.step]
		if !s.mayGo(p, t.step, n) {
			s.blocked = append(s.blocked, t.step)
			continue
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

func (h *triangles) pop() triangle {
	q := *h
	top, t := q[0], q[len(q)-1]
	q = q[:len(q)-1]
	i := 0
	for {
		c := 2*i + 1
		if c >= len(q) {
			break
		}
		if c+1 < len(q) && q[c+1].less(q[c]) {
			c++
		}
		if !q[c].less(t) {
			break
		}
		q[i] = q[c]
		i = c
	}
	if len(q) > 0 {
		q[i] = t
	}
	*h = q
	return top
}
