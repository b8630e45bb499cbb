package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"
	"sync"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
)

// maxBatch bounds the bytes committed in one step. The engine's own bound is 4 GiB, and the engine
// ends the process if a batch exceeds it.
const maxBatch = 1 << 30

// rowLocks make read-modify-write serial for each row. Rows share locks by
// their hash.
type rowLocks struct {
	locks [lockCount]sync.Mutex
}

const lockCount = 256

var lockSeed = maphash.MakeSeed()

// lockSet is a set of row locks. The locks are taken in order, so that no two calls wait for each
// other.
type lockSet [lockCount / 64]uint64

func (s *lockSet) add(row []byte) {
	i := maphash.Bytes(lockSeed, row) % lockCount
	s[i/64] |= 1 << (i % 64)
}

func (s *lockSet) each(fn func(i int)) {
	for w, set := range s {
		for ; set != 0; set &= set - 1 {
			fn(w*64 + bits.TrailingZeros64(set))
		}
	}
}

func (l *rowLocks) lock(s *lockSet)   { s.each(func(i int) { l.locks[i].Lock() }) }
func (l *rowLocks) unlock(s *lockSet) { s.each(func(i int) { l.locks[i].Unlock() }) }

// beginWrite starts every write. On success the caller holds t.gate for reading
// and must release it.
func (t *table) beginWrite(ctx context.Context) (*layout, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := t.awaitMerges(ctx); err != nil {
		return nil, err
	}
	t.gate.RLock()
	err := t.ended()
	switch {
	case err != nil:
	case t.store.opts.ReadOnly:
		err = cellstore.ErrReadOnly
	default:
		err = cmp.Or(t.disk.failure(), t.upkeep.trouble())
	}
	if err != nil {
		t.gate.RUnlock()
		return nil, err
	}
	return t.lay.Load(), nil
}

// writer collects the changes of one call for its commit. The caller holds the locks of the call's
// rows.
type writer struct {
	t       *table
	lay     *layout
	b       *pebble.Batch
	indexed bool
	it      *pebble.Iterator // over the batch and the database below it
	key     []byte           // of puts and deletes
	seek    []byte
	col     []byte
	garbage int64 // cells that the batch may hide, or tombstones
	now     int64
}

// writer returns a writer with an empty batch. The batch must be indexed if deletes must see its
// earlier changes.
func (t *table) writer(lay *layout, indexed bool) *writer {
	w, _ := t.stock.Get().(*writer)
	if w == nil {
		w = &writer{t: t}
	}
	w.lay, w.indexed, w.garbage, w.now = lay, indexed, 0, t.clock()
	w.fresh()
	return w
}

func (w *writer) fresh() {
	if w.indexed {
		w.b = w.t.db.NewIndexedBatch()
	} else {
		w.b = w.t.db.NewBatch()
	}
}

// drop returns the writer to the pool.
func (w *writer) drop() {
	w.closeIterator()
	if w.b != nil {
		_ = w.b.Close()
		w.b = nil
	}
	const keep = 64 << 10
	if cap(w.key)+cap(w.seek)+cap(w.col) <= keep {
		w.t.stock.Put(w)
	}
}

func (w *writer) closeIterator() {
	if w.it != nil {
		w.t.retired.add(iteratorStats(w.it))
		_ = w.it.Close() // calls have returned its errors
		w.it = nil
	}
}

// commit makes the batch visible, releases the row locks and then, for a durable commit, waits for
// the log. Others may use the rows meanwhile: their commits come after this one in the log. An
// error matches ErrUnknownOutcome.
func (w *writer) commit(d cellstore.Durability, unlock func()) error {
	w.closeIterator()
	t := w.t
	if w.b.Empty() {
		unlock()
		if d == cellstore.Sync {
			// This call changes nothing. Earlier commits to the same rows must still be made
			// durable.
			return unknown(t.syncLog())
		}
		return t.disk.failure()
	}
	err := t.change(func() error {
		if d == cellstore.Sync {
			return t.db.ApplyNoSyncWait(w.b, pebble.Sync)
		}
		return t.db.Apply(w.b, pebble.NoSync)
	})
	unlock()
	if err == nil && d == cellstore.Sync {
		err = w.b.SyncWait()
	}
	t.upkeep.wrote(w.garbage, d)
	return unknown(cmp.Or(t.disk.failure(), err))
}

// unknown marks the error of a commit as ErrUnknownOutcome, because the log may have the commit or
// not.
func unknown(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", cellstore.ErrUnknownOutcome, err)
}

// syncLog makes all earlier commits durable.
func (t *table) syncLog() error {
	b := t.db.NewBatch()
	if err := b.LogData(nil, nil); err != nil {
		return err
	}
	err := t.db.Apply(b, pebble.Sync)
	return cmp.Or(t.disk.failure(), errors.Join(err, b.Close()))
}

// room refuses a write that would make the batch too large.
func (w *writer) room(n int) error {
	if got := w.b.Len() + n; got > maxBatch {
		return fmt.Errorf("%w: all of one call: pass fewer mutations to each", &cellstore.LimitError{What: "batch", Got: got, Max: maxBatch})
	}
	return nil
}

func (w *writer) put(fam *family, row, qualifier []byte, ts int64, value []byte) error {
	w.key = appendSuffix(appendPrefix(w.key[:0], fam.byte, row), qualifier, invert(ts))
	return w.b.Set(w.key, value, nil)
}

// place moves the writer's iterator to the first cell of a family's row at or
// after a version of a column. The iterator sees the present content of the batch, and no other
// row.
func (w *writer) place(fam *family, row, qualifier []byte, inverted uint64) (walk, error) {
	w.seek = appendSuffix(appendPrefix(w.seek[:0], fam.byte, row), qualifier, inverted)
	return w.placeKey(w.seek)
}

// placeRow does the same as place, for the first cell of the row.
func (w *writer) placeRow(fam *family, row []byte) (walk, error) {
	w.seek = appendPrefix(w.seek[:0], fam.byte, row)
	return w.placeKey(w.seek)
}

func (w *writer) placeKey(key []byte) (walk, error) {
	if w.it == nil {
		var err error
		if w.indexed {
			w.it, err = w.b.NewIter(nil)
		} else {
			w.it, err = w.t.db.NewIter(&readOptions)
		}
		if err != nil {
			return walk{}, err
		}
	} else if w.indexed {
		w.it.SetOptions(&pebble.IterOptions{}) // makes the batch's later changes visible
	}
	c := walk{it: w.it}
	return c, c.moved(w.it.SeekPrefixGE(key))
}

var readOptions = pebble.IterOptions{UseL6Filters: true}

// walk goes through the stored cells of one family's row, including hidden ones.
type walk struct {
	it  *pebble.Iterator
	key []byte // nil at the end
	q   []byte
	ts  int64
}

func (c *walk) moved(ok bool) error {
	if !ok {
		c.key = nil
		return c.it.Error()
	}
	c.key = c.it.Key()
	n := splitKey(c.key)
	if n < 2 {
		return fmt.Errorf("%w: key %x is not a cell's", cellstore.ErrCorrupt, c.key)
	}
	var inverted uint64
	c.q, inverted = splitSuffix(c.key[n:])
	c.ts = int64(^inverted)
	return nil
}

func (c *walk) ok() bool { return c.key != nil }

func (c *walk) in(qualifier []byte) bool { return c.key != nil && bytes.Equal(c.q, qualifier) }

func (c *walk) next() error { return c.moved(c.it.Next()) }

// expiry returns the timestamp below which cells of a family have expired.
func (f *family) expiry(now int64) int64 {
	if f.ttl == 0 {
		return noTTL
	}
	return now - f.ttl
}

// hides reports whether a version is invisible, given the number of newer
// versions in its column. If it is, all older versions are too.
func (f *family) hides(newer int, ts, expiry int64) bool {
	return newer >= f.maxVersions || ts < expiry && newer >= f.minVersions
}

// current is the newest visible version of a column.
type current struct {
	ts    int64
	value []byte // until the writer reads again
	ok    bool
}

// current reads a column.
func (w *writer) current(fam *family, row, qualifier []byte) (current, error) {
	c, err := w.place(fam, row, qualifier, newestFirst)
	if err != nil || !c.in(qualifier) || fam.hides(0, c.ts, fam.expiry(w.now)) {
		return current{}, err
	}
	v, err := c.it.ValueAndErr()
	return current{c.ts, v, err == nil}, err
}
