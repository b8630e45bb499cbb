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
	if last := c.seq.Load(); after > last || after < last && c.forgets(after) {
		return c.eventsGone()
	}
	for seen := after; ; {
		began := uint64(max(c.clock().UnixMilli(), 0)) * 1000
		c.waiting.Lock()
		changed := c.changed
		c.waiting.Unlock()
		scan := cellstore.Scan{
			// Events that are written but not announced yet are later than LastEvent: whoever
			// came back with one of them would be told that it is gone.
			Ranges:    []cellstore.Range{{From: eventKey(after + 1), To: eventKey(c.seq.Load()), ToInclusive: true}},
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
			if c.forgets(seen) {
				return c.eventsGone() // fn is too slow: some may have gone meanwhile
			}
			after = binary.BigEndian.Uint64(row.Key[1:])
			seen = after
			e.Seq = after
			if err := fn(&e); err != nil {
				return err
			}
		}
		seen = max(after, began) // there was nothing else
		select {
		case <-changed:
		case <-c.quit:
			return ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func eventKey(seq uint64) []byte { return binary.BigEndian.AppendUint64([]byte{rowEvent}, seq) }

// forgets reports whether events after one may be gone already.
func (c *LiveCollection) forgets(after uint64) bool {
	oldest := c.clock().Add(-time.Duration(c.Meta().Events))
	return after != 0 && after < uint64(max(oldest.UnixMilli(), 0))*1000
}

func (c *LiveCollection) eventsGone() error {
	return fmt.Errorf("%w: this collection keeps them for %v: begin without a last event", ErrEventsGone, time.Duration(c.Meta().Events))
}

// LastEvent returns the sequence of the newest event, 0 if there has been none.
func (c *LiveCollection) LastEvent(context.Context) (uint64, error) { return c.seq.Load(), nil }
