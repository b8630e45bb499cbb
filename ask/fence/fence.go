// Package fence finds the borders that moving points cross: those of regions, circles and boxes. It
// does so for single moves, and for all moves of a live collection.
//
// Positions are degrees and distances metres.
package fence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"quadrille/ask"
	"quadrille/feature"
	"quadrille/places/live"
	"quadrille/places/points"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// MaxFences bounds the fences of one set.
const MaxFences = 100

// Fences are the areas whose border crossings are events. Without any, every move is an event.
type Fences struct {
	Enter, Leave []Region // entering one of Enter, or leaving one of Leave, is an event
	Circles      []Circle
	Boxes        []Box
}

// Region is a region, or a feature of another layer of areas. An ID of "" means all regions of the
// type; see ask.Ground.
type Region struct{ Type, ID string }

// Circle is the ground at most RadiusM metres from a position in degrees.
type Circle struct {
	Name              string // the Fence of its events
	Lat, Lon, RadiusM float64
}

// Box is a box in degrees.
type Box struct {
	Name string // the Fence of its events
	quadkey.Box
}

// These errors mean that a fence cannot be watched.
var (
	ErrTooMany = fmt.Errorf("too many fences: watch at most %d in one set", MaxFences)
	ErrShape   = errors.New("a fence is no shape: give degrees, and a radius above 0")
)

// Set is a set of fences to watch. It may be used concurrently. For the zero value every move
// is an event.
type Set struct {
	Fences
	types []string // types of the regions
}

// New returns a set of fences. Do not change the fences afterwards. The error matches ErrTooMany or
// ErrShape. New does not look for the regions; Check does.
func New(of Fences) (Set, error) {
	if len(of.Enter)+len(of.Leave)+len(of.Circles)+len(of.Boxes) > MaxFences {
		return Set{}, ErrTooMany
	}
	for _, c := range of.Circles {
		if !(c.RadiusM > 0) || points.CheckPosition(c.Lat, c.Lon) != nil {
			return Set{}, fmt.Errorf("%w: %q", ErrShape, c.Name)
		}
	}
	for _, b := range of.Boxes {
		if !b.Valid() {
			return Set{}, fmt.Errorf("%w: %q", ErrShape, b.Name)
		}
	}
	f := Set{Fences: of}
	for _, r := range slices.Concat(of.Enter, of.Leave) {
		if !slices.Contains(f.types, r.Type) {
			f.types = append(f.types, r.Type)
		}
	}
	return f, nil
}

// UnknownError is the error of a fence whose region does not exist.
type UnknownError struct {
	Region
	EventType string // Enter or Leave
	Err       error  // matches tiles.ErrUnknownType or feature.ErrNotFound
}

// Error returns a message that names the region.
func (e *UnknownError) Error() string {
	return fmt.Sprintf("fence: no region of type %q with the id %q: %v", e.Type, e.ID, e.Err)
}

// Unwrap returns the reason.
func (e *UnknownError) Unwrap() error { return e.Err }

// Check looks for the regions of a set. The error is an *UnknownError if one does not exist.
func (f *Set) Check(ctx context.Context, views *ask.Views) error {
	if len(f.types) == 0 {
		return nil
	}
	v := views.Take(time.Time{})
	defer v.Release()
	for _, of := range []string{Enter, Leave} {
		list := f.Enter
		if of == Leave {
			list = f.Leave
		}
		for _, r := range list {
			g, err := v.Ground(r.Type)
			if err == nil {
				err = g.Check(r.Type)
			}
			if err == nil && r.ID != "" {
				_, err = g.Record(ctx, r.Type, r.ID, false)
			}
			if errors.Is(err, tiles.ErrUnknownType) || errors.Is(err, feature.ErrNotFound) {
				err = &UnknownError{r, of, err}
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// EveryMove reports whether every move is an event.
func (f *Set) EveryMove() bool { return len(f.types) == 0 && len(f.Circles) == 0 && len(f.Boxes) == 0 }

// AppendCrossings appends an event without an id for each fence that a move crosses. The fences
// that it leaves come first. A region is crossed if it holds exactly one end of the move. Each end
// is judged by the generation of the boundaries that the move names for that end. If a generation
// is gone, the next one that exists replaces it. Other areas are judged in their present state: a
// change of such an area is no event, and a move that is read again may cross other areas. Without
// fences of regions no data set is read. The errors come from the data sets.
func (f *Set) AppendCrossings(ctx context.Context, dst []Event, move *live.Event, views *ask.Views) ([]Event, error) {
	return f.appendCrossings(ctx, dst, move, &judge{views: views})
}

// appendCrossings does the same as AppendCrossings, for a reader that remembers which generations
// have been removed.
func (f *Set) appendCrossings(ctx context.Context, dst []Event, e *live.Event, by *judge) ([]Event, error) {
	var from, to []tiles.Region
	if len(f.types) > 0 {
		var err error
		if e.From != nil {
			before := live.Edition{Number: e.Edition, Suffix: e.EditionSuffix}
			if e.IsRedraw() {
				before = live.Edition{Number: e.PreviousEdition, Suffix: e.PreviousEditionSuffix}
			}
			from, err = by.regions(ctx, before, e.From, f.types)
		}
		if err == nil && e.To != nil {
			to, err = by.regions(ctx, live.Edition{Number: e.Edition, Suffix: e.EditionSuffix}, e.To, f.types)
		}
		if err != nil {
			return dst, err
		}
	}
	dst = appendNew(dst, e, Leave, f.Leave, from, to)
	dst = f.appendShapes(dst, e, Leave, e.From, e.To)
	dst = appendNew(dst, e, Enter, f.Enter, to, from)
	return f.appendShapes(dst, e, Enter, e.To, e.From), nil
}

// appendShapes appends the circles and boxes that contain in but not out.
func (f *Set) appendShapes(dst []Event, move *live.Event, typ string, in, out *[2]float64) []Event {
	for i := range f.Circles {
		if c := &f.Circles[i]; c.holds(in) && !c.holds(out) {
			dst = append(dst, Event{Type: typ, Fence: c.Name, Event: move})
		}
	}
	for i := range f.Boxes {
		if b := &f.Boxes[i]; b.holds(in) && !b.holds(out) {
			dst = append(dst, Event{Type: typ, Fence: b.Name, Event: move})
		}
	}
	return dst
}

// appendNew appends those regions of the slice in that are missing in the slice out and match a
// fence of list.
func appendNew(dst []Event, move *live.Event, typ string, list []Region, in, out []tiles.Region) []Event {
	for _, r := range in {
		wanted := func(f Region) bool { return f.Type == r.Type && (f.ID == "" || feature.SameRegionID(f.ID, r.ID)) }
		if slices.ContainsFunc(list, wanted) && !holds(out, &r) {
			dst = append(dst, Event{Type: typ, Fence: r.Type + ":" + r.ID, Event: move})
		}
	}
	return dst
}

// holds reports whether a position, longitude and latitude, is inside. nil is no position.
func (c *Circle) holds(p *[2]float64) bool {
	return p != nil && quadkey.Distance(c.Lon, c.Lat, p[0], p[1]) <= c.RadiusM
}

func (b *Box) holds(p *[2]float64) bool { return p != nil && b.Contains(p[0], p[1]) }
