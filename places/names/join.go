package names

import (
	"cmp"
	"context"
	"slices"

	"quadrille/places/search"
)

// Join returns a reader of several indexes as if they were one. What a country is drawn with, and the
// codes of divisions, are those of the first. There is at least one.
func Join(readers ...*Reader) *Reader {
	r := *readers[0]
	r.more = append(slices.Clone(r.more), readers[1:]...)
	return &r
}

// searchAll merges what the indexes find. Scores do not depend on the index.
func (r *Reader) searchAll(ctx context.Context, q search.Query, dst []Hit) ([]Hit, error) {
	page := q
	q.Limit, q.Offset = cmp.Or(q.Limit, search.DefaultLimit)+q.Offset, 0
	dst, err := r.search(ctx, q, dst[:0])
	for _, other := range r.more {
		if err != nil {
			return dst, err
		}
		dst, err = other.search(ctx, q, dst)
	}
	if err != nil {
		return dst, err
	}
	slices.SortStableFunc(dst, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	dst = dst[min(page.Offset, len(dst)):]
	return dst[:min(len(dst), q.Limit-page.Offset)], nil
}
