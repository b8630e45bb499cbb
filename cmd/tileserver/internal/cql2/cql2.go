// Package cql2 reads filters of features in CQL2 text (OGC 21-065) and tells which
// features pass them. It understands what the simple filters of OGC API Features, part 3,
// need:
//
//	name = 'Oak' AND (height >= 10 OR closed = FALSE)
//	CASEI(name) LIKE CASEI('o%') AND kind NOT IN ('shrub', 'hedge')
//	planted BETWEEN DATE('1990-01-01') AND DATE('1999-12-31') AND felled IS NULL
//	S_INTERSECTS(geometry, BBOX(170, -20, -170, -10))
//
//	A_CONTAINS(tags, ('wifi', 'vegan')) AND address.city = 'Bern'
//
// Every comparison is between one property and values. Keywords may have any case, and
// names of properties keep theirs. A name that is not made of letters, digits, _, : and .
// alone, or that is a keyword, stands in double quotes. Text stands in single quotes; a
// quote within is doubled or has a backslash before it. Any other backslash is one, but
// for patterns: in those of LIKE, % stands for any text, _ for one character, and a
// backslash makes the next character an ordinary one.
//
// # Geometries
//
// S_INTERSECTS compares with boxes only: BBOX and ENVELOPE take west, south, east and
// north in degrees, with west greater than east to cross ±180°; a POLYGON is a rectangle
// with sides along meridians and parallels; a POINT is a box without extent. The points
// of the latter two are longitude, latitude.
//
// # Lists and objects
//
// A property that is a list equals a value, is IN values or LIKE a pattern if one of its elements
// is so, and differs from what no element is; it has no order. A_CONTAINS, A_CONTAINEDBY, A_EQUALS
// and A_OVERLAPS compare it with a list of values in parentheses, as sets. A name with dots that
// no property has is that of a member within objects: address.city is the city of the address.
//
// Ids of regions are equal, IN values or LIKE a pattern as [feature.SameID] compares them, whatever
// their case. Their order is that of texts.
//
// # What is unknown
//
// A comparison is true, false or unknown. It is unknown where the property is absent or
// null, and where property and value have different types: text is neither less than a
// number nor different from it. NOT leaves the unknown unknown, AND and OR follow SQL, and
// a feature passes if the whole is true. IS NULL alone is never unknown. Comparisons are
// decided by package feature, as those of all other filters.
//
// # Types
//
// Text is ordered by its code points. CASEI ignores case by the simple folding of Unicode,
// which leaves ß as it is. DATE and TIMESTAMP compare with text that is a date or an RFC
// 3339 time, as instants; a date is the first instant of its day in UTC. Numbers are exact,
// however many digits they have. NaN is unknown.
package cql2

import (
	"context"
	"slices"
	"strconv"

	"quadrille/feature"
	"quadrille/quadkey"
)

// Bounds of a filter. They keep the cost of one request small.
const (
	MaxBytes   = 10_000 // of text
	MaxDepth   = 100    // of parentheses and NOTs within each other
	MaxNodes   = 1000   // comparisons, values in lists, ANDs, ORs and NOTs
	MaxPattern = 1000   // characters of all the patterns of LIKE together
)

// Filter is a parsed filter. It is safe for concurrent use.
type Filter struct {
	root       node
	properties []string
	geometries []string
	boxes      []quadkey.Box
	cost       int
	given      *quadkey.Box
	meets      Meets
}

// Meets reports whether the geometry of a feature and a box have a point in common.
type Meets func(ctx context.Context, f *feature.Feature, b quadkey.Box) (bool, error)

// Of returns the filter for a search of features that meet a box, nil for no box. They have
// the properties of a schema, by which ids of regions are compared as such. meets tells which
// other boxes a feature meets; nil is for points.
func (f *Filter) Of(s feature.Schema, box *quadkey.Box, meets Meets) *Filter {
	of := *f
	of.root, of.given, of.meets = f.root.of(s), box, meets
	return &of
}

func (n node) of(s feature.Schema) node {
	n.kids, n.tests = slices.Clone(n.kids), slices.Clone(n.tests)
	for i := range n.kids {
		n.kids[i] = n.kids[i].of(s)
	}
	for i := range n.tests {
		n.tests[i] = n.tests[i].In(s)
	}
	return n
}

// Parse reads a filter. Its error is a [*SyntaxError].
func Parse(text string) (*Filter, error) {
	root, err := parse(text)
	if err != nil {
		return nil, err
	}
	return newFilter(root), nil
}

// And returns a filter that passes features which pass all of the given filters. Nil
// filters are left out; without any filter every feature passes.
func And(all ...*Filter) *Filter {
	var kids []node
	for _, f := range all {
		if f != nil {
			kids = append(kids, f.root)
		}
	}
	if len(kids) == 0 {
		return newFilter(node{op: opTrue})
	}
	return newFilter(join(opAnd, kids))
}

// Equal returns the filter name = text for a parameter of a query, which has no types. A
// number passes if the text is a number of the same value, and a boolean if the text is
// true or false accordingly.
func Equal(name, text string) *Filter {
	n := node{op: opIn, name: name, values: []value{textValue(text)}}
	switch {
	case text == "true" || text == "false":
		n.values = append(n.values, booleanValue(text == "true"))
	case isNumber(text):
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			n.values = append(n.values, numberValue(text))
		}
	}
	return newFilter(n)
}

func newFilter(root node) *Filter {
	f := &Filter{root: root}
	f.collect(&f.root)
	slices.Sort(f.properties)
	slices.Sort(f.geometries)
	f.properties = slices.Compact(f.properties)
	f.geometries = slices.Compact(f.geometries)
	return f
}

func (f *Filter) collect(n *node) {
	n.prepare()
	f.cost += 1 + len(n.values) + len(n.pattern)
	switch {
	case n.op == opIntersects:
		f.geometries = append(f.geometries, n.name)
		if !slices.Contains(f.boxes, n.box) {
			f.boxes = append(f.boxes, n.box)
		}
	case n.name != "":
		f.properties = append(f.properties, n.name)
	}
	for i := range n.kids {
		f.collect(&n.kids[i])
	}
}

// Properties lists the names of the properties that the filter asks about, each once,
// sorted. The geometries of spatial operators are not among them.
func (f *Filter) Properties() []string { return slices.Clone(f.properties) }

// Geometries lists the names of the geometries of spatial operators, each once, sorted.
func (f *Filter) Geometries() []string { return slices.Clone(f.geometries) }

// Boxes lists the boxes of spatial operators, each once.
func (f *Filter) Boxes() []quadkey.Box { return slices.Clone(f.boxes) }

// Cost bounds the comparisons that Match makes, in comparisons of two short texts. A pattern
// counts each of its characters.
func (f *Filter) Cost() int { return f.cost }

// Box returns a box that every feature which passes meets, for a search by an index. Of
// several it is the smallest. It is not their intersection, because a long feature can
// meet two boxes and pass by what they share. There is none, and ok is false, if boxes
// stand below OR or NOT only.
func (f *Filter) Box() (b quadkey.Box, ok bool) {
	if f.root.op == opIntersects {
		return f.root.box, true
	}
	if f.root.op != opAnd {
		return b, false
	}
	for _, kid := range f.root.kids {
		if kid.op == opIntersects && (!ok || area(kid.box) < area(b)) {
			b, ok = kid.box, true
		}
	}
	return b, ok
}

// area is in square degrees.
func area(b quadkey.Box) float64 {
	width := b.East - b.West
	if width < 0 {
		width += 360
	}
	return width * (b.North - b.South)
}

type op uint8

const (
	opTrue op = iota
	opFalse
	opAnd
	opOr
	opNot
	opCompare
	opIn
	opBetween
	opArray
	opLike
	opNull
	opIntersects
)

// node is a node of the tree of a filter. An AND has no child that is an AND, and an OR
// none that is an OR, so that one tree has one text.
type node struct {
	op      op
	kids    []node
	name    string // of the property
	fold    bool   // the property stands in CASEI
	compare comparison
	array   arrayFunction
	values  []value
	pattern feature.Pattern
	box     quadkey.Box
	tests   []feature.Test // all of which must hold, made of what is above
}

// join makes one node of several. It dissolves nodes of the same operator.
func join(o op, kids []node) node {
	if len(kids) == 1 {
		return kids[0]
	}
	var flat []node
	for _, kid := range kids {
		if kid.op == o {
			flat = append(flat, kid.kids...)
		} else {
			flat = append(flat, kid)
		}
	}
	return node{op: o, kids: flat}
}
