package geojson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/jsonscan"
	"quadrille/internal/jsontext"
)

// maxProperties bounds the properties of a point as the file spells them, in bytes.
const maxProperties = 256 << 10

// maxExpires bounds the member that says when a point expires, in bytes.
const maxExpires = 256

// recordSeparator begins each value of a GeoJSON text sequence, RFC 8142.
const recordSeparator = 0x1e

// PointNames are the properties of points that have a meaning.
type PointNames struct {
	// ID is the property that is the id. Empty: the id of the feature, or else the
	// property id. The property is left out of the others.
	ID string
	// Name is the property that becomes the property name, in place of one called so.
	Name string
}

// ReadPoints yields the point features of the file with this name, in order: those of
// a FeatureCollection, or of Features one after another, each on a line or behind a
// record separator. A MultiPoint of one position is a point. Properties keep their
// order. The member expires of a Feature, as our server writes it, is kept. A feature that
// cannot be used is a *source.BadRecord and reading goes on. Any other error ends it, and
// says by line and byte where the file is at fault.
func ReadPoints(r io.Reader, name string, names PointNames) iter.Seq2[source.Point, error] {
	return func(yield func(source.Point, error) bool) {
		d := &pointReader{reader: reader{name: name, s: jsonscan.New(&unseparated{r: r})}, yield: yield, names: names}
		err := d.documents()
		if err != nil && !errors.Is(err, errStop) {
			yield(source.Point{}, jsonscan.Explain(err, name, "GeoJSON"))
		}
	}
}

// unseparated makes white space of record separators. They cannot stand within
// a value.
type unseparated struct{ r io.Reader }

func (u *unseparated) Read(p []byte) (int, error) {
	n, err := u.r.Read(p)
	for rest := p[:n]; ; {
		i := bytes.IndexByte(rest, recordSeparator)
		if i < 0 {
			return n, err
		}
		rest[i] = ' '
		rest = rest[i+1:]
	}
}

type pointReader struct {
	reader
	yield func(source.Point, error) bool
	names PointNames
}

// documents reads the values of the top level one after another.
func (d *pointReader) documents() error {
	for first := true; ; first = false {
		k, err := d.s.Kind()
		switch {
		case err != nil:
			return err
		case k == jsonscan.End && first:
			return fmt.Errorf("%s: is empty; it should hold a GeoJSON FeatureCollection, or Features", d.name)
		case k == jsonscan.End:
			return nil
		case k != jsonscan.Object:
			return fmt.Errorf("%s: not GeoJSON: %s at line %d where a FeatureCollection or a Feature should begin", d.name, k, d.s.Line())
		}
		if err := d.document(); err != nil {
			return err
		}
	}
}

// document reads a value of the top level as feature and collection at once, since
// its type may come last.
func (d *pointReader) document() error {
	collection := false
	f := pointFeature{line: d.s.Line()}
	err := d.s.Object(func(member []byte) error {
		switch string(member) {
		case "features":
			collection = true
			return d.s.Array(func(int) error { return d.feature() })
		case "crs":
			return d.crs()
		}
		return d.member(&f, member)
	})
	switch {
	case err != nil:
		return err
	case f.typ == "Topology":
		return fmt.Errorf("%s: %w; convert it with: ogr2ogr out.geojson %s", d.name, ErrTopology, d.name)
	case f.typ == "FeatureCollection" && !collection:
		return fmt.Errorf("%s: a FeatureCollection without features", d.name)
	case f.typ == "FeatureCollection":
		return nil
	}
	return d.emit(&f)
}

// pointFeature is one Feature while it is read.
type pointFeature struct {
	line       int
	typ, id    string
	geometry   bool // there is one, and it is not null
	lon, lat   float64
	members    []byte // of the properties, each behind a comma
	expires    []byte
	ownID      [2]int // where the member that is the id lies in members
	reason     string
	detail     string
	propertyID string
}

func (f *pointFeature) refuse(reason, detail string) {
	if f.reason == "" {
		f.reason, f.detail = reason, detail
	}
}

func (d *pointReader) feature() error {
	k, err := d.s.Kind()
	if err != nil {
		return err
	}
	f := pointFeature{line: d.s.Line()}
	if k != jsonscan.Object {
		f.refuse(source.NotAFeature, k.String())
		if err := d.s.Skip(); err != nil {
			return err
		}
	} else if err := d.s.Object(func(member []byte) error { return d.member(&f, member) }); err != nil {
		return err
	}
	return d.emit(&f)
}

func (d *pointReader) member(f *pointFeature, name []byte) (err error) {
	switch string(name) {
	case "type":
		f.typ, err = d.text()
	case "id":
		f.id, err = d.s.ID()
	case "properties":
		err = d.properties(f)
	case "geometry":
		err = d.geometry(f)
	case "expires":
		var whole bool
		if f.expires, whole, err = d.s.Raw(f.expires[:0], maxExpires); err == nil && !whole {
			f.refuse(source.TooLarge, fmt.Sprintf("expires of more than %d bytes", maxExpires))
		}
	default:
		err = d.s.Skip()
	}
	return err
}

// properties reads the properties, of which only the first level matters here.
func (d *pointReader) properties(f *pointFeature) error {
	k, err := d.s.Kind()
	if err != nil || k != jsonscan.Object {
		if err == nil {
			err = d.s.Skip()
		}
		return err
	}
	f.members, f.ownID, f.propertyID = f.members[:0], [2]int{}, ""
	idName := d.names.ID
	if idName == "" {
		idName = "id"
	}
	return d.s.Object(func(member []byte) error {
		name := string(member)
		if name == "name" && d.names.Name != "" && d.names.Name != "name" {
			return d.s.Skip()
		}
		if name == d.names.Name {
			name = "name"
		}
		start := len(f.members)
		f.members = append(jsontext.AppendString(append(f.members, ','), name), ':')
		value := len(f.members)
		var whole bool
		var err error
		if f.members, whole, err = d.s.Raw(f.members, maxProperties-value); err != nil {
			return err
		}
		if !whole {
			f.members = f.members[:start]
			f.refuse(source.TooLarge, fmt.Sprintf("more than %d bytes", maxProperties))
			return nil
		}
		if string(member) == idName {
			f.ownID = [2]int{start, len(f.members)}
			f.propertyID = idOf(f.members[value:])
		}
		return nil
	})
}

// idOf is a value as an id: the text of a string, or a number as it is written. Of
// any other value it is empty.
func idOf(value []byte) (id string) {
	switch c := value[0]; {
	case c == '"' && len(value) <= 1<<10:
		_ = json.Unmarshal(value, &id) // it has been scanned
	case '0' <= c && c <= '9', c == '-' && value[1] != 'I':
		id = string(value)
	}
	return id
}

func (d *pointReader) emit(f *pointFeature) error {
	p := source.Point{ID: f.id, Lat: f.lat, Lon: f.lon, Line: f.line}
	if string(f.expires) != "null" {
		p.Expires = f.expires
	}
	if d.names.ID != "" || p.ID == "" {
		p.ID = f.propertyID
		f.members = slices.Delete(f.members, f.ownID[0], f.ownID[1])
	}
	switch {
	case f.typ != "Feature" && f.reason == "":
		f.refuse(source.NotAFeature, "type "+source.Excerpt(f.typ))
	case !f.geometry:
		f.refuse(source.NoGeometry, "")
	case d.names.ID != "" && p.ID == "":
		f.refuse(source.NoID, "no property "+source.Excerpt(d.names.ID)+" that is text or a number")
	}
	var bad error
	if f.reason != "" {
		p, bad = source.Point{}, &source.BadRecord{Source: d.name, Line: f.line, Reason: f.reason, Detail: f.detail}
	} else if len(f.members) > 0 {
		f.members[0] = '{'
		p.Properties = append(f.members, '}')
	}
	if !d.yield(p, bad) {
		return errStop
	}
	return nil
}

// Geometries reads geometries that stand alone. Its zero value is ready.
type Geometries struct{ s *jsonscan.Scanner }

// Position is that of a geometry that is a point, or says why there is none.
func (g *Geometries) Position(geometry []byte) (lon, lat float64, reason, detail string) {
	if g.s == nil {
		g.s = jsonscan.New(nil)
	}
	g.s.Reset(bytes.NewReader(geometry))
	d, f := pointReader{reader: reader{s: g.s}}, pointFeature{}
	if err := d.geometry(&f); err != nil {
		return 0, 0, source.Damaged, source.Excerpt(geometry)
	}
	return f.lon, f.lat, f.reason, f.detail
}

// geometry reads a geometry, whose type may follow its coordinates.
func (d *pointReader) geometry(f *pointFeature) error {
	k, err := d.s.Kind()
	if err != nil || k != jsonscan.Object {
		if err == nil {
			err = d.s.Skip()
		}
		return err
	}
	var typ string
	var c pointCoords
	err = d.s.Object(func(member []byte) (err error) {
		switch string(member) {
		case "type":
			typ, err = d.text()
		case "coordinates":
			c = pointCoords{}
			err = c.read(d.s, 0)
		default:
			err = d.s.Skip()
		}
		return err
	})
	if err != nil {
		return err
	}
	f.geometry = true
	reason, detail := c.point(typ)
	if reason == "" {
		f.lon, f.lat = c.position[0], c.position[1]
		reason, detail = source.CheckFinite(f.lon, f.lat)
	}
	if reason != "" {
		f.refuse(reason, detail)
	}
	return nil
}

// pointCoords is the value of a "coordinates" member: what it needs to be a point.
type pointCoords struct {
	position  [2]float64 // the last
	positions int
	depth     int // arrays around a position
	numbers   int // of the position
	other     string
}

// read reads a value at a depth.
func (c *pointCoords) read(s *jsonscan.Scanner, depth int) error {
	k, err := s.Kind()
	switch {
	case err != nil:
		return err
	case k != jsonscan.Array:
		c.other = k.String()
		return s.Skip()
	case depth > 1: // of a line or a polygon
		c.depth = depth
		return s.Skip()
	}
	position := false
	return s.Array(func(i int) error {
		k, err := s.Kind()
		switch {
		case err != nil:
			return err
		case k != jsonscan.Number:
			return c.read(s, depth+1)
		}
		if !position {
			position = true
			c.positions++
			c.depth, c.numbers = depth, 0
		}
		c.numbers++
		n, err := s.Float()
		if i < len(c.position) {
			c.position[i] = n
		}
		return err
	})
}

// point tells why a geometry of that type is no point.
func (c *pointCoords) point(typ string) (reason, detail string) {
	depth := 0
	switch typ {
	case "Point":
	case "MultiPoint":
		depth = 1
	case "":
		return source.NoGeometry, "no type"
	default:
		return source.NotAPoint, strings.Trim(source.Excerpt(typ), `"`)
	}
	switch {
	case c.other != "":
		return source.NotANumber, c.other
	case c.positions == 0 && c.depth == 0:
		return source.NoGeometry, "no coordinates"
	case c.depth != depth:
		return source.WrongNesting, fmt.Sprintf("%s of depth %d", typ, c.depth+1)
	case c.numbers < 2:
		return source.WrongNesting, "position of one number"
	}
	return source.OnePoint(c.positions)
}
