package hierarchy

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"quadrille/ask"
	"quadrille/feature"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/tiles"
)

const (
	// PlaceReachM is the greatest distance, in metres, at which the nearest place determines the
	// country of a point while no countries are published.
	PlaceReachM = 50_000
	// ShoreReachM is the greatest distance, in metres, at which a place determines the country of a
	// point outside all borders: world maps draw coasts so coarsely that Manhattan and Stockholm
	// lie in the sea.
	ShoreReachM = 5_000
	// MaxNearPlaces bounds the places that PlacesNear returns.
	MaxNearPlaces = 10
)

// PlacesNear returns the nearest populated places within reach, in metres. A country that is not ""
// restricts them.
func (v *View) PlacesNear(ctx context.Context, lat, lon, reach float64, country string) ([]places.Hit, error) {
	if v.Places == nil || reach <= 0 {
		return nil, nil
	}
	q := feature.Query{Near: feature.NearTo(lat, lon, reach), Filter: places.OnlyPopulated, Limit: MaxNearPlaces}
	if country != "" {
		var err error
		if q.Filter, err = (places.Filter{Classes: []string{"P"}, Countries: []string{country}}).FeatureFilter(); err != nil {
			return nil, err
		}
	}
	return places.CollectHits(make([]places.Hit, 0, MaxNearPlaces), v.Places.Features(ctx, &q))
}

// PointCountry is the country of a point. Its code is "" when there is none.
type PointCountry struct {
	Code, Name string  // the name of the region, "" if it has none
	DistanceM  float64 // to the region, 0 inside
}

// CountryAt finds the country that holds a point in degrees, or whose border is at most radius
// metres away: a buffer for points off the coast. If no countries are published, it returns the
// country of the nearest place.
func (v *View) CountryAt(ctx context.Context, lat, lon, radius float64) (c PointCountry, err error) {
	all, err := v.At(ctx, lat, lon)
	if err != nil {
		return c, err
	}
	at, reach := AddressRegions(all), max(radius, PlaceReachM)
	if v.published(Country) {
		if all, c.DistanceM, err = v.AddNearestRegion(ctx, lat, lon, radius, Country, all); err != nil {
			return c, err
		}
		for i := range all {
			if r := &all[i]; r.Type == Country && len(r.ID) == 2 {
				c.Code, c.Name = strings.ToUpper(r.ID), r.Name
				return c, nil
			}
		}
		if index(at, Country) < 0 {
			for i := range at {
				if code := v.CountryOf(&at[i]); code != "" {
					return PointCountry{Code: code}, nil
				}
			}
			// Farther than radius from all borders only places determine the country. Within it,
			// they do so for land whose region has no country code.
			reach = max(radius, ShoreReachM)
		}
	}
	near, err := v.PlacesNear(ctx, lat, lon, reach, "")
	for i := range near {
		is, err := v.Relate(ctx, &near[i], at)
		if err != nil {
			return PointCountry{}, err
		}
		if near[i].Country != "" && is.InSameRegion(Country) {
			return PointCountry{Code: near[i].Country}, nil
		}
	}
	return PointCountry{}, err
}

// AddNearestRegion adds the nearest region of a type to the regions at a point, if these have none of the
// type and it is at most radius metres away. It returns the distance.
func (v *View) AddNearestRegion(ctx context.Context, lat, lon, radius float64, typ string,
	at []names.Parent) ([]names.Parent, float64, error) {
	if radius <= 0 || !v.published(typ) || index(at, typ) >= 0 {
		return at, 0, nil
	}
	found, err := v.Boundaries.Nearest(ctx, lat, lon, min(radius, tiles.MaxSnapM), typ)
	if err != nil || len(found) == 0 || found[0].Kind == tiles.MatchNone {
		return at, 0, err
	}
	return append(slices.Clip(at), names.Parent{Type: typ, ID: found[0].ID, Name: found[0].Name}), found[0].DistanceM, nil
}

// PointDivision is the first-level division at a point: its GeoNames code, its name and its ISO
// 3166-2 code without the country. An unknown value is "".
type PointDivision struct {
	Country         PointCountry
	Code, Name, ISO string
	DistanceM       float64 // to its region, 0 inside

	county *names.Parent // it holds the point
	place  uint32        // the nearest one in the county, or else in the division
}

// DivisionAt combines the first-level division at a point with its GeoNames code. The division is
// the region of type state that holds the point in its country, or is at most radius metres away.
// Its code is the code of its places, or else of the nearest place in it. If no states are
// published, it is the code of the nearest place of the country. If the region is smaller than
// GeoNames' division, like the départements of France, or has another name, like Berlin with "State
// of Berlin", the answer is GeoNames' division. A point of no country has no division.
func (v *View) DivisionAt(ctx context.Context, lat, lon, radius float64) (d PointDivision, err error) {
	if d.Country, err = v.CountryAt(ctx, lat, lon, radius); err != nil || d.Country.Code == "" {
		return d, err
	}
	country := d.Country.Code
	at, err := v.AddressAt(ctx, lat, lon)
	if err != nil {
		return d, err
	}
	if at, d.DistanceM, err = v.AddNearestRegion(ctx, lat, lon, radius, State, at); err != nil {
		return d, err
	}
	// If layers disagree about the country, the layer of countries takes precedence.
	at = slices.DeleteFunc(slices.Clone(at), func(p names.Parent) bool {
		of := v.CountryOf(&p)
		return p.Type == State && of != "" && !slices.Contains(v.WidenCountries([]string{country}), of) &&
			!strings.EqualFold(p.ID, of+"-"+country)
	})
	if at, err = v.countyAt(ctx, &d, at); err != nil {
		return d, err
	}
	code := ""
	if i := index(at, State); i >= 0 {
		d.Name, code = at[i].Name, v.Admin1Code(at[i].ID)
		if of, iso := Division(at[i].ID); of == country {
			d.ISO = iso
		}
	}
	near, err := v.PlacesNear(ctx, lat, lon, max(radius, PlaceReachM), country)
	if err != nil {
		return d, err
	}
	name, err := v.ofPlaces(ctx, &d, near, at)
	if err != nil {
		return d, err
	}
	if own, ok := strings.CutPrefix(code, country+"."); ok && v.Places != nil {
		known, err := v.Places.Division(ctx, code)
		if err != nil && !errors.Is(err, places.ErrNoCode) {
			return d, ask.NotFoundAsDamage(err)
		}
		if d.Code != own {
			d.place = 0
		}
		d.Code, name = own, known.Name
	}
	d.rename(name)
	return d, nil
}

// countyAt records the county among the regions at a point. It drops a county of another country or
// state, because layers may disagree. If no state is drawn, it adds the county's state.
func (v *View) countyAt(ctx context.Context, d *PointDivision, at []names.Parent) ([]names.Parent, error) {
	i, state := index(at, County), index(at, State)
	if i < 0 {
		return at, nil
	}
	d.county = &at[i]
	if v.Names == nil {
		return at, nil
	}
	known, _, err := v.Names.Feature(ctx, names.Number(names.Region, County, at[i].ID))
	if err != nil {
		return at, err
	}
	in, of := index(known.Parents, Country), names.Parent{Type: State, ID: strings.ToLower(known.Code)} // may be the state's code
	if j := index(known.Parents, State); j >= 0 {
		of = known.Parents[j]
	}
	switch {
	case in >= 0 && !strings.EqualFold(known.Parents[in].ID, d.Country.Code),
		state >= 0 && of.ID != "" && !feature.SameRegionID(at[state].ID, of.ID):
		d.county = nil
	case state < 0 && of.ID != "":
		f, ok, err := v.Names.Feature(ctx, names.Number(names.Region, State, of.ID))
		if err != nil || !ok {
			return at, err
		}
		of.Name = f.Name
		at = append(slices.Clip(at), of)
	}
	return at, nil
}

// ofPlaces takes the division's code from the places near a point. It returns the name that these
// places give the division.
func (v *View) ofPlaces(ctx context.Context, d *PointDivision, near []places.Hit, at []names.Parent) (name string, err error) {
	inCounty := false
	for i := range near {
		p := &near[i]
		is, err := v.Relate(ctx, p, at)
		if err != nil {
			return "", err
		}
		same := d.county != nil && is.InSameRegion(County)
		if p.Admin1 != "" && is.InSameRegion(State) && (d.place == 0 || same && !inCounty) {
			d.place, d.Code, name, inCounty = p.ID, p.Admin1, p.Admin1Name, same
		}
	}
	if d.county != nil && !inCounty {
		d.place = 0
	}
	return name, nil
}

// rename sets the name of the division to the name in the gazetteer. If the region has another
// name, its ISO 3166-2 code is not the code of the division.
func (d *PointDivision) rename(name string) {
	iso, _ := places.ISODivision(d.Country.Code, d.Code)
	switch {
	case name == "", EqualNames(name, d.Name), d.Name != "" && iso != "" && iso == d.ISO:
		name = d.Name
	case d.Name != "" && !alike(name, d.Name):
		d.ISO = ""
	}
	d.Name = name
	if d.Code == "" {
		d.Code, _ = places.ISODivision(d.Country.Code, d.ISO)
	}
	d.ISO = cmp.Or(d.ISO, iso)
}

// LowerDivisions returns the codes of the divisions of levels 2 to 5 at the point, and the name of
// the division of level 2. It takes them from the nearest place in the county that holds the point,
// or in the division if no counties are drawn.
func (v *View) LowerDivisions(ctx context.Context, d *PointDivision) (codes [4]string, second string, err error) {
	var p places.Record
	if d.place != 0 {
		if err := v.Places.Record(ctx, d.place, &p); err != nil {
			return codes, "", ask.NotFoundAsDamage(err)
		}
	}
	if p.Admin2 == "" { // older generations repeat the code of the first level
		p.Admin2Name = ""
	}
	if d.county != nil {
		if code, known := countyCode(d.county.ID, d.Country.Code); known && code != p.Admin2 {
			p.Admin2, p.Admin2Name = code, ""
		}
		p.Admin2Name = cmp.Or(p.Admin2Name, d.county.Name)
	}
	return [...]string{p.Admin2, p.Admin3, p.Admin4, p.Admin5}, p.Admin2Name, nil
}

// ISODivision returns the ISO 3166-2 code, without the country, of a place's first-level division.
// This is GeoNames' own code if that is one, or else the code of the region of type state with the
// division's name. For a region that holds the place, the name may have words around it. For others
// it must be equal: Santiago and Santiago Rodríguez are neighbours.
func (v *View) ISODivision(ctx context.Context, p *places.Hit) (string, error) {
	if iso, known := places.ISODivision(p.Country, p.Admin1); known || p.Admin1 == "" || p.Admin1Name == "" || !v.published(State) {
		return iso, nil
	}
	all, err := v.states(ctx)
	if err != nil {
		return "", err
	}
	if of, iso := Division(all.named(p)); of == p.Country {
		return iso, nil
	}
	at, err := v.Boundaries.At(ctx, p.Lat, p.Lon, State)
	for _, r := range at {
		if of, iso := Division(r.ID); of == p.Country && alike(r.Name, p.Admin1Name) {
			return iso, err
		}
	}
	return "", err
}
