package dataset

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
)

// One read that fails proves nothing: it may have been a disk that was slow to
// wake, a network file system that stalled, or a bit that flipped in memory. So
// it marks nothing by itself. It makes the next Poll, which Run does at once,
// compare every file of the generation with its checksum:
//
//   - A file that differs, or cannot be read, is damage: Status.Damage is set,
//     and stays. The generation serves on, since most of it is whole and reads of
//     the rest fail.
//   - If all files are whole, the generation is opened anew, which drops whatever
//     was read wrongly, and nothing is marked. When damage is met again and again
//     where the files are whole, it is marked all the same: something is wrong
//     that checksums of files do not see.
//
// The mark goes when another generation comes into service. Where files
// were damaged, they are also compared again at growing intervals of up to a
// minute: a disk may come back, and files may be restored. As they may be new
// files, the generation is opened anew then. A mark therefore never goes because
// a single read went well.

const (
	// examineEvery is how many intervals lie at least between two comparisons of
	// whole files, since each reads all of the data: a minute.
	examineEvery = 30
	// mostCleared is how often damage may be met in files that are whole.
	mostCleared = 3
)

// health is what a Live knows of the generation it serves.
type health struct {
	failures  atomic.Int64
	suspicion atomic.Pointer[suspicion]
	wake      chan struct{} // tells Run of a suspicion

	// Guarded by Live.mu.
	damage   error     // of the generation in service
	lasting  bool      // the damage is none of the files', which need not be compared again
	cleared  int       // how often damage was met though the files are whole
	checkAt  time.Time // when they may be compared again
	attempts int       // how often the damaged files were
}

// suspicion is a read that failed.
type suspicion struct {
	gen *Generation
	err error
}

// renewed forgets what was known; another tells whether it is not the same
// generation, opened anew. Live.mu is held.
func (h *health) renewed(another bool) {
	h.damage, h.lasting, h.attempts = nil, false, 0
	if another {
		h.cleared, h.checkAt = 0, time.Time{}
	}
}

// watchReads has failing reads of a generation reported.
func (l *Live[T]) watchReads(g *Generation) {
	g.suspect = func(err error) {
		if errors.Is(err, cellstore.ErrClosed) {
			return
		}
		l.health.failures.Add(1)
		if !l.health.suspicion.CompareAndSwap(nil, &suspicion{g, err}) {
			return
		}
		select {
		case l.health.wake <- struct{}{}:
		default:
		}
	}
	if s, ok := g.Store.(failureReporter); ok {
		s.OnReadFailure(g.suspect)
	}
}

// examine looks for the reason of a read that failed. It returns the error of
// ctx only. l.mu is held.
func (l *Live[T]) examine(ctx context.Context) error {
	h, cur := &l.health, l.cur.Load()
	s := h.suspicion.Load()
	switch {
	case s == nil:
		return nil
	case cur == nil || s.gen != cur.gen || h.damage != nil:
		// Of an older generation, which is asked for by its number, or known.
		h.suspicion.Store(nil)
		return nil
	case time.Now().Before(h.checkAt):
		return nil // it is kept until then
	}
	defer h.suspicion.Store(nil) // last, so that what failed meanwhile counts as the same
	err := cur.gen.Verify(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	h.checkAt = time.Now().Add(examineEvery * l.interval)
	if err == nil && errors.Is(s.err, cellstore.ErrCorrupt) {
		if h.cleared++; h.cleared > mostCleared {
			h.lasting = true
			err = fmt.Errorf("reads fail though its files are as they were published: ingest the data again, and if that does not help test the memory of the machine: %w", s.err)
		}
	}
	if err != nil {
		l.mark(cur, err)
		return nil
	}
	again, err := l.load(ctx, cur.gen.entry, false)
	if err != nil {
		if ctx.Err() == nil {
			l.mark(cur, err)
		}
		return ctx.Err()
	}
	st := l.status.Load()
	l.replace(again, st.Published, st.Err) // where another does not open, that is as true as before
	return nil
}

// mark says that the generation in service is damaged.
func (l *Live[T]) mark(cur *Handle[T], err error) {
	h := &l.health
	h.damage = &DamageError{Dataset: l.dataset, Generation: cur.gen.Manifest.Generation, Err: err}
	h.attempts, h.checkAt = 1, time.Now().Add(l.interval)
	st := l.status.Load()
	l.report(st.Published, st.Err)
}

// mendable reports whether the files of the generation in service were damaged
// and it is time to see whether they are whole again.
func (l *Live[T]) mendable(force bool) bool {
	h := &l.health
	return h.damage != nil && !h.lasting && (force || !time.Now().Before(h.checkAt))
}

// stillDamaged settles that e, which is in service, cannot be opened anew.
func (l *Live[T]) stillDamaged(e entry, err error) error {
	h := &l.health
	h.checkAt = time.Now().Add(min(l.interval<<min(h.attempts, 10), time.Minute))
	h.attempts++
	l.report(e.Generation, nil)
	return h.damage
}
