package cql2

import (
	"slices"
	"strings"

	"quadrille/feature"
)

// arrayFunction compares a property that is a list with values, as sets.
type arrayFunction uint8

const (
	contains arrayFunction = iota
	containedBy
	equals
	overlaps
)

var arrayFunctions = [...]string{contains: "A_CONTAINS", containedBy: "A_CONTAINEDBY", equals: "A_EQUALS", overlaps: "A_OVERLAPS"}

// arrayTests lists, for each operator on lists, the operators of the tests that must all be true.
var arrayTests = [...][]string{
	contains: {feature.OpEach}, containedBy: {feature.OpOnly}, equals: {feature.OpEach, feature.OpOnly}, overlaps: {feature.OpEquals},
}

const arrayAdvice = "write the property and a list of values, such as A_CONTAINS(tags, ('wifi', 'vegan'))"

// arrayOf returns the function that the token begins.
func (p *parser) arrayOf() (arrayFunction, bool) {
	i := slices.IndexFunc(arrayFunctions[:], func(name string) bool { return strings.EqualFold(name, p.text) })
	return arrayFunction(max(i, 0)), i >= 0 && p.kind == tokenName && p.opens()
}

// arrayComparison reads a call of f, which compares lists. The current token is the function's name.
func (p *parser) arrayComparison(f arrayFunction) (test feature.Test, err error) {
	if err := p.advance(); err != nil {
		return test, err
	}
	if err := p.advance(); err != nil { // the parenthesis
		return test, err
	}
	var of operand
	var values []feature.Literal
	lists, does := 0, f
	for i := range 2 {
		var err error
		switch {
		case p.is("("):
			if lists++; i == 0 { // the list contains the property if the property is contained by the list
				does = [...]arrayFunction{contains: containedBy, containedBy: contains, equals: equals, overlaps: overlaps}[f]
			}
			values, err = p.valueList(of, true)
		case p.kind == tokenQuoted, p.kind == tokenName && !p.opens() && !slices.ContainsFunc(reserved, p.is):
			of.property = p.text
			err = p.advance()
		default:
			err = refuse(p.offset, "%s is not expected here; %s", p.token, arrayAdvice)
		}
		if err == nil && i == 0 {
			err = p.expect(",", "write a comma after the first argument of "+arrayFunctions[f])
		}
		if err != nil {
			return test, err
		}
	}
	if lists != 1 {
		return test, refuse(p.offset, "%s compares one property with one list; %s", arrayFunctions[f], arrayAdvice)
	}
	var tests []feature.Test
	for _, op := range arrayTests[does] {
		tests = append(tests, feature.NewTest(of.property, op, false, values...))
	}
	return feature.And(tests...), p.expect(")", "close "+arrayFunctions[f]+" with )")
}
