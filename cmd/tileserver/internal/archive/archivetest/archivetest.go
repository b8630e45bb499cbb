// Package archivetest writes archives in a simple way, to test their reader. It shares no code with
// the reader or with the writer of ingest.
package archivetest

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	_ "modernc.org/sqlite" // the driver
)

// Tile is the address of a tile, with rows counted from the north, and the bytes to store.
type Tile struct {
	Z    uint8
	X, Y uint32
	Data []byte
}

// PMTiles describes the archive to write. Numbers are the codes of the specification.
type PMTiles struct {
	Internal, Tiles, Type byte
	// Leaf is the number of entries in a leaf directory, or 0 for no leaf directories. Deep adds
	// one more level above the leaf directories.
	Leaf     int
	Deep     bool
	Metadata string
	Bounds   [4]float64
}

// These are the codings of the specification.
const (
	Uncompressed = 1
	Gzip         = 2
	Brotli       = 3
	Zstd         = 4
)

// Pack compresses bytes with a coding.
func Pack(coding byte, b []byte) []byte {
	var out bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case Gzip:
		w = gzip.NewWriter(&out)
	case Brotli:
		w = brotli.NewWriter(&out)
	case Zstd:
		w, _ = zstd.NewWriter(&out) // without options nothing can be wrong with them
	default:
		return b
	}
	_, _ = w.Write(b) // a buffer takes all
	_ = w.Close()
	return out.Bytes()
}

// ID returns the id of a tile. It uses the textbook algorithm of the Hilbert curve.
func ID(z uint8, x, y uint32) uint64 {
	var id uint64
	for i := range z {
		id += 1 << (2 * i)
	}
	for s := uint32(1) << z >> 1; s > 0; s >>= 1 {
		var rx, ry uint32
		if x&s > 0 {
			rx = 1
		}
		if y&s > 0 {
			ry = 1
		}
		id += uint64(s) * uint64(s) * uint64(3*rx^ry)
		if ry == 0 {
			if rx == 1 {
				x, y = s-1-x&(s-1), s-1-y&(s-1)
			}
			x, y = y, x
		}
	}
	return id
}

// Entry is an entry of a directory.
type Entry struct{ ID, Run, Length, Offset uint64 }

// Directory encodes a directory, unpacked.
func Directory(entries []Entry) []byte {
	b := binary.AppendUvarint(nil, uint64(len(entries)))
	last := uint64(0)
	for _, e := range entries {
		b = binary.AppendUvarint(b, e.ID-last)
		last = e.ID
	}
	for _, e := range entries {
		b = binary.AppendUvarint(b, e.Run)
	}
	for _, e := range entries {
		b = binary.AppendUvarint(b, e.Length)
	}
	for _, e := range entries {
		b = binary.AppendUvarint(b, e.Offset+1)
	}
	return b
}

// Bytes returns the archive with the tiles.
func (p PMTiles) Bytes(tiles []Tile) []byte {
	tiles = slices.Clone(tiles)
	slices.SortFunc(tiles, func(a, b Tile) int {
		if ID(a.Z, a.X, a.Y) < ID(b.Z, b.X, b.Y) {
			return -1
		}
		return 1
	})
	var data []byte
	var entries []Entry
	at := map[string]uint64{}
	for _, t := range tiles {
		id := ID(t.Z, t.X, t.Y)
		offset, known := at[string(t.Data)]
		if !known {
			offset = uint64(len(data))
			at[string(t.Data)] = offset
			data = append(data, t.Data...)
		}
		if n := len(entries); n > 0 && entries[n-1].Offset == offset && entries[n-1].ID+entries[n-1].Run == id {
			entries[n-1].Run++
			continue
		}
		entries = append(entries, Entry{id, 1, uint64(len(t.Data)), offset})
	}
	var leaves []byte
	for size := p.Leaf; size > 0; size = 0 {
		entries = p.leaves(&leaves, entries, size)
		if p.Deep {
			entries = p.leaves(&leaves, entries, 2)
		}
	}
	var zooms [2]uint8
	if len(tiles) > 0 {
		zooms = [2]uint8{tiles[0].Z, tiles[len(tiles)-1].Z}
	}
	return p.Assemble(Pack(p.Internal, Directory(entries)), leaves, data, zooms)
}

// leaves moves entries into leaf directories, and returns the entries that point to these.
func (p PMTiles) leaves(dst *[]byte, entries []Entry, size int) (above []Entry) {
	for part := range slices.Chunk(entries, size) {
		packed := Pack(p.Internal, Directory(part))
		above = append(above, Entry{part[0].ID, 0, uint64(len(packed)), uint64(len(*dst))})
		*dst = append(*dst, packed...)
	}
	return above
}

// Assemble returns the archive: a header followed by the sections.
func (p PMTiles) Assemble(root, leaves, tiles []byte, zooms [2]uint8) []byte {
	metadata := p.Metadata
	if metadata == "" {
		metadata = "{}"
	}
	packed := Pack(p.Internal, []byte(metadata))
	out := append(make([]byte, 0, 1<<16), "PMTiles\x03"...)
	offset := uint64(127)
	section := func(b []byte) {
		out = binary.LittleEndian.AppendUint64(out, offset)
		out = binary.LittleEndian.AppendUint64(out, uint64(len(b)))
		offset += uint64(len(b))
	}
	for _, b := range [][]byte{root, packed, leaves, tiles} {
		section(b)
	}
	for range 3 {
		out = binary.LittleEndian.AppendUint64(out, 0)
	}
	out = append(out, 1, p.Internal, p.Tiles, p.Type, zooms[0], zooms[1])
	for _, v := range p.Bounds {
		out = binary.LittleEndian.AppendUint32(out, uint32(int32(math.Round(v*1e7))))
	}
	out = append(out, zooms[0])
	out = binary.LittleEndian.AppendUint64(out, 0)
	return slices.Concat(out, root, packed, leaves, tiles)
}

// WriteMBTiles makes a database, runs the statements, and inserts the tiles into the table tiles.
func WriteMBTiles(t testing.TB, path string, tiles []Tile, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	run := func(statement string, args ...any) {
		t.Helper()
		if _, err := db.ExecContext(context.Background(), statement, args...); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
	for _, s := range statements {
		run(s)
	}
	for _, tile := range tiles {
		run(`INSERT INTO tiles VALUES (?, ?, ?, ?)`, tile.Z, tile.X, int64(1)<<tile.Z-1-int64(tile.Y), tile.Data)
	}
}

// MBTilesSchema has the tables of the specification.
const MBTilesSchema = `CREATE TABLE metadata (name text, value text);
CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, tile_data blob);
CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);`

// Write writes a file next to path and renames it to path, because a file in use must be replaced
// this way.
func Write(t testing.TB, path string, b []byte) string {
	t.Helper()
	next := filepath.Join(filepath.Dir(path), ".next-"+filepath.Base(path))
	if err := os.WriteFile(next, b, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// Vector returns a vector tile with one layer. The name of the layer makes the tile unique.
func Vector(name string) []byte {
	layer := append([]byte{0x0a, byte(len(name))}, name...)
	layer = append(layer, 0x78, 0x02) // version 2
	return append([]byte{0x1a, byte(len(layer))}, layer...)
}

// Picture returns a PNG in one colour, side pixels wide and high.
func Picture(side int, c color.RGBA) []byte {
	img := image.NewPaletted(image.Rect(0, 0, side, side), color.Palette{c})
	var out bytes.Buffer
	_ = png.Encode(&out, img) // a buffer takes all
	return out.Bytes()
}
