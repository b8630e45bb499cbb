package mbtiles

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"quadrille/quadkey"
)

func TestArchive(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "a.mbtiles")
	w, err := Create(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	var contents []Content
	for _, text := range []string{"world", "inside"} {
		c, err := w.Put([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, c)
	}
	add := func(tile quadkey.Tile, zoom uint8, c Content) error { return w.Add(tile, zoom, c) }
	if err := errors.Join(
		add(quadkey.Tile{}, 0, contents[0]),
		// This is the example in the specification.
		add(quadkey.Tile{Z: 11, X: 327, Y: 791}, 11, contents[0]),
		add(quadkey.Tile{Z: 3, X: 5, Y: 2}, 8, contents[1]),
	); err != nil {
		t.Fatal(err)
	}
	rows, err := Metadata("a", "", "© them", [4]float64{-180, -85, 180, 85}, [3]float64{1, 2, 3}, 0, 11, []any{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(rows); err != nil {
		t.Fatal(err)
	}
	if files, _ := os.ReadDir(filepath.Dir(path)); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}

	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	get := func(z, x, y int) string {
		var data string
		err := db.QueryRow(`SELECT tile_data FROM tiles WHERE zoom_level=? AND tile_column=? AND tile_row=?`, z, x, y).Scan(&data)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			t.Fatal(err)
		}
		return data
	}
	for _, c := range []struct {
		z, x, y int
		want    string
	}{
		{0, 0, 0, "world"}, {11, 327, 1256, "world"}, {11, 327, 791, ""},
		// This is column 5 of 8, and row 2 from the north or 5 from the south, of 32 × 32 tiles
		// each.
		{8, 160, 160, "inside"}, {8, 191, 191, "inside"}, {8, 159, 160, ""}, {8, 160, 192, ""}, {8, 160, 159, ""},
	} {
		if got := get(c.z, c.x, c.y); got != c.want {
			t.Errorf("%d/%d/%d from the south: %q, want %q", c.z, c.x, c.y, got, c.want)
		}
	}
	for query, want := range map[string]int64{
		`SELECT count(*) FROM tiles`:  2 + 32*32,
		`SELECT count(*) FROM images`: 2,
		`PRAGMA application_id`:       0x4D504258,
		`SELECT count(*) FROM metadata WHERE name IN ('name', 'format', 'json', 'bounds', 'center', 'minzoom', 'maxzoom', 'attribution')`: 8,
		`SELECT count(*) FROM metadata WHERE value = ''`: 0,
	} {
		var got int64
		if err := db.QueryRow(query).Scan(&got); err != nil || got != want {
			t.Errorf("%s: %d, %v; want %d", query, got, err, want)
		}
	}
	var layers string
	if err := db.QueryRow(`SELECT value FROM metadata WHERE name='json'`).Scan(&layers); err != nil || !json.Valid([]byte(layers)) {
		t.Errorf("%s, %v", layers, err)
	}
}

func TestEmptyAndAborted(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	w, err := Create(ctx, filepath.Join(dir, "a.mbtiles"))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Finish(nil); !errors.Is(err, ErrEmpty) {
		t.Error(err)
	}
	if w, err = Create(ctx, filepath.Join(dir, "a.mbtiles")); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
	cancelled, cancel := context.WithCancel(ctx)
	if w, err = Create(cancelled, filepath.Join(dir, "a.mbtiles")); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := w.Put([]byte("x")); err == nil {
		t.Error("a cancelled context was not noticed")
	}
	if err := w.Abort(); err != nil {
		t.Error(err)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("left behind: %v", files)
	}
	if _, err := Create(ctx, filepath.Join(dir, "no", "a.mbtiles")); err == nil {
		t.Error("a directory that is not there")
	}
}
