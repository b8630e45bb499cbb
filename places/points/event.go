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

// Event is a move of a point: From is where it was, nil if it was not there, and To where
// it is, nil if it is gone. Positions are longitude and latitude in degrees.
type Event struct {
	Seq     uint64      `json:"-"`      // rises with every event
	Before  uint64      `json:"before"` // the Seq of the event before, 0 for the first of all
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
	e.Before = k.seq
	k.seq = max(k.seq+1, uint64(max(k.now, 0))*1000)
	value, _ := json.Marshal(&e) // made of texts and numbers
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

// ErrEventsGone is matched when events that were asked for are not kept any more.
var ErrEventsGone = errors.New("events are not kept that long")

// EventsGoneError is an error that matches ErrEventsGone. To Follow after Next is to go on
// behind what is missing.
type EventsGoneError struct {
	Next uint64
	kept Duration
}

func (e *EventsGoneError) Error() string {
	return fmt.Sprintf("points: %v: this collection keeps them for %v: begin without a last event", ErrEventsGone, time.Duration(e.kept))
}

// Is reports whether e matches an error.
func (e *EventsGoneError) Is(target error) bool { return target == ErrEventsGone }

// followed is how many events Follow reads at once: few, because those who follow are many.
const followed = 32

// Follow calls fn with the events after one, in the order of the writes, until the context
// ends or fn returns an error: after LastEvent those that are to come, after 0 all that
// are kept. Each event comes once, whatever ends meanwhile, if the sequence of the last
// one is given again. Nothing is held while fn runs, which may keep the event. Errors match ErrEventsGone or
// ErrClosed, or come from the context, the store or fn.
//
// Every event names the one before, so that one which is missing is noticed.
func (c *LiveCollection) Follow(ctx context.Context, after uint64, fn func(*Event) error) error {
	for all := after == 0; ; { // while all is set, what is not kept is not asked for
		c.waiting.Lock()
		changed := c.changed
		c.waiting.Unlock()
		last := c.seq.Load() // later ones may be lost yet
		if after > last {
			return c.eventsGone(last)
		}
		events, err := c.events(ctx, after, last, followed)
		if err != nil {
			return err
		}
		for i := range events {
			e := &events[i]
			if !all && !e.follows(after) {
				return c.eventsGone(e.Before)
			}
			after = e.Seq
			if err := fn(e); err != nil {
				return err
			}
		}
		if len(events) == followed {
			continue // there may be more
		}
		if !all && after != last {
			return c.eventsGone(last)
		}
		all, after = false, last
		select {
		case <-changed:
		case <-c.quit:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// follows reports whether there has been no event between one and e.
func (e *Event) follows(after uint64) bool { return e.Before == after || e.Seq == after+1 }

// CheckEvents returns what Follow would at once: an error that matches ErrEventsGone
// unless all events after one are kept.
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

// events returns the events after one up to another one, at most so many.
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
