package pebblestore

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"slices"

	"quadrille/cellstore"
)

// Scan implements cellstore.Table. It shows the state of the table when the
// loop begins.
func (t *table) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	scan = cloneScan(scan)
	return func(yield func(*cellstore.Row, error) bool) {
		row := new(cellstore.Row)
		if err := t.scan(ctx, &scan, row, yield); err != nil {
			yield(nil, fail("Scan", t.schema.Table, row.Key, err))
		}
	}
}

func (t *table) scan(ctx context.Context, scan *cellstore.Scan, row *cellstore.Row, yield func(*cellstore.Row, error) bool) error {
	if scan.Limit < 0 {
		return fmt.Errorf("%w: limit %d", cellstore.ErrBadRange, scan.Limit)
	}
	r, err := t.beginScan(ctx, scan)
	if err != nil {
		return err
	}
	// A panic or Goexit in the loop body must give the reader back too. While
	// the body runs nothing holds the lock, so that Close need not wait.
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
		walk := r.walk(&ranges[i], scan.Reverse)
		for {
			if err := ctx.Err(); err != nil {
				return err
			}
			row.Reset()
			if err := walk(ctx, row); err != nil {
				r.broken(err)
				return err
			}
			if len(row.Cells) == 0 {
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
				return cellstore.ErrClosed
			}
			if left--; left == 0 {
				return nil
			}
		}
	}
	return nil
}

// beginScan returns a reader for a scan. One with a time range gets iterators
// of its own that skip blocks by it.
func (t *table) beginScan(ctx context.Context, scan *cellstore.Scan) (*reader, error) {
	if _, _, timed := scan.Time.Bounds(); !timed {
		return t.begin(ctx, &scan.Selection)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	t.mu.Lock()
	if t.closed {
		t.mu.Unlock()
		return nil, cellstore.ErrClosed
	}
	r := t.newReader()
	t.mu.Unlock()
	r.timed = true
	if err := r.view.compile(t, &scan.Selection); err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}

// walk returns the function that reads the rows of a range one by one, and
// then leaves the row empty.
func (r *reader) walk(rg *cellstore.Range, reverse bool) func(context.Context, *cellstore.Row) error {
	started := false
	if reverse {
		return func(ctx context.Context, row *cellstore.Row) error {
			if !started {
				started = true
				if err := r.seekBack(rg.From); err != nil {
					return err
				}
			}
			return r.prev(ctx, rg.To, rg.ToInclusive, row)
		}
	}
	to := rg.To
	if rg.ToInclusive && len(to) > 0 {
		to = append(slices.Clip(to), 0) // the row that follows directly
	}
	return func(ctx context.Context, row *cellstore.Row) error {
		if !started {
			started = true
			if len(to) > 0 && bytes.Compare(rg.From, to) >= 0 {
				return nil
			}
			if err := r.seek(rg.From); err != nil {
				return err
			}
		}
		return r.next(ctx, to, row)
	}
}

// cloneScan copies what the caller may change before the loop runs.
func cloneScan(s cellstore.Scan) cellstore.Scan {
	s.Ranges = slices.Clone(s.Ranges)
	for i := range s.Ranges {
		r := &s.Ranges[i]
		r.From, r.To = bytes.Clone(r.From), bytes.Clone(r.To)
	}
	s.Families = slices.Clone(s.Families)
	s.Columns = slices.Clone(s.Columns)
	for i := range s.Columns {
		s.Columns[i].Qualifier = bytes.Clone(s.Columns[i].Qualifier)
	}
	f := &s.Filter
	f.Prefix, f.From, f.To = bytes.Clone(f.Prefix), bytes.Clone(f.From), bytes.Clone(f.To)
	return s
}
