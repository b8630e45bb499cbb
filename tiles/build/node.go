package build

import (
	"slices"

	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
)

// group is one region's share of a level at a tile: its edges that meet the
// tile's buffered extent, and its winding number at the reference of that
// extent's north-west corner. A group without edges covers the extent.
type group struct {
	region int32
	w      int32
	edges  []grid.Edge
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
