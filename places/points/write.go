package points

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
	"quadrille/quadkey"
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
	// Properties is a JSON object. A Patch sets the members that it names, removes those
	// that are null, and leaves all if it is empty.
	Properties []byte
	// Expires is when the point goes by itself; the zero time is never. A Patch leaves it
	// unless Expire is set.
	Expires time.Time
	Expire  bool
	// IfVersion, if not 0, is the version that the point must have; IfAbsent says that it
	// must not be there.
	IfVersion int64
	IfAbsent  bool
}

// Outcome is what has become of a Write.
type Outcome struct {
	Version int64
	Created bool  // by a Put
	Err     error // nil once the write is on the disk
}

// LiveCollection is a collection that takes writes.
type LiveCollection struct {
	*Collection
	meta    atomic.Pointer[liveMeta]
	summary *summary
	learner *Learner
	learned uint64 // the state of learner that meta has

	requests chan *request
	quit     chan struct{}
	ended    chan struct{}
	once     sync.Once

	seq     atomic.Uint64 // of the last event
	changed chan struct{} // closed when there are new events
	waiting sync.Mutex    // guards changed

	// pruning is the family that prune is at, and pruned the row.
	pruning int
	pruned  []byte

	row cellstore.Row
}

// request is writes that wait for their commit.
type request struct {
	writes   []Write
	ready    []ready
	outcomes []Outcome
	done     chan struct{}
}

// ready is what can be said of a write without a look at the collection. Callers do so
// side by side.
type ready struct {
	at         position
	properties []byte // of a Put
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
		if r.properties, r.err = AppendProperties(nil, w.Properties); r.err == nil {
			r.properties, r.err = c.typed(r.properties)
		}
	}
	return r
}

// typed gives properties the types that are declared.
func (c *LiveCollection) typed(object []byte) ([]byte, error) {
	declared := c.meta.Load().Declared
	if len(declared) == 0 {
		return object, nil
	}
	return declared.Convert(nil, object)
}

// Bounds of a commit.
const (
	maxCommit  = 4096 // writes
	maxWaiting = 1024 // requests
)

// sequenceRow has the sequence of the last event, which stays when events have expired.
var sequenceRow = []byte{rowMeta, 's'}

// start opens the points of a table, and takes writes.
func (l *Live) start(ctx context.Context, table cellstore.Table, m *liveMeta) (*LiveCollection, error) {
	c := &LiveCollection{
		summary: newSummary(), learner: NewLearner(m.Declared),
		requests: make(chan *request, maxWaiting), quit: make(chan struct{}), ended: make(chan struct{}),
		changed: make(chan struct{}),
	}
	c.learner.Seed(m.Schema)
	c.learned = c.learner.state()
	c.meta.Store(m)
	p := newPlanter()
	scan := cellstore.Scan{Selection: *selectPoint}
	var r record
	for row, err := range table.Scan(ctx, scan) {
		if err != nil {
			return nil, wrap(err)
		}
		gone, err := r.parse(row)
		if err != nil {
			return nil, err
		}
		if !gone {
			p.add(&counted{r.position, c.summary.add(r.properties)})
		}
	}
	found, err := table.Get(ctx, sequenceRow, &cellstore.Selection{Families: []string{famMeta}}, &c.row)
	if err != nil {
		return nil, wrap(err)
	}
	if found && len(c.row.Cells[0].Value) == 8 {
		c.seq.Store(binary.BigEndian.Uint64(c.row.Cells[0].Value))
	}
	c.Collection = newCollection(table, p.tree, &views{table: table, tree: p.tree}, l.clock, func() (*Meta, *summary) {
		return &c.meta.Load().Meta, c.summary
	})
	go c.run()
	return c, nil
}

// Declared returns the types that Create was given.
func (c *LiveCollection) Declared() Schema { return c.meta.Load().Declared }

// close ends the collection after the writes that have begun.
func (c *LiveCollection) close() error {
	c.once.Do(func() { close(c.quit) })
	<-c.ended
	return c.views.close()
}

// Write makes writes in the order given, each by itself, and fills the outcome of each,
// of which there must be as many. Once it returns, what succeeded is on the disk and is
// seen by every question that begins. The error is that of the context or matches
// ErrClosed: then the outcomes are not known.
//
// Outcomes match ErrPoint, ErrProperties or ErrType where a point cannot be kept,
// ErrNotFound where there is none to patch or delete, ErrExists and ErrChanged where a
// condition does not hold, or are the store's.
func (c *LiveCollection) Write(ctx context.Context, writes []Write, outcomes []Outcome) error {
	r := &request{writes, make([]ready, len(writes)), outcomes, make(chan struct{})}
	for i := range writes {
		r.ready[i] = c.prepare(&writes[i])
	}
	select {
	case c.requests <- r:
	case <-c.quit:
		return ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
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
	}
}

// run commits writes, those that wait together. It is the only one that changes the
// collection.
func (c *LiveCollection) run() {
	defer close(c.ended)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	var batch []*request
	for {
		batch = batch[:0]
		select {
		case r := <-c.requests:
			batch = append(batch, r)
		case <-tick.C:
			if r := c.expired(); r != nil {
				batch = append(batch, r)
			}
			_ = c.prune() // it is tried again in a second
		case <-c.quit:
			for {
				select {
				case r := <-c.requests:
					c.commit([]*request{r})
				default:
					return
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
		c.commit(batch)
	}
}

// commit makes the writes of requests, in steps of maxCommit.
func (c *LiveCollection) commit(batch []*request) {
	k := newCommit(c)
	for _, r := range batch {
		for i := range r.writes {
			k.write(&r.writes[i], &r.ready[i], &r.outcomes[i])
			if len(k.outcomes) >= maxCommit {
				k.end()
			}
		}
	}
	k.end()
	for _, r := range batch {
		close(r.done)
	}
}

// commit is one atomic step of several writes.
type commit struct {
	c         *LiveCollection
	now       int64
	mutations []cellstore.Mutation
	outcomes  []*Outcome
	arrived   []counted
	left      []counted
	states    map[string]state // of points that the step has changed
	meta      *liveMeta
	events    bool
	seq       uint64 // of the last event
}

// state is a point within a step: version is 0 if it is not there, and last is the last
// version that it had.
type state struct {
	record
	last int64
}

func newCommit(c *LiveCollection) *commit {
	return &commit{c: c, now: c.clock().UnixMilli(), states: map[string]state{}, seq: c.seq.Load()}
}

// state reads a point as it is after the writes of this step, all but its properties.
func (k *commit) state(id string) (s state, err error) {
	if s, known := k.states[id]; known {
		return s, nil
	}
	found, err := k.c.table.Get(context.Background(), appendIDKey(nil, id), selectID, &k.c.row)
	if err != nil || !found {
		return s, wrap(err)
	}
	s.last = k.c.row.Cells[0].Timestamp
	if len(k.c.row.Cells[0].Value) == 0 {
		return s, nil // deleted, with history
	}
	return s, s.parseID(&k.c.row)
}

// write adds a write to the step, or says why not.
func (k *commit) write(w *Write, given *ready, o *Outcome) {
	if *o = (Outcome{Err: given.err}); o.Err != nil {
		return
	}
	old, err := k.state(w.ID)
	if err != nil {
		o.Err = err
		return
	}
	there := old.version != 0 && !old.over(k.now)
	if o.Err = k.refused(w, &old.record, there); o.Err != nil {
		return
	}
	next := record{version: max(k.now, old.last+1)}
	if w.Kind == Put || w.Kind == Patch {
		if next, err = k.next(w, given, &old.record, next.version); err != nil {
			o.Err = err
			return
		}
	}
	o.Version, o.Created = next.version, w.Kind == Put && !there
	k.change(w, &old.record, &next, w.Kind == Put || w.Kind == Patch)
	k.outcomes = append(k.outcomes, o)
}

// refused checks the conditions of a write.
func (k *commit) refused(w *Write, old *record, there bool) error {
	switch {
	case w.Kind == expire:
		if old.version == 0 || old.expires != expiresOf(w.Expires) {
			return ErrNotFound
		}
	case w.IfAbsent && there:
		return fmt.Errorf("point %q: %w: leave out the condition to replace it", w.ID, ErrExists)
	case w.IfVersion != 0 && (!there || old.version != w.IfVersion):
		return fmt.Errorf("point %q: %w: read it again and repeat the change", w.ID, ErrChanged)
	case w.Kind != Put && !there:
		return fmt.Errorf("%w: %.60q", ErrNotFound, w.ID)
	}
	return nil
}

// next returns the point that a Put or Patch makes.
func (k *commit) next(w *Write, given *ready, old *record, version int64) (next record, err error) {
	next = *old
	next.version, next.properties = version, given.properties
	if w.Kind == Put || w.Move {
		next.position = given.at
	}
	if w.Kind == Put || w.Expire {
		next.expires = expiresOf(w.Expires)
	}
	if w.Kind == Put {
		return next, nil
	}
	if next.properties, err = k.properties(w.ID, old); err != nil || len(w.Properties) == 0 {
		return next, err
	}
	if next.properties, err = PatchProperties(nil, next.properties, w.Properties); err == nil {
		next.properties, err = k.c.typed(next.properties)
	}
	return next, err
}

// properties reads the properties of a point whose state is known.
func (k *commit) properties(id string, old *record) ([]byte, error) {
	if old.properties != nil {
		return old.properties, nil // written in this step
	}
	found, err := k.c.table.Get(context.Background(), appendPointKey(nil, old.key, id), selectPoint, &k.c.row)
	if err != nil {
		return nil, wrap(err)
	}
	var r record
	if found {
		if _, err = r.parse(&k.c.row); err != nil {
			return nil, err
		}
	}
	if r.properties == nil {
		return nil, fmt.Errorf("points: %w: the point %q is not where its id says", cellstore.ErrCorrupt, id)
	}
	return slices.Clone(r.properties), nil
}

// change adds the rows of a change to the step: from old, whose version is 0 if there
// was no point, to next, or to none.
func (k *commit) change(w *Write, old, next *record, stays bool) {
	id := w.ID
	history := k.c.meta.Load().History > 0
	idRow := cellstore.Mutation{Row: appendIDKey(nil, id)}
	leaves := old.version != 0 && (!stays || old.key != next.key)
	if stays {
		idRow.Ops = append(idRow.Ops, cellstore.PutAt(famID, nil, next.version, next.appendIDValue(nil)))
		at := cellstore.Mutation{Row: appendPointKey(nil, next.key, id)}
		at.Ops = append(at.Ops, cellstore.PutAt(famPoint, nil, next.version, next.appendValue(nil)))
		k.mutations = append(k.mutations, at)
		bits := k.c.summary.add(next.properties)
		if old.version == 0 || leaves {
			k.arrived = append(k.arrived, counted{next.position, bits})
		} else {
			k.c.tree.mark(&counted{next.position, bits})
		}
		if k.c.learner.Learn(next.properties); k.c.learner.state() != k.c.learned {
			k.c.learned = k.c.learner.state()
			m := *k.c.meta.Load()
			m.Schema = k.c.learner.Schema()
			k.meta = &m
		}
	} else if history {
		idRow.Ops = append(idRow.Ops, cellstore.PutAt(famID, nil, next.version, nil))
	} else {
		idRow.Ops = append(idRow.Ops, cellstore.DeleteColumn(famID, nil, cellstore.All))
	}
	k.mutations = append(k.mutations, idRow)
	if leaves {
		gone := cellstore.DeleteColumn(famPoint, nil, cellstore.All)
		if history {
			gone = cellstore.PutAt(famPoint, nil, next.version, nil)
		}
		k.mutations = append(k.mutations, cellstore.Mutation{Row: appendPointKey(nil, old.key, id), Ops: []cellstore.Op{gone}})
		k.left = append(k.left, counted{position: old.position})
	}
	k.changeEnd(id, old.expires, next.expires)
	k.event(w, old, next, stays)
	now := state{*next, next.version}
	if !stays {
		now.version = 0
	}
	k.states[id] = now
}

// changeEnd moves the row that says when a point expires.
func (k *commit) changeEnd(id string, old, next int64) {
	if old == next {
		return
	}
	key := func(at int64) []byte {
		return append(binary.BigEndian.AppendUint64([]byte{rowEnd}, uint64(at)), id...)
	}
	if old != 0 {
		k.mutations = append(k.mutations, cellstore.Mutation{Row: key(old), Ops: []cellstore.Op{cellstore.DeleteColumn(famEnd, nil, cellstore.All)}})
	}
	if next != 0 {
		k.mutations = append(k.mutations, cellstore.Mutation{Row: key(next), Ops: []cellstore.Op{cellstore.Put(famEnd, nil, nil)}})
	}
}

// end writes the step and begins another one.
func (k *commit) end() {
	if len(k.outcomes) == 0 {
		return
	}
	c := k.c
	if k.meta != nil {
		k.mutations = append(k.mutations, k.meta.mutation())
	}
	if k.events {
		seq := binary.BigEndian.AppendUint64(nil, k.seq)
		k.mutations = append(k.mutations, cellstore.Mutation{Row: sequenceRow, Ops: []cellstore.Op{cellstore.Put(famMeta, nil, seq)}})
	}
	c.tree.expect(k.arrived)
	if err := c.table.Apply(context.Background(), k.mutations...); err != nil {
		c.tree.forget(k.arrived)
		for _, o := range k.outcomes {
			*o = Outcome{Err: wrap(err)}
		}
		if k.meta != nil {
			c.learned++ // what was learned is still to be written
		}
	} else {
		if k.meta != nil {
			c.meta.Store(k.meta)
		}
		full := c.tree.settle(k.arrived, k.left, nil)
		_ = c.views.committed(k.left) // closing a snapshot fails only where it is closed already
		c.divide(full)
		if k.events {
			c.seq.Store(k.seq)
			c.announce()
		}
	}
	*k = *newCommit(c)
}

// divide gives children to leaves that have become full.
func (c *LiveCollection) divide(tiles []quadkey.Tile) {
	s := &search{from: c.table}
	for _, tile := range tiles {
		if b := c.tree.find(tile); !b.leaf || b.tile != tile || b.count <= leafPoints {
			continue // several points of the commit have filled it, or left it again
		}
		var list []counted
		s.rangeOf(tile)
		err := s.rows(context.Background(), s.key, s.until, 0, func() (bool, error) {
			if s.record.properties != nil {
				list = append(list, counted{s.record.position, c.summary.add(s.record.properties)})
			}
			return true, nil
		})
		if err == nil { // the leaf stays as it is otherwise, which is only slower
			c.views.divide(tile, list)
		}
	}
}

// expired returns a request to remove points that have expired, nil if there are none.
func (c *LiveCollection) expired() *request {
	r := &request{done: make(chan struct{})}
	now := c.clock().UnixMilli()
	to := binary.BigEndian.AppendUint64([]byte{rowEnd}, uint64(now)+1)
	scan := cellstore.Scan{
		Ranges: []cellstore.Range{{From: []byte{rowEnd}, To: to}}, Limit: maxCommit,
		Selection: cellstore.Selection{Families: []string{famEnd}},
	}
	for row, err := range c.table.Scan(context.Background(), scan) {
		if err != nil || len(row.Key) <= keyHead {
			break // it is tried again in a second
		}
		at := int64(binary.BigEndian.Uint64(row.Key[1:]))
		r.writes = append(r.writes, Write{Kind: expire, ID: string(row.Key[keyHead:]), Expires: time.UnixMilli(at)})
	}
	if len(r.writes) == 0 {
		return nil
	}
	r.ready, r.outcomes = make([]ready, len(r.writes)), make([]Outcome, len(r.writes))
	return r
}

// Event is a move of a point: From is where it was, nil if it was not there, and To where
// it is, nil if it is gone. Positions are longitude and latitude in degrees.
type Event struct {
	Seq     uint64      `json:"-"` // rises with every event
	ID      string      `json:"id"`
	From    *[2]float64 `json:"from,omitempty"`
	To      *[2]float64 `json:"to,omitempty"`
	Version int64       `json:"version"`           // of the point: milliseconds since 1970
	Expired bool        `json:"expired,omitempty"` // it is gone because its time was over
}

// event adds the row of an event to the step if the point has moved.
func (k *commit) event(w *Write, old, next *record, stays bool) {
	e := Event{ID: w.ID, Version: next.version, Expired: w.Kind == expire}
	if old.version != 0 {
		e.From = &[2]float64{toDegrees(old.lon), toDegrees(old.lat)}
	}
	if stays {
		e.To = &[2]float64{toDegrees(next.lon), toDegrees(next.lat)}
	}
	if e.From != nil && e.To != nil && *e.From == *e.To {
		return
	}
	k.seq = max(k.seq+1, uint64(k.now)*1000)
	value, _ := json.Marshal(&e) // made of texts and numbers
	key := binary.BigEndian.AppendUint64([]byte{rowEvent}, k.seq)
	k.mutations = append(k.mutations, cellstore.Mutation{Row: key, Ops: []cellstore.Op{cellstore.Put(famEvent, nil, value)}})
	k.events = true
}

// announce wakes those who follow events.
func (c *LiveCollection) announce() {
	c.waiting.Lock()
	close(c.changed)
	c.changed = make(chan struct{})
	c.waiting.Unlock()
}

// ErrEventsGone is matched when events that were asked for are not kept any more.
var ErrEventsGone = errors.New("events are not kept that long")

// Follow calls fn with the events after one, in the order of the writes, until the context
// ends or fn returns an error: after LastEvent those that are to come, after 0 all that
// are kept. Each event comes once, whatever ends meanwhile, if the sequence of the last
// one is given again. Errors match ErrEventsGone or ErrClosed, or come from the context,
// the store or fn.
func (c *LiveCollection) Follow(ctx context.Context, after uint64, fn func(*Event) error) error {
	oldest := c.clock().Add(-time.Duration(c.Meta().Events))
	last := c.seq.Load()
	if after > last || after != 0 && after < last && after < uint64(max(oldest.UnixMilli(), 0))*1000 {
		return fmt.Errorf("%w: this collection keeps them for %v: begin without a last event", ErrEventsGone, time.Duration(c.Meta().Events))
	}
	for {
		c.waiting.Lock()
		changed := c.changed
		c.waiting.Unlock()
		scan := cellstore.Scan{
			Ranges:    []cellstore.Range{{From: binary.BigEndian.AppendUint64([]byte{rowEvent}, after+1), To: []byte{rowEvent + 1}}},
			Selection: cellstore.Selection{Families: []string{famEvent}},
		}
		for row, err := range c.table.Scan(ctx, scan) {
			if err != nil {
				return wrap(err)
			}
			var e Event
			if len(row.Key) != 9 || json.Unmarshal(row.Cells[0].Value, &e) != nil {
				return fmt.Errorf("points: %w: the row %q is no event", cellstore.ErrCorrupt, row.Key)
			}
			after = binary.BigEndian.Uint64(row.Key[1:])
			e.Seq = after
			if err := fn(&e); err != nil {
				return err
			}
		}
		select {
		case <-changed:
		case <-c.quit:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// LastEvent returns the sequence of the newest event, 0 if there has been none.
func (c *LiveCollection) LastEvent(context.Context) (uint64, error) { return c.seq.Load(), nil }
