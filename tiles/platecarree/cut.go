// Package platecarree cuts vector tiles in plate carrée from those in Web Mercator.
//
// The tiles are those of the OGC's tile matrix set WorldCRS84Quad: zoom z has 2^(z+1) columns and 2^z
// rows of the world in degrees, so a tile is as wide as one of zoom z+1 in Web Mercator and covers a
// part of one column of these. A tile is therefore named here by a quadkey.Tile of zoom z+1 with the
// column and the row of the tile, Y < 2^z counted from the north pole.
package platecarree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"

	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// Source has the layers that tiles are cut from. Its functions append vector layers to dst.
type Source struct {
	// Mercator appends those of a tile in Web Mercator.
	Mercator func(dst []byte, t quadkey.Tile) ([]byte, error)
	// Cap appends those of a polar cap, as tiles.Reader.AppendCap does; nil means that there are none.
	Cap func(dst []byte, south bool) ([]byte, error)
}

// mostCrossings bounds the crossings of a polygon's edges in excess of four for each.
const mostCrossings = 1 << 14

// extent is the edge of a tile, and buffer the distance that shapes reach beyond it.
const extent, buffer = mvt.Extent, layout.TileBuffer

// west is the x of a tile's western edge while its polygons are dissolved, because package grid takes no
// x below 0.
const west = extent

// frame is a tile with its buffer.
var frame = grid.Box{X0: west - buffer, Y0: -buffer, X1: west + extent + buffer, Y1: extent + buffer}

// Append appends the layers of tile t, as Source has them: each layer once, in the order in which
// the source has them from north to south. If nothing is appended, the tile is empty. A polygon of a
// layer with the same id in several tiles of the source becomes one, with the attributes that it has
// in the first of them. Points have the place that they have in the source, so points beyond the square
// of Web Mercator are on its edge. A line is cut where it leaves a tile of the source; polar caps have
// polygons only.
//
// The error is that of the source or of the context, or matches mvt.ErrMalformed.
func Append(ctx context.Context, dst []byte, t quadkey.Tile, from Source) ([]byte, error) {
	c := cutter{t: t, outliner: grid.NewOutliner()}
	c.outliner.LimitCrossings(mostCrossings)
	for m := range Rows(t) {
		if err := ctx.Err(); err != nil {
			return dst, err
		}
		tile, err := from.Mercator(nil, m)
		if err != nil {
			return dst, err
		}
		if err := c.add(tile, mercator(t, m), true); err != nil {
			return dst, err
		}
	}
	for i, p := range layout.PolarCaps {
		onCap, ok := c.onCap(p)
		if from.Cap == nil || !ok {
			continue
		}
		tile, err := from.Cap(nil, i == 1)
		if err != nil {
			return dst, err
		}
		for _, shift := range onCap.shifts { // the buffer may lie beyond ±180°
			if err := c.add(tile, onCap.shifted(shift), false); err != nil {
				return dst, err
			}
		}
	}
	for _, l := range c.layers {
		if err := c.finish(ctx, l); err != nil {
			return dst, err
		}
		dst = l.AppendTo(dst)
	}
	return dst, nil
}

// degrees returns the latitude of a distance from the northern edge of t, in units of the tile.
func degrees(t quadkey.Tile, y float64) float64 {
	return 90 - 360*(float64(t.Y)+y/extent)/math.Exp2(float64(t.Z))
}

// Rows calls yield for the tiles in Web Mercator that t and its buffer meet, from north to south. All
// of them are in the column of t.
func Rows(t quadkey.Tile) func(yield func(quadkey.Tile) bool) {
	row := func(y float64) int {
		lat := max(-quadkey.MaxLatitude, min(quadkey.MaxLatitude, degrees(t, y)))
		return int(math.Floor(math.Ldexp(layout.MercatorY(lat)/grid.WorldSize, int(t.Z))))
	}
	last := 1<<t.Z - 1
	return func(yield func(quadkey.Tile) bool) {
		if degrees(t, -buffer) <= -quadkey.MaxLatitude || degrees(t, extent+buffer) >= quadkey.MaxLatitude {
			return
		}
		for y := max(0, row(-buffer)); y <= min(row(extent+buffer), last); y++ {
			if !yield(quadkey.Tile{Z: t.Z, X: t.X, Y: uint32(y)}) {
				return
			}
		}
	}
}

// projection maps points of a tile of the source to those of the tile that is cut. before is the part
// of the source that is needed, in the coordinates of the source.
type projection struct {
	before grid.Box
	at     func(grid.Point) (x, y float64)
	shifts []int32 // of the source, so that its copies cover the tile and its buffer
}

// shifted returns the projection of the source shifted to the east.
func (pr projection) shifted(by int32) projection {
	at := pr.at
	pr.before.X0, pr.before.X1 = pr.before.X0-by, pr.before.X1-by
	pr.at = func(p grid.Point) (x, y float64) { return at(grid.Pt(p.X+by, p.Y)) }
	return pr
}

// mercator returns the projection of tile m, in the same column as t.
func mercator(t, m quadkey.Tile) projection {
	side := math.Exp2(float64(m.Z))
	return projection{
		before: grid.Box{X0: -buffer, Y0: -buffer, X1: extent + buffer, Y1: extent + buffer},
		at: func(p grid.Point) (x, y float64) {
			lat := layout.MercatorLat((float64(m.Y) + float64(p.Y)/extent) / side * grid.WorldSize)
			return float64(p.X), ((90-lat)/360*side - float64(t.Y)) * extent
		},
	}
}

// onCap returns the projection of the rows of a polar cap, and whether the tile meets the cap.
func (c *cutter) onCap(p *layout.PolarCap) (projection, bool) {
	// unit is the number of units of the cap across one of the tile.
	unit := grid.WorldSize / math.Exp2(float64(c.t.Z)) / extent
	x0, y0 := float64(c.t.X)*extent, float64(c.t.Y)*extent
	before := grid.Box{
		X0: int32(math.Floor((x0 - buffer) * unit)), Y0: int32(math.Floor((y0-buffer)*unit)) - p.Y0,
		X1: int32(math.Ceil((x0 + extent + buffer) * unit)), Y1: int32(math.Ceil((y0+extent+buffer)*unit)) - p.Y0,
	}
	shifts := []int32{0}
	if c.t.X == 0 {
		shifts = append(shifts, -grid.WorldSize)
	}
	if c.t.X == 1<<c.t.Z-1 {
		shifts = append(shifts, grid.WorldSize)
	}
	return projection{before: before, shifts: shifts, at: func(q grid.Point) (x, y float64) {
		return float64(q.X)/unit - x0, float64(q.Y+p.Y0)/unit - y0
	}}, before.Y0 < p.Y1-p.Y0 && before.Y1 > 0
}

// cutter gathers the layers of one tile.
type cutter struct {
	t        quadkey.Tile
	layers   []*layer
	view     mvt.LayerView
	path     []grid.Point
	part     []grid.Point // of a line in the source, and its place in the frame
	line     []grid.Point
	clipped  []grid.Point
	edges    []grid.Edge
	clip     grid.Clipper
	outliner *grid.Outliner
}

// layer is a layer of the tile. Its polygons are written at the end, since several tiles of the source
// have parts of them.
type layer struct {
	mvt.Layer
	name     string
	polygons []*polygon
	byID     map[uint64]*polygon
}

type polygon struct {
	id    uint64
	tags  [][2][]byte // keys and values, in the memory of a tile of the source
	edges []grid.Edge // of the pieces, which overlap
}

// layer returns the layer with a name.
func (c *cutter) layer(name []byte) *layer {
	for _, l := range c.layers {
		if l.name == string(name) {
			return l
		}
	}
	l := &layer{name: string(name), byID: map[uint64]*polygon{}}
	l.Reset(l.name)
	c.layers = append(c.layers, l)
	return l
}

// add adds the layers of a tile of the source. Lines and points are added only if the tile owns them.
func (c *cutter) add(tile []byte, to projection, owned bool) error {
	for {
		rest, ok, err := mvt.NextLayer(tile, &c.view)
		if err != nil || !ok {
			return err
		}
		tile = rest
		l := c.layer(c.view.Name)
		for i := range c.view.Len() {
			f, err := c.view.Feature(i)
			if err == nil {
				switch {
				case f.Type == mvt.Polygon:
					err = c.addPolygon(l, f, to)
				case owned && f.Type == mvt.LineString:
					err = c.addLines(l, f, to)
				case owned && f.Type == mvt.Point:
					err = c.addPoints(l, f, to)
				}
			}
			if err != nil {
				return err
			}
		}
	}
}

// copyTags writes the attributes of a feature to the one that is being written.
func (c *cutter) copyTags(l *layer, f mvt.Feature) error {
	return c.view.EachTag(f, func(key, value []byte) bool {
		l.CopyTag(key, value)
		return true
	})
}

// addPoints writes the points of a feature that lie in the tile, each as a feature. Every point of the
// source lies in one tile only, because places are rounded to the north.
func (c *cutter) addPoints(l *layer, f mvt.Feature, to projection) error {
	var p mvt.Path
	p.Reset(f)
	pts, _, _, err := p.Next(c.path[:0])
	if err != nil {
		return err
	}
	c.path = pts
	for _, q := range pts {
		x, y := to.at(q)
		if y = math.Floor(y); q.X < 0 || q.X >= extent || y < 0 || y >= extent {
			continue
		}
		l.Begin(f.ID, mvt.Point)
		if err := c.copyTags(l, f); err != nil {
			return err
		}
		l.Point(grid.Pt(int32(x), int32(y)))
		l.End()
	}
	return nil
}

// addLines writes the part of a feature's lines that lies in the tile of the source, without the
// buffer to its north and south, which other tiles have too.
func (c *cutter) addLines(l *layer, f mvt.Feature, to projection) error {
	own := to.before
	own.Y0, own.Y1 = -1, extent // a line along the edge belongs to the tile south of it
	var p mvt.Path
	p.Reset(f)
	begun := false
	for {
		pts, _, ok, err := p.Next(c.path[:0])
		if err != nil {
			return err
		}
		if c.path = pts; !ok {
			break
		}
		c.part = grid.ClipLine(pts, own, c.part, func(part []grid.Point) {
			c.line = c.line[:0]
			for _, q := range part {
				if q = c.round(to, q); len(c.line) == 0 || c.line[len(c.line)-1] != q {
					c.line = append(c.line, q)
				}
			}
			c.clipped = grid.ClipLine(c.line, frame, c.clipped, func(part []grid.Point) {
				if !begun {
					begun = true
					l.Begin(f.ID, mvt.LineString)
					err = c.copyTags(l, f)
				}
				for i := range part {
					part[i].X -= west
				}
				l.Line(part)
			})
		})
		if err != nil {
			return err
		}
	}
	if begun {
		l.End()
	}
	return nil
}

// round projects a point to the frame.
func (c *cutter) round(to projection, p grid.Point) grid.Point {
	x, y := to.at(p)
	return grid.Pt(int32(math.Floor(x+0.5))+west, int32(math.Floor(y+0.5)))
}

// addPolygon adds the edges of a feature to the polygon with its id. A feature without an id is a
// polygon of its own.
func (c *cutter) addPolygon(l *layer, f mvt.Feature, to projection) error {
	of := l.byID[f.ID]
	if of == nil || f.ID == 0 {
		of = &polygon{id: f.ID}
		if err := c.view.EachTag(f, func(key, value []byte) bool {
			of.tags = append(of.tags, [2][]byte{key, value})
			return true
		}); err != nil {
			return err
		}
		l.polygons, l.byID[f.ID] = append(l.polygons, of), of
	}
	c.edges = c.edges[:0]
	var p mvt.Path
	p.Reset(f)
	for {
		pts, closed, ok, err := p.Next(c.path[:0])
		if err != nil {
			return err
		}
		if c.path = pts; !ok {
			break
		}
		for i, q := range pts {
			if closed {
				c.edges = append(c.edges, grid.Edge{A: pts[cmp.Or(i, len(pts))-1], B: q})
			}
		}
	}
	// What lies far away would leave the range of coordinates.
	for _, e := range c.clip.Clip(c.edges, grid.WindingFromNorth(c.edges, to.before.Corner()), to.before, 0) {
		if e = (grid.Edge{A: c.round(to, e.A), B: c.round(to, e.B)}); e.A != e.B {
			of.edges = append(of.edges, e)
		}
	}
	return nil
}

// finish writes the polygons of a layer. Their pieces overlap by the buffers of the source and may
// have been folded by rounding.
func (c *cutter) finish(ctx context.Context, l *layer) error {
	for _, of := range l.polygons {
		if err := ctx.Err(); err != nil {
			return err
		}
		edges, err := c.outliner.Dissolve(of.edges)
		if err != nil {
			return fmt.Errorf("%w: %w", mvt.ErrMalformed, errors.Join(err, errors.New("in layer "+l.name)))
		}
		parts := c.clip.Polygons(edges, grid.WindingFromNorth(edges, frame.Corner()), frame, 0)
		if len(parts) == 0 {
			continue
		}
		l.Begin(of.id, mvt.Polygon)
		for _, tag := range of.tags {
			l.CopyTag(tag[0], tag[1])
		}
		for _, rings := range parts {
			for _, ring := range rings {
				for i := range ring {
					ring[i].X -= west
				}
				l.Ring(ring)
			}
		}
		l.End()
	}
	return nil
}
