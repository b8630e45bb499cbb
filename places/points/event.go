package points

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"quadrille/cellstore"
	"time"
)

// Event is a move of a point, or a change of the areas around it. From is where it was, nil if it
// did not exist; To is where it is, nil if it is gone. Positions are longitude and latitude in degrees.
type Event struct {
	Seq     uint64      `json:"-"`      // rises with every event
	Before  uint64      `json:"before"` // the Seq of the event before, 0 for the first of all
	ID      string      `json:"id"`
	From    *[2]float64 `json:"from,omitempty"`
	To      *[2]float64 `json:"to,omitempty"`
	Version int64       `json:"version"`           // of the point: milliseconds since 1970
	Expired bool        `json:"expired,omitempty"` // the point is gone because its time was over
	// By is the edition of the areas by which both ends are judged, 0 if none was known. Was is set
	// for a point that has stayed while areas around it changed: the edition by which it was judged
	// before. Then From is To.
	By  uint64 `json:"by,omitempty"`
	Was uint64 `json:"was,omitempty"`
}

// event adds the row of an event to the step if the point has moved.
func (k *commit) event(w *Write, old, next *record, stays bool) {
	e := Event{ID: w.ID, Version: next.version, Expired: w.Kind == expire, By: k.c.meta.Load().Redraw.by(w.ID)}
	if old.version != 0 {
		e.From = &[2]float64{toDegrees(old.lon), toDegrees(old.lat)}
	}
	if stays {
		e.To = &[2]float64{toDegrees(next.lon), toDegrees(next.lat)}
	}
	if e.From != nil && e.To != nil && *e.From == *e.To {
		return
	}
	k.log(&e)
}

// log adds the row of an event to the step.
func (k *commit) log(e *Event) {
	e.Before = k.seq
	k.seq = max(k.seq+1, uint64(max(k.now, 0))*1000)
	value, _ := json.Marshal(e) // made of texts and numbers
	key := binary.BigEndian.AppendUint64([]byte{rowEvent}, k.seq)
	at := int64(k.seq / 1000)
	if k.ahead(at) && k.c.clock.Settled() { // else the clock may be behind for a moment
		at = k.now
	}
	k.mutations = append(k.mutations, cellstore.Mutation{Row: key, Ops: []cellstore.Op{cellstore.PutAt(famEvent, nil, at, value)}})
}

// announce wakes those who follow events.
func (c *LiveCollection) announce() {
	c.waiting.Lock()
	close(c.changed)
	c.changed = make(chan struct{})
	c.waiting.Unlock()
}

// ErrEventsGone is matched if events that were asked for are no longer kept.
var ErrEventsGone = errors.New("events are not kept that long")

// EventsGoneError says which events are missing; it matches ErrEventsGone. A Follower
// that begins after Next passes over what is missing.
type EventsGoneError struct {
	Next uint64
	kept Duration
}

func (e *EventsGoneError) Error() string {
	return fmt.Sprintf("points: %v: this collection keeps them for %v: begin without a last event", ErrEventsGone, time.Duration(e.kept))
}

// Is reports whether e matches an error.
func (e *EventsGoneError) Is(target error) bool { return target == ErrEventsGone }

// followed is the number of events that a Follower reads at once. It is small, because
// there are many followers.
const followed = 32

// Follower reads the events after a given one, in the order of the writes: after LastEvent
// only those to come, after 0 all that are kept. If each new Follower begins after the last
// event of the one before, every event comes exactly once, whatever ends meanwhile. A
// Follower holds nothing between two calls. It belongs to one goroutine.
type Follower struct {
	c       *LiveCollection
	after   uint64
	all     bool // events that are not kept are not asked for
	changed <-chan struct{}
}

// atOnce is closed.
var atOnce = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Follower begins after an event.
func (c *LiveCollection) Follower(after uint64) *Follower {
	return &Follower{c: c, after: after, all: after == 0, changed: atOnce}
}

// Changed returns a channel that is closed when Next should be called again: at once if
// there may be more. After Done of the collection there are no more events.
func (f *Follower) Changed() <-chan struct{} { return f.changed }

// Behind reports whether Next may return events that are there already.
func (f *Follower) Behind() bool { return f.changed == atOnce }

// Next returns some of the next events, or none if there are none yet. The events belong
// to the caller. Errors match ErrEventsGone or ErrClosed, or come from the context or the
// store.
//
// Every event names the one before it, so a missing event is noticed.
func (f *Follower) Next(ctx context.Context) ([]Event, error) {
	f.c.waiting.Lock()
	f.changed = f.c.changed
	f.c.waiting.Unlock()
	last := f.c.seq.Load() // later ones may be lost yet
	if f.after > last {
		return nil, f.c.eventsGone(last)
	}
	events, err := f.c.events(ctx, f.after, last, followed)
	if err != nil {
		return nil, err
	}
	for i := range events {
		e := &events[i]
		if !f.all && !e.follows(f.after) {
			if i == 0 {
				return nil, f.c.eventsGone(e.Before)
			}
			f.changed = atOnce // to be returned after the events before the gap
			return events[:i], nil
		}
		f.after = e.Seq
	}
	switch {
	case len(events) == followed, len(events) > 0 && !f.all && f.after != last:
		f.changed = atOnce
		return events, nil
	case !f.all && f.after != last:
		return nil, f.c.eventsGone(last)
	}
	f.all, f.after = false, last
	return events, nil
}

// follows reports whether there was no event between one and e.
func (e *Event) follows(after uint64) bool { return e.Before == after || e.Seq == after+1 }

// CheckEvents returns the error that a Follower would get at once. It matches
// ErrEventsGone unless all events after a given one are kept.
func (c *LiveCollection) CheckEvents(ctx context.Context, after uint64) error {
	last, err := c.LastEvent(ctx)
	if err != nil || after == 0 || after == last {
		return err
	}
	next, err := c.events(ctx, after, max(last, after), 1)
	switch {
	case err != nil:
		return err
	case len(next) == 0:
		return c.eventsGone(last)
	case !next[0].follows(after):
		return c.eventsGone(next[0].Before)
	}
	return nil
}

// events returns the events after one up to another, at most so many.
func (c *Collection) events(ctx context.Context, after, last uint64, most int) (list []Event, err error) {
	scan := cellstore.Scan{
		Ranges: []cellstore.Range{{
			From: binary.BigEndian.AppendUint64([]byte{rowEvent}, after+1), To: binary.BigEndian.AppendUint64([]byte{rowEvent}, last+1),
		}},
		Selection: cellstore.Selection{Families: []string{famEvent}}, Limit: most,
	}
	for row, err := range c.table.Scan(ctx, scan) {
		if err != nil {
			return nil, wrap(err)
		}
		var e Event
		if !e.parse(row) {
			return nil, fmt.Errorf("points: %w: the row %q is no event", cellstore.ErrCorrupt, row.Key)
		}
		list = append(list, e)
	}
	return list, nil
}

// parse reads the row of an event, and reports whether it holds one.
func (e *Event) parse(row *cellstore.Row) bool {
	if len(row.Key) != keyHead || json.Unmarshal(row.Cells[0].Value, e) != nil {
		return false
	}
	e.Seq = binary.BigEndian.Uint64(row.Key[1:])
	return true
}

func (c *LiveCollection) eventsGone(next uint64) error {
	return &EventsGoneError{next, c.Meta().Events}
}

// LastEvent returns the sequence of the newest event, 0 if there has been none. The error is
// why the collection cannot be read.
func (c *LiveCollection) LastEvent(context.Context) (uint64, error) {
	return c.seq.Load(), c.now.Load().err
}
