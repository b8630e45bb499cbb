package pebblestore

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"quadrille/cellstore"
)

// Scan implements cellstore.Reader. It shows the state of the table when the
// loop begins.
func (t *source) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	scan = scan.Clone()
	return func(yield func(*cellstore.Row, error) bool) { t.Each(ctx, &scan, yield) }
}

// Each implements cellstore.Each without a copy of the scan.
func (t *source) Each(ctx context.Context, scan *cellstore.Scan, yield func(*cellstore.Row, error) bool) {
	row := rows.Get().(*cellstore.Row)
	defer rows.Put(row)
	row.Reset() // its key is part of errors
	if err := t.scan(ctx, scan, row, yield); err != nil {
		yield(nil, fail("Scan", t.name, row.Key, err))
	}
}

// rows is a pool of rows for scans. A row of a scan is valid only within the loop.
var rows = sync.Pool{New: func() any { return new(cellstore.Row) }}

func (t *source) scan(ctx context.Context, scan *cellstore.Scan, row *cellstore.Row, yield func(*cellstore.Row, error) bool) error {
	if scan.Limit < 0 {
		return fmt.Errorf("%w: limit %d", cellstore.ErrBadRange, scan.Limit)
	}
	r, err := t.beginScan(ctx, scan)
	if err != nil {
		return err
	}
	// A panic or Goexit in the loop body must release the reader too. The lock is not held during
	// the body, so that Close need not wait.
	locked := true
	defer func() {
		if !locked {
			r.mu.Lock()
		}
		r.release()
	}()

	ranges := scan.Ranges
	if len(ranges) == 0 {
		ranges = []cellstore.Range{{}}
	}
	left := scan.Limit
	for i := range ranges {
		to, err := r.enter(&ranges[i], scan.Reverse)
		for err == nil {
			if err = ctx.Err(); err != nil {
				break
			}
			row.Reset()
			if scan.Reverse {
				err = r.prev(ctx, to, ranges[i].ToInclusive, row)
			} else {
				err = r.next(ctx, to, row)
			}
			if err != nil || len(row.Cells) == 0 {
				break
			}
			r.mu.Unlock()
			locked = false
			if !yield(row, nil) {
				return nil
			}
			r.mu.Lock()
			locked = true
			if r.dead {
				return t.ended()
			}
			if left--; left == 0 {
				return nil
			}
		}
		if err != nil {
			r.broken(err)
			return err
		}
	}
	return nil
}

// enter moves the cursors to the beginning of a range and returns the end to pass
// to next or prev.
func (r *reader) enter(rg *cellstore.Range, reverse bool) (to []byte, err error) {
	if reverse {
		return rg.To, r.seekBack(rg.From)
	}
	to = rg.To
	if rg.ToInclusive && len(to) > 0 {
		to = append(slices.Clip(to), 0) // the row that follows directly
	}
	if len(to) > 0 && bytes.Compare(rg.From, to) >= 0 {
		r.cur = r.cur[:0] // nothing to read
		return to, nil
	}
	return to, r.seek(rg.From)
}

// beginScan returns a reader for a scan. A scan with a time range gets its own
// iterators, which skip blocks outside that range.
func (t *source) beginScan(ctx context.Context, scan *cellstore.Scan) (*reader, error) {
	if _, _, timed := scan.Time.Bounds(); !timed {
		return t.begin(ctx, &scan.Selection)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	if t.over != nil {
		defer t.mu.Unlock()
		return nil, t.over
	}
	r := t.newReader()
	t.mu.Unlock()
	r.timed = true
	if err := r.view.compile(r.lay, t.clock, &scan.Selection); err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}
