package hierarchy

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/singleflight"

	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
	"quadrille/tiles"
)

// Layers caches what the package derives from the layers of a generation of boundaries and places.
// The zero value is ready. It may be used concurrently.
type Layers struct {
	last      atomic.Pointer[order]
	of        kept[[]names.Parent]
	cities    kept[city]
	divisions kept[divisions]
	claimed   kept[bool]

	great        [2]atomic.Pointer[greatCities]
	readingGreat singleflight.Group
}

type order struct {
	generation uint64
	names      []string // the layers, beginning with the smallest regions
	addressed  []string // those of names whose regions are parts of addresses
	municipal  []string // the layers of municipalities
	drawn      sync.Map // the names of the regions of countries, by code, "" for none

	reading sync.Mutex             // held while states are read
	states  atomic.Pointer[states] // nil until they are needed
}

// states are the states with which rows of places are compared.
type states struct {
	// of has the ids of the states of each country, by folded name. A name that two states share
	// has "".
	of  map[string]map[string]string
	ids map[string]bool
	// counties is set if every county lies in a state.
	counties bool
}

func (s *states) named(p *places.Hit) string {
	return s.of[p.Country][string(search.Fold(nil, p.Admin1Name))]
}

// drawn reports whether a country has states on the map.
func (s *states) drawn(country string) bool { return s.of[country] != nil }

var errOther = errors.New("a county of another country")

// states returns the states. It reads them once per generation and completely, while other callers
// wait.
func (v *View) states(ctx context.Context) (*states, error) {
	o := v.layers()
	if all := o.states.Load(); all != nil {
		return all, nil
	}
	ctx = context.WithoutCancel(ctx)
	o.reading.Lock()
	defer o.reading.Unlock()
	if all := o.states.Load(); all != nil {
		return all, nil
	}
	all := &states{of: map[string]map[string]string{}, ids: map[string]bool{}, counties: true}
	if v.published(County) {
		err := v.regions(ctx, County, nil, func(c *feature.Feature) error {
			if !isFIPS(c.ID) { // of the United States, whose states are those of the layer
				return errOther
			}
			return nil
		})
		if all.counties = err == nil; err != nil && !errors.Is(err, errOther) {
			return nil, err
		}
	}
	if !v.published(State) {
		all.counties = false
		o.states.Store(all)
		return all, nil
	}
	err := v.regions(ctx, State, nil, func(s *feature.Feature) error {
		id := s.ID
		all.ids[id] = true
		country, _ := Division(id)
		if country = cmp.Or(country, countryOf(s)); country == "" {
			return nil
		}
		if all.of[country] == nil {
			all.of[country] = map[string]string{}
		}
		name := string(search.Fold(nil, s.Name()))
		if _, two := all.of[country][name]; two {
			id = ""
		}
		all.of[country][name] = id
		return nil
	})
	if err != nil {
		return nil, err
	}
	o.states.Store(all)
	return all, nil
}

// countryOf returns the country in a region's source, or "" if there is none. The case of the
// property's name does not matter, because some sources write COUNTRY.
func countryOf(region *feature.Feature) (country string) {
	for name, v := range region.Properties.All() {
		if strings.EqualFold(name, "country") && v.Kind() == feature.Text {
			country = cmp.Or(country, v.Text())
		}
	}
	return country
}

// regions calls fn with the regions of a type in an area, without their geometry.
func (v *View) regions(ctx context.Context, typ string, in feature.Area, fn func(*feature.Feature) error) error {
	l, err := v.Boundaries.Layer(typ)
	if err != nil {
		return err
	}
	return feature.Each(l.Features(ctx, &feature.Query{In: in, Detail: feature.WithoutGeometry}), fn)
}

func (v *View) layers() *order {
	if o := v.Layers.last.Load(); o != nil && o.generation == v.Generations.Boundaries {
		return o
	}
	types := slices.Clone(v.Boundaries.Types())
	slices.SortStableFunc(types, func(a, b tiles.TypeMeta) int { return cmp.Compare(size(&a), size(&b)) })
	o := &order{generation: v.Generations.Boundaries}
	for i := range types {
		t := &types[i]
		if t.Name != zone {
			o.names = append(o.names, t.Name)
			if addressed(t.Name) {
				o.addressed = append(o.addressed, t.Name)
			}
		}
		if t.Regions >= manyRegions || municipal(t.Name) {
			o.municipal = append(o.municipal, t.Name)
		}
	}
	v.Layers.last.Store(o)
	return o
}

// size returns the mean size of the regions of a layer. Countries count as the largest, even if
// another layer has larger regions.
func size(t *tiles.TypeMeta) float64 {
	if t.Name == Country {
		return math.MaxFloat64
	}
	return t.MeanExtent()
}
