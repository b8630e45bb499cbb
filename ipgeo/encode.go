package ipgeo

import (
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"quadrille/internal/jsontext"
	"quadrille/quadkey"
)

// maxRecord bounds an encoded record. The largest known records have about 3
// KiB.
const maxRecord = 64 << 10

// maxDepth bounds the nesting of values in Record.Extra.
const maxDepth = 16

var (
	errEmptyRecord = errors.New("the record says nothing")
	errCode        = errors.New("a country or continent code is not two capital letters")
	errPoint       = errors.New("only one of latitude and longitude is given")
	errNumber      = errors.New("a number is not finite")
	errExtra       = errors.New("an extra field has a type that JSON lacks")
	errDepth       = fmt.Errorf("an extra field is nested over %d deep", maxDepth)
	errDerived     = errors.New("derived names a field that cannot be")
	errRecordSize  = fmt.Errorf("the encoded record is over %d bytes", maxRecord)
)

// The parts of a record are the units of merging: each part comes from one
// source as a whole. Their numbers are the order of answers. On disk the parts
// are joined into the sections of rowkey.go.
const (
	partContinent = iota
	partCountry
	partRegistered
	partRepresented
	partCity
	partPoint   // coordinates with their radius
	partRadius  // a radius without coordinates
	partIncome  // the rest of location, in the order of answers
	partMetro   //
	partDensity //
	partZone    //
	partPostal
	partSubdivisions
	partTraits // the first of traitNames

	partCount = partTraits + len(traitNames)

	// Besides the parts, the record of one source holds:
	tagCode        = 0x80 // the country's code
	tagCoordinates = 0x81 // latitude and longitude
	tagDerived     = 0x82 // a bit for each derived part, and impliedShift above one for each implied part
	tagExtra       = 0x83 // one member of extra; there may be many
	tagNothing     = 0x84 // alone in a record that has no answer
)

// partNames are the JSON members of the parts that are one member each.
var partNames = [partCount]string{
	partContinent: "continent", partCountry: "country", partRegistered: "registered_country",
	partRepresented: "represented_country", partCity: "city", partRadius: "accuracy_radius",
	partIncome: "average_income", partMetro: "metro_code", partDensity: "population_density",
	partZone: "time_zone", partPostal: "postal", partSubdivisions: "subdivisions",
}

// traitNames are the members of traits, in the order of answers.
var traitNames = [...]string{
	"autonomous_system_number", "autonomous_system_organization", "connection_type", "domain",
	"is_anonymous", "is_anonymous_vpn", "is_anycast", "is_hosting_provider", "is_legitimate_proxy",
	"is_public_proxy", "is_residential_proxy", "is_satellite_provider", "is_tor_exit_node",
	"isp", "mobile_country_code", "mobile_network_code", "organization", "static_ip_score",
	"user_count", "user_type",
}

const partASN = partTraits

func init() { copy(partNames[partTraits:], traitNames[:]) }

// derivable are the valid names of Record.DerivedFields, with their parts, in the order of answers.
var derivable = []struct {
	name string
	part int
}{
	{"continent", partContinent},
	{"country", partCountry},
	{"registered_country", partRegistered},
	{"city", partCity},
	{"location", partPoint},
	{"location.metro_code", partMetro},
	{"location.time_zone", partZone},
	{"postal", partPostal},
	{"subdivisions", partSubdivisions},
}

// encoder turns the record of one source into its parts: each a tag, three
// bytes of length, and the part as JSON. It reuses its memory, so its result is
// valid until the next call.
type encoder struct {
	objectWriter
	err  error
	keys []string
}

func (e *encoder) encode(r *Record) ([]byte, error) {
	e.b, e.err = e.b[:0], nil
	e.continent(&r.Continent)
	e.country(partCountry, &RepresentedCountry{Country: r.Country})
	e.country(partRegistered, &RepresentedCountry{Country: r.RegisteredCountry})
	e.country(partRepresented, &r.RepresentedCountry)
	e.place(partCity, r.City.Confidence, r.City.GeoNameID, "", r.City.Names)
	e.location(&r.Location)
	e.postal(&r.Postal)
	e.subdivisions(r.Subdivisions)
	e.traits(&r.Traits)
	e.extra(r.Extra)
	if e.err == nil && len(e.b) == 0 {
		e.err = errEmptyRecord
	}
	// The following parts alone do not make a record.
	e.notStated(r)
	if code := r.Country.ISOCode; code != "" {
		at := e.begin(tagCode)
		e.b = append(e.b, code...)
		e.end(at)
	}
	if e.err == nil && len(e.b) > maxRecord {
		e.err = errRecordSize
	}
	return e.b, e.err
}

const partHeader = 4

func (e *encoder) begin(tag int) (at int) {
	at = len(e.b)
	e.b = append(e.b, byte(tag), 0, 0, 0)
	return at
}

// end writes the length of the part that starts at offset at, or removes the part if it is empty.
func (e *encoder) end(at int) {
	n := len(e.b) - at - partHeader
	switch {
	case n == 0:
		e.b = e.b[:at]
	case n >= 1<<24:
		e.err = errRecordSize
	default:
		e.b[at+1], e.b[at+2], e.b[at+3] = byte(n), byte(n>>8), byte(n>>16)
	}
}

func (e *encoder) beginObject(tag int) (at int) {
	at = e.begin(tag)
	e.b = append(e.b, '{')
	return at
}

func (e *encoder) endObject(at int) {
	if len(e.b) == at+partHeader+1 {
		e.b = e.b[:at]
		return
	}
	e.b = append(e.b, '}')
	e.end(at)
}

func (e *encoder) checkCode(code string) {
	if code != "" && !isCode(code) {
		e.err = errCode
	}
}

func (e *encoder) continent(c *Continent) {
	e.checkCode(c.Code)
	at := e.beginObject(partContinent)
	e.string("code", c.Code)
	e.number("geoname_id", c.GeoNameID)
	e.names(c.Names)
	e.endObject(at)
}

func (e *encoder) country(part int, c *RepresentedCountry) {
	e.checkCode(c.ISOCode)
	at := e.beginObject(part)
	e.number("confidence", uint32(c.Confidence))
	e.number("geoname_id", c.GeoNameID)
	e.flag("is_in_european_union", c.IsInEuropeanUnion)
	e.string("iso_code", c.ISOCode)
	e.names(c.Names)
	e.string("type", c.Type)
	e.endObject(at)
}

func (e *encoder) place(part int, confidence uint8, id uint32, code string, names Names) {
	at := e.beginObject(part)
	e.members(confidence, id, code, names)
	e.endObject(at)
}

func (e *encoder) members(confidence uint8, id uint32, code string, names Names) {
	e.number("confidence", uint32(confidence))
	e.number("geoname_id", id)
	e.string("iso_code", code)
	e.names(names)
}

func (e *encoder) location(l *Location) {
	if (l.Latitude == nil) != (l.Longitude == nil) {
		e.err = errPoint
	}
	if l.Latitude == nil || l.Longitude == nil {
		e.count(partRadius, uint32(l.AccuracyRadius))
	} else {
		lat, lon := *l.Latitude+0, *l.Longitude+0 // -0 becomes 0, which is the same place
		if err := quadkey.CheckCoordinate(lon, lat); err != nil {
			e.err = err
			return
		}
		at := e.begin(partPoint)
		if l.AccuracyRadius != 0 {
			e.b = append(e.b, `"accuracy_radius":`...)
			e.b = append(strconv.AppendUint(e.b, uint64(l.AccuracyRadius), 10), ',')
		}
		e.b = appendNumber(append(e.b, `"latitude":`...), lat)
		e.b = appendNumber(append(e.b, `,"longitude":`...), lon)
		e.end(at)
		at = e.begin(tagCoordinates)
		e.b = appendCoordinates(e.b, lat, lon)
		e.end(at)
	}
	e.count(partIncome, l.AverageIncome)
	e.count(partMetro, uint32(l.MetroCode))
	e.count(partDensity, l.PopulationDensity)
	e.text(partZone, l.TimeZone)
}

func (e *encoder) postal(p *Postal) {
	at := e.beginObject(partPostal)
	e.string("code", p.Code)
	e.number("confidence", uint32(p.Confidence))
	e.endObject(at)
}

func (e *encoder) subdivisions(list []Subdivision) {
	at := e.begin(partSubdivisions)
	for i := range list {
		s := &list[i]
		before := len(e.b)
		c := byte(',')
		if before == at+partHeader {
			c = '['
		}
		e.b = append(e.b, c, '{')
		e.members(s.Confidence, s.GeoNameID, s.ISOCode, s.Names)
		if len(e.b) == before+2 { // the subdivision is empty
			e.b = e.b[:before]
			continue
		}
		e.b = append(e.b, '}')
	}
	if len(e.b) > at+partHeader {
		e.b = append(e.b, ']')
	}
	e.end(at)
}

func (e *encoder) traits(t *Traits) {
	part := partTraits
	next := func() int { part++; return part - 1 }
	// The order is that of traitNames.
	e.count(next(), t.AutonomousSystemNumber)
	e.text(next(), t.AutonomousSystemOrganization)
	e.text(next(), t.ConnectionType)
	e.text(next(), t.Domain)
	for _, flag := range [...]bool{
		t.IsAnonymous, t.IsAnonymousVPN, t.IsAnycast, t.IsHostingProvider, t.IsLegitimateProxy,
		t.IsPublicProxy, t.IsResidentialProxy, t.IsSatelliteProvider, t.IsTorExitNode,
	} {
		at := e.begin(next())
		if flag {
			e.b = append(e.b, "true"...)
		}
		e.end(at)
	}
	e.text(next(), t.ISP)
	e.text(next(), t.MobileCountryCode)
	e.text(next(), t.MobileNetworkCode)
	e.text(next(), t.Organization)
	at := e.begin(next())
	if t.StaticIPScore != 0 {
		e.float(t.StaticIPScore)
	}
	e.end(at)
	e.count(next(), t.UserCount)
	e.text(next(), t.UserType)
}

func (e *encoder) count(part int, v uint32) {
	if v != 0 {
		at := e.begin(part)
		e.b = strconv.AppendUint(e.b, uint64(v), 10)
		e.end(at)
	}
}

func (e *encoder) text(part int, v string) {
	if v != "" {
		at := e.begin(part)
		e.b = jsontext.AppendString(e.b, v)
		e.end(at)
	}
}

func (e *encoder) float(v float64) {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		e.err = errNumber
		return
	}
	e.b = appendNumber(e.b, v)
}

// extra writes each member as a part of its own, sorted by key.
func (e *encoder) extra(extra map[string]any) {
	if len(extra) == 0 {
		return
	}
	e.keys = slices.AppendSeq(e.keys[:0], maps.Keys(extra))
	slices.Sort(e.keys)
	for _, k := range e.keys {
		at := e.begin(tagExtra)
		e.b = append(jsontext.AppendString(e.b, k), ':')
		e.value(extra[k], maxDepth)
		e.end(at)
		if e.err != nil || len(e.b) > maxRecord {
			return
		}
	}
}

func (e *encoder) value(v any, depth int) {
	if e.err != nil || len(e.b) > maxRecord {
		return // refused already
	}
	switch v := v.(type) {
	case string:
		e.b = jsontext.AppendString(e.b, v)
	case bool:
		e.b = strconv.AppendBool(e.b, v)
	case int64:
		e.b = strconv.AppendInt(e.b, v, 10)
	case uint64:
		e.b = strconv.AppendUint(e.b, v, 10)
	case float64:
		e.float(v)
	case []any:
		if depth == 0 {
			e.err = errDepth
			return
		}
		e.b = append(e.b, '[')
		for _, x := range v {
			e.b = jsontext.Next(e.b)
			e.value(x, depth-1)
		}
		e.b = append(e.b, ']')
	case map[string]any:
		if depth == 0 {
			e.err = errDepth
			return
		}
		e.b = append(e.b, '{')
		for _, k := range slices.Sorted(maps.Keys(v)) {
			e.b = append(jsontext.AppendString(jsontext.Next(e.b), k), ':')
			e.value(v[k], depth-1)
		}
		e.b = append(e.b, '}')
	default:
		e.err = errExtra
	}
}

const impliedShift = 16

// notStated writes the parts that the source does not state itself.
func (e *encoder) notStated(r *Record) {
	if parts := e.parts(r.DerivedFields) | e.parts(r.ImpliedFields)<<impliedShift; parts != 0 {
		at := e.begin(tagDerived)
		e.b = binary.LittleEndian.AppendUint32(e.b, parts)
		e.end(at)
	}
}

// parts returns a bit for each of the named parts.
func (e *encoder) parts(names []string) (parts uint32) {
	for _, name := range names {
		i := slices.IndexFunc(derivable, func(d struct {
			name string
			part int
		}) bool {
			return d.name == name
		})
		if i < 0 {
			e.err = errDerived
			return 0
		}
		parts |= 1 << derivable[i].part
	}
	return parts
}
