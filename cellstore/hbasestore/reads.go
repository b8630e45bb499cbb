package hbasestore

import (
	"bytes"
	"context"
	"fmt"
	"iter"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
)

// maxRow bounds the length of keys, and of the ends of scans that are sent. HBase looks up the
// region of a row by the table's name and the row's key. Both together must fit into a row key.
const maxRow = 32_000

// after returns the smallest possible key greater than key, or nil if there is none.
func after(key []byte) []byte {
	if len(key) < maxRow {
		return append(bytes.Clone(key), 0)
	}
	return cellstore.PrefixEnd(key[:maxRow])
}

// bound changes an end of a range to one that HBase accepts: the smallest possible key that is not
// below key. none is set if there is no such key.
func bound(key []byte) (cut []byte, none bool) {
	if len(key) <= maxRow {
		return key, false
	}
	cut = cellstore.PrefixEnd(key[:maxRow])
	return cut, cut == nil
}

// Next implements cellstore.Reader.
func (t *Table) Next(ctx context.Context, from, to []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	row.Reset()
	v, end, err := t.begin(ctx)
	if err != nil {
		return false, t.fail("Next", from, err)
	}
	defer end()
	if err := v.Selection(sel); err != nil {
		return false, t.fail("Next", from, err)
	}
	found, err := t.first(ctx, newPlan(v, sel), from, to, row)
	if err != nil {
		return false, t.fail("Next", from, err)
	}
	return found, nil
}

// first fills row with the first row of a range.
func (t *Table) first(ctx context.Context, p *plan, from, to []byte, row *cellstore.Row) (bool, error) {
	w := walk{t: t, p: p, batch: 1, more: nextBatchRows}
	w.forward(cellstore.Range{From: from, To: to})
	return w.next(ctx, row)
}

// nextBatchRows is the number of rows fetched after a first row without a selected visible cell.
const nextBatchRows = 64

// Prev implements cellstore.Reader.
func (t *Table) Prev(ctx context.Context, from, downTo []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	row.Reset()
	v, end, err := t.begin(ctx)
	if err != nil {
		return false, t.fail("Prev", from, err)
	}
	defer end()
	if err := v.Selection(sel); err != nil {
		return false, t.fail("Prev", from, err)
	}
	w := walk{t: t, p: newPlan(v, sel), batch: 1, more: nextBatchRows}
	w.backward(cellstore.Range{From: from, To: downTo})
	found, err := w.next(ctx, row)
	if err != nil {
		return false, t.fail("Prev", from, err)
	}
	return found, nil
}

// NextEach implements cellstore.Reader: one scan per family, all at once, on
// connections of their own.
func (t *Table) NextEach(ctx context.Context, from, to []byte, families []string, rows []cellstore.Row) error {
	for i := range rows {
		rows[i].Reset()
	}
	v, end, err := t.begin(ctx)
	if err != nil {
		return t.fail("NextEach", from, err)
	}
	defer end()
	if len(rows) < len(families) {
		return t.fail("NextEach", from, fmt.Errorf("%d families need as many rows, not %d", len(families), len(rows)))
	}
	if err := v.Selection(&cellstore.Selection{Families: families}); err != nil {
		return t.fail("NextEach", from, err)
	}
	err = cellstore.Concurrently(ctx, len(families), func(ctx context.Context, i int) error {
		_, err := t.first(ctx, newPlan(v, &cellstore.Selection{Families: families[i : i+1]}), from, to, &rows[i])
		return err
	})
	if err != nil {
		for i := range rows {
			rows[i].Reset()
		}
		return t.fail("NextEach", from, err)
	}
	return nil
}

// MultiGet implements cellstore.Reader.
func (t *Table) MultiGet(ctx context.Context, keys [][]byte, sel *cellstore.Selection) iter.Seq2[*cellstore.Row, error] {
	keys, sel = cellstore.CloneKeys(keys), sel.Clone()
	return func(yield func(*cellstore.Row, error) bool) {
		keys := keys // the loop may be run again
		var row cellstore.Row
		for first := true; first || len(keys) > 0; first = false {
			batch := keys[:min(len(keys), multiGetRows)]
			p, rs, err := t.getAll(ctx, batch, keys, sel, first)
			if err != nil {
				yield(nil, t.fail("MultiGet", nil, err))
				return
			}
			keys = keys[len(batch):]
			for i := range batch {
				if _, end, err := t.begin(ctx); err != nil {
					yield(nil, t.fail("MultiGet", batch[i], err))
					return
				} else {
					end()
				}
				row.Reset()
				rs[i].Row = batch[i]
				if !p.fill(&rs[i], &row) {
					row.SetKey(batch[i])
				}
				if !yield(&row, nil) {
					return
				}
			}
		}
	}
}

// getAll reads a batch of rows. Before the first one all keys are checked.
func (t *Table) getAll(ctx context.Context, batch, all [][]byte, sel *cellstore.Selection, first bool) (*plan, []thrift2.Result, error) {
	v, end, err := t.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer end()
	if first {
		for _, key := range all {
			if err := v.Row(key); err != nil {
				return nil, nil, err
			}
		}
		if err := v.Selection(sel); err != nil {
			return nil, nil, err
		}
	}
	p := newPlan(v, sel)
	if len(batch) == 0 {
		return p, nil, nil
	}
	gets := make([]thrift2.Get, len(batch))
	for i := range batch {
		gets[i] = p.get(batch[i])
	}
	var rs []thrift2.Result
	err = t.call(ctx, readCall, func(ctx context.Context, c *thrift2.Conn) (err error) {
		rs, err = c.GetMultiple(ctx, t.state.path, gets)
		return err
	})
	if err != nil {
		return p, nil, err
	}
	if len(rs) != len(batch) {
		return p, nil, fmt.Errorf("%w: %d answers to %d questions", ErrUnavailable, len(rs), len(batch))
	}
	for i := range rs {
		if len(rs[i].Row) > 0 && !bytes.Equal(rs[i].Row, batch[i]) {
			return p, nil, fmt.Errorf("%w: the gateway answers with row %.40q where %.40q was asked for", ErrUnavailable, rs[i].Row, batch[i])
		}
	}
	return p, rs, nil
}
