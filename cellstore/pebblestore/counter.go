package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"

	"quadrille/cellstore"
)

// Increment implements cellstore.Table.
func (t *table) Increment(ctx context.Context, inc cellstore.Increment, values []int64) ([]int64, error) {
	got, err := t.increment(ctx, &inc, values)
	if err != nil {
		return values, fail("Increment", t.name, inc.Row, err)
	}
	return got, nil
}

func (t *table) increment(ctx context.Context, inc *cellstore.Increment, values []int64) ([]int64, error) {
	lay, err := t.beginWrite(ctx)
	if err != nil {
		return nil, err
	}
	defer t.gate.RUnlock()
	if err := lay.Increment(inc); err != nil || len(inc.Deltas) == 0 {
		return values, err
	}
	w := t.writer(lay, false)
	defer w.drop()
	var row lockSet
	row.add(inc.Row)
	t.rows.lock(&row)
	values, err = w.increment(inc, values)
	if err != nil {
		t.rows.unlock(&row)
		return nil, err
	}
	return values, w.commit(inc.Durability, func() { t.rows.unlock(&row) })
}

// increment adds the new counters to the batch and to values.
func (w *writer) increment(inc *cellstore.Increment, values []int64) ([]int64, error) {
	w.now = w.t.clock() // under the lock, so that the row's times keep the order of its commits
	before := earlier{deltas: inc.Deltas}
	first := len(values)
	for i := range inc.Deltas {
		d := &inc.Deltas[i]
		f, err := w.lay.family(d.Family)
		if err != nil {
			return nil, err
		}
		n := d.By
		ts := w.now
		if last := before.find(i); last >= 0 {
			// An earlier delta of this increment has written a cell with that timestamp.
			n += values[first+last]
			ts = before.times[last]
		} else {
			cur, err := w.current(&w.lay.fams[f], inc.Row, d.Qualifier)
			if err != nil {
				return nil, err
			}
			if cur.ok {
				if len(cur.value) != 8 {
					return nil, fmt.Errorf("%w: %s:%q holds %d bytes, a counter has 8: write counters with Increment only",
						cellstore.ErrNotCounter, d.Family, d.Qualifier, len(cur.value))
				}
				n += int64(binary.BigEndian.Uint64(cur.value))
				ts = w.follow(f, cur.ts)
			}
		}
		before.times = append(before.times, ts)
		var value [8]byte
		binary.BigEndian.PutUint64(value[:], uint64(n))
		if err := w.put(&w.lay.fams[f], inc.Row, d.Qualifier, ts, value[:]); err != nil {
			return nil, err
		}
		values = append(values, n)
	}
	return values, nil
}

// follow returns the timestamp for a version that replaces the version at current: now, or current
// if that is later.
func (w *writer) follow(f int, current int64) int64 {
	if current >= w.now {
		return current
	}
	if !w.lay.fams[f].uncounted() {
		w.garbage++
	}
	return w.now
}

// earlier finds the previous delta of the same column.
type earlier struct {
	deltas []cellstore.Delta
	times  []int64
	last   map[string]int // by family, 0x00 and qualifier; made for many deltas
	key    []byte
}

func (e *earlier) find(i int) int {
	const many = 16
	d := &e.deltas[i]
	if len(e.deltas) <= many {
		for j := i - 1; j >= 0; j-- {
			if o := &e.deltas[j]; o.Family == d.Family && bytes.Equal(o.Qualifier, d.Qualifier) {
				return j
			}
		}
		return -1
	}
	if e.last == nil {
		e.last = make(map[string]int, len(e.deltas))
	}
	e.key = append(append(append(e.key[:0], d.Family...), 0), d.Qualifier...)
	j, ok := e.last[string(e.key)]
	e.last[string(e.key)] = i
	if !ok {
		return -1
	}
	return j
}

// Append implements cellstore.Table.
func (t *table) Append(ctx context.Context, row []byte, family string, qualifier, value []byte, d cellstore.Durability) ([]byte, error) {
	whole, err := t.append(ctx, row, family, qualifier, value, d)
	if err != nil {
		return nil, fail("Append", t.name, row, err)
	}
	return whole, nil
}

func (t *table) append(ctx context.Context, row []byte, family string, qualifier, value []byte, d cellstore.Durability) ([]byte, error) {
	lay, err := t.beginWrite(ctx)
	if err != nil {
		return nil, err
	}
	defer t.gate.RUnlock()
	if err := lay.Append(row, family, qualifier, value, d); err != nil {
		return nil, err
	}
	f, err := lay.family(family)
	if err != nil {
		return nil, err
	}
	w := t.writer(lay, false)
	defer w.drop()
	var lock lockSet
	lock.add(row)
	t.rows.lock(&lock)
	whole, err := w.append(f, row, qualifier, value)
	if err != nil {
		t.rows.unlock(&lock)
		return nil, err
	}
	return whole, w.commit(d, func() { t.rows.unlock(&lock) })
}

func (w *writer) append(f int, row, qualifier, value []byte) ([]byte, error) {
	w.now = w.t.clock()
	cur, err := w.current(&w.lay.fams[f], row, qualifier)
	if err != nil {
		return nil, err
	}
	if err := w.lay.AppendResult(len(cur.value) + len(value)); err != nil {
		return nil, err
	}
	ts := w.now
	if cur.ok {
		ts = w.follow(f, cur.ts)
	}
	whole := slices.Concat(cur.value, value)
	return whole, w.put(&w.lay.fams[f], row, qualifier, ts, whole)
}
