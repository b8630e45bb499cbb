package shapefile

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"quadrille/cmd/ingest/internal/source"
)

// datums whose longitudes and latitudes are taken as WGS84's, by the letters
// and digits of their names. NAD83 differs from it by less than two metres,
// ETRS89 and GRS80-based realisations of WGS84 by less than one.
var datums = map[string]bool{
	"WGS1984": true, "WGS84": true, "WORLDGEODETICSYSTEM1984": true, "WORLDGEODETICSYSTEM1984ENSEMBLE": true,
	"NORTHAMERICAN1983": true, "NORTHAMERICANDATUM1983": true, "NAD83": true, "NAD1983": true,
	"ETRS1989": true, "ETRS89": true, "EUROPEANTERRESTRIALREFERENCESYSTEM1989": true, "EUROPEANTERRESTRIALREFERENCESYSTEM1989ENSEMBLE": true,
}

// checkSystem reads the text of a .prj file, well-known text of either
// version, and refuses what is not longitude and latitude in degrees on one of
// the datums, by name.
func checkSystem(text string) error {
	root, err := parseWKT(text)
	if err != nil {
		return fmt.Errorf(".prj: %w; it should describe the coordinate system as well-known text", err)
	}
	if root.key == "BOUNDCRS" || root.key == "COMPD_CS" || root.key == "COMPOUNDCRS" {
		// The horizontal system is the first within.
		if g := root.find("GEOGCS", "GEOGCRS", "GEODCRS", "GEOGRAPHICCRS", "PROJCS", "PROJCRS"); g != nil {
			root = g
		}
	}
	name := root.name()
	refuse := func(why string) error {
		return fmt.Errorf("coordinates are in %s%s; convert them to longitude and latitude (WGS84) first", source.Excerpt(name), why)
	}
	switch root.key {
	case "GEOGCS", "GEOGCRS", "GEODCRS", "GEOGRAPHICCRS", "GEODETICCRS":
	default:
		return refuse("")
	}
	datum := root.find("DATUM", "GEODETICDATUM", "ENSEMBLE", "TRF")
	if datum == nil || !datums[letters(strings.TrimPrefix(strings.ToUpper(datum.name()), "D_"))] {
		return refuse("")
	}
	if m := root.find("PRIMEM", "PRIMEMERIDIAN"); m != nil && m.number() != 0 {
		return refuse(", counted from the meridian of " + source.Excerpt(m.name()))
	}
	// The angular unit is a direct child; a datum's ellipsoid has units of length.
	for _, u := range root.children {
		if (u.key == "UNIT" || u.key == "ANGLEUNIT") && !(math.Abs(u.number()-math.Pi/180) <= 1e-9) {
			return refuse(", in " + source.Excerpt(u.name()))
		}
	}
	return nil
}

func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return -1
	}, strings.ToUpper(s))
}

// node is KEY["text", 1.5, CHILD[...]] of well-known text.
type node struct {
	key      string
	values   []string // quoted texts and numbers
	children []*node
}

func (n *node) name() string {
	if len(n.values) == 0 {
		return n.key
	}
	return n.values[0]
}

// number is the first value behind the name, NaN when it is none.
func (n *node) number() float64 {
	if len(n.values) > 1 {
		if f, err := strconv.ParseFloat(n.values[1], 64); err == nil {
			return f
		}
	}
	return math.NaN()
}

// find is the first node below with one of the keys.
func (n *node) find(keys ...string) *node {
	for _, c := range n.children {
		for _, key := range keys {
			if c.key == key {
				return c
			}
		}
		if f := c.find(keys...); f != nil {
			return f
		}
	}
	return nil
}

var errWKT = errors.New("not well-known text")

func parseWKT(text string) (*node, error) {
	p := &wkt{rest: text}
	n, err := p.node(0)
	if err != nil {
		return nil, err
	}
	for p.take(",") { // a system of heights, which do not matter here
		if more, err := p.node(0); err != nil || !strings.HasPrefix(more.key, "VERT") {
			return nil, fmt.Errorf("%w: more after its end", errWKT)
		}
	}
	if p.space(); p.rest != "" {
		return nil, fmt.Errorf("%w: more after its end", errWKT)
	}
	return n, nil
}

type wkt struct{ rest string }

func (p *wkt) space() { p.rest = strings.TrimLeft(p.rest, " \t\r\n") }

// take takes one of the characters, if it comes next.
func (p *wkt) take(one string) bool {
	p.space()
	if p.rest != "" && strings.IndexByte(one, p.rest[0]) >= 0 {
		p.rest = p.rest[1:]
		return true
	}
	return false
}

func (p *wkt) node(depth int) (*node, error) {
	const deepest = 32
	if depth > deepest {
		return nil, fmt.Errorf("%w: nested more than %d deep", errWKT, deepest)
	}
	p.space()
	end := strings.IndexAny(p.rest, "[(,]) \t\r\n\"")
	if end <= 0 {
		return nil, errWKT
	}
	n := &node{key: strings.ToUpper(p.rest[:end])}
	p.rest = p.rest[end:]
	if !p.take("[(") {
		if depth > 0 {
			return n, nil // a bare word, as the direction of an axis
		}
		return nil, errWKT
	}
	for {
		p.space()
		switch {
		case p.rest == "":
			return nil, fmt.Errorf("%w: cut off", errWKT)
		case p.rest[0] == '"':
			end := strings.IndexByte(p.rest[1:], '"')
			if end < 0 {
				return nil, fmt.Errorf("%w: cut off", errWKT)
			}
			n.values = append(n.values, p.rest[1:1+end])
			p.rest = p.rest[end+2:]
		case strings.IndexByte("+-.0123456789", p.rest[0]) >= 0:
			end := strings.IndexAny(p.rest, ",]) \t\r\n")
			if end < 0 {
				return nil, fmt.Errorf("%w: cut off", errWKT)
			}
			n.values = append(n.values, p.rest[:end])
			p.rest = p.rest[end:]
		default:
			c, err := p.node(depth + 1)
			if err != nil {
				return nil, err
			}
			n.children = append(n.children, c)
		}
		if p.take("])") {
			return n, nil
		}
		if !p.take(",") {
			return nil, errWKT
		}
	}
}
