package cells

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"quadrille/tiles/internal/grid"
)

// windsAround counts how often a ring winds around a point, in fractions and along a ray to the
// north, where the package has whole numbers and a ray to the east. on reports whether the point
// lies on the ring.
func windsAround(ring []grid.Point, px, py int64) (winding int, on bool) {
	x, y := big.NewRat(px, 1<<SubBits), big.NewRat(py, 1<<SubBits)
	num := func(v int32) *big.Rat { return big.NewRat(int64(v), 1) }
	for i, b := range ring {
		a := ring[(i+len(ring)-1)%len(ring)]
		// The cross product of the edge and the way to the point, which is 0 on the edge's line.
		l := new(big.Rat).Mul(new(big.Rat).Sub(num(b.X), num(a.X)), new(big.Rat).Sub(y, num(a.Y)))
		r := new(big.Rat).Mul(new(big.Rat).Sub(num(b.Y), num(a.Y)), new(big.Rat).Sub(x, num(a.X)))
		side := l.Cmp(r)
		between := func(v *big.Rat, p, q int32) bool {
			return v.Cmp(num(min(p, q))) >= 0 && v.Cmp(num(max(p, q))) <= 0
		}
		if side == 0 && between(x, a.X, b.X) && between(y, a.Y, b.Y) {
			return 0, true
		}
		switch left, right := num(a.X).Cmp(x) <= 0, num(b.X).Cmp(x) <= 0; {
		case left && !right && side > 0:
			winding++ // the edge passes to the east, north of the point
		case !left && right && side < 0:
			winding--
		}
	}
	return winding, false
}

// tileOf is what a test adds to a tile: rings by region. A nil tile has no region.
type tileOf map[int32][][]grid.Point

func drawTile(t *rapid.T) tileOf {
	coordinate := rapid.OneOf(rapid.Int32Range(least, most), rapid.SampledFrom([]int32{least, -1, 0, 1, 2048, 4095, 4096, 4097, most}))
	tile := tileOf{}
	for region := range rapid.Int32Range(1, 4).Draw(t, "regions") {
		var rings [][]grid.Point
		for range rapid.IntRange(1, 3).Draw(t, "rings") {
			rings = append(rings, rapid.SliceOfN(rapid.Custom(func(t *rapid.T) grid.Point {
				return grid.Pt(coordinate.Draw(t, "x"), coordinate.Draw(t, "y"))
			}), 3, 9).Draw(t, "ring"))
		}
		tile[region*7%5] = rings
	}
	return tile
}

// TestBlock compares what a block answers with the rings that it was made of.
func TestBlock(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tiles := map[uint32]tileOf{}
		var b Builder
		tile := uint32(0)
		for range rapid.IntRange(1, 12).Draw(t, "steps") {
			tile += uint32(rapid.IntRange(0, 90).Draw(t, "gap"))
			if rapid.Bool().Draw(t, "whole") {
				n := rapid.IntRange(1, 40).Draw(t, "run")
				regions := rapid.SliceOfNDistinct(rapid.Int32Range(0, 5), 0, 3, rapid.ID).Draw(t, "regions")
				if int(tile)+n > Tiles {
					break
				}
				b.Whole(tile, n, regions...)
				for i := range n {
					tiles[tile+uint32(i)] = tileOf{}
					for _, r := range regions {
						tiles[tile+uint32(i)][r] = [][]grid.Point{square}
					}
				}
				tile += uint32(n)
				continue
			}
			if tile >= Tiles {
				break
			}
			of := drawTile(t)
			b.Begin(tile)
			for region, rings := range of {
				b.Region(region)
				for _, r := range rings {
					b.Ring(r)
				}
			}
			b.End()
			tiles[tile] = of
			tile++
		}
		name := func(n int32) (string, string) { return fmt.Sprint("id", n), fmt.Sprint("N", n) }
		blocks := []*Block{decoded(t, &b, name)}
		// Parts of a block answer the same.
		n := Tiles >> (2 * rapid.IntRange(1, 5).Draw(t, "zooms"))
		part := func(tile uint32) *Block {
			var p Builder
			p.Append(&b, int(tile)/n*n, n)
			return decoded(t, &p, name)
		}
		for range 60 {
			at := uint32(rapid.IntRange(0, Tiles-1).Draw(t, "tile"))
			if len(tiles) > 0 && rapid.Bool().Draw(t, "filled") {
				at = rapid.SampledFrom(slices.Sorted(keysOf(tiles))).Draw(t, "tile")
			}
			sub := rapid.OneOf(rapid.Int64Range(0, 4096<<SubBits-1),
				rapid.Custom(func(t *rapid.T) int64 { return rapid.Int64Range(0, 4095).Draw(t, "unit") << SubBits }))
			px, py := sub.Draw(t, "x"), sub.Draw(t, "y")
			var want []string
			border := false
			for region := range int32(6) {
				winding := 0
				for _, ring := range tiles[at][region] {
					w, on := windsAround(ring, px, py)
					winding += w
					border = border || on
				}
				if winding > 0 {
					id, _ := name(region)
					want = append(want, id)
				}
			}
			if border {
				continue // either side may have it
			}
			for _, block := range append(blocks, part(at)) {
				var got []string
				for _, r := range block.AppendRegions(nil, block.Find(at), px, py) {
					got = append(got, block.Regions[r].ID)
				}
				if d := cmp.Diff(want, got); d != "" {
					t.Fatalf("tile %d at %d %d: %s", at, px, py, d)
				}
			}
		}
	})
}

var square = []grid.Point{{X: least, Y: least}, {X: most, Y: least}, {X: most, Y: most}, {X: least, Y: most}}

func keysOf(m map[uint32]tileOf) func(func(uint32) bool) {
	return func(yield func(uint32) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func decoded(t interface{ Fatal(...any) }, b *Builder, name func(int32) (id, name string)) *Block {
	value := b.AppendTo(nil, name)
	if len(value) == 0 {
		return Empty
	}
	block, err := Decode(value)
	if err != nil {
		t.Fatal(err)
	}
	return block
}

// TestLeaf tests that a block with one answer is stored as a leaf.
func TestLeaf(t *testing.T) {
	var b Builder
	b.Whole(0, 1000, 1, 0)
	b.Whole(1000, 24, 1, 0)
	value := b.AppendTo(nil, func(n int32) (id, name string) { return fmt.Sprint(n), "" })
	if got, want := string(value), "L\x02\x00\x01\x010\x00\x011\x00"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestSeal tests that a checksum notices another build, type, key and every changed bit.
func TestSeal(t *testing.T) {
	key, seal := []byte("key"), NewSeal(7, "country")
	sealed := seal.Append([]byte("answers"), key)
	if got, err := seal.Open(sealed, key); err != nil || string(got) != "answers" {
		t.Fatalf("%q, %v", got, err)
	}
	for what, bad := range map[string]func() ([]byte, error){
		"another build": func() ([]byte, error) { return NewSeal(8, "country").Open(sealed, key) },
		"another type":  func() ([]byte, error) { return NewSeal(7, "state").Open(sealed, key) },
		"another row":   func() ([]byte, error) { return seal.Open(sealed, []byte("kez")) },
		"shorter":       func() ([]byte, error) { return seal.Open(sealed[:len(sealed)-1], key) },
		"too short":     func() ([]byte, error) { return seal.Open(sealed[:3], key) },
	} {
		if _, err := bad(); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	for bit := range 8 * len(sealed) {
		changed := slices.Clone(sealed)
		changed[bit/8] ^= 1 << (bit % 8)
		if _, err := seal.Open(changed, key); err == nil {
			t.Errorf("bit %d changed: no error", bit)
		}
	}
}

// FuzzDecode tests that nothing that can be decoded leads out of a block.
func FuzzDecode(f *testing.F) {
	var b Builder
	b.Whole(3, 20, 2)
	b.Whole(23, 5, 2, 4)
	b.Begin(100)
	b.Region(4)
	b.Ring([]grid.Point{{X: -64, Y: 10}, {X: 4160, Y: 20}, {X: 200, Y: 4000}})
	b.End()
	f.Add(b.AppendTo(nil, func(n int32) (id, name string) { return fmt.Sprint(n), "N" }))
	f.Add([]byte("L\x01\x00\x01a\x00"))
	f.Fuzz(func(t *testing.T, value []byte) {
		b, err := Decode(value)
		if err != nil {
			return
		}
		if size := b.Size(); size > 1<<12+64*int64(len(value)) {
			t.Errorf("%d bytes of memory for %d", size, len(value))
		}
		rnd := rand.New(rand.NewPCG(1, 2))
		for tile := range uint32(Tiles) {
			v := b.Find(tile)
			if !v.Mixed() && (int(v) >= b.Values() || v > 0 && len(b.AppendRegions(nil, v, 0, 0)) == 0) {
				t.Fatalf("value %d of %d", v, b.Values())
			}
			for _, r := range b.AppendRegions(nil, v, rnd.Int64N(4096<<SubBits), rnd.Int64N(4096<<SubBits)) {
				_ = b.Regions[r]
			}
		}
	})
}
