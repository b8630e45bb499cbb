package grid

import (
	"cmp"
	"math/bits"
)

// vertexTree finds the vertices in a triangle. It is a binary tree over the
// vertices in the order of a space-filling curve. Each node has the bounding
// box of the remaining vertices below it.
type vertexTree struct {
	place  []int32  // of each vertex along the curve
	points []Point  // along the curve
	left   []uint8  // of each leaf: a bit for each remaining vertex
	first  []uint64 // of each leaf: the place of its first vertex on the curve
	nodes  []Box    // emptyBox if no vertex remains
	size   int      // leaves, a power of two
	stack  []int32
}

// leafSize is the number of bits of vertexTree.left.
const leafSize = 8

// emptyBox meets no box, and changes none that is extended by it.
var emptyBox = Box{1<<31 - 1, 1<<31 - 1, -1 << 31, -1 << 31}

func newVertexTree(at []Point) *vertexTree {
	leaves := (len(at) + leafSize - 1) / leafSize
	t := &vertexTree{
		place: make([]int32, len(at)), points: make([]Point, len(at)),
		left: make([]uint8, leaves), first: make([]uint64, leaves),
	}
	keys := make([]uint64, len(at))
	order := make([]int32, len(at))
	for i, p := range at {
		keys[i], order[i] = curveKey(p), int32(i)
	}
	sortBy(order, func(v *int32) uint64 { return keys[*v] }, func(a, b int32) int { return cmp.Compare(keys[a], keys[b]) })
	for i, v := range order {
		t.place[v], t.points[i] = int32(i), at[v]
		t.left[i/leafSize] |= 1 << (i % leafSize)
		if i%leafSize == 0 {
			t.first[i/leafSize] = keys[v]
		}
	}
	for t.size = 1; t.size < leaves; t.size *= 2 {
	}
	t.nodes = make([]Box, 2*t.size)
	for i := 2*t.size - 1; i > 0; i-- {
		t.nodes[i] = t.box(i)
	}
	return t
}

// box computes the box of a node from its children or vertices.
func (t *vertexTree) box(i int) Box {
	if i < t.size {
		b, c := &t.nodes[2*i], &t.nodes[2*i+1]
		return Box{min(b.X0, c.X0), min(b.Y0, c.Y0), max(b.X1, c.X1), max(b.Y1, c.Y1)}
	}
	b := emptyBox
	if l := i - t.size; l < len(t.left) {
		for m := t.left[l]; m != 0; m &= m - 1 {
			p := t.points[l*leafSize+bits.TrailingZeros8(m)]
			b = Box{min(b.X0, p.X), min(b.Y0, p.Y), max(b.X1, p.X), max(b.Y1, p.Y)}
		}
	}
	return b
}

// remove removes a vertex.
func (t *vertexTree) remove(v int32) {
	at := int(t.place[v])
	t.left[at/leafSize] &^= 1 << (at % leafSize)
	for i := t.size + at/leafSize; i > 0; i /= 2 {
		b := t.box(i)
		if b == t.nodes[i] {
			return
		}
		t.nodes[i] = b
	}
}

// around returns a node that has all vertices of a box below it, if vertex v is in the box.
func (t *vertexTree) around(b Box, v int32) int {
	least, most := curveKey(Point{b.X0, b.Y0}), curveKey(Point{b.X1, b.Y1})
	from := int(t.place[v]) / leafSize
	i, n := t.size+from, 1 // n leaves, of which the first is from
	for i > 1 && (from > 0 && t.first[from] > least || from+n < len(t.first) && t.first[from+n] <= most) {
		i, n = i/2, 2*n
		from &^= n - 1
	}
	return i
}

// anyIn reports whether any vertex other than the three corners lies in the closed triangle a, b,
// c.
func (t *vertexTree) anyIn(a, b, c Point, va, vb, vc int32) bool {
	pa, pb, pc := int(t.place[va]), int(t.place[vb]), int(t.place[vc])
	tb := Box{min(a.X, b.X, c.X), min(a.Y, b.Y, c.Y), max(a.X, b.X, c.X), max(a.Y, b.Y, c.Y)}
	// Order the corners clockwise on a screen, so the inside is on the right of
	// each side.
	if side(Edge{a, b}, c) < 0 {
		b, c = c, b
	}
	sides := [3]Edge{{a, b}, {b, c}, {c, a}}
	t.stack = append(t.stack[:0], int32(t.around(tb, vb)))
	for len(t.stack) > 0 {
		i := int(t.stack[len(t.stack)-1])
		t.stack = t.stack[:len(t.stack)-1]
		n := &t.nodes[i]
		if n.X0 > tb.X1 || n.X1 < tb.X0 || n.Y0 > tb.Y1 || n.Y1 < tb.Y0 || outside(&sides, n) {
			continue
		}
		if i < t.size {
			t.stack = append(t.stack, int32(2*i), int32(2*i+1))
			continue
		}
		l := i - t.size
		for m := t.left[l]; m != 0; m &= m - 1 {
			at := l*leafSize + bits.TrailingZeros8(m)
			if at == pa || at == pb || at == pc {
				continue
			}
			p := t.points[at]
			if inBox(p, tb) && side(sides[0], p) >= 0 && side(sides[1], p) >= 0 && side(sides[2], p) >= 0 {
				return true
			}
		}
	}
	return false
}

// outside reports whether a box lies wholly beyond one side of a triangle.
func outside(sides *[3]Edge, b *Box) bool {
	for i := range sides {
		e := &sides[i]
		d := dir(*e)
		// p is the corner of the box farthest to the right of the side.
		p := Point{b.X1, b.Y0}
		if d.Y >= 0 {
			p.X = b.X0
		}
		if d.X >= 0 {
			p.Y = b.Y1
		}
		if side(*e, p) < 0 {
			return true
		}
	}
	return false
}

// curveKey returns the place of a point on the Z-order curve. Of all points in a box, the corner
// with the least coordinates comes first and the opposite one last.
func curveKey(p Point) uint64 {
	return interleave(uint32(p.X)^1<<31) | interleave(uint32(p.Y)^1<<31)<<1
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
