package feature_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"quadrille/feature"
)

// scanOf scans features with these values of n, named a, b, …; 0 is none.
func scanOf(values ...int) func(*feature.Query, func(*feature.Feature, bool) error) error {
	return func(_ *feature.Query, consider func(*feature.Feature, bool) error) error {
		for i, v := range values {
			f := feature.Feature{ID: string(rune('a' + i)), Mark: feature.Mark{byte('a' + i)}}
			if v != 0 {
				f.Properties = feature.CompactProperties(fmt.Appendf(nil, `"n":%d`, v))
			}
			if err := consider(&f, v != 99); err != nil {
				return err
			}
		}
		return nil
	}
}

// ranked returns the ids of a page, and the mark of the last feature.
func ranked(t *testing.T, q feature.Query, r feature.Ranking,
	scan func(*feature.Query, func(*feature.Feature, bool) error) error) (ids string, last feature.Mark, err error) {
	t.Helper()
	err = feature.Each(q.SelectRanked(t.Context(), r, scan), func(f *feature.Feature) error {
		ids += f.ID
		last = append(last[:0], f.Mark...)
		return nil
	})
	return ids, last, err
}

// Pages of any size are in the order of a property or of a rank, with equals in the layer's own order.
func TestRanked(t *testing.T) {
	number := feature.Field{Name: "n", Kind: feature.Number}
	scan := scanOf(3, 0, 1, 3, 99, 2, 1, 0)
	for _, c := range []struct {
		order feature.Order
		by    feature.Ranking
		want  string
	}{
		{feature.Order{Sort: feature.Sort{Field: number}}, feature.Ranking{}, "cgfadbh"},
		{feature.Order{Sort: feature.Sort{Field: number, Descending: true}}, feature.Ranking{}, "adfcgbh"},
		{feature.Order{Importance: true}, feature.Ranking{Rank: func(f *feature.Feature) uint64 { return uint64('z' - f.ID[0]) }}, "hgfdcba"},
		{feature.Order{Importance: true}, feature.Ranking{
			Rank: func(*feature.Feature) uint64 { return 7 }, Compare: func(a, b feature.Mark) int { return strings.Compare(string(b), string(a)) },
		}, "hgfdcba"},
	} {
		for size := 1; size <= 8; size++ {
			q, got := feature.Query{Order: c.order, Limit: size}, ""
			for {
				ids, last, err := ranked(t, q, c.by, scan)
				if err != nil || len(ids) > size {
					t.Fatalf("%+v: %s, %v", c.order, ids, err)
				}
				got, q.After = got+ids, last
				if len(ids) < size {
					break
				}
			}
			if got != c.want {
				t.Errorf("%+v, %d at once: %s, want %s", c.order, size, got, c.want)
			}
		}
	}
}

func TestRankedBounds(t *testing.T) {
	order := feature.Order{Sort: feature.Sort{Field: feature.Field{Name: "n", Kind: feature.Number}}}
	var much *feature.TooMuchWork
	if ids, _, err := ranked(t, feature.Query{Order: order, Limit: 2, MaxExamined: 3}, feature.Ranking{},
		scanOf(1, 2, 3, 4)); ids != "" || !errors.As(err, &much) || much.After != nil || much.Examined != 3 {
		t.Errorf("%s, %v", ids, err)
	}
	text := feature.Order{Sort: feature.Sort{Field: feature.Field{Name: "n", Kind: feature.Text}}}
	for _, q := range []feature.Query{{Order: order}, {Order: text, Limit: 1}} {
		if _, _, err := ranked(t, q, feature.Ranking{}, scanOf(1)); !errors.Is(err, feature.ErrQuery) {
			t.Errorf("%+v: %v", q, err)
		}
	}
	if _, _, err := ranked(t, feature.Query{Order: order, Limit: 1, After: make(feature.Mark, 8)}, feature.Ranking{},
		scanOf(1)); !errors.Is(err, feature.ErrCursor) {
		t.Errorf("a mark without an end: %v", err)
	}
	failed, steps := errors.New("no more turns"), 0
	q := feature.Query{Order: order, Limit: 1, Step: func(context.Context) error { steps++; return failed }}
	if ids, _, err := ranked(t, q, feature.Ranking{}, scanOf(make([]int, 100)...)); ids != "" || !errors.Is(err, failed) || steps != 1 {
		t.Errorf("%s, %v after %d steps", ids, err, steps)
	}
	read := errors.New("the disk fails")
	if _, _, err := ranked(t, feature.Query{Order: order, Limit: 1},
		feature.Ranking{Geometry: func(*feature.Feature) error { return read }}, scanOf(1)); !errors.Is(err, read) {
		t.Errorf("%v", err)
	}
}
