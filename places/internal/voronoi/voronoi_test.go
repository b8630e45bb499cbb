package voronoi

import (
	"math"
	"testing"

	"quadrille/quadkey"

	"pgregory.net/rapid"
)

func (a vec) norm() float64 { return math.Sqrt(a.dot(a)) }

// maxDot is exact: it is at least the product for every point of the ground, and equal to the
// product for one of them.
func TestMaxDot(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		z := rapid.Uint8Range(0, 16).Draw(t, "z")
		side := uint32(1) << z
		tile := quadkey.Tile{Z: z, X: rapid.Uint32Range(0, side-1).Draw(t, "x"), Y: rapid.Uint32Range(0, side-1).Draw(t, "y")}
		part := rapid.Float64Range(-1, 1)
		v := vec{part.Draw(t, "vx"), part.Draw(t, "vy"), part.Draw(t, "vz")}
		// The difference of two positions is zero or longer than this. The squares of shorter
		// vectors would be too small for a float.
		if v.norm() < 1e-20 {
			v = vec{}
		}
		g := groundOf(tile)
		b := tile.Bound()
		if tile.Y == 0 {
			b.North = 90
		}
		if tile.Y == side-1 {
			b.South = -90
		}
		got, most := g.maxDot(v), math.Inf(-1)
		const steps = 64
		for i := range steps + 1 {
			for j := range steps + 1 {
				lon := b.West + (b.East-b.West)*float64(i)/steps
				lat := b.South + (b.North-b.South)*float64(j)/steps
				most = max(most, v.dot(vecOf(lon, lat)))
			}
		}
		// Between points of the mesh the product is greater by at most 1 − cos d, for vectors of
		// length 1, where d is about half the width of the mesh.
		width := max(b.East-b.West, b.North-b.South) * radians / steps
		if got < most-1e-14 || got > most+width*width*v.norm() {
			t.Fatalf("tile %v, %v: %v, mesh has %v", tile, v, got, most)
		}
	})
}

func TestCellKeyIsBeforeItsLeaf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cell := quadkey.Cell(rapid.Uint32().Draw(t, "cell"))
		z := rapid.Uint8Range(0, 16).Draw(t, "z")
		from, leaf := CellKey(cell), cell.Tile().Ancestor(z).Key()
		if string(from[:]) > string(leaf[:]) {
			t.Fatalf("%x is after %x", from, leaf)
		}
	})
}
