package tiles

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"slices"

	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// sharing finds the regions of a type that share ground with an area. It reads the rows of the type
// in the cells of the area.
type sharing struct {
	ctx  context.Context
	rt   *readerType
	s    *scratch
	d    *descent
	step func(context.Context) error
	seen map[string]struct{}
	caps [2][]byte // the type's layers in the polar rows

	part       *feature.AreaPart
	read       bool        // tiles, cap and size are those of part
	tiles, cap []grid.Edge // the part's border
	size       int32       // of tiles, in steps
	placed     bool        // ground and box are those of the row
	ground     []grid.Edge // the border of the part's ground in the row
	box        grid.Box    // around ground, if that is not empty
	own        []grid.Edge // the edges of a region
	edges      int         // read since the last turn, roughly
	outliner   *grid.Outliner
	rects      []rect
}

// sharing returns the regions of a type that share ground with an area.
func (r *Reader) sharing(
	ctx context.Context, rt *readerType, in feature.Area, step func(context.Context) error,
) (map[string]struct{}, error) {
	w := &sharing{ctx: ctx, rt: rt, step: step, seen: map[string]struct{}{}, outliner: grid.NewOutliner(), s: r.scratch.Get().(*scratch)}
	defer r.scratch.Put(w.s)
	w.d = descend(ctx, w.s, rt, 0)
	for i, polar := range layout.PolarCaps {
		value, err := w.d.polar(polar)
		if err != nil {
			return nil, err
		}
		w.caps[i] = bytes.Clone(value)
	}
	return w.seen, in.Cover(ctx, 0, func(p *feature.AreaPart) error {
		if err := w.turn(); err != nil {
			return err
		}
		if p.Contains != nil && p.Border == nil && p.Reaches == nil {
			return feature.Unsupported("the regions in %.40s, which has no border to compare: ask for those in a box or a tile", in)
		}
		w.part, w.read = p, false
		for _, at := range p.Anchors {
			if err := w.around(r, at); err != nil {
				return err
			}
		}
		for t := range p.Cells.Tiles() {
			if err := w.tile(t); err != nil {
				return err
			}
		}
		return nil
	})
}

// turn calls the query's Step, so that other requests can run.
func (w *sharing) turn() error {
	w.edges = 0
	if err := w.ctx.Err(); err != nil || w.step == nil {
		return err
	}
	return w.step(w.ctx)
}

// turnEdges is the number of edges to read or compare between turns.
const turnEdges = 4096

// work counts edges, and calls Step after turnEdges of them, because one row can have all regions
// of a city.
func (w *sharing) work(edges int) error {
	if w.edges += edges; w.edges < turnEdges {
		return nil
	}
	return w.turn()
}

// tile searches a tile for regions in the area of the part.
func (w *sharing) tile(t quadkey.Tile) error {
	all := func(quadkey.Tile) bool { return true }
	err := w.d.walk(t.Ancestor(grid.MaxZoom), grid.MaxZoom, all, func(of quadkey.Tile, leaf bool, value []byte) error {
		if err := w.turn(); err != nil {
			return err
		}
		within := of
		if of.Contains(t) {
			within = t
		}
		w.placed = false
		return w.row(value, func(f mvt.Feature) (bool, error) { return w.meets(f, of, within, leaf) })
	})
	if err != nil {
		return err
	}
	for i, polar := range layout.PolarCaps {
		if rim := [2]uint32{0, 1<<t.Z - 1}; w.caps[i] == nil || t.Y != rim[i] {
			continue
		}
		if w.part.Reaches != nil {
			err := w.row(w.caps[i], func(f mvt.Feature) (bool, error) {
				return w.reaches(f, func(p grid.Point) quadkey.Position {
					return quadkey.Position{Lat: 90 - (degreesAt(polar.Y0+p.Y) + 180), Lon: degreesAt(p.X)}
				}, false, grid.Box{X0: math.MinInt32, Y0: math.MinInt32, X1: math.MaxInt32, Y1: math.MaxInt32})
			})
			if err != nil {
				return err
			}
			continue
		}
		// Only one of the many tiles of a rim has the border in the polar cap.
		if err := w.placeInCap(polar, t); err != nil || len(w.ground) == 0 {
			return err
		}
		err := w.row(w.caps[i], func(f mvt.Feature) (bool, error) { return w.shares(f, grid.Pt(0, polar.Y0)) })
		if err != nil {
			return err
		}
	}
	return nil
}

// row adds those regions of a row that meet the part and are not yet in seen.
func (w *sharing) row(value []byte, meets func(f mvt.Feature) (bool, error)) error {
	_, err := w.s.eachIn(value, !w.rt.IsLines, func(f mvt.Feature) error {
		if err := w.work(1); err != nil {
			return err
		}
		id := w.s.view.StringTag(f, layout.TagID)
		if _, ok := w.seen[string(id)]; ok {
			return nil
		}
		in, err := meets(f)
		if in {
			w.seen[string(id)] = struct{}{}
		}
		return err
	})
	return err
}

// meets reports whether a region shares ground with the part within a tile. f is the region's
// feature in the row of the tile `of`. If that row is a leaf, the region fills the tile.
func (w *sharing) meets(f mvt.Feature, of, within quadkey.Tile, leaf bool) (bool, error) {
	whole := w.part.Contains == nil
	switch {
	case whole && leaf:
		return true, nil
	case w.part.Reaches != nil:
		if leaf { // it has no border here, and is found by the anchors
			return false, nil
		}
		corner, near := grid.TileBox(int(of.Z), of.X, of.Y, false).Corner(), grid.TileBox(int(within.Z), within.X, within.Y, false)
		const slack = 2 // the row's points are on its grid
		near = grid.Box{
			X0: near.X0 - corner.X - slack, Y0: near.Y0 - corner.Y - slack, X1: near.X1 - corner.X + slack, Y1: near.Y1 - corner.Y + slack,
		}
		return w.reaches(f, func(p grid.Point) quadkey.Position {
			return quadkey.Position{Lat: layout.MercatorLat(float64(corner.Y + p.Y)), Lon: degreesAt(corner.X + p.X)}
		}, true, near)
	case whole && f.Type == mvt.LineString:
		win := windowOfTile(within, true)
		w.rects = win.within(w.rects[:0], of)
		return w.s.touches(f, w.rects, tileSubBits)
	}
	if err := w.place(of, within, leaf); err != nil || len(w.ground) == 0 {
		return false, err
	}
	if leaf {
		return w.outliner.Overlap(grid.Perimeter(grid.TileBox(int(within.Z), within.X, within.Y, false)), w.ground)
	}
	return w.shares(f, grid.TileBox(int(of.Z), of.X, of.Y, false).Corner())
}

// around adds the regions that hold a position.
func (w *sharing) around(r *Reader, at quadkey.Position) error {
	if err := w.work(turnEdges / 16); err != nil || w.rt.IsLines {
		return err
	}
	found, err := r.At(w.ctx, at.Lat, at.Lon, w.rt.Name)
	for i := range found {
		w.seen[found[i].ID] = struct{}{}
	}
	return err
}

// degreesAt returns the longitude of an x of the grid.
func degreesAt(x int32) float64 { return float64(x)/grid.WorldSize*360 - 180 }

// reaches reports whether the border of a region in a row, or a line, has a point in the area. The edges where a row ends
// are in the region, too. Edges beyond the box near, which holds the part's cells, have none.
func (w *sharing) reaches(f mvt.Feature, at func(grid.Point) quadkey.Position, mercator bool, near grid.Box) (bool, error) {
	var p mvt.Path
	p.Reset(f)
	for {
		from, pts, err := w.s.nextEdges(&p, f.Type == mvt.LineString)
		if err != nil || pts == nil {
			return false, err
		}
		l, known := feature.Line{Mercator: mercator}, false // where l.A is
		for _, to := range pts {
			a := from
			from = to
			if max(a.X, to.X) < near.X0 || min(a.X, to.X) > near.X1 || max(a.Y, to.Y) < near.Y0 || min(a.Y, to.Y) > near.Y1 {
				known = false
				continue
			}
			if !known {
				l.A = at(a)
			}
			l.B, known = at(to), true
			in, work := w.part.Reaches(&l)
			if err := w.work(work); in || err != nil {
				return in, err
			}
			l.A = l.B
		}
	}
}

// place finds the ground of the part in a row, once for all its regions.
func (w *sharing) place(of, within quadkey.Tile, leaf bool) error {
	if w.placed {
		return nil
	}
	if err := w.border(); err != nil {
		return err
	}
	switch {
	case w.part.Contains == nil:
		w.setGround(grid.Perimeter(grid.TileBox(int(within.Z), within.X, within.Y, false)))
	case w.size <= mvt.Extent+2*layout.TileBuffer:
		w.setGround(w.tiles)
	default: // clip a wide border to the neighbourhood
		around := grid.TileBox(int(of.Z), of.X, of.Y, !leaf) // rows reach into their neighbours
		w.setGround(w.s.clip.Clip(w.tiles, grid.WindingFromNorth(w.tiles, around.Corner()), around, 0))
	}
	return nil
}

// placeInCap finds the ground of the part beyond a tile of the top or bottom row.
func (w *sharing) placeInCap(polar *layout.PolarCap, t quadkey.Tile) error {
	if err := w.border(); err != nil {
		return err
	}
	if w.setGround(w.cap); w.part.Contains == nil {
		column := grid.TileBox(int(t.Z), t.X, 0, false)
		w.setGround(grid.Perimeter(grid.Box{X0: column.X0, Y0: polar.Y0, X1: column.X1, Y1: polar.Y1}))
	}
	return nil
}

func (w *sharing) setGround(edges []grid.Edge) {
	if w.ground, w.placed = edges, true; len(edges) > 0 {
		w.box = grid.BoxOf(edges)
	}
}

// linesAtOnce is the number of line edges that are compared with a border between two calls of
// Step. Each can meet every edge of the border.
const linesAtOnce = 256

// shares reports whether a region shares ground with the part in a row. The coordinates of f are
// relative to corner.
func (w *sharing) shares(f mvt.Feature, corner grid.Point) (bool, error) {
	at := func(p grid.Point) grid.Point { return grid.Pt(corner.X+p.X, corner.Y+p.Y) }
	lines := f.Type == mvt.LineString
	if f.Type != mvt.Polygon && !lines {
		return false, errNoPolygon()
	}
	w.own = w.own[:0]
	var p mvt.Path
	p.Reset(f)
	for {
		a, pts, err := w.s.nextEdges(&p, lines)
		if err != nil {
			return false, err
		}
		if pts == nil {
			break
		}
		for _, b := range pts {
			w.own = append(w.own, grid.Edge{A: at(a), B: at(b)})
			a = b
		}
	}
	if lines {
		for some := range slices.Chunk(w.own, linesAtOnce) {
			if w.outliner.EntersInterior(some, w.ground) {
				return true, nil
			}
			if err := w.work(len(some) + len(w.ground)); err != nil {
				return false, err
			}
		}
		return false, nil
	}
	if err := w.work(len(w.own) + len(w.ground)); err != nil {
		return false, err
	}
	if len(w.own) == 0 || grid.BoxOf(w.own).Disjoint(w.box) {
		return false, nil
	}
	return w.outliner.Overlap(w.own, w.ground)
}

// border reads the border of the part, if it has one.
func (w *sharing) border() error {
	if w.read || w.part.Contains == nil {
		return nil
	}
	b, err := w.part.Border()
	if err != nil {
		return fmt.Errorf("the border of an area: %w", err)
	}
	w.tiles, w.cap, w.read = appendRings(w.tiles[:0], b.Mercator), appendRings(w.cap[:0], b.Polar), true
	w.size = 0
	if len(w.tiles) > 0 {
		box := grid.BoxOf(w.tiles)
		w.size = max(box.X1-box.X0, box.Y1-box.Y0)
	}
	return nil
}

func appendRings(dst []grid.Edge, rings []feature.Ring) []grid.Edge {
	for _, r := range rings {
		for i, p := range r {
			q := r[(i+1)%len(r)]
			dst = append(dst, grid.Edge{A: grid.Pt(p[0], p[1]), B: grid.Pt(q[0], q[1])})
		}
	}
	return dst
}
