package geocoder

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/tiles"
)

func itoa(id uint32) string { return strconv.FormatUint(uint64(id), 10) }

// zoneType is the layer whose regions are no part of an address.
const zoneType = "timezone"

// labelSeeks are the most that the label of a result takes: the regions around, its own
// name and theirs in languages, which may be those of a country (zh-Hant-TW).
func (f *finding) labelSeeks() int {
	layers, parts := 0, 0
	if f.regions != nil {
		layers = len(f.regions.Types())
	}
	for _, lang := range f.q.Langs {
		parts += 1 + strings.Count(lang, "-")
	}
	return layers + (layers+2)*parts + 1
}

// label gives the results their parents and labels. Results that the budget does not pay
// for are left out.
func (f *finding) label() error {
	each := f.labelSeeks()
	for i := range f.found {
		if !f.budget.Take(each) {
			f.found = f.found[:i]
			break
		}
		r := &f.found[i]
		if r.Kind == Place || r.Kind == Position {
			var err error
			if r.Parents, err = f.Parents(r.Lat, r.Lon); err != nil {
				return err
			}
		}
		if err := f.complete(r); err != nil {
			return err
		}
		if err := f.localize(r); err != nil {
			return err
		}
		r.Label = Label(cmp.Or(r.Title, r.Name), r.Parents)
	}
	return nil
}

// Parents returns the regions at a point, the smallest first.
func (f *finding) Parents(lat, lon float64) (list []names.Parent, err error) {
	if f.regions == nil {
		return nil, nil
	}
	types := f.regions.Types()
	slices.SortStableFunc(types, func(a, b tiles.TypeMeta) int { return cmp.Compare(size(&a), size(&b)) })
	at, err := f.regions.At(f.ctx, lat, lon)
	if err != nil {
		return nil, err
	}
	for i := range types {
		for _, r := range at {
			if r.Type == types[i].Name && r.Type != zoneType {
				list = append(list, names.Parent{Type: r.Type, ID: r.ID, Name: r.Name})
			}
		}
	}
	return list, nil
}

// size is how large the regions of a layer are. Countries are the largest, though another
// layer may have larger regions.
func size(t *tiles.TypeMeta) float64 {
	if t.Name == countryType {
		return math.MaxFloat64
	}
	return t.MeanExtent()
}

// Layers whose names say what they are.
const (
	countryType = "country"
	countyType  = "county"
)

// complete adds the country of a result, and the division that the source of a place names,
// where no region does.
func (f *finding) complete(r *Result) error {
	if f.places == nil || r.Type == countryType {
		return nil
	}
	has := func(typ string) bool {
		return slices.ContainsFunc(r.Parents, func(p names.Parent) bool { return p.Type == typ })
	}
	if name := r.Place.Admin1Name; name != "" && len(r.Parents) < 2 {
		r.Parents = slices.Insert(r.Parents, 0, names.Parent{Type: "admin1", ID: r.Place.Admin1, Name: name})
	}
	if r.Country == "" || has(countryType) {
		return nil
	}
	country, err := f.places.Country(f.ctx, r.Country)
	if errors.Is(err, places.ErrNoCode) {
		return nil
	}
	if err != nil {
		return datasets.Inside(err)
	}
	r.Parents = append(r.Parents, names.Parent{Type: countryType, ID: strings.ToLower(r.Country), Name: country.Name})
	return nil
}

// Label is a name with the two coarsest regions around it: "Portland, Oregon, United
// States". A region that is called like the one before is left out.
func Label(name string, parents []names.Parent) string {
	label := name
	last := name
	for _, p := range parents[max(len(parents)-2, 0):] {
		if p.Name != "" && p.Name != last {
			if label != "" {
				label += ", "
			}
			label += p.Name
			last = p.Name
		}
	}
	return label
}
