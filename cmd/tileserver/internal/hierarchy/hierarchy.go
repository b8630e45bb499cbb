// Package hierarchy says what regions a place is in, and which place a point is told by. The
// map is right about a point: its regions are those whose polygons hold it. The source is
// right about a place: where its row denies what a coarse polygon says, the row counts. Rooms
// that name places with regions around them ask here; the codes of GeoNames' faces are found
// in package geonames.
package hierarchy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/places/search"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// Layers whose names say what they are.
const (
	Country = "country"
	State   = "state"
	County  = "county"
	zone    = "timezone" // whose regions are no part of an address
)

// waters are the names of layers whose regions hold points, but no places.
var waters = []string{"lake", "lakes", "water", "waters", "reservoir", "ocean", "sea"}

// municipalities are the names of layers whose regions are municipalities.
var municipalities = []string{"municipality", "municipalities", "commune", "communes", "gemeinde", "gemeinden", "gemeente", "gemeenten", "comune", "comuni", "municipio", "municipios", "lau", "city", "cities", "town", "towns"}

const (
	// manyRegions is from how many regions on the finest layer is taken for one of
	// municipalities, whatever its name. No country has as many counties.
	manyRegions = 10_000
	// coarseM is how far a border or a coast may be drawn from where it is, in metres. Coasts
	// of maps at 1:50,000,000 are up to 4.5 km off cities.
	coarseM = 5_000
	// fewNear is how many places near a point are looked at for those of its municipality, and
	// manyNear for one of its country and divisions, or for the city of a section.
	fewNear  = 20
	manyNear = 100
	// cityM is how far a section may be from its city, in metres.
	cityM = 25_000
)

// View is a generation of each data set that is asked. What is nil tells nothing. It may be
// used concurrently.
type View struct {
	Places     datasets.Places
	Names      datasets.Names
	Boundaries datasets.Boundaries
	Generation uint64 // of Boundaries
	Layers     *Layers
}

// Layers remembers what is told from the layers of a generation of boundaries. The zero
// value is ready; it may be used concurrently.
type Layers struct{ last atomic.Pointer[order] }

type order struct {
	generation uint64
	names      []string // of the layers, those of the smallest regions first
	municipal  []string // the layers of municipalities
	drawn      sync.Map // the names of the regions of countries, by code, "" for none

	mu     sync.Mutex
	states *states // nil until they are asked for
}

// states are what rows of places are compared with.
type states struct {
	// of are the ids of the states of each country that has some with codes of ISO 3166-2, by
	// folded name. That of a name that two have is "".
	of map[string]map[string]string
	// counties says that counties are drawn only where states are.
	counties bool
}

func (s *states) named(p *places.Hit) string {
	return s.of[p.Country][string(search.Fold(nil, p.Admin1Name))]
}

// drawn reports whether a country has states.
func (s *states) drawn(country string) bool { return s.of[country] != nil }

var errOther = errors.New("a county of another country")

// states reads the states, once in a generation and to the end: others wait for it.
func (v *View) states(ctx context.Context) (*states, error) {
	ctx = context.WithoutCancel(ctx)
	o := v.layers()
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.states != nil {
		return o.states, nil
	}
	all := &states{of: map[string]map[string]string{}, counties: true}
	if v.published(County) {
		err := v.Boundaries.EachRegion(ctx, County, "", false, func(id string, _, _ []byte) error {
			if !isFIPS(id) { // of the United States, whose states are those of the layer
				return errOther
			}
			return nil
		})
		if all.counties = err == nil; err != nil && !errors.Is(err, errOther) {
			return nil, err
		}
	}
	if !v.published(State) {
		o.states, all.counties = all, false
		return all, nil
	}
	err := v.Boundaries.EachRegion(ctx, State, "", false, func(id string, record, _ []byte) error {
		country, _ := Division(id)
		if country == "" {
			return nil
		}
		var is struct{ Name string }
		if err := json.Unmarshal(record, &is); err != nil {
			return err
		}
		if all.of[country] == nil {
			all.of[country] = map[string]string{}
		}
		name := string(search.Fold(nil, is.Name))
		if _, two := all.of[country][name]; two {
			id = ""
		}
		all.of[country][name] = id
		return nil
	})
	if err == nil {
		o.states = all
	}
	return all, err
}

func (v *View) layers() *order {
	if o := v.Layers.last.Load(); o != nil && o.generation == v.Generation {
		return o
	}
	types := slices.Clone(v.Boundaries.Types())
	slices.SortStableFunc(types, func(a, b tiles.TypeMeta) int { return cmp.Compare(size(&a), size(&b)) })
	o := &order{generation: v.Generation}
	for i := range types {
		t := &types[i]
		if t.Name != zone {
			o.names = append(o.names, t.Name)
		}
		if t.Regions >= manyRegions || slices.Contains(municipalities, strings.ToLower(t.Name)) {
			o.municipal = append(o.municipal, t.Name)
		}
	}
	v.Layers.last.Store(o)
	return o
}

// size is how large the regions of a layer are. Countries are the largest, though another
// layer may have larger regions.
func size(t *tiles.TypeMeta) float64 {
	if t.Name == Country {
		return math.MaxFloat64
	}
	return t.MeanExtent()
}

// Municipal reports whether the regions of a type are municipalities.
func (v *View) Municipal(typ string) bool {
	return v.Boundaries != nil && slices.Contains(v.layers().municipal, typ)
}

// At returns the regions at a point in degrees, the smallest first.
func (v *View) At(ctx context.Context, lat, lon float64) ([]names.Parent, error) {
	if v.Boundaries == nil {
		return nil, nil
	}
	at, err := v.Boundaries.At(ctx, lat, lon, v.layers().names...)
	if err != nil {
		return nil, err
	}
	return v.Parents(at), nil
}

// Parents is At of the regions that were found at a point.
func (v *View) Parents(at []tiles.Region) []names.Parent {
	if len(at) == 0 {
		return nil
	}
	list := make([]names.Parent, 0, len(at))
	for _, layer := range v.layers().names {
		for i := range at {
			if r := &at[i]; r.Type == layer {
				list = append(list, names.Parent{Type: r.Type, ID: r.ID, Name: r.Name})
			}
		}
	}
	return list
}

// Around leaves what is around a place or a smaller region of some regions at a point: of each
// type the smallest, since countries that overlap are not in each other, and no water. The
// list may be the same.
func Around(list []names.Parent) []names.Parent {
	drop := func(i int) bool { return isWater(list[i].Type) || i > 0 && list[i].Type == list[i-1].Type }
	for i := range list {
		if drop(i) {
			left := slices.Clone(list[:i])
			for j := i; j < len(list); j++ {
				if !drop(j) {
					left = append(left, list[j])
				}
			}
			return left
		}
	}
	return list
}

func isWater(layer string) bool { return slices.Contains(waters, strings.ToLower(layer)) }

// Of returns the regions that a place is in, the smallest first: those that hold it but for
// what its row denies. A country or state that the row names takes the place of one that it
// denies, and a state or county of a place off a coarse coast is the nearest.
func (v *View) Of(ctx context.Context, p *places.Hit) ([]names.Parent, error) {
	at, err := v.At(ctx, p.Lat, p.Lon)
	if err != nil || v.Boundaries == nil {
		return nil, err
	}
	r := &row{View: v, Hit: p, list: Around(at)}
	for _, level := range []func(context.Context) error{r.country, r.state, r.county} {
		if err := level(ctx); err != nil {
			return nil, err
		}
	}
	return r.list, nil
}

// row is a place whose regions are being found.
type row struct {
	*View
	*places.Hit
	list  []names.Parent // its own memory once moved is set
	moved bool           // a country or state was not that of the polygon
}

func (r *row) index(typ string) int {
	return slices.IndexFunc(r.list, func(p names.Parent) bool { return p.Type == typ })
}

// put replaces the region of a type, or removes it if there is none. What is finer is no
// part of the other region.
func (r *row) put(typ string, region *names.Parent) {
	order := r.layers().names
	rank := slices.Index(order, typ)
	had := r.index(typ) >= 0
	var list []names.Parent
	if region != nil {
		list = append(list, *region)
	}
	for _, p := range r.list {
		if other := slices.Index(order, p.Type); other > rank || other < rank && !had {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b names.Parent) int {
		return cmp.Compare(slices.Index(order, a.Type), slices.Index(order, b.Type))
	})
	r.list, r.moved = list, r.moved || had
}

// country has the row decide, if its country is drawn at all: some are drawn as a part of
// another.
func (r *row) country(ctx context.Context) error {
	i := r.index(Country)
	if i < 0 || r.Country == "" || len(r.list[i].ID) != len(r.Country) || strings.EqualFold(r.list[i].ID, r.Country) {
		return nil
	}
	name, err := r.drawn(ctx, r.Country)
	if name != "" {
		r.put(Country, &names.Parent{Type: Country, ID: strings.ToLower(r.Country), Name: name})
	}
	return err
}

// drawn is the name of the region of a country, "" where there is none.
func (v *View) drawn(ctx context.Context, code string) (string, error) {
	o := v.layers()
	if name, known := o.drawn.Load(code); known {
		return name.(string), nil
	}
	var is struct{ Name string }
	record, err := v.Boundaries.Region(ctx, Country, strings.ToLower(code), false)
	if err == nil {
		err = json.Unmarshal(record, &is)
	} else if errors.Is(err, tiles.ErrNotFound) || errors.Is(err, tiles.ErrUnknownType) {
		err = nil
	}
	if err == nil {
		o.drawn.Store(code, is.Name)
	}
	return is.Name, err
}

// state keeps the state that holds the place unless its row denies it, and looks for that of
// the row close by.
func (r *row) state(ctx context.Context) error {
	i := r.index(State)
	if !r.published(State) {
		return nil
	}
	all, err := r.states(ctx)
	if err != nil || i < 0 && !all.drawn(r.Country) {
		return err
	}
	is := Unknown
	if i >= 0 && !r.moved {
		is = all.in(&r.list[i], r.Hit)
		if _, iso := Division(r.list[i].ID); is == Yes || is == Unknown && (iso != "" || r.Admin1Name == "") {
			return nil // no state of the country has the name of the row's, or there is none
		}
	}
	near, err := r.near(ctx, State)
	if err != nil {
		return err
	}
	for j := range near {
		if all.in(&near[j], r.Hit) == Yes {
			r.put(State, &near[j])
			return nil
		}
	}
	switch {
	case i >= 0 && !r.moved && is == Unknown:
		return nil
	case i >= 0:
		r.put(State, nil)
		return nil
	}
	found, err := r.Boundaries.Nearest(ctx, r.Lat, r.Lon, coarseM, State)
	if err != nil || len(found) == 0 || found[0].Kind == tiles.MatchNone {
		return err
	}
	snapped := names.Parent{Type: State, ID: found[0].ID, Name: found[0].Name}
	if country, iso := Division(snapped.ID); iso != "" && country != r.Country || all.in(&snapped, r.Hit) == No {
		return nil
	}
	r.put(State, &snapped)
	return nil
}

// county is state for counties. It is looked for in the state.
func (r *row) county(ctx context.Context) error {
	i, state := r.index(County), r.index(State)
	if i < 0 && (state < 0 || r.Names == nil || !r.published(County)) {
		return nil
	}
	code, err := r.admin2(ctx, r.Hit)
	if err != nil {
		return err
	}
	if i >= 0 && !r.moved && inCounty(r.list[i].ID, r.Country, code) != No {
		return nil
	}
	var own, named []names.Parent
	if r.Names != nil && state >= 0 {
		near, err := r.near(ctx, County)
		if err != nil {
			return err
		}
		for _, c := range near {
			feature, known, err := r.Names.Feature(ctx, names.Number(names.Region, County, c.ID))
			if err != nil {
				return err
			}
			in := func(p names.Parent) bool { return p.Type == State && p.ID == r.list[state].ID }
			if !known || !slices.ContainsFunc(feature.Parents, in) {
				continue
			}
			switch inCounty(c.ID, r.Country, code) {
			case Yes:
				named = append(named, c)
			case Unknown:
				own = append(own, c)
			}
		}
	}
	switch {
	case len(named) == 1:
		r.put(County, &named[0])
	case len(named) == 0 && len(own) == 1:
		r.put(County, &own[0])
	case i >= 0:
		r.put(County, nil)
	}
	return nil
}

// admin2 is the code of the second-level division of a place, "" if its row has none.
func (v *View) admin2(ctx context.Context, p *places.Hit) (string, error) {
	if v.Places == nil {
		return "", nil
	}
	var record places.Record
	if err := v.Places.Record(ctx, p.ID, &record); err != nil {
		return "", datasets.Inside(err)
	}
	return record.Admin2, nil
}

func (v *View) published(typ string) bool { return slices.Contains(v.layers().names, typ) }

// near returns the regions of a type that are no farther from the place than the map is
// coarse.
func (r *row) near(ctx context.Context, typ string) ([]names.Parent, error) {
	north := coarseM / quadkey.EarthRadius * 180 / math.Pi
	east := min(north/max(math.Cos(r.Lat*math.Pi/180), 0.01), 90)
	box := quadkey.Box{West: wrap(r.Lon - east), South: max(r.Lat-north, -90), East: wrap(r.Lon + east), North: min(r.Lat+north, 90)}
	found, _, err := r.Boundaries.Within(ctx, tiles.WithinQuery{Box: box, Types: []string{typ}})
	if err != nil {
		return nil, err
	}
	list := make([]names.Parent, len(found))
	for i := range found {
		list[i] = names.Parent{Type: typ, ID: found[i].ID, Name: found[i].Name}
	}
	return list, nil
}

// wrap is a longitude within ±180°.
func wrap(lon float64) float64 {
	switch {
	case lon > 180:
		return lon - 360
	case lon < -180:
		return lon + 360
	}
	return lon
}
