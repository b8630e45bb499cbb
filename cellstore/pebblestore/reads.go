package pebblestore

import (
	"bytes"
	"context"
	"fmt"

	"quadrille/cellstore"
)

// begin starts a read: it returns an idle reader with the selection compiled into it.
func (t *source) begin(ctx context.Context, sel *cellstore.Selection) (*reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r, err := t.acquire()
	if err != nil {
		return nil, err
	}
	if err := r.view.compile(r.lay, t.clock, sel); err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}

// settle gives the reader back, and returns the result of a call that fills a row.
func (t *source) settle(r *reader, op string, key []byte, row *cellstore.Row, err error) (bool, error) {
	if err != nil {
		r.broken(err)
		r.release()
		row.Reset()
		return false, fail(op, t.name, key, err)
	}
	r.release()
	if len(row.Cells) == 0 {
		row.Reset()
		return false, nil
	}
	return true, nil
}

// Get implements cellstore.Reader.
func (t *source) Get(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	row.Reset()
	if err := checkRow(key); err != nil {
		return false, fail("Get", t.name, nil, err)
	}
	r, err := t.begin(ctx, sel)
	if err != nil {
		return false, fail("Get", t.name, key, err)
	}
	return t.settle(r, "Get", key, row, r.get(key, row))
}

// Next implements cellstore.Reader.
func (t *source) Next(ctx context.Context, from, to []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	row.Reset()
	r, err := t.begin(ctx, sel)
	if err != nil {
		return false, fail("Next", t.name, from, err)
	}
	err = r.seek(from)
	if err == nil {
		err = r.next(ctx, to, row)
	}
	return t.settle(r, "Next", from, row, err)
}

// Prev implements cellstore.Reader.
func (t *source) Prev(ctx context.Context, from, downTo []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	row.Reset()
	r, err := t.begin(ctx, sel)
	if err != nil {
		return false, fail("Prev", t.name, from, err)
	}
	err = r.seekBack(from)
	if err == nil {
		err = r.prev(ctx, downTo, false, row)
	}
	return t.settle(r, "Prev", from, row, err)
}

// NextEach implements cellstore.Reader.
func (t *source) NextEach(ctx context.Context, from, to []byte, families []string, rows []cellstore.Row) error {
	for i := range rows {
		rows[i].Reset()
	}
	if err := t.nextEach(ctx, from, to, families, rows); err != nil {
		for i := range rows {
			rows[i].Reset()
		}
		return fail("NextEach", t.name, from, err)
	}
	return nil
}

func (t *source) nextEach(ctx context.Context, from, to []byte, families []string, rows []cellstore.Row) error {
	if len(rows) < len(families) {
		return fmt.Errorf("%d families need as many rows, not %d", len(families), len(rows))
	}
	r, err := t.begin(ctx, nil)
	if err != nil {
		return err
	}
	defer r.release()
	for _, name := range families {
		if _, err := r.lay.family(name); err != nil {
			return err
		}
	}
	for i, name := range families {
		f, _ := r.lay.family(name)
		r.view.only(f, true)
		err := r.seek(from)
		if err == nil {
			err = r.next(ctx, to, &rows[i])
		}
		if err != nil {
			r.broken(err)
			return err
		}
	}
	return nil
}

// before reports whether a row lies before the end of a range. An empty end means the end of the
// table.
func before(row, end []byte) bool { return len(end) == 0 || bytes.Compare(row, end) < 0 }
