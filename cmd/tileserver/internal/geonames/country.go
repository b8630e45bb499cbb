package geonames

import (
	"cmp"
	"context"
	"strconv"
	"strings"

	"quadrille/ask/hierarchy"
	"quadrille/ask/localtime"
	"quadrille/places"
)

// countryAt returns the country of a point.
func (g *request) countryAt(ctx context.Context, lat, lon, radius float64) (c hierarchy.PointCountry, err error) {
	v, err := hierarchy.ViewOf(g.view.View)
	if err != nil {
		return c, err
	}
	return v.CountryAt(ctx, lat, lon, radius)
}

// countryMembers writes a country's code and name.
func (g *request) countryMembers(ctx context.Context, at *hierarchy.PointCountry) (places.Country, error) {
	country := places.Country{Name: at.Name}
	finder, ok, err := g.view.Places.GetIfPublished()
	if err != nil {
		return country, err
	}
	if ok {
		if country, err = countryInfo(ctx, finder, at.Code); err != nil {
			return country, err
		}
		if country.Name == "" {
			country.Name = at.Name
		}
		if country.Name, err = g.countryName(ctx, finder, &country, g.params.language("en")); err != nil {
			return country, err
		}
	}
	g.text("countryCode", at.Code)
	g.text("countryName", country.Name)
	return country, nil
}

// countryCode answers /countryCodeJSON and /countryCode. Without the parameter type, the latter
// answers with only the two letters of the code.
func (g *request) countryCode(ctx context.Context) error {
	lat, lng, radius, err := g.params.around(0)
	if err != nil {
		return err
	}
	at, err := g.countryAt(ctx, lat, lng, radius*1000)
	if err == nil && at.Code == "" {
		err = g.nothing("no country code found")
	}
	if err != nil {
		return err
	}
	if g.plain {
		g.b = append(append(g.b, at.Code...), '\n')
		return nil
	}
	g.open()
	country, err := g.countryMembers(ctx, &at)
	if err != nil {
		return err
	}
	g.text("languages", strings.Join(country.Languages, ","))
	g.name("distance")
	g.b = append(appendKilometres(append(g.b, '"'), at.DistanceM), '"')
	g.close()
	return nil
}

// nothing answers that there is no result, or that no published data set could have one.
func (g *request) nothing(message string) error {
	b, ok, err := g.view.Boundaries.GetIfPublished()
	if err == nil && (!ok || !b.Has(localtime.CountryType)) {
		_, err = g.view.Places.Get()
	}
	return cmp.Or(err, refuse(noResult, message))
}

// countrySubdivision answers /countrySubdivisionJSON: the first-level division of a point. The
// division is the region of type state that contains the point. With level it adds the divisions
// below it, taken from the nearest place.
func (g *request) countrySubdivision(ctx context.Context) error {
	lat, lng, radius, err := g.params.around(0)
	if err != nil {
		return err
	}
	level, err := g.params.integer("level", 1)
	if err != nil || level > 5 {
		return refuse(badParameter, "invalid level; give 0 to 5")
	}
	v, err := hierarchy.ViewOf(g.view.View)
	if err != nil {
		return err
	}
	d, err := v.DivisionAt(ctx, lat, lng, radius*1000)
	if err != nil {
		return err
	}
	if d.Country.Code == "" || d.Name == "" && d.Code == "" && level > 0 {
		return g.nothing("no country subdivision found")
	}
	g.open()
	if _, err := g.countryMembers(ctx, &d.Country); err != nil {
		return err
	}
	if level > 0 {
		g.division(&d)
	}
	if level > 1 {
		codes, second, err := v.LowerDivisions(ctx, &d)
		if err != nil {
			return err
		}
		for i, code := range codes[:level-1] {
			g.text("adminCode"+strconv.Itoa(i+2), code)
		}
		g.text("adminName2", second)
	}
	g.name("distance")
	g.b = appendKilometres(g.b, max(d.Country.DistanceM, d.DistanceM)) // here it is a number
	g.close()
	return nil
}

// division writes the members of a first-level division.
func (g *request) division(d *hierarchy.PointDivision) {
	g.text("adminCode1", d.Code)
	g.text("adminName1", d.Name)
	if d.ISO == "" {
		return
	}
	g.name("codes")
	g.b = append(g.b, '[')
	g.open()
	g.text("code", d.ISO)
	g.text("level", "1")
	g.text("type", "ISO3166-2")
	g.close()
	g.b = append(g.b, ']')
}
