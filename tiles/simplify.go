package tiles

import (
	"cmp"
	"slices"
)

// Simplification, after Visvalingam and Whyatt: the vertex whose triangle with
// its two neighbours is smallest goes first. It goes only if no other vertex
// lies in that triangle, of whatever arc and layer, so that no line is moved
// across another or across itself: simplified borders meet where they met
// before and nowhere else.

// fineness is twice the area, in steps of a zoom's grid squared, of the largest
// triangle that may go. A tile has 4096 steps; on a screen a step is 1/8 or 1/16
// of a pixel.
const fineness = 64

// simplifier thins the arcs of an arrangement, more and more.
type simplifier struct {
	*arcs
	tree  *vertexTree
	queue triangles
	size  []int64 // of the triangle a step was last queued with; −1: gone or fixed
	held  []int32 // steps whose triangles were not empty

	// joined counts the arcs that have become one line, by the vertices they
	// join, the lesser first.
	joined map[[2]int32]int
}

func newSimplifier(a *arcs) *simplifier {
	s := &simplifier{arcs: a, tree: newVertexTree(a.at), size: make([]int64, len(a.steps)), joined: map[[2]int32]int{}}
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

// enqueue queues a step with its triangle, or takes note that it stays.
func (s *simplifier) enqueue(step int32) {
	p, n := s.prev[step], s.next[step]
	if p == noStep || n == noStep {
		s.size[step] = -1
		return
	}
	v := side(edge{s.point(p), s.point(n)}, s.point(step))
	s.size[step] = max(v, -v)
	s.queue.push(triangle{s.size[step], step})
}

// thin removes vertices whose triangles are no larger than limit, twice their
// area.
func (s *simplifier) thin(limit int64) {
	for _, step := range s.held {
		if s.size[step] >= 0 {
			s.queue.push(triangle{s.size[step], step})
		}
	}
	s.held = s.held[:0]
	for len(s.queue) > 0 && s.queue[0].size <= limit {
		t := s.queue.pop()
		if s.size[t.step] != t.size {
			continue // queued again since, or gone
		}
		p, n := s.prev[t.step], s.next[t.step]
		if !s.mayGo(p, t.step, n) {
			s.held = append(s.held, t.step)
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

// mayGo reports whether a vertex may be dropped between its neighbours.
func (s *simplifier) mayGo(p, step, n int32) bool {
	vp, v, vn := s.steps[p], s.steps[step], s.steps[n]
	// A ring keeps three vertices. Whether it is too small to be seen is for
	// the zoom's grid to say.
	if vp == vn || s.is(s.next[n], vp) || s.is(s.prev[p], vn) {
		return false
	}
	// So does one of two arcs: with a line in place of each it would be gone.
	if s.prev[p] == noStep && s.next[n] == noStep && s.joined[s.pair(p, n)] > 0 {
		return false
	}
	return !s.tree.anyIn(s.at[vp], s.at[v], s.at[vn], vp, v, vn)
}

// pair names the vertices of two steps, whichever comes first.
func (s *simplifier) pair(p, q int32) [2]int32 {
	return [2]int32{min(s.steps[p], s.steps[q]), max(s.steps[p], s.steps[q])}
}

// is reports whether there is such a step and it is at vertex v.
func (s *simplifier) is(step, v int32) bool { return step != noStep && s.steps[step] == v }

type triangle struct {
	size int64
	step int32
}

// triangles is a heap, the smallest triangle first and of equals the first
// step, which makes the order the same in every build.
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

// vertexTree finds the vertices in a triangle. It is a binary tree over the
// vertices in the order of a space-filling curve, with the box of those that are
// left below each node.
type vertexTree struct {
	at    []point
	order []int32 // vertices along the curve
	leaf  []int32 // of each vertex
	size  int     // leaves, a power of two
	nodes []treeNode
	gone  []bool
	stack []int32
}

type treeNode struct {
	b    box
	left int32 // vertices left below
}

const leafSize = 8

func newVertexTree(at []point) *vertexTree {
	t := &vertexTree{at: at, leaf: make([]int32, len(at)), gone: make([]bool, len(at))}
	keys := make([]uint64, len(at))
	for i, p := range at {
		keys[i] = interleave(uint32(p.x)^1<<31) | interleave(uint32(p.y)^1<<31)<<1
		t.order = append(t.order, int32(i))
	}
	slices.SortFunc(t.order, func(a, b int32) int { return cmp.Compare(keys[a], keys[b]) })
	leaves := (len(at) + leafSize - 1) / leafSize
	for t.size = 1; t.size < leaves; t.size *= 2 {
	}
	t.nodes = make([]treeNode, 2*t.size)
	for l := range leaves {
		for _, v := range t.members(l) {
			t.leaf[v] = int32(t.size + l)
		}
		t.refresh(int32(t.size + l))
	}
	for i := t.size - 1; i > 0; i-- {
		t.refresh(int32(i))
	}
	return t
}

// members are the vertices of the l-th leaf.
func (t *vertexTree) members(l int) []int32 {
	return t.order[l*leafSize : min((l+1)*leafSize, len(t.order))]
}

// refresh computes a node from what is below it.
func (t *vertexTree) refresh(i int32) {
	n := treeNode{b: box{1<<31 - 1, 1<<31 - 1, -1 << 31, -1 << 31}}
	add := func(b box, left int32) {
		if left > 0 {
			n.b = box{min(n.b.x0, b.x0), min(n.b.y0, b.y0), max(n.b.x1, b.x1), max(n.b.y1, b.y1)}
			n.left += left
		}
	}
	if int(i) < t.size {
		add(t.nodes[2*i].b, t.nodes[2*i].left)
		add(t.nodes[2*i+1].b, t.nodes[2*i+1].left)
	} else {
		for _, v := range t.members(int(i) - t.size) {
			if !t.gone[v] {
				p := t.at[v]
				add(box{p.x, p.y, p.x, p.y}, 1)
			}
		}
	}
	t.nodes[i] = n
}

// remove takes a vertex out.
func (t *vertexTree) remove(v int32) {
	t.gone[v] = true
	i := t.leaf[v]
	for t.refresh(i); i > 1; {
		i /= 2
		b := t.nodes[i].b
		t.refresh(i)
		if t.nodes[i].b == b && t.nodes[i].left > 0 {
			for i /= 2; i > 0; i /= 2 { // only counts change above
				t.nodes[i].left--
			}
			return
		}
	}
}

// anyIn reports whether any vertex but the three corners lies in the closed
// triangle a, b, c.
func (t *vertexTree) anyIn(a, b, c point, va, vb, vc int32) bool {
	// Clockwise on a screen: the inside on the right of each side.
	if side(edge{a, b}, c) < 0 {
		b, c = c, b
	}
	sides := [3]edge{{a, b}, {b, c}, {c, a}}
	tb := box{min(a.x, b.x, c.x), min(a.y, b.y, c.y), max(a.x, b.x, c.x), max(a.y, b.y, c.y)}
	t.stack = append(t.stack[:0], 1)
	for len(t.stack) > 0 {
		i := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		n := &t.nodes[i]
		if n.left == 0 || n.b.x0 > tb.x1 || n.b.x1 < tb.x0 || n.b.y0 > tb.y1 || n.b.y1 < tb.y0 || outside(sides, n.b) {
			continue
		}
		if int(i) < t.size {
			t.stack = append(t.stack, 2*i, 2*i+1)
			continue
		}
		for _, v := range t.members(int(i) - t.size) {
			if t.gone[v] || v == va || v == vb || v == vc {
				continue
			}
			p := t.at[v]
			if inBox(p, tb) && side(sides[0], p) >= 0 && side(sides[1], p) >= 0 && side(sides[2], p) >= 0 {
				return true
			}
		}
	}
	return false
}

// outside reports whether a box lies wholly beyond one side of a triangle.
func outside(sides [3]edge, b box) bool {
	for _, e := range sides {
		d := dir(e)
		// The corner of the box farthest to the right of the side.
		p := point{b.x1, b.y0}
		if d.y >= 0 {
			p.x = b.x0
		}
		if d.x >= 0 {
			p.y = b.y1
		}
		if side(e, p) < 0 {
			return true
		}
	}
	return false
}

// interleave spreads the bits of v to the even places.
func interleave(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000FFFF0000FFFF
	x = (x | x<<8) & 0x00FF00FF00FF00FF
	x = (x | x<<4) & 0x0F0F0F0F0F0F0F0F
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}
