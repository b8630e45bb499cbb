package names

import (
	"errors"
	"fmt"
	"strings"

	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/names"
)

// readCountries yields the countries that places have but no layer draws. Guadeloupe is one if it
// is drawn as a part of France. They have a position but no bounds.
func (n *namer) readCountries(take func(names.Feature) error) error {
	if n.places == nil {
		return nil
	}
	var nowhere []string
	for _, c := range n.places.Countries() {
		if n.shown[c.Code] {
			continue
		}
		f := names.Feature{
			Kind: names.Region, Type: countryType, ID: strings.ToLower(c.Code), Name: strings.TrimSpace(c.Name),
			Country: c.Code, Code: c.Code, Population: uint64(max(c.Population, 0)),
		}
		known, err := n.locate(&f, c.ID)
		if err != nil {
			return err
		}
		if !known {
			nowhere = append(nowhere, c.Code)
			continue
		}
		if err := n.otherNames(&f, []byte("{}")); err != nil {
			return err
		}
		if err := take(f); err != nil {
			return err
		}
	}
	if len(nowhere) > 0 {
		n.rep.Note(fmt.Sprintf("countries without a region, place and airport are not searched: %s", strings.Join(nowhere, ", ")))
	}
	return nil
}

// locate gives a country without a region the position of its own row, else of its capital, else of
// its most important place or airport. It reports whether it found one.
func (n *namer) locate(f *names.Feature, id uint32) (known bool, err error) {
	var h places.Hit
	if id != 0 {
		err := n.places.Hit(n.ctx, id, &h)
		if f.Lat, f.Lon = h.Lat, h.Lon; err == nil || !errors.Is(err, places.ErrNotFound) {
			return true, err
		}
	}
	countries := []string{f.Country}
	for _, classes := range [][]string{{"P"}, nil} {
		filter, err := places.Filter{Classes: classes, Countries: countries}.FeatureFilter()
		if err == nil {
			known, err = n.locateBy(f, n.places, filter)
		}
		if known || err != nil && !errors.Is(err, places.ErrTooMuchWork) {
			return known, err
		}
	}
	if n.airports == nil {
		return false, nil
	}
	filter, err := airports.Filter{Countries: countries}.FeatureFilter()
	if err != nil {
		return false, err
	}
	return n.locateBy(f, n.airports, filter)
}

// locateBy gives a feature the position of the most important feature of a layer that
// passes a filter, if there is one.
func (n *namer) locateBy(f *names.Feature, l feature.Layer, filter feature.Filter) (known bool, err error) {
	hits, err := places.CollectHits(nil, l.Features(n.ctx,
		&feature.Query{Filter: filter, Order: feature.Order{Importance: true}, Limit: 1}))
	if len(hits) == 0 {
		return false, err
	}
	f.Lat, f.Lon = hits[0].Lat, hits[0].Lon
	return true, nil
}
