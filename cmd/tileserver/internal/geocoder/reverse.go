package geocoder

import (
	"context"
	"slices"

	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/places"
	"quadrille/places/names"
)

// ReverseQuery asks what is at a point.
type ReverseQuery struct {
	Lat, Lon float64 // degrees
	Lang     string
	Kinds    []names.Kind // of the results; none is all
	// RadiusM bounds how far the nearest place may be, in metres; 0 is 50 km.
	RadiusM float64
}

const defaultReach = 50_000

// Ready says why nothing can be asked, such as that no places are published.
func (s *Session) Ready(ctx context.Context) error {
	_, err := s.begin(ctx, &Query{})
	return err
}

// Reverse returns what is at a point: the nearest place, with its distance, and then the
// regions that contain the point, the smallest first.
func (s *Session) Reverse(ctx context.Context, q ReverseQuery) ([]Result, error) {
	f, err := s.begin(ctx, &Query{Lang: q.Lang, Kinds: q.Kinds})
	if err != nil {
		return nil, err
	}
	parents, err := f.Parents(q.Lat, q.Lon)
	if err != nil {
		return nil, err
	}
	var list []Result
	if f.places != nil && f.wants(Place) {
		radius := q.RadiusM
		if radius == 0 {
			radius = defaultReach
		}
		hits, _, err := f.places.Nearby(ctx, places.NearbyQuery{Lat: q.Lat, Lon: q.Lon, RadiusM: radius, Limit: 1, Classes: []string{"P"}, Only: true}, nil)
		if err != nil {
			return nil, err
		}
		for i := range hits {
			r := placeResult(Result{Place: hits[i]})
			if q.Lang != "" {
				name, found, err := f.places.NameIn(ctx, hits[i].ID, q.Lang)
				if err != nil {
					return nil, datasets.Inside(err)
				}
				if found {
					r.Name = name
				}
			}
			r.Parents = parents
			if err := f.complete(&r); err != nil {
				return nil, err
			}
			r.Label = Label(r.Name, r.Parents)
			list = append(list, r)
		}
	}
	for i, p := range parents {
		if !f.wants(names.Region) {
			break
		}
		r := Result{Feature: names.Feature{
			Kind: names.Region, Type: p.Type, ID: p.ID, Name: p.Name, Lat: q.Lat, Lon: q.Lon, Parents: slices.Clone(parents[i+1:]),
		}}
		r.Label = Label(r.Name, r.Parents)
		list = append(list, r)
	}
	return list, nil
}
