package tiles

import (
	"sync/atomic"

	"quadrille/quadkey"
)

// uniformBits is the binary logarithm of the number of tiles that a Reader remembers: some 2 MB
// of names.
const uniformBits = 13

// maxUniformTypes is the number of types that fit into the bits of known.
const maxUniformTypes = 64

// coarsestUniform is the zoom of the largest tiles that a lookup tries.
const coarsestUniform = 4

// uniform is the cached answer for types that have the same answer at every point of a tile: each
// of their regions holds the whole tile or none of it.
type uniform struct {
	tile  quadkey.Tile
	known uint64 // types, by their bits
	found []Region
}

// has reports whether the answer for a type is cached.
func (u *uniform) has(rt *readerType) bool { return u != nil && u.known&rt.bit() != 0 }

// bit returns the bit of a type in a set of types.
func (rt *readerType) bit() uint64 { return 1 << rt.place }

// uniforms is a cache of tiles. A tile displaces another one in the same slot. Data is published
// once and never changed, so entries stay right.
type uniforms [1 << uniformBits]atomic.Pointer[uniform]

func (c *uniforms) slot(t quadkey.Tile) *atomic.Pointer[uniform] {
	h := (uint64(t.X)<<32 | uint64(t.Y)<<5 | uint64(t.Z)) * 0x9e3779b97f4a7c15
	return &c[h>>(64-uniformBits)]
}

// of returns the smallest cached tile that holds t, or nil.
func (c *uniforms) of(t quadkey.Tile) *uniform {
	for ; t.Z >= coarsestUniform; t = t.Parent() {
		if u := c.slot(t).Load(); u != nil && u.tile == t {
			return u
		}
	}
	return nil
}

// keep caches a tile, except one so large that lookups never reach it.
func (c *uniforms) keep(u *uniform) {
	if u.tile.Z >= coarsestUniform {
		c.slot(u.tile).Store(u)
	}
}
