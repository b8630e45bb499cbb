package places

import (
	"context"
	"errors"
	"strings"
	"testing"

	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/quadkey"
)

// NearbyQuery and WithinQuery query the layer for pages of hits. Letters may be of either case.
type NearbyQuery struct {
	Lat, Lon, RadiusM float64
	Limit             int // 0 is DefaultLimit
	Classes, Codes    []string
	Countries         []string
	MinPopulation     int64
	Cursor            string
}

type WithinQuery struct {
	Box            quadkey.Box
	Tile           *quadkey.Tile // instead of Box
	Limit          int           // 0 is DefaultLimit
	Classes, Codes []string
	Countries      []string
	MinPopulation  int64
	Keep           func(country, admin1 string) bool
	Examine        int // bounds the examined places
	Cursor         string
}

func (f *Finder) Nearby(ctx context.Context, q NearbyQuery, dst []Hit) (hits []Hit, next string, err error) {
	filter, err := upper(Filter{q.Classes, q.Codes, q.Countries, q.MinPopulation}).FeatureFilter()
	if err != nil {
		return nil, "", err
	}
	return pageOf(ctx, f, feature.Query{Near: feature.NearTo(q.Lat, q.Lon, q.RadiusM), Filter: filter}, q.Limit, q.Cursor, dst)
}

func (f *Finder) Within(ctx context.Context, q WithinQuery, dst []Hit) (hits []Hit, next string, err error) {
	filter, err := upper(Filter{q.Classes, q.Codes, q.Countries, q.MinPopulation}).FeatureFilter()
	if err != nil {
		return nil, "", err
	}
	if q.Keep != nil {
		filter = keeping{filter, q.Keep}
	}
	ask := feature.Query{In: feature.Box(q.Box), Filter: filter, Order: feature.Order{Importance: true}, MaxExamined: q.Examine}
	if q.Tile != nil {
		ask.In = feature.Tile(*q.Tile)
	}
	return pageOf(ctx, f, ask, q.Limit, q.Cursor, dst)
}

// known returns a filter that the index can evaluate alone.
func known(t testing.TB, of Filter) filter {
	t.Helper()
	terms := must.Get(of.FeatureFilter()).In(t)
	f, rest, possible := filterOf(terms, nil)
	if rest != nil || !possible {
		t.Fatalf("the index knows not all of %+v", of)
	}
	return f
}

func upper(f Filter) Filter {
	for _, list := range []*[]string{&f.Classes, &f.Codes, &f.Countries} {
		if *list != nil {
			*list = strings.Split(strings.ToUpper(strings.Join(*list, "\n")), "\n")
		}
	}
	return f
}

func pageOf(ctx context.Context, f *Finder, q feature.Query, limit int, cursor string, dst []Hit) (hits []Hit, next string, err error) {
	if limit == 0 {
		limit = DefaultLimit
	}
	if cursor != "" {
		if err := q.Continue(f.Info(), cursor); err != nil {
			return nil, "", err
		}
	}
	n := 0
	next, err = feature.Page(ctx, f, q, limit, func(of *feature.Feature) error {
		if n++; n > len(dst) {
			dst = append(dst, Hit{})
		}
		return dst[n-1].FromFeature(of)
	})
	if errors.Is(err, ErrTooMuchWork) && q.MaxExamined > 0 {
		err = nil
	}
	if err != nil {
		return nil, "", err
	}
	return dst[:n], next, nil
}

// keeping is a filter that no index can evaluate alone.
type keeping struct {
	of   feature.Filter // nil lets all pass
	keep func(country, admin1 string) bool
}

func (k keeping) Match(ctx context.Context, f *feature.Feature) (bool, error) {
	if k.of != nil {
		if ok, err := k.of.Match(ctx, f); !ok || err != nil {
			return false, err
		}
	}
	return k.keep(f.Properties.Text("country"), f.Properties.Text("admin1")), nil
}

func (k keeping) Terms() (terms []feature.Term, all bool) {
	if k.of != nil {
		terms, _ = k.of.Terms()
	}
	return terms, false
}

func (k keeping) String() string { return "kept" }
