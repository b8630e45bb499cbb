package stations

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/places/internal/voronoi"
	"quadrille/quadkey"
)

// Finder reads the tables of Build. Any number of goroutines may use it while
// its store is open.
type Finder struct {
	info, tiles cellstore.Table
	division    *voronoi.Table // of tiles
	about       feature.Info

	// entries holds every station, in the order of quadkeys, and cells its
	// cell.
	entries []entry
	cells   []quadkey.Cell

	lookups sync.Pool // of *voronoi.Lookup
	rows    sync.Pool // of *cellstore.Row
}

// Open returns a Finder of the tables in a store. Meta is the result of Build.
// Open reads station_index into memory and checks it. It refuses tables of
// another layout with cellstore.ErrLayout and damaged tables with cellstore.ErrCorrupt.
func Open(ctx context.Context, store cellstore.Store, meta Meta) (*Finder, error) {
	if err := cellstore.CheckLayout("stations", meta.SchemaVersion, 1, SchemaVersion, "run ingest stations"); err != nil {
		return nil, err
	}
	f := &Finder{about: meta.info()}
	f.lookups.New = func() any { return new(voronoi.Lookup) }
	f.rows.New = func() any { return new(cellstore.Row) }
	var index cellstore.Table
	if err := openTables(ctx, store, map[string]*cellstore.Table{tableInfo: &f.info, tableTiles: &f.tiles, tableIndex: &index}); err != nil {
		return nil, err
	}
	f.division = leaves.Open(f.tiles)
	if meta.Stations < 0 || meta.Stations > MaxStations {
		return nil, fmt.Errorf("stations: %w: the manifest counts %d stations: build the data set again", cellstore.ErrCorrupt, meta.Stations)
	}
	if err := f.readIndex(ctx, index, int(meta.Stations)); err != nil {
		return nil, fmt.Errorf("stations: %w", err)
	}
	return f, nil
}

// OpenPublished opens published stations, such as a generation of package dataset.
func OpenPublished(ctx context.Context, p cellstore.Published) (*Finder, error) {
	return cellstore.OpenPublished(ctx, p, SchemaVersion, Open)
}

func openTables(ctx context.Context, store cellstore.Store, tables map[string]*cellstore.Table) error {
	for name, into := range tables {
		table, err := store.Table(ctx, name)
		if err != nil {
			return fmt.Errorf("stations: %w", err)
		}
		*into = table
	}
	return nil
}

func (f *Finder) readIndex(ctx context.Context, index cellstore.Table, count int) error {
	f.entries, f.cells = make([]entry, 0, count), make([]quadkey.Cell, 0, count)
	var key [4]byte
	for row, err := range index.Scan(ctx, cellstore.Scan{}) {
		if err != nil {
			return err
		}
		binary.BigEndian.PutUint32(key[:], uint32(len(f.entries)))
		if string(row.Key) != string(key[:]) || len(row.Cells) != 1 {
			return cellstore.CorruptRow(tableIndex, row.Key, "has another layout")
		}
		value := row.Cells[0].Value
		if len(value)%entrySize != 0 || len(f.entries)+len(value)/entrySize > count {
			return cellstore.CorruptRow(tableIndex, row.Key, "does not fit the manifest")
		}
		for ; len(value) > 0; value = value[entrySize:] {
			e := parseEntry(value)
			if e.at.Lat < -quarterTurn || e.at.Lat > quarterTurn || e.at.Lon < -halfTurn || e.at.Lon > halfTurn || !e.id.Valid() {
				return cellstore.CorruptRow(tableIndex, row.Key, "has another layout")
			}
			lon, lat := e.at.Degrees()
			cell, err := quadkey.CellOf(lon, lat)
			if n := len(f.cells); err != nil || n > 0 && cell < f.cells[n-1] {
				return cellstore.CorruptRow(tableIndex, row.Key, "is not in the order of quadkeys")
			}
			f.entries, f.cells = append(f.entries, e), append(f.cells, cell)
		}
	}
	if len(f.entries) != count {
		return cellstore.CorruptRow(tableIndex, key[:], "does not fit the manifest")
	}
	return nil
}

var (
	selectJSON  = &cellstore.Selection{Families: []string{famJSON}}
	selectTiles = &cellstore.Selection{Families: []string{famTiles}}
)

// Record appends the record of a station to dst: the members of a JSON object,
// without the braces. They are "id", "usaf", "wban", "lat" and "lon" (degrees)
// and, if known, "name", "country", "state", "icao", "elevation_m", "begin" and
// "end" (dates). An unknown id gives ErrNotFound.
func (f *Finder) Record(ctx context.Context, id ID, dst []byte) ([]byte, error) {
	if r, ok := f.division.Record(id[:]).(*record); ok {
		return append(dst, r.members...), nil
	}
	from := len(dst)
	dst, err := f.record(ctx, id[:], dst)
	if err == nil {
		f.division.CacheRecord(id[:], &record{bytes.Clone(dst[from:])})
	}
	return dst, err
}

// record is a station's record in the cache.
type record struct{ members []byte }

// Bytes implements voronoi.Record.
func (r *record) Bytes() int64 { return int64(cap(r.members)) }

func (f *Finder) record(ctx context.Context, id, dst []byte) ([]byte, error) {
	row := f.rows.Get().(*cellstore.Row)
	defer f.rows.Put(row)
	found, err := f.info.Get(ctx, id, selectJSON, row)
	if err != nil {
		return dst, fmt.Errorf("stations: %w", err)
	}
	if !found {
		return dst, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	return append(dst, row.Cells[0].Value...), nil
}

// Tiles returns the leaves that list a station. These are the tiles in which it may be the nearest
// station. Together they cover all the ground where it is the nearest. They are disjoint and in the
// order of their keys. An unknown id gives ErrNotFound.
func (f *Finder) Tiles(ctx context.Context, id ID) ([]quadkey.Tile, error) {
	var row cellstore.Row
	found, err := f.info.Get(ctx, id[:], selectTiles, &row)
	if err == nil && found && len(row.Cells[0].Value) == 1+len(id) && row.Cells[0].Value[0] == tilesShared {
		id = ID(row.Cells[0].Value[1:])
		found, err = f.info.Get(ctx, id[:], selectTiles, &row)
	}
	if err != nil {
		return nil, fmt.Errorf("stations: %w", err)
	}
	if !found {
		return nil, fmt.Errorf("%w: %s", ErrNotFound, id)
	}
	var tiles []quadkey.Tile
	for i := range row.Cells {
		v := row.Cells[i].Value
		if len(v) == 0 || v[0] != tilesListed || len(v)%len(quadkey.Key{}) != 1 {
			return nil, cellstore.CorruptRow(tableInfo, row.Key, "has another layout")
		}
		for v = v[1:]; len(v) > 0; v = v[len(quadkey.Key{}):] {
			t, err := quadkey.ParseKey(v[:len(quadkey.Key{})])
			if err != nil {
				return nil, cellstore.CorruptRow(tableInfo, row.Key, "lists no tile")
			}
			tiles = append(tiles, t)
		}
	}
	return tiles, nil
}

// NearestStation is the answer of Nearest.
type NearestStation struct {
	ID        ID
	Lat, Lon  float64 // degrees
	DistanceM float64 // metres from the given point
	// Shared is the number of stations that have stood at this position,
	// counted up to 65535. ID is the least of their ids.
	Shared int
	// Tile is the leaf of the point. Candidates is the number of compared positions.
	Tile       quadkey.Tile
	Candidates int
}

// Nearest returns the station nearest to a point, in degrees, by great-circle
// distance (quadkey.Distance). Of equally near stations it returns the one with
// the least id. It is exact everywhere: across ±180°, at the poles and beyond
// ±85.0511°. It reads one row and allocates nothing. It includes stations that
// no longer report, which a Filter leaves out.
//
// Errors match places.ErrQuery for an invalid point or ErrNotFound if the data
// set is empty, or come from the store.
func (f *Finder) Nearest(ctx context.Context, lat, lon float64) (NearestStation, error) {
	l := f.lookups.Get().(*voronoi.Lookup)
	defer f.lookups.Put(l)
	found, err := f.division.Nearest(ctx, lat, lon, l)
	switch {
	case errors.Is(err, quadkey.ErrCoordinate):
		return NearestStation{}, feature.BadQuery("%v", err)
	case err != nil:
		return NearestStation{}, fmt.Errorf("stations: %w", err)
	case !found && len(f.entries) == 0:
		return NearestStation{}, fmt.Errorf("%w: the data set is empty", ErrNotFound)
	case !found || l.Candidates == 0:
		return NearestStation{}, fmt.Errorf("stations: %w: no row of %s tells the nearest station to %v, %v: ingest the stations again",
			cellstore.ErrCorrupt, tableTiles, lat, lon)
	}
	at := NearestStation{ID: ID(l.ID), DistanceM: l.DistanceM, Shared: l.Note, Tile: l.Tile, Candidates: l.Candidates}
	at.Lon, at.Lat = l.Degrees()
	return at, nil
}
