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
		// Beyond the distance of borders only places tell. Within it, they do
		// for land whose region has no code of a country.
		reach = max(radius, localtime.ShoreReach)
		if len(found) > 0 && found[0].Kind == tiles.MatchInside {
			reach = localtime.PlaceReach
		}
	}
	return g.countryOfPlaces(ctx, lat, lon, reach)
}

// countryOfPlaces is the country of the nearest populated place.
func (g *request) countryOfPlaces(ctx context.Context, lat, lon, reach float64) (pointCountry, error) {
	docs, err := g.view.PlacesNear(ctx, lat, lon, reach, "")
	for i := range docs {
		if docs[i].Country != "" {
			return pointCountry{code: docs[i].Country}, err
		}
	}
	return pointCountry{}, err
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
		if err := g.lowerDivisions(ctx, lat, lng, country.code, &d, level); err != nil {
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
	place           uint32 // the nearest one in it
	near            []places.Hit
}

// divisionAt joins the region of type state with the nearest place, which
// alone knows GeoNames' code: it counts if its division has the region's name
// or code, or if no states are published there. Regions may be smaller than
// GeoNames' divisions, such as the départements of France, or called otherwise,
// such as Berlin, its State of Berlin: then the division is that of the nearest
// place in the same region.
func (g *request) divisionAt(ctx context.Context, lat, lon, radius float64, country string) (d division, err error) {
	b, ok, err := localtime.Have(&g.view.Boundaries)
	if err != nil {
		return d, err
	}
	region := ""
	if ok && localtime.HasType(b, localtime.StateType) {
		found, err := b.Nearest(ctx, lat, lon, min(radius, tiles.MaxSnap), localtime.StateType)
		if err != nil {
			return d, err
		}
		for i := range found {
			m := &found[i]
			if m.Kind == tiles.MatchNone {
				continue
			}
			region = m.ID
			d.name, d.metres, d.iso = m.Name, m.Distance, isoOf(m.ID, country)
			break
		}
	}
	near, err := g.view.PlacesNear(ctx, lat, lon, max(radius, localtime.PlaceReach), country)
	if err != nil {
		return d, err
	}
	d.near = near
	if ok && region == "" { // no state is drawn here, but a county may be
		if _, err := g.countyAt(ctx, lat, lon, &d); err != nil {
			return d, err
		}
	}
	for i := range near {
		if d.place != 0 && near[i].ID != d.place {
			continue
		}
		p := &near[i]
		iso, _ := places.ISODivision(country, p.Admin1)
		if p.Admin1 == "" || d.name != "" && !hierarchy.EqualNames(p.Admin1Name, d.name) && (iso == "" || iso != d.iso) {
			continue
		}
		d.code, d.place = p.Admin1, p.ID
		if d.name == "" {
			d.name = p.Admin1Name
		}
		break
	}
	if d.place == 0 && region != "" {
		p, err := nearestIn(ctx, b, localtime.StateType, region, near)
		if err != nil {
			return d, err
		}
		if p != nil {
			if !sameName(p.Admin1Name, d.name) {
				d.iso = "" // it is that of the region
			}
			d.code, d.place, d.name = p.Admin1, p.ID, p.Admin1Name
		}
	}
	if d.code == "" {
		d.code, _ = places.ISODivision(country, d.iso)
	} else if d.iso == "" {
		d.iso, _ = places.ISODivision(country, d.code)
	}
	return d, nil
}

// nearestIn returns the first of some places that is in a region of a type
// and has a division with a name; nil when there is none.
func nearestIn(ctx context.Context, b datasets.Boundaries, typ, region string, near []places.Hit) (*places.Hit, error) {
	for i := range near {
		p := &near[i]
		if p.Admin1 == "" || p.Admin1Name == "" {
			continue
		}
		at, err := b.At(ctx, p.Lat, p.Lon, typ)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(at, func(r tiles.Region) bool { return r.ID == region }) {
			return p, nil
		}
	}
	return nil, nil
}

// lowerDivisions writes the divisions of levels 2 to 5: those of the nearest place in the
// county that holds the point, or else in the division, where no counties are drawn.
func (g *request) lowerDivisions(ctx context.Context, lat, lon float64, country string, d *division, level int) error {
	finder, ok, err := localtime.Have(&g.view.Places)
	if !ok {
		return err
	}
	county, err := g.countyAt(ctx, lat, lon, d)
	if err != nil {
		return err
	}
	var place places.Record
	if d.place != 0 {
		if err := finder.Record(ctx, d.place, &place); err != nil {
			return datasets.Inside(err)
		}
	}
	if county != nil {
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

// countyAt returns the county that holds a point, nil where none is drawn, and makes the
// nearest place in it that of the division.
func (g *request) countyAt(ctx context.Context, lat, lon float64, d *division) (*tiles.Region, error) {
	b, ok, err := localtime.Have(&g.view.Boundaries)
	if !ok || !localtime.HasType(b, hierarchy.County) {
		return nil, err
	}
	at, err := b.At(ctx, lat, lon, hierarchy.County)
	if err != nil || len(at) == 0 {
		return nil, err
	}
	p, err := nearestIn(ctx, b, hierarchy.County, at[0].ID, d.near)
	switch {
	case p == nil:
		d.place = 0
	case d.code != "" && p.Admin1 != d.code:
		return nil, err // the layers disagree about the state
	default:
		d.place = p.ID
	}
	return &at[0], err
}
