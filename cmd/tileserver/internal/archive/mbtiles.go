package archive

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver

	"quadrille/cmd/internal/sqlitefile"
	"quadrille/quadkey"
)

// These are bounds of databases.
const (
	maxConnections = 4
	maxRows        = 200              // of metadata
	queryTime      = 2 * time.Second  // reading a tile, which takes microseconds with an index
	openTime       = 10 * time.Second // all of opening
	// smallFile is the size in bytes up to which a file needs no index of its tiles.
	smallFile = 8 << 20
)

// mbReader reads an MBTiles database.
type mbReader struct {
	db          *sql.DB
	connections chan *connection // those that are free
	coding      Coding           // of tiles whose first bytes do not show it
}

// connection runs one query at a time.
type connection struct {
	*sql.Conn
	tile *sql.Stmt
}

const (
	selectTile     = `SELECT typeof(tile_data), tile_data FROM tiles WHERE zoom_level = ? AND tile_column = ? AND tile_row = ? LIMIT 1`
	selectSample   = `SELECT typeof(tile_data), tile_data FROM tiles LIMIT 1`
	selectZooms    = `SELECT min(zoom_level), max(zoom_level) FROM tiles`
	selectMetadata = `SELECT name, value FROM metadata WHERE typeof(name) = 'text' LIMIT ?`
)

func openMBTiles(ctx context.Context, f *file, head []byte, a *Archive) (_ reader, err error) {
	if err := checkPages(head, f.info.Size()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	db, all, err := sqlitefile.Open(ctx, f.Name(), min(maxConnections, runtime.GOMAXPROCS(0)+1),
		sqlitefile.Limits{ValueBytes: MaxTileBytes, Columns: 100})
	if err != nil {
		return nil, err
	}
	r := &mbReader{db: db, connections: make(chan *connection, len(all))}
	defer func() {
		if err != nil {
			_ = r.close() // err is the reason that matters
		}
	}()
	if err := r.checkTables(ctx, all[0], f.info.Size()); err != nil {
		return nil, r.meaning(ctx, err)
	}
	for _, conn := range all {
		tile, err := conn.PrepareContext(ctx, selectTile)
		if err != nil {
			return nil, r.meaning(ctx, err)
		}
		r.connections <- &connection{conn, tile}
	}
	if err := r.describe(ctx, all[0], a); err != nil {
		return nil, r.meaning(ctx, err)
	}
	// SQLite has opened the file that is at the path now. It may differ from the file that we have
	// opened.
	now, err := openFile(f.Name())
	if err != nil {
		return nil, err
	}
	defer now.Close()
	if !sameContent(now.info, f.info) {
		return nil, ErrChanged
	}
	return r, nil
}

// checkPages detects a truncated database by the number of pages, which is stored in the first
// page.
func checkPages(head []byte, size int64) error {
	if len(head) < 100 {
		return fmt.Errorf("%w: it ends within its first page; fetch it again", ErrDamaged)
	}
	page := int64(binary.BigEndian.Uint16(head[16:]))
	if page == 1 {
		page = 1 << 16
	}
	pages := int64(binary.BigEndian.Uint32(head[28:]))
	valid := binary.BigEndian.Uint32(head[24:]) == binary.BigEndian.Uint32(head[92:]) && pages > 0
	if valid && pages*page > size || size%max(page, 1) != 0 {
		return fmt.Errorf("%w: it has %d bytes and should have %d pages of %d; fetch it again", ErrDamaged, size, pages, page)
	}
	return nil
}

// checkTables checks that there are tables or views with the columns, and that a query for a tile
// need not read all tiles.
func (r *mbReader) checkTables(ctx context.Context, conn *sql.Conn, size int64) error {
	for _, table := range []string{"metadata", "tiles"} {
		var n int
		err := conn.QueryRowContext(ctx,
			`SELECT count(*) FROM sqlite_schema WHERE name = ? COLLATE NOCASE AND type IN ('table', 'view')`, table).Scan(&n)
		switch {
		case err != nil:
			return err
		case n == 0:
			return fmt.Errorf("it is an SQLite database but no MBTiles: it has no table %s", table)
		}
	}
	rows, err := conn.QueryContext(ctx, `EXPLAIN QUERY PLAN `+selectTile, 0, 0, 0)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int
		var step string
		if err := rows.Scan(&id, &parent, &unused, &step); err != nil {
			return err
		}
		switch {
		case strings.Contains(step, "RECURSIVE"):
			return errors.New("its tiles are a view that is computed, not stored: write them into a table")
		case strings.HasPrefix(step, "SCAN") && size > smallFile:
			return errors.New("its tiles have no index, so that each would take a look at all: run sqlite3 FILE 'CREATE UNIQUE " +
				"INDEX tile_index ON tiles (zoom_level, tile_column, tile_row)', and where tiles is a view the same for the tables it joins")
		}
	}
	return rows.Err()
}

// describe reads the metadata.
func (r *mbReader) describe(ctx context.Context, conn *sql.Conn, a *Archive) error {
	texts, err := readMetadata(ctx, conn)
	if err != nil {
		return err
	}
	text := func(name string) string { return texts[name] }
	switch strings.TrimPrefix(strings.ToLower(text("format")), "image/") {
	case "pbf", "mvt", "application/x-protobuf", "application/vnd.mapbox-vector-tile":
		a.Format = MVT
	case "mlt", "application/vnd.maplibre-tile", "application/vnd.maplibre-vector-tile":
		a.Format = MLT
	case "png":
		a.Format = PNG
	case "jpg", "jpeg":
		a.Format = JPEG
	case "webp":
		a.Format = WebP
	case "avif":
		a.Format = AVIF
	}
	// The first bytes of a tile identify its coding, except for Brotli.
	if c := strings.ToLower(text("compression")); c == "br" || c == "brotli" {
		r.coding = Brotli
	}
	least, lerr := strconv.ParseUint(text("minzoom"), 10, 8)
	most, merr := strconv.ParseUint(text("maxzoom"), 10, 8)
	if lerr != nil || merr != nil {
		var first, last sql.NullInt64
		if err := conn.QueryRowContext(ctx, selectZooms).Scan(&first, &last); err != nil {
			return err
		}
		if !first.Valid || first.Int64 < 0 || last.Int64 > 255 {
			return fmt.Errorf("%w: its zooms are %d to %d", ErrDamaged, first.Int64, last.Int64)
		}
		least, most = uint64(first.Int64), uint64(last.Int64)
	}
	a.MinZoom, a.MaxZoom = uint8(least), uint8(most)
	a.place(numbers(text("bounds"), 4), numbers(text("center"), 3))
	a.set(text)
	more, err := describe([]byte(text("json")))
	if err != nil {
		return fmt.Errorf("the row json of its %w", err)
	}
	a.Layers = more.layers(a.MaxZoom)
	return nil
}

// readMetadata reads the rows of metadata, the first of each name.
func readMetadata(ctx context.Context, conn *sql.Conn) (map[string]string, error) {
	rows, err := conn.QueryContext(ctx, selectMetadata, maxRows)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	texts, size := map[string]string{}, 0
	for rows.Next() {
		var name string
		var value sql.NullString
		if err := rows.Scan(&name, &value); err != nil {
			return nil, err
		}
		if size += len(name) + len(value.String); size > maxMetadata {
			return nil, fmt.Errorf("%w: its metadata have more than %d bytes", ErrDamaged, maxMetadata)
		}
		if _, twice := texts[name]; !twice {
			texts[name] = value.String
		}
	}
	return texts, rows.Err()
}

// meaning converts an error of SQLite to an error of this package. asked is the caller's context.
// If it has not ended, an exceeded deadline is the limit queryTime.
func (r *mbReader) meaning(asked context.Context, err error) error {
	switch {
	case err == nil || asked.Err() != nil:
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: finding one of its tiles takes longer than %v", ErrDamaged, queryTime)
	case sqlitefile.IsDamaged(err):
		return fmt.Errorf("%w: %w", ErrDamaged, err)
	}
	return err
}

func (r *mbReader) tile(ctx context.Context, t quadkey.Tile) ([]byte, Coding, bool, error) {
	row := int64(1)<<t.Z - 1 - int64(t.Y) // counted from the south
	return r.ask(ctx, func(ctx context.Context, c *connection) *sql.Row {
		return c.tile.QueryRowContext(ctx, int64(t.Z), int64(t.X), row)
	})
}

func (r *mbReader) sample(ctx context.Context) ([]byte, Coding, error) {
	b, c, ok, err := r.ask(ctx, func(ctx context.Context, c *connection) *sql.Row { return c.QueryRowContext(ctx, selectSample) })
	if err == nil && !ok {
		err = errors.New("it has no tiles")
	}
	return b, c, err
}

// ask runs a query for a tile on a free connection.
func (r *mbReader) ask(asked context.Context, query func(context.Context, *connection) *sql.Row) ([]byte, Coding, bool, error) {
	var c *connection
	select {
	case c = <-r.connections:
	case <-asked.Done():
		return nil, Uncompressed, false, asked.Err()
	}
	defer func() { r.connections <- c }()
	ctx, cancel := context.WithTimeout(asked, queryTime)
	defer cancel()
	var kind string
	var data []byte
	err := query(ctx, c).Scan(&kind, &data)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return nil, Uncompressed, false, nil
	case err != nil:
		if ctx.Err() != nil && asked.Err() == nil {
			err = ctx.Err() // SQLite calls it an interruption
		}
		return nil, Uncompressed, false, r.meaning(asked, err)
	case kind != "blob" || len(data) == 0:
		return nil, Uncompressed, false, fmt.Errorf("%w: a tile is of type %s and has %d bytes", ErrDamaged, kind, len(data))
	}
	coding := packing(data)
	if coding == Uncompressed {
		coding = r.coding
	}
	return data, coding, true, nil
}

func (r *mbReader) close() error {
	close(r.connections)
	errs := []error{}
	for c := range r.connections {
		errs = append(errs, c.Close())
	}
	return errors.Join(append(errs, r.db.Close())...)
}
