package geocoder

import (
	"slices"
	"strings"

	"quadrille/ask/hierarchy"
	"quadrille/places/names"
)

// Address ranks, as Nominatim has them: the smaller, the larger the region.
const (
	RankCountry      = 4
	RankState        = 8
	RankCounty       = 12
	RankMunicipality = 14
	RankCity         = 16
	RankBorough      = 18
	RankHamlet       = 20
	RankLocality     = 22
	RankMost         = 30
)

// ranks are the address ranks of kinds of layers. All others are no part of an address.
var ranks = map[hierarchy.Kind]int{
	hierarchy.Countries: RankCountry, hierarchy.Groups: RankState - 2, hierarchy.States: RankState, hierarchy.Counties: RankCounty,
	hierarchy.Municipalities: RankMunicipality, hierarchy.Cities: RankCity, hierarchy.Boroughs: RankBorough, hierarchy.Quarters: RankHamlet,
}

// RankOf returns the address rank of the regions of a layer. It is RankLocality for lakes, seas,
// continents and layers of which nothing is known: none of these is a country or a part of one.
func RankOf(layer string) int {
	if rank := ranks[hierarchy.KindOf(layer)]; rank > 0 {
		return rank
	}
	return RankLocality
}

// Section is a part of an address. Its values are the names that GeocodeJSON and Photon use.
type Section string

// The sections of an address, the largest first.
const (
	Country  Section = "country"
	State    Section = "state"    // first-level division
	County   Section = "county"   // second-level division
	City     Section = "city"     // city, town or village
	District Section = "district" // part of a city
	Locality Section = "locality" // smaller place, such as a hamlet or a quarter
	House    Section = "house"    // single thing, such as a building or an airport
)

// ordered are all sections, the largest first.
var ordered = []Section{Country, State, County, City, District, Locality, House}

// SectionOf is the section of an address rank.
func SectionOf(rank int) Section {
	switch {
	case rank <= RankCountry:
		return Country
	case rank < 10:
		return State
	case rank <= RankCounty:
		return County
	case rank <= RankCity:
		return City
	case rank < RankLocality:
		return District
	case rank < 25:
		return Locality
	}
	return House
}

// Sections are what the regions around something are in an address.
type Sections struct {
	Country, State, County, City, District string
}

// SectionsOf reads the regions around something, the smallest first. If a coarser
// layer has a section already, a region gets the next finer one: where provinces lie
// in regions, the regions are the states and the provinces the counties.
func SectionsOf(parents []names.Parent) (a Sections) {
	taken, from := -1, "" // the section of the coarser layer, and that layer
	for _, p := range slices.Backward(parents) {
		rank := RankOf(p.Type)
		if p.Type == from || rank >= RankLocality {
			continue // another of the same layer, or no part of an address
		}
		at := slices.Index(ordered, SectionOf(rank))
		if at <= taken {
			at = taken + 1
		}
		taken, from = at, p.Type
		if at < len(ordered) {
			a.set(ordered[at], p.Name)
		}
	}
	return a
}

// With returns the address with something of a rank in it. Its own section gets its
// name, and finer sections are left out.
func (a Sections) With(rank int, name string) Sections {
	own := slices.Index(ordered, SectionOf(rank))
	for i, s := range ordered {
		if i > own {
			a.set(s, "")
		}
	}
	a.set(ordered[own], name)
	return a
}

// set fills in a section.
func (a *Sections) set(s Section, name string) {
	switch s {
	case Country:
		a.Country = name
	case State:
		a.State = name
	case County:
		a.County = name
	case City:
		a.City = name
	case District:
		a.District = name
	}
}

// CountryOf returns the ISO 3166-1 alpha-2 code, in upper case, of the country in which
// a result lies, or "" if it is unknown. It prefers the code of the region whose name
// the address has. If no such region has a code, it uses the gazetteer's. The two may
// disagree about a territory.
func CountryOf(r *Result) string {
	if r.Kind == names.Region && r.Type == hierarchy.Country {
		return alpha2(r.Country, r.Code, r.ID)
	}
	for i := range r.Parents {
		if p := &r.Parents[i]; p.Type == hierarchy.Country {
			if code := alpha2(p.Code, p.ID); code != "" {
				return code
			}
		}
	}
	return alpha2(r.Country)
}

// alpha2 is the first of the texts that may be a country's code.
func alpha2(codes ...string) string {
	for _, code := range codes {
		code = strings.ToUpper(code)
		if len(code) == 2 && code[0] >= 'A' && code[0] <= 'Z' && code[1] >= 'A' && code[1] <= 'Z' {
			return code
		}
	}
	return ""
}
