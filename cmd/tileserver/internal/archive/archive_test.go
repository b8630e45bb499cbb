package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/archive/archivetest"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
)

// pyramid returns the tiles of zooms 0 to z. All differ except those in the south of zoom 3, and
// one is missing.
func pyramid(z uint8, coding byte) (tiles []archivetest.Tile) {
	for zoom := range z + 1 {
		for x := range uint32(1) << zoom {
			for y := range uint32(1) << zoom {
				name := fmt.Sprintf("%d/%d/%d", zoom, x, y)
				if zoom == 3 && y > 3 {
					name = "sea"
				}
				if zoom == 2 && x == 1 && y == 1 {
					continue
				}
				tiles = append(tiles, archivetest.Tile{Z: zoom, X: x, Y: y, Data: archivetest.Pack(coding, archivetest.Vector(name))})
			}
		}
	}
	return tiles
}

func open(t testing.TB, path string) (*Archive, error) {
	t.Helper()
	a, err := Open(t.Context(), "test", path, NewDirectoryCache(1<<20))
	if err == nil {
		t.Cleanup(func() {
			if err := a.Close(); err != nil {
				t.Error(err)
			}
		})
	}
	return a, err
}

// same checks that an archive has exactly the tiles.
func same(t *testing.T, a *Archive, tiles []archivetest.Tile) {
	t.Helper()
	want := map[quadkey.Tile][]byte{}
	for _, tile := range tiles {
		want[quadkey.Tile{Z: tile.Z, X: tile.X, Y: tile.Y}] = tile.Data
	}
	for zoom := range uint8(6) {
		for x := range uint32(1) << zoom {
			for y := range uint32(1) << zoom {
				at := quadkey.Tile{Z: zoom, X: x, Y: y}
				got, _, ok, err := a.Tile(t.Context(), at)
				if err != nil || ok != (want[at] != nil) || !bytes.Equal(got, want[at]) {
					t.Fatalf("%v: %d bytes, %v, %v; want %d bytes", at, len(got), ok, err, len(want[at]))
				}
			}
		}
	}
}

func TestPMTiles(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine writes and reads archives")
	for _, coding := range []byte{archivetest.Uncompressed, archivetest.Gzip, archivetest.Brotli, archivetest.Zstd} {
		tiles := pyramid(4, coding)
		for _, p := range []archivetest.PMTiles{
			{}, {Leaf: 7}, {Leaf: 3, Deep: true},
		} {
			t.Run(fmt.Sprintf("coding %d leaf %d deep %v", coding, p.Leaf, p.Deep), func(t *testing.T) {
				p.Internal, p.Tiles, p.Type = coding, coding, 1
				p.Metadata = `{"name":"Toy","vector_layers":[{"id":"water","fields":{"a":"String","b":7},"minzoom":1},{"id":7}]}`
				a, err := open(t, archivetest.Write(t, filepath.Join(t.TempDir(), "a.pmtiles"), p.Bytes(tiles)))
				if err != nil {
					t.Fatal(err)
				}
				same(t, a, tiles)
				if a.Format != MVT || a.MinZoom != 0 || a.MaxZoom != 4 || a.Title != "Toy" || len(a.Layers) != 1 ||
					a.Layers[0].MinZoom != 1 || a.Layers[0].MaxZoom != 4 {
					t.Errorf("it is described as %+v", a.Info)
				}
			})
		}
	}
}

func TestMBTiles(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine writes and reads archives")
	plain := pyramid(4, archivetest.Gzip)
	metadata := `INSERT INTO metadata VALUES ('name', 'Toy'), ('format', 'pbf'), ('bounds', '-10,-20,30,40'), ('json', '{"vector_layers":[{"id":"roads"}]}');`
	for name, schema := range map[string]string{
		"table": archivetest.MBTilesSchema,
		"view": `CREATE TABLE metadata (name text, value text);
			CREATE TABLE images (id integer primary key, data blob); CREATE TABLE map (z integer, x integer, y integer, id integer);
			CREATE UNIQUE INDEX map_index ON map (z, x, y);
			CREATE VIEW tiles AS SELECT z AS zoom_level, x AS tile_column, y AS tile_row, data AS tile_data FROM map JOIN images ON images.id = map.id;
			CREATE TRIGGER tiles_insert INSTEAD OF INSERT ON tiles BEGIN
				INSERT INTO images (data) VALUES (new.tile_data);
				INSERT INTO map VALUES (new.zoom_level, new.tile_column, new.tile_row, last_insert_rowid());
			END;`,
		"no index": `CREATE TABLE metadata (name text, value text); CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, tile_data blob);`,
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "odd name?%20#.mbtiles")
			archivetest.WriteMBTiles(t, filepath.Join(filepath.Dir(path), "plain"), plain, schema, metadata)
			if err := os.Rename(filepath.Join(filepath.Dir(path), "plain"), path); err != nil {
				t.Fatal(err)
			}
			a, err := open(t, path)
			if err != nil {
				t.Fatal(err)
			}
			same(t, a, plain)
			if a.Format != MVT || a.Coding != Gzip || a.MaxZoom != 4 || a.Bounds != [4]float64{-10, -20, 30, 40} || len(a.Layers) != 1 {
				t.Errorf("it is described as %+v", a.Info)
			}
		})
	}
}

// The first bytes of a picture give its format, and its header gives its size.
func TestPictures(t *testing.T) {
	red := archivetest.Picture(512, color.RGBA{R: 255, A: 255})
	dir := t.TempDir()
	archivetest.WriteMBTiles(t, filepath.Join(dir, "a.mbtiles"), []archivetest.Tile{{Data: red}}, archivetest.MBTilesSchema,
		`INSERT INTO metadata VALUES ('format', 'jpg')`)
	p := archivetest.PMTiles{Internal: archivetest.Gzip, Type: 4}
	archivetest.Write(t, filepath.Join(dir, "a.pmtiles"), p.Bytes([]archivetest.Tile{{Data: red}}))
	for _, name := range []string{"a.mbtiles", "a.pmtiles"} {
		a, err := open(t, filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if a.Format != PNG || a.TileSize != 512 {
			t.Errorf("%s: %v of %d pixels", name, a.Format, a.TileSize)
		}
	}
}

// An archive that was truncated at any length is refused.
func TestCut(t *testing.T) {
	dir := t.TempDir()
	p := archivetest.PMTiles{Internal: archivetest.Gzip, Tiles: archivetest.Gzip, Type: 1, Leaf: 5}
	whole := map[string][]byte{"cut.pmtiles": p.Bytes(pyramid(2, archivetest.Gzip))}
	archivetest.WriteMBTiles(t, filepath.Join(dir, "whole.mbtiles"), pyramid(2, archivetest.Gzip), `PRAGMA page_size = 512`,
		archivetest.MBTilesSchema)
	var err error
	if whole["cut.mbtiles"], err = os.ReadFile(filepath.Join(dir, "whole.mbtiles")); err != nil {
		t.Fatal(err)
	}
	for name, b := range whole {
		path := filepath.Join(dir, name)
		if _, err := open(t, archivetest.Write(t, path, b)); err != nil {
			t.Fatalf("whole: %v", err)
		}
		step := 1
		if name == "cut.mbtiles" && testing.Short() {
			step = 211
		}
		for n := 0; n < len(b); n += step {
			if _, err := open(t, archivetest.Write(t, path, b[:n])); err == nil {
				t.Fatalf("%s: the first %d of %d bytes are an archive", name, n, len(b))
			}
		}
	}
}

// A single changed byte never makes the reader hang or panic, and never makes it report a tile as
// missing.
func TestFlipped(t *testing.T) {
	p := archivetest.PMTiles{Internal: archivetest.Uncompressed, Tiles: archivetest.Uncompressed, Type: 1, Leaf: 5}
	b := p.Bytes(pyramid(2, archivetest.Uncompressed))
	path := filepath.Join(t.TempDir(), "flipped.pmtiles")
	for i := range b {
		flips := []byte{0x01, 0x80, 0xff}
		if testing.Short() {
			flips = flips[i%3:][:1]
		}
		for _, flip := range flips {
			other := bytes.Clone(b)
			other[i] ^= flip
			a, err := Open(t.Context(), "test", archivetest.Write(t, path, other), NewDirectoryCache(1<<20))
			if err != nil {
				continue
			}
			for x := range uint32(4) {
				for y := range uint32(4) {
					_, _, _, _ = a.Tile(t.Context(), quadkey.Tile{Z: 2, X: x, Y: y})
				}
			}
			if err := a.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestHostilePMTiles(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine writes and reads archives")
	p := archivetest.PMTiles{Internal: archivetest.Uncompressed, Tiles: archivetest.Gzip, Type: 1}
	tile := archivetest.Pack(archivetest.Gzip, archivetest.Vector("x"))
	whole := uint64(len(tile))
	good := archivetest.Directory([]archivetest.Entry{{ID: 0, Run: 1, Length: whole}})
	leaf := func(entries ...archivetest.Entry) []byte { return archivetest.Directory(entries) }
	self := leaf(archivetest.Entry{ID: 0, Run: 0, Length: 5, Offset: 0})
	header := func(at int, value uint64) []byte {
		b := p.Assemble(good, nil, tile, [2]uint8{})
		for i := range 8 {
			b[at+i] = byte(value >> (8 * i))
		}
		return b
	}
	set := func(at int, value byte) []byte {
		b := p.Assemble(good, nil, tile, [2]uint8{})
		b[at] = value
		return b
	}
	bomb := archivetest.Pack(archivetest.Gzip, make([]byte, MaxTileBytes+1))
	packed := func(coding byte, root []byte) []byte {
		q := p
		q.Internal = coding
		return q.Assemble(root, nil, tile, [2]uint8{})
	}
	described := func(metadata string) []byte {
		q := p
		q.Metadata = metadata
		return q.Assemble(good, nil, tile, [2]uint8{})
	}
	for name, c := range map[string]struct {
		b    []byte
		want string
	}{
		"no archive":             {[]byte("<html>"), "neither"},
		"empty":                  {nil, "neither"},
		"version 2":              {set(7, 2), "pmtiles convert"},
		"version 4":              {set(7, 4), "of version 4"},
		"root far away":          {header(8, 1<<40), "root directory"},
		"root overflows":         {header(16, 1<<64-1), "root directory"},
		"root behind 16 KiB":     {append(header(16, 17<<10), make([]byte, 1<<20)...), "first 16384 bytes"},
		"root over the header":   {header(8, 0), "behind the header"},
		"metadata overflow":      {header(24, 1<<63), "metadata"},
		"tiles overflow":         {header(64, 1<<64-1), "tiles"},
		"leaves overflow":        {header(40, 1<<64-100), "leaf directories"},
		"coding 9 of the inside": {set(97, 9), "number 9"},
		"coding 9 of the tiles":  {set(98, 9), "number 9"},
		"tiles of type 7":        {set(99, 7), "type 7"},
		"no MapLibre tiles":      {set(99, 6), "no MapLibre Tile"},
		"zooms reversed":         {set(100, 5), "zooms"},
		"zoom 200":               {set(101, 200), "zooms"},
		"only zoom 30":           {p.Assemble(good, nil, tile, [2]uint8{30, 30}), "least zoom"},
		"no entries":             {p.Assemble([]byte{0}, nil, tile, [2]uint8{}), "no entries"},
		"entries without end":    {p.Assemble([]byte{0xff, 0xff, 0xff, 0xff, 0x7f, 0, 0}, nil, tile, [2]uint8{}), "entries in"},
		"a number without end":   {p.Assemble(bytes.Repeat([]byte{0xff}, 20), nil, tile, [2]uint8{}), "ends within"},
		"an id twice": {
			p.Assemble(archivetest.Directory([]archivetest.Entry{
				{ID: 1, Run: 1, Length: whole},
				{ID: 1, Run: 1, Length: whole},
			}), nil, tile, [2]uint8{}),
			"twice",
		},
		"ids beyond all zooms": {
			p.Assemble(archivetest.Directory([]archivetest.Entry{{ID: 1 << 63, Run: 1, Length: whole}}), nil, tile, [2]uint8{}),
			"an id is too large",
		},
		"runs that overlap": {
			p.Assemble(archivetest.Directory([]archivetest.Entry{
				{ID: 0, Run: 5, Length: whole},
				{ID: 2, Run: 1, Length: whole},
			}), nil, tile, [2]uint8{}),
			"a run is too large",
		},
		"a run of 2^40": {
			p.Assemble(archivetest.Directory([]archivetest.Entry{{ID: 0, Run: 1 << 40, Length: whole}}), nil, tile, [2]uint8{}),
			"a run is too large",
		},
		"a tile of no bytes": {p.Assemble(archivetest.Directory([]archivetest.Entry{{ID: 0, Run: 1}}), nil, tile, [2]uint8{}), "no bytes"},
		"a tile outside": {
			p.Assemble(archivetest.Directory([]archivetest.Entry{{ID: 0, Run: 1, Length: whole, Offset: 1}}), nil, tile, [2]uint8{}),
			"outside",
		},
		"a tile far outside": {
			p.Assemble(archivetest.Directory([]archivetest.Entry{{ID: 0, Run: 1, Length: whole, Offset: 1<<63 - 2}}), nil, tile, [2]uint8{}),
			"outside",
		},
		"something follows": {p.Assemble(append(bytes.Clone(good), 1), nil, tile, [2]uint8{}), "something follows"},
		"no leaf section":   {p.Assemble(leaf(archivetest.Entry{ID: 0, Length: 5}), nil, tile, [2]uint8{}), "outside"},
		"a leaf of itself":  {p.Assemble(self, self, tile, [2]uint8{}), "4 deep"},
		"a leaf of another id": {
			p.Assemble(leaf(archivetest.Entry{ID: 0, Length: 5}), leaf(archivetest.Entry{ID: 1, Run: 1, Length: 9}), tile, [2]uint8{}),
			"another tile",
		},
		"a zstd bomb as root":   {packed(archivetest.Zstd, archivetest.Pack(archivetest.Zstd, make([]byte, 64<<20))), "come out of it"},
		"a brotli bomb as root": {packed(archivetest.Brotli, archivetest.Pack(archivetest.Brotli, make([]byte, 64<<20))), "come out of it"},
		"half a root":           {packed(archivetest.Gzip, archivetest.Pack(archivetest.Gzip, good)[:15]), "damaged"},
		"a bomb as tile": {
			p.Assemble(archivetest.Directory([]archivetest.Entry{{ID: 0, Run: 1, Length: uint64(len(bomb))}}), nil, bomb, [2]uint8{}),
			"come out of it",
		},
		"metadata of a list":    {described(`[1,2]`), "no JSON object"},
		"metadata of depth 1e5": {described(`{"a":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`), "no JSON object"},
		"metadata of 9 MB":      {described(`{"name":"` + strings.Repeat("x", 9<<20) + `"}`), "metadata have"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, archivetest.Write(t, filepath.Join(t.TempDir(), "a.pmtiles"), c.b))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
}

// Damage after the first tile gives an error when the damaged tile is read, not an empty tile.
func TestDamageInside(t *testing.T) {
	tile := archivetest.Pack(archivetest.Gzip, archivetest.Vector("x"))
	whole := uint64(len(tile))
	p := archivetest.PMTiles{Internal: archivetest.Uncompressed, Tiles: archivetest.Gzip, Type: 1}
	self := archivetest.Directory([]archivetest.Entry{{ID: 1, Run: 0, Length: 5, Offset: 0}})
	root := archivetest.Directory([]archivetest.Entry{{ID: 0, Run: 1, Length: whole}, {ID: 1, Run: 0, Length: 5}})
	a, err := open(t, archivetest.Write(t, filepath.Join(t.TempDir(), "a.pmtiles"), p.Assemble(root, self, tile, [2]uint8{0, 1})))
	if err != nil {
		t.Fatal(err)
	}
	if _, _, ok, err := a.Tile(t.Context(), quadkey.Tile{Z: 1, X: 1, Y: 1}); ok || !errors.Is(err, ErrDamaged) {
		t.Errorf("a directory in a circle: %v, %v", ok, err)
	}
}

func TestHostileMBTiles(t *testing.T) {
	tiles := []archivetest.Tile{{Data: archivetest.Vector("x")}}
	for name, c := range map[string]struct {
		statements []string
		tiles      []archivetest.Tile
		want       string
	}{
		"no tables":     {statements: []string{`CREATE TABLE t (a)`}, want: "no table metadata"},
		"no tiles":      {statements: []string{`CREATE TABLE metadata (name, value)`}, want: "no table tiles"},
		"other columns": {statements: []string{`CREATE TABLE metadata (name, value)`, `CREATE TABLE tiles (a)`}, want: "no such column"},
		"empty":         {statements: []string{archivetest.MBTilesSchema}, want: "zooms"},
		"empty, told": {
			statements: []string{archivetest.MBTilesSchema, `INSERT INTO metadata VALUES ('minzoom', '0'), ('maxzoom', '3'), ('format', 'pbf')`},
			want:       "no tiles",
		},
		"zoom of 99": {
			statements: []string{archivetest.MBTilesSchema, `INSERT INTO metadata VALUES ('minzoom', '0'), ('maxzoom', '99')`},
			tiles:      tiles,
			want:       "zooms",
		},
		"a text as tile": {statements: []string{archivetest.MBTilesSchema, `INSERT INTO tiles VALUES (0, 0, 0, 'text')`}, want: "of type text"},
		"a null as tile": {statements: []string{archivetest.MBTilesSchema, `INSERT INTO tiles VALUES (0, 0, 0, NULL)`}, want: "of type null"},
		"a large tile": {
			statements: []string{archivetest.MBTilesSchema, `INSERT INTO tiles VALUES (0, 0, 0, zeroblob(20000000))`},
			want:       "too big",
		},
		"noise as tile": {
			statements: []string{archivetest.MBTilesSchema, `INSERT INTO tiles VALUES (0, 0, 0, x'00010203')`},
			want:       "none of MVT",
		},
		"no JSON": {
			statements: []string{archivetest.MBTilesSchema, `INSERT INTO metadata VALUES ('json', '{')`},
			tiles:      tiles,
			want:       "row json",
		},
		"a view without end": {statements: []string{`CREATE TABLE metadata (name, value)`,
			`CREATE VIEW tiles AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT i AS zoom_level, i AS tile_column, i AS tile_row, x'1a' AS tile_data FROM n`},
			want: "computed"},
		"metadata without end": {statements: []string{
			`CREATE VIEW metadata AS WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n) SELECT 'a' || i AS name, hex(zeroblob(1000000)) AS value FROM n`,
			`CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, tile_data blob)`},
			tiles: tiles,
			want:  "metadata have more"},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.mbtiles")
			archivetest.WriteMBTiles(t, path, c.tiles, c.statements...)
			_, err := open(t, path)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	path := filepath.Join(t.TempDir(), "a.mbtiles")
	if _, err := open(t, archivetest.Write(t, path, append([]byte("SQLite format 3\x00"), make([]byte, 5000)...))); err == nil {
		t.Error("a database of nothing but its first bytes is opened")
	}
	archivetest.WriteMBTiles(t, path+"2", tiles, archivetest.MBTilesSchema)
	if err := os.WriteFile(path+"2-wal", []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := open(t, path+"2"); err == nil || !strings.Contains(err.Error(), "not in it yet") {
		t.Errorf("a database with changes beside it: %v", err)
	}
	if _, err := open(t, t.TempDir()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a directory: %v", err)
	}
}

// A file that is modified in place gives errors, neither wrong bytes nor empty tiles.
func TestChangedInPlace(t *testing.T) {
	dir := t.TempDir()
	p := archivetest.PMTiles{Internal: archivetest.Gzip, Tiles: archivetest.Gzip, Type: 1, Leaf: 5}
	pm, mb := filepath.Join(dir, "a.pmtiles"), filepath.Join(dir, "a.mbtiles")
	archivetest.Write(t, pm, p.Bytes(pyramid(3, archivetest.Gzip)))
	archivetest.WriteMBTiles(t, mb, pyramid(3, archivetest.Gzip), archivetest.MBTilesSchema)
	for _, path := range []string{pm, mb} {
		for _, size := range []int64{0, 200, 1} {
			a, err := open(t, path)
			if err != nil {
				t.Fatal(err)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, int64(len(b))-1-size); err != nil {
				t.Fatal(err)
			}
			for _, at := range []quadkey.Tile{{}, {Z: 3, X: 7, Y: 1}, {Z: 2, X: 1, Y: 1}} {
				if data, _, ok, err := a.Tile(context.Background(), at); !errors.Is(err, ErrChanged) || ok || data != nil {
					t.Errorf("%s, %v: %d bytes, %v, %v", filepath.Base(path), at, len(data), ok, err)
				}
			}
			archivetest.Write(t, path, b)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	for coding := byte(1); coding <= 4; coding++ {
		f.Add(archivetest.Pack(coding, []byte("some text, some text")), coding-1)
	}
	f.Fuzz(func(t *testing.T, b []byte, coding byte) {
		const most = 1 << 16
		if out, err := Unpack(b, Coding(coding%5), most); err == nil && len(out) > most {
			t.Errorf("%d bytes came out", len(out))
		}
	})
}
