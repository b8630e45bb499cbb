package quadkey

import (
	"encoding/binary"
	"fmt"
)

// Key names a tile of zoom 0 to 16 in five bytes that sort: a tile comes right
// after its last descendant, and a subtree is contiguous. The package
// documentation draws and proves it.
type Key [5]byte

// Key returns the tile's key. A tile deeper than [CellZoom] has no key of its
// own and gets that of its zoom-16 ancestor.
func (t Tile) Key() Key {
	t = t.Ancestor(CellZoom)
	_, last := t.CellRange()
	return makeKey(last, t.Z)
}

// KeyRange returns the least and the greatest key of the tile and its
// descendants. Both are included, and no other tile's key lies between them.
// The greatest is the tile's own.
func (t Tile) KeyRange() (first, last Key) {
	c, _ := t.CellRange()
	return makeKey(c, CellZoom), t.Key()
}

func makeKey(last Cell, z uint8) (k Key) {
	binary.BigEndian.PutUint32(k[:], uint32(last))
	k[4] = 255 - z
	return k
}

// ParseKey returns the tile of a key's five bytes. Errors match [ErrKey].
func ParseKey(key []byte) (Tile, error) {
	if len(key) != len(Key{}) {
		return Tile{}, fmt.Errorf("%w: %d bytes; a tile key has %d", ErrKey, len(key), len(Key{}))
	}
	t := Key(key).Tile()
	if !t.Valid() {
		return Tile{}, fmt.Errorf("%w: %x names no tile; rebuild the data it came from", ErrKey, key)
	}
	return t, nil
}

// Tile returns the tile of the key. A value that is no tile's key gives an
// invalid tile; use [ParseKey] on untrusted bytes.
func (k Key) Tile() Tile {
	last, z := uint64(binary.BigEndian.Uint32(k[:])), 255-k[4]
	if z > CellZoom {
		return noTile
	}
	below := 2 * (CellZoom - z)
	if tail := uint64(1)<<below - 1; last&tail != tail {
		return noTile
	}
	x, y := deinterleave(last >> below)
	return Tile{z, x, y}
}
