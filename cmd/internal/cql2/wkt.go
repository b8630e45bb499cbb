package cql2

import (
	"slices"
	"strings"

	"github.com/paulmach/orb"

	"quadrille/quadkey"
)

// ParseGeometry reads a geometry in WKT, such as POLYGON((8 47, 9 47, 9 48, 8 47)), without heights. It checks the
// syntax alone. Its error is a [*SyntaxError].
func ParseGeometry(text string) (orb.Geometry, error) {
	if len(text) > MaxBytes {
		return nil, refuse(MaxBytes, "the geometry has %d bytes; give at most %d", len(text), MaxBytes)
	}
	p := &parser{lexer: lexer{input: text}}
	if err := p.advance(); err != nil {
		return nil, err
	}
	g, err := p.wkt()
	if err == nil && p.kind != tokenEnd {
		err = refuse(p.offset, "%s is not expected here; end the geometry before it", p.token)
	}
	return g, err
}

const wktAdvice = "write WKT, such as POLYGON((8 47, 9 47, 9 48, 8 47))"

// wkt reads a geometry. The current token is its name.
func (p *parser) wkt() (g orb.Geometry, err error) {
	name := p.token
	if name.kind != tokenName || !slices.ContainsFunc(geometries[2:], name.is) {
		return nil, refuse(name.offset, "%s is no geometry; %s", name, wktAdvice)
	}
	if err := p.advance(); err != nil {
		return nil, err
	}
	switch strings.ToUpper(name.text) {
	case "POINT":
		var list []orb.Point
		if list, err = listOf(p, p.position); err == nil && len(list) != 1 {
			return nil, refuse(name.offset, "a POINT has one position; write MULTIPOINT for several")
		}
		if err == nil {
			g = list[0]
		}
	case "LINESTRING":
		g, err = p.line()
	case "POLYGON":
		g, err = p.polygon()
	case "MULTIPOINT":
		g, err = multi[orb.MultiPoint](p, func() (orb.Point, error) {
			if !p.is("(") {
				return p.position()
			}
			list, err := listOf(p, p.position)
			if err == nil && len(list) != 1 {
				err = refuse(name.offset, "a MULTIPOINT has one position in each pair of parentheses")
			}
			return append(list, orb.Point{})[0], err
		})
	case "MULTILINESTRING":
		g, err = multi[orb.MultiLineString](p, p.line)
	case "MULTIPOLYGON":
		g, err = multi[orb.MultiPolygon](p, p.polygon)
	case "GEOMETRYCOLLECTION":
		if err := p.deeper(); err != nil {
			return nil, err
		}
		g, err = multi[orb.Collection](p, p.wkt)
		p.depth--
	}
	return g, err
}

// multi reads a geometry of several.
func multi[G ~[]T, T any](p *parser, item func() (T, error)) (G, error) {
	list, err := listOf(p, item)
	return G(list), err
}

func (p *parser) line() (orb.LineString, error) { return multi[orb.LineString](p, p.position) }

func (p *parser) polygon() (orb.Polygon, error) {
	return multi[orb.Polygon](p, func() (orb.Ring, error) { return multi[orb.Ring](p, p.position) })
}

// position reads a longitude and a latitude.
func (p *parser) position() (at orb.Point, err error) {
	v, err := p.sequence(nil, 2, "")
	if err != nil {
		return at, err
	}
	return orb.Point{v[0], v[1]}, nil
}

// listOf reads items in parentheses, with commas between them.
func listOf[T any](p *parser, item func() (T, error)) (all []T, err error) {
	if err := p.expect("(", wktAdvice); err != nil {
		return nil, err
	}
	for {
		v, err := item()
		if err != nil {
			return nil, err
		}
		if all = append(all, v); !p.is(",") {
			break
		}
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	return all, p.expect(")", "write longitude and latitude without heights, a space between them, commas between positions, and ) after the last")
}

// boxOf returns the box of a rectangle with sides along meridians and parallels.
func boxOf(p orb.Polygon) (b quadkey.Box, ok bool) {
	if len(p) != 1 || len(p[0]) != 5 || p[0][0] != p[0][4] {
		return b, false
	}
	// The third corner is opposite to the first; the other two lie between them, in either direction.
	a, c := p[0][0], p[0][2]
	one := p[0][1] == orb.Point{c[0], a[1]} && p[0][3] == orb.Point{a[0], c[1]}
	other := p[0][1] == orb.Point{a[0], c[1]} && p[0][3] == orb.Point{c[0], a[1]}
	if a[0] == c[0] || a[1] == c[1] || !one && !other {
		return b, false
	}
	b = quadkey.Box{West: min(a[0], c[0]), South: min(a[1], c[1]), East: max(a[0], c[0]), North: max(a[1], c[1])}
	return b, b.Valid()
}
