package build

import (
	"slices"

	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
)

// group is the part of a level that belongs to one region at a tile: the edges that meet the tile's
// buffered extent, and the winding number at the reference of that extent's north-west corner. A
// group without edges covers the extent.
type group struct {
	region int32
	w      int32
	edges  []grid.Edge
}

// level holds the groups of a layer at one zoom, by region.
type level []group

// layerNode is the part of a layer at a tile: the levels of the tile's zoom and
// deeper, deepest last.
type layerNode struct {
	layer  int
	kind   nodeKind
	levels []level
}

// node is a tile during the walk, with its unfinished layers.
type node struct {
	tile   quadkey.Tile
	layers []layerNode
}

// nodeKind is the kind of row a layer has at a tile.
type nodeKind uint8

const (
	nodeEmpty nodeKind = iota
	nodeLeaf
	nodeMixed
)

// kindOf applies the leaf rule: a node is a leaf if, at each level, no edge
// meets the buffered extent and the same non-empty set of regions covers it.
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

// weight estimates the work below a node by the number of edges of the deepest
// level.
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

// clone copies a node out of an arena. A deep clone has all levels. Any other
// has only the first, which is all that the node's own row needs.
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
