package live

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/quadkey"
)

// This file keeps live collections in service while the disk is full, or damaged.

// Trouble is the reason why a live collection cannot be read or written.
type Trouble struct {
	Name string
	// Private is set unless the collection is known to be public: an unreadable collection may be
	// private.
	Private bool
	// Err matches ErrDamaged, cellstore.ErrLayout or ErrUnreadable if the collection cannot be
	// read, see DamagedError, and ErrWritesRefused if it takes no writes. In a call of Notify it may
	// match ErrUnfinished, and is nil once the trouble is over.
	Err error
}

// DamagedError is the reason why a collection cannot be read. It matches one of ErrDamaged,
// cellstore.ErrNewer, cellstore.ErrOlder and ErrUnreadable. Of all other errors, it matches only
// cellstore.ErrShortage, if its cause does.
type DamagedError struct {
	Name    string
	Private bool // whether the collection is known to be private
	Cause   error
}

// unopened are the kinds of a DamagedError by the error that they match, each with advice for
// causes that have none of their own. All other errors are ErrUnreadable.
var unopened = [...]struct {
	cause, kind error
	todo        string
}{
	{
		cellstore.ErrShortage,
		ErrUnreadable,
		"it is tried again by itself; raise the limit of open files, such as by ulimit -n or LimitNOFILE=, if it lasts",
	},
	{cellstore.ErrCorrupt, ErrDamaged, "run tileserver live verify on the directory while no server has it open"},
	{cellstore.ErrNewer, cellstore.ErrNewer, ""},
	{cellstore.ErrOlder, cellstore.ErrOlder, ""},
}

// kind returns the advice, and the kind that e matches.
func (e *DamagedError) kind() (todo string, kind error) {
	for _, u := range unopened {
		if errors.Is(e.Cause, u.cause) {
			return u.todo, u.kind
		}
	}
	return "it is tried again by itself; mend what the error names", ErrUnreadable
}

func (e *DamagedError) Error() string {
	todo, kind := e.kind()
	if todo == "" {
		return fmt.Sprintf("collection %s: %v", e.Name, e.Cause)
	}
	return fmt.Sprintf("collection %s: %v: %s: %v", e.Name, kind, todo, e.Cause)
}

// Is reports whether e matches an error.
func (e *DamagedError) Is(target error) bool {
	_, kind := e.kind()
	return errors.Is(kind, target) || target == cellstore.ErrShortage && cellstore.IsShortage(e.Cause)
}

// Troubles returns the collections with errors, by name.
func (s *Store) Troubles() []Trouble {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var all []Trouble
	for _, t := range s.damaged {
		all = append(all, t)
	}
	for _, c := range s.collections {
		if t := c.trouble.Load(); t != nil {
			all = append(all, *t)
		}
	}
	slices.SortFunc(all, func(a, b Trouble) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// current returns the state for queries.
type current struct {
	index Index
	log   Log
	rows  cellstore.Table
	err   error // why there is no state
	// leaving is set before the store closes the table, and replaced is closed when there is
	// another state.
	leaving  atomic.Bool
	replaced chan struct{}
	ending   sync.Once
}

// close closes the index, the first time.
func (n *current) close() (err error) {
	n.ending.Do(func() {
		if n.index != nil {
			err = n.index.Close()
		}
	})
	return err
}

// show makes s the current state. If s is nil, err is the reason why there is none.
func (c *Collection) show(s *stored, err error) {
	now := &current{err: err, replaced: make(chan struct{})}
	if s != nil {
		now.index, now.log, now.rows = s.index, s.log, s.rows
	}
	if old := c.now.Swap(now); old != nil {
		close(old.replaced)
	}
}

// read calls fn with the current state. It calls fn again if the table was closed meanwhile, either
// to be opened again or to be dropped (the drop may have failed).
func (c *Collection) read(ctx context.Context, fn func(now *current) error) error {
	for {
		now := c.now.Load()
		if now.err != nil {
			return now.err
		}
		err := fn(now)
		switch {
		case errors.Is(err, cellstore.ErrTableNotFound):
		case !errors.Is(err, cellstore.ErrClosed) && !errors.Is(err, ErrClosed), !now.leaving.Load():
			return err
		}
		feature.Pause(ctx)
		select {
		case <-now.replaced:
		case <-c.quit:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// take makes s the state of the collection.
func (c *Collection) take(s *stored) {
	c.stored, c.learned, c.behind = s, s.learner.Changes(), nil
	if found := s.learner.Schema(); !slices.Equal(found, s.meta.Schema) { // values have gone since it was written
		s.meta.Schema = found
		c.learned-- // the next step writes the schema
	}
	c.meta.Store(s.meta)
	if c.seq.Swap(s.end.Seq) != s.end.Seq {
		c.announce()
	}
	c.show(s, nil)
}

// refusing returns the reason why the table takes no writes, nil while it takes them.
func (c *Collection) refusing() error {
	if c.store.recoverer == nil {
		return nil
	}
	return c.store.recoverer.Trouble(c.table)
}

// refused wraps the store's error about a write.
func (c *Collection) refused(err error) error {
	switch {
	case err == nil:
		return nil
	case c.refusing() != nil:
		return refuse(err)
	case errors.Is(err, cellstore.ErrTableNotFound):
		// The collection is being dropped. If the disk refuses that, the collection takes writes
		// again.
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return wrap(err)
}

// refuse wraps an error as ErrWritesRefused, which means that nothing was written.
func refuse(err error) error { return fmt.Errorf("live: %w: %w", ErrWritesRefused, err) }

// disturbed requests a check of the table.
func (c *Collection) disturbed() {
	select {
	case c.failed <- struct{}{}:
	default: // a check is already requested
	}
}

// mendPause is the time between two attempts to take writes again. For a damaged collection the
// time is damagedPauses times as long, because an attempt reads all of it.
const (
	mendPause     = time.Second
	damagedPauses = 60
)

// mend reopens the table: first at once, so that only durable data is shown, and then until the
// table accepts writes. It returns false when the collection is closed.
func (c *Collection) mend() bool {
	defer c.answer()
	c.report(cmp.Or(c.refusing(), c.behind))
	for {
		err := c.reopen()
		select {
		case <-c.quit:
			return false
		default:
		}
		select { // discard requests for a check up to now
		case <-c.failed:
		default:
		}
		c.answer()
		c.report(err)
		if err == nil {
			return true
		}
		pause := c.store.pause
		if errors.Is(err, ErrDamaged) {
			pause *= damagedPauses
		}
		if !c.wait(pause) {
			return false
		}
	}
}

// answer answers requests that waited.
func (c *Collection) answer() {
	for _, r := range c.unanswered {
		close(r.done)
	}
	c.unanswered = nil
}

// report records the trouble of the collection, and calls Notify if it is a different one.
func (c *Collection) report(err error) {
	m := c.Meta()
	t := Trouble{Name: m.Name, Private: m.Private, Err: err}
	if err == nil {
		if c.trouble.Swap(nil) != nil {
			c.store.notify(t)
		}
		return
	}
	if !errors.Is(err, ErrDamaged) {
		t.Err = refuse(err)
	}
	old := c.trouble.Swap(&t)
	for _, kind := range [...]error{ErrDamaged, cellstore.ErrNoSpace} {
		if old != nil && errors.Is(old.Err, kind) != errors.Is(t.Err, kind) {
			old = nil
		}
	}
	if old == nil {
		c.store.notify(t)
	}
}

// reopen reads the state of the collection from the disk again. The error is the reason why the
// collection takes no writes.
func (c *Collection) reopen() error {
	select {
	case c.store.mending <- struct{}{}:
		defer func() { <-c.store.mending }()
	case <-c.quit:
		return ErrClosed
	}
	ctx := context.Background()
	was := c.now.Load()
	was.leaving.Store(true)
	var refused error
	if r := c.store.recoverer; r != nil {
		refused = r.Recover(ctx, c.table)
	}
	table, err := c.store.cells.Table(ctx, c.table)
	if err == nil {
		err = c.reload(ctx, table)
	}
	if c.now.Load() == was && err == nil {
		was.leaving.Store(false)
		return refused
	}
	_ = was.close() // the store has closed its table
	if err != nil {
		told := &DamagedError{c.Meta().Name, c.Meta().Private, err}
		c.show(nil, told)
		if errors.Is(told, ErrDamaged) {
			return told
		}
		return err
	}
	return refused
}

// reload takes the state of a table that was opened again. If the log has the same end as before,
// nothing has been lost, and the state only moves to the new table.
func (c *Collection) reload(ctx context.Context, table cellstore.Table) error {
	log := c.store.kind.OpenLog(table)
	end, err := log.End(ctx)
	if index, is := c.index.(TableIndex); is && err == nil && end == c.end && c.now.Load().err == nil {
		if table != c.rows {
			c.rows, c.log, c.index = table, log, index.WithTable(table)
			c.show(c.stored, nil)
		}
		return nil
	}
	m, err := readDescription(ctx, table, c.store.kind)
	if err != nil {
		return err
	}
	_ = c.now.Load().close() // before it is opened again
	s, err := c.load(ctx, table, m)
	if err != nil {
		return err
	}
	c.take(s)
	return nil
}

// wait refuses writes for some time. It returns false when the collection is closed.
func (c *Collection) wait(pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	for {
		select {
		case r := <-c.requests:
			if r.take() {
				r.fail(c.trouble.Load().Err)
				close(r.done)
			}
		case <-timer.C:
			return true
		case <-c.quit:
			return false // waiting writers get an error
		}
	}
}

// Trouble returns the reason why the collection takes no writes, nil while it takes them. It
// matches ErrWritesRefused, or ErrDamaged if the collection cannot be read either.
func (c *Collection) Trouble() error {
	if t := c.trouble.Load(); t != nil {
		return t.Err
	}
	return nil
}

// Meta returns the present description. It must not be changed.
func (c *Collection) Meta() *Meta { return &c.meta.Load().Meta }

// Index returns the present index, nil while the collection cannot be read.
func (c *Collection) Index() Index { return c.now.Load().index }

// Now returns the time of the clock that dates and expires features.
func (c *Collection) Now() time.Time { return c.store.clock.Time() }

// Info implements feature.Layer, also while the collection cannot be read.
func (c *Collection) Info() *feature.Info { return c.store.kind.Info(c.Meta()) }

// Get implements feature.Layer.
func (c *Collection) Get(ctx context.Context, id string, at time.Time, f *feature.Feature) error {
	return c.read(ctx, func(now *current) error { return now.index.Get(ctx, id, at, f) })
}

// Features implements feature.Layer.
func (c *Collection) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	return c.answers(ctx, func(in Index) iter.Seq2[*feature.Feature, error] { return in.Features(ctx, q) })
}

// Tile implements feature.Tiler.
func (c *Collection) Tile(ctx context.Context, t quadkey.Tile, f feature.Filter) iter.Seq2[*feature.Feature, error] {
	return c.answers(ctx, func(in Index) iter.Seq2[*feature.Feature, error] {
		if tiler, is := in.(feature.Tiler); is {
			return tiler.Tile(ctx, t, f)
		}
		return feature.SeqOfError(feature.Unsupported("tiles of this collection"))
	})
}

// Cluster implements feature.Clusterer.
func (c *Collection) Cluster(ctx context.Context, id string, f feature.Filter) (in feature.Area, err error) {
	err = c.read(ctx, func(now *current) (err error) {
		clusterer, is := now.index.(feature.Clusterer)
		if !is {
			return feature.Unsupported("clusters of this collection")
		}
		in, err = clusterer.Cluster(ctx, id, f)
		return err
	})
	return in, err
}

// answers does the same as read for an answer that comes in parts. After the first part it does not
// begin again.
func (c *Collection) answers(ctx context.Context, ask func(Index) iter.Seq2[*feature.Feature, error]) iter.Seq2[*feature.Feature, error] {
	return feature.SeqOf(func(fn func(*feature.Feature) error) error {
		var begun bool
		var failed error
		err := c.read(ctx, func(now *current) error {
			err := feature.Each(ask(now.index), func(f *feature.Feature) error {
				begun = true
				return fn(f)
			})
			if begun {
				failed, err = err, nil
			}
			return err
		})
		return cmp.Or(err, failed)
	})
}

// Count implements feature.Counter.
func (c *Collection) Count(ctx context.Context, q *feature.Query) (n int64, err error) {
	err = c.read(ctx, func(now *current) (err error) {
		n, err = feature.Count(ctx, now.index, q)
		return err
	})
	return n, err
}

// Tally implements feature.Tallier.
func (c *Collection) Tally(ctx context.Context, q *feature.Query, to *feature.Tallying) error {
	var failed error // after which it cannot begin again
	err := c.read(ctx, func(now *current) (err error) {
		of, is := now.index.(feature.Tallier)
		if !is {
			return feature.Unsupported("tally of this collection")
		}
		before := to.Len()
		if err = of.Tally(ctx, q, to); to.Len() > before {
			failed, err = err, nil
		}
		return err
	})
	return cmp.Or(err, failed)
}

// State implements feature.Versioned.
func (c *Collection) State(ctx context.Context) (state uint64, err error) {
	err = c.read(ctx, func(now *current) (err error) {
		if of, is := now.index.(feature.Versioned); is {
			state, err = of.State(ctx)
		}
		return err
	})
	return state, err
}

// Track implements feature.Tracker.
func (c *Collection) Track(ctx context.Context, id string, from, to time.Time, most int) (stops []feature.Stop, next time.Time, err error) {
	err = c.read(ctx, func(now *current) (err error) {
		tracker, is := now.index.(feature.Tracker)
		if !is {
			return feature.Unsupported("tracks of this collection")
		}
		stops, next, err = tracker.Track(ctx, id, from, to, most)
		return err
	})
	return stops, next, err
}
