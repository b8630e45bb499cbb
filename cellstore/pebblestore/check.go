package pebblestore

import (
	"cmp"
	"context"

	"quadrille/cellstore"
)

// CheckAndMutate implements cellstore.Table.
func (t *table) CheckAndMutate(ctx context.Context, check cellstore.Check, m cellstore.Mutation) (bool, error) {
	applied, err := t.checkAndMutate(ctx, &check, &m)
	if err != nil {
		return false, fail("CheckAndMutate", t.name, m.Row, err)
	}
	return applied, nil
}

func (t *table) checkAndMutate(ctx context.Context, check *cellstore.Check, m *cellstore.Mutation) (bool, error) {
	lay, err := t.beginWrite(ctx)
	if err != nil {
		return false, err
	}
	defer t.gate.RUnlock()
	if err := lay.Mutation(m); err != nil {
		return false, err
	}
	if err := lay.Check(m.Row, check); err != nil {
		return false, err
	}
	if _, err := grow(0, m); err != nil {
		return false, err
	}
	w := t.writer(lay, deletes(m))
	defer w.drop()
	var row lockSet
	row.add(m.Row)
	t.rows.lock(&row)
	w.now = t.clock()
	applied, err := w.holds(m.Row, check)
	if err == nil && applied {
		err = w.mutate(m)
	}
	if err != nil || !applied {
		t.rows.unlock(&row)
		// The commits that decided the condition are perhaps not on the disk yet.
		return false, cmp.Or(err, t.disk.failure())
	}
	return true, w.commit(m.Durability, func() { t.rows.unlock(&row) })
}

// holds tests a condition on a row whose lock is held.
func (w *writer) holds(row []byte, check *cellstore.Check) (bool, error) {
	f, err := w.lay.family(check.Family)
	if err != nil {
		return false, err
	}
	cur, err := w.current(&w.lay.fams[f], row, check.Qualifier)
	if err != nil {
		return false, err
	}
	return check.Holds(cur.value, cur.ok), nil
}
