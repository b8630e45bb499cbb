package build

import (
	"cmp"
	"slices"
	"strings"

	"quadrille/quadkey"
	"quadrille/tiles/internal/cells"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// walker turns nodes into rows. It belongs to one goroutine.
type walker struct {
	b    *build
	mem  arena
	clip grid.Clipper
	mvt  layout.LayerWriter
	line borderWriter
	json layout.Positions
	rows *rows
	// cells are the finished answers in the current tile of zoom 8; nil to make none.
	cells *cellWriter
	// drawn are the regions of a tile in the order in which maps draw them.
	drawn []group
}

// inOrder returns the regions of a tile, the largest first. Maps draw later regions on top, so a
// region within another stays visible. The list is valid until the next call.
func (w *walker) inOrder(shown []*region, l level) level {
	w.drawn = append(w.drawn[:0], l...)
	slices.SortStableFunc(w.drawn, func(a, b group) int { return cmp.Compare(shown[b.region].area, shown[a.region].area) })
	return w.drawn
}

// subtree writes the rows of a node and of everything below it. Children come
// first, which is the order of their keys.
func (w *walker) subtree(n *node) {
	m := w.mem.mark()
	mixed := w.unfinished(n)
	if len(mixed.layers) > 0 && n.tile.Z < grid.MaxZoom {
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

// unfinished returns the node with only the layers that continue below it.
func (w *walker) unfinished(n *node) node {
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
			w.leaf(n.tile, ln)
		case nodeMixed:
			w.mixed(n.tile, ln)
		}
	}
	if n.tile.Z != cells.Zoom || w.cells == nil {
		w.rows.end()
		return
	}
	w.cells.finish(w.rows, n.tile)
	w.rows.end()
	w.cells.writeParts(w.rows, n.tile)
}

func (w *walker) leaf(t quadkey.Tile, ln *layerNode) {
	layer := &w.b.layers[ln.layer]
	w.mvt.Reset(layer.typ)
	for _, g := range w.inOrder(layer.shown, ln.levels[0]) {
		r := layer.shown[g.region]
		w.rows.cell(layer.family, r.key, func(dst []byte) []byte {
			return append(append(dst, layout.MarkLeaf), r.feature...)
		})
		w.begin(r)
		w.mvt.Ring(layout.BufferedSquare)
		w.mvt.End()
	}
	w.rows.cell(layer.familyMVT, "", func(dst []byte) []byte {
		return w.mvt.AppendTo(append(dst, layout.MarkLeaf))
	})
	if w.cells != nil {
		w.cells.leaf(w.rows, t, ln.layer, ln.levels[0])
	}
	w.b.stats.leaves.Add(1)
}

// begin starts the feature of a region's polygons.
func (w *walker) begin(r *region) {
	w.mvt.BeginRegion(mvt.Polygon, r.tag, r.id, r.name)
	w.mvt.TagInt(layout.TagColor, int64(r.color))
	if r.merged > 0 {
		w.mvt.TagInt(layout.TagMerged, int64(r.merged))
	}
}

func (w *walker) mixed(t quadkey.Tile, ln *layerNode) {
	layer := &w.b.layers[ln.layer]
	z := int(t.Z)
	shift := grid.StepShift(z)
	inner, outer := grid.TileBox(z, t.X, t.Y, false), grid.TileBox(z, t.X, t.Y, true)
	outerCorner := outer.Corner()
	innerCorner := inner.Corner()
	w.mvt.Reset(layer.typ)
	w.json.SetZoom(z)
	answers := w.cells.begin(t, ln.layer)
	written := false
	for _, g := range w.inOrder(layer.shown, ln.levels[0]) {
		r := layer.shown[g.region]
		if len(g.edges) == 0 {
			w.begin(r)
			w.mvt.Ring(layout.BufferedSquare)
			w.mvt.End()
			answers.whole(r)
			w.rows.cell(layer.family, r.key, func(dst []byte) []byte {
				dst = append(append(dst, layout.MarkMixed), r.feature...)
				return append(layout.AppendSquare(dst, t), '}')
			})
			written = true
			continue
		}
		if polys := w.clip.Polygons(g.edges, g.w, outer, shift); len(polys) > 0 {
			w.begin(r)
			w.mvt.Polygons(polys, innerCorner, shift)
			w.mvt.End()
			answers.polygons(r, polys, innerCorner)
		}
		inside := grid.CarryWinding(g.edges, outerCorner, innerCorner, g.w)
		if polys := w.clip.Polygons(g.edges, inside, inner, shift); len(polys) > 0 {
			w.rows.cell(layer.family, r.key, func(dst []byte) []byte {
				dst = append(append(dst, layout.MarkMixed), r.feature...)
				return append(layout.AppendMultiPolygon(dst, polys, w.json.Append), '}')
			})
			written = true
		}
	}
	answers.end()
	if w.mvt.Len() > 0 {
		w.line.layer(layer, ln.levels[0], outer, innerCorner, shift)
		w.rows.cell(layer.familyMVT, "", func(dst []byte) []byte {
			return w.line.AppendTo(w.mvt.AppendTo(append(dst, layout.MarkMixed)))
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
	// answers are the finished answers of each layer in a task below zoom 8.
	answers []cells.Builder
}

type rowRef struct {
	key   quadkey.Key
	part  []byte // the whole key of a row of layout.PartKey; nil for others
	cells int    // end of its cells
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

// end finishes a row: it puts the cells into the store's order, or drops a row
// without cells.
func (r *rows) end() {
	first := 0
	if len(r.keys) > 1 {
		first = r.keys[len(r.keys)-2].cells
	}
	if len(r.cells) == first {
		r.keys = r.keys[:len(r.keys)-1]
		return
	}
	slices.SortFunc(r.cells[first:], func(a, b cellRef) int {
		return cmp.Or(a.family-b.family, strings.Compare(a.qualifier, b.qualifier))
	})
	r.keys[len(r.keys)-1].cells = len(r.cells)
}
