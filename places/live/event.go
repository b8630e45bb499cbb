package live

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/quadkey"
)

// Event is a Change as the log keeps it: a move of a feature, or a change of the areas around it.
// From is the position before, or nil if the feature did not exist. To is the position after, or
// nil if the feature is gone. Positions are longitude and latitude in degrees.
type Event struct {
	Seq     uint64      `json:"-"`      // rises with every event
	Before  uint64      `json:"before"` // the Seq of the event before, 0 for the first of all
	ID      string      `json:"id"`
	From    *[2]float64 `json:"from,omitempty"`
	To      *[2]float64 `json:"to,omitempty"`
	Version int64       `json:"version"`           // of the feature: milliseconds since 1970
	Expired bool        `json:"expired,omitempty"` // the feature is gone because its time was over
	// Edition is the edition of the areas by which both ends are judged, or 0 if none was known.
	// PreviousEdition is set if the feature has stayed while areas around it changed. It is the edition
	// by which the feature was judged before. From and To are then equal.
	Edition         uint64 `json:"by,omitempty"`
	PreviousEdition uint64 `json:"was,omitempty"`
	// EditionSuffix and PreviousEditionSuffix are the suffixes of the names of these editions.
	EditionSuffix         string `json:"more,omitempty"`
	PreviousEditionSuffix string `json:"was_more,omitempty"`
	// Content is the further content of a complete log.
	Content *Content `json:"is,omitempty"`
}

// Content is a feature without its position. Only a whole log stores it.
type Content struct {
	Properties json.RawMessage `json:"properties"`
	Expires    int64           `json:"expires,omitempty"`
}

// parse reads the row of an event, and reports whether it holds one.
func (e *Event) parse(row *cellstore.Row) bool {
	if len(row.Key) != keyHead || json.Unmarshal(row.Cells[0].Value, e) != nil {
		return false
	}
	e.Seq = binary.BigEndian.Uint64(row.Key[1:])
	if e.Content == nil {
		return true
	}
	if e.To == nil || e.Version <= 0 || quadkey.CheckCoordinate(e.To[0], e.To[1]) != nil ||
		!bytes.HasPrefix(e.Content.Properties, []byte("{")) {
		return false
	}
	object, err := feature.AppendProperties(nil, e.Content.Properties)
	e.Content.Properties = object
	return err == nil
}

// change converts an event of a whole log to a Change, without the feature before. It returns an
// error if the log is not whole.
func (e *Event) change() (Change, error) {
	c := Change{ID: e.ID, Version: e.Version, Expired: e.Expired, Seq: e.Seq, Before: e.Before,
		Edition: e.Edition, EditionSuffix: e.EditionSuffix}
	switch {
	case e.Content != nil:
		c.is = e.Content.Properties
		c.Is = &feature.Feature{ID: e.ID, Version: e.Version, Expires: ExpiryTime(e.Content.Expires), Properties: objectOf(c.is)}
		c.Is.Lon, c.Is.Lat = e.To[0], e.To[1]
	case e.To != nil:
		return c, fmt.Errorf("live: %w: change %d of the log lacks the properties of %.60q: restore the log from a backup",
			cellstore.ErrCorrupt, e.Seq, e.ID)
	}
	return c, nil
}

// IsRedraw reports whether the feature has stayed while areas around it changed.
func (e *Event) IsRedraw() bool { return e.PreviousEdition != 0 || e.PreviousEditionSuffix != "" }

// announce wakes all Followers.
func (c *Collection) announce() {
	c.waiting.Lock()
	close(c.changed)
	c.changed = make(chan struct{})
	c.waiting.Unlock()
}

// ErrEventsGone is matched if requested events are no longer stored.
var ErrEventsGone = errors.New("events are not kept that long")

// EventsGoneError names the missing events; it matches ErrEventsGone. A Follower that begins
// after Next skips them.
type EventsGoneError struct {
	Next uint64
	kept Duration
}

func (e *EventsGoneError) Error() string {
	return fmt.Sprintf("live: %v: this collection keeps them for %v: begin without a last event", ErrEventsGone, time.Duration(e.kept))
}

// Is reports whether e matches an error.
func (e *EventsGoneError) Is(target error) bool { return target == ErrEventsGone }

// followed is the number of events that a Follower reads at once. It is small, because
// there are many followers.
const followed = 32

// Follower reads the events after a given one, in the order of the writes. After LastEvent it reads
// only future events, and after 0 all stored ones. If each new Follower begins after the last event
// of the previous one, every event comes exactly once, even across restarts. A Follower holds
// nothing between two calls. It belongs to one goroutine.
type Follower struct {
	c       *Collection
	after   uint64
	all     bool // skip events that are no longer kept
	changed <-chan struct{}
}

// atOnce is a closed channel.
var atOnce = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Follower begins after an event.
func (c *Collection) Follower(after uint64) *Follower {
	return &Follower{c: c, after: after, all: after == 0, changed: atOnce}
}

// Changed returns a channel that is closed when Next should be called again. If there may be more
// events already, it is closed at once. After Done of the collection there are no more events.
func (f *Follower) Changed() <-chan struct{} { return f.changed }

// HasMore reports whether Next may return events that exist already.
func (f *Follower) HasMore() bool { return f.changed == atOnce }

// Next returns some of the next events, or none if there are none yet. The caller owns the
// events. Errors match ErrEventsGone or ErrClosed, or come from the context or the store.
//
// Every event names the one before it, so a missing event is detected.
func (f *Follower) Next(ctx context.Context) ([]Event, error) {
	events, err := f.next(ctx)
	return slices.DeleteFunc(events, func(e Event) bool { return e.still() }), err
}

func (f *Follower) next(ctx context.Context) ([]Event, error) {
	f.c.waiting.Lock()
	f.changed = f.c.changed
	f.c.waiting.Unlock()
	last := f.c.seq.Load() // later events may still be lost
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
			f.changed = atOnce // the error is returned after the events before the gap
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

// still reports whether nothing has moved. A whole log also stores such changes, but followers do
// not get them.
func (e *Event) still() bool {
	return e.Content != nil && !e.IsRedraw() && e.From != nil && e.To != nil && *e.From == *e.To
}

// follows reports whether there was no event between the one with number after and e.
func (e *Event) follows(after uint64) bool { return e.Before == after || e.Seq == after+1 }

// CheckEventsAfter returns the error that a Follower after the given event would get at once. It
// matches ErrEventsGone unless all events after the given one are still stored.
func (c *Collection) CheckEventsAfter(ctx context.Context, after uint64) error {
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

// events reads the log.
func (c *Collection) events(ctx context.Context, after, last uint64, most int) (list []Event, err error) {
	err = c.read(ctx, func(now *current) (err error) {
		list, err = now.log.Read(ctx, after, last, most)
		return err
	})
	return list, c.unlessClosed(err)
}

func (c *Collection) eventsGone(next uint64) error {
	return &EventsGoneError{next, c.Meta().EventRetention}
}

// LastEvent returns the sequence of the newest event, or 0 if there has been none. The error is the
// reason why the collection cannot be read.
func (c *Collection) LastEvent(context.Context) (uint64, error) {
	return c.seq.Load(), c.now.Load().err
}
