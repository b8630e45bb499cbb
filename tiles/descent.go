package tiles

import (
	"bytes"
	"context"
	"errors"

	"quadrille/cellstore"
	"quadrille/quadkey"
	"quadrille/tiles/internal/layout"
)

// descent walks down the vector rows of one region type and skips empty
// subtrees. A subtree is a run of keys, so one seek tells whether it is empty.
// The descent counts its seeks and stops at a limit.
type descent struct {
	rt      *readerType
	ctx     context.Context
	s       *scratch
	family  [1]string
	rows    [1]cellstore.Row // the row at or after from
	from    quadkey.Key
	valid   bool // rows and from are set
	seeks   int
	maximum int // seeks; 0 for no limit
}

// errTooManyRows ends a descent that reached its limit of seeks.
var errTooManyRows = errors.New("too many rows for one answer")

func descend(ctx context.Context, s *scratch, rt *readerType, maximum int) *descent {
	return &descent{rt: rt, ctx: ctx, s: s, family: [1]string{rt.mvt}, maximum: maximum}
}

// seek sets rows[0] to the first row at or after a key. It reads nothing if the current row is
// already that row.
func (d *descent) seek(from quadkey.Key) error {
	row := &d.rows[0]
	if d.valid && bytes.Compare(from[:], d.from[:]) >= 0 &&
		(row.Empty() || bytes.Compare(from[:], row.Key) <= 0) {
		return nil
	}
	if d.maximum > 0 && d.seeks >= d.maximum {
		return errTooManyRows
	}
	d.seeks++
	d.valid = false
	if err := d.rt.bounds.NextEach(d.ctx, from[:], layout.NorthCap.Key, d.family[:], d.rows[:]); err != nil {
		return err
	}
	d.from, d.valid = from, true
	return nil
}

// presence classifies what a type has in a tile.
type presence uint8

const (
	foundNothing presence = iota // nothing in the tile, at the depth asked for
	foundLeaf                    // the tile lies in a leaf: value is its layer
	foundRow                     // the tile's own row: value is its layer
	foundBelow                   // only rows below the tile
)

// probe classifies the content of tile t down to the given zoom. The value is valid until the next
// call.
func (d *descent) probe(t quadkey.Tile, zoom int) (presence, []byte, error) {
	first, last := t.KeyRange()
	if err := d.seek(first); err != nil {
		return foundNothing, nil, err
	}
	row := &d.rows[0]
	if row.Empty() {
		return foundNothing, nil, nil
	}
	if c := bytes.Compare(row.Key, last[:]); c < 0 && int(t.Z) < zoom {
		return foundBelow, nil, nil
	} else if c < 0 {
		// The rows below a row of the requested zoom sort before it, so the requested row comes
		// last.
		if err := d.seek(last); err != nil {
			return foundNothing, nil, err
		}
	}
	if row.Empty() {
		return foundNothing, nil, nil
	}
	mark, value, err := splitMark(row.Cells[0].Value)
	if err != nil {
		return foundNothing, nil, err
	}
	own := bytes.Equal(row.Key, last[:])
	switch {
	case mark == layout.MarkLeaf && (own || rowHolds(row.Key, t)):
		return foundLeaf, value, nil
	case own && int(t.Z) == zoom:
		return foundRow, value, nil
	}
	// This is the row of another tile, or a coarse one with nothing below it.
	return foundNothing, nil, nil
}

func rowHolds(key []byte, t quadkey.Tile) bool {
	above, ok := layout.RowTile(key)
	return ok && above.Contains(t)
}

// walk calls fn in key order for the leaves below t and the rows of the given zoom, within the
// tiles that want accepts. For a leaf it passes the largest accepted tile inside it.
func (d *descent) walk(t quadkey.Tile, zoom int, want func(quadkey.Tile) bool,
	fn func(t quadkey.Tile, leaf bool, value []byte) error) error {
	if !want(t) {
		return nil
	}
	kind, value, err := d.probe(t, zoom)
	switch {
	case err != nil:
		return err
	case kind == foundLeaf || kind == foundRow:
		return fn(t, kind == foundLeaf, value)
	case kind == foundBelow:
		for _, c := range t.Children() {
			if err := d.walk(c, zoom, want, fn); err != nil {
				return err
			}
		}
	}
	return nil
}

// polar reads the row of a polar cap. It returns nil if there is none.
func (d *descent) polar(c *layout.PolarCap) ([]byte, error) {
	if d.maximum > 0 && d.seeks >= d.maximum {
		return nil, errTooManyRows
	}
	d.seeks++
	d.valid = false
	sel := cellstore.Selection{Families: d.family[:]}
	ok, err := d.rt.bounds.Get(d.ctx, c.Key, &sel, &d.rows[0])
	if err != nil || !ok {
		return nil, err
	}
	_, value, err := splitMark(d.rows[0].Cells[0].Value)
	return value, err
}
