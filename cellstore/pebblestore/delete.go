package pebblestore

import (
	"bytes"
	"fmt"

	"quadrille/cellstore"
)

// Under the row's lock, a delete finds the cells that it removes and removes
// exactly these. It therefore does not affect puts that come after it.
//
// Versions over MaxVersions and expired ones may still be stored. They are the
// oldest of their column, so a delete up to a timestamp leaves none of them
// visible. A delete of single versions could make them visible again, so it
// removes them as well.

// wide is the number of cells that a delete of everything removes one by one. The rest of the range
// is removed at once.
const wide = 1000

// remove deletes the cell at the walk's position.
func (w *writer) remove(c *walk) error {
	if err := w.room(len(c.key) + cellOverhead); err != nil {
		return err
	}
	return w.b.Delete(c.key, nil)
}

// deleteNewest removes the newest visible version of a column.
func (w *writer) deleteNewest(fam *family, row, qualifier []byte) error {
	c, err := w.place(fam, row, qualifier, newestFirst)
	if err != nil || !c.in(qualifier) || fam.hides(0, c.ts, fam.expiry(w.now)) {
		return err
	}
	return w.deleteFrom(fam, &c, qualifier, c.ts)
}

// deleteVersion removes version ts of a column.
func (w *writer) deleteVersion(fam *family, row, qualifier []byte, ts int64) error {
	from := uint64(newestFirst)
	if fam.uncounted() { // newer versions hide no older ones
		from = invert(ts)
	}
	c, err := w.place(fam, row, qualifier, from)
	if err != nil {
		return err
	}
	return w.deleteFrom(fam, &c, qualifier, ts)
}

// deleteFrom removes version ts of the column whose first cell is at the position of the walk. If
// that version was visible, it also removes all hidden ones.
func (w *writer) deleteFrom(fam *family, c *walk, qualifier []byte, ts int64) error {
	expiry := fam.expiry(w.now)
	found := false
	for newer := 0; c.in(qualifier); newer++ {
		switch {
		case c.ts == ts:
			if err := w.remove(c); err != nil {
				return err
			}
			if fam.uncounted() {
				return nil
			}
			found = true
		case c.ts > ts: // newer than the version to delete
		case !found:
			return nil
		case fam.hides(newer, c.ts, expiry):
			if err := w.remove(c); err != nil {
				return err
			}
		}
		if err := c.next(); err != nil {
			return err
		}
	}
	return nil
}

// deleteColumn removes the versions of a column up to a timestamp.
func (w *writer) deleteColumn(fam *family, row, qualifier []byte, upTo int64) error {
	c, err := w.place(fam, row, qualifier, invert(upTo))
	for n := 0; err == nil && c.in(qualifier); n++ {
		if n == wide {
			// The bound is the cell after the column's last possible one.
			w.key = append(w.key[:0], c.key...)
			w.seek = append(append(appendPrefix(w.seek[:0], fam.byte, row), qualifier...), 0)
			w.seek = appendTail(w.seek, len(qualifier)+1, newestFirst)
			return w.b.DeleteRange(w.key, w.seek, nil)
		}
		if err = w.remove(&c); err == nil {
			err = c.next()
		}
	}
	return err
}

// deleteFamily removes the versions of all columns of a family's row up to a
// timestamp.
func (w *writer) deleteFamily(fam *family, row []byte, upTo int64) error {
	c, err := w.placeRow(fam, row)
	for n := 0; err == nil && c.ok(); n++ {
		if n == wide && upTo == cellstore.AllVersions {
			w.key = append(w.key[:0], c.key...)
			return w.b.DeleteRange(w.key, append(appendPrefix(w.seek[:0], fam.byte, row), 0), nil)
		}
		if c.ts <= upTo {
			err = w.remove(&c)
		}
		if err == nil {
			err = c.next()
		}
	}
	return err
}

// deleteFamilyVersion removes version ts of all columns of a family's row. In
// columns where that version was visible, it also removes all hidden versions.
func (w *writer) deleteFamilyVersion(fam *family, row []byte, ts int64) error {
	expiry := fam.expiry(w.now)
	started, found := false, false
	newer := 0
	c, err := w.placeRow(fam, row)
	for ; err == nil && c.ok(); newer++ {
		if !started || !bytes.Equal(c.q, w.col) {
			started, found, newer = true, false, 0
			w.col = append(w.col[:0], c.q...)
		}
		if c.ts == ts || found && fam.hides(newer, c.ts, expiry) {
			found = true
			err = w.remove(&c)
		}
		if err == nil {
			err = c.next()
		}
	}
	if err != nil {
		return fmt.Errorf("version %d: %w", ts, err)
	}
	return nil
}
