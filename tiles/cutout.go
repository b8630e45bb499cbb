package tiles

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/clip"

	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// These limits bound one cutout. A box that exceeds them gets a coarser zoom. It never gets a zoom
// with merged small regions, because such a zoom does not show the region alone. So for the last
// zoom before these the limits are lastShare times as high.
const (
	cutoutRows  = 2048
	cutoutEdges = 1 << 17
	lastShare   = 16
)

// limits returns how many rows a cutout at a zoom may read, and how many edges
// it may gather. Zoom 0 has a single tile and needs no limits.
func (rt *readerType) limits(zoom int) (rows, edges int) {
	switch {
	case zoom == 0:
		return 0, math.MaxInt
	case zoom <= rt.MergedBelow():
		return lastShare * cutoutRows, lastShare * cutoutEdges
	}
	return cutoutRows, cutoutEdges
}

// A cutout has a plane of its own, 2²⁹ steps across the world. A step is 1/16
// of a grid unit, so the cut at the box is within 4 cm. The square of the tiles
// is in the middle. The polar caps continue it above and below in plate carrée,
// so that pieces melt together across its upper and lower sides too.
const (
	fineBits = 29
	fineSize = 1 << fineBits
	fineStep = fineSize / grid.WorldSize
)

// AppendCutout appends the part of a region inside a box as a GeoJSON Feature with a Polygon or
// MultiPolygon. The box is in degrees and crosses ±180° if its West is greater than its East; the
// geometry is cut there. If region and box have no area in common, nothing is appended. The Feature
// of a line has a LineString or MultiLineString of the part in the box, as exact as the record.
//
// The result names the zoom of the geometry. Zoom 13 is the exact border on the world grid, cut at
// the box within 4 cm. A box with too much for one answer, about 130 000 vertices or two thousand
// tiles, gets the simplified border of the deepest zoom that fits. It never gets a zoom at which
// small regions are merged: the last zoom before these may take sixteen times as much. Pieces of
// tiles are dissolved.
//
// Errors match ErrUnknownType, ErrNotFound, ErrTooLarge or quadkey.ErrBox, or
// come from the store.
func (r *Reader) AppendCutout(ctx context.Context, dst []byte, typ, id string, b quadkey.Box) (out []byte, zoom int, err error) {
	if err := b.Check(); err != nil {
		return dst, 0, err
	}
	rec, err := r.record(ctx, typ, id)
	if err != nil {
		return dst, 0, err
	}
	c := cutout{r: r, ctx: ctx, rt: r.types[typ], id: rec.id}
	c.s = r.scratch.Get().(*scratch)
	defer r.scratch.Put(c.s)
	if _, apart := compareBounds(b, rec.bounds, 1e-4); apart {
		return dst, grid.MaxZoom, nil
	}
	if c.rt.IsLines {
		dst, err = c.lines(dst, b, &rec)
		return dst, grid.MaxZoom, err
	}
	// Zooms with obviously too many tiles are skipped.
	const hopeless = 64 * cutoutRows
	zoom = grid.MaxZoom
	near := windowOf(ClipBounds(b, boxOf(rec.bounds)))
	for zoom > c.rt.MergedBelow() && near.tilesAt(zoom) > hopeless {
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
		if zoom <= c.rt.MergedBelow() {
			return dst, 0, fmt.Errorf("%w: %s %s at zoom %d, the last that does not merge regions", ErrTooLarge, typ, id, zoom)
		}
	}
	if len(polys) == 0 {
		return dst, zoom, nil
	}
	dst = layout.AppendFeatureHead(dst, typ, rec.id, string(rec.name), 0)
	dst = layout.AppendMultiPolygon(dst, polys, finePosition)
	return append(dst, '}'), zoom, nil
}

// cutout gathers the pieces of one region.
type cutout struct {
	r      *Reader
	ctx    context.Context
	s      *scratch
	rt     *readerType
	id     string
	edges  []grid.Edge
	frames []grid.Edge // edges along tile lines
	most   int         // edges and frames that may be gathered
}

// halves returns the parts of a box on either side of ±180°, where GeoJSON requires geometries to
// be cut: one or two.
func halves(b quadkey.Box) []quadkey.Box {
	if b.West <= b.East {
		return []quadkey.Box{b}
	}
	return []quadkey.Box{
		{West: b.West, South: b.South, East: 180, North: b.North},
		{West: -180, South: b.South, East: b.East, North: b.North},
	}
}

// lines appends the part of the record's lines in a box as a Feature.
func (c *cutout) lines(dst []byte, b quadkey.Box, rec *record) ([]byte, error) {
	row, err := c.r.regionRow(c.ctx, c.rt, c.id, true)
	if err != nil {
		return dst, err
	}
	f := feature.Feature{ID: c.id}
	if f.Geometry, err = (&layer{c.r, c.rt}).geometry(c.id, row); err != nil {
		return dst, err
	}
	shape, err := f.Orb()
	if err != nil {
		return dst, err
	}
	all, _ := shape.(orb.MultiLineString)
	if one, ok := shape.(orb.LineString); ok {
		all = orb.MultiLineString{one}
	}
	var inside orb.MultiLineString
	for _, b := range halves(b) {
		bound := orb.Bound{Min: orb.Point{b.West, b.South}, Max: orb.Point{b.East, b.North}}
		for _, l := range all {
			for _, part := range clip.LineString(bound, l) {
				if part = slices.Compact(part); len(part) > 1 { // it does not just touch the box
					inside = append(inside, part)
				}
			}
		}
	}
	if len(inside) == 0 {
		return dst, nil
	}
	dst = layout.AppendFeatureHead(dst, c.rt.Name, c.id, string(rec.name), 0)
	dst = layout.AppendLines(dst, inside, func(dst []byte, p orb.Point) []byte { return layout.AppendDegrees(dst, p[0], p[1], 7) })
	return append(dst, '}'), nil
}

// cut returns the polygons of the region in a box at a zoom.
func (c *cutout) cut(b quadkey.Box, zoom int) ([]grid.Polygon, error) {
	rows, edges := c.rt.limits(zoom)
	c.most = edges
	d := descend(c.ctx, c.s, c.rt, rows)
	var polys []grid.Polygon
	for _, b := range halves(b) {
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
			own := make(grid.Polygon, len(p)) // p's memory is reused
			for i := range p {
				own[i] = withoutStops(p[i])
			}
			polys = append(polys, own)
		}
	}
	return polys, nil
}

// gather sets edges to the dissolved border of the region's pieces that meet the box, from the
// tiles of a zoom and from the polar rows.
func (c *cutout) gather(d *descent, b quadkey.Box, frame grid.Box, zoom int) error {
	c.edges, c.frames = c.edges[:0], c.frames[:0]
	if err := c.gatherCaps(d, b); err != nil {
		return err
	}
	if err := c.gatherTiles(d, frame, zoom); err != nil {
		return err
	}
	c.edges = grid.CancelEdges(append(c.edges, grid.SumAxisEdges(c.frames)...))
	return nil
}

func (c *cutout) gatherCaps(d *descent, b quadkey.Box) error {
	for _, p := range [2]struct {
		polar *layout.PolarCap
		any   bool
		top   int32 // of the cap on the plane
	}{
		{layout.NorthCap, b.North > quadkey.MaxLatitude, -layout.NorthCap.Y1 * fineStep},
		{layout.SouthCap, b.South < -quadkey.MaxLatitude, fineSize},
	} {
		if !p.any {
			continue
		}
		value, err := d.polar(p.polar)
		if err != nil {
			return err
		}
		if value == nil {
			continue
		}
		fine := func(q grid.Point) grid.Point { return grid.Pt(q.X*fineStep, p.top+q.Y*fineStep) }
		err = c.s.eachFeature(value, []string{c.id}, func(f mvt.Feature, _, _ []byte) error {
			return c.s.eachEdge(f, func(e grid.Edge) {
				e = grid.Edge{A: fine(e.A), B: fine(e.B)}
				c.add(e, e.A.Y == e.B.Y && (e.A.Y == 0 || e.A.Y == fineSize))
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *cutout) gatherTiles(d *descent, frame grid.Box, zoom int) error {
	// A tile that only touches the box has no area in it.
	want := func(t quadkey.Tile) bool {
		side := int32(fineSize >> t.Z)
		x, y := int64(t.X)*int64(side), int64(t.Y)*int64(side)
		return x < int64(frame.X1) && x+int64(side) > int64(frame.X0) &&
			y < int64(frame.Y1) && y+int64(side) > int64(frame.Y0)
	}
	return d.walk(quadkey.Tile{}, zoom, want, func(t quadkey.Tile, leaf bool, value []byte) error {
		side := int32(fineSize >> t.Z)
		origin := grid.Pt(int32(t.X)*side, int32(t.Y)*side)
		return c.s.eachFeature(value, []string{c.id}, func(f mvt.Feature, _, _ []byte) error {
			if leaf {
				c.frames = append(c.frames, grid.Perimeter(grid.Box{X0: origin.X, Y0: origin.Y, X1: origin.X + side, Y1: origin.Y + side})...)
			} else if err := c.gatherPolygons(f, t, origin, side/mvt.Extent); err != nil {
				return err
			}
			if len(c.edges)+len(c.frames) > c.most {
				return errTooManyRows
			}
			return nil
		})
	})
}

// gatherPolygons adds the edges of a feature of tile t, whose corner is origin
// and whose unit is step on the plane.
func (c *cutout) gatherPolygons(f mvt.Feature, t quadkey.Tile, origin grid.Point, step int32) error {
	fine := func(q grid.Point) grid.Point { return grid.Pt(origin.X+q.X*step, origin.Y+q.Y*step) }
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
				c.add(grid.Edge{A: fine(prev), B: fine(q)}, along)
				prev = q
			}
		}
	}
	return nil
}

// add adds an edge. Edges along tile lines are stored separately until they are summed.
func (c *cutout) add(e grid.Edge, tileLine bool) {
	if tileLine {
		c.frames = append(c.frames, e)
	} else {
		c.edges = append(c.edges, e)
	}
}

// withoutStops copies a ring without the vertices within vertical and horizontal runs, where tile
// lines cut the ring. Oblique runs keep their vertices: they are straight in Mercator and not in
// degrees.
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

// fineBox converts a box that does not cross ±180° to the plane of cutouts.
func fineBox(b quadkey.Box) grid.Box {
	x := func(lon float64) int32 { return int32(math.Round(layout.GridX(lon) * fineStep)) }
	y := func(lat float64) int32 {
		switch {
		case lat > quadkey.MaxLatitude:
			return min(0, int32(math.Round((layout.PlateCarreeY(lat)-float64(layout.NorthCap.Y1))*fineStep)))
		case lat < -quadkey.MaxLatitude:
			return max(fineSize, fineSize+int32(math.Round((layout.PlateCarreeY(lat)-float64(layout.SouthCap.Y0))*fineStep)))
		}
		return max(0, min(fineSize, int32(math.Round(layout.MercatorY(lat)*fineStep))))
	}
	return grid.Box{X0: x(b.West), Y0: y(b.North), X1: x(b.East), Y1: y(b.South)}
}

// finePosition writes a point of the cutout plane as a GeoJSON position.
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
	return layout.AppendDegrees(dst, float64(p.X)/fineSize*360-180, lat, 7)
}
