package tiles

import (
	"context"
	"fmt"
	"math"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// CoveredTile is a tile in the cover of a region. It is valid until the function
// that [Reader.Cover] called with it returns.
type CoveredTile struct {
	Tile quadkey.Tile
	// Whole is set if every point of the tile is in the region. Other tiles are of zoom MaxZoom.
	Whole bool

	cover   *cover
	ground  ground
	feature mvt.Feature // of mixed ground
	rings   rings       // of the feature, once read
	read    bool
}

// ground says how much of a tile a region covers. It ignores the points beyond the limits of
// Mercator that belong to the tile.
type ground uint8

const (
	groundNone ground = iota
	groundMixed
	groundAll
)

// Cover calls fn with the tiles that a region lies in. The tiles are disjoint and come in the order
// of their cells. Cover skips tiles whose last cell is before from without reading them, so a
// caller can continue where it stopped.
//
// A point is in the region if and only if it belongs to a tile of the cover that is Whole or whose
// Contains accepts the point. That is the answer of At. Points beyond the latitudes of Mercator
// belong to the tiles of the top and the bottom row, as in package quadkey.
//
// Cover reads the rows in the region's bounding box. If that box is large, it first reads the
// region's stored geometry and then only the rows within a tile of zoom 8 of it, 156 km at the
// equator. That geometry is on another grid of about a metre, or a coarser one if it would take
// more than 10 MB. A part of a region may vanish on that grid, for example a strip less than two
// metres wide. Such a part is missed if its distance from the rest of the region exceeds the width
// of such a tile. Memory does not grow with the cover.
//
// Errors match ErrUnknownType or ErrNotFound, come from the store, or are the
// error of fn, which ends the cover.
func (r *Reader) Cover(ctx context.Context, typ, id string, from quadkey.Cell, fn func(c *CoveredTile) error) error {
	rec, err := r.record(ctx, typ, id)
	if err != nil {
		return err
	}
	c := &cover{r: r, ctx: ctx, rt: r.types[typ], ids: []string{rec.id}, from: from, fn: fn}
	c.tile.cover = c
	c.keep = func(f mvt.Feature, _, _ []byte) error {
		c.feature, c.found = f, true
		return nil
	}
	c.s = r.scratch.Get().(*scratch)
	defer r.scratch.Put(c.s)
	// The bounds are the source's, but the grid rounds points.
	const slack = 1e-4
	box := widened(rec.bounds, slack)
	if err := c.readCaps(box); err != nil {
		return err
	}
	ranges, err := c.ranges(box)
	if err != nil {
		return err
	}
	return c.scan(ranges)
}

// cover is the state of one Cover.
type cover struct {
	r    *Reader
	ctx  context.Context
	s    *scratch
	rt   *readerType
	ids  []string // the region's
	from quadkey.Cell
	fn   func(c *CoveredTile) error
	caps [2]coverCap // north, south
	rim  int         // the next tile of the rims, see rimTile
	tile CoveredTile // passed to fn

	keep    func(f mvt.Feature, id, name []byte) error
	feature mvt.Feature // the feature that keep found
	found   bool
}

// scan reads the rows of ranges and emits their tiles.
func (c *cover) scan(ranges []quadkey.Range) error {
	scan := cellstore.Scan{Selection: cellstore.Selection{Families: []string{c.rt.mvt}}}
	next := uint64(c.from)
	for _, g := range ranges {
		// The row of a tile is at its last cell, which can be outside of the box.
		g.Last |= 1<<(2*(quadkey.CellZoom-grid.MaxZoom)) - 1
		if uint64(g.Last) < next {
			continue
		}
		g.First = max(g.First, quadkey.Cell(next))
		next = uint64(g.Last) + 1
		start, stop := g.Keys()
		if stop == nil {
			stop = layout.NorthCap.Key
		}
		scan.Ranges = append(scan.Ranges, cellstore.Range{From: start, To: stop})
	}
	if len(scan.Ranges) > 0 {
		for row, err := range c.rt.bounds.Scan(c.ctx, scan) {
			if err != nil {
				return err
			}
			if err := c.row(row); err != nil {
				return err
			}
		}
	}
	return c.rims(math.MaxUint32 + 1)
}

// row emits the tile of a row if the tile holds a part of the region.
func (c *cover) row(row *cellstore.Row) error {
	t, ok := layout.RowTile(row.Key)
	if !ok {
		return fmt.Errorf("%w: key %x", ErrCorrupt, row.Key)
	}
	mark, value, err := splitMark(row.Cells[0].Value)
	if err != nil {
		return err
	}
	g := groundAll
	if mark != layout.MarkLeaf {
		if t.Z < grid.MaxZoom {
			return nil // the rows below it are exact
		}
		g = groundMixed
	}
	c.found = false
	if err := c.s.eachFeature(value, c.ids, c.keep); err != nil || !c.found {
		return err
	}
	return c.place(t, g)
}

// place emits t, after the rim tiles that come before it in the order of cells. (A rim tile
// represents the part of a polar cap beyond it.) A full tile in the top or bottom row is split if
// the region does not fill the cap beyond it. So Whole is set only if both are full.
func (c *cover) place(t quadkey.Tile, g ground) error {
	first, last := t.CellRange()
	if last < c.from {
		return nil
	}
	top, bottom := t.Y == 0, t.Y == 1<<t.Z-1
	whole := g == groundAll && (!top || c.caps[0].full) && (!bottom || c.caps[1].full)
	if g == groundAll && !whole && t.Z < grid.MaxZoom {
		for _, child := range t.Children() {
			if err := c.place(child, g); err != nil {
				return err
			}
		}
		return nil
	}
	if err := c.rims(uint64(first)); err != nil {
		return err
	}
	for ; c.rim < rimTiles && t.Contains(rimTile(c.rim)); c.rim++ {
		continue // t has it
	}
	return c.give(t, g, whole)
}

func (c *cover) give(t quadkey.Tile, g ground, whole bool) error {
	if err := c.ctx.Err(); err != nil {
		return err
	}
	d := &c.tile
	d.Tile, d.Whole, d.ground, d.feature, d.read = t, whole, g, c.feature, false
	return c.fn(d)
}

// Contains reports whether a point in degrees is in the region. The point must
// belong to the tile, see quadkey.TileAt. The first call reads the region's
// border in the tile, and the others allocate nothing. Errors match
// quadkey.ErrCoordinate or ErrCorrupt.
func (d *CoveredTile) Contains(lat, lon float64) (bool, error) {
	if err := quadkey.CheckCoordinate(lon, lat); err != nil {
		return false, err
	}
	lon = meridian(lon, lat)
	switch {
	case d.Whole:
		return true, nil
	case lat > quadkey.MaxLatitude:
		return d.cover.caps[0].contains(layout.NorthCap, lon, lat), nil
	case lat < -quadkey.MaxLatitude:
		return d.cover.caps[1].contains(layout.SouthCap, lon, lat), nil
	case d.ground != groundMixed:
		return d.ground == groundAll, nil
	}
	if err := d.readRings(); err != nil {
		return false, err
	}
	px, py := tilePoint(d.Tile, lon, lat)
	return d.rings.contain(px, py, tileSubBits), nil
}

func (d *CoveredTile) readRings() error {
	if d.read {
		return nil
	}
	err := d.rings.read(d.cover.s, d.feature)
	d.read = err == nil
	return err
}

// border writes the outline of the region in the tile over b.
func (d *CoveredTile) border(b *feature.Border) error {
	b.Mercator, b.Polar = b.Mercator[:0], b.Polar[:0]
	square := grid.TileBox(int(d.Tile.Z), d.Tile.X, d.Tile.Y, false)
	switch d.ground {
	case groundMixed:
		if err := d.readRings(); err != nil {
			return err
		}
		b.Mercator = d.rings.appendTo(b.Mercator, square.Corner())
	case groundAll:
		b.Mercator = append(b.Mercator, feature.Ring{
			{square.X0, square.Y0}, {square.X1, square.Y0}, {square.X1, square.Y1}, {square.X0, square.Y1},
		})
	}
	// All columns of a cap have the same outline.
	for i, polar := range layout.PolarCaps {
		if k := &d.cover.caps[i]; !k.given && d.Tile.Y == rimTile(i*rimSide).Y {
			k.given = true
			b.Polar = k.rings.appendTo(b.Polar, grid.Pt(0, polar.Y0))
		}
	}
	return nil
}

// rings has the rings of a polygon feature.
type rings struct {
	points []grid.Point
	ends   []int // of each ring in points
}

func (r *rings) read(s *scratch, f mvt.Feature) error {
	r.points, r.ends = r.points[:0], r.ends[:0]
	return s.eachRing(f, func(ring []grid.Point) error {
		r.points = append(r.points, ring...)
		r.ends = append(r.ends, len(r.points))
		return nil
	})
}

// appendTo appends the rings, moved to a corner, and reuses the memory of earlier rings in dst.
func (r *rings) appendTo(dst []feature.Ring, corner grid.Point) []feature.Ring {
	start := 0
	for _, end := range r.ends {
		var ring feature.Ring
		if n := len(dst); n < cap(dst) {
			ring = dst[:n+1][n][:0]
		}
		for _, p := range r.points[start:end] {
			ring = append(ring, [2]int32{corner.X + p.X, corner.Y + p.Y})
		}
		dst, start = append(dst, ring), end
	}
	return dst
}

// contain reports whether the rings contain a point, as scratch.holds does for a feature.
func (r *rings) contain(px, py int64, sub uint) bool {
	winding, start := 0, 0
	for _, end := range r.ends {
		winding += windingOf(r.points[start:end], px, py, sub)
		start = end
	}
	return winding > 0
}
