// Package hierarchy finds the regions around a place, and the place that describes a point. The map
// is right about a point: its regions are those whose polygons hold it. The source is right about a
// place: where its row contradicts a coarse polygon, the row counts.
//
// Positions are degrees and distances metres. The errors come from the data sets. A data set that
// is not published has no answer, and is no error.
package hierarchy

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// Names of layers whose meaning is fixed.
const (
	Country = "country"
	State   = "state"
	County  = "county"
	zone    = "timezone" // its regions are no part of an address
)

const (
	// manyRegions is the number of regions from which the finest layer counts as municipalities,
	// with any name. No country has as many counties.
	manyRegions = 10_000
	// coarseM bounds the error of a border or a coast on a map, in metres. Coasts of maps at
	// 1:50,000,000 are up to 4.5 km off cities.
	coarseM = 5_000
	// fewNear bounds the places near a point that are searched for one in its municipality.
	// manyNear bounds the search for a place in its country and divisions, and for the city of a
	// section.
	fewNear  = 20
	manyNear = 100
	// cityM is the greatest distance of a section from its city, in metres.
	cityM = 25_000
)

// View has a generation of each data set that the package reads. A nil one counts as not published.
// A View may be used concurrently.
type View struct {
	Places      *places.Finder
	Names       *names.Reader
	Boundaries  *tiles.Reader
	Generations Generations // of the data sets above
	Layers      *Layers
	// CountryByMap makes the map decide in which country a place is, instead of its row. A place
	// that a coarse map draws across a border is then in the other country.
	CountryByMap bool
}

// IsMunicipal reports whether a type of regions is municipalities.
func (v *View) IsMunicipal(typ string) bool {
	return v.Boundaries != nil && slices.Contains(v.layers().municipal, typ)
}

// At returns the regions at a point in degrees, the smallest first.
func (v *View) At(ctx context.Context, lat, lon float64) ([]names.Parent, error) {
	if v.Boundaries == nil {
		return nil, nil
	}
	return v.at(ctx, lat, lon, v.layers().names)
}

// AddressAt returns AddressRegions of the result of At. It reads no others.
func (v *View) AddressAt(ctx context.Context, lat, lon float64) ([]names.Parent, error) {
	if v.Boundaries == nil {
		return nil, nil
	}
	list, err := v.at(ctx, lat, lon, v.layers().addressed)
	return AddressRegions(list), err
}

// at returns the regions of some layers at a point.
func (v *View) at(ctx context.Context, lat, lon float64, layers []string) ([]names.Parent, error) {
	if len(layers) == 0 {
		return nil, nil // without names tiles.Reader.At takes all layers
	}
	at, err := v.Boundaries.At(ctx, lat, lon, layers...)
	if err != nil {
		return nil, err
	}
	return v.Parents(at), nil
}

// Parents does the same as At, for regions that were already found at a point.
func (v *View) Parents(at []tiles.Region) []names.Parent {
	if len(at) == 0 {
		return nil
	}
	list := make([]names.Parent, 0, len(at))
	for _, layer := range v.layers().names {
		for i := range at {
			if r := &at[i]; r.Type == layer {
				list = append(list, names.Parent{Type: r.Type, ID: r.ID, Name: r.Name})
			}
		}
	}
	return list
}

// AddressRegions filters the regions at a point. It keeps those that may be around a place or a
// smaller region, without water and continents. Of each type it keeps the smallest, because
// overlapping countries do not lie in each other. It may return the same list.
func AddressRegions(list []names.Parent) []names.Parent {
	drop := func(i int) bool { return !addressed(list[i].Type) || i > 0 && list[i].Type == list[i-1].Type }
	for i := range list {
		if drop(i) {
			left := slices.Clone(list[:i])
			for j := i; j < len(list); j++ {
				if !drop(j) {
					left = append(left, list[j])
				}
			}
			return left
		}
	}
	return list
}

// DropUnnamed drops regions without a name, which are useless in answers. A country without a name
// on the map gets the gazetteer's. It may return the same list.
func (v *View) DropUnnamed(ctx context.Context, list []names.Parent) ([]names.Parent, error) {
	nameless := func(p names.Parent) bool { return p.Name == "" }
	if !slices.ContainsFunc(list, nameless) {
		return list, nil
	}
	list = slices.Clone(list)
	for i := range list {
		if p := &list[i]; nameless(*p) && p.Type == Country {
			var err error
			if p.Name, err = v.countryName(ctx, p.ID); err != nil {
				return nil, err
			}
		}
	}
	return slices.DeleteFunc(list, nameless), nil
}

// countryName returns the gazetteer's name of a country, given its code, or "" if it has none.
func (v *View) countryName(ctx context.Context, code string) (string, error) {
	if v.Places == nil {
		return "", nil
	}
	country, err := v.Places.Country(ctx, strings.ToUpper(code))
	if err != nil && !errors.Is(err, places.ErrNoCode) {
		return "", ask.NotFoundAsDamage(err)
	}
	return country.Name, nil
}

// WithDivision adds the first-level division in the row of a place to the regions of the place,
// unless these have more than the country.
func WithDivision(p *places.Hit, list []names.Parent) []names.Parent {
	if p.Admin1Name == "" || slices.ContainsFunc(list, func(r names.Parent) bool { return r.Type != Country }) {
		return list
	}
	return slices.Insert(list, 0, names.Parent{Type: names.Admin1Type, ID: divisionCode(p), Name: p.Admin1Name})
}

// Holds reports, by a place's row, whether the place is in a region without an outline.
func Holds(region *names.Feature, p *places.Hit) bool {
	switch region.Type {
	case Country:
		return p.Country != "" && p.Country == region.Country
	case names.Admin1Type:
		return divisionCode(p) == region.ID
	}
	return false
}

// MayHold reports whether InRegions or Holds may tell that a place is in a region, by the place's
// entry in the index of names. So most places of a name need not be read to find those in a region.
func MayHold(region *names.Feature, p *search.Hit) bool {
	switch {
	case region.Type == names.Admin1Type && region.Bounds == [4]float64{}:
		return Holds(region, &places.Hit{Country: p.Country, Admin1: p.Admin1})
	case region.Type == Country || region.Type == State: // the row counts, wherever the place is
		return true
	}
	b := quadkey.Box{West: region.Bounds[0], South: region.Bounds[1], East: region.Bounds[2], North: region.Bounds[3]}
	if region.Bounds == [4]float64{} || !b.Valid() {
		return true
	}
	// A row may move a place across a border of a coarse map.
	lat, lon := float64(p.Lat)/unitsPerDegree, float64(p.Lon)/unitsPerDegree
	north, east := margin(lat)
	turn := math.Remainder(lon-b.West, 360) // from the western border, eastward
	if turn < -east {
		turn += 360
	}
	width := b.East - b.West
	if width < 0 {
		width += 360
	}
	return lat >= b.South-north && lat <= b.North+north && turn <= width+east
}

// unitsPerDegree is the unit of positions in search.Hit.
const unitsPerDegree = 1e7

// divisionCode returns the gazetteer's code of the first-level division of a place.
func divisionCode(p *places.Hit) string { return p.Country + "." + p.Admin1 }
