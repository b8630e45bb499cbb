package geocoder

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

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
	at, err := f.regions.At(f.ctx, lat, lon)
	if err != nil || len(at) == 0 {
		return nil, err
	}
	list = make([]names.Parent, 0, len(at))
	for _, layer := range f.layers().names {
		for i := range at {
			if r := &at[i]; r.Type == layer && layer != zoneType {
				list = append(list, names.Parent{Type: r.Type, ID: r.ID, Name: r.Name})
			}
		}
	}
	return list, nil
}

// layers remembers what is told from the layers of a generation of regions.
type layers struct{ last atomic.Pointer[orderOfLayers] }

type orderOfLayers struct {
	generation uint64
	names      []string // of the layers, those of the smallest regions first
	municipal  []string // the layers of municipalities
}

// layers are those of the regions that are asked.
func (f *finding) layers() *orderOfLayers {
	l, generation := f.s.layers, f.s.regions.ID
	if o := l.last.Load(); o != nil && o.generation == generation {
		return o
	}
	types := f.regions.Types()
	slices.SortStableFunc(types, func(a, b tiles.TypeMeta) int { return cmp.Compare(size(&a), size(&b)) })
	o := &orderOfLayers{generation: generation}
	for i := range types {
		t := &types[i]
		o.names = append(o.names, t.Name)
		if t.Regions >= manyRegions || slices.Contains(municipalities, strings.ToLower(t.Name)) {
			o.municipal = append(o.municipal, t.Name)
		}
	}
	l.last.Store(o)
	return o
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
