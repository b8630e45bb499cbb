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

// ErrRedrawEventsLost is returned when points are in other regions now but their events are lost: the
// generation of the boundaries that they were judged by cannot be read any more.
var ErrRedrawEventsLost = errors.New("borders that were redrawn could not be told")

// Redraw takes one step to judge the points of a collection by the boundaries in service. It
// reports whether all points are judged by them. Points that have not moved but are in other
// regions than before get events: they leave and enter. Without boundaries in service there is
// nothing to do. After an error that matches ErrRedrawEventsLost the points are judged by the boundaries in
// service, without events. After any other error the next call repeats the step. Redraw may be
// called concurrently with any other calls. held has regions of earlier generations that stay
// readable for this, even after the removal of the generations. It may be nil.
func Redraw(ctx context.Context, c *live.Collection, views *ask.Views, held *ask.Regions) (done bool, err error) {
	v := views.Take(time.Time{})
	defer v.Release()
	if _, published, err := v.Boundaries.GetIfPublished(); !published {
		return err == nil, err
	}
	current, err := v.Boundaries.Edition()
	if err != nil {
		return false, err
	}
	now, next := c.Editions()
	to := current
	switch {
	case now == current && next == live.Edition{}:
		return true, nil
	case now == live.Edition{}:
		return c.Redraw(ctx, now, current, nil)
	case next != live.Edition{}: // finish the step that has begun
		to = next
	}
	r := redrawing{views: views, held: held, editions: [2]live.Edition{now, to}, serving: current}
	defer r.release()
	done, err = c.Redraw(ctx, now, to, r.differs)
	if why := err; errors.Is(why, errGone) {
		if done, err = c.Redraw(ctx, now, current, nil); done {
			err = fmt.Errorf("%w: followers of %s must read its points again, which were judged by generation %d: %w",
				ErrRedrawEventsLost, c.Meta().Name, now.Number, why)
		}
	}
	return done && to == current, err
}

// errGone is returned when a generation can never be read again.
var errGone = errors.New("generation cannot be read any more")

// redrawing compares two generations. It opens them at the first point: most collections are small,
// and the older generation may not be open.
type redrawing struct {
	views    *ask.Views
	held     *ask.Regions
	editions [2]live.Edition
	serving  live.Edition
	ends     [2]*ask.Regions
}

// differs reports whether a position is in other regions in the two generations.
func (r *redrawing) differs(ctx context.Context, lat, lon float64) (bool, error) {
	var at [2][]tiles.Region
	for i := range r.ends {
		if r.ends[i] == nil {
			r.open(i)
		}
		b, err := r.ends[i].Get()
		if err == nil {
			at[i], err = regionsAt(ctx, b, &[2]float64{lon, lat}, nil)
		}
		if err == nil {
			continue
		}
		r.ends[i].Release()
		r.ends[i] = nil // the next try may find it
		if gone(err) && r.editions[i] != r.serving {
			err = fmt.Errorf("%w: %w", errGone, err)
		}
		return false, err
	}
	return !sameRegions(at[0], at[1]), nil
}

// open acquires an edition.
func (r *redrawing) open(i int) {
	e := r.editions[i]
	p := r.views.RegionsOf(e, r.held)
	if p.Err == nil && p.ID != e.Identity {
		p.Err = dataset.ErrPruned // another generation has the number now
	}
	r.ends[i] = p
}

func (r *redrawing) release() {
	for _, p := range r.ends {
		if p != nil {
			p.Release()
		}
	}
}

// sameRegions reports whether two lists have the same regions, in any order.
func sameRegions(a, b []tiles.Region) bool {
	return len(a) == len(b) && !slices.ContainsFunc(a, func(r tiles.Region) bool { return !holds(b, &r) })
}

// holds reports whether a list has a region.
func holds(list []tiles.Region, r *tiles.Region) bool {
	return slices.ContainsFunc(list, func(o tiles.Region) bool { return o.Type == r.Type && feature.SameRegionID(o.ID, r.ID) })
}
