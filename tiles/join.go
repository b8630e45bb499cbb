package tiles

import (
	"context"
	"math"

	"quadrille/cellstore"
	"quadrille/quadkey"
)

// tables are the tables of one data set.
type tables struct {
	bounds, regions cellstore.Table
	extent          [4]float64 // of all types: west, south, east, north in degrees
	some            bool       // extent is set
	joined          bool       // joined with the tables of another data set
}

// add extends the extent by the extent of a type.
func (d *tables) add(t *TypeMeta) {
	b := t.Bounds
	if b == [4]float64{} { // not known
		b = [4]float64{-180, -90, 180, 90}
	}
	if d.some {
		e := d.extent
		b = [4]float64{min(b[0], e[0]), min(b[1], e[1]), max(b[2], e[2]), max(b[3], e[3])}
	}
	d.extent, d.some = b, true
}

// apart reports whether the tables certainly have nothing in a tile. A drawn region reaches at most
// the tile's width beyond its bounds. For a single data set the check is not worth its cost,
// because most tiles have content.
func (d *tables) apart(t quadkey.Tile) bool {
	if !d.joined {
		return false
	}
	_, apart := compareBounds(t.Bound(), d.extent, 360/math.Exp2(float64(t.Z)))
	return apart
}

// Join returns a reader that combines several data sets. It has the types of all of them, in the
// order of the data sets. If several have a type with the same name, the first one is read. The
// given readers stay usable and share their answers in memory with the new one.
func Join(readers ...*Reader) *Reader {
	var types []*readerType
	known := map[string]bool{}
	joined := map[*tables]*tables{}
	for _, r := range readers {
		for _, rt := range r.order {
			if known[rt.Name] {
				continue
			}
			known[rt.Name] = true
			own := joined[rt.tables]
			if own == nil {
				copied := *rt.tables
				copied.joined = true
				own = &copied
				joined[rt.tables] = own
			}
			copied := *rt
			copied.tables = own
			types = append(types, &copied)
		}
	}
	return newReader(types)
}

// sameTables returns the end of the run of types that begins at from and has the same tables. Types
// in the same tables follow each other.
func sameTables(types []*readerType, from int) (to int) {
	for to = from + 1; to < len(types) && types[to].tables == types[from].tables; to++ {
	}
	return to
}

// nextEach reads, for each type, the row of its family at or after a key, with one seek each. Types
// that certainly have nothing in tile t get empty rows.
func nextEach(ctx context.Context, t quadkey.Tile, types []*readerType, key []byte, families []string, rows []cellstore.Row) error {
	var to int
	for from := 0; from < len(types); from = to {
		to = sameTables(types, from)
		if types[from].apart(t) {
			for i := from; i < to; i++ {
				rows[i].Reset()
			}
			continue
		}
		if err := types[from].bounds.NextEach(ctx, key, nil, families[from:to], rows[from:to]); err != nil {
			return err
		}
	}
	return nil
}
