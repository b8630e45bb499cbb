// Package grid is the geometry of borders, in whole numbers on one grid for the
// whole world. It knows no degrees, files or rows.
//
// A border is a chain of directed edges (chain.go). Chains are cut to boxes
// (clip.go) and assembled into polygons (rings.go, nest.go). A reader needs no more. A
// build prepares borders as lines of one arrangement (lines.go). It snap-rounds
// them, so that they meet at vertices only (noding.go), finds the winding
// numbers on their sides (winding.go, outline.go), and simplifies them arc by
// arc (arcs.go, simplify.go).
package grid

// This is the world grid. Every border is an integer polygon on it: the tile of zoom 13 is 4096
// units wide, the world 2²⁵, and one unit is 1.2 m at the equator. x grows to the east from
// longitude −180°, y to the south from latitude +85.0511° in Web-Mercator.
const (
	// MaxZoom is the deepest zoom with rows of its own; deeper tiles are cut
	// from it.
	MaxZoom = 13

	// worldBits is the base-2 logarithm of the world's width in units.
	worldBits = MaxZoom + 12
	// WorldSize is the world's width in units.
	WorldSize = 1 << worldBits

	// BufferShift makes a tile's buffer 1/64 of its side: 64 of 4096 units.
	BufferShift = 6
	// RimUnits is the distance for which geometry continues beyond the top and bottom of the world.
	// So the buffer of the outermost tiles, 1/64 of the world at zoom 0, shows land and no cut
	// edge.
	RimUnits = WorldSize >> (BufferShift - 1)
)

// TileShift returns the base-2 logarithm of a tile's side in units at zoom z.
func TileShift(z int) uint { return uint(worldBits - z) }

// StepShift returns the base-2 logarithm of the coordinate step used at zoom z: the tile always has
// 4096 steps.
func StepShift(z int) uint { return uint(MaxZoom - z) }

// Point is a position on the grid.
type Point struct{ X, Y int32 }

// Box is a rectangle on the grid, including its sides.
type Box struct{ X0, Y0, X1, Y1 int32 }

// TileBox returns the extent of a tile, buffered by 1/64 of its side on every
// side if buffered is set.
func TileBox(z int, x, y uint32, buffered bool) Box {
	s := TileShift(z)
	b := Box{int32(x) << s, int32(y) << s, int32(x+1) << s, int32(y+1) << s}
	if buffered {
		d := int32(1) << (s - BufferShift)
		b.X0, b.Y0, b.X1, b.Y1 = b.X0-d, b.Y0-d, b.X1+d, b.Y1+d
	}
	return b
}

// Corner returns the north-west corner.
func (b Box) Corner() Point { return Point{b.X0, b.Y0} }

// In returns the point relative to an origin, in steps of 2^shift units.
func (p Point) In(origin Point, shift uint) Point {
	return Point{(p.X - origin.X) >> shift, (p.Y - origin.Y) >> shift}
}

// Pt returns the point x, y.
func Pt(x, y int32) Point { return Point{x, y} }
