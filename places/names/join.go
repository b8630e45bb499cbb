package names

import (
	"cmp"
	"context"
	"slices"

	"quadrille/places/search"
)

// Join returns a reader of several indexes as if they were one. SourceCountryCodes and Admin1Codes
// come from the first one. At least one index is required.
func Join(readers ...*Reader) *Reader {
	r := *readers[0]
	r.more = append(slices.Clone(r.more), readers[1:]...)
	return &r
}

// searchAll merges the results of the indexes. Scores do not depend on the index. Typing errors are
// allowed only if no index has the exact name, as in a search of one index. Each index gets its
// share of the remaining budget.
func (r *Reader) searchAll(ctx context.Context, q search.Query, dst []Hit) ([]Hit, error) {
	page := q
	q.Limit, q.Offset = cmp.Or(q.Limit, search.DefaultLimit)+q.Offset, 0
	dst = dst[:0]
	misspelt := func(h Hit) bool { return h.Match.Kind == search.Typo }
	indexes := append([]*Reader{r}, r.more...)
	for i, index := range indexes {
		kept := search.Budget{}
		if q.Budget != nil { // the rest is for the others
			share := len(indexes) - i
			kept.Seeks, kept.Names = q.Budget.Seeks-q.Budget.Seeks/share, q.Budget.Names-q.Budget.Names/share
			q.Budget.Seeks, q.Budget.Names = q.Budget.Seeks-kept.Seeks, q.Budget.Names-kept.Names
		}
		// Misspellings would be dropped below, so no further index searches for them.
		q.IsName = q.IsName || slices.ContainsFunc(dst, func(h Hit) bool { return !misspelt(h) })
		var err error
		dst, err = index.search(ctx, q, dst)
		if q.Budget != nil {
			q.Budget.Seeks, q.Budget.Names = q.Budget.Seeks+kept.Seeks, q.Budget.Names+kept.Names
		}
		if err != nil {
			return dst, err
		}
	}
	if slices.ContainsFunc(dst, func(h Hit) bool { return !misspelt(h) }) {
		dst = slices.DeleteFunc(dst, misspelt)
	}
	slices.SortStableFunc(dst, func(a, b Hit) int { return cmp.Compare(b.Score, a.Score) })
	dst = dst[min(page.Offset, len(dst)):]
	return dst[:min(len(dst), q.Limit-page.Offset)], nil
}
