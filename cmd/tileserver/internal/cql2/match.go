package cql2

import (
	"context"

	"quadrille/feature"
	"quadrille/quadkey"
)

// truth is a value of three-valued logic. NOT t is yes − t. AND is the least and OR
// the greatest of its children.
type truth int8

const (
	no truth = iota
	unknown
	yes
)

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// Match implements feature.Filter. LIKE takes time in proportion to the length of the text
// times that of the pattern, at worst; Cost tells it.
func (f *Filter) Match(ctx context.Context, of *feature.Feature) (pass bool, err error) {
	pass = f.eval(func(name string) any {
		switch v, _ := of.Properties.Lookup(name); v.Kind() {
		case feature.Text:
			return v.Text()
		case feature.Boolean:
			is, _ := v.Boolean()
			return is
		default:
			if number, ok := v.Number(); ok {
				return number
			}
			return nil
		}
	}, func(b quadkey.Box) bool {
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
		one := n.op == opIn || n.op == opCompare && n.compare == equal
		if !one || n.fold || len(terms) == feature.MaxTerms || len(n.values) > feature.MaxTermValues {
			continue
		}
		t := feature.Term{Name: n.name}
		for k := range n.values {
			if v := &n.values[k]; v.kind == kindText && !v.fold && len(v.text) <= feature.MaxTermBytes {
				t.Values = append(t.Values, v.text)
			}
		}
		if len(t.Values) == len(n.values) {
			terms = append(terms, t)
		}
	}
	return terms, false
}

// eval reports whether a feature passes. The function value returns a property: a string,
// a float64, a bool, or nil where it is absent or null; what has another type is neither
// null nor comparable. The function meets reports whether the geometry of the feature
// meets a box; it is false of a feature without one. Both are called from one goroutine,
// and only as far as the answer needs them.
func (f *Filter) eval(value func(name string) any, meets func(b quadkey.Box) bool) bool {
	return f.root.eval(value, meets) == yes
}

func (n *node) eval(value func(string) any, meets func(quadkey.Box) bool) truth {
	switch n.op {
	case opTrue:
		return yes
	case opAnd:
		result := yes
		for i := 0; i < len(n.kids) && result > no; i++ {
			result = min(result, n.kids[i].eval(value, meets))
		}
		return result
	case opOr:
		result := no
		for i := 0; i < len(n.kids) && result < yes; i++ {
			result = max(result, n.kids[i].eval(value, meets))
		}
		return result
	case opNot:
		return yes - n.kids[0].eval(value, meets)
	case opIntersects:
		return truthOf(meets(n.box))
	case opNull:
		return truthOf(value(n.name) == nil)
	case opCompare:
		return n.compare.holds(value(n.name), n.fold, &n.values[0])
	case opBetween:
		property := value(n.name)
		return min(greaterOrEqual.holds(property, n.fold, &n.values[0]), lessOrEqual.holds(property, n.fold, &n.values[1]))
	case opIn:
		property, result := value(n.name), no
		for i := 0; i < len(n.values) && result < yes; i++ {
			result = max(result, equal.holds(property, n.fold, &n.values[i]))
		}
		return result
	case opLike:
		s, ok := value(n.name).(string)
		if !ok {
			return unknown
		}
		return truthOf(like(s, n.pattern, n.fold))
	default: // opFalse
		return no
	}
}

// holds compares a property with a value.
func (c comparison) holds(property any, fold bool, v *value) truth {
	order, ok := v.order(property, fold)
	if !ok {
		return unknown
	}
	switch c {
	case equal:
		return truthOf(order == 0)
	case different:
		return truthOf(order != 0)
	case less:
		return truthOf(order < 0)
	case lessOrEqual:
		return truthOf(order <= 0)
	case greater:
		return truthOf(order > 0)
	default: // greaterOrEqual
		return truthOf(order >= 0)
	}
}
