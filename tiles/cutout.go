package tiles

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"quadrille/quadkey"
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
	fineStep = fineSize / worldSize
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
		return dst, MaxZoom, nil
	}
	// Where there are obviously too many tiles nothing is tried.
	const hopeless = 64 * cutoutRows
	zoom = MaxZoom
	near := windowOf(common(b, rec.BBox))
	for zoom > 0 && near.tilesAt(zoom) > hopeless {
		zoom--
	}
	var polys []polygon
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
	dst = appendFeatureHead(dst, typ, &region{id: id, name: rec.Name})
	dst = appendMultiPolygon(dst, polys, finePosition)
	return append(dst, '}'), zoom, nil
}

// common is the part of a bounding box in a box, with a margin.
func common(b quadkey.Box, bounds [4]float64) quadkey.Box {
	o := overlap(b, bounds)
	return quadkey.Box{West: o[0], South: o[1], East: o[2], North: o[3]}
}

// cutout gathers the pieces of one region.
type cutout struct {
	r     *Reader
	ctx   context.Context
	s     *scratch
	rt    *readerType
	id    string
	edges []edge
}

// cut returns the polygons of the region in a box at a zoom.
func (c *cutout) cut(b quadkey.Box, zoom int) ([]polygon, error) {
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
	var polys []polygon
	for _, b := range boxes {
		frame := fineBox(b)
		if frame.x0 >= frame.x1 || frame.y0 >= frame.y1 {
			continue // without area
		}
		if err := c.gather(d, b, frame, zoom); err != nil {
			return nil, err
		}
		for shift := uint(1); len(c.edges) > cutoutEdges; shift++ {
			c.edges = coarsen(c.edges, shift)
		}
		w := windingFromNorth(c.edges, point{frame.x0, frame.y0})
		for _, p := range c.s.clip.rings.polygons(c.s.clip.clip(c.edges, w, frame, 0)) {
			own := make(polygon, len(p)) // p is in memory that is used again
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
func (c *cutout) gather(d *descent, b quadkey.Box, frame box, zoom int) error {
	c.edges = c.edges[:0]
	var frames []edge // edges along tile lines
	room := func() error {
		if zoom > 0 && len(c.edges)+len(frames) > cutoutEdges {
			return errTooManyRows
		}
		return nil
	}
	for _, p := range [2]struct {
		key  []byte
		any  bool
		box  box
		fine func(point) point
	}{
		{keyNorth, b.North > quadkey.MaxLatitude, northCap, func(p point) point { return point{p.x * fineStep, (p.y - northCap.y1 + northCap.y0) * fineStep} }},
		{keySouth, b.South < -quadkey.MaxLatitude, southCap, func(p point) point { return point{p.x * fineStep, fineSize + p.y*fineStep} }},
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
			return c.s.eachEdge(f, func(e edge) {
				e = edge{p.fine(e.a), p.fine(e.b)}
				if e.a.y == e.b.y && (e.a.y == 0 || e.a.y == fineSize) {
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
		return x < int64(frame.x1) && x+int64(side) > int64(frame.x0) &&
			y < int64(frame.y1) && y+int64(side) > int64(frame.y0)
	}
	err := d.walk(quadkey.Tile{}, zoom, want, func(t quadkey.Tile, leaf bool, value []byte) error {
		side := int32(fineSize >> t.Z)
		step := side / mvt.Extent
		origin := point{int32(t.X) * side, int32(t.Y) * side}
		return c.s.eachFeature(value, []string{c.id}, func(f mvt.Feature, _, _ []byte) error {
			if leaf {
				frames = append(frames, perimeter(box{origin.x, origin.y, origin.x + side, origin.y + side})...)
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
						e := edge{prev, q}
						along := alongSide(e, box{0, 0, mvt.Extent, mvt.Extent}) >= 0
						e = edge{point{origin.x + e.a.x*step, origin.y + e.a.y*step}, point{origin.x + e.b.x*step, origin.y + e.b.y*step}}
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
	c.edges = cancel(append(c.edges, sumLines(frames)...))
	return nil
}

// withoutStops copies a ring without the vertices on the way of vertical and
// horizontal lines, which tile lines leave there. Other lines keep theirs: they
// are straight in Mercator and not in degrees.
func withoutStops(ring []point) []point {
	out := make([]point, 0, len(ring))
	prev := ring[len(ring)-1]
	for i, p := range ring {
		next := ring[(i+1)%len(ring)]
		if prev.x == p.x && p.x == next.x || prev.y == p.y && p.y == next.y {
			continue
		}
		out = append(out, p)
		prev = p
	}
	return out
}

// eachEdge calls fn for the edges of a polygon feature.
func (s *scratch) eachEdge(f mvt.Feature, fn func(edge)) error {
	var p mvt.Path
	p.Reset(f)
	for {
		pts, closed, ok, err := p.Next(s.path[:0])
		if err != nil {
			return fmt.Errorf("%w: %w", ErrCorrupt, err)
		}
		if !ok {
			return nil
		}
		s.path = pts
		if !closed || len(pts) == 0 {
			return fmt.Errorf("%w: %w", ErrCorrupt, errors.New("an open ring"))
		}
		prev := pts[len(pts)-1]
		for _, q := range pts {
			fn(edge{point{prev.X, prev.Y}, point{q.X, q.Y}})
			prev = q
		}
	}
}

// sumLines adds up vertical and horizontal edges, line by line: where two tiles
// of a region meet, theirs are nothing together.
func sumLines(edges []edge) []edge {
	flip := func(e edge) edge { return edge{point{e.a.y, e.a.x}, point{e.b.y, e.b.x}} }
	var lines [2][]edge // vertical, horizontal as if they were
	for _, e := range edges {
		if e.a.x == e.b.x {
			lines[0] = append(lines[0], e)
		} else {
			lines[1] = append(lines[1], flip(e))
		}
	}
	out := edges[:0]
	for i, line := range lines {
		slices.SortFunc(line, func(e, f edge) int { return cmp.Compare(e.a.x, f.a.x) })
		for len(line) > 0 {
			n := 1
			for n < len(line) && line[n].a.x == line[0].a.x {
				n++
			}
			for _, e := range sumVertical(line[:n]) {
				if i == 1 {
					e = flip(e)
				}
				out = append(out, e)
			}
			line = line[n:]
		}
	}
	return out
}

// fineBox is a box that does not cross ±180° on the plane of cutouts.
func fineBox(b quadkey.Box) box {
	x := func(lon float64) int32 { return int32(math.Round(gridX(lon) * fineStep)) }
	y := func(lat float64) int32 {
		switch {
		case lat > quadkey.MaxLatitude:
			return min(0, int32(math.Round((plateY(lat)-float64(northCap.y1))*fineStep)))
		case lat < -quadkey.MaxLatitude:
			return max(fineSize, fineSize+int32(math.Round((plateY(lat)-float64(southCap.y0))*fineStep)))
		}
		return max(0, min(fineSize, int32(math.Round(mercatorY(lat)*fineStep))))
	}
	return box{x(b.West), y(b.North), x(b.East), y(b.South)}
}

// finePosition writes a point of the plane of cutouts.
func finePosition(dst []byte, p point) []byte {
	y := float64(p.y)
	var lat float64
	switch {
	case y < 0:
		lat = 90 - (y/fineStep+float64(northCap.y1))/worldSize*360
	case y > fineSize:
		lat = 90 - ((y-fineSize)/fineStep+float64(southCap.y0))/worldSize*360
	default:
		lat = mercatorLat(y / fineStep)
	}
	dst = append(dst, '[')
	dst = appendFixed(dst, float64(p.x)/fineSize*360-180, 7)
	dst = append(dst, ',')
	return append(appendFixed(dst, lat, 7), ']')
}

// coarsen moves every vertex to the nearest multiple of 2^shift, halves up, in
// place, and cancels what collapses.
func coarsen(edges []edge, shift uint) []edge {
	half := int32(1) << shift >> 1
	for i, e := range edges {
		edges[i] = edge{
			point{(e.a.x + half) >> shift << shift, (e.a.y + half) >> shift << shift},
			point{(e.b.x + half) >> shift << shift, (e.b.y + half) >> shift << shift},
		}
	}
	return cancel(edges)
}
