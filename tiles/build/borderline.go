package build

import (
	"cmp"
	"slices"

	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// borderWriter writes the borders in a tile as lines for maps to stroke. The
// outlines of the polygons in a tile would also show where the tile was cut.
type borderWriter struct {
	layout.LayerWriter
	numbers grid.EdgeTable // of sides, or of points in junctions
	sides   []borderSides
	pieces  []piece

	// These are of the current pair of regions.
	junctions []junction
	starts    []int32 // pieces
	path      []grid.Point
}

// borderSides is a line with the first region on either side of it, or none.
type borderSides struct {
	up             grid.Edge
	along, against int32 // the region is on the right along the line, or against it
}

// piece is a piece of border between two regions of a layer. The first is on
// its right. left is none if no region of the layer lies there.
type piece struct {
	right, left int32
	e           grid.Edge
	from, to    int32 // junctions
	taken       bool
}

const none = -1

// junction is a point at which pieces of a pair of regions begin and end.
type junction struct {
	in, out int32
	piece   int32 // one that begins here
}

// passed reports whether one piece ends at the point and one begins.
func (j *junction) passed() bool { return j.in == 1 && j.out == 1 }

// layer writes the borders of a layer inside a box as a vector layer whose
// coordinates start at origin.
func (w *borderWriter) layer(l *buildLayer, groups level, b grid.Box, origin grid.Point, shift uint) {
	w.Reset(l.typ + layout.LayerLine)
	w.collect(groups, b, shift)
	for i := 0; i < len(w.pieces); {
		from := i
		for i++; i < len(w.pieces) && w.pieces[i].right == w.pieces[from].right && w.pieces[i].left == w.pieces[from].left; i++ {
		}
		p := w.pieces[from]
		w.Begin(0, mvt.LineString)
		w.TagString(layout.TagRight, l.shown[p.right].id)
		if p.left != none {
			w.TagString(layout.TagLeft, l.shown[p.left].id)
		}
		w.lines(w.pieces[from:i], origin, shift)
		w.End()
	}
}

// collect fills pieces, sorted by regions.
func (w *borderWriter) collect(groups level, b grid.Box, shift uint) {
	w.sides, w.pieces = w.sides[:0], w.pieces[:0]
	edges := 0
	for i := range groups {
		edges += len(groups[i].edges)
	}
	w.numbers.Reset(edges)
	for _, g := range groups {
		for _, e := range g.edges {
			along := e.Upward()
			if !along {
				e = e.Reversed()
			}
			i := int(w.numbers.Number(e, int32(len(w.sides))))
			if i == len(w.sides) {
				w.sides = append(w.sides, borderSides{e, none, none})
			}
			// Where regions overlap, several may lie on one side. The first represents them all.
			switch s := &w.sides[i]; {
			case along && s.along == none:
				s.along = g.region
			case !along && s.against == none:
				s.against = g.region
			}
		}
	}
	for _, s := range w.sides {
		part, ok := grid.ClipEdge(s.up, b, shift)
		switch {
		case !ok:
		case s.along == none || s.against != none && s.against < s.along:
			w.pieces = append(w.pieces, piece{right: s.against, left: s.along, e: part.Reversed()})
		default:
			w.pieces = append(w.pieces, piece{right: s.along, left: s.against, e: part})
		}
	}
	slices.SortFunc(w.pieces, func(p, q piece) int {
		if p.right != q.right {
			return cmp.Compare(p.right, q.right)
		}
		return cmp.Compare(p.left, q.left)
	})
}

// lines joins the pieces of a pair of regions into lines. These are in the order of their first
// pieces, rings last. A ring begins with its least piece.
func (w *borderWriter) lines(pieces []piece, origin grid.Point, shift uint) {
	w.join(pieces)
	w.starts = w.starts[:0]
	for i := range pieces {
		if !w.junctions[pieces[i].from].passed() {
			w.starts = append(w.starts, int32(i))
		}
	}
	w.draw(pieces, origin, shift)
	w.starts = w.starts[:0]
	for i := range pieces {
		if pieces[i].taken {
			continue
		}
		first := int32(i)
		for j := first; !pieces[j].taken; j = w.follow(&pieces[j]) {
			pieces[j].taken = true
			if grid.ComparePoints(pieces[j].e.A, pieces[first].e.A) < 0 {
				first = j
			}
		}
		w.starts = append(w.starts, first)
	}
	w.draw(pieces, origin, shift)
}

// join finds the junctions of the pieces of a pair of regions.
func (w *borderWriter) join(pieces []piece) {
	w.junctions = w.junctions[:0]
	w.numbers.Reset(2 * len(pieces))
	at := func(p grid.Point) int32 {
		n := w.numbers.Number(grid.Edge{A: p, B: p}, int32(len(w.junctions)))
		if int(n) == len(w.junctions) {
			w.junctions = append(w.junctions, junction{})
		}
		return n
	}
	for i := range pieces {
		p := &pieces[i]
		p.from, p.to = at(p.e.A), at(p.e.B)
		w.junctions[p.from].out++
		w.junctions[p.from].piece = int32(i)
		w.junctions[p.to].in++
	}
}

// follow returns the piece that continues a piece, or none.
func (w *borderWriter) follow(p *piece) int32 {
	if j := &w.junctions[p.to]; j.passed() {
		return j.piece
	}
	return none
}

// draw draws the lines that begin with the pieces in starts.
func (w *borderWriter) draw(pieces []piece, origin grid.Point, shift uint) {
	slices.SortFunc(w.starts, func(i, j int32) int { return grid.CompareEdges(pieces[i].e, pieces[j].e) })
	for _, first := range w.starts {
		w.path = append(w.path[:0], pieces[first].e.A.In(origin, shift))
		for i := first; ; {
			pieces[i].taken = true
			w.path = append(w.path, pieces[i].e.B.In(origin, shift))
			if i = w.follow(&pieces[i]); i == none || i == first {
				break
			}
		}
		w.Line(w.path)
	}
}
