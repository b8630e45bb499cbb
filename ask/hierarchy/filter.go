package hierarchy

import (
	"context"
	"slices"
	"strings"

	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/tiles"
)

// mostCountries bounds the codes of a filter.
const mostCountries = 20

// parts are the countries of ISO 3166-1 that are also divisions of another country in ISO 3166-2.
// That country includes them. Taiwan is left out: the map decides about it.
var parts = map[string][]string{
	"CN": {"HK", "MO"},
	"FI": {"AX"},
	"FR": {"BL", "GF", "GP", "MF", "MQ", "NC", "PF", "PM", "RE", "TF", "WF", "YT"},
	"NL": {"AW", "BQ", "CW", "SX"},
	"NO": {"BV", "SJ"},
	"US": {"AS", "GU", "MP", "PR", "UM", "VI"},
}

// WidenCountries returns the country codes of a filter that compares only the codes of rows, and passes every
// place that InCountries may pass. So it also has the codes of the countries' parts, such as Hong
// Kong for China, and the codes of places that the map draws in the wanted countries.
func (v *View) WidenCountries(asked []string) []string {
	wide := asked
	add := func(codes []string) {
		for _, code := range codes {
			if len(wide) < mostCountries && !slices.Contains(wide, code) {
				wide = append(slices.Clip(wide), code)
			}
		}
	}
	for _, country := range asked {
		add(parts[country])
		if v.Names != nil {
			add(v.Names.SourceCountryCodes(country))
		}
	}
	return wide
}

// Territories does the same as WidenCountries, without the codes that have their own region. Every place with
// one of these codes passes InCountries, so none needs a check.
func (v *View) Territories(ctx context.Context, asked []string) ([]string, error) {
	if v.Boundaries == nil {
		return asked, nil
	}
	list := slices.Clip(asked)
	for _, code := range v.WidenCountries(asked)[len(asked):] {
		if isPart(code, asked) {
			list = append(list, code)
			continue
		}
		name, err := v.drawn(ctx, code)
		if err != nil {
			return nil, err
		}
		if name == "" {
			list = append(list, code)
		}
	}
	return list, nil
}

// isPart reports whether a country is a part of one of the given countries.
func isPart(code string, of []string) bool {
	return slices.ContainsFunc(of, func(country string) bool { return slices.Contains(parts[country], code) })
}

// CodeInCountries reports whether something with the code of a country passes a filter by
// countries.
func CodeInCountries(code string, asked []string) bool {
	return len(asked) == 0 || slices.Contains(asked, code) || isPart(code, asked)
}

// InCountries reports whether a place is in one of the given countries, by its row or on the map.
// An empty list means all countries.
func (v *View) InCountries(ctx context.Context, p *places.Hit, asked []string) (bool, error) {
	if CodeInCountries(p.Country, asked) {
		return true, nil
	}
	var list []names.Parent
	for _, code := range asked {
		list = append(list, names.Parent{Type: Country, ID: strings.ToLower(code)})
	}
	return v.InRegions(ctx, p, list)
}

// InRegions reports whether a place is in one of the given regions: by its row, or on the map if
// the row is inconclusive. For a country either is enough.
func (v *View) InRegions(ctx context.Context, p *places.Hit, list []names.Parent) (bool, error) {
	if v.Boundaries == nil {
		return false, nil
	}
	all, err := v.states(ctx)
	if err != nil {
		return false, err
	}
	var of []string // types to look up on the map
	for i := range list {
		r, is := &list[i], unknown
		switch r.Type {
		case Country:
			if is = inCountry(r.ID, p); is == no {
				is = unknown
			}
		case State:
			is = v.inState(all, r, p)
		case County:
			row, err := v.divisions(ctx, p.ID)
			if err != nil {
				return false, err
			}
			if is = inCounty(r.ID, p.Country, row.admin2); is == yes { // counties of several states have that code
				own, err := v.ParentsOf(ctx, p)
				if err != nil {
					return false, err
				}
				is = yesOrNo(slices.ContainsFunc(own,
					func(o names.Parent) bool { return o.Type == County && feature.SameRegionID(o.ID, r.ID) }))
			}
		}
		switch {
		case is == yes:
			return true, nil
		case is == unknown && !slices.Contains(of, r.Type) && v.published(r.Type):
			of = append(of, r.Type)
		}
	}
	if len(of) == 0 {
		return false, nil
	}
	at, err := v.Boundaries.At(ctx, p.Lat, p.Lon, of...)
	return slices.ContainsFunc(list, func(r names.Parent) bool {
		i := slices.IndexFunc(at, func(o tiles.Region) bool { return o.Type == r.Type })
		return i >= 0 && feature.SameRegionID(at[i].ID, r.ID)
	}), err
}
