// Package mbtiles writes archives of gzipped vector tiles in version 1.3 of the public MBTiles
// specification. An archive is an SQLite database. Its view tiles joins a tile's position with
// its content, so that equal tiles are stored once.
//
//	map     zoom_level, tile_column, tile_row → tile_id
//	images  tile_id → tile_data
//	tiles   zoom_level, tile_column, tile_row, tile_data (a view)
//
// Rows are counted from the south, as in the specification. Unlike a PMTiles archive it needs a row
// for every single tile: the inside of a country takes ten bytes a tile at its deepest zoom.
package mbtiles

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver

	"quadrille/cmd/ingest/internal/disk"
	"quadrille/quadkey"
)

// ErrEmpty is returned when an archive would have no tile.
var ErrEmpty = errors.New("no tile to write: the layers show nothing at these zooms")

// Row is a row of the metadata table: a name and a value.
type Row struct{ Name, Value string }

// Metadata returns the specification's rows for vector tiles. VectorLayers becomes vector_layers
// in the row json.
func Metadata(name, description, attribution string, bounds [4]float64, center [3]float64, minZoom, maxZoom uint8,
	vectorLayers any) ([]Row, error) {
	layers, err := json.Marshal(map[string]any{"vector_layers": vectorLayers})
	if err != nil {
		return nil, err
	}
	rows := []Row{
		{"name", name},
		{"format", "pbf"},
		{"type", "overlay"},
		{"scheme", "tms"},
		{"bounds", fmt.Sprintf("%.7g,%.7g,%.7g,%.7g", bounds[0], bounds[1], bounds[2], bounds[3])},
		{"center", fmt.Sprintf("%.7g,%.7g,%g", center[0], center[1], center[2])},
		{"minzoom", fmt.Sprint(minZoom)},
		{"maxzoom", fmt.Sprint(maxZoom)},
		{"json", string(layers)},
	}
	for _, r := range []Row{{"description", description}, {"attribution", attribution}} {
		if r.Value != "" {
			rows = append(rows, r)
		}
	}
	return rows, nil
}

// Content is the tile_id of a tile's bytes; several tiles may share one.
type Content int64

// The application id marks the file as MBTiles for programs such as file(1).
const schema = `
PRAGMA application_id = 0x4D504258;
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
CREATE TABLE metadata (name text, value text);
CREATE UNIQUE INDEX name ON metadata (name);
CREATE TABLE images (tile_id integer PRIMARY KEY, tile_data blob NOT NULL);
CREATE TABLE map (zoom_level integer, tile_column integer, tile_row integer, tile_id integer NOT NULL,
	PRIMARY KEY (zoom_level, tile_column, tile_row)) WITHOUT ROWID;
CREATE VIEW tiles AS SELECT zoom_level, tile_column, tile_row, tile_data FROM map JOIN images USING (tile_id);`

// insertSquare fills a square of tiles in the order of the table.
const insertSquare = `
WITH RECURSIVE c(x) AS (SELECT ?2 UNION ALL SELECT x + 1 FROM c WHERE x + 1 < ?2 + ?4),
	r(y) AS (SELECT ?3 UNION ALL SELECT y + 1 FROM r WHERE y + 1 < ?3 + ?4)
INSERT INTO map SELECT ?1, c.x, r.y, ?5 FROM c CROSS JOIN r`

// batch is the number of tiles in one transaction.
const batch = 1 << 16

// Writer writes one archive, and belongs to one goroutine. The file gets its final name only when
// Finish has succeeded.
type Writer struct {
	ctx        context.Context
	path, temp string
	db         *sql.DB
	tx         *sql.Tx
	image      *sql.Stmt
	single     *sql.Stmt
	square     *sql.Stmt
	images     Content
	inTx       int
	tiles      int64
}

// Create begins the archive at path, in a temporary file beside it. The
// context ends the whole of the writing.
func Create(ctx context.Context, path string) (_ *Writer, err error) {
	f, err := disk.CreateBeside(path)
	if err != nil {
		return nil, err
	}
	w := &Writer{ctx: ctx, path: path, temp: f.Name()}
	defer func() {
		if err != nil {
			_ = w.Abort() // the first error says why
		}
	}()
	if err = f.Close(); err != nil {
		return nil, err
	}
	// The name is in the form of a URI, because in a plain name the driver would take a ? for the
	// beginning of its parameters.
	abs, err := filepath.Abs(w.temp)
	if err != nil {
		return nil, err
	}
	dsn := url.URL{Scheme: "file", Path: abs}
	if w.db, err = sql.Open("sqlite", dsn.String()); err != nil {
		return nil, err
	}
	w.db.SetMaxOpenConns(1) // settings are of a connection
	if _, err = w.db.ExecContext(ctx, schema); err != nil {
		return nil, err
	}
	return w, w.begin()
}

func (w *Writer) begin() (err error) {
	if w.tx, err = w.db.BeginTx(w.ctx, nil); err != nil {
		return err
	}
	w.inTx = 0
	for _, s := range []struct {
		stmt **sql.Stmt
		text string
	}{
		{&w.image, `INSERT INTO images VALUES (?, ?)`},
		{&w.single, `INSERT INTO map VALUES (?, ?, ?, ?)`},
		{&w.square, insertSquare},
	} {
		//nolint:sqlclosecheck // they close with their transaction
		if *s.stmt, err = w.tx.PrepareContext(w.ctx, s.text); err != nil {
			return err
		}
	}
	return nil
}

// Put stores the gzipped bytes of a tile.
func (w *Writer) Put(gzipped []byte) (Content, error) {
	if len(gzipped) == 0 {
		return 0, errors.New("a tile of no bytes cannot be stored")
	}
	w.images++
	_, err := w.image.ExecContext(w.ctx, int64(w.images), gzipped)
	return w.images, err
}

// Add assigns a content to a tile, or to all its descendants at a deeper zoom. It is an error to
// add a tile twice.
func (w *Writer) Add(t quadkey.Tile, zoom uint8, c Content) (err error) {
	if !t.Valid() || zoom < t.Z || zoom > quadkey.MaxZoom {
		return fmt.Errorf("tile %v has no descendants at zoom %d", t, zoom)
	}
	first, last := t.AtZoom(zoom)
	side := int64(last.X-first.X) + 1
	row := int64(1)<<zoom - 1 - int64(last.Y)
	if side == 1 {
		_, err = w.single.ExecContext(w.ctx, zoom, first.X, row, int64(c))
	} else {
		_, err = w.square.ExecContext(w.ctx, zoom, first.X, row, side, int64(c))
	}
	if err != nil {
		return fmt.Errorf("tile %v at zoom %d: %w", t, zoom, err)
	}
	w.tiles += side * side
	if w.inTx += int(min(side*side, batch)); w.inTx < batch {
		return nil
	}
	if err := w.tx.Commit(); err != nil {
		return err
	}
	return w.begin()
}

// Finish completes the archive and gives it its final name. It returns ErrEmpty if no tile was
// added.
func (w *Writer) Finish(metadata []Row) (err error) {
	defer func() { err = errors.Join(err, w.Abort()) }()
	if w.tiles == 0 {
		return ErrEmpty
	}
	for _, r := range metadata {
		if _, err := w.tx.ExecContext(w.ctx, `INSERT INTO metadata VALUES (?, ?)`, r.Name, r.Value); err != nil {
			return fmt.Errorf("metadata %s: %w", r.Name, err)
		}
	}
	err = w.tx.Commit()
	w.tx = nil
	if err != nil {
		return err
	}
	err = w.db.Close()
	w.db = nil
	if err != nil {
		return err
	}
	f, err := os.OpenFile(w.temp, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	if err := disk.Publish(f, w.path); err != nil {
		return errors.Join(err, disk.Discard(f))
	}
	return nil
}

// Abort removes the unfinished archive. After Finish it does nothing.
func (w *Writer) Abort() (err error) {
	if w.tx != nil {
		if rerr := w.tx.Rollback(); rerr != nil && !errors.Is(rerr, sql.ErrTxDone) {
			err = rerr
		}
		w.tx = nil
	}
	if w.db != nil {
		err = errors.Join(err, w.db.Close())
		w.db = nil
	}
	if rerr := os.Remove(w.temp); rerr != nil && !errors.Is(rerr, os.ErrNotExist) {
		err = errors.Join(err, rerr)
	}
	return err
}
