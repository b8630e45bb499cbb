package pointtable

import (
	"bytes"
	"encoding/hex"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/crs"
	"quadrille/cmd/ingest/internal/source/wkb"
)

// ReasonSystem is the reason of positions that specify another coordinate system.
const ReasonSystem = "coordinates are not in degrees of WGS84"

// These are the orders of two numbers in one column.
const (
	LatLon = "lat-lon"
	LonLat = "lon-lat"
)

// position reads a position from two columns, or from a single one. The text of a single column
// decides its form: well-known text, with or without the number or the address of its coordinate
// system before it; well-known binary in hexadecimal, as PostGIS writes it; a geometry of GeoJSON;
// or two numbers.
func (t *Table) position(fields [][]byte, p *orb.Point) (err error) {
	text := bytes.TrimSpace(fields[t.lat])
	var reason, detail string
	switch system, shape, coded := bytes.Cut(text, []byte{';'}); {
	case t.isNothing(text) && t.isNothing(fields[t.lon]):
		return t.in.Bad(source.ReasonNoGeometry, "its coordinates are empty")
	case t.lat != t.lon:
		return t.degreesOf(p, text, fields[t.lon])
	case text[0] == '{':
		p[0], p[1], reason, detail = t.geometries.Position(text)
	case len(text) >= 2*9 && text[0] == '0' && isHex(text):
		binary, _ := hex.AppendDecode(nil, text)
		g, srid, why, what := wkb.Decode(binary)
		if reason, detail = why, what; reason == "" {
			*p, reason, detail = source.PositionOf(g)
		}
		if !t.inDegrees(int64(srid)) {
			reason, detail = ReasonSystem, source.Excerpt(text)
		}
	case coded && len(system) > 5 && bytes.EqualFold(system[:5], []byte("SRID=")):
		if srid, ok := source.ParseDecimal(system[5:], 1<<31); !ok || !t.inDegrees(int64(srid)) {
			return t.in.Bad(ReasonSystem, source.Excerpt(text))
		}
		return t.wellKnownText(shape, p)
	case text[0] == '<':
		return t.addressed(text, p)
	case 'A' <= text[0]&^0x20 && text[0]&^0x20 <= 'Z' && bytes.IndexByte(text, '\n') < 0:
		return t.wellKnownText(text, p)
	default:
		return t.pair(text, p)
	}
	return t.in.Bad(reason, detail)
}

// isNothing reports whether a coordinate is empty, or a word for an empty value.
func (t *Table) isNothing(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) == 0 || t.empty.HasFold(text)
}

// inDegrees reports whether positions with a code of EPSG are accepted. Code 0 means that there is
// no code.
func (t *Table) inDegrees(srid int64) bool {
	if srid != t.srid {
		t.srid, t.system = srid, crs.ByCode(srid)
		if t.systemNote == "" {
			t.systemNote, _ = t.system.Accept(t.name, "")
		}
	}
	return srid == 0 || t.system.Kind < crs.NeedsConversion
}

// addressed reads well-known text after <the address of its coordinate system>. The address also
// determines the order of its numbers.
func (t *Table) addressed(text []byte, p *orb.Point) error {
	address, shape, _ := bytes.Cut(text[1:], []byte{'>'})
	if string(address) != t.address || t.address == "" {
		t.address = string(address)
		t.addressSystem, t.latFirst = crs.ByAddress(t.address)
		if t.systemNote == "" {
			t.systemNote, _ = t.addressSystem.Accept(t.name, "")
		}
	}
	if t.addressSystem.Kind >= crs.NeedsConversion {
		return t.in.Bad(ReasonSystem, t.addressSystem.Name)
	}
	err := t.wellKnownText(bytes.TrimSpace(shape), p)
	if t.latFirst {
		p[0], p[1] = p[1], p[0]
	}
	return err
}

func isHex(text []byte) bool {
	return len(bytes.Trim(text, "0123456789abcdefABCDEF")) == 0 && len(text)%2 == 0
}

// wellKnownText reads POINT (lon lat), or a MULTIPOINT with one point.
func (t *Table) wellKnownText(text []byte, p *orb.Point) (err error) {
	kind, inner, open := bytes.Cut(text, []byte{'('})
	kind = bytes.ToUpper(bytes.TrimSpace(kind))
	numbers := bytes.Fields(bytes.Trim(inner, "() "))
	switch point := bytes.HasPrefix(kind, []byte("POINT")); {
	case !open && !bytes.HasSuffix(kind, []byte(" EMPTY")):
		return t.in.Bad(ReasonNoPosition, source.Excerpt(text)+" in the column "+source.Excerpt(t.Columns.Lat)+"; name others by --lat and --lon")
	case !point && !bytes.HasPrefix(kind, []byte("MULTIPOINT")), bytes.IndexByte(inner, ',') >= 0, len(numbers) > 4:
		return t.in.Bad(source.ReasonNotAPoint, source.Excerpt(text))
	case len(numbers) == 0:
		return t.in.Bad(source.ReasonNoGeometry, source.Excerpt(text))
	case len(numbers) < 2:
		return t.in.Bad(ReasonNoPosition, source.Excerpt(text))
	}
	return t.degreesOf(p, numbers[1], numbers[0])
}

// pair reads two numbers, possibly with words before them and brackets around them: "lat,lon", or
// "[lon, lat]" as in JSON, unless the order is given.
func (t *Table) pair(text []byte, p *orb.Point) error {
	order, most := LatLon, 2
	switch text[len(text)-1] {
	case ')':
		text = text[bytes.LastIndexByte(text, '(')+1 : len(text)-1]
	case ']':
		text, order, most = bytes.Trim(text, "[]"), LonLat, 3
	}
	var parts [][]byte
	for _, by := range []string{";", ",", " "} {
		if parts = bytes.Split(bytes.TrimSpace(text), []byte(by)); len(parts) > 1 {
			break
		}
	}
	if len(parts) < 2 || len(parts) > most {
		return t.in.Bad(ReasonNoPosition, source.Excerpt(text)+" in the column "+source.Excerpt(t.Columns.Lat)+"; name others by --lat and --lon")
	}
	if t.told != "" {
		order = t.told
	}
	if t.Columns.Order == "" {
		t.Columns.Order = order
	}
	if order == LonLat {
		parts[0], parts[1] = parts[1], parts[0]
	}
	return t.degreesOf(p, parts[0], parts[1])
}

func (t *Table) degreesOf(p *orb.Point, lat, lon []byte) (err error) {
	if p[1], err = t.degrees(lat); err != nil {
		return err
	}
	p[0], err = t.degrees(lon)
	return err
}
