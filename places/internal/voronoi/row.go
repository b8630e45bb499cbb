package voronoi

import (
	"bytes"
	"context"
	"encoding/binary"

	"quadrille/cellstore"
	"quadrille/places/internal/bulkload"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// Layout is the layout of a table of leaves.
type Layout struct {
	Table, Family string
	ID            int // length of an id in bytes; ids are compared as bytes
	Note          int // length of a note in bytes: 1 or 2
}

// Schema returns the declaration of the table in a store, where it may have another name.
func (l *Layout) Schema(name string) cellstore.Schema {
	// The table is read by seeks, never by get, so a filter would only cost.
	return cellstore.Schema{Table: name, Families: []cellstore.Family{{Name: l.Family, Bloom: cellstore.BloomNone}}}
}

// candidateSize is the length of a position in a row.
func (l *Layout) candidateSize() int { return l.ID + 4 + 4 + l.Note }

// Counts describes a table of leaves.
type Counts struct {
	// Positions is the number of distinct positions.
	Positions int64 `json:"positions"`
	// Leaves counts the leaves, and Listed the positions in all of them.
	Leaves int64 `json:"leaves"`
	Listed int64 `json:"listed"`
	// Unlisted is the number of leaves that list nothing.
	Unlisted int64 `json:"unlisted,omitempty"`
}

// Write divides the world among sites and writes the leaves. appendID appends the id of a site, of
// the length in the layout. each, if not nil, gets the leaves with their values, and must not
// keep these.
func (l *Layout) Write(ctx context.Context, to *bulkload.Load, d *Division, timestamp int64,
	appendID func(dst []byte, s *Site) []byte, each func(t quadkey.Tile, value []byte, listed []Site) error) (c Counts, err error) {
	var value []byte
	d.Emit = func(t quadkey.Tile, listed []Site) error {
		key := t.Key()
		value = value[:0]
		for i := range listed {
			value = l.append(value, &listed[i], appendID)
		}
		c.Leaves++
		c.Listed += int64(len(listed))
		if len(listed) == 0 {
			c.Unlisted++
		}
		if each != nil {
			if err := each(t, value, listed); err != nil {
				return err
			}
		}
		return to.Add(key[:], cellstore.Cell{Family: l.Family, Timestamp: timestamp, Value: value})
	}
	err = d.Run(ctx)
	c.Positions = int64(d.Sites.Len())
	return c, err
}

func (l *Layout) append(dst []byte, s *Site, appendID func(dst []byte, s *Site) []byte) []byte {
	dst = appendID(dst, s)
	dst = binary.BigEndian.AppendUint32(dst, uint32(s.Lat))
	dst = binary.BigEndian.AppendUint32(dst, uint32(s.Lon))
	if l.Note == 1 {
		return append(dst, byte(s.Note))
	}
	return binary.BigEndian.AppendUint16(dst, s.Note)
}

// Candidate is a position that a leaf lists. Its ID is of the row.
type Candidate struct {
	ID []byte
	Position
	Note int
}

// parse reads the candidate at the beginning of a value.
func (l *Layout) parse(value []byte) (c Candidate) {
	at := value[l.ID:l.candidateSize()]
	c.ID = value[:l.ID:l.ID]
	c.Lat, c.Lon = int32(binary.BigEndian.Uint32(at)), int32(binary.BigEndian.Uint32(at[4:]))
	for _, b := range at[8:] {
		c.Note = c.Note<<8 | int(b)
	}
	return c
}

// Table is an open table of leaves, which does not change. Any number of goroutines may use it.
type Table struct {
	layout *Layout
	rows   cellstore.Table
	number uint32 // tells it from every other open table
	zooms  zoomsAround
}

// Open binds a layout to a table of leaves.
func (l *Layout) Open(rows cellstore.Table) *Table {
	return &Table{layout: l, rows: rows, number: opened.Add(1)}
}

// Lookup is the memory and the answer of one call of Nearest. Its zero value is ready for use, with one
// table. The leaf stays in memory for the next call, because points are often near each other.
type Lookup struct {
	// Candidate is the nearest position.
	Candidate
	DistanceM float64 // metres from the given point
	// Tile is the leaf of the point, and Candidates the number of positions that it lists. Without
	// any the leaf does not tell.
	Tile       quadkey.Tile
	Candidates int

	leaf *leaf // of Tile, or nil
	key  quadkey.Key
	row  cellstore.Row
	sel  cellstore.Selection
	fam  [1]string
}

// Nearest finds the position nearest to a point, in degrees, by quadkey.Distance. Of equally near
// ones it finds the one with the least id. It is exact everywhere: across ±180°, at the poles and
// beyond ±85.0511°. It reads one row at most, and none if the leaf is cached. It allocates nothing but
// cached leaves. found is false if the table is empty.
// Errors match quadkey.ErrCoordinate for an invalid point, or come from the store.
func (t *Table) Nearest(ctx context.Context, lat, lon float64, of *Lookup) (found bool, err error) {
	cell, err := quadkey.CellOf(lon, lat)
	if err != nil {
		return false, err
	}
	if at := cell.Tile(); of.leaf == nil || !of.Tile.Contains(at) {
		if of.leaf = t.cachedLeaf(at); of.leaf == nil {
			if of.leaf, err = t.read(ctx, cell, of); of.leaf == nil {
				return false, err
			}
		}
		of.Tile = of.leaf.tile
	}
	value, size := of.leaf.value, t.layout.candidateSize()
	of.Candidates = len(value) / size
	best := uint64(0)
	for i := range of.Candidates {
		c := t.layout.parse(value[i*size:])
		d := c.Distance(lon, lat)
		rank := near.DistanceRank(d)
		if i == 0 || rank < best || rank == best && string(c.ID) < string(of.ID) {
			best, of.Candidate, of.DistanceM = rank, c, d
		}
	}
	return true, nil
}

// read reads the leaf of a cell. It returns nil if the table is empty.
func (t *Table) read(ctx context.Context, cell quadkey.Cell, of *Lookup) (*leaf, error) {
	of.key = CellKey(cell)
	of.fam[0] = t.layout.Family
	of.sel.Families = of.fam[:]
	row := &of.row
	if found, err := t.rows.Next(ctx, of.key[:], nil, &of.sel, row); !found || err != nil {
		return nil, err
	}
	tile, err := quadkey.ParseKey(row.Key)
	if err != nil || len(row.Cells) != 1 || len(row.Cells[0].Value)%t.layout.candidateSize() != 0 || !tile.Contains(cell.Tile()) {
		return nil, cellstore.CorruptRow(t.layout.Table, row.Key, "has another layout")
	}
	l := &leaf{tile: tile, value: bytes.Clone(row.Cells[0].Value)}
	t.cacheLeaf(cell.Tile(), l)
	return l, nil
}

// CellKey returns the key for the seek to the leaf of a point in a cell.
func CellKey(c quadkey.Cell) quadkey.Key { return c.Tile().Key() }
