package dataset

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
)

// A single failed read proves nothing: the disk may have been slow to wake, a network file system
// may have stalled, or a bit may have flipped in memory. So a failed read alone marks nothing. It
// makes the next Poll, which Run calls at once, compare every file of the generation with its
// checksum:
//
//   - A file that differs or cannot be read is damage: Status.Damage is set. The
//     generation stays in service, since most of it is whole and reads of the
//     rest fail.
//   - If all files are whole, nothing is marked. The generation is opened again,
//     which drops anything read wrongly. If reads meet damage again and again
//     although the files are whole, the generation is marked all the same:
//     there is a fault that checksums of files do not detect.
//
// The mark goes when another generation comes into service. Damaged files are
// also compared again at growing intervals of up to a minute: a disk may come
// back, and files may be restored. If they are whole then, the generation is
// opened again, since they may be new files. So a single good read never removes
// a mark.

const (
	// examineEvery is the least number of intervals between two comparisons of all files. The
	// intervals add up to a minute, because each comparison reads all of the data.
	examineEvery = 30
	// mostCleared bounds the number of reads that report damage although the files are intact.
	mostCleared = 3
)

// health is the record of damage to the generation in service of a Live.
type health struct {
	failures  atomic.Int64
	suspicion atomic.Pointer[suspicion]
	wake      chan struct{} // wakes Run after a suspicion

	// These fields are guarded by Live.mu.
	damage   error     // of the generation in service
	lasting  bool      // the files are whole, so comparing them again is useless
	cleared  int       // number of reads that met damage although the files are whole
	checkAt  time.Time // when the files may be compared again
	attempts int       // number of comparisons of damaged files
}

// suspicion is a failed read, which may be a sign of damage.
type suspicion struct {
	gen *Generation
	err error
}

// renewed resets the state of health after a swap. another is false if the same generation was
// opened again. The caller holds Live.mu.
func (h *health) renewed(another bool) {
	h.damage, h.lasting, h.attempts = nil, false, 0
	if another {
		h.cleared, h.checkAt = 0, time.Time{}
	}
}

// watchReads makes each failed read of a generation raise a suspicion.
func (l *Live[T]) watchReads(g *Generation) {
	g.suspect = func(err error) {
		if errors.Is(err, cellstore.ErrClosed) {
			return
		}
		l.health.failures.Add(1)
		if cellstore.IsShortage(err) {
			return // the files are as they were
		}
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

// examine looks for the reason of a failed read. The only error it returns is
// that of ctx. The caller holds l.mu.
func (l *Live[T]) examine(ctx context.Context) error {
	h, cur := &l.health, l.cur.Load()
	s := h.suspicion.Load()
	switch {
	case s == nil:
		return nil
	case cur == nil || s.gen != cur.gen || h.damage != nil:
		// The failed read was of an older generation, or the damage is already known.
		h.suspicion.Store(nil)
		return nil
	case time.Now().Before(h.checkAt):
		return nil // the suspicion stays until then
	}
	defer h.suspicion.Store(nil) // last, so that failures meanwhile count as the same
	err := cur.gen.Verify(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if cellstore.IsShortage(err) {
		return nil // the next failed read is examined
	}
	h.checkAt = time.Now().Add(examineEvery * l.interval)
	if err == nil && errors.Is(s.err, cellstore.ErrCorrupt) {
		if h.cleared++; h.cleared > mostCleared {
			h.lasting = true
			err = fmt.Errorf("reads fail though its files are as they were published: ingest the data again, and if that does "+
				"not help test the memory of the machine: %w", s.err)
		}
	}
	if err != nil {
		l.mark(cur, err)
		return nil
	}
	again, err := l.load(ctx, cur.gen.entry, false)
	if err != nil {
		if ctx.Err() == nil && !cellstore.IsShortage(err) {
			l.mark(cur, err)
		}
		return ctx.Err()
	}
	st := l.status.Load()
	l.replace(again, st.Published, st.Err) // a newer one that does not open keeps its error
	return nil
}

// mark reports that the generation in service is damaged.
func (l *Live[T]) mark(cur *Handle[T], err error) {
	h := &l.health
	h.damage = &DamageError{Dataset: l.dataset, Generation: cur.gen.Manifest.Generation, Err: err}
	h.attempts, h.checkAt = 1, time.Now().Add(l.interval)
	st := l.status.Load()
	l.report(st.Published, st.Err)
}

// mendable reports whether files of the generation in service were found damaged, and it is time to
// compare them again.
func (l *Live[T]) mendable(force bool) bool {
	h := &l.health
	return h.damage != nil && !h.lasting && (force || !time.Now().Before(h.checkAt))
}

// stillDamaged records that the generation in service, e, cannot be opened again.
func (l *Live[T]) stillDamaged(e entry, err error) error {
	h := &l.health
	h.checkAt = time.Now().Add(min(l.interval<<min(h.attempts, 10), time.Minute))
	h.attempts++
	l.report(e.Generation, nil)
	return h.damage
}
