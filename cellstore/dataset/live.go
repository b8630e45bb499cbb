package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
)

// Live serves the published generation of one data set through a value of T,
// the domain package's reader, and replaces it when another is published. All
// methods may be called from any number of goroutines.
//
//	live := dataset.NewLive(catalog, "places", openFinder)
//	go live.Run(ctx)
//	…
//	h, err := live.Acquire()
//	if err != nil { … }
//	defer h.Release()
//	record, err := h.Value().Place(…)
//
// Everything read between one Acquire and its Release comes from one
// generation.
//
// A read that fails makes Live compare the files of the generation with their checksums; see
// damage.go. A damaged generation continues to serve its undamaged part, and Status reports the
// damage. It is replaced as soon as another is published, or its own files are whole again.
type Live[T any] struct {
	// Notify, when set before the first Poll or Run, is called after every
	// change of Status, one call at a time. It must not call Poll or Close.
	Notify func(Status)

	from    *Generations // nil of NewFixedLive
	dataset string
	bind    func(*Generation) (T, error)

	cur      atomic.Pointer[Handle[T]]
	looked   atomic.Bool // see HasPolled
	status   atomic.Pointer[Status]
	watchers watchers
	closed   atomic.Bool
	done     chan struct{} // closed by Close, ends Run

	mu       sync.Mutex // held by Poll and Close
	failed   entry      // the generation that did not open
	attempts int        // attempts to open it
	retryAt  time.Time
	open     sync.WaitGroup // generations not yet closed
	closeErr error          // guarded by errMu
	errMu    sync.Mutex

	interval time.Duration // between two reads of the pointer

	health health

	older older[T]
	held  held[T]
}

// Status is the state of a Live at one moment.
type Status struct {
	Dataset string
	// Published is the generation that the pointer names; 0 when nothing is
	// published, or the pointer cannot be read.
	Published uint64
	// Serving is the manifest of the generation in service; nil if there is none.
	Serving *Manifest
	Since   time.Time // when it was taken into service
	// Err is the *LoadError that keeps the published generation from service; nil if Serving is the
	// published one.
	Err error
	// Damage is the *DamageError of the files of Serving; nil while no damage is known.
	Damage error
	// ReadFailures counts the reads that failed since the Live was made.
	ReadFailures int64
}

// NewLive returns a Live that serves nothing until the first Poll or Run. from is
// a Catalog, a Depot, or the Generations of either.
//
// bind makes the value of a generation. It may fail, and must leave nothing
// open when it does; a panic counts as failure. When the value is an io.Closer
// it is closed before the generation's store.
func NewLive[T any](from interface{ all() *Generations }, dataset string, bind func(*Generation) (T, error)) *Live[T] {
	l := &Live[T]{from: from.all(), dataset: dataset, bind: bind, done: make(chan struct{}), interval: 2 * time.Second}
	l.health.wake = make(chan struct{}, 1)
	l.older.idle, l.older.busy = olderIdle, olderBusy
	l.status.Store(&Status{Dataset: dataset})
	return l
}

// Handle is one generation in service. Value and Manifest may be used until
// Release.
type Handle[T any] struct {
	value    T
	gen      *Generation
	live     *Live[T]
	refs     Refs          // the Live itself while this is the current generation, and each Acquire
	identity atomic.Uint64 // 0 before it is asked for
}

// Refs counts the users of an object, which is closed when the last user leaves. The maker of the
// object becomes its first user by calling Acquire. No method waits or allocates.
type Refs struct{ n atomic.Int64 }

// dead is far below 0, so that late calls of Acquire never reach 0.
const dead = math.MinInt64 / 2

// Acquire adds a user. It returns false if the last one has left.
func (r *Refs) Acquire() bool {
	ok := r.n.Add(1) > 0
	if !ok {
		r.n.Add(-1)
	}
	return ok
}

// Release removes a user, and reports whether it was the last. The last user must close the object.
// After the count has reached 0, and before it is set to dead, another Acquire can still revive the
// object.
func (r *Refs) Release() (last bool) {
	n := r.n.Add(-1)
	if n < 0 {
		panic("dataset: Release without Acquire")
	}
	return n == 0 && r.n.CompareAndSwap(0, dead)
}

func (r *Refs) ended() bool { return r.n.Load() < 0 }

// Acquire returns the generation in service. Every success needs exactly one
// Release. It returns ErrNoGeneration, with the reason if there is one, when no
// generation is in service, and cellstore.ErrClosed after Close. It neither waits
// nor, on success, allocates.
func (l *Live[T]) Acquire() (*Handle[T], error) {
	for {
		h := l.cur.Load()
		if h == nil {
			return nil, l.unavailable()
		}
		if h.refs.Acquire() {
			return h, nil
		}
		// The handle was replaced and closed after the Load: take the next one.
	}
}

func (l *Live[T]) unavailable() error {
	if l.closed.Load() {
		return l.closedError()
	}
	if err := l.Err(); err != nil {
		return fmt.Errorf("%w: %w", ErrNoGeneration, err)
	}
	return l.unpublished()
}

func (l *Live[T]) closedError() error {
	return fmt.Errorf("data set %s: %w", l.dataset, cellstore.ErrClosed)
}

func (l *Live[T]) unpublished() error {
	return fmt.Errorf("%w of data set %s: ingest it first", ErrUnpublished, l.dataset)
}

// Value returns the value that bind made from the generation.
func (h *Handle[T]) Value() T { return h.value }

// Manifest describes the generation. It is shared: do not change it.
func (h *Handle[T]) Manifest() *Manifest { return &h.gen.Manifest }

// Identity returns of(manifest), and caches it. The result must not be 0.
func (h *Handle[T]) Identity(of func(*Manifest) uint64) uint64 {
	id := h.identity.Load()
	if id == 0 {
		id = of(h.Manifest())
		h.identity.Store(id)
	}
	return id
}

// Release ends the use of the generation. The last release of a replaced
// generation closes it in another goroutine, so that no request waits for that.
func (h *Handle[T]) Release() {
	if h.refs.Release() {
		go h.live.closeHandle(h)
	}
}

func (l *Live[T]) closeHandle(h *Handle[T]) {
	defer l.open.Done()
	err := closeValue(h.value)
	err = errors.Join(err, h.gen.Close())
	l.errMu.Lock()
	l.closeErr = errors.Join(l.closeErr, err)
	l.errMu.Unlock()
}

func closeValue(v any) error {
	if c, ok := v.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// Status returns the state after the last read of the pointer.
func (l *Live[T]) Status() Status {
	s := *l.status.Load()
	s.ReadFailures = l.health.failures.Load()
	return s
}

// HasPolled reports whether the pointer has been read at least once. Until then nothing is in
// service, even if a generation is published.
func (l *Live[T]) HasPolled() bool { return l.looked.Load() || l.from == nil }

// Err returns Status().Err.
func (l *Live[T]) Err() error { return l.status.Load().Err }

// Poll reads the pointer now. If the pointer names another generation than the one in service, Poll
// opens that generation and swaps it in. On failure the old one stays in service, and Poll returns
// the *LoadError that Status.Err has too. If nothing is published any more, the generation goes out
// of service, without an error. When reads have failed, Poll looks for damage. While the files of
// the generation in service stay damaged, it returns the error of Status.Damage.
func (l *Live[T]) Poll(ctx context.Context) error { return l.poll(ctx, true) }

// poll does the same as Poll. Without force, it does not try a generation that failed again before
// retryAt.
func (l *Live[T]) poll(ctx context.Context, force bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed.Load() {
		return l.closedError()
	}
	if l.from == nil {
		return nil
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := l.examine(ctx); err != nil {
			return err
		}
		want, err := l.published(ctx)
		cur := l.cur.Load()
		switch {
		case err != nil:
			return l.fail(entry{}, err)
		case cur != nil && cur.gen.entry == want && l.mendable(force):
			// It is opened again below if all its files are as published.
		case cur != nil && cur.gen.entry == want, cur == nil && want == entry{}:
			l.failed, l.attempts = entry{}, 0
			l.report(want.Generation, nil)
			return nil
		case want == entry{}:
			l.failed, l.attempts = entry{}, 0
			l.replace(nil, 0, nil)
			return nil
		case !force && want == l.failed && l.attempts > 0 && time.Now().Before(l.retryAt):
			return l.Err()
		}
		h, err := l.load(ctx, want, cur != nil) // with the one in service, too, if that is damaged
		if err != nil {
			// It may have been published and pruned again while it was
			// being opened.
			if again, perr := l.published(ctx); perr == nil && again != want {
				continue
			}
			if cur != nil && cur.gen.entry == want {
				return l.stillDamaged(want, err)
			}
			return l.fail(want, err)
		}
		l.failed, l.attempts = entry{}, 0
		l.replace(h, want.Generation, nil)
		return nil
	}
}

// replace takes a generation, or nil for none, into service instead of the one
// before. The other arguments are those of report.
func (l *Live[T]) replace(h *Handle[T], published uint64, err error) {
	if h != nil {
		l.open.Add(1)
	}
	old := l.cur.Swap(h)
	l.health.renewed(old == nil || h == nil || old.gen.entry != h.gen.entry)
	l.report(published, err)
	if old != nil {
		if h != nil { // a dropped generation cannot be acquired by its number
			l.held.add(old)
		}
		old.Release()
	}
}

// published returns the generation that the pointer names, or the zero entry.
func (l *Live[T]) published(ctx context.Context) (entry, error) {
	if err := checkName(l.dataset); err != nil {
		return entry{}, err
	}
	p, err := l.from.pointer(ctx, l.dataset)
	if err != nil {
		return entry{}, err
	}
	if cur := l.cur.Load(); p == nil && cur != nil {
		if err := l.from.back.present(ctx, cur.gen); err != nil {
			return entry{}, err
		}
	}
	if p == nil {
		if p, err = l.lost(ctx); err != nil {
			return entry{}, err
		}
	}
	if p == nil || p.Current == 0 {
		p = new(pointer) // no generation of it can be opened
	}
	l.older.keepListed(p)
	l.held.keepListed(p)
	e, _ := p.find(p.Current)
	return e, nil
}

// firstPublish bounds the time of a first publish from naming a complete generation to writing the
// pointer.
const firstPublish = 500 * time.Millisecond

// lost returns an error if generations exist, because then their pointer is lost. If a pointer has
// appeared meanwhile, it returns that pointer.
func (l *Live[T]) lost(ctx context.Context) (p *pointer, err error) {
	for looked := false; ; looked = true {
		if err = l.from.unpublished(ctx, l.dataset, nil); errors.Is(err, ErrNoGeneration) {
			return nil, nil
		}
		if looked || !errors.Is(err, ErrBadPointer) {
			return nil, err
		}
		if err := pause(ctx, firstPublish); err != nil {
			return nil, err
		}
		if p, err := l.from.pointer(ctx, l.dataset); p != nil || err != nil {
			return p, err
		}
	}
}

// load opens a generation. With check, it first reads the whole generation and compares checksums:
// a damaged generation must not replace a good one that is in service. The first generation is
// loaded without check, so that starting takes no time. If it is damaged, the read that meets the
// damage returns an error.
func (l *Live[T]) load(ctx context.Context, e entry, check bool) (_ *Handle[T], err error) {
	// Damage that no check has noticed may cause a panic. The panic must not end the process, which
	// serves a good generation.
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, debug.Stack())
		}
	}()
	g, err := l.from.back.openListed(ctx, l.dataset, e)
	if err != nil {
		return nil, err
	}
	l.watchReads(g)
	bound := false
	defer func() {
		if !bound {
			_ = g.Close() // err is the reason that matters
		}
	}()
	if check {
		if err := g.Verify(ctx); err != nil {
			return nil, err
		}
	}
	v, err := l.bind(g)
	if err != nil {
		return nil, err
	}
	bound = true
	h := &Handle[T]{value: v, gen: g, live: l}
	h.refs.Acquire()
	return h, nil
}

// fail records that e is published but does not open. The time until the next
// attempt doubles from the interval to a minute: opening may be expensive, and a
// bad generation stays bad, but a full file table or a slow disk may recover.
func (l *Live[T]) fail(e entry, err error) error {
	if e != l.failed {
		l.failed, l.attempts = e, 0
	}
	wait := min(l.interval<<min(l.attempts, 10), time.Minute)
	l.attempts++
	l.retryAt = time.Now().Add(wait)
	le := &LoadError{Dataset: l.dataset, Generation: e.Generation, Err: err}
	if h := l.cur.Load(); h != nil {
		le.Serving = h.gen.Manifest.Generation
	}
	l.report(e.Generation, le)
	return le
}

// report stores the status, and calls Notify when it has changed.
func (l *Live[T]) report(published uint64, err error) {
	old := l.status.Load()
	s := &Status{Dataset: l.dataset, Published: published, Err: err}
	if h := l.cur.Load(); h != nil {
		s.Serving, s.Since, s.Damage = &h.gen.Manifest, old.Since, l.health.damage
		if old.Serving != s.Serving {
			s.Since = time.Now()
		}
	}
	l.status.Store(s)
	same := old.Published == s.Published && old.Serving == s.Serving &&
		sameError(old.Err, err) && sameError(old.Damage, s.Damage)
	if first := !l.looked.Swap(true); first || !same {
		l.watchers.changed()
	}
	if !same && l.Notify != nil {
		l.Notify(*s)
	}
}

func sameError(a, b error) bool {
	return a == b || a != nil && b != nil && a.Error() == b.Error() //nolint:errorlint // the same error, not one of the same kind
}

// Close takes the generation out of service and waits until every handle has been
// released and its store is closed. It returns the errors of closing this and
// earlier generations. A second Close does nothing.
func (l *Live[T]) Close() error {
	l.mu.Lock()
	if l.closed.CompareAndSwap(false, true) {
		close(l.done)
		h := l.cur.Swap(nil)
		l.status.Store(&Status{Dataset: l.dataset})
		l.watchers.changed()
		if h != nil {
			h.Release()
		}
		l.older.close()
	}
	l.mu.Unlock()
	l.open.Wait()
	l.errMu.Lock()
	defer l.errMu.Unlock()
	err := l.closeErr
	l.closeErr = nil
	return err
}
