package feature

import (
	"context"
	"slices"
)

// Expression is a Filter whose conditions are known: a Test that must be true. The terms of a list
// and CQL2 text are both read into an Expression. A nil Expression lets every feature pass.
type Expression struct {
	root     Test
	terms    []Term // conditions of every feature that passes
	all      bool   // whether terms are the whole filter
	equal    []Equality
	hasAreas bool   // whether it has areas
	given    Ground // an area that every feature meets
	meets    Meets
}

// Meets reports whether a feature meets an area or, with whole, whether all of it is in the area.
type Meets func(ctx context.Context, f *Feature, in Ground, whole bool) (bool, error)

// Expression returns the filter for features of a layer with schema s that pass the test. given is
// the area of the search, or nil for none; every feature of the search meets it. meets reports
// whether a feature meets another area; nil is for layers of points.
func (t Test) Expression(s Schema, given Ground, meets Meets) *Expression {
	e := &Expression{root: t.ForSchema(s), given: given, meets: meets}
	e.prepare()
	for _, r := range e.root.required() {
		switch c := &r.condition; {
		case r.op != testCondition || c.fold:
		case c.op == OpEquals:
			e.require(c.name, c.values)
		case c.op == OpEach:
			for i := range c.values {
				e.require(c.name, c.values[i:i+1])
			}
		}
	}
	return e
}

// require adds a term for a property that must equal one of the values, if a term can express that.
func (e *Expression) require(name string, values []operand) {
	if len(e.terms) == MaxTerms || len(values) == 0 || len(values) > MaxTermValues {
		return
	}
	t := Term{Name: name}
	for i := range values {
		if values[i].is != kindText || len(values[i].plain) > MaxTermBytes {
			return
		}
		t.Values = append(t.Values, values[i].plain)
	}
	e.terms = append(e.terms, t)
}

// Equality is a condition that an index may use: a feature that fulfils the filter has
// one of the values in the property, alone or in a list, byte for byte.
type Equality struct {
	QuotedName string   // in compact form, with its quotation marks
	Values     [][]byte // in compact form
}

// Equalities returns the conditions that are an [Equality]. Only conditions on texts and booleans
// qualify, because a number or a time may equal a value that is written differently. The list
// belongs to the filter.
func (e *Expression) Equalities() []Equality {
	if e == nil {
		return nil
	}
	return e.equal
}

// prepare finds the parts that an index can use.
func (e *Expression) prepare() {
	e.hasAreas = len(e.root.Areas()) > 0
	for _, r := range e.root.required() {
		c := &r.condition
		// A name with dots may be a member's, and an index does not cover members.
		if r.op != testCondition || c.fold || c.region || c.path != nil {
			continue
		}
		switch c.op {
		case OpEquals:
			e.equals(c, c.values)
		case OpEach:
			for i := range c.values {
				e.equals(c, c.values[i:i+1])
			}
		}
	}
}

// equals adds the equality of a condition with some values, if these are written in one way. A list
// with a boolean does not count: in lists, an index finds texts only.
func (e *Expression) equals(c *condition, values []operand) {
	one := Equality{QuotedName: c.key[:len(c.key)-1]}
	for i := range values {
		if values[i].is != kindText && c.kind != Boolean {
			return
		}
		one.Values = append(one.Values, values[i].text)
	}
	e.equal = append(e.equal, one)
}

// ForIndex returns the part of a filter that is about properties only, which an index of features
// with a schema can use. It is nil if there is no such part. all reports whether the part is the
// whole filter. The terms of a filter other than an Expression may be used only for properties
// whose values are compared as stored. For a value that does not have its property's kind, such a
// filter and a filter of terms may differ.
func (s Schema) ForIndex(f Filter) (e *Expression, all bool) {
	if f == nil {
		return nil, true
	}
	if e, ok := f.(*Expression); ok {
		return e.withoutAreas()
	}
	terms, all := f.Terms()
	var tests []Test
	for _, t := range terms {
		field, _ := s.Lookup(t.Name)
		some, err := s.tests(t)
		if kind := field.Kind.ordinary(); kind != Text && kind != Texts && kind != Any || err != nil {
			all = false
			continue
		}
		tests = append(tests, some...)
	}
	return filterOf(tests), all
}

// filterOf returns a filter of tests that must all be true, or nil for none.
func filterOf(tests []Test) *Expression {
	if len(tests) == 0 {
		return nil
	}
	e := &Expression{root: And(tests...)}
	e.prepare()
	return e
}

// withoutAreas returns those tests that must hold and have no areas, and whether these are all
// tests.
func (e *Expression) withoutAreas() (*Expression, bool) {
	if e == nil || !e.hasAreas {
		return e, true
	}
	if e.root.op != testAnd {
		return nil, false
	}
	return filterOf(slices.DeleteFunc(slices.Clone(e.root.kids), func(t Test) bool { return len(t.Areas()) > 0 })), false
}

// Match implements Filter.
func (e *Expression) Match(ctx context.Context, of *Feature) (bool, error) {
	if e == nil {
		return true, nil
	}
	if !e.hasAreas && of.Properties.list == nil {
		return e.matchMembers(of.Properties.compact), nil
	}
	s := subject{members: of.Properties.compact, list: of.Properties.list, spatial: spatial{e, ctx, of, nil}}
	pass := e.root.passes(&s)
	return pass && s.err == nil, s.err
}

// MatchCompact reports whether a feature with these properties, a compact object, fulfils
// the filter, which has no areas.
func (e *Expression) MatchCompact(object []byte) bool {
	return e == nil || e.matchMembers(object[min(1, len(object)):])
}

func (e *Expression) matchMembers(members []byte) bool {
	return e.root.passes(&subject{members: members})
}

// Properties lists the names of the properties that occur in the filter, each once, sorted.
func (e *Expression) Properties() []string {
	if e == nil {
		return nil
	}
	return e.root.Properties()
}

// Terms implements Filter. For CQL2 text they are the properties that must equal one of some texts.
func (e *Expression) Terms() (terms []Term, all bool) {
	if e == nil {
		return nil, true
	}
	return e.terms, e.all
}

// String implements Filter.
func (e *Expression) String() string { return string(e.AppendTo(nil)) }

// AppendTo appends bytes that are equal only for filters with the same tests. The order of what AND
// and OR join does not matter, nor does the spelling of a number or a time.
func (e *Expression) AppendTo(dst []byte) []byte {
	if e == nil {
		return dst
	}
	return e.root.appendTo(dst)
}
