package airports

import (
	"context"
	"strings"

	"quadrille/feature"
	"quadrille/places"
	"quadrille/quadkey"
)

// NearbyQuery and WithinQuery query the layer for pages of hits. Countries may be of either case.
type NearbyQuery struct {
	Lat, Lon float64
	Limit    int // 0 is places.DefaultLimit
	Filter
}

type WithinQuery struct {
	Box   quadkey.Box
	Limit int // 0 is places.DefaultLimit
	Filter
	Cursor string
}

func (f *Finder) Nearby(ctx context.Context, q NearbyQuery, dst []places.Hit) (hits []places.Hit, next string, err error) {
	return f.page(ctx, feature.Query{Near: feature.NearTo(q.Lat, q.Lon, 0)}, q.Filter, q.Limit, "", dst)
}

func (f *Finder) Within(ctx context.Context, q WithinQuery, dst []places.Hit) (hits []places.Hit, next string, err error) {
	return f.page(ctx, feature.Query{In: feature.Box(q.Box), Order: feature.Order{Importance: true}}, q.Filter, q.Limit, q.Cursor, dst)
}

func (f *Finder) page(ctx context.Context, q feature.Query, of Filter, limit int, cursor string,
	dst []places.Hit) (hits []places.Hit, next string, err error) {
	var countries []string
	for _, c := range of.Countries {
		countries = append(countries, strings.ToUpper(c))
	}
	of.Countries = countries
	if q.Filter, err = of.FeatureFilter(); err != nil {
		return nil, "", err
	}
	if err := q.Continue(f.Info(), cursor); err != nil {
		return nil, "", err
	}
	if limit == 0 {
		limit = places.DefaultLimit
	}
	hits = dst[:0]
	next, err = feature.Page(ctx, f, q, limit, func(of *feature.Feature) error {
		hits = append(hits, places.Hit{})
		return hits[len(hits)-1].FromFeature(of)
	})
	return hits, next, err
}
