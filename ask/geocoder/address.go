package geocoder

import (
	"slices"
	"strings"

	"quadrille/ask/hierarchy"
	"quadrille/places/names"
)

// These are address ranks as in Nominatim: the larger the region, the smaller the rank.
const (
	RankCountry      = 4
	RankState        = 8
	RankCounty       = 12
	RankMunicipality = 14
	RankCity         = 16
	RankBorough      = 18
	RankHamlet       = 20
	RankLocality     = 22
	RankMax          = 30
)

// ranks are the address ranks of kinds of layers. Other kinds are no part of an address.
var ranks = map[hierarchy.Kind]int{
	hierarchy.Countries: RankCountry, hierarchy.Groups: RankState - 2, hierarchy.States: RankState, hierarchy.Counties: RankCounty,
	hierarchy.Municipalities: RankMunicipality, hierarchy.Cities: RankCity, hierarchy.Boroughs: RankBorough, hierarchy.Quarters: RankHamlet,
}

// RankOf returns the address rank of the regions of a layer. For lakes, seas, continents and layers
// of unknown kinds it is RankLocality: none of these is a country or a part of one.
func RankOf(layer string) int {
	if rank := ranks[hierarchy.KindOf(layer)]; rank > 0 {
		return rank
	}
	return RankLocality
}

// AddressLevel is a part of an address. Its values are the names in GeocodeJSON and Photon.
type AddressLevel string

// These are the levels of an address, the largest first.
const (
	Country  AddressLevel = "country"
	State    AddressLevel = "state"    // first-level division
	County   AddressLevel = "county"   // second-level division
	City     AddressLevel = "city"     // city, town or village
	District AddressLevel = "district" // part of a city
	Locality AddressLevel = "locality" // smaller place, such as a hamlet or a quarter
	House    AddressLevel = "house"    // single thing, such as a building or an airport
)

// ordered lists all levels, the largest first.
var ordered = []AddressLevel{Country, State, County, City, District, Locality, House}

// LevelOf returns the level of an address rank.
func LevelOf(rank int) AddressLevel {
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

// AddressNames are the names of the regions around something, by their levels in an address.
type AddressNames struct {
	Country, State, County, City, District string
}

// AddressNamesOf assigns levels to the regions around something, the smallest first. If a coarser
// layer has taken a level, a region gets the next finer one: where provinces lie in regions, the
// regions are the states and the provinces the counties.
func AddressNamesOf(parents []names.Parent) (a AddressNames) {
	taken, from := -1, "" // the level of the coarser layer, and that layer
	for _, p := range slices.Backward(parents) {
		rank := RankOf(p.Type)
		if p.Type == from || rank >= RankLocality {
			continue // another of the same layer, or no part of an address
		}
		at := slices.Index(ordered, LevelOf(rank))
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

// WithOwnName returns the address of something with the given rank and name. Its own level gets the
// name, and finer levels are empty.
func (a AddressNames) WithOwnName(rank int, name string) AddressNames {
	own := slices.Index(ordered, LevelOf(rank))
	for i, s := range ordered {
		if i > own {
			a.set(s, "")
		}
	}
	a.set(ordered[own], name)
	return a
}

// set fills in a level.
func (a *AddressNames) set(s AddressLevel, name string) {
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

// CountryOf returns the ISO 3166-1 alpha-2 code, in upper case, of the country in which a result
// lies, or "" if it is unknown. It prefers the code of the region that gives the address its
// country. If no such region has a code, it uses the gazetteer's. The two may disagree about a
// territory.
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

// alpha2 returns the first of the codes that has the form of a country code.
func alpha2(codes ...string) string {
	for _, code := range codes {
		code = strings.ToUpper(code)
		if len(code) == 2 && code[0] >= 'A' && code[0] <= 'Z' && code[1] >= 'A' && code[1] <= 'Z' {
			return code
		}
	}
	return ""
}
