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
	// Limit is how many of the nearest places are answered; 0 is one.
	Limit int
}

const defaultReach = 50_000

// Reverse returns what is at a point: the nearest places, with their distances, and then the
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
		hits, _, err := f.places.Nearby(ctx, places.NearbyQuery{Lat: q.Lat, Lon: q.Lon, RadiusM: radius, Limit: max(q.Limit, 1), Classes: []string{"P"}}, nil)
		if err != nil {
			return nil, err
		}
		for i := range hits {
			r := placeResult(Result{Place: hits[i]})
			if r.Name, err = s.NameIn(ctx, &r, q.Lang); err != nil {
				return nil, err
			}
			r.Parents = slices.Clone(parents)
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

// NameIn returns the name of a result in a language, as far as it is known, and else its
// own name. An empty language means the own name.
func (s *Session) NameIn(ctx context.Context, r *Result, lang string) (string, error) {
	switch {
	case lang == "":
		return r.Name, nil
	case r.Kind != Place:
		if r.Match != nil && r.Match.Lang == lang && r.Match.Name != "" {
			return r.Match.Name, nil
		}
		return r.Name, nil
	}
	reader, err := s.places.Get()
	if err != nil {
		return "", err
	}
	name, found, err := reader.NameIn(ctx, r.Place.ID, lang)
	if err != nil {
		return "", datasets.Inside(err)
	}
	if !found {
		return r.Name, nil
	}
	return name, nil
}
