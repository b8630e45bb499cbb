package fence

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/feature"
	"quadrille/places/points"
	"quadrille/tiles"
)

// ErrUntold: the generation of the boundaries by which points were judged is not kept any more, so
// nobody was told of points that other regions hold now.
var ErrUntold = errors.New("fences that were redrawn could not be told")

// Redraw has a collection judge its points by the boundaries in service, and returns once it does.
// Points that have not moved, and that other regions hold than before, get events: they leave and
// enter. Without boundaries in service, Redraw does nothing. An error that matches ErrUntold says
// that the points are judged by the boundaries in service, without events. Other errors are those of
// the boundaries or of the collection; another call goes on where this one has stopped. Redraw runs
// once at a time for a collection, and beside any other calls.
func Redraw(ctx context.Context, live *points.LiveCollection, boundaries *dataset.Live[ask.Boundaries]) error {
	for {
		p := ask.Pin(boundaries)
		current := editionOf(&p)
		p.Release()
		if current.Number == 0 {
			if errors.Is(p.Err, ask.ErrMissing) {
				return nil
			}
			return p.Err
		}
		now, next := live.Editions()
		var err error
		switch {
		case now == current && next == points.Edition{}:
			return nil
		case now == points.Edition{}:
			_, err = live.Redraw(ctx, current, nil)
		case next != points.Edition{}: // to the end first
			err = redraw(ctx, live, now, next, boundaries)
		default:
			err = redraw(ctx, live, now, current, boundaries)
		}
		if gone(err) {
			if _, err = live.Redraw(ctx, current, nil); err == nil {
				err = fmt.Errorf("%w: points of %s were judged by generation %d of the boundaries, which is not kept any more: followers read them again",
					ErrUntold, live.Meta().Name, now.Number)
			}
		}
		if err != nil {
			return err
		}
	}
}

// editionOf returns the edition that a generation is, which is none for an error.
func editionOf(p *ask.Pinned[ask.Boundaries]) (e points.Edition) {
	if p.Handle != nil {
		e = points.Edition{Number: p.Handle.Manifest().Generation, Identity: p.ID}
	}
	return e
}

// redraw leads a collection from one generation to another. The error matches as gone says if one of
// them is not kept any more.
func redraw(ctx context.Context, live *points.LiveCollection, from, to points.Edition, boundaries *dataset.Live[ask.Boundaries]) error {
	r := redrawing{boundaries: boundaries, editions: [2]points.Edition{from, to}}
	defer r.release()
	for {
		done, err := live.Redraw(ctx, to, func(lat, lon float64) (bool, error) { return r.differs(ctx, lat, lon) })
		if done || err != nil {
			return err
		}
	}
}

// redrawing compares two generations. They are opened for the first point: most collections are small,
// and the older generation may not be open.
type redrawing struct {
	boundaries *dataset.Live[ask.Boundaries]
	editions   [2]points.Edition
	ends       [2]ask.Pinned[ask.Boundaries]
}

// differs reports whether other regions hold a position. A panic over the bytes of boundaries is an error,
// since writes must go on.
func (r *redrawing) differs(ctx context.Context, lat, lon float64) (differs bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("boundaries at %v,%v: panic: %v", lat, lon, p)
		}
	}()
	var at [2][]tiles.Region
	for i := range r.ends {
		b, err := r.open(i)
		if err == nil {
			at[i], err = b.At(ctx, lat, lon)
		}
		if err != nil {
			return false, err
		}
	}
	return !sameRegions(at[0], at[1]), nil
}

// open returns the boundaries of an edition.
func (r *redrawing) open(i int) (ask.Boundaries, error) {
	p, e := &r.ends[i], r.editions[i]
	if p.Handle == nil {
		if *p = ask.PinGeneration(r.boundaries, e.Number); p.Handle != nil && editionOf(p) != e {
			p.Release()
			*p = ask.Pinned[ask.Boundaries]{Err: dataset.ErrPruned} // another one has the number now
		}
	}
	return p.Get()
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
