package quadkey

import "math"

// Circle is the ground within a great-circle distance of a point. It finds quickly which tiles can
// hold points of it: [Circle.Meets] compares whole numbers where [Tile.MinDistance] calculates
// angles.
//
// It stores the box around the circle, in cells: the columns west to east, which may wrap at 180°,
// and the rows north to south.
type Circle struct {
	view                     viewpoint
	column, row              uint32 // of the point
	west, east, north, south uint32
}

const cellsAcross = 1 << CellZoom

// CircleAround returns the circle around a point, in degrees, of a radius in
// metres. The coordinates must be valid. A radius that is infinite, NaN or more
// than half the Earth's circumference gives the whole Earth.
func CircleAround(lon, lat, metres float64) Circle {
	x, y := gridAt(lon, lat)
	const out = MaxZoom - CellZoom
	c := Circle{view: viewpointAt(lon, lat), column: x >> out, row: y >> out, east: cellsAcross - 1, south: cellsAcross - 1}
	turn := metres/EarthRadius*(1+1e-9) + 1e-9 // more than rounding
	if !(turn < math.Pi) {
		return c
	}
	north, south := lat+turn*degrees, lat-turn*degrees
	// One cell more on each side makes up for the rounding of the projection.
	if north < 90 {
		_, y := gridAt(lon, north)
		c.north = y>>out - min(y>>out, 1)
	}
	if south > -90 {
		_, y := gridAt(lon, south)
		c.south = min(y>>out+1, cellsAcross-1)
	}
	if north >= 90 || south <= -90 {
		return c // it contains a pole, where all meridians meet
	}
	// The meridians that touch the circle are farther away than the circle is wide at the point's
	// latitude.
	across := math.Asin(min(math.Sin(min(turn, math.Pi/2))/c.view.cos, 1))*degrees*(1+1e-9) + 1e-9
	width := uint32(math.Ceil(across/360*cellsAcross)) + 1
	if width < cellsAcross/2 {
		c.west, c.east = (c.column-width)%cellsAcross, (c.column+width)%cellsAcross
	}
	return c
}

// Meets reports whether a tile may hold points of the circle. It is true for each tile that does,
// and may be true for a tile beside the circle.
func (c *Circle) Meets(t Tile) bool {
	if t.Z > CellZoom {
		t = t.Ancestor(CellZoom)
	}
	shift := CellZoom - t.Z
	if t.Y < c.north>>shift || t.Y > c.south>>shift {
		return false
	}
	west, east := c.west>>shift, c.east>>shift
	if c.west > c.east {
		return t.X >= west || t.X <= east
	}
	return t.X >= west && t.X <= east
}

// MinDistance does the same as [Tile.MinDistance] from the centre, at lower cost.
func (c *Circle) MinDistance(t Tile) float64 {
	if t.Z <= CellZoom && c.column>>(CellZoom-t.Z) == t.X && c.row>>(CellZoom-t.Z) == t.Y {
		return 0
	}
	g := t.ground()
	return c.view.minDistance(&g)
}

// AppendTiles appends at most four tiles that together hold all points of the circle. They are of
// one zoom, the deepest at which four suffice.
func (c *Circle) AppendTiles(dst []Tile) []Tile {
	for shift := uint8(0); ; shift++ {
		z := CellZoom - shift
		mask := uint32(1)<<z - 1
		columns, rows := (c.east>>shift-c.west>>shift)&mask, c.south>>shift-c.north>>shift
		if columns > 1 || rows > 1 {
			continue
		}
		// Columns that wrap around may meet in one tile and fill both ends of it.
		if c.west > c.east && columns == 0 && z > 0 {
			continue
		}
		for row := range rows + 1 {
			for column := range columns + 1 {
				dst = append(dst, Tile{z, (c.west>>shift + column) & mask, c.north>>shift + row})
			}
		}
		return dst
	}
}
