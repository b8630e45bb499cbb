package dataset

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"quadrille/cellstore"
)

const (
	// maxOlder is how many generations a Live keeps open besides the one in
	// service, for those who ask for one by its number.
	maxOlder = 2
	// olderIdle is how long one stays open that nobody asks for. Until then it
	// cannot be pruned.
	olderIdle = 5 * time.Minute
	// olderBusy is how long one must not have been asked for to make room for
	// another, so that no sequence of requests makes every one of them open a
	// store.
	olderBusy = 10 * time.Second
	// olderLook bounds the look at the pointer for one, which others wait for,
	// and is how long they are spared another that would fail.
	olderLook = 3 * time.Second
	// olderOpen bounds the opening of one, which others wait for too.
	olderOpen = 5 * time.Second
)

// older are the generations that a Live holds besides the one in service.
type older[T any] struct {
	idle, busy time.Duration

	mu      sync.Mutex
	held    []heldOlder[T]
	failed  uint64 // the last one that did not open, and
	failErr error  // why
	retryAt time.Time
	lookErr error // of the last look at the pointer, if the store did not answer
	lookAt  time.Time
	timer   *time.Timer // runs while any is held
}

type heldOlder[T any] struct {
	handle *Handle[T]
	used   time.Time
}

// AcquireGeneration returns a generation by its number: the one in service, or
// another that is listed, which it opens, if need be, and keeps open for a while.
// Every success needs exactly one Release.
//
// ErrPruned when the generation has been removed, ErrNoGeneration when there has
// been none of that number yet, ErrOlderBusy when others are asked for at the
// same time, and cellstore.ErrClosed after Close. One in service costs what
// Acquire does.
func (l *Live[T]) AcquireGeneration(generation uint64) (*Handle[T], error) {
	h, err := l.Acquire()
	if err == nil {
		if h.gen.Manifest.Generation == generation {
			return h, nil
		}
		h.Release()
	}
	o := &l.older
	o.mu.Lock()
	defer o.mu.Unlock()
	if l.closed.Load() {
		return nil, fmt.Errorf("data set %s: %w", l.dataset, cellstore.ErrClosed)
	}
	now := time.Now()
	for i := range o.held {
		if e := &o.held[i]; e.handle.gen.Manifest.Generation == generation {
			e.used = now
			e.handle.refs.Add(1)
			return e.handle, nil
		}
	}
	if o.failed == generation && now.Before(o.retryAt) {
		return nil, o.failErr
	}
	if o.lookErr != nil && now.Before(o.lookAt) {
		return nil, o.lookErr
	}
	e, err := l.listed(generation)
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
		// Removed while it was being opened: that is not its fault.
		if ctx.Err() == nil && !errors.Is(err, cellstore.ErrUnavailable) {
			if _, lerr := l.listed(generation); errors.Is(lerr, ErrPruned) {
				return nil, lerr
			}
		}
		o.failed, o.failErr, o.retryAt = generation, err, time.Now().Add(o.busy)
		return nil, err
	}
	l.open.Add(1)
	h.refs.Add(1) // one for the list, one for the caller
	o.held = append(o.held, heldOlder[T]{h, now})
	if o.timer == nil {
		o.timer = time.AfterFunc(o.idle, o.sweep)
	}
	return h, nil
}

// listed finds a generation that exists.
func (l *Live[T]) listed(generation uint64) (entry, error) {
	ctx, cancel := context.WithTimeout(context.Background(), olderLook)
	defer cancel()
	p, err := l.from.pointer(ctx, l.dataset)
	if err == nil && p == nil {
		err = l.from.unpublished(l.dataset)
	}
	if err != nil {
		return entry{}, err
	}
	e, ok := p.find(generation)
	switch {
	case ok:
		return e, nil
	case generation == 0 || generation > p.Last:
		return entry{}, fmt.Errorf("%w: data set %s has had none of number %d", ErrNoGeneration, l.dataset, generation)
	}
	return entry{}, fmt.Errorf("%w: generation %d of data set %s, use a newer one", ErrPruned, generation, l.dataset)
}

// makeRoom lets go of the generation that has not been asked for longest, if
// there must be room. The lock is held.
func (o *older[T]) makeRoom(now time.Time) bool {
	if len(o.held) < maxOlder {
		return true
	}
	oldest := 0
	for i := range o.held {
		if o.held[i].used.Before(o.held[oldest].used) {
			oldest = i
		}
	}
	if now.Sub(o.held[oldest].used) < o.busy {
		return false
	}
	o.drop(oldest)
	return true
}

func (o *older[T]) drop(i int) {
	h := o.held[i].handle
	o.held = append(o.held[:i], o.held[i+1:]...)
	h.Release()
}

// keepListed lets go of what is listed no more: from a Depot it may be removed
// although it is open here.
func (o *older[T]) keepListed(p *pointer) {
	// Whoever holds the lock may be opening a generation, which can take long;
	// the next look comes in seconds.
	if !o.mu.TryLock() {
		return
	}
	defer o.mu.Unlock()
	for i := len(o.held) - 1; i >= 0; i-- {
		if _, ok := p.find(o.held[i].handle.gen.Manifest.Generation); !ok {
			o.drop(i)
		}
	}
}

// sweep lets go of what nobody asks for.
func (o *older[T]) sweep() {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	for i := len(o.held) - 1; i >= 0; i-- {
		if now.Sub(o.held[i].used) >= o.idle {
			o.drop(i)
		}
	}
	if o.timer = nil; len(o.held) > 0 {
		o.timer = time.AfterFunc(o.idle, o.sweep)
	}
}

// close lets go of everything. Nothing is opened afterwards.
func (o *older[T]) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
	}
	for len(o.held) > 0 {
		o.drop(len(o.held) - 1)
	}
}
