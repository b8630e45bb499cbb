package build

import (
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
)

// arena lends memory to a depth-first walk. release returns everything taken
// since a mark at once. Slices taken before the arena grew stay valid in the
// old array.
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

// edgeStack is a stack of edges in pieces. Edges are most of an arena. A single
// array that doubles would keep its outgrown copies alive for as long as
// earlier slices use them.
type edgeStack struct {
	pieces [][]grid.Edge
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

// room returns an empty slice at the top of the stack with room for n edges. take keeps the edges
// that the caller has appended to it, up to n.
func (s *edgeStack) room(n int) []grid.Edge {
	for s.top < len(s.pieces) {
		if p := s.pieces[s.top]; cap(p)-len(p) >= n {
			return p[len(p):]
		}
		if s.top+1 < len(s.pieces) && cap(s.pieces[s.top+1]) < n {
			s.pieces = s.pieces[:s.top+1] // skip the pieces that are too small, for good
		}
		if s.top++; s.top < len(s.pieces) {
			s.pieces[s.top] = s.pieces[s.top][:0]
		}
	}
	s.pieces = append(s.pieces, make([]grid.Edge, 0, max(n, edgePiece)))
	return s.pieces[s.top]
}

func (s *edgeStack) take(edges []grid.Edge) []grid.Edge {
	p := s.pieces[s.top]
	s.pieces[s.top] = p[:len(p)+len(edges)]
	return edges[:len(edges):len(edges)]
}

// meeting returns the edges that meet a box. If all of them do, it returns the same slice: a layer
// that lies within one tile is then not copied at every zoom above the tile.
func (a *arena) meeting(edges []grid.Edge, b grid.Box) []grid.Edge {
	n := 0
	for n < len(edges) && grid.Meets(edges[n], b) {
		n++
	}
	if n == len(edges) {
		return edges
	}
	met := append(a.edges.room(len(edges)), edges[:n]...)
	for _, e := range edges[n+1:] {
		if !e.Beyond(b) && (e.EndsIn(b) || grid.Meets(e, b)) {
			met = append(met, e)
		}
	}
	return a.edges.take(met)
}

// child narrows a node to one child of its tile.
func (a *arena) child(n *node, tile quadkey.Tile) node {
	from := grid.TileBox(int(n.tile.Z), n.tile.X, n.tile.Y, true)
	to := grid.TileBox(int(tile.Z), tile.X, tile.Y, true)
	firstLayer := len(a.layers)
	for i := range n.layers {
		ln := &n.layers[i]
		firstLevel := len(a.levels)
		for _, l := range ln.levels[1:] {
			firstGroup := len(a.groups)
			for _, g := range l {
				w := grid.CarryWinding(g.edges, from.Corner(), to.Corner(), g.w)
				if edges := a.meeting(g.edges, to); len(edges) > 0 || w > 0 {
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
