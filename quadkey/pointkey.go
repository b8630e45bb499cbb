package quadkey

import "encoding/binary"

// PointKey is the packed quadkey of the square of zoom 32 that holds a point. The square is about a
// centimetre wide at the equator. Points that share a tile of any zoom up to [MaxZoom] have keys of
// one contiguous range.
//
// Beyond ±[MaxLatitude], all latitudes share the squares at that edge.
type PointKey uint64

// pointZoom is the zoom of the squares.
const pointZoom = 32

// PointKeyOf returns the key of a point, in degrees. Errors match [ErrCoordinate].
func PointKeyOf(lon, lat float64) (PointKey, error) {
	if err := CheckCoordinate(lon, lat); err != nil {
		return 0, err
	}
	x, y := gridAt(lon, lat)
	return PointKey(interleave(within(x, projectX(lon)), within(y, projectY(lat)))), nil
}

// within returns the column or row of a coordinate at pointZoom. The result always lies in at, the
// column or row at MaxZoom, even after rounding and at the edges of the world.
func within(at uint32, unit float64) uint32 {
	const finer = 1 << (pointZoom - MaxZoom)
	rest := (unit*grid - float64(at)) * finer
	if at == 0 && unit >= 1 {
		rest = 0 // 180° is −180°
	}
	return at*finer + uint32(min(max(rest, 0), finer-1))
}

// Tile returns the tile of zoom z, up to MaxZoom, that holds the square.
func (k PointKey) Tile(z uint8) Tile {
	x, y := deinterleave(uint64(k))
	out := pointZoom - z
	return Tile{z, uint32(uint64(x) >> out), uint32(uint64(y) >> out)}
}

// Child returns which child of the tile at zoom z holds the square: 0 to 3, in the order of
// Tile.Children.
func (k PointKey) Child(z uint8) int { return int(k>>(2*(pointZoom-1-z))) & 3 }

// PointKeys returns the first and the last key of the points that belong to the tile.
func (t Tile) PointKeys() (first, last PointKey) {
	below := 2 * (pointZoom - uint(t.Z))
	if below == 64 {
		return 0, ^PointKey(0)
	}
	first = PointKey(t.Packed()) << below
	return first, first + 1<<below - 1
}

// AppendTo appends the key's eight bytes, big-endian, so that bytes sort as keys do.
func (k PointKey) AppendTo(dst []byte) []byte { return binary.BigEndian.AppendUint64(dst, uint64(k)) }
