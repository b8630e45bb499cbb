package geocoder

import (
	"context"
	"strings"

	"quadrille/ask"
	"quadrille/internal/lang"
	"quadrille/places/names"
)

// Localize sets the names of a result from a lookup in the given languages, as Search and Reverse
// do. Without languages it changes nothing.
func (s *Session) Localize(ctx context.Context, r *Result, langs []string) error {
	f, err := s.begin(ctx, &Query{Langs: langs})
	if err != nil {
		return err
	}
	return f.localise(r)
}

// localise sets the names of a result and the regions around it, each in the best of the query's
// languages that has one. It changes r.Parents in place, so no other result may share that slice.
func (f *finding) localise(r *Result) error {
	if r.Kind == Place {
		if err := f.placeName(r); err != nil {
			return err
		}
	}
	if r.Kind == names.Region {
		if err := f.regionName(r.Type, r.ID, &r.Name); err != nil {
			return err
		}
	}
	return f.regionNames(r.Parents)
}

// placeName replaces the name of a place by its name in the best language that has one.
func (f *finding) placeName(r *Result) error {
	if f.places == nil || len(f.q.Langs) == 0 {
		return nil
	}
	return f.translate(&r.Name, func(lang string) (string, bool, error) { return f.places.NameIn(f.ctx, r.Place.ID, lang) })
}

// regionNames applies regionName to a list.
func (f *finding) regionNames(list []names.Parent) error {
	for i := range list {
		if err := f.regionName(list[i].Type, list[i].ID, &list[i].Name); err != nil {
			return err
		}
	}
	return nil
}

// regionName replaces the name of a region by its name in the best language that has one.
func (f *finding) regionName(typ, id string, name *string) error {
	if f.names == nil || len(f.q.Langs) == 0 {
		return nil
	}
	return f.translate(name, func(lang string) (string, bool, error) { return f.names.NameIn(f.ctx, typ, id, lang) })
}

// translate replaces a name by the name in the first language for which nameIn has one.
func (f *finding) translate(name *string, nameIn func(lang string) (string, bool, error)) error {
	for _, lang := range f.q.Langs {
		local, ok, err := nameIn(lang)
		if err != nil {
			return ask.NotFoundAsDamage(err)
		}
		if ok {
			*name = local
			return nil
		}
	}
	return nil
}

// searchLang returns the language whose names rank like own names. Sources tag languages and seldom
// countries, so "fr-CH" becomes "fr", and "zh-TW" becomes "zh-hant".
func (f *finding) searchLang() string {
	code := first(f.q.Langs)
	for _, l := range lang.FallbackChain(code) {
		if last := l[strings.LastIndexByte(l, '-')+1:]; last == l || len(last) > len("419") {
			return strings.ToLower(l)
		}
	}
	return code
}

// first returns the first text of a list, or "" of an empty list.
func first(list []string) string {
	if len(list) == 0 {
		return ""
	}
	return list[0]
}
