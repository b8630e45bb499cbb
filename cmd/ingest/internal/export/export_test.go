package export_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/ingest/internal/export"
	"quadrille/cmd/ingest/internal/export/pmtiles/pmtilestest"
	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/internal/toyworld"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// open publishes the toy world and opens its boundaries.
func open(t *testing.T) (*tiles.Reader, *dataset.Manifest) {
	t.Helper()
	ctx := context.Background()
	c, err := dataset.Open(t.TempDir(), toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	if err := toyworld.PublishBoundaries(ctx, c); err != nil {
		t.Fatal(err)
	}
	gen, err := c.OpenCurrent(t.Context(), "boundaries")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := gen.Close(); err != nil {
			t.Error(err)
		}
	})
	var meta tiles.Meta
	if err := json.Unmarshal(gen.Manifest.Meta, &meta); err != nil {
		t.Fatal(err)
	}
	r, err := tiles.Open(ctx, gen.Store, meta)
	if err != nil {
		t.Fatal(err)
	}
	return r, &gen.Manifest
}

// sample calls fn with tiles of an archive's zooms and their expected bytes.
func sample(t *testing.T, r *tiles.Reader, layers []tiles.Selector, minZoom, maxZoom int, fn func(quadkey.Tile, []byte)) {
	t.Helper()
	ctx := context.Background()
	check := func(tile quadkey.Tile) {
		var want []byte
		if int(tile.Z) >= minZoom && int(tile.Z) <= maxZoom {
			var err error
			if want, err = r.AppendMVT(ctx, nil, tile, layers); err != nil {
				t.Fatal(err)
			}
		}
		fn(tile, want)
	}
	for z := range uint8(6) {
		for d := range uint64(1) << (2 * z) {
			tile, _ := quadkey.TileFromHilbert(z, d)
			check(tile)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		tile, err := quadkey.TileAt(toyworld.West-0.1+4.3*rnd.Float64(), toyworld.South-0.1+4.3*rnd.Float64(), uint8(rnd.IntN(15)))
		if err != nil {
			t.Fatal(err)
		}
		check(tile)
	}
}

func TestPMTiles(t *testing.T) {
	ctx := context.Background()
	r, m := open(t)
	for _, c := range []struct {
		layers   string
		min, max int
	}{{"all", 0, 11}, {"country:wl", 2, 9}, {"state,country:is", 0, 6}} {
		layers, err := export.Layers(ctx, r, c.layers)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "a.pmtiles")
		var told int64
		stats, err := export.Write(ctx, r, m, path, export.Options{Layers: layers,
			MinZoom: c.min,
			MaxZoom: c.max,
			Progress: func(done, total int64) {
				if done < told || done > total {
					t.Errorf("progress %d after %d of %d", done, told, total)
				}
				told = done
			}})
		if err != nil {
			t.Fatal(err)
		}
		a, err := pmtilestest.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		if a.HeaderField(8) != uint64(stats.Tiles) || a.HeaderField(10) != uint64(stats.Contents) || told == 0 {
			t.Errorf("%+v: header says %d tiles, %d contents", stats, a.HeaderField(8), a.HeaderField(10))
		}
		t.Logf("%s: %+v in %d entries", c.layers, stats, len(a.Entries))
		if len(layers) == 1 && layers[0].ID != "" { // the map opens on it, and not beside it
			header := read(t, path)
			degrees := func(at int) float64 { return float64(int32(binary.LittleEndian.Uint32(header[at:]))) / 1e7 }
			found, err := r.At(ctx, degrees(123), degrees(119), layers[0].Type)
			if err != nil || len(found) != 1 || found[0].ID != layers[0].ID {
				t.Errorf("%s: the centre %f, %f is in %v: %v", c.layers, degrees(119), degrees(123), found, err)
			}
		}
		sample(t, r, layers, c.min, c.max, func(tile quadkey.Tile, want []byte) {
			if got, err := a.Tile(tile); err != nil || !bytes.Equal(got, want) {
				t.Fatalf("%s %v: %d bytes, want %d: %v", c.layers, tile, len(got), len(want), err)
			}
		})
		var metadata struct {
			Name, Attribution string
			VectorLayers      []struct{ ID string } `json:"vector_layers"`
		}
		if err := json.Unmarshal(a.Metadata, &metadata); err != nil || metadata.Attribution != "Toy world" || len(metadata.VectorLayers) == 0 {
			t.Errorf("metadata %s: %v", a.Metadata, err)
		}
		again := path + "2.pmtiles"
		if _, err := export.Write(ctx, r, m, again, export.Options{Layers: layers, MinZoom: c.min, MaxZoom: c.max}); err != nil {
			t.Fatal(err)
		}
		if one, two := read(t, path), read(t, again); !bytes.Equal(one, two) {
			t.Error("a second export has other bytes")
		}
	}
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	b := testfile.Read(t, path)
	return b
}

func TestMBTiles(t *testing.T) {
	ctx := context.Background()
	r, m := open(t)
	layers, err := export.Layers(ctx, r, "country,state")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.mbtiles")
	stats, err := export.Write(ctx, r, m, path, export.Options{Layers: layers, MaxZoom: 10})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var rows, images int64
	if err := errors.Join(db.QueryRow(`SELECT count(*) FROM tiles`).Scan(&rows),
		db.QueryRow(`SELECT count(*) FROM images`).Scan(&images)); err != nil {
		t.Fatal(err)
	}
	if rows != stats.Tiles || images != stats.Contents {
		t.Errorf("%+v: %d tiles, %d images", stats, rows, images)
	}
	sample(t, r, layers, 0, 10, func(tile quadkey.Tile, want []byte) {
		var got []byte
		err := db.QueryRow(`SELECT tile_data FROM tiles WHERE zoom_level=? AND tile_column=? AND tile_row=?`,
			tile.Z, tile.X, uint32(1)<<tile.Z-1-tile.Y).Scan(&got)
		if err == nil {
			z, zerr := gzip.NewReader(bytes.NewReader(got))
			if zerr != nil {
				t.Fatal(zerr)
			}
			got, err = io.ReadAll(z)
		} else if errors.Is(err, sql.ErrNoRows) {
			err = nil
		}
		if err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%v: %d bytes, want %d: %v", tile, len(got), len(want), err)
		}
	})
}

// GDAL reads both formats, if it is installed.
func TestOtherReaders(t *testing.T) {
	ogrinfo, err := exec.LookPath("ogrinfo")
	if err != nil {
		t.Skip("no ogrinfo here")
	}
	ctx := context.Background()
	r, m := open(t)
	layers, err := export.Layers(ctx, r, "country")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.pmtiles", "a.mbtiles"} {
		path := filepath.Join(t.TempDir(), name)
		if _, err := export.Write(ctx, r, m, path, export.Options{Layers: layers, MaxZoom: 6}); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(ogrinfo, "-al", "-so", path).CombinedOutput()
		if strings.Contains(string(out), "unable to open") || strings.Contains(string(out), "Unable to open") {
			t.Logf("this GDAL does not read %s: %s", name, out)
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v: %s", name, err, out)
		}
		for _, layer := range []string{"country", "country_line", "country_label"} {
			if !strings.Contains(string(out), "Layer name: "+layer+"\n") {
				t.Errorf("%s: GDAL finds no layer %s: %s", name, layer, out)
			}
		}
		if strings.Contains(string(out), "Feature Count: 0\n") {
			t.Errorf("%s: GDAL finds a layer without features: %s", name, out)
		}
	}
}

func TestRefused(t *testing.T) {
	ctx := context.Background()
	r, m := open(t)
	for _, list := range []string{"", "x", "country,", "country:", "country:nowhere", "places"} {
		if layers, err := export.Layers(ctx, r, list); err == nil {
			t.Errorf("%q: %v", list, layers)
		}
	}
	text := func(layers []tiles.Selector) (all string) {
		for _, l := range layers {
			all += " " + l.Type + ":" + l.ID
		}
		return all
	}
	layers, err := export.Layers(ctx, r, "state,country,all,country")
	if err != nil || text(layers) != " country: state:" {
		t.Errorf("%v, %v", layers, err)
	}
	if layers, err := export.Layers(ctx, r, "country:WL,country:wl"); err != nil || text(layers) != " country:wl" {
		t.Errorf("a region in two spellings: %v, %v", layers, err)
	}
	dir := t.TempDir()
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for _, c := range []struct {
		ctx  context.Context
		name string
		o    export.Options
	}{
		{ctx, "a.txt", export.Options{Layers: layers}},
		{ctx, "a.pmtiles", export.Options{Layers: layers, MinZoom: 3, MaxZoom: 2}},
		{ctx, "a.pmtiles", export.Options{Layers: layers, MaxZoom: 14}},
		{ctx, "a.pmtiles", export.Options{Layers: []tiles.Selector{{Type: "country", ID: "nowhere"}}, MaxZoom: 2}},
		{ctx, "a.mbtiles", export.Options{Layers: []tiles.Selector{{Type: "country", ID: "nowhere"}}, MaxZoom: 2}},
		{cancelled, "a.pmtiles", export.Options{Layers: layers, MaxZoom: 2}},
		{cancelled, "a.mbtiles", export.Options{Layers: layers, MaxZoom: 2}},
	} {
		if _, err := export.Write(c.ctx, r, m, filepath.Join(dir, c.name), c.o); err == nil {
			t.Errorf("%s %+v: no error", c.name, c.o)
		}
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
}
