package pebblestore

import (
	"context"
	"errors"
	"fmt"

	"quadrille/cellstore"
)

// cellOverhead bounds the bytes of a put in a batch besides row, qualifier and value.
const cellOverhead = 32

// Apply implements cellstore.Table. The valid mutations are committed atomically.
func (t *table) Apply(ctx context.Context, mutations ...cellstore.Mutation) error {
	err := t.apply(ctx, mutations)
	var batch *cellstore.BatchError
	if err == nil || errors.As(err, &batch) {
		return err
	}
	return fail("Apply", t.name, nil, err)
}

func (t *table) apply(ctx context.Context, mutations []cellstore.Mutation) error {
	lay, err := t.beginWrite(ctx)
	if err != nil {
		return err
	}
	defer t.gate.RUnlock()

	var failed map[int]error
	var rows lockSet
	var indexed bool
	durability := cellstore.Async
	size := 0
	for i := range mutations {
		m := &mutations[i]
		err := lay.Mutation(m)
		if err == nil {
			size, err = grow(size, m)
		}
		if err != nil {
			if failed == nil {
				failed = map[int]error{}
			}
			failed[i] = fail("Apply", t.name, m.Row, err)
			continue
		}
		rows.add(m.Row)
		indexed = indexed || deletes(m)
		if m.Durability == cellstore.Sync {
			durability = cellstore.Sync
		}
	}
	if len(failed) < len(mutations) {
		t.rows.lock(&rows)
		w := t.writer(lay, indexed)
		defer w.drop()
		for i := range mutations {
			if failed[i] != nil {
				continue
			}
			if err := w.mutate(&mutations[i]); err != nil {
				t.rows.unlock(&rows)
				return err
			}
		}
		if err := w.commit(durability, func() { t.rows.unlock(&rows) }); err != nil {
			if failed == nil {
				failed = map[int]error{}
			}
			for i := range mutations {
				if failed[i] == nil {
					failed[i] = fail("Apply", t.name, mutations[i].Row, err)
				}
			}
		}
	}
	if failed != nil {
		return &cellstore.BatchError{Errs: failed}
	}
	return nil
}

// grow adds the bytes of a mutation's puts to the size of a batch. It returns an error if that
// makes the batch too large.
func grow(size int, m *cellstore.Mutation) (int, error) {
	n := size
	for i := range m.Ops {
		op := &m.Ops[i]
		n += cellOverhead + len(m.Row) + len(op.Qualifier)
		if op.Kind == cellstore.OpPut {
			n += len(op.Value)
		}
		if n > maxBatch {
			return size, fmt.Errorf("%w: all of one call: pass fewer mutations or operations to each",
				&cellstore.LimitError{What: "batch", Got: n, Max: maxBatch})
		}
	}
	return n, nil
}

// deletes reports whether a mutation contains deletes. Deletes read what they remove.
func deletes(m *cellstore.Mutation) bool {
	for i := range m.Ops {
		if m.Ops[i].Kind != cellstore.OpPut {
			return true
		}
	}
	return false
}

// mutate adds a valid mutation to the batch.
func (w *writer) mutate(m *cellstore.Mutation) error {
	for i := range m.Ops {
		op := &m.Ops[i]
		ts := op.Timestamp
		if ts == cellstore.Now {
			ts = w.now
		}
		if op.Kind == cellstore.OpDeleteRow {
			for f := range w.lay.fams {
				if err := w.deleteFamily(&w.lay.fams[f], m.Row, ts); err != nil {
					return err
				}
			}
			continue
		}
		f, err := w.lay.family(op.Family)
		if err != nil {
			return err
		}
		fam := &w.lay.fams[f]
		switch op.Kind {
		case cellstore.OpPut:
			err = w.put(fam, m.Row, op.Qualifier, ts, op.Value)
			if !fam.uncounted() || fam.ttl > 0 {
				w.garbage++
			}
		case cellstore.OpDeleteVersion:
			if op.Timestamp == cellstore.Now {
				err = w.deleteNewest(fam, m.Row, op.Qualifier)
			} else {
				err = w.deleteVersion(fam, m.Row, op.Qualifier, ts)
			}
		case cellstore.OpDeleteColumn:
			err = w.deleteColumn(fam, m.Row, op.Qualifier, ts)
		case cellstore.OpDeleteFamily:
			err = w.deleteFamily(fam, m.Row, ts)
		case cellstore.OpDeleteFamilyVersion:
			err = w.deleteFamilyVersion(fam, m.Row, ts)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
