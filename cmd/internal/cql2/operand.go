package cql2

import (
	"slices"
	"strings"

	"quadrille/feature"
	"quadrille/internal/instant"
	"quadrille/quadkey"
)

// operand is one side of a comparison: a property, or a value if property is "".
type operand struct {
	offset   int
	source   string // the text of the operand
	property string
	fold     bool
	value    value
}

// refuse refuses a property where a value must stand.
func (o *operand) refuse(format string, args ...any) *SyntaxError {
	err := refuse(o.offset, format, args...)
	if !o.fold {
		err.Property = o.source
	}
	return err
}

func (p *parser) operand() (operand, error) {
	o := operand{offset: p.offset}
	t := p.token
	switch {
	case t.kind == tokenText:
		o.value = textValue(t.text)
	case t.kind == tokenNumber:
		o.value = numberValue(strings.TrimPrefix(t.text, "+"))
	case t.kind == tokenQuoted:
		if p.opens() {
			return o, refuse(t.offset, "%s is followed by a parenthesis; write an operator after a property, and functions without quotes", t)
		}
		o.property = t.text
	case t.kind != tokenName:
		return o, refuse(t.offset, "%s is not expected here; write a property, a number, or text in single quotes", t)
	case t.is("TRUE"), t.is("FALSE"):
		o.value = booleanValue(t.is("TRUE"))
	case t.is("NULL"):
		return o, refuse(t.offset, "nothing equals NULL; write IS NULL or IS NOT NULL after the property")
	case slices.ContainsFunc(reserved, t.is):
		return o, refuse(t.offset,
			`%s is not expected here; write a comparison on each side of it, or "%s" in double quotes for a property of that name`, t, t.text)
	case p.opens():
		return p.function()
	default:
		o.property = t.text
	}
	if err := p.advance(); err != nil {
		return o, err
	}
	o.source = strings.TrimSpace(p.input[o.offset:p.offset])
	return o, nil
}

// function reads CASEI, DATE or TIMESTAMP, at their name.
func (p *parser) function() (o operand, err error) {
	name := p.token
	o.offset = name.offset
	isCasei := name.is("CASEI")
	if !isCasei && !name.is("DATE") && !name.is("TIMESTAMP") {
		return o, refuse(name.offset, "%s", unsupported(name.text))
	}
	if err := p.advance(); err != nil {
		return o, err
	}
	if err := p.advance(); err != nil { // the parenthesis
		return o, err
	}
	argument := p.token
	advice := "close the parenthesis with )"
	switch {
	case isCasei && argument.kind == tokenText:
		o.value = textValue(feature.Fold(argument.text))
	case isCasei && (argument.kind == tokenQuoted || argument.kind == tokenName && !p.opens() && !slices.ContainsFunc(reserved, argument.is)):
		o.property, o.fold = argument.text, true
	case isCasei:
		return o, refuse(argument.offset, "%s is not expected here; write a property or text in single quotes within CASEI", argument)
	case argument.kind != tokenText:
		return o, refuse(argument.offset,
			"%s is not expected here; write an instant in single quotes, such as DATE('2026-01-31') or TIMESTAMP('2026-01-31T12:00:00Z')", argument)
	default:
		if name.is("DATE") {
			advice = "close the date with )"
		} else {
			advice = "close the time with )"
		}
		when, ok := instant.Parse(argument.text)
		o.value = value{kind: kindInstant, literal: feature.TimeLiteral(when)}
		if !ok || name.is("DATE") && !instant.IsDate(argument.text) {
			return o, refuse(argument.offset, "%s is none of %s; write DATE('2026-01-31') or TIMESTAMP('2026-01-31T12:00:00Z')",
				argument, strings.ToUpper(name.text))
		}
	}
	if err := p.advance(); err != nil {
		return o, err
	}
	err = p.expect(")", advice)
	o.source = strings.TrimSpace(p.input[o.offset:p.offset])
	return o, err
}

// unsupported returns the text that refuses a function, with advice on what to write instead.
func unsupported(name string) string {
	upper := strings.ToUpper(name)
	advice := "write a property, or its name in double quotes"
	switch {
	case upper == "ACCENTI":
		advice = "write CASEI, which ignores case alone"
	case strings.HasPrefix(upper, "S_"):
		advice = "write S_INTERSECTS with a box"
	case strings.HasPrefix(upper, "T_"), upper == "INTERVAL":
		advice = "compare with DATE('…') or TIMESTAMP('…') by <, <=, >, >= or BETWEEN"
	case strings.HasPrefix(upper, "A_"):
		advice = "write A_CONTAINS, A_CONTAINEDBY, A_EQUALS or A_OVERLAPS"
	case slices.Contains(geometries, upper):
		advice = "write it within S_INTERSECTS"
	}
	return "the function " + short(name) + " is not offered here; " + advice
}

// geometries lists BBOX and all words that begin a geometry in CQL2. Only the first four are
// supported.
var geometries = []string{"BBOX", "ENVELOPE", "POLYGON", "POINT", "LINESTRING", "MULTIPOINT", "MULTILINESTRING",
	"MULTIPOLYGON", "GEOMETRYCOLLECTION"}

const boxAdvice = "write BBOX(west, south, east, north) in degrees"

// intersects reads a call of S_INTERSECTS. The current token is the function's name.
func (p *parser) intersects() (test feature.Test, err error) {
	if err := p.advance(); err != nil {
		return test, err
	}
	if err := p.advance(); err != nil { // the parenthesis
		return test, err
	}
	var box quadkey.Box
	boxes := 0
	for i := range 2 {
		var err error
		switch {
		case p.kind == tokenName && p.opens():
			boxes++
			box, err = p.geometry()
		case p.kind == tokenQuoted, p.kind == tokenName && !slices.ContainsFunc(reserved, p.is):
			p.geometries = append(p.geometries, p.text)
			err = p.advance()
		default:
			return test, refuse(p.offset,
				"%s is not expected here; write the property of the geometry and a box, such as S_INTERSECTS(geometry, BBOX(8, 47, 9, 48))", p.token)
		}
		if err != nil {
			return test, err
		}
		if i == 0 {
			if err := p.expect(",", "write a comma after the first argument of S_INTERSECTS"); err != nil {
				return test, err
			}
		}
	}
	if boxes != 1 {
		return test, refuse(p.offset,
			"S_INTERSECTS takes the property of the geometry and one box, such as S_INTERSECTS(geometry, BBOX(8, 47, 9, 48))")
	}
	return feature.NewBoxTest(box), p.expect(")", "close S_INTERSECTS with )")
}

// geometry reads a geometry, which must be a box. The current token is the geometry's name.
func (p *parser) geometry() (b quadkey.Box, err error) {
	name := p.token
	if err := p.advance(); err != nil {
		return b, err
	}
	switch {
	case name.is("BBOX"), name.is("ENVELOPE"):
		var v []float64
		if v, err = p.numbers(4, ","); err == nil {
			b = quadkey.Box{West: v[0], South: v[1], East: v[2], North: v[3]}
		}
	case name.is("POINT"):
		var v []float64
		if v, err = p.numbers(2, ""); err == nil {
			b = quadkey.Box{West: v[0], South: v[1], East: v[0], North: v[1]}
		}
	case name.is("POLYGON"):
		b, err = p.rectangle(name.offset)
	case slices.ContainsFunc(geometries, name.is):
		return b, refuse(name.offset, "%s is no box; %s, or several with OR between them", strings.ToUpper(name.text), boxAdvice)
	default:
		return b, refuse(name.offset, "%s is no geometry; %s", short(name.text), boxAdvice)
	}
	if err != nil {
		return b, err
	}
	if err := b.Check(); err != nil {
		return b, refuse(name.offset, "%v; or %s", err, boxAdvice)
	}
	return b, nil
}

// numbers reads a list of count numbers in parentheses.
func (p *parser) numbers(count int, between string) ([]float64, error) {
	if err := p.expect("(", "open a parenthesis after the name of a geometry"); err != nil {
		return nil, err
	}
	v, err := p.sequence(nil, count, between)
	if err != nil {
		return nil, err
	}
	return v, p.expect(")", "close it with ) after the last of its numbers, without heights")
}

// sequence appends count numbers.
func (p *parser) sequence(v []float64, count int, between string) ([]float64, error) {
	for i := range count {
		if i > 0 && between != "" {
			if err := p.expect(between, "write commas between numbers"); err != nil {
				return nil, err
			}
		}
		if p.kind != tokenNumber {
			return nil, refuse(p.offset, "%s is no number; write degrees here", p.token)
		}
		v = append(v, p.number)
		if err := p.advance(); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// rectangle reads the rings of a polygon, and refuses one that is not a box.
func (p *parser) rectangle(offset int) (b quadkey.Box, err error) {
	noBox := refuse(offset, "the POLYGON is no rectangle with sides along meridians and parallels, closed, without holes; %s", boxAdvice)
	for range 2 {
		if err := p.expect("(", "write POLYGON((west south, east south, east north, west north, west south))"); err != nil {
			return b, err
		}
	}
	var v []float64
	for {
		if v, err = p.sequence(v, 2, ""); err != nil {
			return b, err
		}
		if !p.is(",") {
			break
		}
		if len(v) >= 10 {
			return b, noBox
		}
		if err := p.advance(); err != nil {
			return b, err
		}
	}
	if err := p.expect(")", "write longitude and latitude with a space between them, commas between points, and ) after the last"); err != nil {
		return b, err
	}
	if p.is(",") {
		return b, noBox
	}
	if err := p.expect(")", "close the polygon with )"); err != nil {
		return b, err
	}
	if len(v) != 10 || v[0] != v[8] || v[1] != v[9] {
		return b, noBox
	}
	// The third corner is opposite to the first; the other two lie between them, in either
	// direction.
	x0, y0, x2, y2 := v[0], v[1], v[4], v[5]
	one := v[2] == x2 && v[3] == y0 && v[6] == x0 && v[7] == y2
	other := v[2] == x0 && v[3] == y2 && v[6] == x2 && v[7] == y0
	if x0 == x2 || y0 == y2 || !one && !other {
		return b, noBox
	}
	return quadkey.Box{West: min(x0, x2), South: min(y0, y2), East: max(x0, x2), North: max(y0, y2)}, nil
}
