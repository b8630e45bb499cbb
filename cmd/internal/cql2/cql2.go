// Package cql2 reads filters of features in CQL2 text or CQL2 JSON (OGC 21-065) and tests which features pass
// them. It understands the syntax that the simple filters of OGC API Features, part 3, need, here as text:
//
//	name = 'Oak' AND (height >= 10 OR closed = FALSE)
//	CASEI(name) LIKE CASEI('o%') AND kind NOT IN ('shrub', 'hedge')
//	planted BETWEEN DATE('1990-01-01') AND DATE('1999-12-31') AND felled IS NULL
//	S_INTERSECTS(geometry, BBOX(170, -20, -170, -10))
//
//	A_CONTAINS(tags, ('wifi', 'vegan')) AND address.city = 'Bern'
//
// Every comparison is between one property and values. Keywords may have any case, and names of
// properties keep theirs. A name that is not made of letters, digits, _, : and . alone, or that is
// a keyword, stands in double quotes. Text stands in single quotes; a quote within is doubled or
// has a backslash before it. Any other backslash stands for itself, except in the patterns of LIKE:
// there % stands for any text, _ for one character, and a backslash makes the next character an
// ordinary one.
//
// # Geometries
//
// S_INTERSECTS, S_DISJOINT and S_WITHIN compare with a geometry, and S_DWITHIN with what is within a distance of it, in
// metres unless a unit follows. Geometries are in WKT, longitude before latitude, without heights; BBOX and
// ENVELOPE take west, south, east and north in degrees, with west greater than east to cross ±180°. Edges are
// straight in longitude and latitude, and belong to the geometry, also for S_WITHIN. Package shape decides the rest.
//
//	S_WITHIN(geometry, POLYGON((8 47, 9 47, 9 48, 8 47)))
//	S_DWITHIN(geometry, LINESTRING(8 47, 9 48), 500, meters)
//
// # Lists and objects
//
// A property that is a list equals a value, is IN values or LIKE a pattern if one of its elements
// does. It differs from a value if no element equals it. It has no order. A_CONTAINS,
// A_CONTAINEDBY, A_EQUALS and A_OVERLAPS compare it with a list of values in parentheses, as sets.
// A name with dots that no property has is that of a member within objects: address.city is the
// city of the address.
//
// Ids of regions are equal, IN values or LIKE a pattern as [feature.SameRegionID] compares them,
// whatever their case. Their order is that of texts.
//
// # What is unknown
//
// A comparison is true, false or unknown. It is unknown where the property is absent or null, and
// where property and value have different types: text is neither less than a number nor different
// from it. NOT leaves the unknown unknown, AND and OR follow SQL, and a feature passes if the whole
// is true. IS NULL alone is never unknown. Package feature decides what passes, as for all other
// filters.
//
// # Types
//
// Text is ordered by its code points. CASEI ignores case by the simple folding of Unicode,
// which leaves ß as it is. DATE and TIMESTAMP compare with text that is a date or an RFC
// 3339 time, as instants; a date is the first instant of its day in UTC. Numbers are exact,
// however many digits they have. NaN is unknown.
package cql2

import (
	"slices"
	"strconv"

	"quadrille/feature"
)

// These are bounds of a filter. They keep the cost of one request small.
const (
	MaxBytes   = 10_000 // of text
	MaxDepth   = 100    // of parentheses and NOTs within each other
	MaxNodes   = 1000   // comparisons, values in lists, ANDs, ORs and NOTs
	MaxPattern = 1000   // characters of all the patterns of LIKE together
)

// Filter is a parsed filter: a test of features, and the names that its text uses for their
// geometry.
type Filter struct {
	feature.Test
	geometries []string
}

// Parse reads a filter. Its error is a [*SyntaxError].
func Parse(text string) (*Filter, error) {
	if err := check(text); err != nil {
		return nil, err
	}
	return finish(&parser{lexer: lexer{input: text}})
}

// finish reads the filter of a parser.
func finish(p *parser) (*Filter, error) {
	test, err := p.filter()
	if err != nil {
		return nil, err
	}
	slices.Sort(p.geometries)
	return &Filter{test, slices.Compact(p.geometries)}, nil
}

// Geometries lists the names of the geometries of spatial operators, each once, sorted.
func (f *Filter) Geometries() []string { return slices.Clone(f.geometries) }

// EqualTest returns the test name = text for a parameter of a query. Such parameters have no types. A
// number passes if the text is a number of the same value, and a boolean if the text is true or
// false accordingly.
func EqualTest(name, text string) feature.Test {
	values := []feature.Literal{feature.TextLiteral(text)}
	switch {
	case text == "true" || text == "false":
		values = append(values, feature.BooleanLiteral(text == "true"))
	case isNumber(text):
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			values = append(values, feature.NumberLiteral(text))
		}
	}
	return feature.NewTest(name, feature.OpEquals, false, values...)
}
