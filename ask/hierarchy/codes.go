package hierarchy

import (
	"bytes"
	"regexp"
	"strings"

	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
)

// verdict says whether a place is in a region, judged by codes and names.
type verdict int

const (
	unknown verdict = iota // nothing can be compared
	yes
	no
)

// stateID is the id of a region of type state that has an ISO 3166-2 code.
var stateID = regexp.MustCompile(`^[a-z]{2}-[a-z0-9]{1,3}$`)

// Division splits the id of a region of type state that is an ISO 3166-2 code into the
// country and the rest: us-mi into US and MI. Both are "" for any other region.
func Division(state string) (country, iso string) {
	if !stateID.MatchString(state) {
		return "", ""
	}
	country, iso, _ = strings.Cut(strings.ToUpper(state), "-")
	return country, iso
}

// inCountry decides by the code in a place's row whether the place is in a country.
func inCountry(id string, p *places.Hit) verdict {
	if len(id) != 2 || p.Country == "" {
		return unknown
	}
	return yesOrNo(strings.EqualFold(id, p.Country))
}

// inState decides whether a place is in a state. It compares the codes of the row, or else the code
// in the rows of the state's other places, or else the name of the first-level division.
func (v *View) inState(s *states, state *names.Parent, p *places.Hit) verdict {
	country, iso := Division(state.ID)
	if iso != "" && p.Country != "" && country != p.Country {
		return yesOrNo(iso == p.Country) // such as us-pr, which has a country code of its own
	}
	if p.Admin1 == "" {
		return unknown
	}
	if own, known := places.ISODivision(p.Country, p.Admin1); known && own != "" && iso != "" && p.Country != "GB" &&
		(own == iso || s.ids[strings.ToLower(p.Country+"-"+own)]) {
		return yesOrNo(own == iso)
	}
	code := v.Admin1Code(state.ID)
	if own := p.Country + "." + p.Admin1; v.Names != nil {
		switch only, known := v.Names.StateID(own); {
		case only != "":
			return yesOrNo(feature.SameRegionID(only, state.ID))
		case known && (code == "" || code == own):
			return unknown // it may be in another part of the division
		case known:
			return no
		}
	}
	switch {
	case EqualNames(p.Admin1Name, state.Name):
		return yes
	case code != "":
		return no
	}
	if s.named(p) != "" && iso != "" {
		return no // the name is that of another state
	}
	return unknown
}

// Admin1Code returns GeoNames' code of the first-level division that a state is, or is a part
// of, such as FR.76. It follows the rows of the state's places and is "" if they do not
// agree.
func (v *View) Admin1Code(state string) string {
	if v.Names == nil {
		return ""
	}
	return v.Names.Admin1Code(state)
}

// CountryOf returns the code of the country of a state or county, or "" if it is unknown. A
// territory may have a code of its own.
func (v *View) CountryOf(r *names.Parent) string {
	switch {
	case r.Type == County && isFIPS(r.ID) && r.ID < "60": // from 60 on, territories have codes of their own
		return "US"
	case r.Type != State:
		return ""
	}
	if country, _ := Division(r.ID); country != "" {
		return country
	}
	country, _, _ := strings.Cut(v.Admin1Code(r.ID), ".")
	return country
}

// inCounty decides whether a county has the code of a second-level division of a country. In the
// United States the id of a county is the two digits of the state and the three digits of GeoNames'
// code. Other ids are compared as they are.
func inCounty(id, country, admin2 string) verdict {
	code, known := countyCode(id, country)
	switch {
	case admin2 == "":
		return unknown
	case known:
		return yesOrNo(code == admin2)
	case strings.EqualFold(id, admin2):
		return yes
	}
	return unknown
}

// countyCode returns GeoNames' code of the county with the given id. It is known in the United
// States only.
func countyCode(id, country string) (code string, known bool) {
	if country != "US" || !isFIPS(id) {
		return "", false
	}
	return id[2:], true
}

func isFIPS(id string) bool {
	return len(id) == 5 && strings.Trim(id, "0123456789") == ""
}

func yesOrNo(is bool) verdict {
	if is {
		return yes
	}
	return no
}

// EqualNames compares names without regard to case and accents.
func EqualNames(a, b string) bool {
	x, y := search.Fold(nil, a), search.Fold(nil, b)
	return len(x) > 0 && bytes.Equal(x, y)
}

// alike reports whether two names are equal, or one is the other with words around it. It ignores
// case and accents.
func alike(a, b string) bool {
	x := append(search.Fold([]byte{' '}, a), ' ')
	y := append(search.Fold([]byte{' '}, b), ' ')
	return len(x) > 2 && len(y) > 2 && (bytes.Contains(x, y) || bytes.Contains(y, x))
}
