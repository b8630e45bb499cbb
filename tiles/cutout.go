package tiles

import (
	"context"
	"errors"
	"fmt"
	"math"

	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// Limits of one cutout. A box that exceeds them is answered from a coarser
// zoom.
const (
	cutoutRows  = 2048
	cutoutEdges = 1 << 17
)

// The plane of a cutout has 2²⁹ steps across the world, 1/16 of a grid unit,
// so that it is cut to the box within 4 cm. The tiles' square is in the middle;
// the polar caps, in plate carrée, go on above and below it, which makes one
// plane of all and lets pieces melt together across that line too.
const (
	fineBits = 29
	fineSize = 1 << fineBits
	fineStep = fineSize / grid.WorldSize
)

// AppendCutout appends the part of a region in a box, in degrees and across
// ±180° if its West is greater than its East, as a GeoJSON Feature with a
// Polygon or MultiPolygon, cut at ±180°. It appends nothing when they have no
// area in common.
//
// zoom is the zoom whose geometry this is: 13 is the exact border on the world
// grid, cut to the box within 4 cm; boxes with too much for one answer, about
// 130 000 vertices or two thousand tiles, get the simplified border of the
// deepest zoom that is within that. Pieces of tiles are dissolved.
//
// Errors match ErrUnknownType, ErrNotFound or quadkey.ErrBox, or come from the
// store.
func (r *Reader) AppendCutout(ctx context.Context, dst []byte, typ, id string, b quadkey.Box) (out []byte, zoom int, err error) {
	if err := b.Check(); err != nil {
		return dst, 0, err
	}
	record, err := r.Region(ctx, typ, id, false)
	if err != nil {
		return dst, 0, err
	}
	rec, err := parseRecord(record)
	if err != nil {
		return dst, 0, fmt.Errorf("%w: record of %s %s", err, typ, id)
	}
	c := cutout{r: r, ctx: ctx, rt: r.types[typ], id: id}
	c.s = r.scratch.Get().(*scratch)
	defer r.scratch.Put(c.s)
	if _, apart := compareBounds(b, rec.BBox, 1e-4); apart {
		return dst, grid.MaxZoom, nil
	}
	// Where there are obviously too many tiles nothing is tried.
	const hopeless = 64 * cutoutRows
	zoom = grid.MaxZoom
	near := windowOf(common(b, rec.BBox))
	for zoom > 0 && near.tilesAt(zoom) > hopeless {
		zoom--
	}
	var polys []grid.Polygon
	for ; ; zoom-- {
		polys, err = c.cut(b, zoom)
		if err == nil {
			break
		}
		if !errors.Is(err, errTooManyRows) {
			return dst, 0, err
		}
	}
	if len(polys) == 0 {
		return dst, zoom, nil
	}
	dst = layout.AppendFeatureHead(dst, typ, id, rec.Name)
	dst = layout.AppendMultiPolygon(dst, polys, finePosition)
	return append(dst, '}'), zoom, nil
}

// cutout gathers the pieces of one region.
type cutout struct {
	r     *Reader
	ctx   context.Context
	s     *scratch
	rt    *readerType
	id    string
	edges []grid.Edge
}

// cut returns the polygons of the region in a box at a zoom.
func (c *cutout) cut(b quadkey.Box, zoom int) ([]grid.Polygon, error) {
	// A box across ±180° is two, as GeoJSON wants it.
	boxes := []quadkey.Box{b}
	if b.West > b.East {
		boxes = []quadkey.Box{
			{West: b.West, South: b.South, East: 180, North: b.North},
			{West: -180, South: b.South, East: b.East, North: b.North},
		}
	}
	d := c.r.descend(c.ctx, c.s, c.rt, cutoutRows)
	if zoom == 0 {
		d.maximum = 0
	}
	var polys []grid.Polygon
	for _, b := range boxes {
		frame := fineBox(b)
		if frame.X0 >= frame.X1 || frame.Y0 >= frame.Y1 {
			continue // without area
		}
		if err := c.gather(d, b, frame, zoom); err != nil {
			return nil, err
		}
		for shift := uint(1); len(c.edges) > cutoutEdges; shift++ {
			c.edges = grid.Coarsen(c.edges, shift)
		}
		w := grid.WindingFromNorth(c.edges, frame.Corner())
		for _, p := range c.s.clip.Polygons(c.edges, w, frame, 0) {
			own := make(grid.Polygon, len(p)) // p is in memory that is used again
			for i := range p {
				own[i] = withoutStops(p[i])
			}
			polys = append(polys, own)
		}
	}
	return polys, nil
}

// gather makes edges the dissolved border of the region's pieces in the tiles
// of a zoom, and the polar rows, that meet a box.
func (c *cutout) gather(d *descent, b quadkey.Box, frame grid.Box, zoom int) error {
	c.edges = c.edges[:0]
	var frames []grid.Edge // edges along tile lines
	room := func() error {
		if zoom > 0 && len(c.edges)+len(frames) > cutoutEdges {
			return errTooManyRows
		}
		return nil
	}
	for _, p := range [2]struct {
		key  []byte
		any  bool
		box  grid.Box
		fine func(grid.Point) grid.Point
	}{
		{layout.KeyNorth, b.North > quadkey.MaxLatitude, layout.NorthCap, func(p grid.Point) grid.Point {
			return grid.Pt(p.X*fineStep, (p.Y-layout.NorthCap.Y1+layout.NorthCap.Y0)*fineStep)
		}},
		{layout.KeySouth, b.South < -quadkey.MaxLatitude, layout.SouthCap, func(p grid.Point) grid.Point { return grid.Pt(p.X*fineStep, fineSize+p.Y*fineStep) }},
	} {
		if !p.any {
			continue
		}
		value, err := d.polar(p.key)
		if err != nil {
			return err
		}
		if value == nil {
			continue
		}
		err = c.s.eachFeature(value, []string{c.id}, func(f mvt.Feature, _, _ []byte) error {
			return c.s.eachEdge(f, func(e grid.Edge) {
				e = grid.Edge{A: p.fine(e.A), B: p.fine(e.B)}
				if e.A.Y == e.B.Y && (e.A.Y == 0 || e.A.Y == fineSize) {
					frames = append(frames, e)
				} else {
					c.edges = append(c.edges, e)
				}
			})
		})
		if err != nil {
			return err
		}
	}
	// Tiles that only touch the box have no area in it.
	want := func(t quadkey.Tile) bool {
		side := int32(fineSize >> t.Z)
		x, y := int64(t.X)*int64(side), int64(t.Y)*int64(side)
		return x < int64(frame.X1) && x+int64(side) > int64(frame.X0) &&
			y < int64(frame.Y1) && y+int64(side) > int64(frame.Y0)
	}
	err := d.walk(quadkey.Tile{}, zoom, want, func(t quadkey.Tile, leaf bool, value []byte) error {
		side := int32(fineSize >> t.Z)
		step := side / mvt.Extent
		origin := grid.Pt(int32(t.X)*side, int32(t.Y)*side)
		return c.s.eachFeature(value, []string{c.id}, func(f mvt.Feature, _, _ []byte) error {
			if leaf {
				frames = append(frames, grid.Perimeter(grid.Box{X0: origin.X, Y0: origin.Y, X1: origin.X + side, Y1: origin.Y + side})...)
				return room()
			}
			polys, err := c.s.crop(f, t, t, false)
			if err != nil {
				return err
			}
			for _, p := range polys {
				for _, ring := range p {
					prev := ring[len(ring)-1]
					for _, q := range ring {
						e := grid.Edge{A: prev, B: q}
						along := grid.AlongSide(e, grid.Box{X0: 0, Y0: 0, X1: mvt.Extent, Y1: mvt.Extent})
						e = grid.Edge{A: grid.Pt(origin.X+e.A.X*step, origin.Y+e.A.Y*step), B: grid.Pt(origin.X+e.B.X*step, origin.Y+e.B.Y*step)}
						if along {
							frames = append(frames, e)
						} else {
							c.edges = append(c.edges, e)
						}
						prev = q
					}
				}
			}
			return room()
		})
	})
	if err != nil {
		return err
	}
	c.edges = grid.Cancel(append(c.edges, grid.SumLines(frames)...))
	return nil
}

// withoutStops copies a ring without the vertices on the way of vertical and
// horizontal lines, which tile lines leave there. Other lines keep theirs: they
// are straight in Mercator and not in degrees.
func withoutStops(ring []grid.Point) []grid.Point {
	out := make([]grid.Point, 0, len(ring))
	prev := ring[len(ring)-1]
	for i, p := range ring {
		next := ring[(i+1)%len(ring)]
		if prev.X == p.X && p.X == next.X || prev.Y == p.Y && p.Y == next.Y {
			continue
		}
		out = append(out, p)
		prev = p
	}
	return out
}

// eachEdge calls fn for the edges of a polygon feature.
func (s *scratch) eachEdge(f mvt.Feature, fn func(grid.Edge)) error {
	var p mvt.Path
	p.Reset(f)
	for {
		pts, err := s.nextRing(&p)
		if err != nil {
			return err
		}
		if pts == nil {
			return nil
		}
		prev := pts[len(pts)-1]
		for _, q := range pts {
			fn(grid.Edge{A: grid.Pt(prev.X, prev.Y), B: grid.Pt(q.X, q.Y)})
			prev = q
		}
	}
}

// fineBox is a box that does not cross ±180° on the plane of cutouts.
func fineBox(b quadkey.Box) grid.Box {
	x := func(lon float64) int32 { return int32(math.Round(layout.GridX(lon) * fineStep)) }
	y := func(lat float64) int32 {
		switch {
		case lat > quadkey.MaxLatitude:
			return min(0, int32(math.Round((layout.PlateY(lat)-float64(layout.NorthCap.Y1))*fineStep)))
		case lat < -quadkey.MaxLatitude:
			return max(fineSize, fineSize+int32(math.Round((layout.PlateY(lat)-float64(layout.SouthCap.Y0))*fineStep)))
		}
		return max(0, min(fineSize, int32(math.Round(layout.MercatorY(lat)*fineStep))))
	}
	return grid.Box{X0: x(b.West), Y0: y(b.North), X1: x(b.East), Y1: y(b.South)}
}

// finePosition writes a point of the plane of cutouts.
func finePosition(dst []byte, p grid.Point) []byte {
	y := float64(p.Y)
	var lat float64
	switch {
	case y < 0:
		lat = 90 - (y/fineStep+float64(layout.NorthCap.Y1))/grid.WorldSize*360
	case y > fineSize:
		lat = 90 - ((y-fineSize)/fineStep+float64(layout.SouthCap.Y0))/grid.WorldSize*360
	default:
		lat = layout.MercatorLat(y / fineStep)
	}
	dst = append(dst, '[')
	dst = layout.AppendFixed(dst, float64(p.X)/fineSize*360-180, 7)
	dst = append(dst, ',')
	return append(layout.AppendFixed(dst, lat, 7), ']')
}
