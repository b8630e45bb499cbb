package quadkey

import "fmt"

// Hilbert returns the tile's place, counted from 0, on the Hilbert curve
// through the tiles of its zoom. The curve begins in the north-west corner and
// ends in the north-east one, and consecutive tiles are neighbours. The
// descendants of a tile are contiguous on it: dividing by four gives the place
// of the parent. Archives of tiles are sorted by it.
func (t Tile) Hilbert() uint64 {
	var d uint64
	x, y := t.X, t.Y
	for s := t.Z; s > 0; s-- {
		half := uint32(1) << (s - 1)
		east, south := x >= half, y >= half
		x, y = x&(half-1), y&(half-1)
		d <<= 2
		switch {
		case !east && !south:
			x, y = y, x
		case !east && south:
			d |= 1
		case east && south:
			d |= 2
		default:
			d |= 3
			x, y = half-1-y, half-1-x
		}
	}
	return d
}

// TileFromHilbert returns the tile at zoom z whose place on the Hilbert curve is d.
// Errors match [ErrTile].
func TileFromHilbert(z uint8, d uint64) (Tile, error) {
	if z > MaxZoom {
		return noTile, zoomError(int(z))
	}
	if d>>(2*z) != 0 {
		return noTile, fmt.Errorf("%w: zoom %d has no place %d on the Hilbert curve, the last is %d", ErrTile, z, d, uint64(1)<<(2*z)-1)
	}
	var x, y uint32
	for s := range z {
		half := uint32(1) << s
		switch d >> (2 * s) & 3 {
		case 0:
			x, y = y, x
		case 1:
			y += half
		case 2:
			x, y = x+half, y+half
		default:
			x, y = half-1-y+half, half-1-x
		}
	}
	return Tile{z, x, y}, nil
}
