package cql2

import (
	"slices"
	"strings"

	"quadrille/feature"
	"quadrille/internal/instant"
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
	o.source = p.span(t, p.token)
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
	if err == nil {
		o.source = p.span(name, p.token)
	}
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
		advice = "write S_INTERSECTS, S_DISJOINT, S_WITHIN or S_DWITHIN"
	case strings.HasPrefix(upper, "T_"), upper == "INTERVAL":
		advice = "compare with DATE('…') or TIMESTAMP('…') by <, <=, >, >= or BETWEEN"
	case strings.HasPrefix(upper, "A_"):
		advice = "write A_CONTAINS, A_CONTAINEDBY, A_EQUALS or A_OVERLAPS"
	case slices.Contains(geometries, upper):
		advice = "write it within S_INTERSECTS"
	}
	return "the function " + short(name) + " is not offered here; " + advice
}

// geometries lists BBOX and all words that begin a geometry in CQL2. The first two are boxes.
var geometries = []string{"BBOX", "ENVELOPE", "POLYGON", "POINT", "LINESTRING", "MULTIPOINT", "MULTILINESTRING",
	"MULTIPOLYGON", "GEOMETRYCOLLECTION"}

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
