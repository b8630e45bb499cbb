package cql2

import (
	"slices"
	"strings"

	"github.com/paulmach/orb"

	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles/shape"
)

// MaxGeometries bounds the geometries of a filter, without boxes.
const MaxGeometries = 20

// spatials lists the spatial operators.
var spatials = []string{"S_INTERSECTS", "S_DISJOINT", "S_WITHIN", "S_DWITHIN"}

const geometryAdvice = "write a geometry such as BBOX(west, south, east, north) in degrees, or in WKT"

// metresIn has the units of distances.
var metresIn = map[string]float64{
	"M": 1, "METER": 1, "METERS": 1, "METRE": 1, "METRES": 1,
	"KM": 1000, "KILOMETER": 1000, "KILOMETERS": 1000, "KILOMETRE": 1000, "KILOMETRES": 1000,
}

// spatial reads a call of a spatial operator. The current token is its name.
func (p *parser) spatial() (test feature.Test, err error) {
	name := strings.ToUpper(p.text)
	for range 2 { // the name and the parenthesis
		if err := p.advance(); err != nil {
			return test, err
		}
	}
	var g orb.Geometry
	var box *quadkey.Box
	at := p.offset
	for i := range 2 {
		before := p.offset
		switch {
		case p.kind == tokenName && p.opens() && g == nil && box == nil && (i == 1 || name != "S_WITHIN"):
			at = p.offset
			g, box, err = p.geometry()
		case p.kind == tokenQuoted, p.kind == tokenName && !p.opens() && !slices.ContainsFunc(reserved, p.is):
			p.geometries = append(p.geometries, p.text)
			err = p.advance()
		default:
			err = refuse(p.offset,
				"%s is not expected here; write the property of the geometry and then a geometry, such as %s(geometry, BBOX(8, 47, 9, 48))", p.token, name)
		}
		if err == nil && i == 0 {
			err = p.expect(",", "write a comma after the first argument of "+name)
		}
		if err == nil && i == 1 && g == nil && box == nil {
			err = refuse(before, "%s takes the property of the geometry and one geometry, such as %s(geometry, BBOX(8, 47, 9, 48))", name, name)
		}
		if err != nil {
			return test, err
		}
	}
	metres := 0.0
	if name == "S_DWITHIN" {
		if metres, err = p.distance(); err != nil {
			return test, err
		}
	}
	if err := p.expect(")", "close "+name+" with )"); err != nil {
		return test, err
	}
	in, err := p.area(at, g, box, name == "S_WITHIN", metres)
	if err != nil {
		return test, err
	}
	if test = feature.NewAreaTest(in, name == "S_WITHIN"); name == "S_DISJOINT" {
		test = feature.Not(test)
	}
	return test, nil
}

// distance reads the distance of S_DWITHIN, in metres, unless a unit follows.
func (p *parser) distance() (metres float64, err error) {
	if err := p.expect(",", "write a comma and a distance in metres after the geometry of S_DWITHIN"); err != nil {
		return 0, err
	}
	v, err := p.sequence(nil, 1, "")
	if err != nil || !p.is(",") {
		return append(v, 0)[0], err
	}
	if err := p.advance(); err != nil {
		return 0, err
	}
	unit, ok := metresIn[strings.ToUpper(p.text)]
	if !ok {
		return 0, refuse(p.offset, "%s is no unit; write meters or kilometers", p.token)
	}
	return v[0] * unit, p.advance()
}

// area returns the area of what is at most some metres from a geometry or a box. Boxes and rectangles stay
// boxes, except for what shall be in them as a whole.
func (p *parser) area(offset int, g orb.Geometry, box *quadkey.Box, whole bool, metres float64) (feature.Ground, error) {
	switch g := g.(type) {
	case orb.Polygon:
		if b, ok := boxOf(g); ok {
			box = &b
		}
	case orb.Point:
		if b := (quadkey.Box{West: g[0], South: g[1], East: g[0], North: g[1]}); b.Valid() {
			box = &b
		}
	}
	if box != nil && !whole && metres == 0 {
		return feature.Box(*box), nil
	}
	if p.areas++; p.areas > MaxGeometries {
		return nil, refuse(offset, "the filter has more than %d geometries besides boxes; ask for less at once", MaxGeometries)
	}
	if g == nil {
		b := *box
		if b.West > b.East {
			b.East += 360
		}
		g = orb.Polygon{{{b.West, b.South}, {b.East, b.South}, {b.East, b.North}, {b.West, b.North}, {b.West, b.South}}}
	}
	a, err := shape.New(g, metres)
	if detail := feature.DetailOf(err, shape.ErrGeometry); detail != "" {
		return nil, refuse(offset, "%s", detail)
	}
	return a, err
}

// geometry reads a geometry or a box. The current token is its name.
func (p *parser) geometry() (g orb.Geometry, box *quadkey.Box, err error) {
	name := p.token
	switch {
	case !slices.ContainsFunc(geometries, name.is):
		return nil, nil, refuse(name.offset, "%s is no geometry; %s", short(name.text), geometryAdvice)
	case !slices.ContainsFunc(geometries[:2], name.is):
		g, err = p.wkt()
		return g, nil, err
	}
	if err := p.advance(); err != nil {
		return nil, nil, err
	}
	v, err := p.numbers(4, ",")
	if err != nil {
		return nil, nil, err
	}
	b := quadkey.Box{West: v[0], South: v[1], East: v[2], North: v[3]}
	if err := b.Check(); err != nil {
		return nil, nil, refuse(name.offset, "%v; or %s", err, geometryAdvice)
	}
	return nil, &b, nil
}
