// Package iprecord converts the values of IP sources to records of package ipgeo. The values are
// fields of MaxMind DB records, for which there is one table per schema, or columns of lists.
package iprecord

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/ipcsv"
	"quadrille/cmd/internal/iso3166"
	"quadrille/ipgeo"
)

// Refusal is the reason why a record cannot be made. Callers that know the record's position add
// it to the report.
type Refusal struct {
	Reason string // one of a small fixed set
	Detail string
}

func (r *Refusal) Error() string {
	if r.Detail == "" {
		return r.Reason
	}
	return r.Reason + ": " + r.Detail
}

// Loss is an error together with a record that lacks one or more fields of its source. The rest of
// the record is good.
type Loss []*Refusal

func (l Loss) Error() string {
	var all []error
	for _, r := range l {
		all = append(all, r)
	}
	return errors.Join(all...).Error()
}

// These are the reasons of a Refusal.
const (
	ReasonCountry   = "not a country code"
	ReasonType      = "field of the wrong type"
	ReasonNumber    = "number out of range"
	ReasonLatitude  = "latitude out of range"
	ReasonLongitude = "longitude out of range"
	ReasonHalf      = "latitude without longitude, or the reverse"
	ReasonRegion    = "region is not of the country, and was left out"
	ReasonPlace     = "no place has this geoname_id"
	ReasonOrigins   = "several autonomous systems, of which the first counts"
)

func refuse(reason, path string, v any) error {
	return &Refusal{Reason: reason, Detail: path + " " + source.Excerpt(fmt.Sprint(v))}
}

// cell is a field of a list, where all values are text.
type cell string

// draft is a record that is being made.
type draft struct {
	ipgeo.Record
	country string // a code or a name
	region  string // ISO 3166-2 code, which is checked against the country
	place   uint32 // geoname_id of the narrowest thing that is named
	lost    Loss
}

// setter sets a value of the record; path identifies it in errors.
type setter func(d *draft, path string, v any) error

func text(of func(*draft) *string) setter {
	return func(d *draft, path string, v any) error {
		switch v := v.(type) {
		case string:
			*of(d) = v
		case cell:
			*of(d) = string(v)
		default:
			return refuse(ReasonType, path, v)
		}
		return nil
	}
}

func number[T uint8 | uint16 | uint32](of func(*draft) *T) setter {
	return func(d *draft, path string, v any) error {
		var n uint64
		ok := true
		switch v := v.(type) {
		case uint64:
			n = v
		case int64:
			n, ok = uint64(v), v >= 0
		case float64:
			n, ok = uint64(max(v, 0)), v >= 0 && v == math.Trunc(v) && v < 1<<53
		case cell:
			var err error
			n, err = strconv.ParseUint(string(v), 10, 64)
			ok = err == nil
		default:
			return refuse(ReasonType, path, v)
		}
		if !ok || n > uint64(^T(0)) {
			return refuse(ReasonNumber, path, v)
		}
		*of(d) = T(n)
		return nil
	}
}

// asn reads a number of an autonomous system, which may be written AS64512.
func asn(d *draft, path string, v any) error {
	switch w := v.(type) {
	case string:
		v = cell(w)
	case cell:
		v = w
	}
	if s, ok := v.(cell); ok {
		if len(s) > 2 && strings.EqualFold(string(s[:2]), "AS") {
			s = s[2:]
		}
		if s == "" {
			return nil
		}
		// Prefix-to-AS lists join the origins of a network by _, and sets of them by commas.
		if i := strings.IndexAny(string(s), "_,"); i > 0 && source.IsDigits(strings.NewReplacer("_", "", ",", "").Replace(string(s))) {
			d.lost = append(d.lost, &Refusal{ReasonOrigins, source.Excerpt(s)})
			s = s[:i]
		}
		v = s
	}
	return number(func(d *draft) *uint32 { return &d.Traits.AutonomousSystemNumber })(d, path, v)
}

func flag(of func(*draft) *bool) setter {
	return func(d *draft, path string, v any) error {
		ok := true
		switch v := v.(type) {
		case bool:
			*of(d) = v
		case cell:
			*of(d), ok = yesNo(string(v))
		case string:
			*of(d), ok = yesNo(v)
		case uint64:
			*of(d), ok = v == 1, v <= 1
		default:
			ok = false
		}
		if !ok {
			return refuse(ReasonType, path, v)
		}
		return nil
	}
}

// yesNo reads a flag written as text. An empty text means no.
func yesNo(s string) (yes, ok bool) {
	switch strings.ToLower(s) {
	case "1", "true", "yes":
		return true, true
	case "", "0", "false", "no":
		return false, true
	}
	return false, false
}

// decimal reads a number. Sources without types write it as text.
func decimal(path string, v any) (float64, error) {
	var s string
	switch v := v.(type) {
	case float64:
		return v, nil
	case uint64:
		return float64(v), nil
	case int64:
		return float64(v), nil
	case string:
		s = v
	case cell:
		s = string(v)
	default:
		return 0, refuse(ReasonType, path, v)
	}
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return 0, refuse(ReasonType, path, v)
	}
	return f, nil
}

func degrees(of func(*draft) **float64, most float64, reason string) setter {
	return func(d *draft, path string, v any) error {
		if v == "" {
			return nil
		}
		f, err := decimal(path, v)
		if err != nil {
			return err
		}
		if !(math.Abs(f) <= most) {
			return refuse(reason, path, v)
		}
		f += 0 // -0 is 0
		*of(d) = &f
		return nil
	}
}

func score(d *draft, path string, v any) error {
	f, err := decimal(path, v)
	if err != nil {
		return err
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return refuse(ReasonNumber, path, v)
	}
	d.Traits.StaticIPScore = f
	return nil
}

// names reads the names of an object by language.
func names(of func(*draft) *ipgeo.Names) setter {
	return func(d *draft, path string, v any) error {
		m, ok := v.(map[string]any)
		if !ok {
			return refuse(ReasonType, path, v)
		}
		for lang, name := range m {
			s, ok := name.(string)
			if !ok {
				return refuse(ReasonType, path+"."+lang, name)
			}
			setName(of(d), lang, s)
		}
		return nil
	}
}

// english reads the name of an object if the source has only one name.
func english(of func(*draft) *ipgeo.Names) setter {
	return func(d *draft, path string, v any) error {
		var s string
		if err := text(func(*draft) *string { return &s })(d, path, v); err != nil {
			return err
		}
		setName(of(d), "en", s)
		return nil
	}
}

func setName(n *ipgeo.Names, lang, name string) {
	if lang == "" || name == "" {
		return
	}
	if *n == nil {
		*n = ipgeo.Names{}
	}
	(*n)[lang] = name
}

// either reads a code of two letters, or a name if the text is longer. Sources do not agree on the
// content of "country" and "continent".
func either(code, name setter) setter {
	return func(d *draft, path string, v any) error {
		var s string
		if err := text(func(*draft) *string { return &s })(d, path, v); err != nil {
			return err
		}
		if len(s) == 2 || ipcsv.IsUnknown(s) {
			return code(d, path, v)
		}
		return name(d, path, v)
	}
}

// subdivision returns the i-th subdivision, and creates it if it is missing.
func subdivision(d *draft, i int) *ipgeo.Subdivision {
	for len(d.Subdivisions) <= i {
		d.Subdivisions = append(d.Subdivisions, ipgeo.Subdivision{})
	}
	return &d.Subdivisions[i]
}

// isZoneName reports whether s has the form of IANA names.
func isZoneName(s string) bool {
	slash := true // a part has to begin
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		switch {
		case c == '/' && !slash:
			slash = true
		case letter, i > 0 && ('0' <= c && c <= '9' || c == '_' || c == '+' || c == '-'):
			slash = false
		default:
			return false
		}
	}
	return !slash
}

// country has the values that follow from a country code alone. Records share it.
type country struct {
	iso3166.Country
	ok               bool
	names, continent ipgeo.Names
}

// countries are all codes of two capital letters, looked up once: a list has
// millions.
var countries = sync.OnceValue(func() *[26 * 26]country {
	var all [26 * 26]country
	for i := range all {
		c, ok := iso3166.Lookup(string([]byte{'A' + byte(i/26), 'A' + byte(i%26)}))
		all[i] = country{Country: c, ok: ok && c.Name != ""} // only assigned codes have a name
		setName(&all[i].names, "en", c.Name)
		setName(&all[i].continent, "en", iso3166.ContinentName(c.Continent))
	}
	return &all
})

// countryOf looks up a code, in either case of letters. It returns nil if the code is not
// assigned.
func countryOf(code string) *country {
	if len(code) != 2 {
		return nil
	}
	a, b := code[0]&^0x20-'A', code[1]&^0x20-'A'
	if a >= 26 || b >= 26 || code[0] < 'A' || code[1] < 'A' {
		return nil
	}
	if c := &countries()[int(a)*26+int(b)]; c.ok {
		return c
	}
	return nil
}

// finish checks values that depend on several fields, and adds the values that the country code
// alone implies.
func (d *draft) finish() (ipgeo.Record, error) {
	if d.Country.ISOCode == "" {
		d.Country.ISOCode = d.country
	} else if len(d.country) > 2 {
		setName(&d.Country.Names, "en", d.country)
	}
	for _, c := range []*string{&d.Country.ISOCode, &d.RegisteredCountry.ISOCode, &d.RepresentedCountry.ISOCode} {
		if ipcsv.IsUnknown(*c) {
			*c = ""
			continue
		}
		known := countryOf(*c)
		if known == nil {
			return ipgeo.Record{}, &Refusal{ReasonCountry, source.Excerpt(*c)}
		}
		*c = known.Code
	}
	switch code := strings.ToUpper(d.Continent.Code); {
	case ipcsv.IsUnknown(code):
		d.Continent.Code = ""
	case iso3166.ContinentName(code) == "":
		return ipgeo.Record{}, &Refusal{"not a continent code", source.Excerpt(code)}
	default:
		if d.Continent.Code = code; len(d.Continent.Names) == 0 {
			setName(&d.Continent.Names, "en", iso3166.ContinentName(code))
		}
	}
	if (d.Location.Latitude == nil) != (d.Location.Longitude == nil) {
		return ipgeo.Record{}, &Refusal{Reason: ReasonHalf}
	}
	d.setRegion()
	if z := d.Location.TimeZone; z != "" && !isZoneName(z) {
		d.Location.TimeZone = ""
		d.keep("time_zone", z)
	}
	// AS 0 belongs to no organization; sources call it "Not routed".
	if d.Traits.AutonomousSystemNumber == 0 && d.Traits.AutonomousSystemOrganization == "Not routed" {
		d.Traits.AutonomousSystemOrganization = ""
	}
	d.Subdivisions = slices.DeleteFunc(d.Subdivisions, func(s ipgeo.Subdivision) bool {
		return s.ISOCode == "" && s.GeoNameID == 0 && len(s.Names) == 0
	})
	if len(d.Subdivisions) == 0 {
		d.Subdivisions = nil
	}
	d.setPlace()
	addCountry(&d.Record)
	if d.lost != nil {
		return d.Record, d.lost
	}
	return d.Record, nil
}

// addCountry adds the values that the country code alone implies and the source lacks.
func addCountry(r *ipgeo.Record) {
	c := countryOf(r.Country.ISOCode)
	if c == nil {
		return
	}
	// If the source has names, it needs no further ones, and an id from the source is more specific
	// than the code.
	from, to := 1, 1 // of implied
	if len(r.Country.Names) == 0 {
		if r.Country.GeoNameID == 0 {
			from = 0
		}
		r.Country.IsInEuropeanUnion = r.Country.IsInEuropeanUnion || c.EU
		r.Country.Names = c.names
	}
	if r.Continent.Code == "" && len(r.Continent.Names) == 0 && c.Continent != "" {
		r.Continent.Code, r.Continent.Names = c.Continent, c.continent
		to = 2
	}
	if from < to {
		r.ImpliedFields = implied[from:to]
	}
}

// implied are the fields that follow from the code of a country. Records share it.
var implied = []string{"country", "continent"}

// SetCountry gives a record without a country one, by its code. It reports
// whether the code is a country's.
func SetCountry(r *ipgeo.Record, code string) bool {
	c := countryOf(code)
	if c != nil {
		r.Country.ISOCode = c.Code
		addCountry(r)
	}
	return c != nil
}

// setPlace sets the id of the narrowest part that the record names, to the id of the place.
// Publishers use a country's id if they know no city. If there is only a point or a postal code,
// the meaning of the id is unclear, so it becomes an extra field.
func (d *draft) setPlace() {
	r, id := &d.Record, d.place
	switch {
	case id == 0:
	case len(r.City.Names) > 0:
		r.City.GeoNameID = id
	case len(r.Subdivisions) > 0:
		r.Subdivisions[len(r.Subdivisions)-1].GeoNameID = id
	case r.Location.Latitude != nil || r.Postal.Code != "":
		d.keep("geoname_id", uint64(id))
	case r.Country.ISOCode == "" && len(r.Country.Names) == 0 && (r.Continent.Code != "" || len(r.Continent.Names) > 0):
		r.Continent.GeoNameID = id
	default:
		r.Country.GeoNameID = id
	}
}

// setRegion puts the ISO 3166-2 code of a region into its subdivision. A region of another country
// is dropped, because the country is more reliable.
func (d *draft) setRegion() {
	country, code, whole := strings.Cut(d.region, "-")
	if !whole {
		country, code = d.Country.ISOCode, d.region
	}
	if c := countryOf(country); whole && c == nil || d.Country.ISOCode != "" && c.Code != d.Country.ISOCode {
		d.lost = append(d.lost, &Refusal{ReasonRegion, source.Excerpt(d.Country.ISOCode + " " + d.region)})
	} else if code != "" {
		subdivision(d, 0).ISOCode = code
	}
}

// keep stores a value without a field of its own in Extra, unless it is an empty text.
func (d *draft) keep(name string, v any) {
	if v == "" {
		return
	}
	if d.Extra == nil {
		d.Extra = map[string]any{}
	}
	d.Extra[name] = v
}
