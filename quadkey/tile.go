package quadkey

import (
	"fmt"
	"strconv"
)

// MaxZoom is the deepest zoom of a [Tile]; a tile there is about 9.5 m wide at
// the equator.
const MaxZoom = 22

// Tile is one square of the Web-Mercator grid: zoom, column counted eastwards
// and row counted southwards. The zero Tile is the whole world.
//
// All methods but Valid and String expect a valid tile. Every function of this
// package returns one, and [NewTile] checks for it.
type Tile struct {
	Z    uint8
	X, Y uint32
}

// noTile is the result of decoding a value that names no tile, for functions
// without an error result.
var noTile = Tile{Z: 255}

// NewTile returns tile z/x/y, or an error that matches [ErrTile] if the grid
// has no such tile.
func NewTile(z, x, y int) (Tile, error) {
	if z < 0 || z > MaxZoom {
		return Tile{}, zoomError(z)
	}
	if n := 1 << z; x < 0 || y < 0 || x >= n || y >= n {
		return Tile{}, fmt.Errorf("%w: %d/%d/%d; at zoom %d, x and y run from 0 to %d", ErrTile, z, x, y, z, n-1)
	}
	return Tile{uint8(z), uint32(x), uint32(y)}, nil
}

func zoomError(z int) error {
	return fmt.Errorf("%w: zoom %d; zooms run from 0 to %d", ErrTile, z, MaxZoom)
}

// ParseQuadkey returns the tile of a string of digits 0 to 3, one per zoom. The
// empty string is the world. Errors match [ErrTile].
func ParseQuadkey(s string) (Tile, error) {
	if len(s) > MaxZoom {
		return Tile{}, fmt.Errorf("%w: quadkey of %d digits; give at most %d", ErrTile, len(s), MaxZoom)
	}
	t := Tile{Z: uint8(len(s))}
	for i := range len(s) {
		d := s[i] - '0'
		if d > 3 {
			return Tile{}, fmt.Errorf("%w: quadkey %q; digits are 0 to 3", ErrTile, s)
		}
		t.X = t.X<<1 | uint32(d&1)
		t.Y = t.Y<<1 | uint32(d>>1)
	}
	return t, nil
}

// TileFromPacked returns the tile at zoom z whose digits, read as a base-4 number,
// are p. Errors match [ErrTile].
func TileFromPacked(z uint8, p uint64) (Tile, error) {
	if z > MaxZoom {
		return Tile{}, zoomError(int(z))
	}
	if p>>(2*z) != 0 {
		return Tile{}, fmt.Errorf("%w: packed quadkey %d has more than the %d digits of its zoom", ErrTile, p, z)
	}
	x, y := deinterleave(p)
	return Tile{z, x, y}, nil
}

// Valid reports whether the tile is on the grid.
func (t Tile) Valid() bool {
	return t.Z <= MaxZoom && t.X>>t.Z == 0 && t.Y>>t.Z == 0
}

// Packed returns the quadkey's digits as a base-4 number, below 4^Z. It does
// not determine the zoom: "0" and "00" are both 0.
func (t Tile) Packed() uint64 { return interleave(t.X, t.Y) }

// Quadkey returns the digits as a string, empty for the world. Store a [Cell]
// or [Key] instead; this form is for people and other services.
func (t Tile) Quadkey() string {
	var buf [MaxZoom]byte
	return string(t.AppendQuadkey(buf[:0]))
}

// AppendQuadkey appends the result of [Tile.Quadkey].
func (t Tile) AppendQuadkey(dst []byte) []byte {
	for i := int(t.Z) - 1; i >= 0; i-- {
		dst = append(dst, byte('0'+t.X>>i&1+t.Y>>i&1<<1))
	}
	return dst
}

// String returns "z/x/y".
func (t Tile) String() string {
	var buf [24]byte
	b := strconv.AppendUint(buf[:0], uint64(t.Z), 10)
	b = strconv.AppendUint(append(b, '/'), uint64(t.X), 10)
	b = strconv.AppendUint(append(b, '/'), uint64(t.Y), 10)
	return string(b)
}

// Parent returns the tile one zoom out. The world is its own parent.
func (t Tile) Parent() Tile {
	if t.Z == 0 {
		return t
	}
	return Tile{t.Z - 1, t.X >> 1, t.Y >> 1}
}

// Children returns the four tiles one zoom in, in the order of their digits:
// north-west, north-east, south-west, south-east. The children of a tile at
// [MaxZoom] are not valid.
func (t Tile) Children() [4]Tile {
	z, x, y := t.Z+1, t.X<<1, t.Y<<1
	return [4]Tile{{z, x, y}, {z, x + 1, y}, {z, x, y + 1}, {z, x + 1, y + 1}}
}

// Ancestor returns the tile at zoom z that contains t, which is t itself when z
// is its zoom or deeper.
func (t Tile) Ancestor(z uint8) Tile {
	if z >= t.Z {
		return t
	}
	up := t.Z - z
	return Tile{z, t.X >> up, t.Y >> up}
}

// AtZoom returns the north-westernmost and the south-easternmost tile of zoom z, at most [MaxZoom],
// that share ground with t. If z is not deeper than t, both are t's ancestor.
func (t Tile) AtZoom(z uint8) (first, last Tile) {
	if z <= t.Z {
		t = t.Ancestor(z)
		return t, t
	}
	down := z - t.Z
	first = Tile{z, t.X << down, t.Y << down}
	last = Tile{z, first.X + 1<<down - 1, first.Y + 1<<down - 1}
	return first, last
}

// Contains reports whether u is t or one of its descendants.
func (t Tile) Contains(u Tile) bool {
	return u.Z >= t.Z && u.X>>(u.Z-t.Z) == t.X && u.Y>>(u.Z-t.Z) == t.Y
}

// CellRange returns the first and the last cell of the tile. A tile deeper than
// [CellZoom] has the one cell that contains it.
func (t Tile) CellRange() (first, last Cell) {
	t = t.Ancestor(CellZoom)
	shift := 2 * (CellZoom - t.Z)
	p := interleave(t.X, t.Y) << shift
	return Cell(p), Cell(p + 1<<shift - 1)
}

// Bound returns the tile's edges as drawn: north and south never pass ±[MaxLatitude]. The package
// documentation lists the edges that belong to the tile.
func (t Tile) Bound() Box {
	n := 1 / float64(uint64(1)<<t.Z)
	x, y := float64(t.X), float64(t.Y)
	return Box{
		West:  unprojectX(x * n),
		South: unprojectY((y + 1) * n),
		East:  unprojectX((x + 1) * n),
		North: unprojectY(y * n),
	}
}

// interleave spreads x over the even bits and y over the odd ones.
func interleave(x, y uint32) uint64 { return spread(x) | spread(y)<<1 }

func deinterleave(p uint64) (x, y uint32) { return squeeze(p), squeeze(p >> 1) }

// spread moves bit i to bit 2i by halving the distance between neighbouring
// groups of bits in each step.
func spread(v uint32) uint64 {
	p := uint64(v)
	p = (p | p<<16) & 0x0000FFFF0000FFFF
	p = (p | p<<8) & 0x00FF00FF00FF00FF
	p = (p | p<<4) & 0x0F0F0F0F0F0F0F0F
	p = (p | p<<2) & 0x3333333333333333
	return (p | p<<1) & 0x5555555555555555
}

// squeeze is the inverse of spread. It ignores odd bits.
func squeeze(p uint64) uint32 {
	p &= 0x5555555555555555
	p = (p | p>>1) & 0x3333333333333333
	p = (p | p>>2) & 0x0F0F0F0F0F0F0F0F
	p = (p | p>>4) & 0x00FF00FF00FF00FF
	p = (p | p>>8) & 0x0000FFFF0000FFFF
	return uint32(p | p>>16)
}
