package geocoder

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"quadrille/ask"
	"quadrille/ask/hierarchy"
	"quadrille/internal/lang"
	"quadrille/places"
	"quadrille/places/names"
)

func itoa(id uint32) string { return strconv.FormatUint(uint64(id), 10) }

// labelSeeks bounds the seeks for the label of a result: the regions around it, its own name and
// theirs in each language. A language may have parents: zh-TW has.
func (f *finding) labelSeeks() int {
	layers, parts := 0, 0
	if f.regions != nil {
		layers = len(f.regions.Types())
	}
	for _, code := range f.q.Langs {
		parts += len(lang.FallbackChain(code))
	}
	return layers + (layers+2)*parts + 1 + hierarchySeeks
}

// hierarchySeeks bounds the seeks to replace the state or county that the map has at a place, and
// to find the city of a section.
const hierarchySeeks = 30

// label sets the parents and labels of the results. It drops results that exceed the budget.
func (f *finding) label() error {
	each := f.labelSeeks()
	for i := range f.found {
		if !f.budget.Take(each) {
			f.found = f.found[:i]
			break
		}
		r := &f.found[i]
		var err error
		switch r.Kind {
		case Place:
			r.Parents, err = f.view.ParentsOf(f.ctx, &r.Place)
		case Position:
			r.Parents, err = f.view.AddressAt(f.ctx, r.Lat, r.Lon)
		default:
			r.Parents, err = f.view.AddressRegions(f.ctx, r.Parents, r.Country)
		}
		if err != nil {
			return err
		}
		if err := f.describe(r); err != nil {
			return err
		}
	}
	return nil
}

// describe completes the parents of a result, and sets its names in the query's languages and its
// label. The parents must be the result's own.
func (f *finding) describe(r *Result) error {
	if err := f.complete(r); err != nil {
		return err
	}
	if err := f.localise(r); err != nil {
		return err
	}
	if err := f.city(r); err != nil {
		return err
	}
	if r.Country != "" && r.Type != hierarchy.Country {
		r.Country = CountryOf(r) // the same as in the label
	}
	r.Label = Label(cmp.Or(r.Title, r.Name), r.Parents)
	return nil
}

// city adds the city of a section if no municipality is drawn around it.
func (f *finding) city(r *Result) error {
	if r.Kind != Place || f.places == nil || slices.ContainsFunc(r.Parents,
		func(p names.Parent) bool { return f.view.IsMunicipal(p.Type) }) {
		return nil
	}
	hit, ok, err := f.view.City(f.ctx, &r.Place)
	if err != nil || !ok {
		return err
	}
	of := placeResult(Result{Place: hit})
	if err := f.placeName(&of); err != nil {
		return err
	}
	r.Parents = slices.Insert(slices.Clip(r.Parents), 0, names.Parent{Type: cityType, ID: of.ID, Name: of.Name})
	return nil
}

// cityType is the type of the parent that is the city of a section.
const cityType = "city"

// complete adds the division and country from a result's source if no region gives them. It drops
// regions without a name.
func (f *finding) complete(r *Result) (err error) {
	if r.Parents, err = f.view.DropUnnamed(f.ctx, r.Parents); err != nil {
		return err
	}
	if f.places == nil || r.Type == hierarchy.Country {
		return nil
	}
	has := func(typ string) bool {
		return slices.ContainsFunc(r.Parents, func(p names.Parent) bool { return p.Type == typ })
	}
	r.Parents = hierarchy.WithDivision(&r.Place, r.Parents)
	if r.Country == "" || has(hierarchy.Country) {
		return nil
	}
	country, err := f.places.Country(f.ctx, r.Country)
	if errors.Is(err, places.ErrNoCode) {
		return nil
	}
	if err != nil {
		return ask.NotFoundAsDamage(err)
	}
	r.Parents = append(r.Parents, names.Parent{Type: hierarchy.Country, ID: strings.ToLower(r.Country), Name: country.Name})
	return nil
}

// Label returns a name with the two coarsest regions around it: "Portland, Oregon, United States".
// It leaves out a region with the same name as the one before.
func Label(name string, parents []names.Parent) string {
	var memory [128]byte
	label := append(memory[:0], name...)
	last := name
	for i := max(len(parents)-2, 0); i < len(parents); i++ {
		if next := parents[i].Name; next != "" && next != last {
			if len(label) > 0 {
				label = append(label, ", "...)
			}
			label = append(label, next...)
			last = next
		}
	}
	if len(label) == len(name) {
		return name
	}
	return string(label)
}
