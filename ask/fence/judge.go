package fence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/places/live"
	"quadrille/tiles"
)

// judge finds the regions that hold positions, in several generations of the data sets of regions.
// It belongs to one goroutine.
type judge struct {
	views *ask.Views
	// instead maps each generation that cannot be read to the one that replaces it.
	instead map[ask.Generation]uint64
}

// regions returns the regions of types at a longitude and latitude, in the boundaries of edition e.
// The zero edition is the one in service. Other areas are always judged in their present state.
func (j *judge) regions(ctx context.Context, e live.Edition, at *[2]float64, types []string) (found []tiles.Region, err error) {
	defer recovered(&err, at)
	v := j.views.Take(time.Time{})
	defer v.Release()
	serving, err := v.Boundaries.Edition()
	none := e.Number == 0 && e.Suffix == ""
	if now := err == nil && e.Number == serving.Number && e.Suffix == serving.Suffix; none || now { // the usual case
		g, err := v.Ground(types...)
		if err != nil {
			return nil, err
		}
		return regionsAt(ctx, g, at, types)
	}
	areas, types := v.SplitTypes(types)
	for _, g := range ask.GenerationsOf(e) { // events of a move have numbers in this order
		if len(types) == 0 {
			break
		}
		of, own, err := j.of(ctx, v, g, at, types)
		if err != nil {
			return nil, err
		}
		found = append(found, of...)
		// If several data sets have a type, the first one is read.
		types = slices.DeleteFunc(slices.Clone(types), func(t string) bool { return slices.Contains(own, t) })
	}
	if len(areas) == 0 {
		return found, nil
	}
	others, err := v.AreasAt(ctx, at[1], at[0], areas...) // last, as in ask.Ground.At: readers number events
	return append(found, others...), err
}

// of returns the regions of a data set, and which of the types it has. If a generation cannot be
// read any more, the next readable one replaces it. So a point still leaves the regions that it has
// entered.
func (j *judge) of(
	ctx context.Context, v ask.View, g ask.Generation, at *[2]float64, types []string,
) (found []tiles.Region, own []string, err error) {
	for {
		for n, is := j.instead[g]; is; n, is = j.instead[g] {
			g.Number = n
		}
		found, own, serving, err := j.look(ctx, v, g, at, types)
		if g.Number == 0 || g.Number == serving || !gone(err) {
			return found, own, err
		}
		next := g.Number + 1
		switch {
		case next > serving: // rolled back, or nothing is in service
			next = 0
		case next+keptAtMost < serving:
			next = serving - keptAtMost
		}
		if j.instead == nil {
			j.instead = map[ask.Generation]uint64{}
		}
		j.instead[g] = next
	}
}

// look does the same as method of for a generation that is not replaced. Number 0 is the generation
// in service. look also returns the number of the generation in service. A data set that is gone
// has no regions, as long as there are others.
func (j *judge) look(
	ctx context.Context, v ask.View, g ask.Generation, at *[2]float64, types []string,
) (found []tiles.Region, own []string, serving uint64, err error) {
	p := v.Boundaries.PinOf(g.Dataset)
	if m := p.Manifest(); m != nil {
		serving = m.Generation
	}
	switch {
	case g.Number != 0 && g.Number != serving:
		p = j.views.PinRegions(g, nil)
		defer p.Release()
	case errors.Is(p.Err, ask.ErrMissing) && (g.Dataset != ask.BoundariesName || v.Boundaries.Err == nil):
		return nil, nil, serving, nil
	}
	b, err := p.Get()
	if err != nil {
		return nil, nil, serving, err
	}
	found, err = regionsAt(ctx, b, at, types)
	return found, slices.DeleteFunc(slices.Clone(types), func(t string) bool { return !b.Has(t) }), serving, err
}

// keptAtMost is the number of generations before the one in service that are tried.
const keptAtMost = 16

// gone reports whether an error means that a generation can never be read again: it has been
// removed, is damaged, or is of another layout. All other errors are temporary, such as those of
// the disk.
func gone(err error) bool {
	return errors.Is(err, dataset.ErrPruned) || errors.Is(err, cellstore.ErrLayout) ||
		errors.Is(err, dataset.ErrNoGeneration) && !errors.Is(err, dataset.ErrUnpublished) ||
		errors.Is(err, cellstore.ErrCorrupt) && !errors.Is(err, dataset.ErrBadPointer)
}

// holder finds the regions that hold a position: a tiles.Reader of one generation, or an
// ask.Ground.
type holder interface {
	Has(typ string) bool
	At(ctx context.Context, lat, lon float64, types ...string) ([]tiles.Region, error)
}

// recovered turns a panic over stored bytes into an error, because it must not end a goroutine that
// serves more than one request.
func recovered(err *error, at *[2]float64) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: what is at %v,%v: panic: %v", cellstore.ErrCorrupt, at[1], at[0], p)
	}
}

// regionsAt returns the regions of types at a longitude and latitude, or of all types if none are
// given. Unpublished types have no regions: a point leaves a region that is gone with its type.
func regionsAt(ctx context.Context, b holder, at *[2]float64, types []string) (found []tiles.Region, err error) {
	defer recovered(&err, at)
	found, err = b.At(ctx, at[1], at[0], types...)
	if !errors.Is(err, tiles.ErrUnknownType) {
		return found, err
	}
	types = slices.DeleteFunc(slices.Clone(types), func(t string) bool { return !b.Has(t) })
	if len(types) == 0 {
		return nil, nil
	}
	return b.At(ctx, at[1], at[0], types...)
}
