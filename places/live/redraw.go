package live

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"quadrille/feature"
	"quadrille/quadkey"
)

// Edition is one edition of the areas that moves are judged by, such as a generation of boundaries.
// The number and the text name the edition: areas may be of several data sets. The identity
// distinguishes two editions with equal names. The zero Edition means that there is none.
type Edition struct {
	Number   uint64 `json:"number"`
	Suffix   string `json:"more,omitempty"`
	Identity uint64 `json:"identity"`
}

// String returns the name of the edition.
func (e Edition) String() string {
	return strings.TrimSpace(strconv.FormatUint(e.Number, 10) + " " + e.Suffix)
}

// redraw is the progress of a Redraw: points with an id before From are judged by Next, all
// others by Now.
type redraw struct {
	Now  Edition `json:"now"`
	Next Edition `json:"next,omitzero"`
	From string  `json:"from,omitempty"`
}

// by returns the edition that a point is judged by.
func (r *redraw) by(id string) *Edition {
	if id < r.From {
		return &r.Next
	}
	return &r.Now
}

const (
	// RedrawStep is the number of ids in a step of Redraw.
	RedrawStep = 256
	// RedrawWait bounds the time that a step takes for a feature while writes wait.
	RedrawWait = time.Second
)

// Editions returns the edition that the points of the collection are judged by, and the target of a
// Redraw. next is the zero Edition unless Redraw has begun.
func (c *Collection) Editions() (now, next Edition) {
	r := &c.meta.Load().RedrawProgress
	return r.Now, r.Next
}

// Differs reports whether a position in degrees is in different areas in two editions. It must not
// call the collection: writes may wait for it.
type Differs func(ctx context.Context, lat, lon float64) (bool, error)

// Redraw takes a step from one edition of the areas to another, and reports whether it was the last
// one. Each step checks some points and writes an Event for each that differs, with Was set. The
// step and its events are one write, so a restarted program continues after them. A move between
// two steps is judged by the edition that its point has reached. So a point crosses each changed
// border once, either by its move or by the Event.
//
// If differs is nil, or the collection has no edition yet, all points get the new edition in one
// step and without events. A step does nothing if points are judged by an edition other than from.
// Until the last step, to must stay the same. Errors are those of differs or of Write; the step has
// then changed nothing.
func (c *Collection) Redraw(ctx context.Context, from, to Edition, differs Differs) (done bool, err error) {
	known := map[string]judged{}
	if differs != nil && from != (Edition{}) {
		if known, err = c.judge(ctx, differs); err != nil {
			return false, err
		}
	}
	r := newRequest(make([]Write, 1), make([]Outcome, 1))
	r.alone = func(k *step) error { return k.redrawAreas(ctx, from, to, known, differs) }
	if err := c.submit(context.WithoutCancel(ctx), r); err != nil {
		return false, err
	}
	now, next := c.Editions()
	return now == to && next == (Edition{}), r.outcomes[0].Err
}

// judged is the result of differs for a feature at the position that it had just before the step.
type judged struct {
	quadkey.Position
	differs bool
}

// judge calls differs for the next features, as they are before the step. When ctx ends, the
// results so far form a step.
func (c *Collection) judge(ctx context.Context, differs Differs) (map[string]judged, error) {
	type place struct {
		id string
		at quadkey.Position
	}
	var next []place
	from := c.meta.Load().RedrawProgress.From
	err := c.read(ctx, func(now *current) error {
		next = next[:0]
		_, err := idsOf(ctx, now.index, from, func(id string, f *feature.Feature) (bool, error) {
			if f != nil {
				next = append(next, place{id, f.Position})
			}
			return true, nil
		})
		return err
	})
	if err != nil {
		return nil, c.unlessClosed(err)
	}
	turn := c.store.turn()
	defer turn.Pause()
	known := map[string]judged{}
	for i, p := range next {
		if i > 0 { // the first call may open files, and needs no processor for that
			turn.Step()
		}
		other, err := differs(ctx, p.at.Lat, p.at.Lon)
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

func idsOf(ctx context.Context, in Index, from string, fn func(id string, f *feature.Feature) (bool, error)) (done bool, err error) {
	ids, is := in.(IDLister)
	if !is {
		return false, feature.Unsupported("areas that are redrawn around what this collection holds")
	}
	return ids.EachID(ctx, from, RedrawStep, fn)
}

// redrawAreas adds a step of Redraw, with the known results for features. It leaves next nil if
// there is nothing to write.
func (k *step) redrawAreas(ctx context.Context, from, to Edition, known map[string]judged, differs Differs) error {
	next := *k.c.meta.Load()
	at := &next.RedrawProgress
	switch {
	case at.Now != from:
		return nil
	case differs == nil, from == Edition{}:
		*at = redraw{Now: to}
		k.next = &next
		return nil
	case at.Next != Edition{} && at.Next != to:
		return fmt.Errorf("live: edition %v of the areas is being applied: apply it to the end before edition %v", at.Next, to)
	}
	at.Next = to
	first := len(known) > 0
	whole, err := idsOf(context.Background(), k.c.index, at.From, func(id string, f *feature.Feature) (bool, error) {
		if f == nil {
			at.From = id + "\x00"
			return true, nil
		}
		is, asked := known[id]
		if !asked || is.Position != f.Position { // it has moved since
			if !first {
				at.From = id // the next step begins with this feature
				return false, nil
			}
			// Otherwise the step would never pass a feature that moves all the time.
			k.c.turn.Step()
			soon, cancel := context.WithTimeout(ctx, RedrawWait)
			defer cancel()
			var err error
			if is.differs, err = differs(soon, f.Lat, f.Lon); err != nil {
				return false, err
			}
		}
		if first = false; is.differs {
			here := k.feature()
			here.Position = f.Position
			c := Change{ID: id, Version: f.Version, Was: here, Is: here, Edition: to.Number, EditionSuffix: to.Suffix,
				PreviousEdition: from.Number, PreviousEditionSuffix: from.Suffix}
			k.number(&c)
			k.changes = append(k.changes, c)
		}
		at.From = id + "\x00"
		return true, nil
	})
	if whole {
		*at = redraw{Now: to}
	}
	if *at != k.c.meta.Load().RedrawProgress {
		k.next = &next
	}
	return err
}
