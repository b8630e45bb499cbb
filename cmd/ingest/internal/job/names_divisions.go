package job

import (
	"errors"
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

// countDivision counts the people of a place for its first-level division.
func (n *namer) countDivision(h *places.Hit) {
	if h.Country == "" || h.Admin1 == "" {
		return
	}
	code := h.Country + "." + h.Admin1
	n.people[regionID{names.Division, code}] += uint64(h.Population)
	if h.Population > n.seats[code].people {
		n.seats[code] = seat{h.Lat, h.Lon, h.Population}
	}
}

// note remembers what a feature tells of countries.
func (n *namer) note(f *names.Feature) {
	switch {
	case f.Kind != names.Region || f.Type == names.Division || f.Country == "" && f.Code == "":
	case f.Type == countryType:
		n.countries[f.Country] = names.Parent{Type: f.Type, ID: f.ID, Name: f.Name}
	case strings.Contains(f.Code, "-"):
		n.divided[f.Code[:strings.IndexByte(f.Code, '-')]] = true
	case f.Type == stateType:
		n.divided[f.Country] = true
	}
}

// readDivisions yields the first-level divisions that the gazetteer names, of countries whose
// divisions no layer has. One that is a place itself is found as that. Where it lies is told by
// its largest place; one without places is left out.
func (n *namer) readDivisions(take func(names.Feature) error) error {
	if n.places == nil {
		return nil
	}
	var hit places.Hit
	for _, d := range n.places.Divisions() {
		country, _, _ := strings.Cut(d.Code, ".")
		seat, settled := n.seats[d.Code]
		if n.divided[country] || !settled {
			continue
		}
		if err := n.places.Hit(n.ctx, d.ID, &hit); !errors.Is(err, places.ErrNotFound) {
			if err != nil {
				return err
			}
			continue
		}
		f := names.Feature{
			Kind: names.Region, Type: names.Division, ID: d.Code, Name: d.Name, Country: country, Lat: seat.lat, Lon: seat.lon,
			People: n.people[regionID{names.Division, d.Code}], Level: 1,
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
	code, known := places.DivisionNames(f.Country, f.Name)
	if f.Code = code; code != "" {
		f.Names = append(f.Names, search.Name{Text: code, Lang: search.Code})
	}
	for _, name := range append(known[:len(known):len(known)], ascii) {
		if name != "" && name != f.Name {
			f.Names = append(f.Names, search.Name{Text: name})
		}
	}
	list, err := n.places.DivisionNames(n.ctx, f.ID)
	if err != nil {
		return err
	}
	for _, a := range list[:min(len(list), maxOtherNames)] {
		f.Names = append(f.Names, search.Name{Text: a.Name, Lang: strings.ToLower(a.Lang), Preferred: a.Preferred, Short: a.Short, Historic: a.Historic, Colloquial: a.Colloquial})
	}
	return nil
}
