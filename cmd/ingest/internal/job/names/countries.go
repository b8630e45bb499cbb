package names

import (
	"errors"
	"fmt"
	"strings"

	"quadrille/places"
	"quadrille/places/airports"
	"quadrille/places/names"
	"quadrille/quadkey"
)

// readCountries yields the countries that places know and no layer draws, such as Guadeloupe
// where it is a part of France. They have a position and no bounds.
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

// locate gives a country that is not drawn a position: that of its own row, else of its
// capital or most important place or airport. It reports whether there is one.
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
		hits, _, err := n.places.Within(n.ctx, places.WithinQuery{Box: quadkey.World, Limit: 1, Classes: classes, Countries: countries}, nil)
		if err != nil && !errors.Is(err, places.ErrTooMuchWork) {
			return false, err
		}
		if len(hits) > 0 {
			f.Lat, f.Lon = hits[0].Lat, hits[0].Lon
			return true, nil
		}
	}
	if n.airports != nil {
		hits, _, err := n.airports.Within(n.ctx, airports.WithinQuery{Box: quadkey.World, Limit: 1, Filter: airports.Filter{Countries: countries}}, nil)
		if err != nil {
			return false, err
		}
		if len(hits) > 0 {
			f.Lat, f.Lon = hits[0].Lat, hits[0].Lon
			return true, nil
		}
	}
	return false, nil
}
