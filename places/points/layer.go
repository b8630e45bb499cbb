package points

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"iter"
	"math"

	"quadrille/feature"
	"quadrille/places/internal/near"
	"quadrille/places/live"
	"quadrille/quadkey"
)

var _ interface {
	feature.Counter
	feature.Tallier
	feature.Clusterer
	feature.Tracker
	feature.Versioned
} = (*Collection)(nil)

// Info implements feature.Layer.
func (c *Collection) Info() *feature.Info { return info(c.Meta(), c.views != nil || c.tree == nil) }

// info describes a collection as a layer.
func info(m *live.Meta, changes bool) *feature.Info {
	in := &feature.Info{
		Name: m.Name, Title: m.Title, Attribution: m.Attribution, Licence: m.Licence, Schema: m.Schema, Bounds: quadkey.World, Count: m.Points,
		AllPoints: true, Live: changes || m.Expiring, Private: m.Private, History: changes && m.HistoryRetention > 0,
		Can: feature.Abilities{Near: true, Area: true, Sort: true},
	}
	if in.Live {
		in.Count = -1
	}
	if b := m.Bounds; !changes && b != [4]float64{} {
		in.Bounds = quadkey.Box{West: b[0], South: b[1], East: b[2], North: b[3]}
	}
	return in
}

// State implements feature.Versioned. It never fails.
func (c *Collection) State(context.Context) (uint64, error) {
	if c.tree == nil { // other programs write too
		return 0, nil
	}
	const commitBits = 40
	state := c.sheets.number << commitBits
	if c.views != nil {
		c.views.agree.RLock()
		defer c.views.agree.RUnlock()
		state |= c.views.changes.version % (1 << commitBits)
	}
	return state, nil
}

// Features implements feature.Layer. Its own order is by quadkey. In this order any number of
// points can be listed, but by distance or by a property at most MaxLimit + 1. A query with both an
// area and a position, or with an order by importance, is not supported. The answers are exact
// everywhere: across ±180°, at the poles and beyond ±85.0511°.
func (c *Collection) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	return feature.SeqOf(func(fn func(*feature.Feature) error) error { return c.each(ctx, q, fn) })
}

// each calls fn with the points of a query's answer.
func (c *Collection) each(ctx context.Context, q *feature.Query, fn func(*feature.Feature) error) error {
	after, err := parseMark(q.After)
	if err != nil {
		return err
	}
	if q.Near == nil && q.Order == (feature.Order{}) {
		return c.ask(ctx, q, func(s *search) error {
			s.After = after
			return s.list(ctx, q, fn)
		})
	}
	limit := uint64(math.MaxUint64)
	switch f := q.Order.Field; {
	case q.Order.Importance:
		return feature.Unsupported("points have no importance: leave the order out, or sort by a property")
	case q.Near != nil && q.In != nil:
		return feature.Unsupported("the nearest points of an area: ask for the nearest, or for those in the area")
	case q.Near != nil && f.Name != "":
		return feature.BadQuery("the nearest come by their distance: leave the order out")
	case q.Limit < 1 || q.Limit > MaxLimit+1:
		return feature.BadQuery("limit %d: give 1 to %d", q.Limit, MaxLimit)
	case q.Near == nil && !feature.Sortable(f.Kind):
		return feature.BadQuery("the property %.40q cannot be sorted by: use a number, a time or a boolean", f.Name)
	case q.Near != nil:
		if limit, err = near.CheckCircle(q.Near.Lat, q.Near.Lon, q.Near.MaxM); err != nil {
			return err
		}
		if least := q.Near.MinM; !(least >= 0) || q.Near.MaxM > 0 && least > q.Near.MaxM {
			return feature.BadQuery("smallest radius %v: give metres, at most the radius", least)
		}
	}
	bounded := *q
	bounded.MaxExamined = cmp.Or(q.MaxExamined, MaxExamined)
	return c.ask(ctx, &bounded, func(s *search) error {
		s.Reset(q.Limit, limit, after)
		var err error
		if q.Near != nil {
			err = s.nearby(ctx)
		} else {
			err = s.within(ctx, q)
		}
		if err != nil {
			return err
		}
		return s.found(fn)
	})
}

// ask calls fn with a search in the collection as of the query's instant.
func (c *Collection) ask(ctx context.Context, q *feature.Query, fn func(s *search) error) error {
	r, err := c.begin(ctx, q.At)
	if err != nil {
		return err
	}
	defer c.end(r)
	return c.askOf(ctx, r, q, fn)
}

// askOf does the same as ask, in the state of r, which the caller holds.
func (c *Collection) askOf(ctx context.Context, r reading, q *feature.Query, fn func(s *search) error) error {
	s := c.finds.Get().(*search)
	defer c.finds.Put(s)
	defer func() { s.step, s.foreign, s.fn, s.around = nil, nil, nil, nil }() // they refer to the query
	s.begin(ctx, c, r, q)
	return fn(s)
}

// A feature.Mark of a point is
//
//	rank (8) │ key (8) │ id
//
// where rank is the distance, or the key of a property, or 0 in the order of keys.
const markHead = 16

func appendMark(dst feature.Mark, rank uint64, r *record) feature.Mark {
	return append(r.key.AppendTo(binary.BigEndian.AppendUint64(dst, rank)), r.id...)
}

func parseMark(m feature.Mark) (mark, error) {
	switch {
	case len(m) == 0:
		return mark{}, nil
	case len(m) <= markHead:
		return mark{}, feature.BadCursor("it is not one of points")
	}
	id := bytes.Clone(m[markHead:])
	if err := CheckID(string(id)); err != nil {
		return mark{}, feature.BadCursor("it is not one of points")
	}
	return mark{Rank: binary.BigEndian.Uint64(m), Key: tie{quadkey.PointKey(binary.BigEndian.Uint64(m[8:])), id}}, nil
}
