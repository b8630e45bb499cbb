package storetest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"quadrille/cellstore"
)

// tableHandle is the cellstore.Table of a modelTable.
type tableHandle struct {
	modelReader
	t *modelTable
}

// Schema implements cellstore.Table.
func (h *tableHandle) Schema() cellstore.Schema {
	h.m.disk.mu.Lock()
	defer h.m.disk.mu.Unlock()
	s := h.t.Schema
	s.Families = slices.Clone(s.Families)
	return s
}

// call runs one step on a row of the table. row is nil if the step is not about one row.
func (h *tableHandle) call(ctx context.Context, op string, row []byte, do func(now int64) error) error {
	now, end, err := h.m.begin(ctx, h.t, true)
	if err == nil {
		defer end()
		err = do(now)
	}
	return fail(op, h.table, row, err)
}

// commit replaces a row by its changed copy. It keeps the old row as long as a
// crash may bring it back.
func (t *modelTable) commit(key string, row modelRow, d cellstore.Durability, now int64) {
	if d == cellstore.Sync {
		delete(t.undo, key)
	} else {
		t.undo[key] = append(t.undo[key], undoEntry{before: t.rows[key], at: time.Now()})
	}
	t.rows[key] = row
	t.settle(key, now)
}

// apply applies a valid mutation.
func (t *modelTable) apply(m *cellstore.Mutation, now int64) {
	if len(m.Ops) == 0 {
		return
	}
	key := string(m.Row)
	old := t.rows[key]
	t.rows[key] = old.clone()
	for i := range m.Ops {
		if t.rows[key] == nil { // the operation before emptied it
			t.rows[key] = modelRow{}
		}
		t.applyOp(t.rows[key], &m.Ops[i], now)
		t.settle(key, now) // every operation sees the result of the one before
	}
	row := t.rows[key]
	t.rows[key] = old
	t.commit(key, row, m.Durability, now)
}

func (t *modelTable) applyOp(row modelRow, op *cellstore.Op, now int64) {
	ts := op.Timestamp
	if ts == cellstore.Now {
		ts = now
	}
	at := column{op.Family, string(op.Qualifier)}
	// remove deletes the versions of the chosen columns from min to ts.
	remove := func(min int64, chosen func(column) bool) {
		for col, versions := range row {
			if chosen(col) {
				maps.DeleteFunc(versions, func(v int64, _ []byte) bool { return min <= v && v <= ts })
			}
		}
	}
	ofColumn := func(c column) bool { return c == at }
	ofFamily := func(c column) bool { return c.family == op.Family }
	switch op.Kind {
	case cellstore.OpPut:
		row.put(at, ts, op.Value)
	case cellstore.OpDeleteVersion:
		if op.Timestamp == cellstore.Now {
			if len(row[at]) == 0 {
				return
			}
			ts = newestFirst(row[at])[0]
		}
		remove(ts, ofColumn)
	case cellstore.OpDeleteColumn:
		remove(0, ofColumn)
	case cellstore.OpDeleteFamily:
		remove(0, ofFamily)
	case cellstore.OpDeleteFamilyVersion:
		remove(ts, ofFamily)
	case cellstore.OpDeleteRow:
		remove(0, func(column) bool { return true })
	}
}

func (r modelRow) put(col column, ts int64, value []byte) {
	if r[col] == nil {
		r[col] = map[int64][]byte{}
	}
	r[col][ts] = append([]byte{}, value...)
}

// Apply implements cellstore.Table.
func (h *tableHandle) Apply(ctx context.Context, mutations ...cellstore.Mutation) error {
	failed := map[int]error{}
	err := h.call(ctx, "Apply", nil, func(now int64) error {
		for i := range mutations {
			m := &mutations[i]
			if err := cmp.Or(ctx.Err(), h.t.Mutation(m)); err != nil {
				failed[i] = fail("Apply", h.table, m.Row, err)
				continue
			}
			h.t.apply(m, now)
		}
		return nil
	})
	if len(failed) > 0 {
		return &cellstore.BatchError{Errs: failed}
	}
	return err
}

// newest returns the current version of a column.
func (t *modelTable) newest(row []byte, col column) (ts int64, value []byte, ok bool) {
	versions := t.rows[string(row)][col]
	if len(versions) == 0 {
		return 0, nil, false
	}
	ts = newestFirst(versions)[0]
	return ts, versions[ts], true
}

// CheckAndMutate implements cellstore.Table.
func (h *tableHandle) CheckAndMutate(ctx context.Context, check cellstore.Check, m cellstore.Mutation) (applied bool, err error) {
	err = h.call(ctx, "CheckAndMutate", m.Row, func(now int64) error {
		if err := cmp.Or(h.t.Mutation(&m), h.t.Check(m.Row, &check)); err != nil {
			return err
		}
		_, stored, present := h.t.newest(m.Row, column{check.Family, string(check.Qualifier)})
		if applied = holds(check.Op, stored, present, check.Value); applied {
			h.t.apply(&m, now)
		}
		return nil
	})
	return applied, err
}

func holds(op cellstore.CompareOp, stored []byte, present bool, operand []byte) bool {
	d := bytes.Compare(stored, operand)
	switch op {
	case cellstore.Absent:
		return !present
	case cellstore.Present:
		return present
	case cellstore.Equal:
		return present && d == 0
	case cellstore.NotEqual:
		return present && d != 0
	case cellstore.Less:
		return present && d < 0
	case cellstore.LessOrEqual:
		return present && d <= 0
	case cellstore.Greater:
		return present && d > 0
	default:
		return present && d >= 0
	}
}

// Increment implements cellstore.Table.
func (h *tableHandle) Increment(ctx context.Context, inc cellstore.Increment, values []int64) ([]int64, error) {
	var got []int64
	err := h.call(ctx, "Increment", inc.Row, func(now int64) (err error) {
		got, err = h.t.increment(&inc, now)
		return err
	})
	return append(values, got...), err
}

func (t *modelTable) increment(inc *cellstore.Increment, now int64) ([]int64, error) {
	if err := t.Increment(inc); err != nil || len(inc.Deltas) == 0 {
		return nil, err
	}
	var got []int64
	row := t.rows[string(inc.Row)].clone()
	for _, d := range inc.Deltas {
		col := column{d.Family, string(d.Qualifier)}
		at, n := now, int64(0)
		if versions := row[col]; len(versions) > 0 {
			newest := newestFirst(versions)[0]
			at = max(now, newest)
			if len(versions[newest]) != 8 {
				return nil, fmt.Errorf("%w: %s:%q holds %d bytes, a counter has 8: write counters with Increment only",
					cellstore.ErrNotCounter, d.Family, d.Qualifier, len(versions[newest]))
			}
			n = int64(binary.BigEndian.Uint64(versions[newest]))
		}
		n += d.By
		row.put(col, at, binary.BigEndian.AppendUint64(nil, uint64(n)))
		got = append(got, n)
	}
	t.commit(string(inc.Row), row, inc.Durability, now)
	return got, nil
}

// Append implements cellstore.Table.
func (h *tableHandle) Append(
	ctx context.Context, key []byte, family string, qualifier, value []byte, d cellstore.Durability,
) (whole []byte, err error) {
	err = h.call(ctx, "Append", key, func(now int64) error {
		if err := h.t.Append(key, family, qualifier, value, d); err != nil {
			return err
		}
		col := column{family, string(qualifier)}
		newest, stored, present := h.t.newest(key, col)
		at := now
		if present {
			at = max(now, newest)
		}
		all := slices.Concat(stored, value)
		if err := h.t.AppendResult(len(all)); err != nil {
			return err
		}
		row := h.t.rows[string(key)].clone()
		row.put(col, at, all)
		h.t.commit(string(key), row, d, now)
		whole = all
		return nil
	})
	return whole, err
}

// Bulk implements cellstore.Table.
func (h *tableHandle) Bulk(ctx context.Context) (load cellstore.BulkLoader, err error) {
	err = h.call(ctx, "Bulk", nil, func(int64) error {
		load = &modelLoad{h: h}
		return nil
	})
	return load, err
}

// modelLoad collects the cells of a load and puts them at Commit.
type modelLoad struct {
	h     *tableHandle
	cells []loaded
	over  error
}

type loaded struct {
	row string
	col column
	ts  int64
	val []byte
}

var errLoadOver = errors.New("load is over: begin another")

// Add implements cellstore.BulkLoader.
func (l *modelLoad) Add(key []byte, c cellstore.Cell) error {
	return l.h.call(context.Background(), "Add", key, func(int64) error {
		if err := cmp.Or(l.over, l.h.t.Cell(key, &c)); err != nil {
			return err
		}
		cell := loaded{string(key), column{c.Family, string(c.Qualifier)}, c.Timestamp, slices.Clone(c.Value)}
		if n := len(l.cells); n > 0 && compareLoaded(l.cells[n-1], cell) >= 0 {
			l.over = fmt.Errorf("%w: sort the cells, and load each once", cellstore.ErrUnsorted)
			return l.over
		}
		l.cells = append(l.cells, cell)
		return nil
	})
}

// compareLoaded compares in the order of rule O1.
func compareLoaded(a, b loaded) int {
	return cmp.Or(cmp.Compare(a.row, b.row), cmp.Compare(a.col.family, b.col.family),
		cmp.Compare(a.col.qualifier, b.col.qualifier), cmp.Compare(b.ts, a.ts))
}

// Commit implements cellstore.BulkLoader.
func (l *modelLoad) Commit(ctx context.Context) error {
	return l.h.call(ctx, "Commit", nil, func(now int64) error {
		if l.over != nil {
			return l.over
		}
		l.over = errLoadOver
		t := l.h.t
		for _, c := range l.cells {
			if err := t.Family(c.col.family); err != nil { // dropped since
				return err
			}
		}
		for _, c := range l.cells {
			row := t.rows[c.row].clone()
			row.put(c.col, c.ts, c.val)
			t.commit(c.row, row, cellstore.Sync, now)
		}
		return nil
	})
}

// Abort implements cellstore.BulkLoader.
func (l *modelLoad) Abort() error {
	l.over, l.cells = errLoadOver, nil
	return nil
}
