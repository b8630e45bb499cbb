package geocoder

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/tiles"
)

// Place returns the place with an id of the gazetteer, and false if there is none.
func (s *Session) Place(ctx context.Context, id uint32) (Result, bool, error) {
	f, err := s.begin(ctx, &Query{})
	if err != nil || f.places == nil {
		return Result{}, false, err
	}
	var r Result
	err = f.places.Hit(ctx, id, &r.Place)
	if errors.Is(err, places.ErrNotFound) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	f.found = append(f.found, placeResult(r))
	err = f.label()
	return f.found[0], err == nil, err
}

// Feature returns the region, airport or zone with a number of [names.Number], and false
// if there is none.
func (s *Session) Feature(ctx context.Context, number uint64) (Result, bool, error) {
	f, err := s.begin(ctx, &Query{})
	if err != nil || f.names == nil {
		return Result{}, false, err
	}
	feature, ok, err := f.names.Feature(ctx, number)
	if err != nil || !ok {
		return Result{}, false, err
	}
	if feature.Parents, err = f.view.AddressRegions(ctx, feature.Parents, feature.Country); err == nil {
		feature.Parents, err = f.view.DropUnnamed(ctx, feature.Parents)
	}
	return Result{Feature: feature, Label: Label(feature.Name, feature.Parents)}, err == nil, err
}

// CountryNamed returns the ISO 3166-1 alpha-2 code of the country with the given name or code. If
// there is none the code is "", and regions are the regions with that name, such as England.
func (s *Session) CountryNamed(ctx context.Context, text string) (code string, regions []names.Feature, err error) {
	text = typed(text)
	f, err := s.begin(ctx, &Query{Text: text})
	if err != nil {
		return "", nil, err
	}
	if code := alpha2(text); code != "" && f.places != nil {
		if _, err := f.places.Country(ctx, code); err == nil || !errors.Is(err, places.ErrNoCode) {
			return code, nil, ask.NotFoundAsDamage(err)
		}
	}
	if f.names == nil {
		return "", nil, nil
	}
	regions, err = f.regionsNamed(text, false)
	if err == nil && !slices.ContainsFunc(regions, isCountry) {
		var more []names.Feature
		more, err = f.regionsOf(text)
		regions = append(regions, more...)
	}
	if err != nil {
		return "", nil, err
	}
	if at := slices.IndexFunc(regions, isCountry); at >= 0 {
		return CountryOf(&Result{Feature: regions[at]}), nil, nil
	}
	return "", regions, nil
}

// Region reads a region, and returns false if there is none.
func (s *Session) Region(ctx context.Context, typ, id string, region *feature.Feature) (bool, error) {
	f, err := s.begin(ctx, &Query{})
	if err != nil || f.regions == nil {
		return false, err
	}
	l, err := f.regions.Layer(typ)
	if err == nil {
		err = l.Get(ctx, id, time.Time{}, region)
	}
	if errors.Is(err, tiles.ErrNotFound) || errors.Is(err, tiles.ErrUnknownType) {
		return false, nil // the names belong to another generation
	}
	return err == nil, err
}

// PlaceNames calls fn with the names of a place by language.
func (s *Session) PlaceNames(ctx context.Context, id uint32, fn func(lang, name string)) error {
	return s.alternates(ctx, id, func(a *places.AlternateName) {
		if a.IsName() && !a.Historic && !a.Colloquial {
			fn(a.Lang, a.Name)
		}
	})
}

// PlaceLinks returns links of a place to other works: its id in Wikidata, and its article in
// Wikipedia in the notation of OpenStreetMap, en:Helsinki. A missing link is "". It prefers the
// article in English, and otherwise takes the first.
func (s *Session) PlaceLinks(ctx context.Context, id uint32) (wikidata, wikipedia string, err error) {
	err = s.alternates(ctx, id, func(a *places.AlternateName) {
		switch {
		case a.Lang == "wkdt" && wikidataID.MatchString(a.Name):
			wikidata = cmp.Or(wikidata, a.Name)
		case a.Lang == "link":
			m := article.FindStringSubmatch(a.Name)
			if m == nil || wikipedia != "" && (m[1] != "en" || strings.HasPrefix(wikipedia, "en:")) {
				break
			}
			if title, err := url.PathUnescape(m[2]); err == nil && utf8.ValidString(title) {
				wikipedia = m[1] + ":" + strings.ReplaceAll(title, "_", " ")
			}
		}
	})
	return wikidata, wikipedia, err
}

var (
	wikidataID = regexp.MustCompile(`^Q[1-9][0-9]{0,11}$`)
	// article matches the address of a Wikipedia article and captures its language and title.
	article = regexp.MustCompile(`^https?://([a-z][a-z-]{0,19})(?:\.m)?\.wikipedia\.org/wiki/([^?#]+)$`)
)

// alternates calls fn with every entry that a source has for a place, besides the place's own name.
func (s *Session) alternates(ctx context.Context, id uint32, fn func(*places.AlternateName)) error {
	f, err := s.begin(ctx, &Query{})
	if err != nil || f.places == nil {
		return err
	}
	var r places.Record
	if err := f.places.Record(ctx, id, &r); err != nil {
		return err
	}
	for i := range r.Alternates {
		fn(&r.Alternates[i])
	}
	return nil
}

// RegionNames calls fn with the names of a region by language, and returns the region's usual name.
// For an unknown region it returns the name in the result.
func (s *Session) RegionNames(ctx context.Context, r *Result, fn func(lang, name string)) (string, error) {
	f, err := s.begin(ctx, &Query{})
	if err != nil || f.names == nil {
		return r.Name, err
	}
	feature, ok, err := f.names.Feature(ctx, NumberOf(r))
	if err != nil || !ok {
		return r.Name, ask.NotFoundAsDamage(err)
	}
	return feature.Name, ask.NotFoundAsDamage(f.names.NamesOf(ctx, r.Type, r.ID, fn))
}

// Built returns when the newest of the data sets was built, or the zero time if none is
// published.
func (s *Session) Built() (newest time.Time) {
	all := []*dataset.Manifest{s.View.Places.Manifest(), s.View.Names.Manifest()}
	for _, name := range s.View.Boundaries.DatasetNames() {
		of := s.View.Boundaries.PinOf(name)
		all = append(all, of.Manifest())
	}
	for _, m := range all {
		if m != nil && m.Built.After(newest) {
			newest = m.Built
		}
	}
	return newest
}

// NumberOf returns the number of a result: the id in the gazetteer for a place, and
// [names.Number] for all else.
func NumberOf(r *Result) uint64 {
	if r.Kind == Place {
		return uint64(r.Place.ID)
	}
	return names.Number(r.Kind, r.Type, r.ID)
}
