package quadkey

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/paulmach/orb/maptile"
	"pgregory.net/rapid"

	"quadrille/internal/must"
)

func TestNewTile(t *testing.T) {
	tests := []struct {
		name    string
		z, x, y int
		ok      bool
	}{
		{"world", 0, 0, 0, true},
		{"deepest, first", MaxZoom, 0, 0, true},
		{"deepest, last", MaxZoom, 1<<MaxZoom - 1, 1<<MaxZoom - 1, true},
		{"too deep", MaxZoom + 1, 0, 0, false},
		{"far too deep", math.MaxInt, 0, 0, false},
		{"negative zoom", -1, 0, 0, false},
		{"x beyond", 3, 8, 0, false},
		{"y beyond", 3, 0, 8, false},
		{"negative x", 3, -1, 0, false},
		{"negative y", 3, 0, math.MinInt, false},
		{"x that would wrap", 3, math.MaxInt, 0, false},
		{"second column of the world", 0, 1, 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := NewTile(tt.z, tt.x, tt.y)
			if tt.ok {
				want := Tile{uint8(tt.z), uint32(tt.x), uint32(tt.y)}
				if err != nil || got != want || !got.Valid() {
					t.Fatalf("got %v, %v; want %v", got, err, want)
				}
				return
			}
			if !errors.Is(err, ErrTile) || got != (Tile{}) {
				t.Fatalf("got %v, %v; want ErrTile", got, err)
			}
		})
	}
}

func TestValid(t *testing.T) {
	for _, bad := range []Tile{
		{Z: 23}, {Z: 255}, {Z: 32, X: 1}, {0, 1, 0}, {0, 0, 1}, {3, 8, 0}, {3, 0, 8}, {22, 1 << 22, 0}, noTile,
	} {
		if bad.Valid() {
			t.Errorf("%v is valid", bad)
		}
	}
}

func TestParseQuadkey(t *testing.T) {
	for s, want := range map[string]Tile{
		"":                           {0, 0, 0},
		"0":                          {1, 0, 0},
		"1":                          {1, 1, 0},
		"2":                          {1, 0, 1},
		"3":                          {1, 1, 1},
		"112":                        {3, 6, 1},
		"12301230":                   {8, 0b10101010, 0b01100110},
		strings.Repeat("3", 22):      {22, 1<<22 - 1, 1<<22 - 1},
		strings.Repeat("0", 22):      {22, 0, 0},
		"1" + strings.Repeat("2", 3): {4, 8, 7},
	} {
		got, err := ParseQuadkey(s)
		if err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", s, got, err, want)
		}
		if got.Quadkey() != s {
			t.Errorf("%q: written back as %q", s, got.Quadkey())
		}
	}
	for _, s := range []string{"4", "/", " 0", "0 ", "12x", "-1", "\x00", "０", strings.Repeat("0", 23), strings.Repeat("9", 1<<16)} {
		got, err := ParseQuadkey(s)
		if !errors.Is(err, ErrTile) || got != (Tile{}) {
			t.Errorf("%.30q: got %v, %v; want ErrTile", s, got, err)
		} else if len(err.Error()) > 200 {
			t.Errorf("%.30q: error of %d bytes", s, len(err.Error()))
		}
	}
}

func TestPacked(t *testing.T) {
	tile, err := ParseQuadkey("12301230")
	must.Do(t, err)
	if p := tile.Packed(); p != 27756 {
		t.Errorf("12301230 packs to %d, want 27756", p)
	}
	for z := uint8(0); z <= MaxZoom; z++ {
		last, err := TileFromPacked(z, 1<<(2*z)-1)
		if n := uint32(1) << z; err != nil || last != (Tile{z, n - 1, n - 1}) {
			t.Errorf("last of zoom %d: %v, %v", z, last, err)
		}
		for _, p := range []uint64{1 << (2 * z), math.MaxUint64} {
			if got, err := TileFromPacked(z, p); !errors.Is(err, ErrTile) || got != (Tile{}) {
				t.Errorf("TileFromPacked(%d, %d) = %v, %v; want ErrTile", z, p, got, err)
			}
		}
	}
	for _, z := range []uint8{MaxZoom + 1, 32, 33, 64, 128, 255} {
		if _, err := TileFromPacked(z, 0); !errors.Is(err, ErrTile) {
			t.Errorf("zoom %d: %v; want ErrTile", z, err)
		}
	}
}

// TestDigits compares every form of a tile with digits built as a string.
func TestDigits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		tile := drawTile(rt, "tile", MaxZoom)
		s := refQuadkey(tile)
		if got := tile.Quadkey(); got != s {
			rt.Fatalf("%v: quadkey %q, want %q", tile, got, s)
		}
		if got, err := ParseQuadkey(s); err != nil || got != tile {
			rt.Fatalf("%q: %v, %v; want %v", s, got, err, tile)
		}
		if got := tile.Packed(); got != refPacked(s) {
			rt.Fatalf("%v: packed %d, want %d", tile, got, refPacked(s))
		}
		if got, err := TileFromPacked(tile.Z, refPacked(s)); err != nil || got != tile {
			rt.Fatalf("unpacked %v, %v; want %v", got, err, tile)
		}
		if got, err := NewTile(int(tile.Z), int(tile.X), int(tile.Y)); err != nil || got != tile {
			rt.Fatalf("NewTile: %v, %v; want %v", got, err, tile)
		}
	})
}

// TestFamily compares relations between tiles with prefixes of their digits.
func TestFamily(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a := drawTile(rt, "tile", MaxZoom-1)
		b := drawRelated(rt, a, MaxZoom)
		sa, sb := refQuadkey(a), refQuadkey(b)
		if got, want := a.Contains(b), strings.HasPrefix(sb, sa); got != want {
			rt.Fatalf("%q contains %q: %v", sa, sb, got)
		}
		for i, child := range a.Children() {
			if want := sa + string(rune('0'+i)); refQuadkey(child) != want || child.Parent() != a {
				rt.Fatalf("child %d of %q is %q, whose parent is %v", i, sa, refQuadkey(child), child.Parent())
			}
		}
		z := rapid.Uint8Range(0, MaxZoom).Draw(rt, "z")
		if got, want := refQuadkey(a.Ancestor(z)), sa[:min(len(sa), int(z))]; got != want {
			rt.Fatalf("ancestor of %q at %d is %q", sa, z, got)
		}
		first, last := a.AtZoom(z)
		if z <= a.Z {
			if first != a.Ancestor(z) || last != first {
				rt.Fatalf("%v at zoom %d: %v to %v", a, z, first, last)
			}
			return
		}
		pad := int(z) - len(sa)
		if refQuadkey(first) != sa+strings.Repeat("0", pad) || refQuadkey(last) != sa+strings.Repeat("3", pad) {
			rt.Fatalf("%v at zoom %d: %v to %v", a, z, first, last)
		}
	})
	if world := (Tile{}); world.Parent() != world {
		t.Error("the world has a parent")
	}
}

func TestCellRange(t *testing.T) {
	if first, last := (Tile{}).CellRange(); first != 0 || last != math.MaxUint32 {
		t.Errorf("world: %d to %d", first, last)
	}
	rapid.Check(t, func(rt *rapid.T) {
		tile := drawTile(rt, "tile", MaxZoom)
		first, last := tile.CellRange()
		s := refQuadkey(tile)
		s = s[:min(len(s), CellZoom)]
		pad := CellZoom - len(s)
		if want := refPacked(s + strings.Repeat("0", pad)); uint64(first) != want {
			rt.Fatalf("%v: first cell %d, want %d", tile, first, want)
		}
		if want := refPacked(s + strings.Repeat("3", pad)); uint64(last) != want {
			rt.Fatalf("%v: last cell %d, want %d", tile, last, want)
		}
		for _, c := range []Cell{first, last} {
			if u := c.Tile(); !tile.Ancestor(CellZoom).Contains(u) || u.Packed() != uint64(c) {
				rt.Fatalf("%v: cell %d is %v", tile, c, u)
			}
		}
	})
}

func TestCellKey(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := Cell(rapid.Uint32().Draw(rt, "cell"))
		key := c.AppendKey([]byte("before"))
		if string(key[:6]) != "before" || len(key) != 10 {
			rt.Fatalf("appended %x", key)
		}
		row := append(key[6:], "id"...)
		if got, err := CellFromKey(row); err != nil || got != c {
			rt.Fatalf("read %d, %v; want %d", got, err, c)
		}
	})
	for n := range 4 {
		if _, err := CellFromKey(make([]byte, n)); !errors.Is(err, ErrKey) {
			t.Errorf("%d bytes: %v; want ErrKey", n, err)
		}
	}
}

// TestAgainstMaptile compares with orb's tiles, except where orb rounds, and at 180°, which orb
// treats differently.
func TestAgainstMaptile(t *testing.T) {
	r := newRand(1)
	for range 20000 {
		tile := randTile(r, MaxZoom)
		other := maptile.New(tile.X, tile.Y, maptile.Zoom(tile.Z))
		if got, want := tile.Packed(), other.Quadkey(); got != want {
			t.Fatalf("%v: packed %d, orb %d", tile, got, want)
		}
		b, ob := tile.Bound(), other.Bound()
		for _, d := range []float64{b.West - ob.Left(), b.East - ob.Right(), b.South - ob.Bottom(), b.North - ob.Top()} {
			if math.Abs(d) > 1e-9 {
				t.Fatalf("%v: bound %v, orb %v", tile, b, ob)
			}
		}
		mid := ob.Center()
		if got, err := TileAt(mid.Lon(), mid.Lat(), tile.Z); err != nil || got != tile {
			t.Fatalf("centre of %v is in %v, %v", tile, got, err)
		}
		if got := maptile.At(mid, maptile.Zoom(tile.Z)); got != other {
			t.Fatalf("centre of %v is in orb's %v", tile, got)
		}
	}
}

func TestAllocations(t *testing.T) {
	var (
		sink  float64
		cells Cell
		tiles Tile
		keys  Key
		buf   [MaxZoom]byte
	)
	point := Tile{13, 4093, 2723}
	key := point.Key()
	for name, f := range map[string]func(){
		"CellOf":        func() { c, _ := CellOf(13.4, 52.5); cells += c },
		"TileAt":        func() { tiles, _ = TileAt(13.4, 52.5, 13) },
		"Project":       func() { x, y := Project(13.4, 52.5); sink += x + y },
		"Unproject":     func() { x, y := Unproject(0.4, 0.5); sink += x + y },
		"Key":           func() { keys = point.Key() },
		"KeyRange":      func() { keys, _ = point.KeyRange() },
		"Key.Tile":      func() { tiles = key.Tile() },
		"ParseKey":      func() { tiles, _ = ParseKey(key[:]) },
		"CellFromKey":   func() { c, _ := CellFromKey(key[:]); cells += c },
		"AppendKey":     func() { cells += Cell(cells.AppendKey(buf[:0])[0]) },
		"AppendQuadkey": func() { cells += Cell(point.AppendQuadkey(buf[:0])[0]) },
		"ParseQuadkey":  func() { tiles, _ = ParseQuadkey("12301230") },
		"Packed":        func() { cells += Cell(point.Packed()) },
		"CellRange":     func() { a, b := point.CellRange(); cells += a + b },
		"Children":      func() { tiles = point.Children()[3] },
		"Bound":         func() { sink += point.Bound().West },
		"Contains": func() {
			if point.Bound().Contains(1, 2) {
				sink++
			}
		},
		"Distance":    func() { sink += Distance(13.4, 52.5, -74, 40.7) },
		"MinDistance": func() { sink += point.MinDistance(13.4, 52.5) },
	} {
		if n := testing.AllocsPerRun(100, f); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
	_, _, _, _ = sink, cells, tiles, keys
}
