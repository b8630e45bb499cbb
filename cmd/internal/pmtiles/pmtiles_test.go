package pmtiles

import (
	"testing"

	"quadrille/quadkey"
)

func TestTileIDs(t *testing.T) {
	// The table of the specification.
	for id, tile := range map[uint64]quadkey.Tile{
		0: {}, 1: {Z: 1}, 2: {Z: 1, Y: 1}, 3: {Z: 1, X: 1, Y: 1}, 4: {Z: 1, X: 1}, 5: {Z: 2},
		19078479: {Z: 12, X: 3423, Y: 1763},
	} {
		if got := TileID(tile); got != id {
			t.Errorf("%v: %d, want %d", tile, got, id)
		}
	}
}
