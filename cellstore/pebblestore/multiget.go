package pebblestore

import (
	"context"
	"iter"

	"quadrille/cellstore"
)

// MultiGet implements cellstore.Reader. It shows the state of the table when
// the loop begins.
func (t *source) MultiGet(ctx context.Context, keys [][]byte, sel *cellstore.Selection) iter.Seq2[*cellstore.Row, error] {
	keys, sel = cellstore.CloneKeys(keys), sel.Clone()
	return func(yield func(*cellstore.Row, error) bool) {
		row := new(cellstore.Row)
		if err := t.multiGet(ctx, keys, sel, row, yield); err != nil {
			yield(nil, fail("MultiGet", t.name, row.Key, err))
		}
	}
}

func (t *source) multiGet(ctx context.Context, keys [][]byte, sel *cellstore.Selection, row *cellstore.Row,
	yield func(*cellstore.Row, error) bool) error {
	r, err := t.begin(ctx, sel)
	if err != nil {
		return err
	}
	locked := true // as in scan
	defer func() {
		if !locked {
			r.mu.Lock()
		}
		r.release()
	}()
	for _, key := range keys {
		if err := checkRow(key); err != nil {
			return err
		}
	}
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			return err
		}
		row.Reset()
		row.SetKey(key)
		if err := r.get(key, row); err != nil {
			r.broken(err)
			return err
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
	}
	return nil
}
