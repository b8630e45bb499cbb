package cql2

import (
	"context"

	"quadrille/feature"
	"quadrille/quadkey"
)

// Match implements feature.Filter. LIKE takes time in proportion to the length of the text
// times that of the pattern, at worst; Cost tells it.
func (f *Filter) Match(ctx context.Context, of *feature.Feature) (pass bool, err error) {
	pass = f.eval(of.Properties, func(b quadkey.Box) bool {
		if err != nil || f.given != nil && b == *f.given {
			return true
		}
		if f.meets == nil {
			return b.Contains(of.Lon, of.Lat)
		}
		var meets bool
		meets, err = f.meets(ctx, of, b)
		return meets
	})
	return pass && err == nil, err
}

// Terms implements feature.Filter. It returns the properties that must equal one of some texts.
func (f *Filter) Terms() (terms []feature.Term, all bool) {
	parts := []node{f.root}
	if f.root.op == opAnd {
		parts = f.root.kids
	}
	for i := range parts {
		n := &parts[i]
		switch {
		case n.fold:
		case n.op == opIn, n.op == opCompare && n.compare == equal, n.op == opArray && n.array == overlaps:
			terms = appendTerm(terms, n.name, n.values)
		case n.op == opArray && (n.array == contains || n.array == equals):
			for k := range n.values {
				terms = appendTerm(terms, n.name, n.values[k:k+1])
			}
		}
	}
	return terms, false
}

// appendTerm appends a term for one of some values, if it can be one.
func appendTerm(terms []feature.Term, name string, values []value) []feature.Term {
	if len(terms) == feature.MaxTerms || len(values) == 0 || len(values) > feature.MaxTermValues {
		return terms
	}
	t := feature.Term{Name: name}
	for k := range values {
		v := &values[k]
		if v.kind != kindText || v.fold || len(v.text) > feature.MaxTermBytes {
			return terms
		}
		t.Values = append(t.Values, v.text)
	}
	return append(terms, t)
}

// prepare makes the tests of a comparison.
func (n *node) prepare() {
	if n.tests != nil {
		return
	}
	literals := make([]feature.Literal, len(n.values))
	for i := range n.values {
		literals[i] = n.values[i].literal
	}
	add := func(op string, values ...feature.Literal) {
		n.tests = append(n.tests, feature.NewTest(n.name, op, n.fold, values...))
	}
	switch n.op {
	case opNull:
		add(feature.OpLacks)
	case opCompare:
		add(testOperators[n.compare], literals...)
	case opIn:
		add(feature.OpEquals, literals...)
	case opBetween:
		add(feature.OpGreaterOrEqual, literals[0])
		add(feature.OpLessOrEqual, literals[1])
	case opLike:
		n.tests = append(n.tests, feature.NewLikeTest(n.name, n.pattern, n.fold))
	case opArray:
		for _, op := range arrayTests[n.array] {
			add(op, literals...)
		}
	}
}

// testOperators are those of tests. What differs does not equal.
var testOperators = [...]string{
	equal: feature.OpEquals, different: feature.OpEquals, less: feature.OpLess, lessOrEqual: feature.OpLessOrEqual,
	greater: feature.OpGreater, greaterOrEqual: feature.OpGreaterOrEqual,
}

// eval reports whether a feature with such properties passes. The function meets reports whether
// the geometry of the feature meets a box; it is false of a feature without one. It is called from
// one goroutine, and only as far as the answer needs it.
func (f *Filter) eval(of feature.Properties, meets func(b quadkey.Box) bool) bool {
	return f.root.eval(of, meets) == feature.Yes
}

func (n *node) eval(of feature.Properties, meets func(quadkey.Box) bool) feature.Truth {
	result := feature.Yes
	switch n.op {
	case opFalse:
		return feature.No
	case opOr:
		result = feature.No
		for i := 0; i < len(n.kids) && result < feature.Yes; i++ {
			result = max(result, n.kids[i].eval(of, meets))
		}
		return result
	case opNot:
		return feature.Yes - n.kids[0].eval(of, meets)
	case opIntersects:
		if !meets(n.box) {
			return feature.No
		}
	case opAnd:
		for i := 0; i < len(n.kids) && result > feature.No; i++ {
			result = min(result, n.kids[i].eval(of, meets))
		}
	}
	for i := range n.tests {
		result = min(result, n.tests[i].Of(of))
	}
	if n.op == opCompare && n.compare == different {
		result = feature.Yes - result
	}
	return result
}
