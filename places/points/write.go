package points

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
)

// WriteKind is what a Write does.
type WriteKind uint8

// The kinds of writes.
const (
	Put    WriteKind = iota // replaces a point, or makes it
	Patch                   // changes a point: its position, some properties
	Delete                  // removes a point
	expire                  // removes a point that expired at Expires
)

// Write is a change of one point.
type Write struct {
	Kind WriteKind
	ID   string
	// Lat and Lon are degrees. A Patch leaves them unless Move is set.
	Lat, Lon float64
	Move     bool
	// Properties is a JSON object. A Patch sets the members that it names and removes
	// those that are null; an empty one changes nothing. With Merge it is a merge patch
	// of RFC 7396, or null to remove all.
	Properties []byte
	Merge      bool
	// Expires is when the point removes itself; the zero time means never. A Patch leaves
	// it unless Expire is set.
	Expires time.Time
	Expire  bool
	// IfVersions, unless it is empty, lists versions, one of which the point must have.
	// IfPresent says that the point must exist, IfAbsent that it must not.
	IfVersions          []int64
	IfPresent, IfAbsent bool
}

// Outcome is the result of a Write.
type Outcome struct {
	Version int64
	Created bool  // by a Put
	Err     error // nil once the write is on the disk
}

// LiveCollection is a collection that takes writes.
type LiveCollection struct {
	// The state that writes change, with what is known about values. Only the goroutine
	// that makes the writes has it; all others use that of now.
	*writing
	summary *summary
	learner *feature.Learner
	learned uint64 // the changes of learner that meta has

	live      *Live
	turn      Turn // of commits
	tableName string
	now       atomic.Pointer[current]
	trouble   atomic.Pointer[Trouble] // nil while writes are taken
	meta      atomic.Pointer[liveMeta]

	requests   chan *request
	committed  chan committed
	unanswered []*request    // that the disk refused
	failed     chan struct{} // has a value once the table is to be looked at
	quit       chan struct{}
	ended      chan struct{}
	once       sync.Once

	seq     atomic.Uint64 // of the last event that is on the disk
	changed chan struct{} // closed when there are new events
	waiting sync.Mutex    // guards changed

	last    uint64 // the sequence of the last event
	floor   int64  // the greatest version of a point that is gone
	step    uint64 // the number of the last step
	pruning sync.WaitGroup
	prunes  sync.Once

	row cellstore.Row
}

// writing is a Collection under a name that is not for others.
type writing = Collection

// request is writes that wait for their commit.
type request struct {
	writes   []Write
	ready    []ready
	outcomes []Outcome
	taken    atomic.Bool   // by the goroutine that makes the writes, or by a caller that gives them up
	judged   chan struct{} // closed once the outcomes stay as they are
	done     chan struct{}
	alone    func(*commit) // makes a step of its own, which has one outcome
}

func newRequest(writes []Write, outcomes []Outcome) *request {
	return &request{writes: writes, ready: make([]ready, len(writes)), outcomes: outcomes, judged: make(chan struct{}), done: make(chan struct{})}
}

// take reports whether nobody else has taken the request.
func (r *request) take() bool { return r.taken.CompareAndSwap(false, true) }

// ready checks a write as far as that is possible without the collection. Callers do
// so side by side.
type ready struct {
	at         position
	properties []byte         // of a Put
	types      feature.Schema // that they have
	err        error
}

// prepare checks a write.
func (c *LiveCollection) prepare(w *Write) (r ready) {
	if r.err = CheckID(w.ID); r.err != nil || w.Kind == Delete {
		return r
	}
	if w.Kind == Put || w.Move {
		if r.err = CheckPosition(w.Lat, w.Lon); r.err != nil {
			return r
		}
		if r.at, r.err = positionAt(w.Lat, w.Lon); r.err != nil {
			return r
		}
	}
	if w.Kind == Put {
		if r.properties, r.err = feature.AppendProperties(nil, w.Properties); r.err == nil {
			r.types = c.Declared()
			r.properties, r.err = typed(r.types, r.properties)
		}
	}
	return r
}

// typed gives properties the types that are declared.
func typed(declared feature.Schema, object []byte) ([]byte, error) {
	if len(declared) == 0 {
		return object, nil
	}
	return declared.Convert(nil, object)
}

// Bounds of a commit.
const (
	maxCommitBytes = 16 << 20 // of properties

	maxCommit   = 4096 // writes
	maxWaiting  = 1024 // requests
	maxUnsynced = 16   // commits that are not on the disk yet
)

// sequenceRow holds the floor of versions and the sequence of the last event, which
// stays when events expire. Every step writes this row, so making the row durable makes
// all steps durable.
var sequenceRow = []byte{rowMeta, 's'}

const sequenceValue = 24 // sequence, floor, step

// start opens the points of a table, and takes writes.
func (l *Live) start(ctx context.Context, table cellstore.Table, m *liveMeta) (*LiveCollection, error) {
	c := &LiveCollection{
		live: l, turn: l.turn(), tableName: tablePrefix + m.Name,
		requests: make(chan *request, maxWaiting), quit: make(chan struct{}), ended: make(chan struct{}),
		changed: make(chan struct{}), failed: make(chan struct{}, 1),
	}
	tidy(ctx, l.store, table, m)
	s, err := l.load(ctx, table, m)
	if err != nil {
		return nil, err
	}
	c.take(s)
	go c.run()
	if m.History > 0 {
		c.prune()
	}
	return c, nil
}

// stored is the state of a collection as it is on the disk.
type stored struct {
	table   cellstore.Table
	meta    *liveMeta
	tree    *tree
	summary *summary
	learner *feature.Learner
	sequence
}

// sequence is the value of sequenceRow.
type sequence struct {
	last  uint64
	floor int64
	step  uint64
}

// load reads all points of a table.
func (l *Live) load(ctx context.Context, table cellstore.Table, m *liveMeta) (*stored, error) {
	s := &stored{table: table, meta: m, summary: newSummary(), learner: feature.NewLearner(m.Declared)}
	s.learner.Seed(m.Schema)
	p := newPlanter()
	scan := cellstore.Scan{Selection: *selectPoint}
	var r record
	for row, err := range table.Scan(ctx, scan) {
		if err != nil {
			return nil, wrap(err)
		}
		if gone, err := r.parse(row); err != nil || gone {
			return nil, errors.Join(err, damaged(row))
		}
		p.add(&counted{r.position, s.summary.add(r.properties)})
		s.learner.Count(r.properties, 1)
	}
	s.tree = p.tree
	var err error
	s.sequence, err = readSequence(ctx, table)
	return s, err
}

func readSequence(ctx context.Context, table cellstore.Table) (s sequence, err error) {
	var row cellstore.Row
	found, err := table.Get(ctx, sequenceRow, &cellstore.Selection{Families: []string{famMeta}}, &row)
	if err != nil || !found {
		return s, wrap(err)
	}
	v := row.Cells[0].Value
	if len(v) != sequenceValue {
		return s, fmt.Errorf("points: %w: the row of the last event has %d bytes", cellstore.ErrCorrupt, len(v))
	}
	return sequence{binary.BigEndian.Uint64(v), int64(binary.BigEndian.Uint64(v[8:])), binary.BigEndian.Uint64(v[16:])}, nil
}

// Declared returns the types that are declared.
func (c *LiveCollection) Declared() feature.Schema { return c.meta.Load().Declared }

// close ends the collection after the writes that have begun.
func (c *LiveCollection) close() error {
	c.once.Do(func() { close(c.quit) })
	<-c.ended
	c.pruning.Wait()
	if now := c.now.Load(); now.Collection != nil {
		return now.views.close()
	}
	return nil
}

// Write makes writes in the order given, each by itself. It fills in the outcome of each;
// outcomes must be as many. Once Write returns, every write that succeeded is on the disk and
// seen by every question that begins. An error of the context means that nothing is written. An
// error that matches ErrClosed means that the outcomes are not known.
//
// Outcomes match ErrPoint, feature.ErrProperties or feature.ErrType if the point cannot be kept,
// ErrNotFound if there is none to patch or delete, ErrExists or ErrChanged if a condition does
// not hold, and ErrRefused if the disk does not take the write; others are the store's. A write
// with an error has changed nothing, unless the error matches cellstore.ErrUnknownOutcome.
func (c *LiveCollection) Write(ctx context.Context, writes []Write, outcomes []Outcome) error {
	r := newRequest(writes, outcomes)
	for i := range writes {
		r.ready[i] = c.prepare(&writes[i])
		outcomes[i] = Outcome{Err: r.ready[i].err}
	}
	return c.submit(ctx, r)
}

// submit sends a request to be made, and waits for its outcomes. Its errors are those of Write.
func (c *LiveCollection) submit(ctx context.Context, r *request) error {
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
			over, judged = nil, r.judged // they are being made
		case <-judged:
			return nil // the table may take long to be opened again
		}
	}
}

// run makes writes until the collection is closed, also through troubles of the disk. Only
// run changes the collection.
func (c *LiveCollection) run() {
	defer close(c.ended)
	// A table that is opened while the disk is full has taken no write yet.
	known := c.refusing() != nil
	e := &expirer{c: c}
	for {
		if !known && !c.session(e) {
			c.answer()
			return
		}
		if !c.mend(known) {
			return
		}
		known = false
	}
}

// session makes writes until the collection is closed, or until its table has to be
// opened again: then it returns true.
func (c *LiveCollection) session(e *expirer) (torn bool) {
	c.committed = make(chan committed, maxUnsynced)
	done := make(chan struct{})
	go func() {
		defer close(done)
		c.acknowledge()
	}()
	torn = c.write(e)
	close(c.committed)
	<-done
	return torn
}

// write commits writes, those that wait together.
func (c *LiveCollection) write(e *expirer) (torn bool) {
	expiry := time.NewTimer(time.Second)
	defer expiry.Stop()
	var batch []*request
	for {
		batch, full := batch[:0], false
		select {
		case r := <-c.requests:
			batch = append(batch, r)
		case <-c.failed:
			return true
		case <-expiry.C:
			c.views.sweep()          // answers may have ended
			if c.refusing() != nil { // background work of the store may have failed
				return true
			}
			if r := e.expired(); r != nil {
				batch, full = append(batch, r), len(r.writes) == maxCommit
			}
			expiry.Reset(time.Second)
		case <-c.quit:
			for {
				select {
				case r := <-c.requests:
					_ = c.commit([]*request{r}) // the writers are told
				default:
					return false
				}
			}
		}
		for n := 0; n < maxCommit && len(batch) > 0; {
			n += len(batch[len(batch)-1].writes)
			select {
			case r := <-c.requests:
				batch = append(batch, r)
				continue
			default:
			}
			break
		}
		if len(batch) == 0 {
			continue
		}
		switch err := c.commit(batch); {
		case err != nil && c.refusing() != nil:
			return true
		case err == nil && full:
			expiry.Reset(0) // more have expired
		}
		clear(batch)
	}
}

// committed are requests whose writes are visible, but not on the disk yet.
type committed struct {
	requests []*request
	seq      uint64 // of the last event
}

// acknowledge brings commits to the disk, as many at once as there are, and answers their
// requests. Meanwhile write makes others. Requests that the disk refuses are answered
// once the collection shows what is on it.
func (c *LiveCollection) acknowledge() {
	var batch []committed
	for first := range c.committed {
		batch = append(batch[:0], first)
		for more := true; more; {
			select {
			case next, open := <-c.committed:
				if more = open; open {
					batch = append(batch, next)
				}
			default:
				more = false
			}
		}
		err := c.refused(c.table.Apply(context.Background(), cellstore.Mutation{Row: sequenceRow}))
		if err != nil {
			err = unknown(err) // they have been applied, whatever the store says of this row
		}
		if seq := batch[len(batch)-1].seq; err == nil && seq != c.seq.Load() {
			c.seq.Store(seq)
			c.announce()
		}
		torn := err != nil && c.refusing() != nil
		for _, b := range batch {
			for _, r := range b.requests {
				if err != nil {
					r.fail(err)
				}
				if torn {
					close(r.judged)
					c.unanswered = append(c.unanswered, r)
				} else {
					close(r.done)
				}
			}
		}
		if torn {
			c.disturbed()
		}
		clear(batch)
	}
}

// fail gives an error to all writes, except those that are invalid in themselves or were
// refused before. The error also replaces a result that depended on points which may not
// stay, for example that there is no such point.
func (r *request) fail(err error) {
	for i := range r.outcomes {
		if o := &r.outcomes[i]; r.ready[i].err == nil && !errors.Is(o.Err, ErrRefused) {
			*o = Outcome{Err: err}
		}
	}
}

// unknown is an error of writes that may have been made.
func unknown(err error) error {
	if errors.Is(err, cellstore.ErrUnknownOutcome) {
		return err
	}
	return fmt.Errorf("points: %w: %w", cellstore.ErrUnknownOutcome, err)
}

// expirer finds the points of a collection that have expired.
type expirer struct {
	c      *LiveCollection
	swept  int64 // when it looked last
	unsure int64 // points may have expired by a wrong clock up to this instant
}

// expired returns a request to remove points that have expired, nil if there are none.
// Points that expired all at once, at the start or by a step of the clock, wait until the
// clock is settled.
func (e *expirer) expired() *request {
	c := e.c
	now := c.clock.Now()
	switch {
	case c.clock.Settled():
		e.unsure = 0
	case now-e.swept > c.clock.Skew().Milliseconds():
		e.unsure = now
	}
	e.swept = now
	scan := cellstore.Scan{
		Ranges: []cellstore.Range{{From: endKey(e.unsure+1, ""), To: endKey(max(now, e.unsure)+1, "")}}, Limit: maxCommit,
		Selection: cellstore.Selection{Families: []string{famEnd}},
	}
	var gone []Write
	for row, err := range c.table.Scan(context.Background(), scan) {
		if err != nil || len(row.Key) <= keyHead {
			break // it is tried again in a second
		}
		at := int64(binary.BigEndian.Uint64(row.Key[1:]))
		gone = append(gone, Write{Kind: expire, ID: string(row.Key[keyHead:]), Expires: time.UnixMilli(at)})
	}
	if len(gone) == 0 {
		return nil
	}
	return newRequest(gone, make([]Outcome, len(gone)))
}
