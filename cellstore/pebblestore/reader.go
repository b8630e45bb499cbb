package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
)

// reader holds the working memory of a call, and one iterator per family, opened on first use. Idle
// readers keep their iterators open, because opening one costs more than a seek.
//
// The call that uses the reader holds mu. Close, Stats and the release of stale iterators lock mu
// in order to run between calls.
type reader struct {
	t  *source
	mu sync.Mutex

	// These fields are guarded by mu.
	free  bool               // no call or scan has it
	dead  bool               // its iterators are closed for good
	lay   *layout            // the layout of the following fields
	done  uint64             // done of the source before its iterators were made
	its   []*pebble.Iterator // by index of layout.fams
	timed bool               // the iterators skip blocks by view's time range

	view view
	cur  []cursor // one per selected family, in the order of names
	key  []byte
}

// maxReaders is the number of idle readers that a table keeps. If more calls run at once, more
// readers are made, and are discarded when the calls end.
var maxReaders = int64(max(16, 4*runtime.GOMAXPROCS(0)))

// acquire returns a reader, locked.
func (t *source) acquire() (*reader, error) {
	for {
		r, _ := t.idle.Get().(*reader)
		if r == nil {
			return t.acquireSlow()
		}
		r.mu.Lock()
		if r.free {
			r.take()
			return r, nil
		}
		// Another goroutine took the reader from t.readers meanwhile, or the reader is dead.
		r.mu.Unlock()
	}
}

// acquireSlow finds an idle reader that the pool has lost, or makes one.
func (t *source) acquireSlow() (*reader, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over != nil {
		return nil, t.over
	}
	for _, r := range t.readers {
		if !r.mu.TryLock() {
			continue
		}
		if r.free {
			r.take()
			return r, nil
		}
		r.mu.Unlock()
	}
	return t.newReader(), nil
}

// newReader registers a reader, locked. The caller holds t.mu.
func (t *source) newReader() *reader {
	r := &reader{t: t}
	r.mu.Lock()
	r.fit(t.lay.Load())
	t.readers = append(t.readers, r)
	t.count.Add(1)
	return r
}

func (r *reader) take() {
	r.free = false
	if lay := r.t.lay.Load(); lay != r.lay {
		r.closeIterators()
		r.fit(lay)
	} else if r.done != r.t.begun.Load() {
		r.closeIterators()
	}
}

// fit makes room for the families of a layout.
func (r *reader) fit(lay *layout) {
	r.lay = lay
	r.its = make([]*pebble.Iterator, len(lay.fams))
	r.cur = make([]cursor, 0, len(lay.fams))
	r.view.fams = nil
}

// release ends the use of a reader.
func (r *reader) release() {
	r.view.forget()
	t := r.t
	switch {
	case r.dead:
		r.mu.Unlock()
	case r.timed, t.count.Load() > maxReaders:
		r.discard()
	default:
		if r.done != t.begun.Load() {
			r.closeIterators() // a long call: they keep files and memory of an old state
		}
		r.free = true
		r.mu.Unlock()
		t.idle.Put(r)
	}
}

// discard closes a reader that will not be used again.
func (r *reader) discard() {
	t := r.t
	r.closeIterators()
	r.dead = true
	r.mu.Unlock()
	t.mu.Lock()
	if i := slices.Index(t.readers, r); i >= 0 {
		t.readers = slices.Delete(t.readers, i, i+1)
		t.count.Add(-1)
	}
	t.mu.Unlock()
}

// broken closes the iterators after one of them failed, so that the next call
// does not use their state, and reports the failure to OnReadFailure's function.
func (r *reader) broken(err error) {
	if !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
		r.closeIterators()
		r.t.failed(err)
	}
}

// closeIterators closes the iterators and adds up their counts. The errors of iterators have
// already been returned by calls.
func (r *reader) closeIterators() {
	var sum cellstore.IOStats
	for i, it := range r.its {
		if it != nil {
			sum = addStats(sum, iteratorStats(it))
			_ = it.Close()
			r.its[i] = nil
		}
	}
	if sum != (cellstore.IOStats{}) {
		r.t.retired.add(sum)
	}
}

// iterator returns the reader's iterator of a family. All iterators of a
// reader show the same state of the database: the first fixes it and the
// others are cloned from it.
func (r *reader) iterator(f int) (*pebble.Iterator, error) {
	if it := r.its[f]; it != nil {
		return it, nil
	}
	fam := &r.lay.fams[f]
	o := &pebble.IterOptions{LowerBound: fam.lower, UpperBound: fam.upper, UseL6Filters: true}
	if r.timed {
		o.PointKeyFilters = r.view.blockFilters(fam)
	}
	var it *pebble.Iterator
	var err error
	if i := slices.IndexFunc(r.its, func(it *pebble.Iterator) bool { return it != nil }); i >= 0 {
		it, err = r.its[i].Clone(pebble.CloneOptions{IterOptions: o})
	} else {
		r.done = r.t.done.Load()
		it, err = r.t.from.NewIter(o)
	}
	if err != nil {
		return nil, err
	}
	r.its[f] = it
	return it, nil
}

// open makes a cursor for each selected family.
func (r *reader) open() error {
	if r.view.empty() {
		r.cur = r.cur[:0]
		return nil
	}
	r.cur = r.cur[:len(r.view.fams)]
	for i := range r.view.fams {
		sel := &r.view.fams[i]
		it, err := r.iterator(sel.index)
		if err != nil {
			return err
		}
		c := &r.cur[i]
		c.it, c.fam, c.sel, c.view = it, &r.lay.fams[sel.index], sel, &r.view
	}
	return nil
}

// get reads one row.
func (r *reader) get(key []byte, row *cellstore.Row) error {
	if err := r.open(); err != nil {
		return err
	}
	for i := range r.cur {
		if err := r.cur[i].get(key, row); err != nil {
			return err
		}
	}
	return nil
}

// seek moves every cursor to the first row at or after from.
func (r *reader) seek(from []byte) error {
	if err := r.open(); err != nil {
		return err
	}
	from = clip(from)
	for i := range r.cur {
		c := &r.cur[i]
		c.exact = false
		r.key = appendPrefix(r.key[:0], c.fam.byte, from)
		if err := c.moved(c.it.SeekGE(r.key)); err != nil {
			return err
		}
	}
	return nil
}

// next reads the first row that has a selected visible cell, from the position of the cursors up to
// but not including to. It moves the cursors past the row. If there is none, it leaves the row
// without cells.
func (r *reader) next(ctx context.Context, to []byte, row *cellstore.Row) error {
	if len(r.cur) == 1 {
		return r.cur[0].next(ctx, to, row)
	}
	for {
		first := r.first()
		if first < 0 || !before(r.cur[first].rowKey(), to) {
			return nil
		}
		if err := r.cur[first].read(row); err != nil {
			return err
		}
		for i := first + 1; i < len(r.cur); i++ {
			if c := &r.cur[i]; c.ok() && bytes.Equal(c.rowKey(), row.Key) {
				if err := c.read(row); err != nil {
					return err
				}
			}
		}
		if len(row.Cells) > 0 {
			return nil
		}
		row.Reset()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

// first returns the index of the cursor at the smallest row, or -1. Of several such cursors it
// returns the first.
func (r *reader) first() int {
	best := -1
	for i := range r.cur {
		if c := &r.cur[i]; c.ok() && (best < 0 || bytes.Compare(c.rowKey(), r.cur[best].rowKey()) < 0) {
			best = i
		}
	}
	return best
}

// seekBack moves every cursor to the last cell of the last row at or before from.
func (r *reader) seekBack(from []byte) error {
	if err := r.open(); err != nil {
		return err
	}
	for i := range r.cur {
		c := &r.cur[i]
		c.exact = false
		var ok bool
		if len(from) == 0 {
			ok = c.it.Last()
		} else {
			// The key is the prefix of the direct successor of the row `from`.
			r.key = appendPrefix(r.key[:0], c.fam.byte, clip(from))
			r.key = append(r.key, 0)
			ok = c.it.SeekLT(r.key)
		}
		if err := c.moved(ok); err != nil {
			return err
		}
	}
	return nil
}

// prev does the same as next in the direction of the start of the table, down to the row downTo.
// That row is left out unless inclusive is set.
func (r *reader) prev(ctx context.Context, downTo []byte, inclusive bool, row *cellstore.Row) error {
	for {
		last := -1
		for i := range r.cur {
			if c := &r.cur[i]; c.ok() && (last < 0 || bytes.Compare(c.rowKey(), r.cur[last].rowKey()) > 0) {
				last = i
			}
		}
		if last < 0 {
			return nil
		}
		if len(downTo) > 0 {
			if d := bytes.Compare(r.cur[last].rowKey(), downTo); d < 0 || d == 0 && !inclusive {
				return nil
			}
		}
		r.key = append(r.key[:0], r.cur[last].rowKey()...)
		for i := last; i < len(r.cur); i++ {
			if c := &r.cur[i]; c.ok() && bytes.Equal(c.rowKey(), r.key) {
				if err := c.readBack(row); err != nil {
					return err
				}
			}
		}
		if len(row.Cells) > 0 {
			return nil
		}
		row.Reset()
		if err := ctx.Err(); err != nil {
			return err
		}
	}
}

func clip(end []byte) []byte { return clipTo(end, cellstore.DefaultLimits.RowKeyBytes) }

// clipTo shortens an end of a range to one byte more than the longest stored key.
// No row lies between the two, and hostile ends cost no memory.
func clipTo(end []byte, limit int) []byte {
	if len(end) > limit+1 {
		return end[:limit+1]
	}
	return end
}
