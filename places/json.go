package places

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"strings"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/internal/jsontext"
	"quadrille/places/internal/members"
)

// mapPopulation is the member with the weight of a place.
const mapPopulation = "map_population"

// appendValue appends the tile_places value of a place. The name of its
// first-level division may be empty.
func appendValue(dst []byte, c *columns, admin1Name string) []byte {
	at := len(dst)
	dst = binary.BigEndian.AppendUint32(dst, uint32(c.lat))
	dst = binary.BigEndian.AppendUint32(dst, uint32(c.lon))
	population := c.population
	if c.weight != 0 {
		population |= weighty
	}
	dst = binary.BigEndian.AppendUint64(dst, population)
	dst = append(dst, c.country[0], c.country[1], 0, 0)
	if c.weight != 0 {
		dst = binary.BigEndian.AppendUint64(dst, c.weight)
	}
	start := len(dst)

	dst = append(dst, `"id":`...)
	dst = strconv.AppendUint(dst, uint64(c.id), 10)
	dst = jsontext.AppendText(dst, "name", c.name)
	dst = jsontext.AppendText(dst, "country", c.countryCode())
	dst = jsontext.AppendText(dst, "class", c.class)
	dst = jsontext.AppendText(dst, "code", c.code)
	if c.population > 0 {
		dst = append(dst, `,"population":`...)
		dst = strconv.AppendUint(dst, c.population, 10)
	}
	if c.weight != 0 && c.class != "" {
		dst = strconv.AppendUint(jsontext.AppendName(dst, mapPopulation), c.weight, 10)
	}
	dst = jsontext.AppendText(dst, "admin1", c.admin1)
	dst = jsontext.AppendText(dst, "admin1_name", admin1Name)
	dst = jsontext.AppendText(dst, "timezone", c.timeZone)
	dst = append(dst, c.extra...)
	binary.BigEndian.PutUint16(dst[at+atSplit:], uint16(len(dst)-start))

	dst = append(dst, `,"lat":`...)
	dst = jsontext.AppendDegrees(dst, c.lat)
	dst = append(dst, `,"lon":`...)
	return jsontext.AppendDegrees(dst, c.lon)
}

// appendDetails appends the further members of a place's record, beyond its tile_places value,
// each with a comma before it.
func appendDetails(dst []byte, c *columns, names *nameTables, a *attributes) []byte {
	dst = jsontext.AppendText(dst, "ascii_name", c.asciiName)
	dst = appendList(dst, "alternate_names", c.alternates)
	dst = appendList(dst, "cc2", c.cc2)
	dst = jsontext.AppendText(dst, "country_name", names.country(c.country))
	dst = jsontext.AppendText(dst, "admin2", c.admin2)
	if c.admin2 != "" { // otherwise the name is that of the first level
		dst = jsontext.AppendText(dst, "admin2_name", names.division(c.country, c.admin1, c.admin2))
	}
	dst = jsontext.AppendText(dst, "admin3", c.admin3)
	dst = jsontext.AppendText(dst, "admin4", c.admin4)
	dst = jsontext.AppendText(dst, "admin5", a.admin5)
	if c.known&knowsElevation != 0 {
		dst = strconv.AppendInt(jsontext.AppendName(dst, "elevation_m"), c.elevation, 10)
	}
	if c.known&knowsDEM != 0 {
		dst = strconv.AppendInt(jsontext.AppendName(dst, "dem_m"), c.dem, 10)
	}
	if c.known&knowsModified != 0 {
		dst = append(dst, `,"modified":"`...)
		dst = appendDate(dst, c.modified)
		dst = append(dst, '"')
	}
	return a.appendTo(dst)
}

// appendDate appends year-month-day of a time in seconds since 1970.
func appendDate(dst []byte, seconds int64) []byte {
	year, month, day := time.Unix(seconds, 0).UTC().Date()
	if year < 1000 || year > 9999 {
		return time.Unix(seconds, 0).UTC().AppendFormat(dst, time.DateOnly)
	}
	dst = strconv.AppendInt(dst, int64(year), 10)
	return append(dst, '-', '0'+byte(month/10), '0'+byte(month%10), '-', '0'+byte(day/10), '0'+byte(day%10))
}

// appendList appends a comma-separated text as a list of its nonempty elements.
func appendList(dst []byte, name, value string) []byte {
	open := byte('[')
	for value != "" {
		var element string
		element, value, _ = strings.Cut(value, ",")
		if element = strings.TrimSpace(element); element == "" {
			continue
		}
		if open == '[' {
			dst = jsontext.AppendName(dst, name)
		}
		dst = jsontext.AppendString(append(dst, open), element)
		open = ','
	}
	if open == '[' {
		return dst
	}
	return append(dst, ']')
}

// appendFeature appends a place as a GeoJSON feature.
func appendFeature(dst []byte, p *place) []byte {
	dst = append(dst, `{"type":"Feature","id":`...)
	dst = strconv.AppendUint(dst, uint64(p.id), 10)
	dst = append(dst, `,"geometry":{"type":"Point","coordinates":[`...)
	dst = jsontext.AppendDegrees(dst, p.lon)
	dst = append(dst, ',')
	dst = jsontext.AppendDegrees(dst, p.lat)
	dst = append(dst, `]},"properties":{`...)
	dst = append(dst, p.beyondID()...)
	return append(dst, "}}"...)
}

// beyondID returns the properties after the id, because a feature has its id elsewhere.
func (p *place) beyondID() []byte { return p.properties[bytes.IndexByte(p.properties, ',')+1:] }

// nameOf takes the name out of a place's properties: `"id":1,"name":"…"`.
func nameOf(properties []byte) (string, error) {
	name, ok := members.Unquote(members.Text(properties, nameKey))
	if !ok {
		return "", cellstore.CorruptRow(tableTiles, properties[:min(len(properties), 32)], "holds no name")
	}
	return name, nil
}

// nameIn does the same as nameOf. If nothing in the name is escaped, it returns a part of
// properties instead of a copy.
func nameIn(properties []byte) ([]byte, error) {
	quoted := members.Text(properties, nameKey)
	if feature.IsText(quoted) && bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1], nil
	}
	name, err := nameOf(properties)
	return []byte(name), err
}

// appendPoint appends a place in the form of place_rollup's points family.
func appendPoint(dst []byte, p *place, name string) []byte {
	dst = binary.BigEndian.AppendUint32(dst, p.id)
	dst = binary.BigEndian.AppendUint32(dst, uint32(p.lat))
	dst = binary.BigEndian.AppendUint32(dst, uint32(p.lon))
	if p.weight != 0 && !isKind(p.qualifier) {
		dst = binary.BigEndian.AppendUint64(dst, p.population|weighty)
		dst = binary.BigEndian.AppendUint64(dst, p.weight)
	} else {
		dst = binary.BigEndian.AppendUint64(dst, p.population)
	}
	code := codeOf(p.qualifier)
	dst = append(append(dst, byte(len(code))), code...)
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(name)))
	return append(dst, name...)
}

// point is the decoded form of appendPoint's output.
type point struct {
	id         uint32
	lat, lon   int32
	population uint64
	weight     uint64 // of a place with a class; 0: none
	code, name []byte
}

// cutPoint cuts off the first point, and reports whether it is complete.
func cutPoint(points []byte) (p point, rest []byte, ok bool) {
	const fixed = 20
	if len(points) <= fixed {
		return p, nil, false
	}
	p.id = binary.BigEndian.Uint32(points)
	p.lat, p.lon = int32(binary.BigEndian.Uint32(points[4:])), int32(binary.BigEndian.Uint32(points[8:]))
	p.population = binary.BigEndian.Uint64(points[12:])
	if rest = points[fixed:]; p.population&weighty != 0 {
		if len(rest) <= 8 {
			return p, nil, false
		}
		p.population &^= weighty
		p.weight, rest = binary.BigEndian.Uint64(rest), rest[8:]
	}
	n := 1 + int(rest[0])
	if len(rest) < n+2 {
		return p, nil, false
	}
	p.code, rest = rest[1:n], rest[n:]
	if n = 2 + int(binary.BigEndian.Uint16(rest)); len(rest) < n {
		return p, nil, false
	}
	p.name, rest = rest[2:n], rest[n:]
	return p, rest, true
}

// codeOf returns the feature code, or the kind, in a qualifier.
func codeOf(qualifier []byte) []byte {
	_, code, _ := bytes.Cut(qualifier, []byte{'.'})
	return code
}

// appendQualifier appends class.code; either may be empty. code is a feature code or a kind.
func appendQualifier(dst []byte, class, code string) []byte {
	return append(append(append(dst, class...), '.'), code...)
}
