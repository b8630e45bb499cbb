package places

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

// Finder reads what Build wrote. Any number of goroutines may use it, for as
// long as its store is open.
type Finder struct {
	tiles, info, rollup cellstore.Table
	indexes             *[tiers]*index
	data                [4]byte // tag of the content, for cursors

	searches sync.Pool // of *search
	pickers  sync.Pool // of *picker
	rows     sync.Pool // of *cellstore.Row
}

// Open returns a Finder of the tables in a store. Meta is what Build returned.
// It reads place_index into memory and checks it; tables of a newer layout are
// refused with ErrNewer, damaged ones with cellstore.ErrCorrupt.
func Open(ctx context.Context, store cellstore.Store, meta Meta) (*Finder, error) {
	if meta.SchemaVersion > SchemaVersion {
		return nil, fmt.Errorf("%w: row layout %d, this program reads up to %d: update it", ErrNewer, meta.SchemaVersion, SchemaVersion)
	}
	f := &Finder{data: dataTag(meta.Fingerprint)}
	f.searches.New = func() any { return new(search) }
	f.pickers.New = func() any { return new(picker) }
	f.rows.New = func() any { return new(cellstore.Row) }
	var index cellstore.Table
	for _, t := range []struct {
		name string
		into *cellstore.Table
	}{{tableTiles, &f.tiles}, {tableInfo, &f.info}, {tableRollup, &f.rollup}, {tableIndex, &index}} {
		table, err := store.Table(ctx, t.name)
		if err != nil {
			return nil, fmt.Errorf("places: %w", err)
		}
		*t.into = table
	}
	var err error
	if f.indexes, err = readIndex(ctx, index); err != nil {
		return nil, fmt.Errorf("places: %w", err)
	}
	var count int64
	for _, x := range f.indexes {
		count += int64(x.count)
	}
	if count != meta.Places {
		return nil, fmt.Errorf("places: %w: tables hold %d places, the manifest says %d: build the data set again",
			cellstore.ErrCorrupt, count, meta.Places)
	}
	return f, nil
}

var (
	selectJSON    = &cellstore.Selection{Families: []string{famJSON}}
	selectCounts  = &cellstore.Selection{Families: []string{famCounts}}
	selectGeoJSON = &cellstore.Selection{Families: []string{famGeoJSON}}
	selectPoints  = &cellstore.Selection{Families: []string{famPoints}}
)

// Place returns the record of a place, a JSON object with every column that is
// known: id, name, country, class, code, population, admin1 to admin4,
// timezone, lat and lon (degrees), ascii_name, alternate_names and cc2 (lists),
// elevation_m, dem_m, modified (a date). An id without a place gives
// ErrNotFound. The bytes are the caller's.
func (f *Finder) Place(ctx context.Context, id uint32) ([]byte, error) {
	row := f.rows.Get().(*cellstore.Row)
	defer f.rows.Put(row)
	var key [4]byte
	found, err := f.info.Get(ctx, appendInfoKey(key[:0], id), selectJSON, row)
	if err != nil {
		return nil, fmt.Errorf("places: %w", err)
	}
	if !found {
		return nil, fmt.Errorf("%w: id %d", ErrNotFound, id)
	}
	return append([]byte(nil), row.Cells[0].Value...), nil
}

// Counts calls fn with the number of places of each feature class in a tile,
// in the order of classes; "" are places without one. The tile's zoom is at
// most 10: deeper ones are not counted and give ErrQuery.
func (f *Finder) Counts(ctx context.Context, t quadkey.Tile, fn func(class string, count int64)) error {
	if err := checkTile(t); err != nil {
		return err
	}
	if t.Z > rollupZoom {
		return fmt.Errorf("%w: tile %v: places are counted up to zoom %d", ErrQuery, t, rollupZoom)
	}
	row := f.rows.Get().(*cellstore.Row)
	defer f.rows.Put(row)
	if _, err := f.getRollup(ctx, t, selectCounts, row); err != nil {
		return err
	}
	for i := range row.Cells {
		c := &row.Cells[i]
		if len(c.Value) != 8 {
			return corrupt(tableRollup, row.Key, "has another layout")
		}
		fn(string(c.Qualifier), int64(binary.BigEndian.Uint64(c.Value)))
	}
	return nil
}

// getRollup reads one family of a tile's rollup; a tile without places has no
// row, and false is returned.
func (f *Finder) getRollup(ctx context.Context, t quadkey.Tile, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	key := t.Key()
	found, err := f.rollup.Get(ctx, key[:], sel, row)
	if err != nil {
		return false, fmt.Errorf("places: %w", err)
	}
	return found, nil
}

func checkTile(t quadkey.Tile) error {
	if !t.Valid() {
		return fmt.Errorf("%w: tile %v: there is none with this number", ErrQuery, t)
	}
	return nil
}
