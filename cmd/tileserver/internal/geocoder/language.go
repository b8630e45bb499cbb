package geocoder

import (
	"context"

	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/places/names"
)

// Localize gives a result that was looked up the names of a language, as those of Search
// and Reverse have. An empty language changes nothing.
func (s *Session) Localize(ctx context.Context, r *Result, lang string) error {
	f, err := s.begin(ctx, &Query{Lang: lang})
	if err != nil {
		return err
	}
	return f.localize(r)
}

// localize gives a result and the regions around it the names of the asked language, as
// far as they are known. The parents must be the result's own.
func (f *finding) localize(r *Result) error {
	if f.q.Lang == "" {
		return nil
	}
	if r.Kind == Place && f.places != nil {
		name, ok, err := f.places.NameIn(f.ctx, r.Place.ID, f.q.Lang)
		if err != nil {
			return datasets.Inside(err)
		}
		if ok {
			r.Name = name
		}
	}
	if f.names == nil {
		return nil
	}
	if r.Kind == names.Region {
		if err := f.regionName(r.Type, r.ID, &r.Name); err != nil {
			return err
		}
	}
	for i := range r.Parents {
		p := &r.Parents[i]
		if err := f.regionName(p.Type, p.ID, &p.Name); err != nil {
			return err
		}
	}
	return nil
}

// regionName replaces the name of a region by that of the asked language, if it is known.
func (f *finding) regionName(typ, id string, name *string) error {
	local, ok, err := f.names.NameIn(f.ctx, typ, id, f.q.Lang)
	if err != nil {
		return datasets.Inside(err)
	}
	if ok {
		*name = local
	}
	return nil
}
