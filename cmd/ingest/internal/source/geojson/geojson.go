// Package geojson reads the polygons of a GeoJSON file, RFC 7946, one feature
// at a time: a FeatureCollection, a single Feature or a bare geometry. Memory
// is bounded by the largest feature, whatever the size of the file or its
// lines. Polygon, MultiPolygon and GeometryCollections of them are taken;
// points and lines within a collection that also has polygons are ignored.
package geojson

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/paulmach/orb"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/crs"
	"quadrille/cmd/ingest/internal/source/jsonscan"
)

// ErrTopology is returned for a file that turns out to be TopoJSON, which
// package topojson reads.
var ErrTopology = errors.New("is TopoJSON, not GeoJSON")

// errStop ends the scan when the caller leaves the loop.
var errStop = errors.New("stop")

// Read yields the features of the file with this name, in order. A feature
// that cannot be used is a *source.BadRecord and reading goes on; any other
// error ends it, and says by line and byte where the file is at fault.
func Read(r io.Reader, name string) iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		d := &reader{name: name, s: jsonscan.New(r), yield: yield, left: source.MaxVertices}
		err := d.document()
		if err != nil && !errors.Is(err, errStop) {
			yield(source.Feature{}, jsonscan.Explain(err, name, "GeoJSON"))
		}
	}
}

// maxMembers is the most geometries in one collection.
const maxMembers = 100000

type reader struct {
	name  string
	s     *jsonscan.Scanner
	yield func(source.Feature, error) bool

	points []orb.Point // of the geometry being read; reused
	left   int         // vertices the feature being read may still have
}

// document reads the top-level value. Members come in any order, so it is
// read as feature and collection at once, and its type judged at the end.
func (d *reader) document() error {
	var typ string
	var collection bool
	f := feature{line: d.s.Line()}
	if k, err := d.s.Kind(); err != nil {
		return err
	} else if k == jsonscan.End {
		return fmt.Errorf("%s: is empty; it should hold a GeoJSON FeatureCollection", d.name)
	}
	err := d.s.Object(func(member []byte) error {
		switch string(member) {
		case "type":
			var err error
			if typ, err = d.text(); err != nil {
				return err
			}
			if typ == "Topology" {
				return fmt.Errorf("%s: %w", d.name, ErrTopology)
			}
			f.typ = typ
			return nil
		case "features":
			collection = true
			return d.s.Array(func(int) error { return d.feature() })
		case "crs":
			return d.crs()
		}
		return d.member(&f, member)
	})
	if err != nil {
		return err
	}
	if k, err := d.s.Kind(); err != nil {
		return err
	} else if k != jsonscan.End {
		return fmt.Errorf("%s: %s at line %d after the end of the first value; one FeatureCollection per file, please", d.name, k, d.s.Line())
	}
	switch typ {
	case "FeatureCollection":
		if !collection {
			return fmt.Errorf("%s: a FeatureCollection without features", d.name)
		}
		return nil
	case "Feature":
		return d.emit(&f)
	case "Polygon", "MultiPolygon", "GeometryCollection":
		f.kind = typ
		f.assemble()
		f.geometry, f.typ = &f.shape, "Feature"
		return d.emit(&f)
	}
	return fmt.Errorf("%s: type %s is not a GeoJSON FeatureCollection", d.name, source.Excerpt(typ))
}

// feature is one Feature while it is read.
type feature struct {
	line       int
	typ, id    string
	properties map[string]any
	lost       source.Lost
	geometry   *shape // nil: none or null
	shape             // of a bare geometry
}

// shape is a geometry while it is read. Its type may follow its coordinates.
type shape struct {
	kind     string
	coords   *coords
	members  []shape // of a collection
	polygons []orb.Polygon
	repair   string
	reason   string
	detail   string
}

func (d *reader) feature() error {
	k, err := d.s.Kind()
	if err != nil {
		return err
	}
	f := feature{line: d.s.Line()}
	d.left = source.MaxVertices
	if k != jsonscan.Object {
		if err := d.s.Skip(); err != nil {
			return err
		}
		return d.bad(f.line, source.NotAFeature, k.String())
	}
	if err := d.s.Object(func(member []byte) error { return d.member(&f, member) }); err != nil {
		return err
	}
	return d.emit(&f)
}

// member reads one member of a Feature or, at the top, of a geometry.
func (d *reader) member(f *feature, name []byte) (err error) {
	switch string(name) {
	case "type":
		f.typ, err = d.text()
	case "id":
		f.id, err = d.s.ID()
	case "properties":
		var k jsonscan.Kind
		if k, err = d.s.Kind(); err == nil && (k == jsonscan.Object || k == jsonscan.Null) {
			f.properties, f.lost, err = d.s.Properties()
		} else if err == nil {
			err = d.s.Skip()
		}
	case "geometry":
		var g shape
		if g, err = d.shape(); err == nil && g.kind != "null" {
			f.geometry = &g
		}
	case "coordinates", "geometries":
		err = d.shapeMember(&f.shape, name)
	default:
		err = d.s.Skip()
	}
	return err
}

func (d *reader) emit(f *feature) error {
	g := f.geometry
	switch {
	case f.typ != "Feature":
		return d.bad(f.line, source.NotAFeature, "type "+source.Excerpt(f.typ))
	case g == nil:
		return d.bad(f.line, source.NoGeometry, "")
	case g.reason != "":
		return d.bad(f.line, g.reason, g.detail)
	}
	ok := d.yield(source.Feature{ID: f.id, Properties: f.properties, Lost: f.lost, Geometry: source.Join(g.polygons), Line: f.line, Repair: g.repair}, nil)
	if !ok {
		return errStop
	}
	return nil
}

func (d *reader) bad(line int, reason, detail string) error {
	if !d.yield(source.Feature{}, &source.BadRecord{Source: d.name, Line: line, Reason: reason, Detail: detail}) {
		return errStop
	}
	return nil
}

// shape reads a geometry object; null has the kind "null".
func (d *reader) shape() (g shape, err error) {
	k, err := d.s.Kind()
	switch {
	case err != nil:
		return g, err
	case k == jsonscan.Null:
		g.kind = "null"
		return g, d.s.Null()
	case k != jsonscan.Object:
		g.reason, g.detail = source.NoGeometry, k.String()
		return g, d.s.Skip()
	}
	if err := d.s.Object(func(name []byte) error { return d.shapeMember(&g, name) }); err != nil {
		return g, err
	}
	g.assemble()
	return g, nil
}

func (d *reader) shapeMember(g *shape, name []byte) (err error) {
	switch string(name) {
	case "type":
		g.kind, err = d.text()
	case "coordinates":
		c := &coords{points: d.points[:0], left: &d.left}
		c.height, err = c.read(d.s)
		d.points = c.points
		c.points = slices.Clone(c.points)
		g.coords = c
	case "geometries":
		g.members = nil
		var k jsonscan.Kind
		if k, err = d.s.Kind(); err != nil {
			return err
		}
		if k != jsonscan.Array {
			return d.s.Skip()
		}
		err = d.s.Array(func(int) error {
			m, err := d.shape()
			if len(g.members) == maxMembers {
				g.reason, g.detail = source.TooManyPoints, fmt.Sprintf("more than %d geometries", maxMembers)
			} else if m.kind != "null" {
				g.members = append(g.members, m)
			}
			return err
		})
	default:
		err = d.s.Skip()
	}
	return err
}

// assemble makes polygons of what was read, or sets the reason why not.
func (g *shape) assemble() {
	if g.reason != "" {
		return
	}
	switch g.kind {
	case "Polygon", "MultiPolygon":
		g.fromCoords()
	case "GeometryCollection":
		for i := range g.members {
			m := &g.members[i]
			switch {
			case m.reason == "":
				g.polygons = append(g.polygons, m.polygons...)
				if m.repair != "" {
					source.AddRepair(&g.repair, m.repair)
				}
			case m.reason != source.NotAPolygon && g.reason == "":
				g.reason, g.detail = m.reason, m.detail
			}
		}
		if len(g.polygons) == 0 && g.reason == "" {
			g.reason, g.detail = source.NotAPolygon, "GeometryCollection without one"
		}
	case "":
		g.reason, g.detail = source.NoGeometry, "no type"
	default:
		g.reason, g.detail = source.NotAPolygon, strings.Trim(source.Excerpt(g.kind), `"`)
	}
	g.members, g.coords = nil, nil
}

func (g *shape) fromCoords() {
	c := g.coords
	want := 2
	if g.kind == "MultiPolygon" {
		want = 3
	}
	switch {
	case c == nil:
		g.reason = source.NoGeometry
		return
	case c.reason != "":
		g.reason, g.detail = c.reason, c.detail
		return
	case len(c.points) == 0:
		g.reason, g.detail = source.NoGeometry, "no coordinates"
		return
	case c.height != want:
		g.reason, g.detail = source.WrongNesting, fmt.Sprintf("%s of depth %d", g.kind, c.height+1)
		return
	}
	var ring, point int
	for _, end := range c.polys {
		rings := make([]orb.Ring, 0, end-ring)
		for ; ring < end; ring++ {
			to := c.rings[ring]
			if source.IsOpen(c.points[point:to]) {
				g.repair = source.Closed
			}
			rings = append(rings, c.points[point:to:to])
			point = to
		}
		g.polygons = source.AddPolygon(g.polygons, rings)
	}
	if len(g.polygons) == 0 {
		g.reason = source.NoArea
	}
}

// coords is the value of a "coordinates" member, flattened: all positions, and
// where each array of positions and each array of those ends.
type coords struct {
	points []orb.Point
	rings  []int // ends within points
	polys  []int // ends within rings
	left   *int  // vertices that may still come
	height int   // 0 position, 1 array of positions, 2 of those, 3 of those
	reason string
	detail string
}

func (c *coords) refuse(reason, detail string) {
	if c.reason == "" {
		c.reason, c.detail = reason, detail
		c.points, c.rings, c.polys = c.points[:0], nil, nil
	}
}

// read reads a value and returns its height above a position. Once a reason
// is set it only skips.
func (c *coords) read(s *jsonscan.Scanner) (height int, err error) {
	k, err := s.Kind()
	if err != nil {
		return 0, err
	}
	if k != jsonscan.Array || c.reason != "" {
		c.refuse(source.WrongNesting, k.String())
		return 0, s.Skip()
	}
	var p [2]float64
	position, n := false, 0
	err = s.Array(func(i int) error {
		n = i + 1
		k, err := s.Kind()
		switch {
		case err != nil:
			return err
		case c.reason != "":
			return s.Skip()
		case k == jsonscan.Number && (i == 0 || position):
			position = true
			f, err := s.Float()
			if i < 2 {
				p[i] = f
			}
			return err
		case k != jsonscan.Array && k != jsonscan.Number:
			c.refuse(source.NotANumber, k.String())
			return s.Skip()
		case position || k == jsonscan.Number:
			c.refuse(source.WrongNesting, "number beside array")
			return s.Skip()
		}
		h, err := c.read(s)
		if i > 0 && h != height-1 {
			c.refuse(source.WrongNesting, "arrays of different depth")
		}
		height = h + 1
		return err
	})
	if err != nil || c.reason != "" {
		return height, err
	}
	switch {
	case position && n < 2:
		c.refuse(source.WrongNesting, "position of one number")
	case position:
		c.add(p[0], p[1])
	case n == 0:
		// An empty geometry is told by its having no points; an empty part of
		// another has a depth nobody can tell.
		height = 0
		if len(c.points) > 0 {
			c.refuse(source.WrongNesting, "empty array")
		}
	case height == 1:
		c.rings = append(c.rings, len(c.points))
	case height == 2:
		c.polys = append(c.polys, len(c.rings))
	}
	return height, nil
}

func (c *coords) add(lon, lat float64) {
	p, reason, detail := source.Place(lon, lat)
	switch {
	case reason != "":
		c.refuse(reason, detail)
	case *c.left == 0:
		c.refuse(source.TooManyPoints, fmt.Sprintf("more than %d", source.MaxVertices))
	default:
		*c.left--
		c.points = append(c.points, p)
	}
}

// text reads a string; any other value gives "".
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

// crs reads the coordinate reference system that older GeoJSON may name, by a name, a code of
// EPSG or an address. RFC 7946 knows WGS84 only.
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
		properties, _, err := d.s.Properties()
		for _, key := range []string{"href", "code", "name"} {
			if value, ok := properties[key]; ok {
				name = fmt.Sprint(value)
			}
		}
		return err
	})
	if err == nil && name != "" {
		_, err = crs.Named(name).Take(d.name, "", "out.geojson")
	}
	return err
}
