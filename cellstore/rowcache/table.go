package rowcache

import (
	"context"
	"errors"

	"quadrille/cellstore"
)

// table is a table of a store. The methods it does not override bypass the cache: Prev, MultiGet,
// snapshots, splits and the schema.
type table struct {
	cellstore.Table
	s      *store
	name   string
	shared *shared
}

// look returns the cached part of the table, or nil if every read must go to the store. In that
// case the store also returns the errors of calls that cannot succeed.
func (t *table) look(ctx context.Context) *known {
	if t.s.closed.Load() || ctx.Err() != nil {
		return nil
	}
	k := t.shared.known.Load()
	if k.bypass {
		return nil
	}
	return k
}

func (t *table) view(ctx context.Context, sel *cellstore.Selection) *view {
	if k := t.look(ctx); k != nil {
		return k.view(sel)
	}
	return nil
}

// fail makes an error name the caller's call instead of the store's.
func (t *table) fail(op string, row []byte, err error) error {
	var e *cellstore.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	return &cellstore.Error{Op: op, Table: t.name, Row: row, Err: err}
}

// Get implements cellstore.Reader.
func (t *table) Get(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	v := t.view(ctx, sel)
	if v == nil || v.known.validator.Row(key) != nil {
		return t.Table.Get(ctx, key, sel, row)
	}
	if a := v.get(key, row); a != unknown {
		return a == found, nil
	}
	row.Reset()
	b, err := v.ask(ctx, askGet, key, nil, v.readGet(t.Table))
	switch {
	case err != nil:
		return false, t.fail("Get", key, err)
	case b == nil:
		return t.Table.Get(ctx, key, sel, row)
	case b.len() == 0:
		return false, nil
	}
	b.fill(0, row)
	return true, nil
}

// Next implements cellstore.Reader.
func (t *table) Next(ctx context.Context, from, to []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	v := t.view(ctx, sel)
	if v == nil {
		return t.Table.Next(ctx, from, to, sel, row)
	}
	a, at := v.next(from, to, row)
	if a != unknown {
		return a == found, nil
	}
	ok, err := t.fetchNext(ctx, v, at, to, row)
	if err != nil {
		return false, t.fail("Next", from, err)
	}
	return ok, nil
}

// fetchNext reads the row from the store if the cache does not have it.
func (t *table) fetchNext(ctx context.Context, v *view, at, to []byte, row *cellstore.Row) (bool, error) {
	row.Reset()
	b, err := v.ask(ctx, askNext, at, to, v.readNext(t.Table))
	switch {
	case err != nil:
		return false, err
	case b == nil:
		return t.Table.Next(ctx, at, to, v.sel, row)
	case b.len() == 0:
		return false, nil
	}
	b.fill(0, row)
	return true, nil
}

// NextEach implements cellstore.Reader. It reads all uncached families at once.
func (t *table) NextEach(ctx context.Context, from, to []byte, families []string, rows []cellstore.Row) error {
	k := t.look(ctx)
	if k == nil || len(rows) < len(families) {
		return t.Table.NextEach(ctx, from, to, families, rows)
	}
	var missing []int
	for i, name := range families {
		v := k.family(name)
		if v == nil {
			return t.Table.NextEach(ctx, from, to, families, rows)
		}
		if a, _ := v.next(from, to, &rows[i]); a == unknown {
			missing = append(missing, i)
		}
	}
	for i := len(families); i < len(rows); i++ {
		rows[i].Reset()
	}
	if len(missing) == 0 {
		return nil
	}
	if err := t.fetchEach(ctx, k, from, to, families, rows, missing); err != nil {
		for i := range rows {
			rows[i].Reset()
		}
		return t.fail("NextEach", from, err)
	}
	return nil
}

// fetchEach reads the missing families from the store. It is a separate function because its
// closure would allocate in NextEach.
func (t *table) fetchEach(ctx context.Context, k *known, from, to []byte, families []string, rows []cellstore.Row, missing []int) error {
	return cellstore.Concurrently(ctx, len(missing), func(ctx context.Context, i int) error {
		i = missing[i]
		return t.fetchFamily(ctx, k, from, to, families[i:i+1], &rows[i])
	})
}

// fetchFamily reads one family of a NextEach from the store.
func (t *table) fetchFamily(ctx context.Context, k *known, from, to []byte, family []string, row *cellstore.Row) error {
	v := k.family(family[0])
	if v == nil { // the family was dropped meanwhile
		_, err := t.Table.Next(ctx, from, to, &cellstore.Selection{Families: family}, row)
		return err
	}
	a, at := v.next(from, to, row) // again: another call may have read it
	if a != unknown {
		return nil
	}
	_, err := t.fetchNext(ctx, v, at, to, row)
	return err
}
