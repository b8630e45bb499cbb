package geonames

import (
	"context"
	"errors"
	"strconv"

	"quadrille/ask"
	"quadrille/ask/hierarchy"
	"quadrille/internal/jsontext"
	"quadrille/places"
)

// featureClasses has GeoNames' names of its feature classes.
var featureClasses = map[string]string{
	"A": "country, state, region,...",
	"H": "stream, lake, ...",
	"L": "parks,area, ...",
	"P": "city, village,...",
	"R": "road, railroad ",
	"S": "spot, building, farm",
	"T": "mountain,hill,rock,... ",
	"U": "undersea",
	"V": "forest,heath,...",
}

// unknownDEM is the value of GeoNames' elevation model at sea.
const unknownDEM = -9999

// toponym is a place that is being written.
type toponym struct {
	places.Record
	distance float64 // metres; negative for none
	style    style
	lang     string
}

// appendKilometres writes a distance in kilometres as a string, rounded to the centimetre.
func appendKilometres(dst []byte, metres float64) []byte {
	dst = strconv.AppendFloat(dst, metres/1000, 'f', 5, 64)
	for dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
	}
	if dst[len(dst)-1] == '.' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

// toponym writes a place as an object. Coordinates are strings, because clients treat the number
// zero as a missing value.
func (g *request) toponym(ctx context.Context, finder *places.Finder, t *toponym) error {
	g.open()
	if err := g.toponymMembers(ctx, finder, t); err != nil {
		return err
	}
	g.close()
	return nil
}

func (g *request) toponymMembers(ctx context.Context, finder *places.Finder, t *toponym) error {
	name, err := nameIn(ctx, finder, t.ID, t.lang, t.Name)
	if err != nil {
		return ask.NotFoundAsDamage(err)
	}
	g.int("geonameId", int64(t.ID))
	g.text("name", name)
	g.text("toponymName", t.Name)
	g.quoted("lat", t.Lat)
	g.quoted("lng", t.Lon)
	g.text("countryCode", t.Country)
	g.text("fcl", t.Class)
	g.text("fcode", t.Code)
	if t.distance >= 0 {
		g.name("distance")
		g.b = append(appendKilometres(append(g.b, '"'), t.distance), '"')
	}
	if t.style == styleShort {
		return nil
	}
	country, err := countryInfo(ctx, finder, t.Country)
	if err != nil {
		return err
	}
	countryName, err := g.countryName(ctx, finder, &country, t.lang)
	if err != nil {
		return err
	}
	g.text("countryName", countryName)
	if country.ID != 0 {
		g.text("countryId", strconv.FormatUint(uint64(country.ID), 10))
	}
	g.text("fclName", featureClasses[t.Class])
	if t.Class != "" && t.Code != "" {
		f, err := finder.Feature(ctx, t.Class+"."+t.Code)
		if err != nil && !errors.Is(err, places.ErrNoCode) {
			return err
		}
		g.text("fcodeName", f.Name)
	}
	g.int("population", t.Population)
	g.text("adminCode1", t.Admin1)
	g.text("adminName1", t.Admin1Name)
	iso, known := places.ISODivision(t.Country, t.Admin1)
	if !known { // the boundaries may have the code
		v, err := hierarchy.ViewOf(g.view.View)
		if err != nil {
			return err
		}
		if iso, err = v.ISODivision(ctx, &t.Hit); err != nil {
			return err
		}
	}
	if iso != "" {
		g.name("adminCodes1")
		g.open()
		g.text("ISO3166_2", iso)
		g.close()
	}
	if t.style == styleMedium {
		return nil
	}
	return g.toponymDetails(ctx, finder, t, &country)
}

// toponymDetails writes the members that the styles LONG and FULL have in addition to MEDIUM. The
// place was read from its record.
func (g *request) toponymDetails(ctx context.Context, finder *places.Finder, t *toponym, country *places.Country) error {
	g.text("asciiName", t.ASCIIName)
	g.text("continentCode", country.Continent)
	g.text("adminCode2", t.Admin2)
	if t.Admin2 == "" { // older generations have the name of the first level
		t.Admin2Name = ""
	}
	g.text("adminName2", t.Admin2Name)
	g.text("adminCode3", t.Admin3)
	g.text("adminCode4", t.Admin4)
	g.text("adminCode5", t.Admin5)
	if t.Elevation != nil {
		g.int("elevation", *t.Elevation)
	}
	if t.DEM != nil && *t.DEM != unknownDEM {
		g.int("srtm3", *t.DEM)
	}
	if t.style == styleLong {
		return nil
	}
	code := t.Country
	for i, part := range [...]string{t.Admin1, t.Admin2} {
		if part == "" || code == "" {
			break
		}
		code += "." + part
		d, err := finder.Division(ctx, code)
		if err != nil && !errors.Is(err, places.ErrNoCode) {
			return err
		}
		if err == nil && d.ID != 0 {
			g.text("adminId"+strconv.Itoa(i+1), strconv.FormatUint(uint64(d.ID), 10))
		}
	}
	if err := g.toponymZone(ctx, t.TimeZone); err != nil {
		return err
	}
	g.alternateNames(&t.Record)
	return nil
}

// toponymZone writes a place's time zone, with the offsets of this year if time zones are
// published.
func (g *request) toponymZone(ctx context.Context, zone string) error {
	if zone == "" {
		return nil
	}
	g.name("timezone")
	g.open()
	g.text("timeZoneId", zone)
	jan, jul, _, ok, err := g.yearOffsets(ctx, zone)
	if err != nil {
		return err
	}
	if ok {
		g.hours("gmtOffset", jan)
		g.hours("dstOffset", jul)
	}
	g.close()
	return nil
}

// alternateNames writes the names of a place with their languages. If no languages are known, it
// writes only the names.
func (g *request) alternateNames(d *places.Record) {
	if len(d.Alternates) == 0 && len(d.AlternateNames) == 0 {
		return
	}
	g.name("alternateNames")
	g.b = append(g.b, '[')
	for _, n := range d.Alternates {
		g.alternate(n.Name, n.Lang, n.Preferred, n.Short, n.Colloquial, n.Historic)
	}
	if len(d.Alternates) == 0 {
		for _, n := range d.AlternateNames {
			g.alternate(n, "", false, false, false, false)
		}
	}
	g.b = append(g.b, ']')
}

func (g *request) alternate(name, lang string, preferred, short, colloquial, historic bool) {
	g.b = jsontext.Next(g.b)
	g.open()
	g.text("name", name)
	g.text("lang", lang)
	for _, f := range [...]struct {
		name string
		set  bool
	}{{"isPreferredName", preferred}, {"isShortName", short}, {"isColloquial", colloquial}, {"isHistoric", historic}} {
		if f.set {
			g.name(f.name)
			g.b = append(g.b, "true"...)
		}
	}
	g.close()
}

// nameIn returns a place's name in a language. It returns own if the place has no such name, or if
// no language is requested.
func nameIn(ctx context.Context, finder *places.Finder, id uint32, lang, own string) (string, error) {
	if lang == "" || id == 0 {
		return own, nil
	}
	name, ok, err := finder.NameIn(ctx, id, lang)
	if errors.Is(err, places.ErrNotFound) {
		return own, nil
	}
	if err != nil || !ok || name == "" {
		return own, err
	}
	return name, nil
}

// countryInfo returns the record of a country. An unknown country is not an error.
func countryInfo(ctx context.Context, finder *places.Finder, code string) (places.Country, error) {
	if code == "" {
		return places.Country{}, nil
	}
	country, err := finder.Country(ctx, code)
	if errors.Is(err, places.ErrNoCode) {
		return places.Country{Code: code}, nil
	}
	return country, err
}

// countryName returns a country's name in a language.
func (g *request) countryName(ctx context.Context, finder *places.Finder, c *places.Country, lang string) (string, error) {
	if lang == "en" || lang == "" {
		return c.Name, nil
	}
	return nameIn(ctx, finder, c.ID, lang, c.Name)
}

// get answers /getJSON?geonameId=: the whole record of a place.
func (g *request) get(ctx context.Context) error {
	id, err := strconv.ParseUint(g.params.text("geonameId"), 10, 32)
	if err != nil || id == 0 {
		return refuse(badParameter, "invalid geonameId; give a whole number")
	}
	finder, err := g.view.Places.Get()
	if err != nil {
		return err
	}
	t := toponym{distance: -1, style: styleFull, lang: g.params.language("en")}
	if g.params.text("style") != "" {
		t.style = g.params.style()
	}
	err = finder.Record(ctx, uint32(id), &t.Record)
	if errors.Is(err, places.ErrNotFound) {
		return refuse(noRecord, "the geoname feature does not exist")
	}
	if err != nil {
		return err
	}
	return g.toponym(ctx, finder, &t)
}
