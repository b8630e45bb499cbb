package pmtiles

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/export/pmtiles/pmtilestest"
	"quadrille/quadkey"
)

var info = Info{
	MaxZoom:  13,
	Bounds:   [4]float64{-180, -85.05112877980659, 180, 85.05112877980659},
	Center:   [3]float64{12.5, -3, 4},
	Metadata: []byte(`{"vector_layers":[]}`),
}

func put(t *testing.T, w *Writer, text string) Content {
	t.Helper()
	b, err := zip([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	c, err := w.Put(b)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func create(t *testing.T) *Writer {
	t.Helper()
	w, err := Create(filepath.Join(t.TempDir(), "a.pmtiles"))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// finish completes an archive. The archive must then be the only file in its directory.
func finish(t *testing.T, w *Writer) *pmtilestest.Archive {
	t.Helper()
	if err := w.Finish(info); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(filepath.Dir(w.path)); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
	a, err := pmtilestest.Open(w.path)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestArchive(t *testing.T) {
	w := create(t)
	world := put(t, w, "world")
	var inside Content
	for _, step := range []struct {
		tile quadkey.Tile
		zoom uint8
		c    *Content
	}{{quadkey.Tile{}, 0, &world}, {quadkey.Tile{Z: 1, X: 1, Y: 1}, 1, &world}} {
		if err := w.Add(step.tile, step.zoom, *step.c); err != nil {
			t.Fatal(err)
		}
	}
	// This adds the inside of a quarter of the world at zoom 13, and then that of its neighbour.
	inside = put(t, w, "inside")
	for _, tile := range []quadkey.Tile{{Z: 1, X: 0, Y: 0}, {Z: 2, X: 0, Y: 2}} {
		if err := w.Add(tile, 13, inside); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Add(quadkey.Tile{Z: 3}, 13, world); err == nil {
		t.Error("a tile out of order was taken")
	}
	a := finish(t, w)
	for tile, want := range map[quadkey.Tile]string{
		{}: "world", {Z: 1, X: 1, Y: 1}: "world", {Z: 1}: "", {Z: 13}: "inside", {Z: 13, X: 4095, Y: 4095}: "inside",
		{Z: 13, X: 4096}: "", {Z: 13, Y: 4096}: "inside", {Z: 13, X: 8191, Y: 8191}: "",
	} {
		if got, err := a.Tile(tile); err != nil || string(got) != want {
			t.Errorf("%v: %q, %v; want %q", tile, got, err, want)
		}
	}
	if len(a.Entries) != 3 || a.HeaderField(8) != 2+1<<24+1<<22 || a.HeaderField(10) != 2 {
		t.Errorf("%d entries, %d tiles, %d contents", len(a.Entries), a.HeaderField(8), a.HeaderField(10))
	}
	if string(a.Metadata) != string(info.Metadata) {
		t.Errorf("metadata %s", a.Metadata)
	}
	want := []byte{1, 2, 2, 1, 0, 13, 0x00, 0x2E, 0xB6, 0x94} // −180° is −1.8e9
	if got := a.Header[96:106]; string(got) != string(want) {
		t.Errorf("header %x, want %x", got, want)
	}
	if a.Header[118] != 4 {
		t.Errorf("center zoom %d", a.Header[118])
	}
}

// Random sets of tiles are read back, whatever the number of directories.
func TestRandomArchives(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		w := create(t)
		zoom := rapid.Uint8Range(0, 7).Draw(rt, "zoom")
		step := rapid.Uint64Range(1, 9).Draw(rt, "step")
		want := map[quadkey.Tile]string{}
		contents := map[string]Content{}
		for d := uint64(0); d < 1<<(2*zoom) && len(want) < 12000; d += step {
			tile, err := quadkey.TileFromHilbert(zoom, d)
			if err != nil {
				rt.Fatal(err)
			}
			text := fmt.Sprint(d / 7 % 200)
			c, ok := contents[text]
			if !ok {
				c = put(t, w, text)
				contents[text] = c
			}
			if err := w.Add(tile, zoom, c); err != nil {
				rt.Fatal(err)
			}
			want[tile] = text
		}
		a := finish(t, w)
		for d := uint64(0); d < 1<<(2*zoom); d += 1 + d/64 {
			tile, _ := quadkey.TileFromHilbert(zoom, d)
			if got, err := a.Tile(tile); err != nil || string(got) != want[tile] {
				rt.Fatalf("%v: %q, %v; want %q", tile, got, err, want[tile])
			}
		}
	})
}

// Leaf directories become larger if there are too many of them for the root.
func TestManyDirectories(t *testing.T) {
	w := create(t)
	a, b := put(t, w, "a"), put(t, w, "bb")
	const n = 100_000
	state := uint64(1)
	for i, d := uint64(0), uint64(0); i < n; i++ {
		tile, err := quadkey.TileFromHilbert(14, d)
		if err != nil {
			t.Fatal(err)
		}
		c := a
		if i%2 > 0 {
			c = b
		}
		if err := w.Add(tile, 14, c); err != nil {
			t.Fatal(err)
		}
		// The steps are random, so that no compressor can predict them and directories differ in
		// size.
		state = state*6364136223846793005 + 1442695040888963407
		d += 1 + state>>61
	}
	if err := w.flush(); err != nil {
		t.Fatal(err)
	}
	leaves := len(w.root)
	if err := w.dirs.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := w.pairLeaves(); err != nil {
		t.Fatal(err)
	}
	if len(w.root) != (leaves+1)/2 {
		t.Errorf("%d leaves of %d", len(w.root), leaves)
	}
	if arch := finish(t, w); len(arch.Entries) != n || arch.Leaves != (leaves+1)/2 {
		t.Errorf("%d entries in %d leaves", len(arch.Entries), arch.Leaves)
	}
}

func TestEmptyAndAborted(t *testing.T) {
	w := create(t)
	if err := w.Finish(info); !errors.Is(err, ErrEmpty) {
		t.Error(err)
	}
	w2 := create(t)
	put(t, w2, "x")
	if err := w2.Abort(); err != nil {
		t.Error(err)
	}
	for _, w := range []*Writer{w, w2} {
		if files, _ := os.ReadDir(filepath.Dir(w.path)); len(files) > 0 {
			t.Errorf("left behind: %v", files)
		}
	}
	if _, err := Create(filepath.Join(t.TempDir(), "no", "a.pmtiles")); err == nil {
		t.Error("a directory that is not there")
	}
}
