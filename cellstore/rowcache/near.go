package rowcache

import (
	"bytes"
	"context"

	"quadrille/cellstore"
)

// answer is the result of a lookup in memory.
type answer uint8

const (
	unknown answer = iota
	found
	absent
)

// get looks up a row.
func (v *view) get(key []byte, row *cellstore.Row) answer {
	b := v.index.at(key)
	if b == nil {
		return unknown
	}
	b.touch()
	i, ok := b.seek(key)
	if !ok {
		row.Reset()
		return absent
	}
	b.fill(i, row)
	return found
}

// next looks up the first row of [from, to). If it is not cached, next returns the key from which
// the store must be read.
func (v *view) next(from, to []byte, row *cellstore.Row) (answer, []byte) {
	for {
		b := v.index.at(from)
		if b == nil {
			if len(to) > 0 && bytes.Compare(from, to) >= 0 {
				row.Reset()
				return absent, nil
			}
			return unknown, from
		}
		i, _ := b.seek(from)
		if i < b.len() && (len(to) == 0 || bytes.Compare(b.key(i), to) < 0) {
			b.touch()
			b.fill(i, row)
			return found, nil
		}
		if i < b.len() || endsBy(to, b.upto) && len(to) > 0 || len(b.upto) == 0 {
			b.touch()
			row.Reset()
			return absent, nil
		}
		from = b.upto
	}
}

// These are the kinds of reads.
const (
	askGet byte = iota
	askNext
)

// readGet reads one row.
func (v *view) readGet(t cellstore.Table) func(context.Context, *question) (*block, error) {
	return func(ctx context.Context, q *question) (*block, error) {
		var row cellstore.Row
		key := []byte(q.from)
		found, err := t.Get(ctx, key, v.sel, &row)
		if err != nil {
			return nil, err
		}
		w := builder{view: v}
		if found {
			v.size.observe(&row)
			if !w.add(&row) {
				return nil, nil
			}
		}
		return w.block(key, after(key)), nil
	}
}

// readNext reads a block forward.
func (v *view) readNext(t cellstore.Table) func(context.Context, *question) (*block, error) {
	return func(ctx context.Context, q *question) (*block, error) {
		from, to := []byte(q.from), []byte(q.to)
		rows, err := v.readRows(ctx, t, cellstore.Range{From: from, To: to})
		if err != nil {
			return nil, err
		}
		if rows.more {
			to = after(rows.all[len(rows.all)-1].Key)
		}
		return v.blockOf(rows.all, from, to), nil
	}
}

// batch has the first rows of a range, and whether there may be more.
type batch struct {
	all  []*cellstore.Row
	more bool
}

// readRows reads as many rows as make a block, in one call.
func (v *view) readRows(ctx context.Context, t cellstore.Table, r cellstore.Range) (out batch, err error) {
	n := v.size.rows()
	if n == 1 {
		row := new(cellstore.Row)
		out.more, err = t.Next(ctx, r.From, r.To, v.sel, row)
		if err == nil && out.more {
			v.size.observe(row)
			out.all = append(out.all, row)
		}
		return out, err
	}
	scan := cellstore.Scan{Ranges: []cellstore.Range{r}, Selection: *v.sel, Limit: n, Batch: n}
	for row, err := range t.Scan(ctx, scan) {
		if err != nil {
			return batch{}, err
		}
		v.size.observe(row)
		out.all = append(out.all, row.Clone())
	}
	out.more = len(out.all) == n
	return out, nil
}

// blockOf makes a block of rows in order. It is nil if they cannot be cached.
func (v *view) blockOf(rows []*cellstore.Row, from, upto []byte) *block {
	w := builder{view: v}
	for _, row := range rows {
		if !w.add(row) {
			return nil
		}
	}
	return w.block(from, upto)
}
