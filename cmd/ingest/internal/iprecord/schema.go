package iprecord

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"quadrille/cmd/ingest/internal/source/ipcsv"
	"quadrille/ipgeo"
)

// Schema maps the fields of a MaxMind DB's records, by their dotted path, to their meaning. Other
// fields are stored in Record.Extra under the source's own names.
type Schema struct {
	Name   string
	fields map[string]setter
	// list is the path of the subdivisions, if they are a list of maps, and division the table for
	// one of these maps.
	list     string
	division map[string]func(*ipgeo.Subdivision) setter
}

// geoip2 is the schema of GeoIP2, GeoLite2 and DB-IP databases, of the databases that ingest
// export ip writes, and of many that follow them. In ISP, ASN, Domain, Connection-Type and
// Anonymous-IP databases, the fields of traits stand at the top level.
var geoip2 = Schema{
	Name: "GeoIP2",
	fields: join(
		map[string]setter{
			"city.confidence": number(func(d *draft) *uint8 { return &d.City.Confidence }),
			"city.geoname_id": number(func(d *draft) *uint32 { return &d.City.GeoNameID }),
			"city.names":      names(func(d *draft) *ipgeo.Names { return &d.City.Names }),

			"continent.code":       text(continentCode),
			"continent.geoname_id": number(func(d *draft) *uint32 { return &d.Continent.GeoNameID }),
			"continent.names":      names(func(d *draft) *ipgeo.Names { return &d.Continent.Names }),

			"location.accuracy_radius":    number(func(d *draft) *uint16 { return &d.Location.AccuracyRadius }),
			"location.average_income":     number(func(d *draft) *uint32 { return &d.Location.AverageIncome }),
			"location.latitude":           degrees(func(d *draft) **float64 { return &d.Location.Latitude }, 90, ReasonLatitude),
			"location.longitude":          degrees(func(d *draft) **float64 { return &d.Location.Longitude }, 180, ReasonLongitude),
			"location.metro_code":         number(func(d *draft) *uint16 { return &d.Location.MetroCode }),
			"location.population_density": number(func(d *draft) *uint32 { return &d.Location.PopulationDensity }),
			"location.time_zone":          text(func(d *draft) *string { return &d.Location.TimeZone }),

			"postal.code":       text(func(d *draft) *string { return &d.Postal.Code }),
			"postal.confidence": number(func(d *draft) *uint8 { return &d.Postal.Confidence }),

			"represented_country.type": text(func(d *draft) *string { return &d.RepresentedCountry.Type }),

			"average_income":     number(func(d *draft) *uint32 { return &d.Location.AverageIncome }),
			"population_density": number(func(d *draft) *uint32 { return &d.Location.PopulationDensity }),
			"score":              score,
		},
		countryFields("country.", func(d *draft) *ipgeo.Country { return &d.Country }),
		countryFields("registered_country.", func(d *draft) *ipgeo.Country { return &d.RegisteredCountry }),
		countryFields("represented_country.", func(d *draft) *ipgeo.Country { return &d.RepresentedCountry.Country }),
		traits("traits."),
		traits(""),
	),
	list: "subdivisions",
	division: map[string]func(*ipgeo.Subdivision) setter{
		"confidence": func(s *ipgeo.Subdivision) setter { return number(func(*draft) *uint8 { return &s.Confidence }) },
		"geoname_id": func(s *ipgeo.Subdivision) setter { return number(func(*draft) *uint32 { return &s.GeoNameID }) },
		"iso_code":   func(s *ipgeo.Subdivision) setter { return text(func(*draft) *string { return &s.ISOCode }) },
		"names":      func(s *ipgeo.Subdivision) setter { return names(func(*draft) *ipgeo.Names { return &s.Names }) },
	},
}

// iplocation is the schema of ip-location-db: flat, one field per column of
// its lists.
var iplocation = Schema{
	Name: "ip-location-db",
	fields: columnsOf("country_code state1 state2 city postcode latitude longitude timezone " +
		"autonomous_system_number autonomous_system_organization"),
}

// ipinfo is the schema of IPinfo's databases. Older ones have codes where newer ones have names.
// The domain belongs to the network's owner and not to the address, so it is stored in Extra.
var ipinfo = Schema{
	Name: "IPinfo",
	fields: join(
		columnsOf("continent continent_code continent_name country_code country_name region region_name region_code city "+
			"postal postal_code lat lng latitude longitude timezone asn as_name carrier_name mcc mnc is_anonymous is_anycast "+
			"is_hosting is_satellite hosting vpn is_vpn tor is_tor proxy is_proxy"),
		map[string]setter{
			"country":    either(columnSetters[ipcsv.CountryCode], english(countryNames)),
			"geoname_id": written(placeID),
			"radius":     written(columnSetters[ipcsv.Radius]), // km
			"dma_code":   written(columnSetters[ipcsv.Metro]),
			"name":       named,
		}),
}

// columnsOf returns fields with the names of the columns of lists.
func columnsOf(names string) map[string]setter {
	fields := map[string]setter{}
	for name := range strings.FieldsSeq(names) {
		fields[name] = columnSetters[ipcsv.ColumnNamed(name)]
	}
	return fields
}

func continentCode(d *draft) *string       { return &d.Continent.Code }
func continentNames(d *draft) *ipgeo.Names { return &d.Continent.Names }
func countryNames(d *draft) *ipgeo.Names   { return &d.Country.Names }
func cityNames(d *draft) *ipgeo.Names      { return &d.City.Names }
func asOrganization(d *draft) *string      { return &d.Traits.AutonomousSystemOrganization }

// named reads a name. The fields before it, in the order of names, show what it names: a company
// with its autonomous system, an autonomous system, or a mobile carrier.
func named(d *draft, path string, v any) error {
	switch {
	case d.Traits.AutonomousSystemOrganization != "":
		return text(func(d *draft) *string { return &d.Traits.Organization })(d, path, v)
	case d.Traits.AutonomousSystemNumber != 0:
		return text(asOrganization)(d, path, v)
	case d.Traits.MobileCountryCode != "":
		return columnSetters["traits.isp"](d, path, v)
	}
	d.keep(path, v)
	return nil
}

// written returns a setter for numbers that may be text. An empty text counts as a missing number.
func written(set setter) setter {
	return func(d *draft, path string, v any) error {
		if s, ok := v.(string); ok {
			if s == "" {
				return nil
			}
			v = cell(s)
		}
		return set(d, path, v)
	}
}

func region(i int) func(*draft) *ipgeo.Names {
	return func(d *draft) *ipgeo.Names { return &subdivision(d, i).Names }
}

func countryFields(prefix string, of func(*draft) *ipgeo.Country) map[string]setter {
	return map[string]setter{
		prefix + "confidence":           number(func(d *draft) *uint8 { return &of(d).Confidence }),
		prefix + "geoname_id":           number(func(d *draft) *uint32 { return &of(d).GeoNameID }),
		prefix + "is_in_european_union": flag(func(d *draft) *bool { return &of(d).IsInEuropeanUnion }),
		prefix + "iso_code":             text(func(d *draft) *string { return &of(d).ISOCode }),
		prefix + "names":                names(func(d *draft) *ipgeo.Names { return &of(d).Names }),
	}
}

func traits(prefix string) map[string]setter {
	return map[string]setter{
		prefix + "autonomous_system_number":       asn,
		prefix + "autonomous_system_organization": text(asOrganization),
		prefix + "connection_type":                text(func(d *draft) *string { return &d.Traits.ConnectionType }),
		prefix + "domain":                         text(func(d *draft) *string { return &d.Traits.Domain }),
		prefix + "is_anonymous":                   flag(func(d *draft) *bool { return &d.Traits.IsAnonymous }),
		prefix + "is_anonymous_vpn":               flag(func(d *draft) *bool { return &d.Traits.IsAnonymousVPN }),
		prefix + "is_anycast":                     flag(func(d *draft) *bool { return &d.Traits.IsAnycast }),
		prefix + "is_hosting_provider":            flag(func(d *draft) *bool { return &d.Traits.IsHostingProvider }),
		prefix + "is_legitimate_proxy":            flag(func(d *draft) *bool { return &d.Traits.IsLegitimateProxy }),
		prefix + "is_public_proxy":                flag(func(d *draft) *bool { return &d.Traits.IsPublicProxy }),
		prefix + "is_residential_proxy":           flag(func(d *draft) *bool { return &d.Traits.IsResidentialProxy }),
		prefix + "is_satellite_provider":          flag(func(d *draft) *bool { return &d.Traits.IsSatelliteProvider }),
		prefix + "is_tor_exit_node":               flag(func(d *draft) *bool { return &d.Traits.IsTorExitNode }),
		prefix + "isp":                            text(func(d *draft) *string { return &d.Traits.ISP }),
		prefix + "mobile_country_code":            text(func(d *draft) *string { return &d.Traits.MobileCountryCode }),
		prefix + "mobile_network_code":            text(func(d *draft) *string { return &d.Traits.MobileNetworkCode }),
		prefix + "organization":                   text(func(d *draft) *string { return &d.Traits.Organization }),
		prefix + "static_ip_score":                score,
		prefix + "user_count":                     number(func(d *draft) *uint32 { return &d.Traits.UserCount }),
		prefix + "user_type":                      text(func(d *draft) *string { return &d.Traits.UserType }),
	}
}

func join(tables ...map[string]setter) map[string]setter {
	all := map[string]setter{}
	for _, t := range tables {
		maps.Copy(all, t)
	}
	return all
}

// ErrSchema is the error if no schema knows any field of a database.
type ErrSchema struct {
	Type   string
	Fields []string // some of the database's fields
}

func (e *ErrSchema) Error() string {
	return fmt.Sprintf("a database of type %q with fields no schema knows (%s); convert it to a list in columns and name those by --columns",
		e.Type, strings.Join(e.Fields, ", "))
}

// Detect chooses the schema of a database by its type and its first records. A type that is one of
// a publisher's own names decides, even if all fields are unknown. Otherwise the schema that knows
// most of the fields is chosen. The error is an *ErrSchema.
func Detect(databaseType string, sample []map[string]any) (*Schema, error) {
	lower := strings.ToLower(databaseType)
	for prefix, s := range map[string]*Schema{"geoip": &geoip2, "geolite": &geoip2, "dbip": &geoip2, "quadrille": &geoip2, "ipinfo": &ipinfo} {
		if strings.HasPrefix(lower, prefix) {
			return s, nil
		}
	}
	var best *Schema
	most := 0
	for _, s := range []*Schema{&geoip2, &iplocation, &ipinfo} {
		known := 0
		for _, m := range sample {
			known += s.known("", m)
		}
		if known > most {
			best, most = s, known
		}
	}
	if best == nil {
		seen := map[string]bool{}
		for _, m := range sample {
			for name := range m {
				seen[name] = true
			}
		}
		fields := slices.Sorted(maps.Keys(seen))
		return nil, &ErrSchema{databaseType, fields[:min(len(fields), 10)]}
	}
	return best, nil
}

// known counts the fields that the schema has.
func (s *Schema) known(prefix string, m map[string]any) (n int) {
	for name, v := range m {
		path := prefix + name
		_, isMap := v.(map[string]any)
		switch {
		case s.fields[path] != nil && (!isMap || strings.HasSuffix(path, "names")), path == s.list:
			n++
		case isMap && prefix == "": // no schema is deeper
			n += s.known(path+".", v.(map[string]any))
		}
	}
	return n
}

// Record makes a record of a database's fields. If a type or value is absurd, the whole record is
// refused, because the rest may also be wrong. The error is either a *Refusal, without a record, or
// a Loss, together with a record.
func (s *Schema) Record(fields map[string]any) (ipgeo.Record, error) {
	var d draft
	extra, err := s.take(&d, "", fields)
	if err != nil {
		return ipgeo.Record{}, err
	}
	for name, v := range extra {
		d.keep(name, v)
	}
	return d.finish()
}

// take puts the members of a map into the record and returns the unknown ones, or nil for none. It
// proceeds in the order of names. So if there are several mistakes, it always reports the same one.
func (s *Schema) take(d *draft, prefix string, m map[string]any) (extra map[string]any, err error) {
	keep := func(name string, v any) {
		if extra == nil {
			extra = map[string]any{}
		}
		extra[name] = v
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		path, v := prefix+name, m[name]
		if set := s.fields[path]; set != nil {
			if err := set(d, path, v); err != nil {
				return nil, err
			}
			continue
		}
		if path == s.list && s.list != "" {
			rest, err := s.takeList(d, v)
			if err != nil {
				return nil, err
			}
			if rest != nil {
				keep(name, rest)
			}
			continue
		}
		inner, isMap := v.(map[string]any)
		if !isMap || prefix != "" {
			if s.isObject(path) { // text where city and its like are
				return nil, refuse(ReasonType, path, v)
			}
			keep(name, v)
			continue
		}
		rest, err := s.take(d, path+".", inner)
		if err != nil {
			return nil, err
		}
		if rest != nil {
			keep(name, rest)
		}
	}
	return extra, nil
}

// isObject reports whether the schema has fields below path.
func (s *Schema) isObject(path string) bool {
	for known := range s.fields {
		if strings.HasPrefix(known, path) && len(known) > len(path) && known[len(path)] == '.' {
			return true
		}
	}
	return false
}

// maxDivisions bounds the subdivisions of a record: there are two at most.
const maxDivisions = 16

func (s *Schema) takeList(d *draft, v any) (extra []any, err error) {
	list, ok := v.([]any)
	if !ok || len(list) > maxDivisions {
		return nil, refuse(ReasonType, s.list, v)
	}
	for i, v := range list {
		m, ok := v.(map[string]any)
		if !ok {
			return nil, refuse(ReasonType, s.list, v)
		}
		sub := subdivision(d, i)
		var rest map[string]any
		for _, name := range slices.Sorted(maps.Keys(m)) {
			set := s.division[name]
			if set == nil {
				if rest == nil {
					rest = map[string]any{}
				}
				rest[name] = m[name]
				continue
			}
			if err := set(sub)(d, s.list+"."+name, m[name]); err != nil {
				return nil, err
			}
		}
		if rest != nil {
			extra = append(extra, rest)
		}
	}
	return extra, nil
}
