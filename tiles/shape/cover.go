package shape

import (
	"context"
	"errors"
	"math"
	"slices"

	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/internal/sphere"
)

// part is a run of cells of an area: cells that are in it as a whole, or a tile that may have some of it.
type part struct {
	quadkey.Range
	whole bool
	edges []int32 // of a tile: those that can be within the radius of its points
	// anchors are the beginnings of lines and shells in these cells, if the area has no border.
	anchors []quadkey.Position
}

// These bound the division of the world into the tiles along the edges of an area. Smaller tiles have fewer
// points that must be compared with the edges.
const (
	fewestTiles, mostTiles = 1024, 4096
	// mostListed bounds how often an edge is listed for tiles, on average.
	mostListed = 8
	// poleZoom is the zoom of the tiles that are compared with an area for their pole alone.
	poleZoom = 6
	// narrowZoom is the first zoom of tiles that are at most 45° wide.
	narrowZoom = 3
)

// piece is a part that may be divided.
type piece struct {
	part
	open bool
}

// cover divides the world into parts.
func (a *Area) cover() {
	all := make([]int32, len(a.edges))
	for i := range all {
		all[i] = int32(i) //nolint:gosec // of MaxVertices
	}
	pieces := a.appendTile(nil, a.around(), all)
	enough := max(fewestTiles, min(len(a.edges), mostTiles))
	for z := range quadkey.CellZoom {
		open, listed := 0, 0
		for i := range pieces {
			if pieces[i].open {
				open, listed = open+1, listed+len(pieces[i].edges)
			}
		}
		if open == 0 || len(pieces) >= enough || z > narrowZoom && listed > mostListed*len(a.edges)+fewestTiles {
			break
		}
		next := make([]piece, 0, 2*len(pieces)+4)
		for i := range pieces {
			if p := &pieces[i]; !p.open {
				next = appendPiece(next, *p)
			} else {
				for _, child := range tileOf(p.Range).Children() {
					next = a.appendTile(next, child, p.edges)
				}
			}
		}
		pieces = next
	}
	a.parts = make([]part, len(pieces))
	for i := range pieces {
		if a.parts[i] = pieces[i].part; a.HasBorder() {
			a.parts[i].edges = nil
		}
	}
	if !a.HasBorder() {
		a.setAnchors()
	}
}

// around returns a small tile with all points of the area.
func (a *Area) around() (t quadkey.Tile) {
	b := a.box
	if a.radius > 0 || b.West < -180 || b.East >= 180 || b.South == -90 || b.North == 90 {
		return t
	}
	for z := uint8(1); z <= quadkey.CellZoom; z++ {
		nw, err := quadkey.TileAt(b.West, b.North, z)
		se, _ := quadkey.TileAt(b.East, b.South, z)
		if err != nil || nw != se {
			break
		}
		t = nw
	}
	return t
}

// tileOf returns the tile of the cells of a piece.
func tileOf(r quadkey.Range) (t quadkey.Tile) {
	for t = range r.Tiles() {
		break
	}
	return t
}

// appendPiece appends a piece. Whole neighbours become one.
func appendPiece(to []piece, p piece) []piece {
	if n := len(to) - 1; n >= 0 && p.whole && to[n].whole && to[n].Last+1 == p.First {
		to[n].Last = p.Last
		return to
	}
	return append(to, p)
}

// appendTile appends a tile if it may have a point of the area. edges are those of the tile that it is in.
func (a *Area) appendTile(to []piece, t quadkey.Tile, edges []int32) []piece {
	g := a.groundOf(t)
	p := piece{open: t.Z < quadkey.CellZoom}
	p.First, p.Last = t.CellRange()
	p.edges, p.whole = a.near(&g, edges)
	pole := g.South == -90 && a.poles[0] || g.North == 90 && a.poles[1]
	switch {
	case p.whole:
	case len(p.edges) > 0:
		return appendPiece(to, p)
	case a.inside(g.lon, g.lat):
		p.whole = true
	case pole:
		p.open = t.Z < poleZoom
	default:
		return to
	}
	if p.whole {
		p.open, p.edges = false, nil
	}
	return appendPiece(to, p)
}

// near returns those of some edges that may be within the radius of a point of a tile, and whether all its
// points are within the radius.
func (a *Area) near(g *ground, edges []int32) (some []int32, whole bool) {
	if a.radius == 0 {
		for _, i := range edges {
			if e := &a.edges[i]; e.meets(&g.Box) && (!e.isPole() || a.rings[e.ring].kind == line) {
				some = append(some, i)
			}
		}
		return some, false
	}
	if g.reach == MaxRadius {
		return edges, false
	}
	beside := false
	inner, outer, own := sphere.ChordOf(a.radius-g.reach), sphere.ChordOf(min(a.radius+g.reach, MaxRadius)), sphere.ChordOf(g.reach)
	for _, i := range edges {
		switch {
		case a.radius > g.reach && a.isNear(i, g.middle, inner):
			return nil, true
		case a.isNear(i, g.middle, outer):
			some = append(some, i)
			beside = beside || a.isNear(i, g.middle, own)
		}
	}
	return some, len(some) > 0 && !beside && a.inside(g.lon, g.lat)
}

// ground is the box of the points of a tile, in degrees and a little wider. With a radius it has also a
// circle around them.
type ground struct {
	quadkey.Box
	lon, lat float64 // the middle
	middle   sphere.Vec
	reach    float64 // metres from the middle to the farthest point, or more
}

func (a *Area) groundOf(t quadkey.Tile) (g ground) {
	const wider = 1e-9
	g.Box = t.Bound()
	if t.Y == 0 {
		g.North = 90
	}
	if t.Y == 1<<t.Z-1 {
		g.South = -90
	}
	g.lon, g.lat = (g.West+g.East)/2, (g.South+g.North)/2
	if g.reach = MaxRadius; a.radius > 0 {
		g.middle = sphere.At(g.lon, g.lat)
	}
	if a.radius > 0 && t.Z >= narrowZoom { // the farthest point of a tile that is at most 45° wide is a corner
		g.reach = 0.01 + max(quadkey.Distance(g.lon, g.lat, g.West, g.South), quadkey.Distance(g.lon, g.lat, g.West, g.North))
	}
	g.West, g.East = g.West-wider, g.East+wider
	g.South, g.North = max(-90, g.South-wider), min(90, g.North+wider)
	return g
}

// from returns the number of the first part that ends at a cell or after it.
func (a *Area) from(c quadkey.Cell) int {
	i, _ := slices.BinarySearchFunc(a.parts, c, func(p part, c quadkey.Cell) int {
		if p.Last < c {
			return -1
		}
		return 1
	})
	return i
}

// Cover implements feature.Area. Only areas of polygons have borders; with a radius or lines, features that are not points
// are compared by their distance from the geometry, to within two millimetres. An error about borders matches ErrGeometry.
func (a *Area) Cover(ctx context.Context, from quadkey.Cell, fn func(p *feature.AreaPart) error) error {
	w := walk{of: a}
	contains := func(at quadkey.Position) (bool, error) { return a.holds(w.part, at), nil }
	reaches := func(l *feature.Line) (bool, int) { return a.reaches(w.part, l) }
	for i := a.from(from); i < len(a.parts); i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		w.part = &a.parts[i]
		p := feature.AreaPart{Cells: w.part.Range}
		if !w.part.whole {
			p.Contains = contains
			if a.HasBorder() {
				p.Border = w.outline
			} else {
				p.Reaches, p.Anchors = reaches, w.part.anchors
			}
		}
		if err := fn(&p); err != nil {
			return err
		}
	}
	return nil
}

// CheckBorder returns an error unless regions can be compared with the area. It prepares its border, if it has one.
func (a *Area) CheckBorder() error {
	if !a.HasBorder() {
		return nil
	}
	_, err := a.outlines()
	return err
}

// HasBorder reports whether the area is of polygons alone, without a radius. Features that are not points are compared
// with them by the ground that they share, and with any other area by distances.
func (a *Area) HasBorder() bool { return a.radius == 0 && !a.lines }

// walk is the state of one Cover.
type walk struct {
	of     *Area
	part   *part
	border feature.Border
	polar  [2]bool // whether the border of the north, the south cap was given
	clip   grid.Clipper
	edges  []grid.Edge // of the border in the columns of the part
}

// outline returns the border of the area in the tile of the part.
func (w *walk) outline() (*feature.Border, error) {
	b, err := w.of.outlines()
	if err != nil {
		return nil, err
	}
	t := tileOf(w.part.Range)
	box := grid.TileBox(int(t.Z), t.X, t.Y, false)
	w.edges = w.edges[:0]
	west := func(i int32) float64 { return float64(min(b.mercator[i].A.X, b.mercator[i].B.X)) }
	b.columns.between(float64(box.X0), float64(box.X1), west, func(i int32) { w.edges = append(w.edges, b.mercator[i]) })
	w.border.Mercator = w.rings(w.border.Mercator[:0], w.edges, box)
	w.border.Polar = w.border.Polar[:0]
	for i, rim := range [2]uint32{0, 1<<t.Z - 1} {
		if t.Y == rim && !w.polar[i] {
			w.polar[i] = true
			w.border.Polar = w.rings(w.border.Polar, b.plate, layout.PolarCaps[i].Box)
		}
	}
	return &w.border, nil
}

func (w *walk) rings(dst []feature.Ring, edges []grid.Edge, in grid.Box) []feature.Ring {
	for _, p := range w.clip.Polygons(edges, grid.WindingFromNorth(edges, in.Corner()), in, 0) {
		for _, r := range p {
			ring := make(feature.Ring, len(r))
			for i, at := range r {
				ring[i] = [2]int32{at.X, at.Y}
			}
			dst = append(dst, ring)
		}
	}
	return dst
}

// outlines has the border of an area on the grid of the world.
type outlines struct {
	mercator, plate []grid.Edge // plate is in plate carrée
	drawn           []grid.Edge // the same as plate, without borders of polygons being joined
	columns         rows        // of mercator, by x
	err             error
}

const (
	// mostBends bounds the edges of a border on the map, where a long oblique line is bent.
	mostBends = 1 << 19
	// mostCrossings bounds the crossings in excess of four per edge.
	mostCrossings = 1 << 14
)

func (a *Area) outlines() (*outlines, error) {
	a.once.Do(func() {
		b := &a.border
		b.err = a.checkBends()
		draw := func(pr layout.Projection) (chain, border []grid.Edge) {
			o := grid.NewOutliner()
			o.LimitCrossings(mostCrossings)
			if b.err == nil {
				chain, b.err = layout.Outline(o, a.polygons, pr)
			}
			if b.err == nil {
				border, b.err = o.Dissolve(chain)
			}
			return chain, border
		}
		_, b.mercator = draw(layout.Mercator)
		b.drawn, b.plate = draw(layout.PlateCarree)
		b.columns = rowsOf(len(b.mercator), func(i int32) (low, high float64) {
			e := b.mercator[i]
			return float64(min(e.A.X, e.B.X)), float64(max(e.A.X, e.B.X))
		})
		if b.err != nil && !errors.Is(b.err, ErrGeometry) {
			b.err = refuse("%s", b.err)
		}
	})
	return &a.border, a.border.err
}

// checkBends refuses polygons whose edges would have to be bent too often.
func (a *Area) checkBends() error {
	bends := 0.0
	for i := range a.edges {
		e := &a.edges[i]
		if e.a[0] == e.b[0] {
			continue
		}
		// The line is farthest from its chord by about y″/8 of the square of its height; half a unit is left.
		sin, cos := math.Sincos(min(max(math.Abs(e.a[1]), math.Abs(e.b[1])), quadkey.MaxLatitude) * math.Pi / 180)
		height := (e.b[1] - e.a[1]) * math.Pi / 180
		bends += 1 + 2*math.Sqrt(height*height/4*sin/(cos*cos)*grid.WorldSize/(2*math.Pi))
	}
	if bends > mostBends {
		return refuse("its edges are too long to be compared with regions; simplify it, or give a smaller one")
	}
	return nil
}
