package points

import (
	"context"
	"fmt"
	"time"

	"quadrille/cellstore"
)

// Edition is one edition of the areas that moves are judged by, such as a generation of boundaries.
// The number names it, and the identity tells two of the same number apart. The zero Edition is none.
type Edition struct {
	Number   uint64 `json:"number"`
	Identity uint64 `json:"identity"`
}

// redraw says by which edition each point is judged: those with an id before From by Next, all
// others by Now.
type redraw struct {
	Now  Edition `json:"now"`
	Next Edition `json:"next,omitzero"`
	From string  `json:"from,omitempty"`
}

// by returns the edition by which a point is judged.
func (r *redraw) by(id string) uint64 {
	if id < r.From {
		return r.Next.Number
	}
	return r.Now.Number
}

const (
	// redrawn is the number of ids that a step of Redraw looks at.
	redrawn = 256
	// redrawWait bounds how long a step asks about a point while writes wait.
	redrawWait = time.Second
)

// Editions returns the edition by which the points of the collection are judged, and the one that
// Redraw leads them to. next is none unless Redraw has begun.
func (c *LiveCollection) Editions() (now, next Edition) {
	r := &c.meta.Load().Redraw
	return r.Now, r.Next
}

// Differs reports whether a position in degrees is in other areas by one edition than by another. It
// must not call the collection: writes may wait for it.
type Differs func(ctx context.Context, lat, lon float64) (bool, error)

// Redraw takes a step from one edition of the areas to another, and reports whether it was the last
// one. Each step looks at some points and leaves an Event for each that differs, with Was set. The
// step and its events are one write: a program that ends meanwhile goes on behind them. A move
// between two steps is judged by the edition that its point was led to. So a point crosses each
// border around it once, whether by a move or by the Event.
//
// If differs is nil, all points get the edition in one step and without events, and so do those of a
// collection that has had none. A step does nothing if points are judged by another edition than from.
// Until the last step, to must stay the same. Errors are those of differs or of Write; the step has
// then changed nothing.
func (c *LiveCollection) Redraw(ctx context.Context, from, to Edition, differs Differs) (done bool, err error) {
	known := map[string]judged{}
	if differs != nil && from != (Edition{}) {
		if known, err = c.judge(ctx, differs); err != nil {
			return false, err
		}
	}
	r := newRequest(make([]Write, 1), make([]Outcome, 1))
	r.alone = func(k *commit) {
		o := &r.outcomes[0]
		if o.Err = k.redraw(ctx, from, to, known, differs); o.Err != nil || k.meta == nil {
			*k = *newCommit(c)
			return
		}
		k.outcomes = append(k.outcomes, o)
	}
	if err := c.submit(context.WithoutCancel(ctx), r); err != nil {
		return false, err
	}
	now, next := c.Editions()
	return now == to && next == (Edition{}), r.outcomes[0].Err
}

// judged is whether a point differs where it was a moment ago.
type judged struct {
	position
	differs bool
}

// judge asks about the next points, as they are before the step. When ctx ends, those that it has asked
// about by then are a step too.
func (c *LiveCollection) judge(ctx context.Context, differs Differs) (map[string]judged, error) {
	type point struct {
		id string
		at position
	}
	var next []point
	from := c.meta.Load().Redraw.From
	err := c.read(ctx, func(now *Collection) error {
		next = next[:0]
		_, err := now.eachID(ctx, from, func(id string, r *record) (bool, error) {
			if r != nil {
				next = append(next, point{id, r.position})
			}
			return true, nil
		})
		return err
	})
	if err != nil {
		return nil, c.unlessClosed(err)
	}
	turn := c.live.turn()
	defer turn.Pause()
	known := map[string]judged{}
	for i, p := range next {
		if i > 0 { // the first question may open files, and needs no processor for that
			turn.Step()
		}
		other, err := differs(ctx, toDegrees(p.at.lat), toDegrees(p.at.lon))
		switch {
		case err != nil && i > 0 && ctx.Err() != nil:
			return known, nil
		case err != nil:
			return nil, err
		}
		known[p.id] = judged{p.at, other}
	}
	return known, nil
}

// redraw adds a step of Redraw, with what is known of the points. It leaves meta nil if there is
// nothing to write.
func (k *commit) redraw(ctx context.Context, from, to Edition, known map[string]judged, differs Differs) error {
	next := *k.c.meta.Load()
	at := &next.Redraw
	switch {
	case at.Now != from:
		return nil
	case differs == nil, from == Edition{}:
		*at = redraw{Now: to}
		k.meta = &next
		return nil
	case at.Next != Edition{} && at.Next != to:
		return fmt.Errorf("points: edition %d of the areas is being told: tell it to the end before edition %d", at.Next.Number, to.Number)
	}
	at.Next = to
	first := len(known) > 0
	whole, err := k.c.eachID(context.Background(), at.From, func(id string, r *record) (bool, error) {
		if r == nil {
			at.From = id + "\x00"
			return true, nil
		}
		lat, lon := toDegrees(r.lat), toDegrees(r.lon)
		is, asked := known[id]
		if !asked || is.position != r.position { // it has moved since
			if !first {
				at.From = id // the next step begins with it
				return false, nil
			}
			// Else the step would never get past a point that moves all the time.
			k.c.turn.Step()
			soon, cancel := context.WithTimeout(ctx, redrawWait)
			defer cancel()
			var err error
			if is.differs, err = differs(soon, lat, lon); err != nil {
				return false, err
			}
		}
		if first = false; is.differs {
			here := &[2]float64{lon, lat}
			k.log(&Event{ID: id, From: here, To: here, Version: r.version, By: to.Number, Was: from.Number})
		}
		at.From = id + "\x00"
		return true, nil
	})
	if whole {
		*at = redraw{Now: to}
	}
	if *at != k.c.meta.Load().Redraw {
		k.meta = &next
	}
	return err
}

// eachID calls fn with the next ids and where their points are, until fn returns false. The record has
// no properties and is valid during the call; it is nil for a point that is gone. whole says that
// there are no more ids.
func (c *Collection) eachID(ctx context.Context, from string, fn func(id string, r *record) (bool, error)) (whole bool, err error) {
	scan := cellstore.Scan{
		Ranges: []cellstore.Range{{From: appendIDKey(nil, from), To: []byte{rowID + 1}}}, Limit: redrawn, Selection: *selectID,
	}
	n := 0
	for row, err := range c.table.Scan(ctx, scan) {
		if err != nil {
			return false, wrap(err)
		}
		n++
		r := &record{}
		if len(row.Cells) > 0 && len(row.Cells[0].Value) == 0 {
			r = nil // deleted, with history
		} else if err := r.parseID(row); err != nil {
			return false, err
		}
		if more, err := fn(string(row.Key[1:]), r); !more || err != nil {
			return false, err
		}
	}
	return n < redrawn, nil
}
