package tiles

import (
	"slices"

	"quadrille/quadkey"
)

// group is one region's share of a level at a tile: its edges that meet the
// tile's buffered extent, and its winding number at the reference of that
// extent's north-west corner. A group without edges covers the extent.
type group struct {
	region int32
	w      int32
	edges  []edge
}

// level holds the groups of a layer at one zoom, by region.
type level []group

// layerNode is what a tile knows of a layer: the levels of its own zoom and
// the deeper ones, deepest last.
type layerNode struct {
	layer  int
	kind   nodeKind
	levels []level
}

// node is a tile during the walk, with the layers that are not finished.
type node struct {
	tile   quadkey.Tile
	layers []layerNode
}

// nodeKind is what a layer is at a tile.
type nodeKind uint8

const (
	nodeEmpty nodeKind = iota
	nodeLeaf
	nodeMixed
)

// kindOf applies the leaf rule: no edge at any level meets the buffered
// extent, and the same non-empty set of regions covers it at each.
func kindOf(levels []level) nodeKind {
	for _, l := range levels {
		for i := range l {
			if len(l[i].edges) > 0 {
				return nodeMixed
			}
		}
		if !slices.EqualFunc(l, levels[0], func(a, b group) bool { return a.region == b.region }) {
			return nodeMixed
		}
	}
	if len(levels[0]) == 0 {
		return nodeEmpty
	}
	return nodeLeaf
}

// weight is the number of edges of the deepest level: the work below a node.
func (n *node) weight() int {
	w := 0
	for i := range n.layers {
		levels := n.layers[i].levels
		for _, g := range levels[len(levels)-1] {
			w += len(g.edges)
		}
	}
	return w
}

// arena lends memory to a depth-first walk: what was taken since a mark is
// given back at once. Slices taken before growth stay valid in the old array.
type arena struct {
	edges  edgeStack
	groups []group
	levels []level
	layers []layerNode
}

type mark struct {
	edges                  edgeMark
	groups, levels, layers int
}

func (a *arena) mark() mark {
	return mark{a.edges.mark(), len(a.groups), len(a.levels), len(a.layers)}
}

func (a *arena) release(m mark) {
	a.edges.release(m.edges)
	a.groups, a.levels, a.layers = a.groups[:m.groups], a.levels[:m.levels], a.layers[:m.layers]
}

// edgeStack is a stack of edges in pieces. Edges are most of an arena, and one
// array that doubles would leave its outgrown copies in use by the slices taken
// before.
type edgeStack struct {
	pieces [][]edge
	top    int // the piece in use
}

type edgeMark struct{ top, size int }

const edgePiece = 1 << 14

func (s *edgeStack) mark() edgeMark {
	if len(s.pieces) == 0 {
		return edgeMark{}
	}
	return edgeMark{s.top, len(s.pieces[s.top])}
}

func (s *edgeStack) release(m edgeMark) {
	if len(s.pieces) == 0 {
		return
	}
	s.top = m.top
	s.pieces[s.top] = s.pieces[s.top][:m.size]
}

// room returns an empty slice at the top of the stack with room for n edges.
// What is appended to it, up to n, is kept by take.
func (s *edgeStack) room(n int) []edge {
	for s.top < len(s.pieces) {
		if p := s.pieces[s.top]; cap(p)-len(p) >= n {
			return p[len(p):]
		}
		if s.top+1 < len(s.pieces) && cap(s.pieces[s.top+1]) < n {
			s.pieces = s.pieces[:s.top+1] // too small for good
		}
		if s.top++; s.top < len(s.pieces) {
			s.pieces[s.top] = s.pieces[s.top][:0]
		}
	}
	s.pieces = append(s.pieces, make([]edge, 0, max(n, edgePiece)))
	return s.pieces[s.top]
}

func (s *edgeStack) take(edges []edge) []edge {
	p := s.pieces[s.top]
	s.pieces[s.top] = p[:len(p)+len(edges)]
	return edges[:len(edges):len(edges)]
}

// child narrows a node to one of its tile's children.
func (a *arena) child(n *node, tile quadkey.Tile) node {
	from := tileBox(int(n.tile.Z), n.tile.X, n.tile.Y, true)
	to := tileBox(int(tile.Z), tile.X, tile.Y, true)
	firstLayer := len(a.layers)
	for i := range n.layers {
		ln := &n.layers[i]
		firstLevel := len(a.levels)
		for _, l := range ln.levels[1:] {
			firstGroup := len(a.groups)
			for _, g := range l {
				w := carry(g.edges, point{from.x0, from.y0}, point{to.x0, to.y0}, g.w)
				edges := a.edges.room(len(g.edges))
				for _, e := range g.edges {
					if meets(e, to) {
						edges = append(edges, e)
					}
				}
				if edges = a.edges.take(edges); len(edges) > 0 || w > 0 {
					a.groups = append(a.groups, group{g.region, w, edges})
				}
			}
			a.levels = append(a.levels, level(a.groups[firstGroup:len(a.groups):len(a.groups)]))
		}
		levels := a.levels[firstLevel:len(a.levels):len(a.levels)]
		a.layers = append(a.layers, layerNode{ln.layer, kindOf(levels), levels})
	}
	return node{tile, a.layers[firstLayer:len(a.layers):len(a.layers)]}
}

// clone copies a node out of an arena: all its levels, or only the first,
// which is all its own row needs.
func (n *node) clone(deep bool) node {
	c := node{n.tile, make([]layerNode, len(n.layers))}
	for i, ln := range n.layers {
		if !deep {
			ln.levels = ln.levels[:1]
		}
		levels := make([]level, len(ln.levels))
		for j, l := range ln.levels {
			levels[j] = slices.Clone(l)
			for k := range levels[j] {
				levels[j][k].edges = slices.Clone(levels[j][k].edges)
			}
		}
		c.layers[i] = layerNode{ln.layer, ln.kind, levels}
	}
	return c
}

// walker turns nodes into rows. One belongs to one goroutine.
type walker struct {
	b    *build
	mem  arena
	clip clipper
	mvt  layerWriter
	line borderWriter
	rows *rows
}

// subtree writes the rows of a node and everything below it, children first,
// which is the order of their keys.
func (w *walker) subtree(n *node) {
	m := w.mem.mark()
	mixed := w.settle(n)
	if len(mixed.layers) > 0 && n.tile.Z < MaxZoom {
		for _, t := range n.tile.Children() {
			cm := w.mem.mark()
			c := w.mem.child(&mixed, t)
			w.subtree(&c)
			w.mem.release(cm)
		}
	}
	w.own(n)
	w.mem.release(m)
}

// settle returns the node with only those layers that go on below it.
func (w *walker) settle(n *node) node {
	first := len(w.mem.layers)
	for _, ln := range n.layers {
		if ln.kind == nodeMixed {
			w.mem.layers = append(w.mem.layers, ln)
		}
	}
	return node{n.tile, w.mem.layers[first:len(w.mem.layers):len(w.mem.layers)]}
}

// own writes the row of the node's own tile.
func (w *walker) own(n *node) {
	w.rows.begin(n.tile.Key())
	for i := range n.layers {
		ln := &n.layers[i]
		switch ln.kind {
		case nodeLeaf:
			w.leaf(ln)
		case nodeMixed:
			w.mixed(n.tile, ln)
		}
	}
	w.rows.end()
}

func (w *walker) leaf(ln *layerNode) {
	layer := &w.b.layers[ln.layer]
	w.mvt.Reset(layer.typ)
	for _, g := range ln.levels[0] {
		r := layer.regions[g.region]
		w.rows.cell(layer.family, r.id, func(dst []byte) []byte {
			return append(append(dst, markLeaf), r.feature...)
		})
		w.mvt.begin(r)
		w.mvt.Ring(bufferedSquare)
		w.mvt.End()
	}
	w.rows.cell(layer.familyMVT, "", func(dst []byte) []byte {
		return w.mvt.AppendTo(append(dst, markLeaf))
	})
	w.b.stats.leaves.Add(1)
}

func (w *walker) mixed(t quadkey.Tile, ln *layerNode) {
	layer := &w.b.layers[ln.layer]
	z := int(t.Z)
	shift := gridShift(z)
	inner, outer := tileBox(z, t.X, t.Y, false), tileBox(z, t.X, t.Y, true)
	outerCorner := point{outer.x0, outer.y0}
	innerCorner := point{inner.x0, inner.y0}
	w.mvt.Reset(layer.typ)
	written := false
	for _, g := range ln.levels[0] {
		r := layer.regions[g.region]
		if len(g.edges) == 0 {
			w.mvt.begin(r)
			w.mvt.Ring(bufferedSquare)
			w.mvt.End()
			w.rows.cell(layer.family, r.id, func(dst []byte) []byte {
				dst = append(append(dst, markMixed), r.feature...)
				return append(appendSquare(dst, t), '}')
			})
			written = true
			continue
		}
		if polys := w.clip.rings.polygons(w.clip.clip(g.edges, g.w, outer, shift)); len(polys) > 0 {
			w.mvt.begin(r)
			w.mvt.polygons(polys, innerCorner, shift)
			w.mvt.End()
		}
		inside := carry(g.edges, outerCorner, innerCorner, g.w)
		if polys := w.clip.rings.polygons(w.clip.clip(g.edges, inside, inner, shift)); len(polys) > 0 {
			w.rows.cell(layer.family, r.id, func(dst []byte) []byte {
				dst = append(append(dst, markMixed), r.feature...)
				return append(appendMultiPolygon(dst, polys, w.b.position[z]), '}')
			})
			written = true
		}
	}
	if w.mvt.Len() > 0 {
		w.line.layer(layer, ln.levels[0], outer, innerCorner, shift)
		w.rows.cell(layer.familyMVT, "", func(dst []byte) []byte {
			return w.line.AppendTo(w.mvt.AppendTo(append(dst, markMixed)))
		})
		written = true
	}
	if written {
		w.b.stats.mixed.Add(1)
	}
}

// rows collects finished rows in order.
type rows struct {
	keys  []rowRef
	cells []cellRef
	bytes []byte
}

type rowRef struct {
	key   quadkey.Key
	cells int // end of its cells
}

type cellRef struct {
	family    int // index into build.families, which are sorted by name
	qualifier string
	end       int // end of its value in bytes
	start     int
}

func (r *rows) reset() {
	r.keys, r.cells, r.bytes = r.keys[:0], r.cells[:0], r.bytes[:0]
}

func (r *rows) begin(k quadkey.Key) { r.keys = append(r.keys, rowRef{key: k}) }

func (r *rows) cell(family int, qualifier string, value func([]byte) []byte) {
	start := len(r.bytes)
	r.bytes = value(r.bytes)
	r.cells = append(r.cells, cellRef{family, qualifier, len(r.bytes), start})
}

// end finishes a row: its cells in the store's order, or no row at all.
func (r *rows) end() {
	first := 0
	if len(r.keys) > 1 {
		first = r.keys[len(r.keys)-2].cells
	}
	if len(r.cells) == first {
		r.keys = r.keys[:len(r.keys)-1]
		return
	}
	// Within a family the regions came in order; families interleave.
	slices.SortStableFunc(r.cells[first:], func(a, b cellRef) int { return a.family - b.family })
	r.keys[len(r.keys)-1].cells = len(r.cells)
}
