package live

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"
	"quadrille/feature"
)

// Collection is a collection that takes writes. Its Index answers queries. Any number of goroutines
// may use it.
type Collection struct {
	// This is the state that writes change. Only the goroutine that makes the writes uses it. All
	// other goroutines use the fields of now.
	*stored
	learned uint64 // the changes of learner that are in meta
	behind  error  // why the index lacks a step of its log, until both are opened again
	step    step

	store   *Store
	turn    Turn // of commits
	table   string
	now     atomic.Pointer[current]
	trouble atomic.Pointer[Trouble] // nil while the collection takes writes
	meta    atomic.Pointer[description]

	requests   chan *request
	committed  chan committed
	unanswered []*request    // requests that wait until the table is opened again
	failed     chan struct{} // has a value if the table must be checked
	quit       chan struct{}
	ended      chan struct{}
	once       sync.Once

	seq     atomic.Uint64 // of the last event on the disk
	changed chan struct{} // closed when there are new events
	waiting sync.Mutex    // guards changed

	pruning sync.WaitGroup
	prunes  sync.Once
}

// request is a list of writes that wait for their commit.
type request struct {
	writes   []Write
	ready    []ready
	outcomes []Outcome
	taken    atomic.Bool   // by the goroutine that makes the writes, or by a caller that gives up
	judged   chan struct{} // closed once the outcomes are final
	done     chan struct{}
	alone    func(*step) error // makes a step of its own, which has one outcome
}

func newRequest(writes []Write, outcomes []Outcome) *request {
	return &request{
		writes:   writes,
		ready:    make([]ready, len(writes)),
		outcomes: outcomes,
		judged:   make(chan struct{}),
		done:     make(chan struct{}),
	}
}

// take takes the request, and reports false if it was already taken.
func (r *request) take() bool { return r.taken.CompareAndSwap(false, true) }

// fail sets the error of all writes, except those that are invalid in themselves or were refused
// before. The error also replaces results that depended on features of the failed step, for example
// the error that there is no such feature.
func (r *request) fail(err error) {
	for i := range r.outcomes {
		if o := &r.outcomes[i]; r.ready[i].err == nil && !errors.Is(o.Err, ErrWritesRefused) {
			*o = Outcome{Err: err}
		}
	}
}

// prepare checks a write.
func (c *Collection) prepare(w *Write) (r ready) {
	if r.at.Lat, r.at.Lon, r.err = c.store.kind.CheckWrite(w); r.err == nil && w.Kind == Put {
		if r.properties, r.err = feature.AppendProperties(nil, w.Properties); r.err == nil {
			r.types = c.DeclaredTypes()
			r.properties, r.err = typed(r.types, r.properties)
		}
	}
	return r
}

// These are bounds of a commit.
const (
	maxCommitBytes = 16 << 20 // of properties

	maxCommit   = 4096 // writes
	maxWaiting  = 1024 // requests
	maxUnsynced = 16   // commits not yet on the disk
)

// start opens the features of a table, and begins to accept writes.
func (s *Store) start(ctx context.Context, table cellstore.Table, m *description) (*Collection, error) {
	c := &Collection{
		store: s, turn: s.turn(), table: s.kind.Table(m.Name),
		requests: make(chan *request, maxWaiting), quit: make(chan struct{}), ended: make(chan struct{}),
		changed: make(chan struct{}), failed: make(chan struct{}, 1),
	}
	s.tidy(ctx, table, m)
	state, err := c.load(ctx, table, m)
	if err != nil {
		return nil, err
	}
	c.take(state)
	go c.run()
	if m.HistoryRetention > 0 {
		c.prune()
	}
	return c, nil
}

// stored is the state of a collection on the disk.
type stored struct {
	rows    cellstore.Table
	log     Log
	index   Index
	learner *feature.Learner
	end     LogEnd
	meta    *description
}

// load opens the log and the index of a table, and brings the index to the end of the log.
func (c *Collection) load(ctx context.Context, table cellstore.Table, m *description) (*stored, error) {
	s := &stored{rows: table, log: c.store.kind.OpenLog(table), meta: m, learner: feature.NewLearner(m.Declared)}
	s.learner.AddSchema(m.Schema)
	meta := func() *Meta {
		if now := c.meta.Load(); now != nil {
			return &now.Meta
		}
		return &m.Meta
	}
	var err error
	if s.end, err = s.log.End(ctx); err != nil {
		return nil, err
	}
	s.index, err = c.store.kind.Open(ctx, &OpenOptions{
		Table: table, Clock: c.store.clock, Meta: meta, End: s.end,
		Learn: func(object []byte) { s.learner.Count(object, 1) },
	})
	if err != nil {
		return nil, err
	}
	if err = s.catchUp(ctx, c.store.kind.WholeLog); err != nil {
		return nil, errors.Join(err, s.index.Close())
	}
	return s, nil
}

// catchUp applies the changes of the log that the index lacks.
func (s *stored) catchUp(ctx context.Context, whole bool) error {
	if _, is := s.index.(TableIndex); is {
		return nil
	}
	if !whole {
		return errors.New("live: an index without rows of its own needs a log that is whole: set Kind.WholeLog")
	}
	if at := s.index.LastSeq(); at > s.end.Seq {
		return fmt.Errorf("live: %w: the index has change %d, and its log ends with %d: restore the log, or remove the "+
			"index, which is made anew of the log",
			cellstore.ErrCorrupt, at, s.end.Seq)
	}
	for at := s.index.LastSeq(); at < s.end.Seq; {
		events, err := s.log.Read(ctx, at, s.end.Seq, maxCommit)
		if err != nil {
			return err
		}
		if len(events) == 0 {
			return fmt.Errorf("live: %w: the log lacks what follows change %d: restore it from a backup", cellstore.ErrCorrupt, at)
		}
		for i := range events {
			e := &events[i]
			if !e.follows(at) {
				return fmt.Errorf("live: %w: the log lacks what is between changes %d and %d: restore it from a backup",
					cellstore.ErrCorrupt, at, e.Seq)
			}
			if at = e.Seq; e.IsRedraw() {
				continue // nothing has changed
			}
			c, err := e.change()
			if err == nil {
				err = s.redo(c)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// redo applies a change of the log to the index.
func (s *stored) redo(c Change) error {
	was := feature.Feature{}
	if _, err := s.index.Find(c.ID, &was); err != nil {
		return err
	}
	was.ID = c.ID
	if was.Version != 0 {
		object, err := s.index.AppendProperties(nil, &was)
		if err != nil {
			return err
		}
		was.Properties, c.Was = objectOf(object), &was
		s.learner.Count(object, -1)
	}
	if c.Is != nil {
		s.learner.Count(c.is, 1)
	}
	return s.index.Apply([]Change{c})
}

// DeclaredTypes returns the declared types.
func (c *Collection) DeclaredTypes() feature.Schema { return c.meta.Load().Declared }

// close waits for the running writes and closes the collection.
func (c *Collection) close() error {
	c.once.Do(func() { close(c.quit) })
	<-c.ended
	c.pruning.Wait()
	return c.now.Load().close()
}

// Write makes writes in the given order, each by itself. It sets the outcome of each; outcomes must
// have the same length as writes. Once Write returns, every successful write is on the disk, and
// every later query sees it. After an error of the context nothing is written. After an error that
// matches ErrClosed the outcomes are unknown.
//
// Outcomes match these errors:
//
//   - ErrInvalid, feature.ErrProperties or feature.ErrType: the feature cannot be stored.
//   - ErrNotFound: there is no feature to patch or delete.
//   - ErrExists or ErrChanged: a condition does not hold.
//   - ErrWritesRefused: the disk does not accept the write.
//   - ErrOtherWriter: another program has written.
//
// Other errors come from the store. A write with an error has changed nothing, unless the error
// matches cellstore.ErrUnknownOutcome.
func (c *Collection) Write(ctx context.Context, writes []Write, outcomes []Outcome) error {
	r := newRequest(writes, outcomes)
	for i := range writes {
		r.ready[i] = c.prepare(&writes[i])
		outcomes[i] = Outcome{Err: r.ready[i].err}
	}
	return c.submit(ctx, r)
}

// submit submits a request and waits for its outcomes. It returns the errors of Write.
func (c *Collection) submit(ctx context.Context, r *request) error {
	select {
	case c.requests <- r:
	case <-c.quit:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
	over, judged := ctx.Done(), (chan struct{})(nil)
	for {
		select {
		case <-r.done:
			return nil
		case <-c.ended:
			select {
			case <-r.done:
				return nil
			default:
				return ErrClosed
			}
		case <-over:
			if r.take() {
				return ctx.Err()
			}
			over, judged = nil, r.judged // the writes have begun
		case <-judged:
			return nil // the table may take long to be opened again
		}
	}
}

// Done returns a channel that is closed when the collection is closed or dropped.
func (c *Collection) Done() <-chan struct{} { return c.quit }

// unlessClosed replaces an error of the store by ErrClosed once the collection is closed.
func (c *Collection) unlessClosed(err error) error {
	select {
	case <-c.quit:
		if err != nil {
			return ErrClosed
		}
	default:
	}
	return err
}
