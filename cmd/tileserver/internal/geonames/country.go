package geonames

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/tileserver/internal/datasets"
	"quadrille/cmd/tileserver/internal/hierarchy"
	"quadrille/cmd/tileserver/internal/localtime"
	"quadrille/places"
	"quadrille/places/names"
	"quadrille/tiles"
)

// pointCountry is the country of a point. Its code is "" when there is none.
type pointCountry struct {
	code   string
	name   string  // of the region
	metres float64 // to the region, 0 inside
}

// countryAt finds the country that holds a point, or whose border is at most
// radius metres away: a buffer for points off the coast. Where no countries are
// published it is that of the nearest place.
func (g *request) countryAt(ctx context.Context, lat, lon, radius float64) (pointCountry, error) {
	reach := max(radius, localtime.PlaceReach)
	b, ok, err := localtime.Have(&g.view.Boundaries)
	if err != nil {
		return pointCountry{}, err
	}
	if ok && localtime.HasType(b, localtime.CountryType) {
		found, err := b.Nearest(ctx, lat, lon, min(radius, tiles.MaxSnap), localtime.CountryType)
		if err != nil {
			return pointCountry{}, err
		}
		for i := range found {
			if m := &found[i]; m.Kind != tiles.MatchNone && len(m.ID) == 2 {
				return pointCountry{strings.ToUpper(m.ID), m.Name, m.Distance}, nil
			}
		}
		if code, err := g.countryOfDivisions(ctx, lat, lon); code != "" || err != nil {
			return pointCountry{code: code}, err
		}
		// Beyond the distance of borders only places tell. Within it, they do
		// for land whose region has no code of a country.
		reach = max(radius, localtime.ShoreReach)
		if len(found) > 0 && found[0].Kind == tiles.MatchInside {
			reach = localtime.PlaceReach
		}
	}
	return g.countryOfPlaces(ctx, lat, lon, reach)
}

// countryOfDivisions is the country of the state or county that holds a point off a coarser
// coast of its country.
func (g *request) countryOfDivisions(ctx context.Context, lat, lon float64) (string, error) {
	v, at, err := g.regionsAt(ctx, lat, lon)
	if slices.ContainsFunc(at, func(p names.Parent) bool { return p.Type == hierarchy.Country }) {
		return "", err
	}
	for i := range at {
		if code := v.CountryOf(&at[i]); code != "" {
			return code, err
		}
	}
	return "", err
}

// regionsAt returns what is around a point, and what tells more of it.
func (g *request) regionsAt(ctx context.Context, lat, lon float64) (v hierarchy.View, at []names.Parent, err error) {
	if v, err = g.view.Hierarchy(); err == nil {
		at, err = v.At(ctx, lat, lon)
	}
	return v, hierarchy.Around(at), err
}

// countryOfPlaces is the country of the populated place that a point is told by.
func (g *request) countryOfPlaces(ctx context.Context, lat, lon, reach float64) (pointCountry, error) {
	v, at, err := g.regionsAt(ctx, lat, lon)
	if err != nil {
		return pointCountry{}, err
	}
	near, err := g.view.PlacesNear(ctx, lat, lon, reach, "")
	if err != nil {
		return pointCountry{}, err
	}
	for i := range near {
		is, err := v.Relate(ctx, &near[i], at)
		if err != nil {
			return pointCountry{}, err
		}
		if near[i].Country != "" && is.Same(hierarchy.Country) {
			return pointCountry{code: near[i].Country}, nil
		}
	}
	return pointCountry{}, nil
}

// countryMembers writes a country's code and name.
func (g *request) countryMembers(ctx context.Context, at *pointCountry) (places.Country, error) {
	country := places.Country{Name: at.name}
	finder, ok, err := localtime.Have(&g.view.Places)
	if err != nil {
		return country, err
	}
	if ok {
		if country, err = countryInfo(ctx, finder, at.code); err != nil {
			return country, err
		}
		if country.Name == "" {
			country.Name = at.name
		}
		if country.Name, err = g.countryName(ctx, finder, &country, g.params.language("en")); err != nil {
			return country, err
		}
	}
	g.text("countryCode", at.code)
	g.text("countryName", country.Name)
	return country, nil
}

// countryCode answers /countryCodeJSON and /countryCode, which without a type
// answers two letters.
func (g *request) countryCode(ctx context.Context) error {
	lat, lng, radius, err := g.params.around(0)
	if err != nil {
		return err
	}
	at, err := g.countryAt(ctx, lat, lng, radius*1000)
	if err == nil && at.code == "" {
		err = g.needCountries()
	}
	if err != nil {
		return err
	}
	if g.plain {
		g.b = append(append(g.b, at.code...), '\n')
		return nil
	}
	g.open()
	country, err := g.countryMembers(ctx, &at)
	if err != nil {
		return err
	}
	g.text("languages", strings.Join(country.Languages, ","))
	g.name("distance")
	g.b = append(appendKilometres(append(g.b, '"'), at.metres), '"')
	g.close()
	return nil
}

// needCountries says that there is no country, or that nothing is published
// that could tell.
func (g *request) needCountries() error {
	b, ok, err := localtime.Have(&g.view.Boundaries)
	if err != nil {
		return err
	}
	if !ok || !localtime.HasType(b, localtime.CountryType) {
		if _, err := g.view.Places.Get(); err != nil {
			return err
		}
	}
	return refuse(noResult, "no country code found")
}

// countrySubdivision answers /countrySubdivisionJSON: the first-level division
// of a point, and with level the ones below it as the nearest place has them.
// The region of type state that holds the point says which division it is.
func (g *request) countrySubdivision(ctx context.Context) error {
	lat, lng, radius, err := g.params.around(0)
	if err != nil {
		return err
	}
	level, err := g.params.integer("level", 1)
	if err != nil || level > 5 {
		return refuse(badParameter, "invalid level; give 0 to 5")
	}
	country, err := g.countryAt(ctx, lat, lng, radius*1000)
	if err != nil {
		return err
	}
	d := division{}
	if country.code != "" {
		if d, err = g.divisionAt(ctx, lat, lng, radius*1000, country.code); err != nil {
			return err
		}
	}
	if country.code == "" || d.name == "" && d.code == "" && level > 0 {
		if err := g.needCountries(); errors.Is(err, datasets.ErrMissing) || errors.Is(err, datasets.ErrFailed) {
			return err
		}
		return refuse(noResult, "no country subdivision found")
	}
	g.open()
	if _, err := g.countryMembers(ctx, &country); err != nil {
		return err
	}
	if level > 0 {
		g.text("adminCode1", d.code)
		g.text("adminName1", d.name)
		if d.iso != "" {
			g.name("codes")
			g.b = append(g.b, '[')
			g.open()
			g.text("code", d.iso)
			g.text("level", "1")
			g.text("type", "ISO3166-2")
			g.close()
			g.b = append(g.b, ']')
		}
	}
	if level > 1 {
		if err := g.lowerDivisions(ctx, country.code, &d, level); err != nil {
			return err
		}
	}
	g.name("distance")
	g.b = appendKilometres(g.b, max(country.metres, d.metres)) // here it is a number
	g.close()
	return nil
}

// division is a first-level division: GeoNames' code of it, its name and its
// ISO 3166-2 code without the country.
type division struct {
	code, name, iso string
	metres          float64
	county          *names.Parent // that holds the point
	place           uint32        // the nearest one in the county, or else in the division
}

// divisionAt joins the region of type state with GeoNames' code: that of its places, or else of
// the nearest one in it, or of the nearest of the country where no states are published. Regions
// may be smaller than GeoNames' divisions, such as the départements of France, or called otherwise,
// such as Berlin, its State of Berlin: then the division is told.
func (g *request) divisionAt(ctx context.Context, lat, lon, radius float64, country string) (d division, err error) {
	v, at, err := g.regionsAt(ctx, lat, lon)
	if err != nil {
		return d, err
	}
	state := func() int {
		return slices.IndexFunc(at, func(p names.Parent) bool { return p.Type == hierarchy.State })
	}
	if radius > 0 && state() < 0 && v.Boundaries != nil && localtime.HasType(v.Boundaries, hierarchy.State) {
		found, err := v.Boundaries.Nearest(ctx, lat, lon, min(radius, tiles.MaxSnap), hierarchy.State)
		if err != nil {
			return d, err
		}
		if len(found) > 0 && found[0].Kind != tiles.MatchNone {
			at = append(slices.Clip(at), names.Parent{Type: hierarchy.State, ID: found[0].ID, Name: found[0].Name})
			d.metres = found[0].Distance
		}
	}
	// Of layers that disagree about the country that of countries is right.
	at = slices.DeleteFunc(slices.Clone(at), func(p names.Parent) bool {
		of := v.CountryOf(&p)
		return p.Type == hierarchy.State && of != "" && !slices.Contains(v.Wide([]string{country}), of) && !strings.EqualFold(p.ID, of+"-"+country)
	})
	if d.county, at, err = countyOf(ctx, &v, at, country); err != nil {
		return d, err
	}
	full, own := "", ""
	if i := state(); i >= 0 {
		d.name, d.iso = at[i].Name, isoOf(at[i].ID, country)
		full = v.Division(at[i].ID)
	}
	near, err := g.view.PlacesNear(ctx, lat, lon, max(radius, localtime.PlaceReach), country)
	if err != nil {
		return d, err
	}
	inCounty := false
	for i := range near {
		p := &near[i]
		is, err := v.Relate(ctx, p, at)
		if err != nil {
			return d, err
		}
		same := d.county != nil && is.Same(hierarchy.County)
		if p.Admin1 != "" && is.Same(hierarchy.State) && (d.place == 0 || same && !inCounty) {
			d.place, d.code, own, inCounty = p.ID, p.Admin1, p.Admin1Name, same
		}
	}
	if d.county != nil && !inCounty {
		d.place = 0
	}
	if code, ok := strings.CutPrefix(full, country+"."); ok && v.Places != nil {
		known, err := v.Places.Division(ctx, full)
		if err != nil && !errors.Is(err, places.ErrNoCode) {
			return d, datasets.Inside(err)
		}
		if d.code != code {
			d.place = 0
		}
		d.code, own = code, known.Name
	}
	if own != "" {
		if iso, _ := places.ISODivision(country, d.code); d.name == "" {
			d.name = own
		} else if !hierarchy.EqualNames(own, d.name) && (iso == "" || iso != d.iso) {
			if !sameName(own, d.name) {
				d.iso = "" // it is that of the region
			}
			d.name = own
		}
	}
	if d.code == "" {
		d.code, _ = places.ISODivision(country, d.iso)
	} else if d.iso == "" {
		d.iso, _ = places.ISODivision(country, d.code)
	}
	return d, nil
}

// countyOf returns the county among some regions at a point, nil where there is none or it is of
// another country or state: layers may disagree. Where no state is drawn that of the county is
// added.
func countyOf(ctx context.Context, v *hierarchy.View, at []names.Parent, country string) (*names.Parent, []names.Parent, error) {
	index := func(list []names.Parent, typ string) int {
		return slices.IndexFunc(list, func(p names.Parent) bool { return p.Type == typ })
	}
	i, state := index(at, hierarchy.County), index(at, hierarchy.State)
	if i < 0 {
		return nil, at, nil
	}
	county := at[i]
	if v.Names == nil {
		return &county, at, nil
	}
	known, ok, err := v.Names.Feature(ctx, names.Number(names.Region, county.Type, county.ID))
	if err != nil || !ok {
		return &county, at, err
	}
	of := strings.ToLower(known.Code) // of the state, as its id is
	if j := index(known.Parents, hierarchy.State); j >= 0 {
		of = known.Parents[j].ID
	}
	j := index(known.Parents, hierarchy.Country)
	switch {
	case j >= 0 && !strings.EqualFold(known.Parents[j].ID, country), state >= 0 && of != "" && at[state].ID != of:
		return nil, at, nil
	case state < 0 && of != "":
		if known, ok, err = v.Names.Feature(ctx, names.Number(names.Region, hierarchy.State, of)); ok && err == nil {
			at = append(slices.Clip(at), names.Parent{Type: hierarchy.State, ID: of, Name: known.Name})
		}
	}
	return &county, at, err
}

// lowerDivisions writes the divisions of levels 2 to 5: those of the nearest place in the
// county that holds the point, or else in the division, where no counties are drawn.
func (g *request) lowerDivisions(ctx context.Context, country string, d *division, level int) error {
	finder, ok, err := localtime.Have(&g.view.Places)
	if !ok {
		return err
	}
	var place places.Record
	if d.place != 0 {
		if err := finder.Record(ctx, d.place, &place); err != nil {
			return datasets.Inside(err)
		}
	}
	if county := d.county; county != nil {
		if code, known := hierarchy.CountyCode(county.ID, country); known && code != place.Admin2 {
			place.Admin2, place.Admin2Name = code, ""
		}
		place.Admin2Name = cmp.Or(place.Admin2Name, county.Name)
	}
	for i, code := range [...]string{place.Admin2, place.Admin3, place.Admin4, place.Admin5} {
		if n := i + 2; n <= level {
			g.text("adminCode"+strconv.Itoa(n), code)
		}
	}
	g.text("adminName2", place.Admin2Name)
	return nil
}
