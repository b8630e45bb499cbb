package points

import (
	"context"
	"fmt"

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

// redrawn is the number of ids that a step of Redraw looks at. Writes wait for the step.
const redrawn = 256

// Editions returns the edition by which the points of the collection are judged, and the one that
// Redraw leads them to. next is none unless Redraw has begun.
func (c *LiveCollection) Editions() (now, next Edition) {
	r := &c.meta.Load().Redraw
	return r.Now, r.Next
}

// Redraw takes a step from one edition of the areas to another, and reports whether it was the last
// one. Each step looks at some points and leaves an Event for each that differs, with Was set. The
// step and its events are one write: a program that ends meanwhile goes on behind them. A move
// between two steps is judged by the edition that its point was led to. So a point crosses each
// border around it once, whether by a move or by the Event.
//
// differs reports whether a position in degrees is in other areas by one edition than by the other.
// It must not call the collection: for points that have just moved it is asked while writes wait. If
// it is nil, all points get the edition in one step and without events, and so do those of a
// collection that has had none. Until the last step, to must stay the same. Errors are those of
// differs or of Write; the step has then changed nothing.
func (c *LiveCollection) Redraw(ctx context.Context, to Edition, differs func(lat, lon float64) (bool, error)) (done bool, err error) {
	judged := map[string]judgedAt{}
	if now, _ := c.Editions(); differs != nil && now != (Edition{}) {
		from := c.meta.Load().Redraw.From
		err := c.read(ctx, func(now *Collection) error {
			_, _, err := now.eachID(ctx, from, func(id string, r *record) error {
				other, err := differs(toDegrees(r.lat), toDegrees(r.lon))
				judged[id] = judgedAt{r.position, other}
				return err
			})
			return err
		})
		if err != nil {
			return false, c.unlessClosed(err)
		}
	}
	r := newRequest(make([]Write, 1), make([]Outcome, 1))
	r.alone = func(k *commit) {
		if r.outcomes[0].Err = k.redraw(to, differs, judged); r.outcomes[0].Err != nil {
			*k = *newCommit(c)
			return
		}
		k.outcomes = append(k.outcomes, &r.outcomes[0])
	}
	if err := c.submit(ctx, r); err != nil {
		return false, err
	}
	now, _ := c.Editions()
	return now == to, r.outcomes[0].Err
}

// judgedAt is whether a point differs at a position.
type judgedAt struct {
	position
	differs bool
}

// redraw adds a step of Redraw. judged are points as they were a moment ago.
func (k *commit) redraw(to Edition, differs func(lat, lon float64) (bool, error), judged map[string]judgedAt) error {
	next := *k.c.meta.Load()
	k.meta = &next
	at := &next.Redraw
	if differs == nil || at.Now == (Edition{}) {
		*at = redraw{Now: to}
		return nil
	}
	if at.Next != (Edition{}) && at.Next != to {
		return fmt.Errorf("points: edition %d of the areas is being told: tell it to the end before edition %d", at.Next.Number, to.Number)
	}
	at.Next = to
	last, n, err := k.c.eachID(context.Background(), at.From, func(id string, r *record) (err error) {
		lat, lon := toDegrees(r.lat), toDegrees(r.lon)
		known, is := judged[id]
		if !is || known.position != r.position {
			known.differs, err = differs(lat, lon)
		}
		if err == nil && known.differs {
			here := &[2]float64{lon, lat}
			k.log(&Event{ID: id, From: here, To: here, Version: r.version, By: next.Redraw.Next.Number, Was: next.Redraw.Now.Number})
		}
		return err
	})
	if at.From = last + "\x00"; n < redrawn {
		*at = redraw{Now: to}
	}
	return err
}

// eachID calls fn with the next points by their ids, without their properties, and returns the last
// id and how many it has looked at, at most redrawn. The record is valid during the call.
func (c *Collection) eachID(ctx context.Context, from string, fn func(id string, r *record) error) (last string, n int, err error) {
	scan := cellstore.Scan{
		Ranges: []cellstore.Range{{From: appendIDKey(nil, from), To: []byte{rowID + 1}}}, Limit: redrawn, Selection: *selectID,
	}
	for row, err := range c.table.Scan(ctx, scan) {
		if err != nil {
			return last, n, wrap(err)
		}
		last, n = string(row.Key[1:]), n+1
		if len(row.Cells) > 0 && len(row.Cells[0].Value) == 0 {
			continue // deleted, with history
		}
		var r record
		if err = r.parseID(row); err == nil {
			err = fn(last, &r)
		}
		if err != nil {
			return last, n, err
		}
	}
	return last, n, nil
}
