package quadkey

import (
	"encoding/binary"
	"fmt"
)

// CellZoom is the zoom of a [Cell] and the deepest a [Key] can name.
const CellZoom = 16

// Cell is a tile of zoom 16 as its packed quadkey: x and y interleaved, y the
// higher bit of each pair. Every value is a cell, and cells in numeric order
// follow the digits of their quadkeys.
type Cell uint32

// CellOf returns the cell of a point, in degrees. Errors match [ErrCoordinate].
func CellOf(lon, lat float64) (Cell, error) {
	if err := CheckCoordinate(lon, lat); err != nil {
		return 0, err
	}
	x, y := gridAt(lon, lat)
	const out = MaxZoom - CellZoom
	return Cell(interleave(x>>out, y>>out)), nil
}

// Tile returns the cell as a tile of zoom [CellZoom].
func (c Cell) Tile() Tile {
	x, y := deinterleave(uint64(c))
	return Tile{CellZoom, x, y}
}

// AppendKey appends the cell's four bytes, big-endian, so that bytes sort as
// cells do.
func (c Cell) AppendKey(dst []byte) []byte {
	return binary.BigEndian.AppendUint32(dst, uint32(c))
}

// CellFromKey returns the cell at the start of a row key and ignores the bytes
// after the cell's four. The error of a shorter key matches [ErrKey].
func CellFromKey(key []byte) (Cell, error) {
	if len(key) < 4 {
		return 0, fmt.Errorf("%w: %d bytes; a cell has 4", ErrKey, len(key))
	}
	return Cell(binary.BigEndian.Uint32(key)), nil
}
