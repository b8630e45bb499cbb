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

// arrayTests are the operators of the tests that must all hold.
var arrayTests = [...][]string{
	contains: {feature.OpEach}, containedBy: {feature.OpOnly}, equals: {feature.OpEach, feature.OpOnly}, overlaps: {feature.OpEquals},
}

const arrayAdvice = "write the property and a list of values, such as A_CONTAINS(tags, ('wifi', 'vegan'))"

// arrayOf returns the function that the token begins.
func (p *parser) arrayOf() (arrayFunction, bool) {
	i := slices.IndexFunc(arrayFunctions[:], func(name string) bool { return strings.EqualFold(name, p.text) })
	return arrayFunction(max(i, 0)), i >= 0 && p.kind == tokenName && p.opens()
}

// arrayComparison reads a function of lists, at its name.
func (p *parser) arrayComparison(f arrayFunction) (node, error) {
	n := node{op: opArray, array: f}
	if err := p.advance(); err != nil {
		return n, err
	}
	if err := p.advance(); err != nil { // the parenthesis
		return n, err
	}
	lists := 0
	for i := range 2 {
		var err error
		switch {
		case p.is("("):
			if lists++; i == 0 { // what contains the property is what the property is contained by
				n.array = [...]arrayFunction{contains: containedBy, containedBy: contains, equals: equals, overlaps: overlaps}[f]
			}
			err = p.valueList(&n, true)
		case p.kind == tokenQuoted, p.kind == tokenName && !p.opens() && !slices.ContainsFunc(reserved, p.is):
			n.name = p.text
			err = p.advance()
		default:
			err = refuse(p.offset, "%s is not expected here; %s", p.token, arrayAdvice)
		}
		if err == nil && i == 0 {
			err = p.expect(",", "write a comma after the first argument of "+arrayFunctions[f])
		}
		if err != nil {
			return n, err
		}
	}
	if lists != 1 {
		return n, refuse(p.offset, "%s compares one property with one list; %s", arrayFunctions[f], arrayAdvice)
	}
	return n, p.expect(")", "close "+arrayFunctions[f]+" with )")
}
