package quadkey_test

import (
	"bytes"
	"testing"

	"quadrille/quadkey"

	"pgregory.net/rapid"
)

// A point's key lies in the range of every tile of the point, and gives that tile and its place
// among the parent's children.
func TestPointKeyTiles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lon := rapid.OneOf(rapid.Float64Range(-180, 180), rapid.SampledFrom([]float64{-180, 180, 0, -90, 1e-12, -1e-12})).Draw(rt, "lon")
		lat := rapid.OneOf(rapid.Float64Range(-90, 90),
			rapid.SampledFrom([]float64{-90, 90, 0, quadkey.MaxLatitude, -quadkey.MaxLatitude})).Draw(rt, "lat")
		k, err := quadkey.PointKeyOf(lon, lat)
		if err != nil {
			rt.Fatal(err)
		}
		for z := range uint8(quadkey.MaxZoom + 1) {
			tile, err := quadkey.TileAt(lon, lat, z)
			if err != nil {
				rt.Fatal(err)
			}
			first, last := tile.PointKeys()
			if k < first || k > last || k.Tile(z) != tile {
				rt.Fatalf("%v,%v: key %x is of tile %v, not %v (%x to %x)", lon, lat, k, k.Tile(z), tile, first, last)
			}
			if z > 0 && tile.Ancestor(z - 1).Children()[k.Child(z-1)] != tile {
				rt.Fatalf("%v is child %d", tile, k.Child(z-1))
			}
		}
	})
}

// TestPointKeyIsFine tests that two points have different keys if they are two units of 1e-7
// degrees apart.
func TestPointKeyIsFine(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		lon := float64(rapid.IntRange(-1_800_000_000, 1_799_999_998).Draw(rt, "lon")) / 1e7
		lat := float64(rapid.IntRange(-850_000_000, 849_999_998).Draw(rt, "lat")) / 1e7
		k, _ := quadkey.PointKeyOf(lon, lat)
		for _, d := range [2][2]float64{{2e-7, 0}, {0, 2e-7}} {
			if other, _ := quadkey.PointKeyOf(lon+d[0], lat+d[1]); other == k {
				rt.Fatalf("%v,%v and 2e-7 degrees beside it have key %x", lon, lat, k)
			}
		}
	})
}

// The bytes of keys have the same order as the keys.
func TestPointKeyBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, b := quadkey.PointKey(rapid.Uint64().Draw(rt, "a")), quadkey.PointKey(rapid.Uint64().Draw(rt, "b"))
		if got := bytes.Compare(a.AppendTo(nil), b.AppendTo(nil)); (got < 0) != (a < b) || (got == 0) != (a == b) {
			rt.Fatal(a, b, got)
		}
	})
}
