package pointtable

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkt"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/crs"
	"quadrille/cmd/ingest/internal/source/geojson"
	"quadrille/cmd/ingest/internal/source/wkb"
	"quadrille/cmd/internal/columnname"
)

// ReasonSystem is the reason of positions that specify another coordinate system.
const ReasonSystem = "coordinates are not in degrees of WGS84"

// These are the orders of two numbers in one column.
const (
	LatLon = "lat-lon"
	LonLat = "lon-lat"
)

// positions reads the positions or shapes that cells have. It belongs to one goroutine.
type positions struct {
	// Columns are the columns taken. If one column has the position, it is both Lat and Lon. Columns is
	// set once a record has been read.
	Columns Columns

	// other are the columns that have the position where those of Columns are empty. They are "" if there are none.
	other    struct{ Lat, Lon string }
	fellBack int  // positions of other
	firstOf  int  // the line of the first of them
	given    bool // the caller has given Lat or Lon

	want   source.Want
	name   string // of the file
	empty  *source.Words
	told   string     // the order of two numbers that the caller has given
	srid   int64      // the last that a position had
	system crs.System // of srid
	// address is the last address of a coordinate system in a position. addressSystem is this
	// system.
	address       string
	addressSystem crs.System
	latFirst      bool
	// latFirstLists are the columns, as keys, in which lists have the latitude first.
	latFirstLists []string
	// geometries reads geometries of GeoJSON in a column.
	geometries geojson.Geometries
	hasComma   bool
	systemNote string // a note about the first coordinate system other than WGS84 itself
	// bad returns the error of a record that cannot be used.
	bad func(reason, detail string) error
}

func newPositions(want source.Want, name string, told Columns) positions {
	return positions{Columns: told, want: want, told: told.Order, name: name,
		given: told.Lat != "" || told.Lon != "", empty: cmp.Or(told.Empty, source.EmptyWords)}
}

// notes returns what was assumed of the positions that were read so far.
func (t *positions) notes() (notes []string) {
	if t.hasComma {
		notes = append(notes, t.name+": coordinates have decimal commas")
	}
	if t.systemNote != "" {
		notes = append(notes, t.systemNote)
	}
	if t.fellBack > 0 {
		notes = append(notes, fmt.Sprintf("%s: %d rows have no position in %s; it is taken from %s, the first in line %d", t.name, t.fellBack,
			columnPair(t.Columns.Lat, t.Columns.Lon), columnPair(t.other.Lat, t.other.Lon), t.firstOf))
	}
	return notes
}

// columnPair names one column, or two.
func columnPair(lat, lon string) string {
	if lat == lon {
		return source.Excerpt(lat)
	}
	return source.Excerpt(lat) + " and " + source.Excerpt(lon)
}

// cells are those of a record that may have its position: of Columns, and of the other columns.
type cells struct{ lat, lon, otherLat, otherLon []byte }

// geometry reads the geometry of a record from its cells: the point of two columns, or what a single one
// has.
func (t *positions) geometry(c cells) (orb.Geometry, error) {
	if t.want == source.WantPolygons {
		return t.shape(bytes.TrimSpace(c.lat))
	}
	var at orb.Point
	err := t.position(c, &at)
	return at, err
}

// position reads a position from the cells of Columns, or if these are empty, from those of the other columns.
func (t *positions) position(c cells, p *orb.Point) error {
	err := t.positionIn(c.lat, c.lon, p)
	var empty *source.BadRecord
	if t.other.Lat == "" || !t.isNothing(c.lat) || !t.isNothing(c.lon) || t.isNothing(c.otherLat) && t.isNothing(c.otherLon) ||
		!errors.As(err, &empty) {
		return err
	}
	chosen := t.Columns
	t.Columns.Lat, t.Columns.Lon = t.other.Lat, t.other.Lon
	err = t.positionIn(c.otherLat, c.otherLon, p)
	t.Columns = chosen
	if err == nil {
		if t.fellBack++; t.fellBack == 1 {
			t.firstOf = empty.Line
		}
	}
	return err
}

// shape reads polygons or lines: a geometry of GeoJSON, or one of PostGIS, or well-known text.
func (t *positions) shape(text []byte) (g orb.Geometry, err error) {
	var reason, detail string
	switch system, inner, coded := bytes.Cut(text, []byte{';'}); {
	case t.isNothing(text):
		return nil, t.bad(source.ReasonNoGeometry, "its column "+source.Excerpt(t.Columns.Lat)+" is empty")
	case text[0] == '{':
		g, reason, detail = t.geometries.Read(text)
	case isHex(text):
		g, reason, detail = t.binary(text)
	case coded && len(system) > 5 && bytes.EqualFold(system[:5], []byte("SRID=")):
		if srid, ok := source.ParseDecimal(system[5:], 1<<31); !ok || !t.inDegrees(int64(srid)) {
			return nil, t.bad(ReasonSystem, source.Excerpt(text))
		}
		text = inner
		fallthrough
	default:
		const deepest = 8 // reading what is nested takes time by its depth
		if bytes.Count(bytes.ToUpper(text[:min(len(text), 4096)]), []byte("GEOMETRYCOLLECTION")) > deepest {
			return nil, t.bad(source.ReasonUnknownKind, source.Excerpt(text))
		}
		if g, err = wkt.Unmarshal(plane(text)); err != nil {
			g, reason, detail = nil, source.ReasonUnknownKind, source.Excerpt(text)
		}
	}
	if reason != "" {
		return nil, t.bad(reason, detail)
	}
	return g, nil
}

// plane returns well-known text without heights and measures.
func plane(text []byte) string {
	var out strings.Builder
	kind, inner, shaped := bytes.Cut(text, []byte{'('})
	for i, word := range bytes.Fields(kind) {
		if s := string(bytes.ToUpper(word)); i == 0 || s == "EMPTY" {
			out.WriteString(" " + s)
		}
	}
	if shaped {
		out.WriteByte('(')
	}
	numbers, inNumber := 0, false
	for _, c := range inner {
		switch {
		case c == '(' || c == ')' || c == ',':
			numbers, inNumber = 0, false
			out.WriteByte(c)
			continue
		case c <= ' ':
			inNumber = false
			continue
		case !inNumber:
			inNumber = true
			if numbers++; numbers == 2 {
				out.WriteByte(' ')
			}
		}
		if numbers <= 2 {
			out.WriteByte(c)
		}
	}
	return strings.TrimSpace(out.String())
}

// binary reads well-known binary in hexadecimal.
func (t *positions) binary(text []byte) (g orb.Geometry, reason, detail string) {
	binary, _ := hex.AppendDecode(nil, text)
	g, srid, reason, detail := wkb.Decode(binary)
	if !t.inDegrees(int64(srid)) {
		return nil, ReasonSystem, source.Excerpt(text)
	}
	return g, reason, detail
}

// positionIn reads a position from two columns, or from a single one. The text of a single column
// decides its form: well-known text, with or without the number or the address of its coordinate
// system before it; well-known binary in hexadecimal, as PostGIS writes it; a geometry of GeoJSON;
// or two numbers.
func (t *positions) positionIn(lat, lon []byte, p *orb.Point) (err error) {
	text := bytes.TrimSpace(lat)
	var reason, detail string
	switch system, shape, coded := bytes.Cut(text, []byte{';'}); {
	case t.isNothing(text) && t.isNothing(lon):
		return t.bad(source.ReasonNoGeometry, "its coordinates are empty")
	case t.Columns.Lat != t.Columns.Lon:
		return t.degreesOf(p, text, lon)
	case text[0] == '{':
		p[0], p[1], reason, detail = t.geometries.Position(text)
	case len(text) >= 2*9 && text[0] == '0' && isHex(text):
		var g orb.Geometry
		if g, reason, detail = t.binary(text); reason == "" {
			*p, reason, detail = source.PositionOf(g)
		}
	case coded && len(system) > 5 && bytes.EqualFold(system[:5], []byte("SRID=")):
		if srid, ok := source.ParseDecimal(system[5:], 1<<31); !ok || !t.inDegrees(int64(srid)) {
			return t.bad(ReasonSystem, source.Excerpt(text))
		}
		return t.wellKnownText(shape, p)
	case text[0] == '<':
		return t.addressed(text, p)
	case 'A' <= text[0]&^0x20 && text[0]&^0x20 <= 'Z' && bytes.IndexByte(text, '\n') < 0:
		return t.wellKnownText(text, p)
	default:
		return t.pair(text, p)
	}
	if reason == "" {
		return nil
	}
	return t.bad(reason, detail)
}

// isNothing reports whether a coordinate is empty, or a word for an empty value.
func (t *positions) isNothing(text []byte) bool {
	text = bytes.TrimSpace(text)
	return len(text) == 0 || t.empty.HasFold(text)
}

// inDegrees reports whether positions with a code of EPSG are accepted. Code 0 means that there is
// no code.
func (t *positions) inDegrees(srid int64) bool {
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
func (t *positions) addressed(text []byte, p *orb.Point) error {
	address, shape, _ := bytes.Cut(text[1:], []byte{'>'})
	if string(address) != t.address || t.address == "" {
		t.address = string(address)
		t.addressSystem, t.latFirst = crs.ByAddress(t.address)
		if t.systemNote == "" {
			t.systemNote, _ = t.addressSystem.Accept(t.name, "")
		}
	}
	if t.addressSystem.Kind >= crs.NeedsConversion {
		return t.bad(ReasonSystem, t.addressSystem.Name)
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
func (t *positions) wellKnownText(text []byte, p *orb.Point) (err error) {
	kind, inner, open := bytes.Cut(text, []byte{'('})
	kind = bytes.ToUpper(bytes.TrimSpace(kind))
	numbers := bytes.Fields(bytes.Trim(inner, "() "))
	switch point := bytes.HasPrefix(kind, []byte("POINT")); {
	case !open && !bytes.HasSuffix(kind, []byte(" EMPTY")):
		return t.bad(ReasonNoPosition, source.Excerpt(text)+" in the column "+source.Excerpt(t.Columns.Lat)+"; name others by --lat and --lon")
	case !point && !bytes.HasPrefix(kind, []byte("MULTIPOINT")), bytes.IndexByte(inner, ',') >= 0, len(numbers) > 4:
		return t.bad(source.ReasonNotAPoint, source.Excerpt(text))
	case len(numbers) == 0:
		return t.bad(source.ReasonNoGeometry, source.Excerpt(text))
	case len(numbers) < 2:
		return t.bad(ReasonNoPosition, source.Excerpt(text))
	}
	return t.degreesOf(p, numbers[1], numbers[0])
}

// fourNumbers are the latitude, the longitude, the height and the accuracy of a position in Kobo and ODK, with
// blanks between them.
const fourNumbers = 4

// pair reads two numbers, possibly with words before them and brackets around them: "lat,lon", or
// "[lon, lat]" as in JSON, unless the order is given or the column is one of latFirstLists.
func (t *positions) pair(text []byte, p *orb.Point) error {
	order, most := LatLon, 2
	switch text[len(text)-1] {
	case ')':
		text = text[bytes.LastIndexByte(text, '(')+1 : len(text)-1]
	case ']':
		text, order, most = bytes.Trim(text, "[]"), LonLat, 3
		if slices.Contains(t.latFirstLists, columnname.Key(t.Columns.Lat)) {
			order = LatLon
		}
	}
	var parts [][]byte
	for _, by := range []string{";", ",", " "} {
		if parts = bytes.Split(bytes.TrimSpace(text), []byte(by)); len(parts) > 1 {
			break
		}
	}
	if len(parts) == fourNumbers && bytes.IndexByte(text, ',') < 0 {
		most = fourNumbers
	}
	if len(parts) < 2 || len(parts) > most {
		return t.bad(ReasonNoPosition, source.Excerpt(text)+" in the column "+source.Excerpt(t.Columns.Lat)+"; name others by --lat and --lon")
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

func (t *positions) degreesOf(p *orb.Point, lat, lon []byte) (err error) {
	if p[1], err = t.degrees(lat); err != nil {
		return err
	}
	p[0], err = t.degrees(lon)
	return err
}

// degrees parses a coordinate.
func (t *positions) degrees(text []byte) (float64, error) {
	text = bytes.TrimSpace(text)
	if v, ok := source.ParseDecimal(text, math.MaxFloat64); ok {
		return v, nil
	}
	switch {
	case t.isNothing(text):
		return 0, t.bad(ReasonNoPosition, "")
	case bytes.Count(text, []byte{','}) == 1:
		// A comma cannot be for thousands, for no coordinate has so many degrees.
		if v, ok := source.ParseDecimal(bytes.Replace(text, []byte{','}, []byte{'.'}, 1), math.MaxFloat64); ok {
			t.hasComma = true
			return v, nil
		}
	}
	return 0, t.bad(source.ReasonNotANumber, source.Excerpt(text))
}
