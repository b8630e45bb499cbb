package region

import (
	"bytes"
	"context"
	"encoding/binary"
	"iter"
	"math"
	"slices"
	"strings"
	"time"

	"quadrille/feature"
)

// several combines the regions of several types into one layer, one type after the other. The mark
// of a region is its type followed by the mark in its own layer.
type several struct {
	about feature.Info
	of    []feature.Layer
}

// layersOf combines the layers of types into one layer.
func layersOf(of []feature.Layer, types []string) *several {
	// Cursors depend on the requested types and not on the existing types, so they stay valid for a
	// data set with an additional type.
	names := slices.Compact(slices.Sorted(slices.Values(types)))
	// A layer of one type has its own cursors.
	return &several{about: feature.Info{Name: "regions of " + strings.Join(names, ",")}, of: of}
}

// Info implements feature.Layer.
func (s *several) Info() *feature.Info { return &s.about }

// Get implements feature.Layer. It serves ids of a single type.
func (s *several) Get(context.Context, string, time.Time, *feature.Feature) error {
	return feature.Unsupported("a region by its id alone: ask the layer of its type")
}

// Features implements feature.Layer. Features come in the order of the types and of their layers,
// or by distance; features at equal distances come in the order of the types.
func (s *several) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	typ, rest, whole := bytes.Cut(q.After, []byte{':'})
	of, at := s.of, 0
	switch {
	case len(q.After) == 0:
	case !whole || len(rest) == 0:
		return feature.SeqOfError(feature.BadCursor("it is not one of regions"))
	default:
		at = slices.IndexFunc(of, func(l feature.Layer) bool { return l.Info().Name == string(typ) })
		if at < 0 {
			return feature.SeqOfError(feature.BadCursor("its region type is gone"))
		}
	}
	if q.Near != nil {
		return s.nearest(ctx, q, at, rest)
	}
	of = of[at:]
	return feature.SeqOf(func(fn func(*feature.Feature) error) error {
		one := *q
		one.After = rest
		left := q.Limit
		for _, l := range of {
			begin := feature.Mark(l.Info().Name + ":")
			for f, err := range l.Features(ctx, &one) {
				if err != nil {
					return err
				}
				f.Mark = slices.Concat(begin, f.Mark)
				if err := fn(f); err != nil {
					return err
				}
				if left--; left == 0 { // it was not 0 before, which means any number
					return nil
				}
			}
			one.After, one.Limit = nil, max(left, 0)
		}
		return nil
	})
}

// nearest merges the nearest features of each type. at and after are the index of the type and the
// mark after which it continues; an empty mark means the beginning. A mark is the type, then the
// distance in 8 bytes, and then the mark in the layer of the type.
func (s *several) nearest(ctx context.Context, q *feature.Query, at int, after []byte) iter.Seq2[*feature.Feature, error] {
	last := -1.0
	if len(after) > 0 {
		if len(after) > 8 {
			last = math.Float64frombits(binary.BigEndian.Uint64(after))
		}
		if !(last >= 0) {
			return feature.SeqOfError(feature.BadCursor("it is not one of the nearest regions"))
		}
		after = after[8:]
	}
	return feature.SeqOf(func(fn func(*feature.Feature) error) error {
		var lists []*merged
		defer func() {
			for _, m := range lists {
				m.stop()
			}
		}()
		for i, l := range s.of {
			one, near := *q, *q.Near
			one.Near, one.After = &near, nil
			switch {
			case len(after) == 0:
			case i == at:
				one.After = after
			case i < at: // its features at the last distance have been sent
				near.MinM = max(near.MinM, math.Nextafter(last, math.Inf(1)))
			default:
				near.MinM = max(near.MinM, last)
			}
			if near.MaxM > 0 && near.MinM > near.MaxM && q.Near.MinM <= q.Near.MaxM {
				continue
			}
			m := &merged{begin: l.Info().Name + ":"}
			m.pull, m.stop = iter.Pull2(l.Features(ctx, &one))
			lists = append(lists, m)
			if err := m.next(); err != nil {
				return err
			}
		}
		for given := 0; given < q.Limit || q.Limit == 0; given++ {
			var first *merged
			for _, m := range lists {
				if m.f != nil && (first == nil || m.f.DistanceM < first.f.DistanceM) {
					first = m
				}
			}
			if first == nil {
				return nil
			}
			far := binary.BigEndian.AppendUint64([]byte(first.begin), math.Float64bits(first.f.DistanceM))
			first.f.Mark = append(far, first.f.Mark...)
			if err := fn(first.f); err != nil {
				return err
			}
			if err := first.next(); err != nil {
				return err
			}
		}
		return nil
	})
}

// merged is a list that is merged with others.
type merged struct {
	begin string // of its marks
	pull  func() (*feature.Feature, error, bool)
	stop  func()
	f     *feature.Feature // the next one, nil at the end
}

func (m *merged) next() (err error) {
	m.f, err, _ = m.pull()
	return err
}
