package geocoder

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/places"
	"quadrille/places/names"
)

// ReverseQuery asks what is at a point.
type ReverseQuery struct {
	Lat, Lon float64      // degrees
	Langs    []string     // as those of Query
	Kinds    []names.Kind // of the results; none is all
	// RadiusM bounds how far the nearest place may be, in metres; 0 is 50 km.
	RadiusM float64
	// Limit is how many of the nearest places are answered; 0 is one.
	Limit int
}

const defaultReach = 50_000

// Ready says why nothing can be asked, such as that no places are published.
func (s *Session) Ready(ctx context.Context) error {
	_, err := s.begin(ctx, &Query{})
	return err
}

// Reverse returns what is at a point: the nearest places, with their distances, and then the
// regions that contain the point, the smallest first.
func (s *Session) Reverse(ctx context.Context, q ReverseQuery) ([]Result, error) {
	f, err := s.begin(ctx, &Query{Langs: q.Langs, Kinds: q.Kinds})
	if err != nil {
		return nil, err
	}
	parents, err := f.Parents(q.Lat, q.Lon)
	if err != nil {
		return nil, err
	}
	var hits []places.Hit
	if f.places != nil && f.wants(Place) {
		if hits, err = f.nearest(&q, parents); err != nil {
			return nil, err
		}
	}
	if err := f.regionNames(parents); err != nil { // once for all results
		return nil, err
	}
	list := make([]Result, 0, len(hits)+len(parents))
	for i := range hits {
		r := placeResult(Result{Place: hits[i]})
		if err := f.completeWithin(&r, parents); err != nil {
			return nil, err
		}
		if err := f.placeName(&r); err != nil {
			return nil, err
		}
		r.Label = Label(r.Name, r.Parents)
		list = append(list, r)
	}
	if !f.wants(names.Region) {
		return list, nil
	}
	for i := range parents {
		list = append(list, Result{})
		if err := f.regionAt(&list[len(list)-1], &q, parents, i); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// regionAt fills in the result for one of the regions at a point.
func (f *finding) regionAt(r *Result, q *ReverseQuery, parents []names.Parent, i int) error {
	p := &parents[i]
	r.Feature = names.Feature{Kind: names.Region, Type: p.Type, ID: p.ID, Name: p.Name, Lat: q.Lat, Lon: q.Lon}
	around := slices.Clip(parents[i+1:])
	r.Parents = around
	// Counties have titles. The country of a region without one around it is known by
	// name only: of two layers one may reach farther into the sea at the point.
	if f.names != nil && (p.Type == countyType || p.Type != countryType && i == len(parents)-1) {
		known, _, err := f.names.Feature(f.ctx, names.Number(names.Region, p.Type, p.ID))
		if err != nil {
			return err
		}
		r.Title, r.Country = known.Title, known.Country
		if len(around) == 0 {
			around = slices.Clone(known.Parents)
			if err := f.regionNames(around); err != nil {
				return err
			}
		}
		if err := f.completeWithin(r, around); err != nil {
			return err
		}
	}
	r.Label = Label(cmp.Or(r.Title, r.Name), r.Parents)
	return nil
}

// completeWithin gives a result the regions around it, which other results may share, and
// those that complete adds.
func (f *finding) completeWithin(r *Result, around []names.Parent) error {
	r.Parents = slices.Clip(around) // what is added is added to a copy
	if err := f.complete(r); err != nil {
		return err
	}
	if len(r.Parents) == len(around) {
		return nil
	}
	return f.regionNames(r.Parents)
}

// municipalities are the names of layers whose regions are municipalities.
var municipalities = []string{"municipality", "municipalities", "commune", "communes", "gemeinde", "gemeinden", "gemeente", "gemeenten", "comune", "comuni", "municipio", "municipios", "lau", "city", "cities", "town", "towns"}

// manyRegions is from how many regions on the finest layer is taken for one of
// municipalities, whatever its name. No country has as many counties.
const manyRegions = 10_000

// inMunicipality is how many places near a point are looked at for those of its
// municipality.
const inMunicipality = 20

// nearest returns the places that are answered for a point with regions around it. Where
// its municipality is known they are in it, the one of its name first: the nearest
// centre may be another's.
func (f *finding) nearest(q *ReverseQuery, parents []names.Parent) ([]places.Hit, error) {
	near := places.NearbyQuery{Lat: q.Lat, Lon: q.Lon, RadiusM: cmp.Or(q.RadiusM, defaultReach), Limit: max(q.Limit, 1), Classes: []string{"P"}, Only: true}
	if len(parents) == 0 || !slices.Contains(f.layers().municipal, parents[0].Type) {
		hits, _, err := f.places.Nearby(f.ctx, near, nil)
		return hits, err
	}
	own := parents[0]
	near.Limit = max(near.Limit, inMunicipality)
	hits, _, err := f.places.Nearby(f.ctx, near, nil)
	if err != nil {
		return nil, err
	}
	inside := hits[:0]
	for i := range hits {
		in, err := f.within(hits[i].Lat, hits[i].Lon, []names.Feature{{Type: own.Type, ID: own.ID}})
		if err != nil {
			return nil, err
		}
		if in {
			inside = append(inside, hits[i])
		}
	}
	slices.SortStableFunc(inside, func(a, b places.Hit) int {
		return boolOrder(a.Name != own.Name, b.Name != own.Name)
	})
	return inside[:min(len(inside), max(q.Limit, 1))], nil
}

// boolOrder orders false before true.
func boolOrder(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	}
	return 1
}

// CountryName returns the name of a country in the first language that it is known in, and
// "" if there is none. No languages ask for the usual name.
func (s *Session) CountryName(ctx context.Context, code string, langs []string) (string, error) {
	reader, ok, err := optional(&s.places)
	if err != nil || !ok || code == "" {
		return "", err
	}
	country, err := reader.Country(ctx, code)
	if errors.Is(err, places.ErrNoCode) {
		return "", nil
	}
	if err != nil {
		return "", datasets.Inside(err)
	}
	if len(langs) == 0 {
		return country.Name, nil
	}
	for _, lang := range langs {
		name, found, err := reader.NameIn(ctx, country.ID, lang)
		if err != nil && !errors.Is(err, places.ErrNotFound) {
			return "", datasets.Inside(err)
		}
		if err == nil && found {
			return name, nil
		}
	}
	return "", nil
}
