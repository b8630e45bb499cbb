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
	"quadrille/tiles"
)

// judge tells which regions hold positions, by several generations of boundaries. It belongs to one goroutine.
type judge struct {
	views *ask.Views
	// instead has the generations that cannot be read, each with the one that stands for it.
	instead map[uint64]uint64
}

// regions returns the regions of types at a longitude and latitude, by a generation; 0 is the one in
// service. Where a generation cannot be read any more, the next one that can be read stands for it: then a
// point still leaves what it has entered.
func (j *judge) regions(ctx context.Context, generation uint64, at *[2]float64, types []string) ([]tiles.Region, error) {
	for {
		for n, is := j.instead[generation]; is; n, is = j.instead[generation] {
			generation = n
		}
		found, serving, err := j.look(ctx, generation, at, types)
		if generation == 0 || generation == serving || !gone(err) {
			return found, err
		}
		next := generation + 1
		switch {
		case next > serving: // rolled back, or nothing is in service
			next = 0
		case next+keptAtMost < serving:
			next = serving - keptAtMost
		}
		if j.instead == nil {
			j.instead = map[uint64]uint64{}
		}
		j.instead[generation] = next
	}
}

// look is regions for a generation that is not replaced. It also returns the number of the one in
// service.
func (j *judge) look(ctx context.Context, generation uint64, at *[2]float64, types []string) (found []tiles.Region, serving uint64, err error) {
	v := j.views.Take(time.Time{})
	defer v.Release()
	serving = editionOf(v.Boundaries.Main()).Number
	if generation == 0 || generation == serving {
		found, err = regionsAt(ctx, &v.Boundaries.Pinned, at, types)
		return found, serving, err
	}
	p := ask.PinGeneration(j.views.Boundaries, generation)
	defer p.Release()
	all := v.Boundaries.With(p)
	found, err = regionsAt(ctx, &all, at, types)
	return found, serving, err
}

// keptAtMost is how many generations before the one in service are looked for.
const keptAtMost = 16

// gone reports whether an error says that a generation cannot be read, now or later: it has been removed,
// is damaged, or is of another layout. All other errors pass, such as those of the disk.
func gone(err error) bool {
	return errors.Is(err, dataset.ErrPruned) || errors.Is(err, cellstore.ErrLayout) ||
		errors.Is(err, dataset.ErrNoGeneration) && !errors.Is(err, dataset.ErrUnpublished) ||
		errors.Is(err, cellstore.ErrCorrupt) && !errors.Is(err, dataset.ErrBadPointer)
}

// regionsAt returns the regions of types at a longitude and latitude, or of all types if none are given.
// Types that are not published have none: a point leaves a region that is gone with its type. A panic over
// the bytes of boundaries is an error: it must not end a goroutine that serves more than one request.
func regionsAt(ctx context.Context, p *ask.Pinned[*tiles.Reader], at *[2]float64, types []string) (found []tiles.Region, err error) {
	b, err := p.Get()
	if err != nil {
		return nil, err
	}
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("%w: boundaries at %v,%v: panic: %v", cellstore.ErrCorrupt, at[1], at[0], p)
		}
	}()
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
