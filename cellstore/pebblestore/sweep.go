package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"time"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
)

// A sweep removes the cells that MaxVersions and TTL hide. Without any lock it searches for rows
// that have such cells. Then it reads those rows again under their locks, and removes the cells
// that are hidden by then.

const (
	sweepCells = 8192 // looked at in one step
	sweepRows  = 64   // cleaned in one step
	sweepBatch = 4096 // cells removed in one commit
	sweepRun   = 32   // cells of a column removed one by one, the rest together
)

// sweepAll sweeps the table once. With leisure it pauses after each step for as long as the step
// took.
func (t *table) sweepAll(ctx context.Context, leisure bool) error {
	found := t.upkeep.garbage.Load()
	lay := t.lay.Load()
	for f := range lay.fams {
		fam := &lay.fams[f]
		if fam.maxVersions == allVersions && fam.ttl == 0 {
			continue
		}
		for from := fam.lower; from != nil; {
			if err := ctx.Err(); err != nil {
				return err
			}
			start := time.Now()
			var err error
			if from, err = t.sweepStep(ctx, lay, fam, from); err != nil {
				return err
			}
			if leisure {
				rest(ctx, time.Since(start))
			}
		}
	}
	t.upkeep.garbage.Add(-found)
	t.setThreshold()
	return nil
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// sweepStep looks through cells of a family from a key on, cleans the rows that need it, and
// returns the key from which to continue, or nil at the end.
func (t *table) sweepStep(ctx context.Context, lay *layout, fam *family, from []byte) ([]byte, error) {
	// The gate is held for reading until the end: an alteration in between could make the removed
	// cells visible.
	current, err := t.beginSweep(ctx)
	if err != nil {
		return nil, err
	}
	defer t.gate.RUnlock()
	if current != lay {
		return nil, nil // the table was altered: the next sweep is for the new declaration
	}
	rows, next, err := t.findGarbage(ctx, fam, from)
	if err != nil || len(rows) == 0 {
		return next, err
	}
	return next, t.clean(lay, fam, rows)
}

// beginSweep does the same as beginWrite, for background work. It does not check whether the store
// is closing, because Close cancels ctx.
func (t *table) beginSweep(ctx context.Context) (*layout, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.gate.RLock()
	if err := cmp.Or(t.disk.failure(), t.upkeep.trouble()); err != nil {
		t.gate.RUnlock()
		return nil, err
	}
	return t.lay.Load(), nil
}

// findGarbage returns rows of a family that have hidden cells.
func (t *table) findGarbage(ctx context.Context, fam *family, from []byte) (rows [][]byte, next []byte, err error) {
	it, err := t.db.NewIter(&pebble.IterOptions{LowerBound: fam.lower, UpperBound: fam.upper})
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		t.retired.add(iteratorStats(it))
		err = errors.Join(err, it.Close())
	}()
	expiry := t.removable(fam, t.clock())
	var col []byte // the key up to the timestamp; the row's key is a prefix of it
	var prefix, newer int
	valid := it.SeekGE(from)
	for cells := 1; valid; cells++ {
		k := it.Key()
		n := splitKey(k)
		if n < 2 {
			return nil, nil, cellstore.ErrCorrupt
		}
		q, inverted := splitSuffix(k[n:])
		if column := k[:n+len(q)]; newer == 0 || n != prefix || !bytes.Equal(column, col) {
			newer, prefix, col = 0, n, append(col[:0], column...)
			if cells >= sweepCells || len(rows) >= sweepRows {
				return rows, bytes.Clone(k), nil
			}
		}
		if cells%sweepCells == 0 && ctx.Err() != nil {
			return nil, nil, ctx.Err()
		}
		if fam.hides(newer, int64(^inverted), expiry) {
			rows = append(rows, bytes.Clone(k[1:n-1]))
			newer = 0
			valid = it.NextPrefix()
			continue
		}
		newer++
		valid = it.Next()
	}
	return rows, nil, nil
}

// clean removes the hidden cells of rows of a family.
func (t *table) clean(lay *layout, fam *family, rows [][]byte) (err error) {
	var locks lockSet
	for _, row := range rows {
		locks.add(row)
	}
	t.rows.lock(&locks)
	defer t.rows.unlock(&locks)
	w := t.writer(lay, false)
	defer w.drop()
	for _, row := range rows {
		if err := w.cleanRow(fam, row); err != nil {
			return err
		}
	}
	return w.flush()
}

// flush commits the batch and begins another. The iterator stays valid, because no other writer
// changes its rows while they are locked.
func (w *writer) flush() error {
	if w.b.Empty() {
		return nil
	}
	t := w.t
	err := t.change(func() error { return t.db.Apply(w.b, pebble.NoSync) })
	t.upkeep.wrote(0, cellstore.Async)
	err = errors.Join(err, w.b.Close())
	if err = cmp.Or(t.disk.failure(), err); err != nil {
		w.b = nil
		return err
	}
	w.fresh()
	return nil
}

func (w *writer) cleanRow(fam *family, row []byte) error {
	expiry := w.t.removable(fam, w.now)
	c, err := w.placeRow(fam, row)
	for started, newer, run := false, 0, 0; err == nil && c.ok(); newer++ {
		if !started || !bytes.Equal(c.q, w.col) {
			started, newer, run = true, 0, 0
			w.col = append(w.col[:0], c.q...)
		}
		if fam.hides(newer, c.ts, expiry) {
			if run++; run > sweepRun {
				if c, err = w.removeRest(fam, row, &c); err != nil {
					return err
				}
				continue
			}
			err = w.b.Delete(c.key, nil)
		}
		if err == nil && w.b.Count() >= sweepBatch {
			err = w.flush()
		}
		if err == nil {
			err = c.next()
		}
	}
	return err
}

// removeRest removes the current cell of the walk and all older cells of its column, which is
// w.col. It returns a walk that continues with the next column.
func (w *writer) removeRest(fam *family, row []byte, c *walk) (walk, error) {
	w.key = append(w.key[:0], c.key...)
	w.seek = append(append(appendPrefix(w.seek[:0], fam.byte, row), w.col...), 0)
	w.seek = appendTail(w.seek, len(w.col)+1, newestFirst)
	if err := w.b.DeleteRange(w.key, w.seek, nil); err != nil {
		return walk{}, err
	}
	return w.placeKey(w.seek)
}
