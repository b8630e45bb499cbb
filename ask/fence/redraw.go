package fence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/feature"
	"quadrille/places/live"
	"quadrille/tiles"
)

// ErrUntold is matched if nobody could be told of points that other regions hold now: the generation of the
// boundaries by which they were judged cannot be read any more.
var ErrUntold = errors.New("borders that were redrawn could not be told")

// Redraw takes a step towards a collection whose points are judged by the boundaries in service, and
// reports whether they are. Points that have not moved, and that other regions hold than before, get
// events: they leave and enter. Without boundaries in service there is nothing to do. An error that matches
// ErrUntold says that the points are judged by the boundaries in service, without events. After any other
// error the next call repeats the step. Redraw may be called beside any other calls.
func Redraw(ctx context.Context, c *live.Collection, views *ask.Views) (done bool, err error) {
	v := views.Take(time.Time{})
	defer v.Release()
	current := editionOf(v.Boundaries.Main())
	if _, published, err := v.Boundaries.Have(); !published {
		return err == nil, err
	}
	now, next := c.Editions()
	to := current
	switch {
	case now == current && next == live.Edition{}:
		return true, nil
	case now == live.Edition{}:
		return c.Redraw(ctx, now, current, nil)
	case next != live.Edition{}: // to the end first
		to = next
	}
	r := redrawing{views: views, editions: [2]live.Edition{now, to}, serving: current}
	defer r.release()
	done, err = c.Redraw(ctx, now, to, r.differs)
	if why := err; errors.Is(why, errGone) {
		if done, err = c.Redraw(ctx, now, current, nil); done {
			err = fmt.Errorf("%w: followers of %s must read its points again, which were judged by generation %d: %w",
				ErrUntold, c.Meta().Name, now.Number, why)
		}
	}
	return done && to == current, err
}

// editionOf returns the edition that a generation is, which is none for an error.
func editionOf(p *ask.Pinned[*tiles.Reader]) (e live.Edition) {
	if p.Handle != nil {
		e = live.Edition{Number: p.Handle.Manifest().Generation, Identity: p.ID}
	}
	return e
}

// errGone is matched if a generation cannot be read, now or later.
var errGone = errors.New("generation cannot be read any more")

// redrawing compares two generations. They are opened for the first point: most collections are small,
// and the older generation may not be open.
type redrawing struct {
	views    *ask.Views
	editions [2]live.Edition
	serving  live.Edition
	ends     [2]ask.Pinned[*tiles.Reader]
}

// differs reports whether other regions hold a position.
func (r *redrawing) differs(ctx context.Context, lat, lon float64) (bool, error) {
	var at [2][]tiles.Region
	for i := range r.ends {
		r.open(i)
		var err error
		if at[i], err = regionsAt(ctx, &r.ends[i], &[2]float64{lon, lat}, nil); err == nil {
			continue
		}
		if gone(err) && r.editions[i] != r.serving {
			err = fmt.Errorf("%w: %w", errGone, err)
		}
		return false, err
	}
	return !sameRegions(at[0], at[1]), nil
}

// open pins an edition.
func (r *redrawing) open(i int) {
	p, e := &r.ends[i], r.editions[i]
	if p.Handle != nil {
		return
	}
	if *p = ask.PinGeneration(r.views.Boundaries, e.Number); p.Handle != nil && editionOf(p) != e {
		p.Release()
		*p = ask.Pinned[*tiles.Reader]{Err: dataset.ErrPruned} // another one has the number now
	}
}

func (r *redrawing) release() {
	for i := range r.ends {
		r.ends[i].Release()
	}
}

// sameRegions reports whether two lists have the same regions, in any order.
func sameRegions(a, b []tiles.Region) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(r tiles.Region) bool { return !holds(b, &r) })
}

// holds reports whether a list has a region.
func holds(list []tiles.Region, r *tiles.Region) bool {
	return slices.ContainsFunc(list, func(o tiles.Region) bool { return o.Type == r.Type && feature.SameID(o.ID, r.ID) })
}
