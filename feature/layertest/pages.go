package layertest

import (
	"slices"

	"quadrille/feature"
)

// FatalTB is the part of testing.TB that these functions need.
type FatalTB interface {
	TB
	Fatalf(format string, args ...any)
}

// Pages collects an answer page by page, each from the cursor of the one before.
func Pages(t FatalTB, l feature.Layer, q feature.Query, limit int) (all []feature.Feature) {
	t.Helper()
	seen := map[string]bool{}
	for cursor := ""; ; {
		if seen[cursor] {
			t.Fatalf("%+v: the cursor %q comes again after %d features, so that pages never end", q, cursor, len(all))
		}
		seen[cursor] = true
		err := q.Continue(l.Info(), cursor)
		if err == nil {
			cursor, err = feature.Page(t.Context(), l, q, limit, func(f *feature.Feature) error {
				all = append(all, f.Clone())
				return nil
			})
		}
		if err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
		if cursor == "" {
			return all
		}
	}
}

// Unindexed is a filter that no index can use.
type Unindexed struct{ feature.Filter }

// Terms implements feature.Filter.
func (Unindexed) Terms() ([]feature.Term, bool) { return nil, false }

// SameWithoutIndex checks that terms find the same features with and without an index. It returns
// the number of features.
func SameWithoutIndex(t FatalTB, l feature.Layer, q feature.Query, limit int, terms ...feature.Term) int {
	t.Helper()
	filter, err := feature.ParseFilter(l.Info().Schema, terms)
	if err != nil {
		t.Fatalf("%+v: %v", terms, err)
	}
	q.Filter = filter
	got := Pages(t, l, q, limit)
	q.Filter = Unindexed{filter}
	want := Pages(t, l, q, limit)
	if !slices.EqualFunc(got, want, func(a, b feature.Feature) bool { return a.ID == b.ID }) {
		t.Fatalf("%+v: %d features with the index and %d without", terms, len(got), len(want))
	}
	if q.Near == nil {
		q.Filter = filter
		if n, err := feature.Count(t.Context(), l, &q); err != nil || int(n) != len(want) {
			t.Fatalf("%+v: %d features are counted, want %d, %v", terms, n, len(want), err)
		}
	}
	return len(want)
}
