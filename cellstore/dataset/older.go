package dataset

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"quadrille/cellstore"
)

const (
	// maxOlder bounds the generations that a Live keeps open besides the one in service, for
	// callers that name a generation by its number.
	maxOlder = 2
	// olderIdle is the time for which an older generation stays open after its last use. Until then
	// it cannot be pruned.
	olderIdle = 5 * time.Minute
	// olderBusy is the idle time after which another generation may replace an open one. It
	// prevents that each of many requests opens a store.
	olderBusy = 10 * time.Second
	// olderLook bounds the time of reading the pointer, since other callers wait. After a failure,
	// callers are refused for the same time without another attempt.
	olderLook = 3 * time.Second
	// olderOpen bounds the time of opening a generation, since others wait too.
	olderOpen = 5 * time.Second
)

// older holds the generations that a Live keeps open besides the one in service.
type older[T any] struct {
	idle, busy time.Duration

	mu      sync.Mutex
	open    []olderGeneration[T]
	failed  uint64 // the last generation that did not open, and
	failErr error  // why
	retryAt time.Time
	lookErr error // why the last read of the pointer got no answer
	lookAt  time.Time
	timer   *time.Timer // runs while any is open
}

type olderGeneration[T any] struct {
	handle *Handle[T]
	used   time.Time
}

// AcquireGeneration returns a generation by its number: the generation in service, one that was in
// service and that a caller still holds, or another listed one. It opens the latter if necessary,
// and keeps it open for a while. Every success needs exactly one Release. For the generation in
// service the cost is that of Acquire.
//
// It returns ErrPruned when the generation has been removed, ErrNoGeneration when
// the number has not been used yet, ErrOlderBusy when other older generations
// were used just now, and cellstore.ErrClosed after Close.
func (l *Live[T]) AcquireGeneration(generation uint64) (*Handle[T], error) {
	return l.acquireGeneration(generation, false)
}

// AcquireEvenIfDropped does the same as AcquireGeneration, but also for a data set that has been dropped, as
// long as its files exist. It is for callers that report what the drop has changed.
func (l *Live[T]) AcquireEvenIfDropped(generation uint64) (*Handle[T], error) {
	return l.acquireGeneration(generation, true)
}

func (l *Live[T]) acquireGeneration(generation uint64, dropped bool) (*Handle[T], error) {
	h, err := l.Acquire()
	if err == nil {
		if h.gen.Manifest.Generation == generation {
			return h, nil
		}
		h.Release()
	}
	if l.closed.Load() {
		return nil, l.closedError()
	}
	if h := l.held.acquire(generation); h != nil {
		return h, nil
	}
	o := &l.older
	o.mu.Lock()
	defer o.mu.Unlock()
	if l.closed.Load() {
		return nil, l.closedError()
	}
	now := time.Now()
	for i := range o.open {
		if e := &o.open[i]; e.handle.gen.Manifest.Generation == generation {
			e.used = now
			e.handle.refs.Acquire()
			return e.handle, nil
		}
	}
	if o.failed == generation && now.Before(o.retryAt) {
		return nil, o.failErr
	}
	if o.lookErr != nil && now.Before(o.lookAt) {
		return nil, o.lookErr
	}
	e, err := l.listed(generation, dropped)
	if o.lookErr = nil; errors.Is(err, cellstore.ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		o.lookErr, o.lookAt = err, time.Now().Add(olderLook)
	}
	if err != nil {
		return nil, err
	}
	if !o.makeRoom(now) {
		return nil, fmt.Errorf("%w: ask for generation %d of data set %s again in a few seconds", ErrOlderBusy, generation, l.dataset)
	}
	ctx, cancel := context.WithTimeout(context.Background(), olderOpen)
	defer cancel()
	if h, err = l.load(ctx, e, false); err != nil {
		// It may have been removed while it was being opened.
		if ctx.Err() == nil && !errors.Is(err, cellstore.ErrUnavailable) {
			if _, lerr := l.listed(generation, dropped); errors.Is(lerr, ErrPruned) {
				return nil, lerr
			}
		}
		o.failed, o.failErr, o.retryAt = generation, err, time.Now().Add(o.busy)
		return nil, err
	}
	l.open.Add(1)
	h.refs.Acquire() // one for the list, one for the caller
	o.open = append(o.open, olderGeneration[T]{h, now})
	if o.timer == nil {
		o.timer = time.AfterFunc(o.idle, o.sweep)
	}
	return h, nil
}

// listed finds a generation in the pointer.
func (l *Live[T]) listed(generation uint64, dropped bool) (entry, error) {
	ctx, cancel := context.WithTimeout(context.Background(), olderLook)
	defer cancel()
	if l.from == nil {
		return entry{}, l.unpublished()
	}
	p, err := l.from.pointer(ctx, l.dataset)
	if err == nil && (p == nil || p.Current == 0 && !dropped) {
		err = l.unpublished()
	}
	if err != nil {
		return entry{}, err
	}
	if p == nil { // it was dropped, and its files are removed
		p = &pointer{Last: generation}
	}
	e, ok := p.find(generation)
	switch {
	case ok:
		return e, nil
	case generation == 0 || generation > p.Last:
		return entry{}, fmt.Errorf("%w: data set %s has had none of number %d: ask for a published one", ErrNoGeneration, l.dataset, generation)
	}
	return entry{}, fmt.Errorf("%w: generation %d of data set %s, use a newer one", ErrPruned, generation, l.dataset)
}

// makeRoom closes the generation that has been unused longest, if maxOlder are
// open. It reports whether there is room. The caller holds the lock.
func (o *older[T]) makeRoom(now time.Time) bool {
	if len(o.open) < maxOlder {
		return true
	}
	oldest := 0
	for i := range o.open {
		if o.open[i].used.Before(o.open[oldest].used) {
			oldest = i
		}
	}
	if now.Sub(o.open[oldest].used) < o.busy {
		return false
	}
	o.drop(oldest)
	return true
}

func (o *older[T]) drop(i int) {
	h := o.open[i].handle
	o.open = append(o.open[:i], o.open[i+1:]...)
	h.Release()
}

// keepListed closes the generations that are no longer listed. A Depot may remove them although
// they are open here. After Unpublish and Prune another generation may have the number.
func (o *older[T]) keepListed(p *pointer) {
	// The holder of the lock may be opening a generation, which can take long. The next poll tries
	// again within seconds.
	if !o.mu.TryLock() {
		return
	}
	defer o.mu.Unlock()
	for i := len(o.open) - 1; i >= 0; i-- {
		if gen := o.open[i].handle.gen; !p.lists(gen.entry) {
			o.drop(i)
		}
	}
}

// sweep closes the generations that have not been used for a while.
func (o *older[T]) sweep() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	for i := len(o.open) - 1; i >= 0; i-- {
		if now.Sub(o.open[i].used) >= o.idle {
			o.drop(i)
		}
	}
	if o.timer = nil; len(o.open) > 0 {
		o.timer = time.AfterFunc(o.idle, o.sweep)
	}
}

// close closes all generations. No other is opened afterwards.
func (o *older[T]) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
	}
	for len(o.open) > 0 {
		o.drop(len(o.open) - 1)
	}
}

// held has the generations that have been in service and that callers may still hold.
type held[T any] struct {
	mu   sync.Mutex
	list []*Handle[T]
}

// add adds a generation that goes out of service. Callers that have it keep holding it.
func (l *held[T]) add(h *Handle[T]) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(func(*Handle[T]) bool { return true })
	l.list = append(l.list, h)
}

// acquire returns a generation that is held, or nil.
func (l *held[T]) acquire(generation uint64) *Handle[T] {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, h := range l.list {
		if h.gen.Manifest.Generation == generation && h.refs.Acquire() {
			return h
		}
	}
	return nil
}

// keepListed removes the generations that are no longer listed; see older.keepListed.
func (l *held[T]) keepListed(p *pointer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.keep(func(h *Handle[T]) bool { return p.lists(h.gen.entry) })
}

// keep forgets the generations for which which returns false, and those that are closed. The caller
// holds the lock.
func (l *held[T]) keep(which func(*Handle[T]) bool) {
	l.list = slices.DeleteFunc(l.list, func(h *Handle[T]) bool { return h.refs.ended() || !which(h) })
}
