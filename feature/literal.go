package feature

import (
	"slices"
	"time"
)

// Truth is a value of three-valued logic. NOT t is Yes − t. AND is the least and OR
// the greatest.
type Truth int8

const (
	No Truth = iota
	Unknown
	Yes
)

func truthOf(b bool) Truth {
	if b {
		return Yes
	}
	return No
}

// Literal is a value that a Test compares with. It has one type, and knows nothing of
// a schema.
type Literal struct{ operand operand }

// TextLiteral is a text.
func TextLiteral(text string) Literal { return Literal{textOperand(text)} }

// BooleanLiteral is true or false.
func BooleanLiteral(v bool) Literal { return Literal{booleanOperand(v)} }

// TimeLiteral is an instant. Texts that are times are compared with it.
func TimeLiteral(t time.Time) Literal {
	return Literal{operand{is: kindTime, time: t, compact: appendTime(nil, t)}}
}

// NumberLiteral is the number that digits spell, with a point and an exponent or without. canonical
// is its one spelling.
func NumberLiteral(digits string) (l Literal, canonical string) {
	d := parseDecimal([]byte(digits))
	compact := d.appendTo(nil)
	return Literal{operand{is: kindNumber, number: d, compact: compact}}, string(compact)
}

// Operators that no Term has.
const (
	OpEach = "each" // each of the values is in the list; a value that is no list is a list of one
	OpOnly = "only" // every element of the list is one of the values
	opLike = "like" // a text of the list is of the pattern
)

// Test is a condition on one property that no schema prepares, for filters that are more than
// terms which must all hold. It may be used by many goroutines. It means what a Term means: null is
// absent, a list equals what one of its elements equals, and a name with dots may be that of a
// member within objects.
type Test struct{ condition condition }

// NewTest makes a test of OpEquals, OpLess, OpLessOrEqual, OpGreater, OpGreaterOrEqual, which take
// one value but the first, OpEach, OpOnly or OpLacks, which takes none. With fold, the Fold of
// a text is compared; values should then be folded as well.
func NewTest(name, op string, fold bool, values ...Literal) Test {
	c := conditionOf(name, op, Any)
	c.fold = fold
	for _, v := range values {
		c.values = append(c.values, v.operand)
	}
	return Test{c}
}

// NewLikeTest makes a test whether a text is of a pattern. With fold, the pattern has to be of folded
// text.
func NewLikeTest(name string, p Pattern, fold bool) Test {
	c := conditionOf(name, opLike, Any)
	c.pattern, c.fold = p, fold
	return Test{c}
}

// In is the test in a layer of a schema, where an id of a region is compared as one.
func (t Test) In(s Schema) Test {
	c := &t.condition
	of, _ := s.Lookup(c.name)
	if c.region = of.Kind == RegionID; c.region && c.op == opLike {
		c.folded = c.pattern.foldedID()
	}
	return t
}

// Of tells what is so of some properties. It is Unknown where the property is absent, but for OpLacks,
// and where its type is another than that of the values.
func (t *Test) Of(p Properties) Truth {
	c := &t.condition
	if p.list == nil {
		return c.holds(c.find(p.compact))
	}
	if i := slices.IndexFunc(p.list, func(o Property) bool { return o.Name == c.name }); i >= 0 {
		var buf [64]byte
		value := p.list[i].Value.AppendJSON(buf[:0])
		return c.holds(value, string(value) != "null")
	}
	if c.path == nil {
		return c.holds(nil, false)
	}
	return c.holds(c.find(p.AppendMembers(nil)))
}
