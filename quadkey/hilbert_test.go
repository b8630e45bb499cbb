package quadkey_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"quadrille/quadkey"
)

func TestHilbertOfSmallZooms(t *testing.T) {
	for _, c := range []struct {
		tile quadkey.Tile
		want uint64
	}{
		{quadkey.Tile{}, 0},
		{quadkey.Tile{Z: 1, X: 0, Y: 0}, 0},
		{quadkey.Tile{Z: 1, X: 0, Y: 1}, 1},
		{quadkey.Tile{Z: 1, X: 1, Y: 1}, 2},
		{quadkey.Tile{Z: 1, X: 1, Y: 0}, 3},
		{quadkey.Tile{Z: 2, X: 0, Y: 0}, 0},
		// This is the example of the PMTiles specification, minus the tiles of zooms 0 to 11.
		{quadkey.Tile{Z: 12, X: 3423, Y: 1763}, 19078479 - (1<<24-1)/3},
	} {
		if got := c.tile.Hilbert(); got != c.want {
			t.Errorf("%v is at %d, want %d", c.tile, got, c.want)
		}
	}
	// The curve visits every tile of a zoom, each a neighbour of the last.
	for z := uint8(1); z <= 6; z++ {
		seen := map[quadkey.Tile]bool{}
		var last quadkey.Tile
		for d := range uint64(1) << (2 * z) {
			tile, err := quadkey.TileFromHilbert(z, d)
			if err != nil {
				t.Fatal(err)
			}
			dx, dy := int(tile.X)-int(last.X), int(tile.Y)-int(last.Y)
			if d > 0 && dx*dx+dy*dy != 1 {
				t.Fatalf("%v follows %v", tile, last)
			}
			seen[tile], last = true, tile
		}
		if len(seen) != 1<<(2*z) {
			t.Fatalf("zoom %d: %d tiles", z, len(seen))
		}
	}
}

func TestHilbertRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.Uint8Range(0, quadkey.MaxZoom).Draw(t, "z")
		n := uint32(1)<<z - 1
		tile := quadkey.Tile{Z: z, X: rapid.Uint32Range(0, n).Draw(t, "x"), Y: rapid.Uint32Range(0, n).Draw(t, "y")}
		d := tile.Hilbert()
		back, err := quadkey.TileFromHilbert(z, d)
		if err != nil || back != tile {
			t.Fatalf("%v: %d: %v, %v", tile, d, back, err)
		}
		if z > 0 && tile.Parent().Hilbert() != d/4 {
			t.Fatalf("%v is at %d, its parent at %d", tile, d, tile.Parent().Hilbert())
		}
	})
	for _, bad := range []struct {
		z uint8
		d uint64
	}{{0, 1}, {1, 4}, {quadkey.MaxZoom + 1, 0}} {
		if _, err := quadkey.TileFromHilbert(bad.z, bad.d); !errors.Is(err, quadkey.ErrTile) {
			t.Errorf("%v: %v", bad, err)
		}
	}
}
