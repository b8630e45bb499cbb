package hierarchy

import (
	"bytes"
	"regexp"
	"strings"

	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
)

// verdict is what codes and names tell about a place and a region.
type verdict int

const (
	unknown verdict = iota // they have nothing in common
	yes
	no
)

// stateID is the id of a region of type state that has an ISO 3166-2 code.
var stateID = regexp.MustCompile(`^[a-z]{2}-[a-z0-9]{1,3}$`)

// Division returns the country of a region of type state with an ISO 3166-2 code for its id,
// and what follows it in the code: US and MI of us-mi. Both are "" of others.
func Division(state string) (country, iso string) {
	if !stateID.MatchString(state) {
		return "", ""
	}
	country, iso, _ = strings.Cut(strings.ToUpper(state), "-")
	return country, iso
}

// inCountry tells whether a place is in a country by the code of its row.
func inCountry(id string, p *places.Hit) verdict {
	if len(id) != 2 || p.Country == "" {
		return unknown
	}
	return yesOrNo(strings.EqualFold(id, p.Country))
}

// inState tells whether a place is in a state by the codes of its row, by the code that the rows
// of the state's other places have, or else by the name of its first-level division.
func (v *View) inState(s *states, state *names.Parent, p *places.Hit) verdict {
	country, iso := Division(state.ID)
	if iso != "" && p.Country != "" && country != p.Country {
		return yesOrNo(iso == p.Country) // us-pr, with a code of a country of its own
	}
	if p.Admin1 == "" {
		return unknown
	}
	if own, known := places.ISODivision(p.Country, p.Admin1); known && own != "" && iso != "" && p.Country != "GB" && (own == iso || s.ids[strings.ToLower(p.Country+"-"+own)]) {
		return yesOrNo(own == iso)
	}
	code := v.Division(state.ID)
	if own := p.Country + "." + p.Admin1; v.Names != nil {
		switch only, known := v.Names.State(own); {
		case only != "":
			return yesOrNo(only == state.ID)
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
		return no // the name is another's
	}
	return unknown
}

// Division is GeoNames' code of the first-level division that a state is, or a part of, such
// as FR.76, by the rows of its places; "" where they do not agree.
func (v *View) Division(state string) string {
	if v.Names == nil {
		return ""
	}
	return v.Names.Division(state)
}

// CountryOf is the code of the country that a state or county is in, "" where it is unknown. A
// territory's may be its own.
func (v *View) CountryOf(r *names.Parent) string {
	switch {
	case r.Type == County && isFIPS(r.ID) && r.ID < "60": // from which on territories have theirs
		return "US"
	case r.Type != State:
		return ""
	}
	if country, _ := Division(r.ID); country != "" {
		return country
	}
	country, _, _ := strings.Cut(v.Division(r.ID), ".")
	return country
}

// inCounty tells whether a county has the code of a second-level division of a country. Ids of
// counties of the United States are the two digits of the state and the three that GeoNames
// has; others are compared as they are.
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

// countyCode is GeoNames' code of a county of a country with an id, known in the United States.
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

// alike reports whether one name is the other, or that with words around it, without regard to
// case and accents.
func alike(a, b string) bool {
	x := append(search.Fold([]byte{' '}, a), ' ')
	y := append(search.Fold([]byte{' '}, b), ' ')
	return len(x) > 2 && len(y) > 2 && (bytes.Contains(x, y) || bytes.Contains(y, x))
}
