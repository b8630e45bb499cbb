package feature

import (
	"context"
	"fmt"

	"quadrille/quadkey"
)

// Area is the area in which features are queried.
type Area interface {
	// Cover calls fn with the parts of the area in the order of their cells. No two parts
	// share a cell. Parts that end before the cell from may be left out. A part is valid
	// until fn returns.
	Cover(ctx context.Context, from quadkey.Cell, fn func(p *AreaPart) error) error
	// String distinguishes the area from others.
	String() string
}

// Ground is an Area that tells of any position whether it is there, without a data set.
type Ground interface {
	Area
	// Contains reports whether a valid position is in the area.
	Contains(at quadkey.Position) bool
	// SquareDegrees returns the size of a box around the area.
	SquareDegrees() float64
}

// AreaPart is a run of cells of an Area.
type AreaPart struct {
	Cells quadkey.Range
	// Contains reports whether a position in these cells is in the area. If it is nil, all
	// positions are.
	Contains func(quadkey.Position) (bool, error)
	// Border returns the outline of the area in these cells. It is needed for features that are not
	// points: an area without it and without Reaches can be queried for points only. The outline is
	// valid until fn of Cover returns.
	Border func() (*Border, error)
	// Reaches takes the place of Border where the area is what is on lines, or within a distance. It
	// reports whether a line has a point in the area, which it must find if the point is in these
	// cells. work is the number of comparisons. Anchors are positions of the area in these cells: each
	// connected piece of the area has one, or a part without Contains.
	Reaches func(l *Line) (in bool, work int)
	Anchors []quadkey.Position
}

// Line is a line between two positions: straight in longitude and latitude or, with Mercator, on the
// map of Web Mercator. It never goes across ±180°.
type Line struct {
	A, B     quadkey.Position
	Mercator bool
}

// Border is the outline of an area's ground. It is exact in the cells of its part. Ground that it
// encloses outside these cells belongs to the area, too. Edges are straight lines on their map. A
// border much wider than a tile is compared with an error of up to half a step.
type Border struct {
	// Mercator has the rings on the map of Web Mercator, in 2²⁵ steps across the world: x to the
	// east from 180° W, y to the south from 85.0511° N.
	Mercator []Ring
	// Polar has the rings beyond the latitudes of that map. They are on a map of degrees with the
	// same steps, with y to the south from the North Pole. A part may omit them if an earlier part
	// had them.
	Polar []Ring
}

// Ring is a closed line of at least three points x, y, which does not repeat the first. The ground is on
// its right, so holes run the other way round.
type Ring [][2]int32

// Holds reports whether a position in the cells of the part is in the area.
func (p *AreaPart) Holds(at quadkey.Position) (bool, error) {
	if p.Contains == nil {
		return true, nil
	}
	return p.Contains(at)
}

// Box is the Area of a box, including its edges.
type Box quadkey.Box

// boxRanges bounds the cover of a box. With more ranges, fewer features outside the box are read.
const boxRanges = 64

// Cover implements Area. Its error matches ErrQuery if the box is not valid.
func (b Box) Cover(_ context.Context, _ quadkey.Cell, fn func(p *AreaPart) error) error {
	box := quadkey.Box(b)
	ranges, err := quadkey.CoverBox(box, boxRanges)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrQuery, err)
	}
	p := AreaPart{}
	if box != quadkey.World {
		p.Contains = func(at quadkey.Position) (bool, error) { return box.Contains(at.Lon, at.Lat), nil }
	}
	for _, p.Cells = range ranges {
		if err := fn(&p); err != nil {
			return err
		}
	}
	return nil
}

// String implements Area.
func (b Box) String() string { return "box " + quadkey.Box(b).String() }

// Contains implements Ground.
func (b Box) Contains(at quadkey.Position) bool { return quadkey.Box(b).Contains(at.Lon, at.Lat) }

// SquareDegrees implements Ground.
func (b Box) SquareDegrees() float64 { return quadkey.Box(b).SquareDegrees() }

// Tile is the Area of a tile: the points that belong to it. Tiles deeper than
// quadkey.CellZoom are cut out of their cell.
type Tile quadkey.Tile

// Cover implements Area.
func (t Tile) Cover(_ context.Context, _ quadkey.Cell, fn func(p *AreaPart) error) error {
	tile := quadkey.Tile(t)
	p := AreaPart{}
	p.Cells.First, p.Cells.Last = tile.CellRange()
	if tile.Z > quadkey.CellZoom {
		p.Contains = func(at quadkey.Position) (bool, error) {
			of, err := quadkey.TileAt(at.Lon, at.Lat, tile.Z)
			return of == tile, err
		}
	}
	return fn(&p)
}

// String implements Area.
func (t Tile) String() string { return "tile " + quadkey.Tile(t).String() }
