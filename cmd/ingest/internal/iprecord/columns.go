package iprecord

import (
	"fmt"
	"maps"
	"strconv"
	"strings"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/geolite"
	"quadrille/cmd/ingest/internal/source/ipcsv"
	"quadrille/ipgeo"
)

// Columns converts the rows of a list to records. It belongs to one goroutine.
type Columns struct {
	columns []ipcsv.Column
	set     []setter // nil for columns of addresses and those left out
	places  *geolite.Places
	draft   draft // of the current row; reused, because lists have millions
}

// NewColumns prepares the columns of a list. A geoname_id in a column refers to places. If places
// is nil, it is just the id of the place that the row names.
func NewColumns(columns []ipcsv.Column, places *geolite.Places) (*Columns, error) {
	c := &Columns{columns: columns, set: make([]setter, len(columns)), places: places}
	for i, col := range columns {
		switch col {
		case ipcsv.First, ipcsv.Last, ipcsv.Network, ipcsv.PrefixLength, ipcsv.Skip:
			continue
		case ipcsv.Place:
			c.set[i] = placeID
			if places != nil {
				c.set[i] = c.place
			}
			continue
		case ipcsv.RegisteredPlace:
			c.set[i] = c.country(func(d *draft) *ipgeo.Country { return &d.RegisteredCountry })
			continue
		case ipcsv.RepresentedPlace:
			c.set[i] = c.country(func(d *draft) *ipgeo.Country { return &d.RepresentedCountry.Country })
			continue
		}
		if name, ok := strings.CutPrefix(string(col), ipcsv.ExtraPrefix); ok {
			is := strings.HasPrefix(name, "is_")
			c.set[i] = func(d *draft, _ string, v any) error {
				s := string(v.(cell))
				if yes, ok := yesNo(s); yes || !ok || !is && !strings.EqualFold(s, "false") { // a no is left out, as for known flags
					d.keep(name, s)
				}
				return nil
			}
			continue
		}
		if c.set[i] = columnSetters[col]; c.set[i] == nil {
			return nil, fmt.Errorf("column %s is not known", col)
		}
	}
	return c, nil
}

// columnSetters are the setters for the columns whose names differ from the fields of GeoIP2.
var columnSetters = func() map[ipcsv.Column]setter {
	m := map[ipcsv.Column]setter{
		ipcsv.Continent:     either(text(continentCode), english(continentNames)),
		ipcsv.ContinentName: english(continentNames),
		ipcsv.Country:       countryCell,
		ipcsv.CountryName:   english(countryNames),
		ipcsv.Region:        regionCell,
		ipcsv.RegionCode:    regionCell,
		ipcsv.RegionName:    english(region(0)),
		ipcsv.DistrictCode:  text(func(d *draft) *string { return &subdivision(d, 1).ISOCode }),
		ipcsv.DistrictName:  english(region(1)),
		ipcsv.City:          english(cityNames),
		ipcsv.ProxyType:     proxyType,
	}
	for path, set := range geoip2.fields {
		if c := ipcsv.Column(path); m[c] == nil {
			m[c] = set
		}
	}
	return m
}()

// proxyType sets the flags of a type of IP2Proxy, and keeps the type.
func proxyType(d *draft, _ string, v any) error {
	t := &d.Traits
	typ := strings.ToUpper(string(v.(cell)))
	switch typ {
	case "PUB", "WEB":
		t.IsPublicProxy = true
	case "VPN", "CPN", "EPN":
		t.IsAnonymousVPN = true
	case "TOR":
		t.IsTorExitNode = true
	case "RES":
		t.IsResidentialProxy = true
	case "DCH":
		t.IsHostingProvider = true
	}
	d.keep(string(ipcsv.ProxyType), typ)
	return nil
}

// countryCell stores the code, or the name if another column has the code, until the row is
// complete.
func countryCell(d *draft, _ string, v any) error {
	d.country = string(v.(cell))
	return nil
}

// regionCell reads an ISO 3166-2 code, with its country or without, or else a name.
func regionCell(d *draft, path string, v any) error {
	var s string
	if err := text(func(*draft) *string { return &s })(d, path, v); err != nil {
		return err
	}
	if ipcsv.IsRegion(s) {
		d.region = strings.ToUpper(s)
	} else if n := &subdivision(d, 0).Names; (*n)["en"] == "" { // a column of names has a better one
		setName(n, "en", s)
	}
	return nil
}

// Record makes a record of a row. The error is either a *Refusal, without a record, or a Loss,
// together with a record.
func (c *Columns) Record(fields [][]byte) (ipgeo.Record, error) {
	c.draft = draft{}
	for i, set := range c.set {
		// In some lists "-" means an empty value.
		if set == nil || len(fields[i]) == 0 || len(fields[i]) == 1 && fields[i][0] == '-' {
			continue
		}
		if err := set(&c.draft, string(c.columns[i]), cell(fields[i])); err != nil {
			return ipgeo.Record{}, err
		}
	}
	return c.draft.finish()
}

var placeID = number(func(d *draft) *uint32 { return &d.place })

func (c *Columns) find(path string, v any) (*geolite.Place, error) {
	id, err := strconv.ParseUint(string(v.(cell)), 10, 32)
	if err != nil {
		return nil, refuse(ReasonNumber, path, v)
	}
	p := c.places.Find(uint32(id))
	if p == nil {
		return nil, &Refusal{ReasonPlace, source.Excerpt(string(v.(cell)))}
	}
	return p, nil
}

// place sets the place to which a row refers.
func (c *Columns) place(d *draft, path string, v any) error {
	p, err := c.find(path, v)
	if err != nil {
		return err
	}
	d.Continent = ipgeo.Continent{Code: p.Continent.Code, GeoNameID: p.Continent.ID, Names: copyNames(&p.Continent)}
	d.Country = placeCountry(p)
	for i := range p.Subdivisions {
		if s := &p.Subdivisions[i]; s.Code != "" || len(s.Names) > 0 {
			*subdivision(d, i) = ipgeo.Subdivision{GeoNameID: s.ID, ISOCode: s.Code, Names: copyNames(s)}
		}
	}
	d.City = ipgeo.City{GeoNameID: p.City.ID, Names: copyNames(&p.City)}
	d.Location.MetroCode, d.Location.TimeZone = p.Metro, p.TimeZone
	return nil
}

// country returns a setter for a country to which a row refers in addition to the country of its
// place.
func (c *Columns) country(of func(*draft) *ipgeo.Country) setter {
	return func(d *draft, path string, v any) error {
		if c.places == nil {
			return number(func(d *draft) *uint32 { return &of(d).GeoNameID })(d, path, v)
		}
		p, err := c.find(path, v)
		if err != nil {
			return err
		}
		*of(d) = placeCountry(p)
		return nil
	}
}

func placeCountry(p *geolite.Place) ipgeo.Country {
	return ipgeo.Country{GeoNameID: p.Country.ID, IsInEuropeanUnion: p.EU, ISOCode: p.Country.Code, Names: copyNames(&p.Country)}
}

// copyNames copies the names, because places share their maps.
func copyNames(p *geolite.Part) ipgeo.Names {
	if len(p.Names) == 0 {
		return nil
	}
	return maps.Clone(p.Names)
}
