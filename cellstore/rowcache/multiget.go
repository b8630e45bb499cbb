package rowcache

import (
	"bytes"
	"context"
	"iter"

	"quadrille/cellstore"
)

// MultiGet implements cellstore.Reader. What is known when the loop begins is
// answered from memory, the rest is asked for together.
func (t *table) MultiGet(ctx context.Context, keys [][]byte, sel *cellstore.Selection) iter.Seq2[*cellstore.Row, error] {
	keys, sel = cellstore.CloneKeys(keys), sel.Clone()
	return func(yield func(*cellstore.Row, error) bool) {
		v := t.view(ctx, sel)
		for i := 0; v != nil && i < len(keys); i++ {
			if v.known.validator.Row(keys[i]) != nil {
				v = nil // the store refuses it
			}
		}
		if v == nil {
			t.Table.MultiGet(ctx, keys, sel)(yield)
			return
		}
		blocks := make([]*block, len(keys))
		var missing [][]byte
		for i, key := range keys {
			if blocks[i] = v.index.at(key); blocks[i] == nil {
				missing = append(missing, key)
			}
		}
		if len(missing) == 0 {
			t.serveAll(ctx, keys, blocks, nil, yield)
			return
		}
		v.known.cache.missed()
		next, stop := iter.Pull2(t.Table.MultiGet(ctx, missing, sel))
		defer stop()
		t.serveAll(ctx, keys, blocks, func() (*cellstore.Row, error, bool) {
			row, err, ok := next()
			if ok && err == nil {
				v.learn(row)
			}
			return row, err, ok
		}, yield)
	}
}

// serveAll yields rows in the order of keys, those without a block from next.
func (t *table) serveAll(ctx context.Context, keys [][]byte, blocks []*block, next func() (*cellstore.Row, error, bool), yield func(*cellstore.Row, error) bool) {
	var own cellstore.Row
	for i, key := range keys {
		b, row := blocks[i], &own
		if b == nil {
			r, err, ok := next()
			if !ok {
				return
			}
			if err != nil {
				yield(nil, err)
				return
			}
			row = r
		} else {
			if err := t.broken(ctx); err != nil {
				yield(nil, t.fail("MultiGet", key, err))
				return
			}
			b.touch()
			if n, ok := b.seek(key); ok {
				b.fill(n, row)
			} else {
				row.Reset()
				row.SetKey(key)
			}
		}
		if !yield(row, nil) {
			return
		}
	}
}

// learn keeps a row of a MultiGet, or that there is none.
func (v *view) learn(row *cellstore.Row) {
	w := builder{view: v}
	if !row.Empty() {
		v.size.observe(row)
		if !w.add(row) {
			return
		}
	}
	key := bytes.Clone(row.Key)
	v.keep(w.block(key, after(key)))
}
