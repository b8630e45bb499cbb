package tiles

import (
	"math"

	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// window is a box of degrees on the world grid, in the sub-units of points. It
// includes its edges.
type window struct {
	// tiles is set if part of the box lies in the square of the tiles. x1
	// exceeds the world's width when the box crosses ±180°.
	tiles          bool
	x0, y0, x1, y1 int64 // in units of 2^-tileSubBits
	full           bool  // every longitude

	// An edge is open if the box continues beyond it, outside the tiles' square.
	openNorth, openSouth bool

	caps [2]capWindow // north, south
}

// capWindow is the part of a box in a polar cap, in the coordinates of the
// cap's row.
type capWindow struct {
	any            bool
	x0, y0, x1, y1 int64 // in 2^-capSubBits units
	pole           bool  // the pole itself is in the box
}

const (
	tileWorld = int64(grid.WorldSize) << tileSubBits
	capWorld  = int64(grid.WorldSize) << capSubBits
	tileUnit  = int64(1) << tileSubBits
)

func windowOf(b quadkey.Box) window {
	w := window{
		full:      b.West == -180 && b.East == 180,
		tiles:     b.South <= quadkey.MaxLatitude && b.North >= -quadkey.MaxLatitude,
		openNorth: b.North > quadkey.MaxLatitude, openSouth: b.South < -quadkey.MaxLatitude,
	}
	sub := func(v float64, bits uint) int64 { return int64(math.Floor(v * float64(int64(1)<<bits))) }
	tileY := func(lat float64) int64 {
		return min(max(sub(layout.MercatorY(max(-quadkey.MaxLatitude, min(quadkey.MaxLatitude, lat))), tileSubBits), 0), tileWorld)
	}
	w.x0, w.x1 = sub(layout.GridX(b.West), tileSubBits), sub(layout.GridX(b.East), tileSubBits)
	w.y0, w.y1 = tileY(b.North), tileY(b.South)
	if b.West > b.East {
		w.x1 += tileWorld
	}
	for i, c := range [2]struct {
		polar *layout.PolarCap
		any   bool
		north float64
		south float64
		pole  bool
	}{
		{layout.NorthCap, b.North > quadkey.MaxLatitude, b.North, max(b.South, quadkey.MaxLatitude), b.North == 90},
		{layout.SouthCap, b.South < -quadkey.MaxLatitude, min(b.North, -quadkey.MaxLatitude), b.South, b.South == -90},
	} {
		y := func(lat float64) int64 {
			return min(max(sub(layout.PlateCarreeY(lat)-float64(c.polar.Y0), capSubBits), 0), int64(c.polar.Y1-c.polar.Y0)<<capSubBits)
		}
		w.caps[i] = capWindow{
			any: c.any, pole: c.pole, y0: y(c.north), y1: y(c.south),
			x0: sub(layout.GridX(b.West), capSubBits), x1: sub(layout.GridX(b.East), capSubBits),
		}
		if b.West > b.East {
			w.caps[i].x1 += capWorld
		}
	}
	return w
}

// boxOfTile returns the box around all points that belong to a tile.
func boxOfTile(t quadkey.Tile) quadkey.Box {
	b := t.Bound()
	if t.Y == 0 {
		b.North = 90
	}
	if t.Y == 1<<t.Z-1 {
		b.South = -90
	}
	return b
}

// windowOfTile returns the inside of a tile. Any region that meets it shares ground with the tile,
// unless the region is narrower there than a sub-unit. For lines it includes the west and the north
// edge, because points on these belong to the tile.
func windowOfTile(t quadkey.Tile, lines bool) window {
	inset := int64(1)
	if lines {
		inset = 0
	}
	inside := func(at uint32, world int64) (from, to int64) {
		side := world >> t.Z
		return int64(at)*side + inset, int64(at+1)*side - 1
	}
	w := window{tiles: true, full: t.Z == 0, openNorth: t.Y == 0, openSouth: t.Y == 1<<t.Z-1}
	w.x0, w.x1 = inside(t.X, tileWorld)
	w.y0, w.y1 = inside(t.Y, tileWorld)
	for i, open := range [2]bool{w.openNorth, w.openSouth} {
		c := &w.caps[i]
		c.any, c.y1 = open, int64(layout.PolarCaps[i].Y1-layout.PolarCaps[i].Y0)<<capSubBits
		c.x0, c.x1 = inside(t.X, capWorld)
	}
	return w
}

// rect is a rectangle in sub-units, including its edges.
type rect struct{ x0, y0, x1, y1 int64 }

// within appends the parts of the window in a tile, in the tile's coordinates. There are up to
// three if the ends of the window meet on the far side of the world.
func (w *window) within(dst []rect, t quadkey.Tile) []rect {
	if !w.tiles {
		return dst
	}
	side := tileWorld >> t.Z
	tx, ty := int64(t.X)*side, int64(t.Y)*side
	r := rect{y0: max(w.y0, ty) - ty, y1: min(w.y1, ty+side) - ty}
	if r.y0 > r.y1 {
		return dst
	}
	for _, shift := range [3]int64{-tileWorld, 0, tileWorld} {
		r.x0, r.x1 = max(w.x0+shift, tx)-tx, min(w.x1+shift, tx+side)-tx
		if r.x0 <= r.x1 {
			dst = append(dst, r)
		}
	}
	return dst
}

// within appends the parts of the window in its polar row.
func (c *capWindow) within(dst []rect, b grid.Box) []rect {
	if !c.any {
		return dst
	}
	for _, shift := range [3]int64{-capWorld, 0, capWorld} {
		r := rect{max(c.x0+shift, 0), c.y0, min(c.x1+shift, capWorld), c.y1}
		if r.x0 <= r.x1 {
			dst = append(dst, r)
		}
	}
	if c.pole {
		// The box is only the pole, which has any longitude.
		y := int64(0)
		if b.Y0 > 0 {
			y = int64(b.Y1-b.Y0) << capSubBits
		}
		dst = append(dst, rect{0, y, capWorld, y})
	}
	return dst
}

// deep reports whether a tile lies in the window, at least margin whole units away from the
// window's closed edges.
func (w *window) deep(t quadkey.Tile, margin int64) bool {
	side, m := tileWorld>>t.Z, margin*tileUnit
	tx, ty := int64(t.X)*side, int64(t.Y)*side
	if !w.openNorth && ty < w.y0+m || !w.openSouth && ty+side > w.y1-m {
		return false
	}
	if w.full {
		return true
	}
	for _, shift := range [3]int64{-tileWorld, 0, tileWorld} {
		if tx >= w.x0+shift+m && tx+side <= w.x1+shift-m {
			return true
		}
	}
	return false
}

// tilesAt returns an upper bound on the number of tiles of a zoom that meet the window.
func (w *window) tilesAt(z int) int64 {
	if !w.tiles {
		return 0
	}
	side := tileWorld >> z
	return min((w.x1-w.x0)/side+2, 1<<z) * min((w.y1-w.y0)/side+2, 1<<z)
}

// touches reports whether a stored polygon feature, border included, or a line feature meets one of
// the rectangles. sub is the number of fractional bits of the rectangles' coordinates.
func (s *scratch) touches(f mvt.Feature, rects []rect, sub uint) (bool, error) {
	lines := f.Type == mvt.LineString
	if f.Type != mvt.Polygon && !lines {
		return false, errNoPolygon()
	}
	var p mvt.Path
	p.Reset(f)
	for {
		a, pts, err := s.nextEdges(&p, lines)
		if err != nil {
			return false, err
		}
		if pts == nil {
			break
		}
		for _, b := range pts {
			for _, r := range rects {
				if r.meets(a, b, sub) {
					return true, nil
				}
			}
			a = b
		}
	}
	if lines {
		return false, nil
	}
	// No edge meets a rectangle, so each is wholly inside or wholly outside.
	for _, r := range rects {
		if in, err := s.holds(f, r.x0, r.y0, sub); in || err != nil {
			return in, err
		}
	}
	return false, nil
}

// meets reports whether the edge a–b has a point in the rectangle. Products
// have at most 61 bits, in the polar rows too.
func (r rect) meets(a, b grid.Point, sub uint) bool {
	ax, ay := int64(a.X)<<sub, int64(a.Y)<<sub
	bx, by := int64(b.X)<<sub, int64(b.Y)<<sub
	if max(ax, bx) < r.x0 || min(ax, bx) > r.x1 || max(ay, by) < r.y0 || min(ay, by) > r.y1 {
		return false
	}
	dx, dy := int64(b.X)-int64(a.X), int64(b.Y)-int64(a.Y)
	var neg, pos bool
	for _, c := range [4][2]int64{{r.x0, r.y0}, {r.x1, r.y0}, {r.x1, r.y1}, {r.x0, r.y1}} {
		// side is the side of the edge's line on which the corner lies.
		switch side := dx*(c[1]-ay) - dy*(c[0]-ax); {
		case side < 0:
			neg = true
		case side > 0:
			pos = true
		default:
			return true
		}
	}
	return neg && pos
}
