// Package geojson reads the features of a GeoJSON file, RFC 7946, one at a time and with any
// geometry. It reads FeatureCollections, Features and bare geometries, a single one or several in
// sequence, each on a line or after a record separator (RFC 8142). Memory is bounded by the largest
// feature, whatever the size of the file or its lines.
package geojson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/crs"
	"quadrille/cmd/ingest/internal/source/jsonscan"
)

// ErrTopology is returned for a file that is TopoJSON, which package topojson
// reads.
var ErrTopology = errors.New("is TopoJSON, not GeoJSON")

// errStop ends the scan when the caller leaves the loop.
var errStop = errors.New("stop")

const (
	// maxParts bounds the arrays of positions of a feature, the arrays of such
	// arrays, and the members of collections: a small file can have many.
	maxParts = 1 << 20
	// maxExpires bounds the member that says when a point expires, in bytes.
	maxExpires = 256
)

// Read yields the features of the file with this name, in order, with their properties as Members.
// It keeps the member expires of a Feature, which tileserver writes. An unusable feature gives a
// *source.BadRecord, and reading continues. Any other error ends the sequence, and gives the line
// and byte of the fault. If said is not nil, Read adds the file's members outside the features to
// it; see [Said.Missing].
func Read(r io.Reader, name string, said *Said) iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		d := &reader{name: name, s: jsonscan.New(jsonscan.Unseparated(r)), yield: yield, said: said}
		if d.said == nil {
			d.said = &Said{}
		}
		err := d.documents()
		if err != nil && !errors.Is(err, errStop) {
			yield(source.Feature{}, jsonscan.Explain(err, name, "GeoJSON"))
		}
	}
}

type reader struct {
	name  string
	s     *jsonscan.Scanner
	yield func(source.Feature, error) bool
	said  *Said
	whole Collection // of the current document

	points         []orb.Point // of the current arrays; reused
	vertices       int         // of the current feature
	parts          int
	reason, detail string // why the coordinates being read cannot be used
}

// documents reads the top-level values one after another.
func (d *reader) documents() error {
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

// document reads a value of the top level. Members come in any order, so the value is read as a
// collection, feature and geometry at the same time, and its type is decided at the end.
func (d *reader) document() error {
	isCollection := false
	whole := &d.whole
	*whole = Collection{}
	f, bare := d.begin(), shape{}
	err := d.s.Object(func(member []byte) error {
		switch string(member) {
		case "features":
			isCollection = true
			d.s.KeepMembers()
			return d.s.Array(func(int) error {
				whole.Features++
				return d.feature()
			})
		case "crs":
			d.s.KeepMembers()
			return d.crs()
		case "coordinates", "geometries":
			return d.shapeMember(&bare, member)
		}
		if known, err := whole.Member(d.s, member); known {
			return err
		}
		err := d.member(&f, member)
		if err == nil && f.typ == "Topology" {
			err = fmt.Errorf("%s: %w", d.name, ErrTopology)
		}
		return err
	})
	_, known := kinds[f.typ]
	switch {
	case err != nil:
		return err
	case f.typ == "FeatureCollection" && !isCollection:
		return fmt.Errorf("%s: a FeatureCollection without features", d.name)
	case f.typ == "FeatureCollection":
		whole.properties(f.Members)
		d.said.Add(d.name, whole)
		return nil
	case known:
		bare.kind, f.typ = f.typ, "Feature"
		f.Geometry, f.reason, f.detail = bare.geometry()
		if parts, is := f.Geometry.(orb.Collection); is && len(parts) > 1 && !d.said.told {
			d.said.told = true
			d.said.Notes = append(d.said.Notes,
				fmt.Sprintf("%s: is a GeometryCollection without attributes: its %d geometries are one feature; to make a feature "+
					"of each: ogr2ogr -explodecollections out.geojson %s",
					d.name, len(parts), crs.ShellQuoted(d.name)))
		}
	}
	return d.emit(&f)
}

// feature is the state of one Feature while it is read.
type feature struct {
	source.Feature
	typ            string
	reason, detail string // why it cannot be used
}

// begin begins a feature at the current line.
func (d *reader) begin() feature {
	d.vertices, d.parts = 0, 0
	return feature{Feature: source.Feature{Line: d.s.Line()}}
}

func (d *reader) feature() error {
	k, err := d.s.Kind()
	if err != nil {
		return err
	}
	f := d.begin()
	if k != jsonscan.Object {
		if err := d.s.Skip(); err != nil {
			return err
		}
		return d.bad(f.Line, source.ReasonNotAFeature, k.String())
	}
	if err := d.s.Object(func(member []byte) error { return d.member(&f, member) }); err != nil {
		return err
	}
	return d.emit(&f)
}

func (d *reader) member(f *feature, name []byte) (err error) {
	switch string(name) {
	case "type":
		f.typ, err = d.text()
	case "id":
		f.ID, err = d.s.ID()
	case "properties":
		f.Members, f.Lost, err = d.s.Members()
	case "geometry":
		f.Geometry, f.reason, f.detail, err = d.geometry()
	case "expires":
		var whole bool
		switch f.Expires, whole, err = d.s.Raw(nil, maxExpires); {
		case string(f.Expires) == "null":
			f.Expires = nil
		case err == nil && !whole:
			f.Lost.Add("expires", fmt.Sprintf("it is longer than %d bytes", maxExpires))
		}
	default:
		err = d.s.Skip()
	}
	return err
}

func (d *reader) emit(f *feature) error {
	switch {
	case f.typ != "Feature":
		return d.bad(f.Line, source.ReasonNotAFeature, "type "+source.Excerpt(f.typ))
	case f.reason != "":
		return d.refused(f.Feature, f.Line, f.reason, f.detail)
	case !d.yield(f.Feature, nil):
		return errStop
	}
	return nil
}

func (d *reader) bad(line int, reason, detail string) error {
	return d.refused(source.Feature{}, line, reason, detail)
}

func (d *reader) refused(f source.Feature, line int, reason, detail string) error {
	if !d.yield(f, &source.BadRecord{Source: d.name, Line: line, Reason: reason, Detail: detail}) {
		return errStop
	}
	return nil
}

// Geometries reads single geometries. Its zero value is ready.
type Geometries struct{ s *jsonscan.Scanner }

// Position returns the position of a geometry that is a point, or the reason why there is none.
func (g *Geometries) Position(geometry []byte) (lon, lat float64, reason, detail string) {
	at, reason, detail := g.Read(geometry)
	if reason != "" {
		return 0, 0, reason, detail
	}
	p, reason, detail := source.PositionOf(at)
	return p[0], p[1], reason, detail
}

// Read returns a geometry, or the reason why it cannot be read.
func (g *Geometries) Read(geometry []byte) (at orb.Geometry, reason, detail string) {
	if g.s == nil {
		g.s = jsonscan.New(nil)
	}
	g.s.Reset(bytes.NewReader(geometry))
	d := reader{s: g.s}
	at, reason, detail, err := d.geometry()
	if err != nil {
		return nil, source.ReasonDamaged, source.Excerpt(geometry)
	}
	return at, reason, detail
}

// shape is a geometry that is being read. Its type may come after its coordinates.
type shape struct {
	kind           string
	coords         coords
	located        bool // there are coordinates
	members        orb.Collection
	reason, detail string
}

// geometry reads a geometry object; it returns nil for null.
func (d *reader) geometry() (at orb.Geometry, reason, detail string, err error) {
	k, err := d.s.Kind()
	switch {
	case err != nil:
		return nil, "", "", err
	case k == jsonscan.Null:
		return nil, "", "", d.s.Null()
	case k != jsonscan.Object:
		return nil, source.ReasonDamaged, "geometry is " + k.String(), d.s.Skip()
	}
	var g shape
	if err := d.s.Object(func(name []byte) error { return d.shapeMember(&g, name) }); err != nil {
		return nil, "", "", err
	}
	at, reason, detail = g.geometry()
	return at, reason, detail, nil
}

func (d *reader) shapeMember(g *shape, name []byte) (err error) {
	switch string(name) {
	case "type":
		g.kind, err = d.text()
	case "coordinates":
		d.points, d.reason, d.detail = d.points[:0], "", ""
		g.coords, err = d.coords()
		g.located, g.reason, g.detail = true, d.reason, d.detail
	case "geometries":
		g.members = nil
		k, err := d.s.Kind()
		if err != nil {
			return err
		}
		if k != jsonscan.Array {
			return d.s.Skip()
		}
		return d.s.Array(func(int) error {
			at, reason, detail, err := d.geometry()
			if d.parts++; d.parts > maxParts {
				reason, detail = source.ReasonTooManyPoints, fmt.Sprintf("more than %d geometries", maxParts)
			} else if at != nil {
				g.members = append(g.members, at)
			}
			if g.reason == "" {
				g.reason, g.detail = reason, detail
			}
			return err
		})
	default:
		err = d.s.Skip()
	}
	return err
}

// kinds are the types of geometries. A collection has no coordinates.
var kinds = map[string]struct {
	depth int // number of arrays around a position
	of    func(c coords) orb.Geometry
}{
	"Point":      {0, func(c coords) orb.Geometry { return c.at }},
	"MultiPoint": {1, func(c coords) orb.Geometry { return orb.MultiPoint(c.points) }},
	"LineString": {1, func(c coords) orb.Geometry { return orb.LineString(c.points) }},
	"MultiLineString": {2, func(c coords) orb.Geometry {
		return orb.MultiLineString(each(c, func(c coords) orb.LineString { return c.points }))
	}},
	"Polygon":            {2, func(c coords) orb.Geometry { return c.polygon() }},
	"MultiPolygon":       {3, func(c coords) orb.Geometry { return orb.MultiPolygon(each(c, coords.polygon)) }},
	"GeometryCollection": {},
}

// geometry converts the shape to a geometry, or returns the reason why that is impossible.
func (g *shape) geometry() (at orb.Geometry, reason, detail string) {
	kind, known := kinds[g.kind]
	switch c := &g.coords; {
	case g.kind == "":
		return nil, source.ReasonDamaged, "geometry without a type"
	case !known:
		return nil, source.ReasonUnknownKind, source.Excerpt(g.kind)
	case g.reason != "":
		return nil, g.reason, g.detail
	case kind.of == nil:
		return g.members, "", ""
	case !g.located:
		return nil, source.ReasonDamaged, g.kind + " without coordinates"
	case c.depth == empty && kind.depth == 0:
		return orb.MultiPoint{}, "", ""
	case c.depth != kind.depth && c.depth != empty:
		return nil, source.ReasonWrongNesting, fmt.Sprintf("%s of depth %d", g.kind, c.depth+1)
	}
	return kind.of(g.coords), "", ""
}

// coords is the value of a "coordinates" member, or a part of it.
type coords struct {
	depth  int         // number of arrays around a position, or empty
	at     orb.Point   // for depth 0
	points []orb.Point // for depth 1
	parts  []coords    // for greater depths
}

// empty is the depth of an array without positions, which is unknown.
const empty = -1

func (c coords) polygon() orb.Polygon {
	return each(c, func(c coords) orb.Ring { return c.points })
}

func each[T any](c coords, of func(coords) T) []T {
	out := make([]T, len(c.parts))
	for i := range out {
		out[i] = of(c.parts[i])
	}
	return out
}

func (d *reader) refuse(reason, detail string) {
	if d.reason == "" {
		d.reason, d.detail = reason, detail
	}
}

// coords reads a value. Once a reason is set it only skips.
func (d *reader) coords() (c coords, err error) {
	k, err := d.s.Kind()
	if err != nil {
		return c, err
	}
	if k != jsonscan.Array || d.reason != "" {
		d.refuse(source.ReasonWrongNesting, k.String())
		return c, d.s.Skip()
	}
	c.depth = empty
	from, numbers, empties := len(d.points), 0, false
	err = d.s.Array(func(i int) error {
		k, err := d.s.Kind()
		switch {
		case err != nil:
			return err
		case d.reason != "":
			return d.s.Skip()
		case k == jsonscan.Number && i == numbers:
			numbers++
			n, err := d.s.Float()
			if i < len(c.at) {
				c.at[i] = n
			}
			return err
		case k != jsonscan.Array && k != jsonscan.Number:
			d.refuse(source.ReasonNotANumber, k.String())
			return d.s.Skip()
		case k == jsonscan.Number || numbers > 0:
			d.refuse(source.ReasonWrongNesting, "number beside array")
			return d.s.Skip()
		}
		part, err := d.coords()
		d.addPart(&c, part)
		empties = empties || part.depth == empty
		return err
	})
	switch {
	case err != nil || d.reason != "":
	case numbers == 1:
		d.refuse(source.ReasonWrongNesting, "position of one number")
	case numbers > 0:
		c.depth = 0
		if d.vertices++; d.vertices > source.MaxVertices {
			d.refuse(source.ReasonTooManyPoints, fmt.Sprintf("more than %d", source.MaxVertices))
		}
		return c, nil
	case c.depth == 1 && empties:
		d.refuse(source.ReasonWrongNesting, "empty array")
	case c.depth == 1:
		c.points = slices.Clone(d.points[from:])
	}
	d.points = d.points[:from]
	if d.parts++; d.parts > maxParts {
		d.refuse(source.ReasonTooManyPoints, fmt.Sprintf("more than %d arrays of them", maxParts))
	}
	return c, err
}

// addPart adds an inner array to c. It must have the depth of the others.
func (d *reader) addPart(c *coords, part coords) {
	switch {
	case d.reason != "":
	case part.depth == 0:
		d.points = append(d.points, part.at)
	default:
		c.parts = append(c.parts, part)
	}
	switch {
	case part.depth == empty:
	case c.depth == empty:
		c.depth = part.depth + 1
	case c.depth != part.depth+1:
		d.refuse(source.ReasonWrongNesting, "arrays of different depth")
	}
}

// text reads a string. For any other value it returns "".
func (d *reader) text() (string, error) {
	k, err := d.s.Kind()
	if err != nil {
		return "", err
	}
	if k != jsonscan.String {
		return "", d.s.Skip()
	}
	b, _, err := d.s.Text(100)
	return string(b), err
}

// crs reads the coordinate reference system that older GeoJSON may have, given by a name, a code of
// EPSG or an address. RFC 7946 has only WGS84.
func (d *reader) crs() error {
	k, err := d.s.Kind()
	if err != nil {
		return err
	}
	if k != jsonscan.Object {
		return d.s.Skip()
	}
	var name string
	err = d.s.Object(func(member []byte) error {
		if string(member) != "properties" {
			return d.s.Skip()
		}
		members, lost, err := d.s.Members()
		properties := jsonscan.New(nil).Decode(members, &lost)
		for _, key := range []string{"href", "code", "name"} {
			if value, ok := properties[key]; ok {
				name = fmt.Sprint(value)
			}
		}
		return err
	})
	if err == nil && name != "" {
		var note string
		if note, err = crs.ByName(name).Accept(d.name, "out.geojson"); note != "" {
			d.said.Notes = append(d.said.Notes, note)
		}
	}
	return err
}
