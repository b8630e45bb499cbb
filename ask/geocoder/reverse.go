package geocoder

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"quadrille/ask"
	"quadrille/ask/hierarchy"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/names"
)

// ReverseQuery is a query for the places, areas and regions at a point.
type ReverseQuery struct {
	Lat, Lon float64      // degrees
	Langs    []string     // see Query.Langs
	Kinds    []names.Kind // of the results; none is all
	// RadiusM bounds the distance of the nearest place, in metres; 0 means 50 km.
	RadiusM float64
	// Limit is the number of nearest places in the answer. 0 means 1.
	Limit int
}

const defaultReach = 50_000

// Ready returns an error if no query can be answered, for example because no places are published.
func (s *Session) Ready(ctx context.Context) error {
	_, err := s.begin(ctx, &Query{})
	return err
}

// Reverse returns the features at a point: first the nearest places with their distances, then the
// areas of layers other than regions that contain the point, and then the regions that contain it,
// the smallest first. If a place in the point's own regions is near, it comes first. Each place has
// the regions around itself.
func (s *Session) Reverse(ctx context.Context, q ReverseQuery) ([]Result, error) {
	f, err := s.begin(ctx, &Query{Langs: q.Langs, Kinds: q.Kinds})
	if err != nil {
		return nil, err
	}
	parents, err := f.view.At(ctx, q.Lat, q.Lon)
	if err != nil {
		return nil, err
	}
	around := hierarchy.AddressRegions(parents)
	var hits []places.Hit
	var first hierarchy.Relation
	if f.places != nil && f.wants(Place) {
		near := feature.Query{
			Near:   feature.NearTo(q.Lat, q.Lon, cmp.Or(q.RadiusM, defaultReach)),
			Filter: places.OnlyPopulated, Limit: max(q.Limit, 1),
		}
		if hits, first, err = f.view.Nearest(ctx, near, around); err != nil {
			return nil, err
		}
	}
	list := make([]Result, 0, len(hits)+len(parents))
	for i := range hits {
		list = append(list, placeResult(Result{Place: hits[i]}))
		is := first
		if i > 0 {
			if is, err = f.view.Relate(ctx, &hits[i], around); err != nil {
				return nil, err
			}
		}
		r := &list[i]
		if r.AcrossBorder = is.AcrossBorder(); is == hierarchy.SameRegions {
			r.Parents = slices.Clone(around)
		} else if r.Parents, err = f.view.ParentsOf(ctx, &r.Place); err != nil {
			return nil, err
		}
		if err := f.describe(r); err != nil {
			return nil, err
		}
	}
	if !f.wants(names.Region) {
		return list, nil
	}
	if err := f.regionNames(parents); err != nil { // once for all results
		return nil, err
	}
	if err := f.areasAt(&list, &q, parents); err != nil {
		return nil, err
	}
	for i := range parents {
		list = append(list, Result{})
		if err := f.regionAt(&list[len(list)-1], &q, parents, i); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// areasAt appends the results for the areas of layers other than regions at a point.
func (f *finding) areasAt(list *[]Result, q *ReverseQuery, parents []names.Parent) error {
	areas, err := f.s.View.AreasAt(f.ctx, q.Lat, q.Lon)
	if err != nil || len(areas) == 0 {
		return err
	}
	around, err := f.view.DropUnnamed(f.ctx, hierarchy.AddressRegions(parents))
	if err != nil {
		return err
	}
	for i := range areas {
		a := &areas[i]
		*list = append(*list, Result{
			Feature: names.Feature{
				Kind: names.Region, Type: a.Type, ID: a.ID, Name: a.Name, Lat: q.Lat, Lon: q.Lon,
				Parents: slices.Clone(around),
			},
			Label: Label(a.Name, around),
		})
	}
	return nil
}

// regionAt fills in the result for region i of parents, the regions at a point.
func (f *finding) regionAt(r *Result, q *ReverseQuery, parents []names.Parent, i int) error {
	p := &parents[i]
	r.Feature = names.Feature{Kind: names.Region, Type: p.Type, ID: p.ID, Name: p.Name, Lat: q.Lat, Lon: q.Lon}
	rest := parents[i+1:]
	for len(rest) > 0 && rest[0].Type == p.Type { // it does not lie in others of its type
		rest = rest[1:]
	}
	around, err := f.view.DropUnnamed(f.ctx, hierarchy.AddressRegions(rest))
	if err != nil {
		return err
	}
	r.Parents = slices.Clip(around)
	// Counties have titles. A region without regions around it gets its country from the index of
	// names, because layers may reach into the sea to different distances.
	if f.names != nil && (p.Type == hierarchy.County || p.Type != hierarchy.Country && i == len(parents)-1) {
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

// completeWithin gives a result the regions around it, and those that complete adds. Other results
// may share around.
func (f *finding) completeWithin(r *Result, around []names.Parent) error {
	r.Parents = slices.Clip(around) // complete adds to a copy
	if err := f.complete(r); err != nil {
		return err
	}
	if slices.Equal(r.Parents, around) {
		return nil
	}
	return f.regionNames(r.Parents)
}

// CountryName returns the name of a country in the first language that has one, or "". Without
// languages it returns the usual name.
func (s *Session) CountryName(ctx context.Context, code string, langs []string) (string, error) {
	reader, ok, err := s.View.Places.GetIfPublished()
	if err != nil || !ok || code == "" {
		return "", err
	}
	country, err := reader.Country(ctx, code)
	if errors.Is(err, places.ErrNoCode) {
		return "", nil
	}
	if err != nil {
		return "", ask.NotFoundAsDamage(err)
	}
	if len(langs) == 0 {
		return country.Name, nil
	}
	for _, lang := range langs {
		name, found, err := reader.NameIn(ctx, country.ID, lang)
		if err != nil && !errors.Is(err, places.ErrNotFound) {
			return "", ask.NotFoundAsDamage(err)
		}
		if err == nil && found {
			return name, nil
		}
	}
	return "", nil
}
