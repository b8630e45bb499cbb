package rowcache

import (
	"context"
	"errors"

	"quadrille/cellstore"
)

// Writes go to the store. They also empty the cache of the table.

// write runs a write. If its outcome is unknown, it may be applied later, after the old rows have
// been read again. After such a write, nothing of the table is cached any more.
func (sh *shared) write(f func() error) error {
	done := sh.change()
	err := f()
	if !mayStillApply(err) {
		done()
	}
	return err
}

// mayStillApply reports whether a change that failed with err may still be applied later.
func mayStillApply(err error) bool {
	return errors.Is(err, cellstore.ErrUnknownOutcome) || errors.Is(err, cellstore.ErrUnavailable)
}

// Apply implements cellstore.Table.
func (t *table) Apply(ctx context.Context, mutations ...cellstore.Mutation) error {
	return t.shared.write(func() error { return t.Table.Apply(ctx, mutations...) })
}

// CheckAndMutate implements cellstore.Table.
func (t *table) CheckAndMutate(ctx context.Context, check cellstore.Check, m cellstore.Mutation) (done bool, err error) {
	err = t.shared.write(func() (err error) {
		done, err = t.Table.CheckAndMutate(ctx, check, m)
		return err
	})
	return done, err
}

// Increment implements cellstore.Table.
func (t *table) Increment(ctx context.Context, inc cellstore.Increment, values []int64) (now []int64, err error) {
	err = t.shared.write(func() (err error) {
		now, err = t.Table.Increment(ctx, inc, values)
		return err
	})
	return now, err
}

// Append implements cellstore.Table.
func (t *table) Append(ctx context.Context, row []byte, family string, qualifier, value []byte,
	d cellstore.Durability) (whole []byte, err error) {
	err = t.shared.write(func() (err error) {
		whole, err = t.Table.Append(ctx, row, family, qualifier, value, d)
		return err
	})
	return whole, err
}

// Bulk implements cellstore.Table.
func (t *table) Bulk(ctx context.Context) (cellstore.BulkLoader, error) {
	b, err := t.Table.Bulk(ctx)
	if err != nil {
		return nil, err
	}
	return &bulk{b, t.shared}, nil
}

// bulk is a load. Its cells are not visible before Commit.
type bulk struct {
	cellstore.BulkLoader
	shared *shared
}

func (b *bulk) Commit(ctx context.Context) error {
	return b.shared.write(func() error { return b.BulkLoader.Commit(ctx) })
}
