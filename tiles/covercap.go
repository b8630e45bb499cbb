package tiles

import (
	"slices"

	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// coverCap is the part of a region in a polar cap. Its points belong to the tiles of the rim, the
// top or bottom row.
type coverCap struct {
	rings   rings
	full    bool
	given   bool   // its outline is in the border of a tile
	columns []bool // the columns of the rim to which points of the region may belong; nil for none
}

// These are the rims in the order of their cells: all tiles of the top row, then all tiles of the
// bottom row.
const (
	rimSide  = 1 << grid.MaxZoom
	rimTiles = 2 * rimSide
)

func rimTile(i int) quadkey.Tile {
	if i < rimSide {
		return quadkey.Tile{Z: grid.MaxZoom, X: uint32(i)}
	}
	return quadkey.Tile{Z: grid.MaxZoom, X: uint32(i - rimSide), Y: rimSide - 1}
}

// readCaps reads the parts of the region in the polar caps, if the region's box reaches them.
func (c *cover) readCaps(box quadkey.Box) error {
	c.rim = rimTiles
	d := descend(c.ctx, c.s, c.rt, 0)
	reached := [2]bool{box.North > quadkey.MaxLatitude, box.South < -quadkey.MaxLatitude}
	for i, polar := range layout.PolarCaps {
		if !reached[i] {
			continue
		}
		value, err := d.polar(polar)
		if err != nil {
			return err
		}
		if value == nil {
			continue
		}
		c.found = false
		if err := c.s.eachFeature(value, c.ids, c.keep); err != nil {
			return err
		}
		if !c.found {
			continue
		}
		if err := c.caps[i].rings.read(c.s, c.feature); err != nil {
			return err
		}
		c.caps[i].survey(polar)
		c.rim = 0
	}
	return nil
}

// survey sets full and columns.
func (k *coverCap) survey(polar *layout.PolarCap) {
	width, height := polar.X1-polar.X0, polar.Y1-polar.Y0
	k.full = len(k.rings.ends) == 1 && !slices.ContainsFunc(k.rings.points, func(p grid.Point) bool {
		return p.X != 0 && p.X != width || p.Y != 0 && p.Y != height
	}) && len(k.rings.points) == 4
	k.columns = make([]bool, rimSide)
	pole := float64(90)
	if polar == layout.SouthCap {
		pole = -90
	}
	if k.contains(polar, -180, pole) {
		// The pole is a single point, so every tile of the row contains it, whatever its
		// longitudes.
		for i := range k.columns {
			k.columns[i] = true
		}
		return
	}
	start := 0
	for _, end := range k.rings.ends {
		// A ring reaches every column between its points. A point that is rounded to the side of a
		// column may belong to the next column.
		west, east := width, int32(0)
		for _, p := range k.rings.points[start:end] {
			west, east = min(west, p.X-1), max(east, p.X+1)
		}
		for x := max(west, 0) >> grid.TileShift(grid.MaxZoom); x <= min(east, width-1)>>grid.TileShift(grid.MaxZoom); x++ {
			k.columns[x] = true
		}
		start = end
	}
}

func (k *coverCap) contains(polar *layout.PolarCap, lon, lat float64) bool {
	if len(k.rings.ends) == 0 {
		return false
	}
	px, py := capPoint(polar, lon, lat)
	return k.rings.contain(px, py, capSubBits)
}

// rims emits the rim tiles before a cell. The region has points only in the cap beyond them, none
// in their squares.
func (c *cover) rims(before uint64) error {
	for ; c.rim < rimTiles; c.rim++ {
		if columns := c.caps[c.rim/rimSide].columns; columns == nil || !columns[c.rim%rimSide] {
			continue
		}
		t := rimTile(c.rim)
		first, last := t.CellRange()
		if uint64(first) >= before {
			return nil
		}
		if last < c.from {
			continue
		}
		if err := c.give(t, groundNone, false); err != nil {
			return err
		}
	}
	return nil
}
