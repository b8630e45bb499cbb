package rowcache

import (
	"context"
	"errors"
	"math/bits"

	"golang.org/x/sync/errgroup"

	"quadrille/cellstore"
)

// table is a table of a store. What it does not override passes by: snapshots,
// splits and the schema.
type table struct {
	cellstore.Table
	s      *store
	name   string
	shared *shared
}

// look returns what is known, nil when the store has to be asked whatever is
// known. It also is where the call cannot be answered, and the store says why.
func (t *table) look(ctx context.Context) *known {
	if t.s.closed.Load() || ctx.Err() != nil {
		return nil
	}
	k := t.shared.known.Load()
	if k.through {
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

// fail gives an error the name of the call that the caller knows.
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

// fetchNext has the store answer where nothing is known.
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

// Prev implements cellstore.Reader.
func (t *table) Prev(ctx context.Context, from, downTo []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	v := t.view(ctx, sel)
	if v == nil {
		return t.Table.Prev(ctx, from, downTo, sel, row)
	}
	a, at, without := v.prev(from, downTo, row)
	if a != unknown {
		return a == found, nil
	}
	row.Reset()
	kind := askPrev
	if without {
		kind = askPrevWithout
	}
	b, err := v.ask(ctx, kind, at, downTo, v.readPrev(t.Table))
	switch {
	case err != nil:
		return false, t.fail("Prev", from, err)
	case b == nil:
		return t.Table.Prev(ctx, at, downTo, sel, row)
	case b.len() == 0:
		return false, nil
	}
	b.fill(b.len()-1, row)
	return true, nil
}

// NextEach implements cellstore.Reader. The families that are not known are
// asked for at once.
func (t *table) NextEach(ctx context.Context, from, to []byte, families []string, rows []cellstore.Row) error {
	k := t.look(ctx)
	if k == nil || len(rows) < len(families) || len(families) > 64 {
		return t.Table.NextEach(ctx, from, to, families, rows)
	}
	var missing uint64
	for i, name := range families {
		v := k.family(name)
		if v == nil {
			return t.Table.NextEach(ctx, from, to, families, rows)
		}
		if a, _ := v.next(from, to, &rows[i]); a == unknown {
			missing |= 1 << i
		}
	}
	for i := len(families); i < len(rows); i++ {
		rows[i].Reset()
	}
	if missing == 0 {
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

func (t *table) fetchEach(ctx context.Context, k *known, from, to []byte, families []string, rows []cellstore.Row, missing uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	g, ctx := errgroup.WithContext(ctx)
	one := func(i int) error {
		v := k.family(families[i])
		if v == nil { // dropped since
			_, err := t.Table.Next(ctx, from, to, &cellstore.Selection{Families: families[i : i+1]}, &rows[i])
			return err
		}
		a, at := v.next(from, to, &rows[i]) // again: somebody may have read it
		if a != unknown {
			return nil
		}
		_, err := t.fetchNext(ctx, v, at, to, &rows[i])
		return err
	}
	first := bits.TrailingZeros64(missing)
	for rest := missing &^ (1 << first); rest != 0; rest &= rest - 1 {
		g.Go(func() error { return one(bits.TrailingZeros64(rest)) })
	}
	err := one(first)
	if err != nil {
		cancel()
	}
	// Who fails first has the rest cancelled: the answer is what failed, not that.
	if others := g.Wait(); others != nil && (err == nil || errors.Is(err, context.Canceled)) {
		err = others
	}
	return err
}
