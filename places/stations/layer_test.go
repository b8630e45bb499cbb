package stations

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"quadrille/feature"
	"quadrille/feature/layertest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

func TestLayer(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			layertest.Test(t, build(t, scatter(5, 250, shape)), layertest.Options{Seed: 3, Rounds: rounds(16)})
		})
	}
	f := build(t, nil)
	layertest.Test(t, f, layertest.Options{})
	var into feature.Feature
	if err := f.Get(t.Context(), "06660099999", time.Time{}, &into); !errors.Is(err, ErrNotFound) || !errors.Is(err, feature.ErrNotFound) {
		t.Error(err)
	}
}

func filterFor(t *testing.T, terms ...feature.Term) feature.Filter {
	t.Helper()
	return must.Get(feature.ParseFilter(schema, terms)).In(t)
}

// TestDaysCompareExactly tests that terms on days give the same result as a filter, whether the
// index has the days or not.
func TestDaysCompareExactly(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	f := build(t, scatter(16, 400, shapes["even"]))
	rng := rand.New(rand.NewPCG(2, 8))
	values := []string{"1970-03-02", "1965-06-07T00:00:00Z", "1965-06-07T00:00:00.000000001Z", "1980-01-01T23:00:00-03:00",
		"0001-01-01", "0000-01-01", "9999-12-31T23:59:59Z", "1950-01-01"}
	for range 400 {
		var terms []feature.Term
		for range 1 + rng.IntN(3) {
			terms = append(terms, feature.Term{
				Name: []string{"begin", "end"}[rng.IntN(2)], Values: []string{values[rng.IntN(len(values))]},
				Op: []string{
					feature.OpLessOrEqual,
					feature.OpLessOrEqual,
					feature.OpGreaterOrEqual,
					feature.OpGreaterOrEqual,
					feature.OpLess,
					feature.OpEquals,
				}[rng.IntN(6)],
			})
		}
		for _, q := range []feature.Query{{}, {Near: &feature.Near{}}} {
			layertest.SameWithoutIndex(t, f, q, near.MaxLimit, terms...)
		}
	}
}

func TestFeaturesErrors(t *testing.T) {
	f := build(t, scatter(1, 500, shapes["even"]))
	ring := &feature.Near{}
	stop := errors.New("stop")
	none := filterFor(t, feature.Term{Name: "name", Values: []string{"Nowhere"}})
	for name, tc := range map[string]struct {
		q    feature.Query
		want error
	}{
		"no limit":            {feature.Query{Near: ring}, near.ErrQuery},
		"importance":          {feature.Query{Order: feature.Order{Importance: true}, Limit: 1}, errors.ErrUnsupported},
		"instant":             {feature.Query{At: time.Unix(1, 0)}, errors.ErrUnsupported},
		"longitude":           {feature.Query{Near: &feature.Near{Position: quadkey.Position{Lon: 181}}, Limit: 1}, near.ErrQuery},
		"box":                 {feature.Query{In: feature.Box{South: 2, North: 1}}, near.ErrQuery},
		"mark":                {feature.Query{Near: ring, Limit: 1, After: feature.Mark("1234567890123456789")}, nil},
		"mark of no id":       {feature.Query{Near: ring, Limit: 1, After: feature.Mark("12345678901234567 9")}, near.ErrCursor},
		"mark of no distance": {feature.Query{Near: ring, Limit: 1, After: feature.Mark("\xff234567890123456789")}, near.ErrCursor},
		"mark of none":        {feature.Query{After: feature.Mark("\x00\x00\x01\xf4")}, near.ErrCursor},
		"much work":           {feature.Query{Near: ring, Filter: none, Limit: 1, MaxExamined: 100}, near.ErrTooMuchWork},
		"step":                {feature.Query{Near: ring, Filter: none, Limit: 1, Step: func(context.Context) error { return stop }}, stop},
	} {
		var got error
		for _, err := range f.Features(t.Context(), &tc.q) {
			got = err
		}
		if !errors.Is(got, tc.want) {
			t.Errorf("%s: %v, want %v", name, got, tc.want)
		}
	}
}

// A list continues at its mark in other data, even if stations before the mark were added or
// removed.
func TestMarksOutliveData(t *testing.T) {
	testrace.SkipUnderRace(t, "many questions")
	for name, shape := range shapes {
		stations := scatter(8, 60, shape)
		ids := func(f *Finder, cursor string, limit int) (ids []string, next string) {
			q := feature.Query{}
			must.Do(t, q.Continue(f.Info(), cursor))
			next = must.Get(feature.Page(t.Context(), f, q, limit, func(s *feature.Feature) error {
				ids = append(ids, s.ID)
				return nil
			})).In(t)
			return ids, next
		}
		f := build(t, stations)
		all, _ := ids(f, "", 100)
		_, next := ids(f, "", 20)
		for _, gone := range []int{0, 10, 19, 20, 40} {
			left := slices.DeleteFunc(slices.Clone(stations), func(s Station) bool { return s.ID.String() == all[gone] })
			want := slices.DeleteFunc(slices.Clone(all[20:]), func(id string) bool { return id == all[gone] })
			if got, _ := ids(build(t, left), next, 100); !slices.Equal(got, want) {
				t.Errorf("%s: without number %d %d stations follow, want %d", name, gone, len(got), len(want))
			}
		}
	}
}
