package points

import (
	"encoding/binary"
	"sync"

	"quadrille/quadkey"
)

// leafPoints bounds the points of a leaf, unless it cannot be divided.
const leafPoints = 32

// counted is the data of a point in the tree.
type counted struct {
	position
	bits uint64
}

// node is a tile of the tree.
type node struct {
	child uint32 // the first of its four children, which are neighbours; 0 for a leaf
	count uint32 // points
	// held counts points that have left, but are still visible to running queries.
	held     uint32
	lat, lon int64  // sums over the points, in units
	bits     uint64 // of all points that have ever been in it
}

// nodeBytes is the length of a stored node.
const nodeBytes = 32

// tree counts points by tile. The root, which is the world, is node 0. Any number of
// goroutines may read it while one changes it.
type tree struct {
	mu    sync.RWMutex
	nodes []node
	free  []uint32 // first of each four unused nodes
}

func newTree() *tree { return &tree{nodes: make([]node, 1, 4)} }

// path calls fn with the nodes that a point is in, from the world to the leaf.
func (t *tree) path(key quadkey.PointKey, fn func(at uint32, n *node)) (leaf uint32, z uint8) {
	at := uint32(0)
	for {
		n := &t.nodes[at]
		fn(at, n)
		if n.child == 0 {
			return at, z
		}
		at = n.child + uint32(key.Child(z))
		z++
	}
}

// take counts a point in a node.
func (n *node) take(c *counted) {
	n.count++
	n.lat += int64(c.lat)
	n.lon += int64(c.lon)
	n.bits |= c.bits
}

// give removes a point from the counts of a node.
func (n *node) give(c *counted) {
	n.count--
	n.lat -= int64(c.lat)
	n.lon -= int64(c.lon)
}

// full reports whether a leaf should be divided.
func (n *node) full(z uint8) bool { return n.count > leafPoints && z < quadkey.MaxZoom }

// expect announces arriving points. Their tiles are searched from now on.
func (t *tree) expect(arrived []counted) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range arrived {
		t.path(arrived[i].key, func(_ uint32, n *node) {
			n.held++
			n.bits |= arrived[i].bits
		})
	}
}

// settle counts the expected points as arrived, and the points in left as held. The tiles of held
// points are searched until drop. settle appends the tiles of leaves that should now be divided to
// full.
func (t *tree) settle(arrived, left []counted, full []quadkey.Tile) []quadkey.Tile {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range left {
		t.path(left[i].key, func(_ uint32, n *node) {
			n.give(&left[i])
			n.held++
		})
	}
	for i := range arrived {
		leaf, z := t.path(arrived[i].key, func(_ uint32, n *node) {
			n.held--
			n.take(&arrived[i])
		})
		if t.nodes[leaf].full(z) {
			full = append(full, arrived[i].key.Tile(z))
		}
	}
	return full
}

// forget reverses expect for points that did not arrive.
func (t *tree) forget(arrived []counted) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range arrived {
		t.path(arrived[i].key, func(_ uint32, n *node) { n.held-- })
	}
}

// mark adds the bits of a point that is counted already.
func (t *tree) mark(c *counted) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.path(c.key, func(_ uint32, n *node) { n.bits |= c.bits })
}

// shift corrects the sums for points that have moved within their keys, as they can near
// the poles.
func (t *tree) shift(moved [][2]position) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range moved {
		if m[0] == m[1] {
			continue
		}
		t.path(m[0].key, func(_ uint32, n *node) {
			n.lat += int64(m[1].lat) - int64(m[0].lat)
			n.lon += int64(m[1].lon) - int64(m[0].lon)
		})
	}
}

// drop removes points that have left and that no answer sees any more. Tiles with few points left
// become leaves. drop returns the nodes below such tiles, each group of four by its first node.
// Pass them to reuse once no search can refer to them.
func (t *tree) drop(left []counted) (unlinked []uint32) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range left {
		few := uint32(0)
		t.path(left[i].key, func(at uint32, n *node) {
			n.held--
			if few == 0 && at != 0 && n.child != 0 && n.count+n.held <= leafPoints/2 {
				few = at
			}
		})
		if few != 0 {
			unlinked = t.unlink(unlinked, few)
		}
	}
	return unlinked
}

// unlink makes a leaf of a node.
func (t *tree) unlink(unlinked []uint32, at uint32) []uint32 {
	first := t.nodes[at].child
	t.nodes[at].child = 0
	unlinked = append(unlinked, first)
	for i := first; i < first+4; i++ {
		if t.nodes[i].child != 0 {
			unlinked = t.unlink(unlinked, i)
		}
	}
	return unlinked
}

// reuse frees nodes that drop returned.
func (t *tree) reuse(unlinked []uint32) {
	t.mu.Lock()
	t.free = append(t.free, unlinked...)
	t.mu.Unlock()
}

// divide gives children to the leaf of a tile, and to its children in turn. points are the points
// in the leaf, and left the points that have left it but are still held. If answers for earlier
// states may see the leaf, its children get all its bits, because the points may have had other
// values at that time.
func (t *tree) divide(tile quadkey.Tile, points, left []counted, seen bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	first, _ := tile.PointKeys()
	leaf, z := t.path(first, func(uint32, *node) {})
	if z != tile.Z {
		return // already divided, or merged
	}
	t.split(leaf, z, points, left)
	if seen {
		t.spread(leaf, t.nodes[leaf].bits)
	}
}

// spread sets bits in all nodes below a node.
func (t *tree) spread(at uint32, bits uint64) {
	first := t.nodes[at].child
	if first == 0 {
		return
	}
	for i := first; i < first+4; i++ {
		t.nodes[i].bits |= bits
		t.spread(i, bits)
	}
}

func (t *tree) split(leaf uint32, z uint8, points, left []counted) {
	first := t.four()
	for i := range points {
		t.nodes[first+uint32(points[i].key.Child(z))].take(&points[i])
	}
	for i := range left {
		n := &t.nodes[first+uint32(left[i].key.Child(z))]
		n.held++
		n.bits |= left[i].bits
	}
	t.nodes[leaf].child = first
	for i := range uint32(4) {
		if t.nodes[first+i].full(z + 1) {
			t.split(first+i, z+1, childOf(points, z, int(i)), childOf(left, z, int(i)))
		}
	}
}

// childOf returns the points in a child of a tile of a zoom.
func childOf(points []counted, z uint8, child int) (list []counted) {
	for _, p := range points {
		if p.key.Child(z) == child {
			list = append(list, p)
		}
	}
	return list
}

// four returns the first of four nodes for new tiles.
func (t *tree) four() uint32 {
	if last := len(t.free) - 1; last >= 0 {
		first := t.free[last]
		t.free = t.free[:last]
		clear(t.nodes[first : first+4])
		return first
	}
	t.nodes = append(t.nodes, node{}, node{}, node{}, node{})
	return uint32(len(t.nodes) - 4)
}

// planter makes a tree of points, which come in the order of their keys. It keeps only the points
// of the growing leaf, the last ones.
type planter struct {
	tree  *tree
	leaf  []counted
	first quadkey.PointKey // of the leaf
	last  quadkey.PointKey
}

func newPlanter() *planter { return &planter{tree: newTree(), last: ^quadkey.PointKey(0)} }

// add adds the next point.
func (p *planter) add(c *counted) {
	leaf, z := p.tree.path(c.key, func(_ uint32, n *node) { n.take(c) })
	if c.key < p.first || c.key > p.last {
		p.leaf = p.leaf[:0]
		p.first, p.last = c.key.Tile(z).PointKeys()
	}
	if z == quadkey.MaxZoom {
		return // never divided
	}
	p.leaf = append(p.leaf, *c)
	if !p.tree.nodes[leaf].full(z) {
		return
	}
	p.tree.split(leaf, z, p.leaf, nil)
	_, z = p.tree.path(c.key, func(uint32, *node) {})
	p.first, p.last = c.key.Tile(z).PointKeys()
	kept := p.leaf[:0]
	for _, o := range p.leaf {
		if o.key >= p.first && o.key <= p.last {
			kept = append(kept, o)
		}
	}
	p.leaf = kept
}

// branch is a search's copy of a node.
type branch struct {
	at    uint32
	tile  quadkey.Tile
	leaf  bool
	count uint32 // points, as of now
	held  uint32 // further points that answers may find
	bits  uint64
	lat   int64
	lon   int64
}

func (t *tree) branch(at uint32, tile quadkey.Tile) branch {
	n := &t.nodes[at]
	return branch{at, tile, n.child == 0, n.count, n.held, n.bits, n.lat, n.lon}
}

// root returns the world.
func (t *tree) root() branch {
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.branch(0, quadkey.Tile{})
}

// children returns the children of a branch, or false if it has become a leaf.
func (t *tree) children(b *branch) (four [4]branch, ok bool) {
	tiles := b.tile.Children()
	t.mu.RLock()
	defer t.mu.RUnlock()
	first := t.nodes[b.at].child
	if first == 0 {
		return four, false
	}
	for i := range four {
		four[i] = t.branch(first+uint32(i), tiles[i])
	}
	return four, true
}

// find returns the smallest branch that holds a tile: its own, or a leaf around it.
func (t *tree) find(tile quadkey.Tile) branch {
	first, _ := tile.PointKeys()
	t.mu.RLock()
	defer t.mu.RUnlock()
	at := uint32(0)
	z := uint8(0)
	for z < tile.Z && t.nodes[at].child != 0 {
		at = t.nodes[at].child + uint32(first.Child(z))
		z++
	}
	return t.branch(at, tile.Ancestor(z))
}

// appendTo appends the stored form of nodes, beginning with node number from. most bounds their
// number.
func (t *tree) appendTo(dst []byte, from, most int) []byte {
	for _, n := range t.nodes[from:min(from+most, len(t.nodes))] {
		dst = binary.BigEndian.AppendUint32(dst, n.child)
		dst = binary.BigEndian.AppendUint32(dst, n.count)
		dst = binary.BigEndian.AppendUint64(dst, uint64(n.lat))
		dst = binary.BigEndian.AppendUint64(dst, uint64(n.lon))
		dst = binary.BigEndian.AppendUint64(dst, n.bits)
	}
	return dst
}

// read adds stored nodes, and reports whether they are plausible.
func (t *tree) read(b []byte) bool {
	if len(b)%nodeBytes != 0 {
		return false
	}
	for ; len(b) > 0; b = b[nodeBytes:] {
		t.nodes = append(t.nodes, node{
			child: binary.BigEndian.Uint32(b), count: binary.BigEndian.Uint32(b[4:]),
			lat: int64(binary.BigEndian.Uint64(b[8:])), lon: int64(binary.BigEndian.Uint64(b[16:])),
			bits: binary.BigEndian.Uint64(b[24:]),
		})
	}
	return true
}

// sound reports whether read nodes are a tree: the children of a node come after it, have the same
// number of points in all, and are tiles.
func (t *tree) sound() bool {
	depth := make([]uint8, len(t.nodes))
	for i, n := range t.nodes {
		if n.child == 0 {
			continue
		}
		if int64(n.child) <= int64(i) || int64(n.child)+4 > int64(len(t.nodes)) || depth[i] == quadkey.MaxZoom {
			return false
		}
		var sum uint64
		for c := n.child; c < n.child+4; c++ {
			sum += uint64(t.nodes[c].count)
			depth[c] = depth[i] + 1
		}
		if sum != uint64(n.count) {
			return false
		}
	}
	return len(t.nodes) > 0
}
