package grid

import (
	"cmp"
	"slices"
)

// vertexTree finds the vertices in a triangle. It is a binary tree over the
// vertices in the order of a space-filling curve. Each node has the bounding
// box of the remaining vertices below it.
type vertexTree struct {
	at    []Point
	order []int32 // vertices along the curve
	leaf  []int32 // of each vertex
	size  int     // leaves, a power of two
	nodes []treeNode
	gone  []bool
	stack []int32
}

type treeNode struct {
	b    Box
	left int32 // remaining vertices below
}

const leafSize = 8

func newVertexTree(at []Point) *vertexTree {
	t := &vertexTree{at: at, leaf: make([]int32, len(at)), gone: make([]bool, len(at))}
	keys := make([]uint64, len(at))
	for i, p := range at {
		keys[i] = interleave(uint32(p.X)^1<<31) | interleave(uint32(p.Y)^1<<31)<<1
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

// members returns the vertices of leaf l.
func (t *vertexTree) members(l int) []int32 {
	return t.order[l*leafSize : min((l+1)*leafSize, len(t.order))]
}

// refresh computes a node from its children or members.
func (t *vertexTree) refresh(i int32) {
	n := treeNode{b: Box{1<<31 - 1, 1<<31 - 1, -1 << 31, -1 << 31}}
	add := func(b Box, left int32) {
		if left > 0 {
			n.b = Box{min(n.b.X0, b.X0), min(n.b.Y0, b.Y0), max(n.b.X1, b.X1), max(n.b.Y1, b.Y1)}
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
				add(Box{p.X, p.Y, p.X, p.Y}, 1)
			}
		}
	}
	t.nodes[i] = n
}

// remove removes a vertex.
func (t *vertexTree) remove(v int32) {
	t.gone[v] = true
	i := t.leaf[v]
	for t.refresh(i); i > 1; {
		i /= 2
		b := t.nodes[i].b
		t.refresh(i)
		if t.nodes[i].b == b && t.nodes[i].left > 0 {
			for i /= 2; i > 0; i /= 2 { // above, only counts change
				t.nodes[i].left--
			}
			return
		}
	}
}

// anyIn reports whether any vertex other than the three corners lies in the closed triangle a, b,
// c.
func (t *vertexTree) anyIn(a, b, c Point, va, vb, vc int32) bool {
	// Order the corners clockwise on a screen, so the inside is on the right of
	// each side.
	if side(Edge{a, b}, c) < 0 {
		b, c = c, b
	}
	sides := [3]Edge{{a, b}, {b, c}, {c, a}}
	tb := Box{min(a.X, b.X, c.X), min(a.Y, b.Y, c.Y), max(a.X, b.X, c.X), max(a.Y, b.Y, c.Y)}
	t.stack = append(t.stack[:0], 1)
	for len(t.stack) > 0 {
		i := t.stack[len(t.stack)-1]
		t.stack = t.stack[:len(t.stack)-1]
		n := &t.nodes[i]
		if n.left == 0 || n.b.X0 > tb.X1 || n.b.X1 < tb.X0 || n.b.Y0 > tb.Y1 || n.b.Y1 < tb.Y0 || outside(sides, n.b) {
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
func outside(sides [3]Edge, b Box) bool {
	for _, e := range sides {
		d := dir(e)
		// p is the corner of the box farthest to the right of the side.
		p := Point{b.X1, b.Y0}
		if d.Y >= 0 {
			p.X = b.X0
		}
		if d.X >= 0 {
			p.Y = b.Y1
		}
		if side(e, p) < 0 {
			return true
		}
	}
	return false
}

// interleave spreads the bits of v to the even positions.
func interleave(v uint32) uint64 {
	x := uint64(v)
	x = (x | x<<16) & 0x0000FFFF0000FFFF
	x = (x | x<<8) & 0x00FF00FF00FF00FF
	x = (x | x<<4) & 0x0F0F0F0F0F0F0F0F
	x = (x | x<<2) & 0x3333333333333333
	return (x | x<<1) & 0x5555555555555555
}
