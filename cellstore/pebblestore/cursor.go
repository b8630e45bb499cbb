package pebblestore

import (
	"bytes"
	"context"
	"fmt"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
)

// cursor is an iterator over the rows of one family.
type cursor struct {
	it   *pebble.Iterator
	fam  *family
	view *view
	sel  *selected

	exact bool // placed by SeekPrefixGE: sees the cells of one row only

	// This is the position of the iterator: its key, and the length of the key's prefix. The length
	// is 0 if the iterator has no position.
	at []byte
	n  int

	row    []byte // the key of the row being read
	col    []byte // the qualifier of the column being read
	colBuf []byte
	key    []byte // of seeks
}

// nearby is the number of steps that are tried before a seek. A step costs
// about a tenth of a seek.
const nearby = 6

// moved records the iterator's position after a move.
func (c *cursor) moved(ok bool) error {
	if !ok {
		c.n = 0
		return c.it.Error()
	}
	c.at = c.it.Key()
	c.n = splitKey(c.at)
	return c.checked()
}

// checked returns an error for a key that no cell can have, because such a key is damage.
func (c *cursor) checked() error {
	if c.n < 2 {
		return fmt.Errorf("%w: key %x is not a cell's", cellstore.ErrCorrupt, c.at)
	}
	return nil
}

func (c *cursor) ok() bool { return c.n > 0 }

// rowKey returns the row at the iterator.
func (c *cursor) rowKey() []byte { return c.at[1 : c.n-1] }

// inRow reports whether the iterator is in the row that is being read.
func (c *cursor) inRow() bool {
	return c.n > 0 && (c.exact || bytes.Equal(c.rowKey(), c.row))
}

// qualifier returns the column at the iterator.
func (c *cursor) qualifier() []byte {
	q, _ := splitSuffix(c.at[c.n:])
	return q
}

// seekTo moves forward to a version of a column of the row being read.
func (c *cursor) seekTo(qualifier []byte, inverted uint64) error {
	c.key = appendPrefix(c.key[:0], c.fam.byte, c.row)
	c.key = appendSuffix(c.key, qualifier, inverted)
	return c.seekKey()
}

func (c *cursor) seekKey() error {
	if c.exact {
		return c.moved(c.it.SeekPrefixGE(c.key))
	}
	return c.moved(c.it.SeekGE(c.key))
}

// get reads the row with this key.
func (c *cursor) get(key []byte, row *cellstore.Row) error {
	c.exact, c.row = true, key
	var err error
	if c.sel.plain {
		c.key = appendPrefix(c.key[:0], c.fam.byte, key)
		err = c.seekKey()
	} else {
		err = c.seekTo(c.sel.start(c.view, c.fam))
	}
	if err != nil || !c.ok() {
		return err
	}
	if c.view.newest && !c.sel.whole && len(c.sel.cols) == 1 {
		return c.readColumn(row)
	}
	return c.read(row)
}

// readColumn does the same as read, for the newest version of one column. If the column exists, the
// seek has led to it.
func (c *cursor) readColumn(row *cellstore.Row) error {
	q, inverted := splitSuffix(c.at[c.n:])
	if !bytes.Equal(q, c.sel.cols[0]) {
		return nil
	}
	v, err := c.it.ValueAndErr()
	if err != nil {
		return err
	}
	if row.Key == nil {
		row.SetKey(c.row)
	}
	row.AppendCell(c.fam.name, q, int64(^inverted), v)
	return nil
}

// next reads the first row before to that has a selected visible cell, from the position of the
// cursor on.
func (c *cursor) next(ctx context.Context, to []byte, row *cellstore.Row) error {
	for c.n > 0 && before(c.rowKey(), to) {
		if err := c.read(row); err != nil || len(row.Cells) > 0 {
			return err
		}
		row.Reset()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	return nil
}

// read appends the selected visible cells of the row at the iterator. It moves the iterator past
// the row, or to any place within the row if the cursor is exact. It sets the key of row even if
// there are no such cells.
func (c *cursor) read(row *cellstore.Row) error {
	s := c.sel
	if s.plain && c.view.newest {
		c.row = row.Key
		return c.readNewest(row)
	}
	if row.Key == nil {
		row.SetKey(c.rowKey())
	}
	c.row = row.Key
	s.begin()
	expired := c.view.expired(c.fam)
	started := false // on a column
	var seen, taken int
	for {
		q, inverted := splitSuffix(c.at[c.n:])
		ts := int64(^inverted)
		if !started || !bytes.Equal(q, c.col) {
			started = true
			seen, taken = 0, 0
			c.col = q // until the next move
			if !s.plain {
				want, target, more := s.want(c.view, q)
				if !more {
					return c.leaveRow()
				}
				if !want {
					started = false
					if in, err := c.approach(target); !in {
						return err
					}
					continue
				}
			}
		}
		seen++
		var in bool // still in the row
		var err error
		switch {
		case seen > c.fam.maxVersions, ts < expired && seen > c.fam.minVersions, ts < c.view.min:
			// No older version of this column is visible or in the range.
			in, err = c.skipColumn()
		case ts >= c.view.max:
			in, err = c.skipNewer(seen)
		case taken == 0 && !s.plain && !s.admit(c.view):
			in, err = c.skipColumn()
		default:
			var v []byte
			if v, err = c.it.ValueAndErr(); err != nil {
				return err
			}
			row.AppendCell(c.fam.name, q, ts, v)
			c.col = row.Cells[len(row.Cells)-1].Qualifier // stays valid
			if taken++; taken < c.view.versions {
				in, err = c.step()
			} else if !s.plain && s.complete(c.view) {
				return c.leaveRow()
			} else {
				in, err = c.pastColumn()
			}
		}
		if !in {
			return err
		}
	}
}

// readNewest does the same as read, for the newest version of every column, if time hides none of
// them. The row may already have its key from another family.
func (c *cursor) readNewest(row *cellstore.Row) error {
	it, family, rowKey := c.it, c.fam.name, row.Key
	k, n := c.at, c.n
	for {
		v, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		q, inverted := splitSuffix(k[n:])
		var copied []byte // qualifier and value
		if rowKey != nil {
			copied = row.CopyPair(q, v)
		} else {
			copied = row.CopyPair(k[:n+len(q)], v)
			rowKey = copied[1 : n-1 : n-1]
			row.Key, c.row = rowKey, rowKey
			copied = copied[n:]
		}
		cell := row.AppendBlankCell()
		cell.Family, cell.Timestamp = family, int64(^inverted)
		col := copied[:len(q):len(q)]
		cell.Qualifier, cell.Value = col, copied[len(q):]
		for steps := 0; ; steps++ {
			if !it.Next() {
				c.n = 0
				return it.Error()
			}
			k = it.Key()
			n = splitKey(k)
			if !c.exact && (n != len(rowKey)+2 || string(k[1:n-1]) != string(rowKey)) {
				c.at, c.n = k, n
				return c.checked()
			}
			if q, _ := splitSuffix(k[n:]); string(q) != string(col) {
				break
			}
			if steps == nearby {
				c.at, c.n, c.row, c.col = k, n, rowKey, col
				if in, err := c.pastColumn(); !in {
					return err
				}
				k, n = c.at, c.n
				break
			}
		}
	}
}

// step moves to the next cell and reports whether it is in the row.
func (c *cursor) step() (in bool, err error) {
	err = c.moved(c.it.Next())
	return err == nil && c.inRow(), err
}

// keepColumn copies c.col, so that it stays valid after a move.
func (c *cursor) keepColumn() {
	c.colBuf = append(c.colBuf[:0], c.col...)
	c.col = c.colBuf
}

// skipColumn moves to the next column, or out of the row.
func (c *cursor) skipColumn() (in bool, err error) {
	c.keepColumn()
	return c.pastColumn()
}

// pastColumn does the same as skipColumn, if c.col stays valid.
func (c *cursor) pastColumn() (in bool, err error) {
	for range nearby {
		if in, err := c.step(); !in || !bytes.Equal(c.qualifier(), c.col) {
			return in, err
		}
	}
	// The next qualifier after q is q+0x00.
	c.key = appendPrefix(c.key[:0], c.fam.byte, c.row)
	c.key = append(append(c.key, c.col...), 0)
	c.key = appendTail(c.key, len(c.col)+1, newestFirst)
	err = c.seekKey()
	return err == nil && c.inRow(), err
}

// skipNewer moves from a version above the time range to the next older one. If
// versions are not counted, it may go straight to the range.
func (c *cursor) skipNewer(seen int) (in bool, err error) {
	c.keepColumn()
	if seen > nearby && c.fam.uncounted() {
		err = c.seekTo(c.col, invert(c.view.max-1))
		return err == nil && c.inRow(), err
	}
	return c.step()
}

// approach moves the cursor to the first column at or after target.
func (c *cursor) approach(target []byte) (in bool, err error) {
	for range nearby {
		if in, err := c.step(); !in || bytes.Compare(c.qualifier(), target) >= 0 {
			return in, err
		}
	}
	err = c.seekTo(clipTo(target, cellstore.DefaultLimits.QualifierBytes), newestFirst)
	return err == nil && c.inRow(), err
}

// leaveRow moves the cursor to the next row.
func (c *cursor) leaveRow() error {
	if c.exact {
		return nil
	}
	return c.moved(c.it.NextPrefix())
}

// readBack reads the row whose last cell is at the iterator, and moves to the last cell of the row
// before.
func (c *cursor) readBack(row *cellstore.Row) error {
	c.key = append(c.key[:0], c.at[:c.n]...)
	if err := c.seekKey(); err != nil {
		return err
	}
	if err := c.read(row); err != nil {
		return err
	}
	c.key = appendPrefix(c.key[:0], c.fam.byte, c.row)
	return c.moved(c.it.SeekLT(c.key))
}
