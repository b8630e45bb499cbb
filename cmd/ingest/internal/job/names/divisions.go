package names

import (
	"errors"
	"slices"
	"strings"

	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
)

// seat is the largest place of a division.
type seat struct {
	lat, lon float64
	people   int64
}

// countDivision adds the population of a place to that of its first-level division.
func (n *namer) countDivision(h *places.Hit) {
	if h.Country == "" || h.Admin1 == "" {
		return
	}
	code := h.Country + "." + h.Admin1
	n.people[regionID{names.Admin1Type, code}] += uint64(h.Population)
	if h.Population > n.seats[code].people {
		n.seats[code] = seat{h.Lat, h.Lon, h.Population}
	}
}

// note records the countries of a feature.
func (n *namer) note(f *names.Feature) {
	switch {
	case f.Kind != names.Region || f.Type == names.Admin1Type || f.Country == "" && f.Code == "":
	case f.Type == countryType:
		n.countries[f.Country] = names.Parent{Type: f.Type, ID: f.ID, Name: f.Name}
	case strings.Contains(f.Code, "-"):
		n.divided[f.Code[:strings.IndexByte(f.Code, '-')]] = true
	case f.Type == stateType:
		n.divided[f.Country] = true
	}
}

// readDivisions yields the gazetteer's first-level divisions without a region in any layer. These
// are divisions of countries without drawn divisions, and of countries that have only their parts
// drawn, such as the départements of Île-de-France. A division that is also a place is found as
// the place. A division has the position of its largest place; one without places is left out.
func (n *namer) readDivisions(take func(names.Feature) error) error {
	if n.places == nil {
		return nil
	}
	parts := map[string]int{}
	for _, code := range n.divisions() {
		parts[code]++
	}
	var hit places.Hit
	for _, d := range n.places.Divisions() {
		country, _, _ := strings.Cut(d.Code, ".")
		seat, settled := n.seats[d.Code]
		if n.divided[country] && parts[d.Code] < 2 || !settled {
			continue
		}
		if err := n.places.Hit(n.ctx, d.ID, &hit); !errors.Is(err, places.ErrNotFound) {
			if err != nil {
				return err
			}
			continue
		}
		f := names.Feature{
			Kind: names.Region, Type: names.Admin1Type, ID: d.Code, Name: d.Name, Country: country, Lat: seat.lat, Lon: seat.lon,
			PlacesPopulation: n.people[regionID{names.Admin1Type, d.Code}], Level: 1,
		}
		if err := n.divisionNames(&f, d.ASCIIName); err != nil {
			return err
		}
		parent, known := n.countries[country]
		if !known {
			c, err := n.places.Country(n.ctx, country)
			if err != nil && !errors.Is(err, places.ErrNoCode) {
				return err
			}
			parent = names.Parent{Type: countryType, ID: strings.ToLower(country), Name: c.Name}
		}
		if parent.Name != "" {
			f.Parents = []names.Parent{parent}
		}
		if err := take(f); err != nil {
			return err
		}
	}
	return nil
}

// divisionNames gives a division its code and its other names.
func (n *namer) divisionNames(f *names.Feature, ascii string) error {
	addISONames(f)
	if ascii != "" && ascii != f.Name {
		f.Names = append(f.Names, search.Name{Text: ascii})
	}
	list, err := n.places.DivisionNames(n.ctx, f.ID)
	if err != nil {
		return err
	}
	for _, a := range list[:min(len(list), maxOtherNames)] {
		f.Names = append(f.Names, search.Name{
			Text:       a.Name,
			Lang:       strings.ToLower(a.Lang),
			Preferred:  a.Preferred,
			Short:      a.Short,
			Historic:   a.Historic,
			Colloquial: a.Colloquial,
		})
	}
	return nil
}

// addISONames adds the code and the known names of a first-level division, looked up by its own
// code or else by one of its names. It adds to a country the known names for its code.
func addISONames(f *names.Feature) {
	country := f.Country
	if of, _, ok := strings.Cut(f.Code, "-"); ok && country == "" {
		country = of
	}
	by := []string{f.Code, f.Name}
	for _, n := range f.Names {
		if n.Lang == "" {
			by = append(by, n.Text)
		}
	}
	for _, known := range by {
		code, list := places.ISONames(country, known)
		if code == "" {
			continue
		}
		if f.Code == "" {
			f.Code = code
			addCodes(f, code)
		}
		for _, name := range list {
			// The former names of a country are not shown.
			add := search.Name{Text: name, Historic: f.Type == countryType}
			if name != f.Name && !slices.ContainsFunc(f.Names, func(o search.Name) bool { return o.Text == name && o.Lang == "" }) {
				f.Names = append(f.Names, add)
			}
		}
		return
	}
}
