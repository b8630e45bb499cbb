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
	sides  []borderSide
	pieces []piece
	into   map[grid.Point]int32 // number of pieces of the current pair that end at a point
	path   []grid.Point
}

// borderSide says on which side of a line a region lies. Along the line the region is on the right;
// against it, on the left.
type borderSide struct {
	up     grid.Edge
	region int32
	along  bool
}

// piece is a piece of border between two regions of a layer. The first is on
// its right. left is none if no region of the layer lies there.
type piece struct {
	right, left int32
	e           grid.Edge
}

const none = -1

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

// collect fills pieces, sorted by regions and then by start point.
func (w *borderWriter) collect(groups level, b grid.Box, shift uint) {
	w.sides, w.pieces = w.sides[:0], w.pieces[:0]
	for _, g := range groups {
		for _, e := range g.edges {
			if e.Upward() {
				w.sides = append(w.sides, borderSide{e, g.region, true})
			} else {
				w.sides = append(w.sides, borderSide{e.Reversed(), g.region, false})
			}
		}
	}
	slices.SortFunc(w.sides, func(s, t borderSide) int {
		return cmp.Or(grid.CompareEdges(s.up, t.up), cmp.Compare(s.region, t.region))
	})
	for i := 0; i < len(w.sides); {
		// Where regions overlap, several may lie on one side. The first represents them all.
		e := w.sides[i].up
		along, against := int32(none), int32(none)
		for ; i < len(w.sides) && w.sides[i].up == e; i++ {
			switch s := w.sides[i]; {
			case s.along && along == none:
				along = s.region
			case !s.along && against == none:
				against = s.region
			}
		}
		part, ok := grid.ClipEdge(e, b, shift)
		if !ok {
			continue
		}
		p := piece{along, against, part}
		if along == none || against != none && against < along {
			p = piece{against, along, p.e.Reversed()}
		}
		w.pieces = append(w.pieces, p)
	}
	slices.SortFunc(w.pieces, func(p, q piece) int {
		return cmp.Or(cmp.Compare(p.right, q.right), cmp.Compare(p.left, q.left), grid.CompareEdges(p.e, q.e))
	})
}

// lines joins the pieces of each pair of regions into lines.
func (w *borderWriter) lines(pieces []piece, origin grid.Point, shift uint) {
	if w.into == nil {
		w.into = make(map[grid.Point]int32)
	}
	clear(w.into)
	for _, p := range pieces {
		w.into[p.e.B]++
	}
	// follow returns the only piece that leaves a point at which only one piece arrives.
	follow := func(at grid.Point) int {
		i, _ := slices.BinarySearchFunc(pieces, at, func(p piece, at grid.Point) int { return grid.ComparePoints(p.e.A, at) })
		if w.into[at] != 1 || i == len(pieces) || pieces[i].e.A != at || i+1 < len(pieces) && pieces[i+1].e.A == at {
			return none
		}
		return i
	}
	const taken = -2
	draw := func(i int) {
		w.path = append(w.path[:0], pieces[i].e.A.In(origin, shift))
		for i != none && pieces[i].left != taken {
			pieces[i].left = taken
			w.path = append(w.path, pieces[i].e.B.In(origin, shift))
			i = follow(pieces[i].e.B)
		}
		w.Line(w.path)
	}
	for i, p := range pieces { // pieces that follow no other come first
		if p.left != taken && follow(p.e.A) != i {
			draw(i)
		}
	}
	for i, p := range pieces { // rings
		if p.left != taken {
			draw(i)
		}
	}
}
