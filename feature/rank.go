package feature

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"slices"
)

// MaxRanked is the number of features that SelectRanked examines unless a query sets another.
const MaxRanked = 200_000

// Ranking is an order of features that a layer has no index for.
type Ranking struct {
	// Rank returns a feature's place in the order: the least comes first. If it is nil, the order
	// is that of the property that the query names.
	Rank func(f *Feature) uint64
	// Compare compares marks of the layer's own order, which orders features of equal rank. If it
	// is nil, their bytes are compared.
	Compare func(a, b Mark) int
	// Geometry, if set, reads the geometry of a feature that has been found. Geometries are then
	// not stored during the search.
	Geometry func(f *Feature) error
}

// rankSize is the number of bytes before the mark of the layer's own order.
const rankSize = 8

// SelectRanked yields the features of a query in an order without an index. It examines all features of
// the area each time, and keeps as many as are wanted. That suits layers of some ten thousand
// features. scan is like Select's, in the layer's own order, for the query passed to it. If it
// would have to examine more than q.MaxExamined features, or MaxRanked, it ends with TooMuchWork and
// yields nothing.
func (q *Query) SelectRanked(
	ctx context.Context, r Ranking, scan func(own *Query, consider func(f *Feature, in bool) error) error,
) iter.Seq2[*Feature, error] {
	switch by := q.Order.Field; {
	case q.Limit < 1:
		return SeqOfError(BadQuery("limit %d: give at least 1, since only a layer's own order has all", q.Limit))
	case r.Rank == nil && !Sortable(by.Kind):
		return SeqOfError(BadQuery("the property %.40q cannot be sorted by: use a number, a time or a boolean", by.Name))
	case len(q.After) > 0 && len(q.After) <= rankSize:
		return SeqOfError(BadCursor("it is not one of this order"))
	}
	if r.Compare == nil {
		r.Compare = func(a, b Mark) int { return bytes.Compare(a, b) }
	}
	own := *q
	own.Order, own.After, own.Limit, own.MaxExamined = Order{}, nil, 0, cmp.Or(q.MaxExamined, MaxRanked)
	return SeqOf(func(fn func(*Feature) error) error {
		b := best{Ranking: r, by: q.Order.Sort, limit: q.Limit}
		if len(q.After) > 0 {
			b.after = &ranked{binary.BigEndian.Uint64(q.After), Feature{Mark: q.After[rankSize:]}}
		}
		err := Each(own.Select(ctx, func(consider func(*Feature, bool) error) error { return scan(&own, consider) }), b.add)
		if much := (*TooMuchWork)(nil); errors.As(err, &much) {
			return &TooMuchWork{Examined: much.Examined}
		}
		if err != nil {
			return err
		}
		b.cut()
		for i := range b.kept {
			f := &b.kept[i].Feature
			f.Mark = append(binary.BigEndian.AppendUint64(nil, b.kept[i].rank), f.Mark...)
			if r.Geometry != nil && q.Detail == WithGeometry {
				if err := r.Geometry(f); err != nil {
					return err
				}
			}
			if err := fn(f); err != nil {
				return err
			}
		}
		return nil
	})
}

// ranked is a feature with its rank. Its mark is that of the layer's own order.
type ranked struct {
	rank uint64
	Feature
}

// best keeps the first of the added features, about limit of them.
type best struct {
	Ranking
	by     Sort
	limit  int
	after  *ranked // nil keeps all
	kept   []*ranked
	last   *ranked // features after it are not wanted; nil if all may be
	next   ranked  // the feature being added
	object []byte
}

// add keeps a feature, if it may be one of the first.
func (b *best) add(f *Feature) error {
	n := &b.next
	n.Feature = *f
	if b.Rank != nil {
		n.rank = b.Rank(f)
	} else {
		b.object = append(f.Properties.AppendMembers(append(b.object[:0], '{')), '}')
		n.rank = b.by.Rank(b.object)
	}
	if b.after != nil && b.compare(n, b.after) <= 0 || b.last != nil && b.compare(n, b.last) > 0 {
		return nil
	}
	if b.Geometry != nil {
		n.Feature.Geometry = NoGeometry
	}
	if b.kept = append(b.kept, &ranked{n.rank, n.Clone()}); len(b.kept) == 2*b.limit {
		b.cut()
	}
	return nil
}

// cut drops all but the first of the kept features.
func (b *best) cut() {
	slices.SortFunc(b.kept, b.compare)
	if len(b.kept) >= b.limit {
		clear(b.kept[b.limit:])
		b.kept = b.kept[:b.limit]
		b.last = b.kept[b.limit-1]
	}
}

func (b *best) compare(x, y *ranked) int {
	return cmp.Or(cmp.Compare(x.rank, y.rank), b.Compare(x.Mark, y.Mark))
}
