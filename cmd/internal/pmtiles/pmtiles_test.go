package pmtiles

import (
	"errors"
	"slices"
	"testing"

	"quadrille/quadkey"
)

func TestTileIDs(t *testing.T) {
	// This is the table of the specification.
	for id, tile := range map[uint64]quadkey.Tile{
		0: {}, 1: {Z: 1}, 2: {Z: 1, Y: 1}, 3: {Z: 1, X: 1, Y: 1}, 4: {Z: 1, X: 1}, 5: {Z: 2},
		19078479: {Z: 12, X: 3423, Y: 1763},
	} {
		if got := TileID(tile); got != id {
			t.Errorf("%v: %d, want %d", tile, got, id)
		}
	}
}

func TestHeader(t *testing.T) {
	h := Header{
		Root: Section{127, 1}, Metadata: Section{2, 3}, Leaves: Section{4, 5}, Tiles: Section{6, 7}, Addressed: 8, Entries: 9, Contents: 10,
		Clustered: true, Internal: Gzip, TileCompression: Zstd, Type: AVIF, MinZoom: 1, MaxZoom: 20, CenterZoom: 3,
		Bounds: [4]float64{-180, -85.5, 180, 85.25}, Center: [2]float64{-12.5, 3},
	}
	b := h.Append(nil)
	if got, err := ParseHeader(b); err != nil || got != h || len(b) != HeaderSize {
		t.Errorf("%d bytes, %+v, %v", len(b), got, err)
	}
	for n := range b {
		if _, err := ParseHeader(b[:n]); !errors.Is(err, ErrFormat) {
			t.Fatalf("the first %d bytes: %v", n, err)
		}
	}
	if (Section{1 << 63, 1 << 63}).Within(1<<64-1) || !(Section{3, 4}).Within(7) || (Section{8, 0}).Within(7) {
		t.Error("sections")
	}
}

// A decoded directory must be encoded to the same bytes, except that overlong numbers become
// shorter.
func FuzzDirectory(f *testing.F) {
	f.Add(AppendDirectory(nil, []Entry{
		{ID: 0, Offset: 0, Length: 5, Run: 1},
		{ID: 1, Offset: 5, Length: 7, Run: 3},
		{ID: 9, Offset: 0, Length: 5, Run: 0},
	}))
	f.Add([]byte{1, 0, 1, 1, 1})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01})
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := DecodeDirectory(nil, b, 1000)
		if err != nil {
			if !errors.Is(err, ErrDirectory) || len(list) > 0 {
				t.Fatalf("%d entries and %v", len(list), err)
			}
			return
		}
		next := uint64(0)
		for i, e := range list {
			if i > 0 && e.ID < max(next, list[i-1].ID+1) || e.Length == 0 || e.ID >= tileIDs {
				t.Fatalf("entry %d is %+v", i, e)
			}
			next = e.ID + uint64(e.Run)
		}
		again, err := DecodeDirectory(nil, AppendDirectory(nil, list), 1000)
		if err != nil || !slices.Equal(again, list) {
			t.Fatalf("%v became %v, %v", list, again, err)
		}
	})
}
