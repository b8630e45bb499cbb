package main

import (
	"cmp"
	"context"
	"errors"
	"iter"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/tileserver/internal/quota"
)

// usageCache bounds the memory from which usage is read, in bytes.
const usageCache = 4 << 20

// usage is the table of --usage. It is opened again after the disk has refused a write. It stores
// no counts until there has been disk space to make it.
type usage struct {
	openStore func() (*pebblestore.Store, error)
	store     *pebblestore.Store // nil until it could be opened
	log       *slog.Logger
	table     atomic.Pointer[cellstore.Table]
	trouble   atomic.Pointer[error]
	rests     int // how many times more mend leaves damage alone
	mending   sync.WaitGroup
	end       context.CancelFunc // ends mending, nil before it begins
}

// damageRest is the pause in seconds before damaged counts are tried again: each attempt reads much
// data.
const damageRest = 60

// open opens the table of counts. It creates the table if the store has none.
func (u *usage) open(ctx context.Context) (err error) {
	if u.store == nil {
		if u.store, err = u.openStore(); err != nil {
			u.store = nil
			return err
		}
	}
	t, err := u.store.Table(ctx, quota.Table)
	if errors.Is(err, cellstore.ErrTableNotFound) {
		u.log.Info("there are no counts in the directory, counting begins at 0")
		if err := u.store.CreateTable(ctx, quota.Schema()); err != nil {
			return err
		}
		t, err = u.store.Table(ctx, quota.Table)
	}
	if err == nil {
		u.table.Store(&t)
	}
	return err
}

func (u *usage) close() error {
	if u.end != nil {
		u.end()
		u.mending.Wait()
	}
	if u.store == nil {
		return nil
	}
	return u.store.Close()
}

// why returns the reason why counts are not stored on disk, or nil if they are.
func (u *usage) why() error {
	if err := u.trouble.Load(); err != nil {
		return *err
	}
	return nil
}

// report records why counts are not stored, and logs a change of the reason.
func (u *usage) report(err error) {
	was := u.why()
	u.trouble.Store(&err)
	switch {
	case err == nil:
		if was != nil {
			u.log.Info("counts are kept on the disk again")
		}
	case was != nil && errors.Is(was, cellstore.ErrCorrupt) == errors.Is(err, cellstore.ErrCorrupt):
	case errors.Is(err, cellstore.ErrCorrupt):
		u.log.Error("the counts on the disk are damaged and left as they are; counting begins anew in memory alone: for new "+
			"ones on the disk stop the server, move the directory aside, and start again", "error", err.Error())
	default:
		u.log.Error("the disk refuses writes; counting goes on in memory, and on the disk once it takes them", "error", err.Error())
	}
}

// keepMended opens the table again after the disk has refused a write, until the disk accepts
// writes. It runs until close is called.
func (u *usage) keepMended() {
	var ctx context.Context
	ctx, u.end = context.WithCancel(context.Background())
	u.mending.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			u.mend(ctx)
			select {
			case <-tick.C:
			case <-ctx.Done():
				return
			}
		}
	})
}

func (u *usage) mend(ctx context.Context) {
	err := u.why()
	if u.store != nil {
		if now := u.store.Trouble(quota.Table); now != nil {
			err = now
		}
	}
	if err == nil || ctx.Err() != nil {
		return
	}
	u.report(err)
	if u.rests > 0 {
		u.rests--
		return
	}
	err = nil
	if u.table.Load() != nil {
		err = u.store.Recover(ctx, quota.Table)
	}
	if opened := u.open(ctx); opened != nil {
		err = opened
	}
	if errors.Is(err, cellstore.ErrCorrupt) {
		u.rests = damageRest
	}
	if ctx.Err() == nil {
		u.report(err)
	}
}

// rows reads the table. It yields nothing if there is no table yet.
func (u *usage) rows(read func(cellstore.Table) iter.Seq2[*cellstore.Row, error]) iter.Seq2[*cellstore.Row, error] {
	if t := u.table.Load(); t != nil {
		return read(*t)
	}
	return func(func(*cellstore.Row, error) bool) {}
}

// Scan implements quota.Counts.
func (u *usage) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	return u.rows(func(t cellstore.Table) iter.Seq2[*cellstore.Row, error] { return t.Scan(ctx, scan) })
}

// MultiGet implements quota.Counts.
func (u *usage) MultiGet(ctx context.Context, keys [][]byte, sel *cellstore.Selection) iter.Seq2[*cellstore.Row, error] {
	return u.rows(func(t cellstore.Table) iter.Seq2[*cellstore.Row, error] { return t.MultiGet(ctx, keys, sel) })
}

// Increment implements quota.Counts. If the counts are damaged, or there is no table, it returns
// the reason; counting continues in memory.
func (u *usage) Increment(ctx context.Context, inc cellstore.Increment, values []int64) ([]int64, error) {
	t, why := u.table.Load(), u.why()
	if t == nil || errors.Is(why, cellstore.ErrCorrupt) {
		return nil, cmp.Or(why, cellstore.ErrNoSpace)
	}
	return (*t).Increment(ctx, inc, values)
}
