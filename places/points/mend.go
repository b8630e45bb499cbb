package points

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/quadkey"
)

// This file keeps live collections in service while the disk is full, or damaged.

// Trouble is what keeps a live collection from being read or written.
type Trouble struct {
	Name string
	// Private is set unless the collection is known to be public: a collection that cannot
	// be read may be private.
	Private bool
	// Err matches ErrDamaged, cellstore.ErrLayout or ErrUnreadable if the collection cannot be
	// read, see DamagedError, and ErrRefused if it takes no writes. In a notice it may match ErrUnfinished, and is nil once the trouble is over.
	Err error
}

// DamagedError says why a collection cannot be read. It matches one of ErrDamaged,
// cellstore.ErrNewer, cellstore.ErrOlder and ErrUnreadable. Of its cause's other matches it
// only has cellstore.ErrShortage.
type DamagedError struct {
	Name    string
	Private bool // the collection is known to be private
	Cause   error
}

// unopened are the kinds of a DamagedError that an error tells, each with what to do unless
// the cause says that. All others are ErrUnreadable.
var unopened = [...]struct {
	cause, kind error
	todo        string
}{
	{cellstore.ErrShortage, ErrUnreadable, "it is tried again by itself; raise the limit of open files, such as by ulimit -n or LimitNOFILE=, if it lasts"},
	{cellstore.ErrCorrupt, ErrDamaged, "run tileserver live verify on the directory while no server has it open"},
	{cellstore.ErrNewer, cellstore.ErrNewer, ""},
	{cellstore.ErrOlder, cellstore.ErrOlder, ""},
}

// kind returns what is to be done, and what e matches.
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

// Troubles lists the collections that are in trouble, by name.
func (l *Live) Troubles() []Trouble {
	l.mu.RLock()
	defer l.mu.RUnlock()
	var all []Trouble
	for _, t := range l.damaged {
		all = append(all, t)
	}
	for _, c := range l.collections {
		if t := c.trouble.Load(); t != nil {
			all = append(all, *t)
		}
	}
	slices.SortFunc(all, func(a, b Trouble) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// current is the state that questions are answered from.
type current struct {
	*Collection
	err error // why there is none
	// leaving is set before the store closes the table, and replaced is closed when there is
	// another state.
	leaving  atomic.Bool
	replaced chan struct{}
}

// show makes a state the current one.
func (c *LiveCollection) show(now *Collection, err error) {
	if old := c.now.Swap(&current{Collection: now, err: err, replaced: make(chan struct{})}); old != nil {
		close(old.replaced)
	}
}

// read calls fn with the current state. It calls fn again if the table was closed
// meanwhile: to be opened again, or to be dropped, which may be refused.
func (c *LiveCollection) read(ctx context.Context, fn func(now *Collection) error) error {
	for {
		now := c.now.Load()
		if now.err != nil {
			return now.err
		}
		err := fn(now.Collection)
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

// take makes the stored state the state of the collection.
func (c *LiveCollection) take(s *stored) {
	c.summary, c.learner, c.learned = s.summary, s.learner, s.learner.Changes()
	if found := s.learner.Schema(); !slices.Equal(found, s.meta.Schema) { // values have gone since it was written
		s.meta.Schema = found
		c.learned-- // the next step writes it
	}
	c.meta.Store(s.meta)
	c.last, c.floor, c.step = s.last, s.floor, s.step
	if c.seq.Swap(c.last) != c.last {
		c.announce()
	}
	c.serve(s.table, s.tree)
}

// serve answers questions from a table that holds the points of a tree.
func (c *LiveCollection) serve(table cellstore.Table, t *tree) {
	known := c.summary
	c.writing = newCollection(table, t, newViews(table, t), c.live.clock, func() (*Meta, *summary) {
		return c.Meta(), known
	})
	c.show(c.writing, nil)
}

// refusing says why the table takes no writes, nil while it does.
func (c *LiveCollection) refusing() error {
	if c.live.recoverer == nil {
		return nil
	}
	return c.live.recoverer.Trouble(c.tableName)
}

// refused gives an error of a write its meaning.
func (c *LiveCollection) refused(err error) error {
	switch {
	case err == nil:
		return nil
	case c.refusing() != nil:
		return fmt.Errorf("points: %w: %w", ErrRefused, err)
	case errors.Is(err, cellstore.ErrTableNotFound):
		// It is being dropped. Should that be refused, writes are taken again.
		return fmt.Errorf("%w: %w", ErrClosed, err)
	}
	return wrap(err)
}

// disturbed has the table looked at.
func (c *LiveCollection) disturbed() {
	select {
	case c.failed <- struct{}{}:
	default: // it will be
	}
}

// mendPause is the time between two attempts to take writes again. A damaged collection is
// tried only after damagedPauses of them, since an attempt reads all of it.
const (
	mendPause     = time.Second
	damagedPauses = 60
)

// mend opens the table again: first at once, so that only what is on the disk is shown,
// and then until the table takes writes. known says that the state is that on the disk.
// mend returns false when the collection is closed.
func (c *LiveCollection) mend(known bool) bool {
	defer c.answer()
	pause := c.live.pause
	refusing := c.refusing()
	c.report(refusing)
	if known && refusing != nil && !c.wait(pause) {
		return false
	}
	for {
		err := c.reopen(known)
		select {
		case <-c.quit:
			return false
		default:
		}
		select { // what has failed up to now
		case <-c.failed:
		default:
		}
		c.answer()
		c.report(err)
		if err == nil {
			return true
		}
		known = c.now.Load().err == nil
		if pause = c.live.pause; errors.Is(err, ErrDamaged) {
			pause *= damagedPauses
		}
		if !c.wait(pause) {
			return false
		}
	}
}

// answer answers requests that the disk refused.
func (c *LiveCollection) answer() {
	for _, r := range c.unanswered {
		close(r.done)
	}
	c.unanswered = nil
}

// report notes the trouble of the collection, and notifies if it is a different one.
func (c *LiveCollection) report(err error) {
	m := c.Meta()
	t := Trouble{Name: m.Name, Private: m.Private, Err: err}
	if err == nil {
		if c.trouble.Swap(nil) != nil {
			c.live.notify(t)
		}
		return
	}
	if !errors.Is(err, ErrDamaged) {
		t.Err = fmt.Errorf("points: %w: %w", ErrRefused, err)
	}
	old := c.trouble.Swap(&t)
	for _, kind := range [...]error{ErrDamaged, cellstore.ErrNoSpace} {
		if old != nil && errors.Is(old.Err, kind) != errors.Is(t.Err, kind) {
			old = nil
		}
	}
	if old == nil {
		c.live.notify(t)
	}
}

// reopen makes the state on the disk that of the collection. The error is the reason why
// it takes no writes.
func (c *LiveCollection) reopen(known bool) error {
	select {
	case c.live.mending <- struct{}{}:
		defer func() { <-c.live.mending }()
	case <-c.quit:
		return ErrClosed
	}
	ctx := context.Background()
	was := c.now.Load()
	was.leaving.Store(true)
	if !known && was.Collection != nil {
		_ = was.views.close() // nothing of it may be shown any more
	}
	var refused error
	if r := c.live.recoverer; r != nil {
		refused = r.Recover(ctx, c.tableName)
	}
	table, err := c.live.store.Table(ctx, c.tableName)
	if known && err == nil && table == was.table {
		was.leaving.Store(false)
		return refused
	}
	if err == nil {
		err = c.reload(ctx, table, known)
	}
	if err != nil {
		if known {
			_ = was.views.close() // the store has closed its table
		}
		told := &DamagedError{c.Meta().Name, c.Meta().Private, err}
		c.show(nil, told)
		if errors.Is(told, ErrDamaged) {
			return told
		}
		return err
	}
	return refused
}

// reload takes the state of a table that was opened again. One that is known already is
// only served from the new table.
func (c *LiveCollection) reload(ctx context.Context, table cellstore.Table, known bool) error {
	if known {
		was := c.writing
		if s, err := readSequence(ctx, table); err == nil && s == (sequence{c.last, c.floor, c.step}) {
			c.serve(table, was.tree)
			return was.views.close()
		}
	}
	m, err := readMeta(ctx, table)
	if err != nil {
		return err
	}
	s, err := c.live.load(ctx, table, m)
	if err != nil {
		return err
	}
	c.take(s)
	return nil
}

// wait refuses writes for some time. It returns false when the collection is closed.
func (c *LiveCollection) wait(pause time.Duration) bool {
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
			return false // writers that wait are told
		}
	}
}

// Trouble returns why the collection takes no writes, nil while it does. It
// matches ErrRefused, or ErrDamaged if the collection cannot be read either.
func (c *LiveCollection) Trouble() error {
	if t := c.trouble.Load(); t != nil {
		return t.Err
	}
	return nil
}

// Meta describes the collection as it is now. It is not to be changed.
func (c *LiveCollection) Meta() *Meta { return &c.meta.Load().Meta }

// Now is that of Collection.
func (c *LiveCollection) Now() time.Time { return c.live.clock.Time() }

// Info is that of Collection.
func (c *LiveCollection) Info() *feature.Info { return c.Meta().info(true) }

// Get is that of Collection.
func (c *LiveCollection) Get(ctx context.Context, id string, at time.Time, f *feature.Feature) error {
	return c.read(ctx, func(now *Collection) error { return now.Get(ctx, id, at, f) })
}

// Features is that of Collection.
func (c *LiveCollection) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	return c.answers(ctx, func(now *Collection, fn func(*feature.Feature) error) error { return now.each(ctx, q, fn) })
}

// Tile is that of Collection.
func (c *LiveCollection) Tile(ctx context.Context, t quadkey.Tile) iter.Seq2[*feature.Feature, error] {
	return c.answers(ctx, func(now *Collection, fn func(*feature.Feature) error) error { return now.showTile(ctx, t, fn) })
}

// Cluster is that of Collection.
func (c *LiveCollection) Cluster(ctx context.Context, id string) (in feature.Area, err error) {
	err = c.read(ctx, func(now *Collection) (err error) {
		in, err = now.Cluster(ctx, id)
		return err
	})
	return in, err
}

// answers is read for an answer that comes bit by bit. Once some of it has come, it does not
// begin again.
func (c *LiveCollection) answers(ctx context.Context, ask func(*Collection, func(*feature.Feature) error) error) iter.Seq2[*feature.Feature, error] {
	return feature.Answer(func(fn func(*feature.Feature) error) error {
		var begun bool
		var failed error
		err := c.read(ctx, func(now *Collection) error {
			err := ask(now, func(f *feature.Feature) error {
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

// Count is that of Collection.
func (c *LiveCollection) Count(ctx context.Context, q *feature.Query) (n int64, err error) {
	err = c.read(ctx, func(now *Collection) (err error) {
		n, err = now.Count(ctx, q)
		return err
	})
	return n, err
}

// Track is that of Collection.
func (c *LiveCollection) Track(ctx context.Context, id string, from, to time.Time, most int) (stops []feature.Stop, next time.Time, err error) {
	err = c.read(ctx, func(now *Collection) (err error) {
		stops, next, err = now.Track(ctx, id, from, to, most)
		return err
	})
	return stops, next, err
}

// events is that of Collection.
func (c *LiveCollection) events(ctx context.Context, after, last uint64, most int) (list []Event, err error) {
	err = c.read(ctx, func(now *Collection) (err error) {
		list, err = now.events(ctx, after, last, most)
		return err
	})
	return list, c.unlessClosed(err)
}
