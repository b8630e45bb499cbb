package quadkey

import (
	"bytes"
	"cmp"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quadrille/internal/must"
)

func TestKeyBytes(t *testing.T) {
	for _, tt := range []struct {
		tile Tile
		want Key
	}{
		{Tile{}, Key{0xFF, 0xFF, 0xFF, 0xFF, 255}},
		{Tile{1, 0, 0}, Key{0x3F, 0xFF, 0xFF, 0xFF, 254}},
		{Tile{8, 0b10101010, 0b01100110}, Key{0x6C, 0x6C, 0xFF, 0xFF, 247}},
		{Tile{16, 0, 0}, Key{0, 0, 0, 0, 239}},
		{Tile{16, 65535, 65535}, Key{0xFF, 0xFF, 0xFF, 0xFF, 239}},
		{Tile{22, 64, 0}, Key{0, 0, 0, 1, 239}}, // the key of 16/1/0
	} {
		if got := tt.tile.Key(); got != tt.want {
			t.Errorf("%v: key %x, want %x", tt.tile, got, tt.want)
		}
	}
}

func TestParseKeyRefuses(t *testing.T) {
	for name, key := range map[string][]byte{
		"empty":                 {},
		"nil":                   nil,
		"short":                 {0xFF, 0xFF, 0xFF, 0xFF},
		"long":                  {0xFF, 0xFF, 0xFF, 0xFF, 255, 0},
		"zoom 17":               {0xFF, 0xFF, 0xFF, 0xFF, 238},
		"zoom 22":               {0xFF, 0xFF, 0xFF, 0xFF, 233},
		"zoom 255":              {0, 0, 0, 0, 0},
		"world, but not last":   {0xFF, 0xFF, 0xFF, 0xFE, 255},
		"zoom 1, half":          {0x1F, 0xFF, 0xFF, 0xFF, 254},
		"zoom 15, second child": {0, 0, 0, 1, 240},
	} {
		got, err := ParseKey(key)
		if !errors.Is(err, ErrKey) || got != (Tile{}) {
			t.Errorf("%s: %v, %v; want ErrKey", name, got, err)
		}
		if len(key) == 5 && Key(key).Tile().Valid() {
			t.Errorf("%s: Key.Tile is valid", name)
		}
	}
}

// TestKeyOrder compares the order of keys with that of padded digit strings. In particular,
// descendants sort before their ancestor.
func TestKeyOrder(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := drawTile(rt, "tile", CellZoom)
		b := drawRelated(rt, a, CellZoom)
		ka, kb := a.Key(), b.Key()
		if got, want := bytes.Compare(ka[:], kb[:]), strings.Compare(refKey(a), refKey(b)); got != want {
			rt.Fatalf("%q and %q sort as %d, their keys as %d", refKey(a), refKey(b), want, got)
		}
		if a != b && a.Contains(b) && bytes.Compare(kb[:], ka[:]) >= 0 {
			rt.Fatalf("descendant %v does not sort before %v", b, a)
		}
		if got, err := ParseKey(ka[:]); err != nil || got != a || ka.Tile() != a {
			rt.Fatalf("%v read back as %v, %v", a, got, err)
		}
		// A subtree is one range: b's key is in it exactly if b is.
		first, last := a.KeyRange()
		in := bytes.Compare(first[:], kb[:]) <= 0 && bytes.Compare(kb[:], last[:]) <= 0
		if in != a.Contains(b) {
			rt.Fatalf("%v in the key range of %v: %v", b, a, in)
		}
	})
}

// TestKeyOrderExhaustive does the same for every pair of tiles of the lowest zooms, and of the
// deepest zooms in one corner.
func TestKeyOrderExhaustive(t *testing.T) {
	var tiles []Tile
	for _, corner := range []Tile{{}, {13, 8191, 0}} {
		for z := range uint8(4) {
			first, last := corner.AtZoom(corner.Z + z)
			for x := first.X; x <= last.X; x++ {
				for y := first.Y; y <= last.Y; y++ {
					tiles = append(tiles, Tile{first.Z, x, y})
				}
			}
		}
	}
	byKey := slices.Clone(tiles)
	slices.SortFunc(byKey, func(a, b Tile) int { ka, kb := a.Key(), b.Key(); return bytes.Compare(ka[:], kb[:]) })
	byText := slices.Clone(tiles)
	slices.SortFunc(byText, func(a, b Tile) int { return cmp.Compare(refKey(a), refKey(b)) })
	if !slices.Equal(byKey, byText) {
		t.Error("order by key differs from order by padded digits")
	}
	for i, a := range byKey {
		lowest := i
		for lowest > 0 && a.Contains(byKey[lowest-1]) {
			lowest--
		}
		for j, b := range byKey {
			if inRun := j >= lowest && j <= i; a.Contains(b) != inRun {
				t.Fatalf("the subtree of %v is not one run: %v", a, b)
			}
		}
	}
}

// Tables keyed by tile follow this rule. Every row is marked leaf or mixed. No row lies inside a
// leaf, and none below the store's deepest zoom, whose rows are cropped for the tiles beneath. Then
// the first row at or after Key(T) answers T only if it is T's own row, a leaf covering T, or the
// row of the deepest zoom above T; otherwise T is empty.

// deepest is the deepest zoom with rows in boundary tables.
const deepest = 13

type row struct {
	tile Tile
	leaf bool
}

// node is a quadtree as its builder sees it: nil is empty ground, a leaf has no
// children, and a mixed node may have any, even none.
type node struct {
	leaf     bool
	children [4]*node
}

// answer walks down from the world to T. The rule must give the same row.
func (n *node) answer(tile Tile) (row, bool) {
	for z := uint8(0); n != nil; z++ {
		at := tile.Ancestor(z)
		if n.leaf || z == tile.Z || z == deepest {
			return row{at, n.leaf}, true
		}
		n = n.children[tile.Ancestor(z+1).Packed()&3]
	}
	return row{}, false
}

func (n *node) rows(tile Tile, yield func(row)) {
	if n == nil {
		return
	}
	for i, child := range tile.Children() {
		n.children[i].rows(child, yield)
	}
	yield(row{tile, n.leaf})
}

// grow builds a random tree. Paths thin out with depth so that a few reach the deepest zoom. Some
// mixed nodes have only empty children: buffers that catch a neighbour's border cause such nodes.
func grow(r *rand.Rand, z uint8, mixed, leaf float64) *node {
	switch p := r.Float64(); {
	case p < leaf && z > 0:
		return &node{leaf: true}
	case p > leaf+mixed && z > 1:
		return nil
	}
	n := &node{}
	if z < deepest && (z == 0 || r.IntN(20) > 0) {
		for i := range n.children {
			n.children[i] = grow(r, z+1, mixed, leaf)
		}
	}
	return n
}

type keyedRow struct {
	key Key
	row
}

// next does one seek like the store, and applies the rule.
func next(rows []keyedRow, tile Tile) (row, bool) {
	key := tile.Key()
	i, _ := slices.BinarySearchFunc(rows, key, func(r keyedRow, k Key) int { return bytes.Compare(r.key[:], k[:]) })
	if i == len(rows) {
		return row{}, false
	}
	found := rows[i].row
	switch {
	case found.tile == tile,
		found.leaf && found.tile.Contains(tile),
		tile.Z > deepest && found.tile == tile.Ancestor(deepest):
		return found, true
	}
	return row{}, false
}

func TestNextAnswersOnlyItsTile(t *testing.T) {
	trees, perTree := 60, trials(50_000)
	r := newRand(2)
	var asked, answered, byLeaf, byDeepest, rowsSeen int
	for i := range trees {
		tree := grow(r, 0, 0.24+0.16*r.Float64(), 0.12*r.Float64())
		switch i { // the smallest stores
		case 0:
			tree = nil
		case 1:
			tree = &node{leaf: true}
		case 2:
			tree = &node{}
		}
		var rows []keyedRow
		tree.rows(Tile{}, func(w row) { rows = append(rows, keyedRow{w.tile.Key(), w}) })
		// Rows are visited with children before their parent. This must be the order of the keys.
		if !slices.IsSortedFunc(rows, func(a, b keyedRow) int { return bytes.Compare(a.key[:], b.key[:]) }) {
			t.Fatal("rows in tree order are not in key order")
		}
		rowsSeen += len(rows)
		check := func(tile Tile) {
			got, ok := next(rows, tile)
			want, wantOK := tree.answer(tile)
			if ok != wantOK || got != want {
				t.Fatalf("%v (%q): the seek answers %v %v, the tree %v %v", tile, refQuadkey(tile), got, ok, want, wantOK)
			}
			asked++
			if ok {
				answered++
			}
			if ok && got.tile != tile && got.leaf {
				byLeaf++
			} else if ok && got.tile != tile {
				byDeepest++
			}
		}
		for z := range uint8(6) {
			for p := range uint64(1) << (2 * z) {
				tile, err := TileFromPacked(z, p)
				must.Do(t, err)
				check(tile)
			}
		}
		for range perTree {
			// The tile is near a row (below, next to or above it), or anywhere.
			tile := randTile(r, MaxZoom)
			if len(rows) > 0 && r.IntN(4) > 0 {
				tile = rows[r.IntN(len(rows))].tile
				tile = tile.Ancestor(uint8(r.IntN(int(tile.Z) + 1)))
				for range r.IntN(4) {
					if tile.Z < MaxZoom {
						// The last child shares its parent's cell, so try it often.
						tile = tile.Children()[max(r.IntN(4), r.IntN(4))]
					}
				}
				if n := uint32(1) << tile.Z; r.IntN(3) == 0 {
					tile.X, tile.Y = (tile.X+r.Uint32N(3)+n-1)%n, (tile.Y+r.Uint32N(3)+n-1)%n
				}
			}
			check(tile)
		}
	}
	t.Logf("%d tiles asked of %d trees with %d rows; %d answered, %d by a leaf above, %d by a zoom-%d row above",
		asked, trees, rowsSeen, answered, byLeaf, byDeepest, deepest)
	if byLeaf < asked/50 || byDeepest < asked/1000 {
		t.Error("the trees hardly exercise the rule; change their shape")
	}
}
