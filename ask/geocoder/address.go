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

// layerRanks are the address ranks of layers of regions by their usual names.
var layerRanks = map[string]int{
	hierarchy.Country: RankCountry,
	"state":           RankState, "admin1": RankState, "province": RankState, "region": RankState - 2,
	hierarchy.County: RankCounty, "admin2": RankCounty, "district": RankCounty,
	"municipality": RankMunicipality, "commune": RankMunicipality, "gemeinde": RankMunicipality, "admin3": RankMunicipality,
	"city": RankCity, "town": RankCity, "village": RankCity, "admin4": RankCity,
	"borough": RankBorough, "suburb": RankHamlet,
}

// orderRanks are the ranks of all other layers, indexed by the number of coarser layers below
// countries.
var orderRanks = [...]int{RankState, RankCounty, RankMunicipality, RankCity, RankBorough, RankHamlet}

// RankOf returns the address rank of a region. around are the regions around it, the smallest
// first.
func RankOf(layer string, around []names.Parent) int {
	if rank := layerRanks[layer]; rank > 0 {
		return rank
	}
	layers := 0
	for i := range around {
		if around[i].Type != hierarchy.Country && (i == 0 || around[i].Type != around[i-1].Type) {
			layers++
		}
	}
	return orderRanks[min(layers, len(orderRanks)-1)]
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
	for i, p := range slices.Backward(parents) {
		if p.Type == from {
			continue // another of the same layer
		}
		at := slices.Index(ordered, SectionOf(RankOf(p.Type, parents[i+1:])))
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
