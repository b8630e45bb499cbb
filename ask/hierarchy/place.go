package hierarchy

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"

	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// find computes the result of ParentsOf. If the row contradicts a country or state and names
// another, that one replaces it. A place off a coarse coast gets the nearest state or county.
func (v *View) find(ctx context.Context, p *places.Hit) ([]names.Parent, error) {
	at, err := v.AddressAt(ctx, p.Lat, p.Lon)
	if err != nil {
		return nil, err
	}
	r := &row{View: v, Hit: p, list: at}
	for _, level := range []func(context.Context) error{r.country, r.state, r.county} {
		if err := level(ctx); err != nil {
			return nil, err
		}
	}
	return r.list, nil
}

// AddressRegions returns the regions around a feature of the index of names, given those that hold
// it: see the function AddressRegions. The code in its source determines the feature's country, as
// for a place.
func (v *View) AddressRegions(ctx context.Context, list []names.Parent, country string) ([]names.Parent, error) {
	r := &row{View: v, Hit: &places.Hit{Country: country}, list: AddressRegions(list)}
	if v.Boundaries == nil {
		return r.list, nil
	}
	err := r.country(ctx)
	return r.list, err
}

// row is a place and its regions while they are being found.
type row struct {
	*View
	*places.Hit
	list  []names.Parent // its own memory once moved is set
	moved bool           // the row has replaced the polygon's country or state
}

func (r *row) index(typ string) int { return index(r.list, typ) }

// index returns the position of the first region of a type in a list, or -1.
func index(list []names.Parent, typ string) int {
	return slices.IndexFunc(list, func(p names.Parent) bool { return p.Type == typ })
}

// put replaces the region of a type, or removes it for nil. If there was one, it also removes the
// finer regions, because they are not parts of the new one.
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

// country sets the country of the row, if the map draws that country. The map draws some countries
// as a part of another.
func (r *row) country(ctx context.Context) error {
	i := r.index(Country)
	if i < 0 || r.CountryByMap || r.Country == "" || strings.EqualFold(r.list[i].ID, r.Country) {
		return nil
	}
	name, err := r.drawn(ctx, r.Country)
	if name != "" {
		r.put(Country, &names.Parent{Type: Country, ID: strings.ToLower(r.Country), Name: name})
	}
	return err
}

// drawn returns the name of the region of a country, or "" if the map has none.
func (v *View) drawn(ctx context.Context, code string) (string, error) {
	o := v.layers()
	if name, known := o.drawn.Load(code); known {
		return name.(string), nil
	}
	var is struct{ Name string }
	record, err := v.Boundaries.Region(ctx, Country, strings.ToLower(code), false)
	if err == nil {
		if err = json.Unmarshal(record, &is); err == nil && is.Name == "" {
			is.Name, err = v.countryName(ctx, code)
		}
		is.Name = cmp.Or(is.Name, code)
	} else if errors.Is(err, tiles.ErrNotFound) || errors.Is(err, tiles.ErrUnknownType) {
		err = nil
	}
	if err == nil {
		o.drawn.Store(code, is.Name)
	}
	return is.Name, err
}

// state keeps the state that holds the place unless the row contradicts it. Otherwise it looks for
// the row's state nearby.
func (r *row) state(ctx context.Context) error {
	i := r.index(State)
	if !r.published(State) {
		return nil
	}
	all, err := r.states(ctx)
	if err != nil || i < 0 && !all.drawn(r.Country) {
		return err
	}
	if i >= 0 && !r.moved && r.inState(all, &r.list[i], r.Hit) != no {
		return nil
	}
	near, err := r.near(ctx, State)
	if err != nil {
		return err
	}
	near = slices.DeleteFunc(near, func(p names.Parent) bool {
		return r.Admin1Code(p.ID) != r.Country+"."+r.Admin1 && r.inState(all, &p, r.Hit) != yes
	})
	if j := slices.IndexFunc(near, func(p names.Parent) bool { return EqualNames(p.Name, r.Admin1Name) }); j >= 0 {
		near = near[j : j+1]
	}
	if len(near) == 1 { // otherwise no part of the division is likelier than another
		r.put(State, &near[0])
		return nil
	}
	if i >= 0 {
		r.put(State, nil)
		return nil
	}
	snapped, _, err := r.AddNearestRegion(ctx, r.Lat, r.Lon, coarseM, State, nil)
	if err != nil || len(snapped) == 0 {
		return err
	}
	if country := r.CountryOf(&snapped[0]); country != "" && country != r.Country || r.inState(all, &snapped[0], r.Hit) == no {
		return nil
	}
	r.put(State, &snapped[0])
	return nil
}

// county does the same as state, for counties within the state.
func (r *row) county(ctx context.Context) error {
	i, state := r.index(County), r.index(State)
	if i < 0 && (state < 0 || r.Names == nil || !r.published(County)) {
		return nil
	}
	row, err := r.divisions(ctx, r.ID)
	if err != nil {
		return err
	}
	if i >= 0 && !r.moved && inCounty(r.list[i].ID, r.Country, row.admin2) != no {
		return nil
	}
	var own, named []names.Parent
	if r.Names != nil && state >= 0 {
		near, err := r.near(ctx, County)
		if err != nil {
			return err
		}
		for _, c := range near {
			f, known, err := r.Names.Feature(ctx, names.Number(names.Region, County, c.ID))
			if err != nil {
				return err
			}
			in := func(p names.Parent) bool { return p.Type == State && feature.SameRegionID(p.ID, r.list[state].ID) }
			if !known || !slices.ContainsFunc(f.Parents, in) {
				continue
			}
			switch inCounty(c.ID, r.Country, row.admin2) {
			case yes:
				named = append(named, c)
			case unknown:
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

func (v *View) published(typ string) bool {
	return v.Boundaries != nil && slices.Contains(v.layers().names, typ)
}

// margin returns coarseM in degrees of latitude and longitude at a latitude.
func margin(lat float64) (north, east float64) {
	north = coarseM / metresPerDegree
	return north, min(north/max(math.Cos(lat*math.Pi/180), 0.01), 90)
}

// near returns the regions of a type within coarseM of the place, the possible error of the map.
func (r *row) near(ctx context.Context, typ string) ([]names.Parent, error) {
	north, east := margin(r.Lat)
	box := quadkey.Box{
		West:  math.Remainder(r.Lon-east, 360),
		South: max(r.Lat-north, -90),
		East:  math.Remainder(r.Lon+east, 360),
		North: min(r.Lat+north, 90),
	}
	var list []names.Parent
	err := r.regions(ctx, typ, feature.Box(box), func(f *feature.Feature) error {
		list = append(list, names.Parent{Type: typ, ID: f.ID, Name: f.Name()})
		return nil
	})
	return list, err
}
