package stations

import (
	"cmp"
	"context"
	"time"

	"quadrille/feature"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// NearbyQuery and WithinQuery query the layer for pages of hits.
type NearbyQuery struct {
	Lat, Lon, RadiusM float64
	Limit             int // 0 is near.DefaultLimit
	At                time.Time
	Country           string
}

type WithinQuery struct {
	Box     quadkey.Box
	Limit   int // 0 is near.DefaultLimit
	At      time.Time
	Country string
	Cursor  string
}

func (f *Finder) Nearby(ctx context.Context, q NearbyQuery, dst []Hit) (hits []Hit, err error) {
	hits, _, err = f.page(ctx, feature.Query{Near: feature.NearTo(q.Lat, q.Lon, q.RadiusM)}, Filter{q.Country, q.At}, q.Limit, "", dst)
	return hits, err
}

func (f *Finder) Within(ctx context.Context, q WithinQuery, dst []Hit) (hits []Hit, next string, err error) {
	return f.page(ctx, feature.Query{In: feature.Box(q.Box)}, Filter{q.Country, q.At}, q.Limit, q.Cursor, dst)
}

func (f *Finder) page(ctx context.Context, q feature.Query, of Filter, limit int, cursor string, dst []Hit) (hits []Hit,
	next string, err error) {
	if q.Filter, err = of.FeatureFilter(); err != nil {
		return nil, "", err
	}
	if err := q.Continue(f.Info(), cursor); err != nil {
		return nil, "", err
	}
	n := 0
	next, err = feature.Page(ctx, f, q, cmp.Or(limit, near.DefaultLimit), func(of *feature.Feature) error {
		if n++; n > len(dst) {
			dst = append(dst, Hit{})
		}
		h := &dst[n-1]
		*h = Hit{ID: ID([]byte(of.ID)), Lat: of.Lat, Lon: of.Lon, DistanceM: of.DistanceM, JSON: of.Properties.AppendMembers(h.JSON[:0])}
		return nil
	})
	if err != nil {
		return nil, "", err
	}
	return dst[:n], next, nil
}
