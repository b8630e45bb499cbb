package region

import (
	"bytes"
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"quadrille/feature"
	"quadrille/tiles"
)

// several makes one layer of the regions of several types, one type after the other. The mark
// of a region begins with its type, and the mark of its own layer follows.
type several struct {
	about feature.Info
	of    []feature.Layer
}

// layersOf returns the layers of types in the order of the data set. No types means all of
// them.
func layersOf(b *tiles.Reader, types []string) (*several, error) {
	// Cursors depend on the types that are asked for, not on the types there are: they stay
	// valid for a data set with another type.
	names := slices.Compact(slices.Sorted(slices.Values(types)))
	// A layer of one type has cursors of its own.
	s := &several{about: feature.Info{Name: "regions of " + strings.Join(names, ",")}}
	for _, t := range b.Types() {
		if len(types) > 0 && !slices.Contains(types, t.Name) {
			continue
		}
		l, err := b.Layer(t.Name)
		if err != nil {
			return nil, err
		}
		s.of = append(s.of, l)
	}
	return s, nil
}

// Info implements feature.Layer.
func (s *several) Info() *feature.Info { return &s.about }

// Get implements feature.Layer. It serves ids of a single type.
func (s *several) Get(context.Context, string, time.Time, *feature.Feature) error {
	return feature.Unsupported("a region by its id alone: ask the layer of its type")
}

// Features implements feature.Layer.
func (s *several) Features(ctx context.Context, q *feature.Query) iter.Seq2[*feature.Feature, error] {
	typ, rest, whole := bytes.Cut(q.After, []byte{':'})
	of := s.of
	switch {
	case len(q.After) == 0:
	case !whole || len(rest) == 0:
		return feature.Fail(feature.BadCursor("it is not one of regions"))
	default:
		i := slices.IndexFunc(of, func(l feature.Layer) bool { return l.Info().Name == string(typ) })
		if i < 0 {
			return feature.Fail(feature.BadCursor("its region type is gone"))
		}
		of = of[i:]
	}
	return feature.Answer(func(fn func(*feature.Feature) error) error {
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
				if left--; left == 0 { // before, it was not 0, which means any number
					return nil
				}
			}
			one.After, one.Limit = nil, max(left, 0)
		}
		return nil
	})
}
