package feature

import (
	"context"
	"encoding/binary"
	"slices"
)

// Test is a condition on one property or on an area, or such tests joined by And, Or and Not. It is
// safe for concurrent use. A condition means the same as a Term: null is absent, a list equals
// what one of its elements equals, and a name with dots may be that of a member of nested
// objects.
type Test struct {
	op        testOp
	kids      []Test
	in        Ground
	whole     bool // all of the feature must be there
	condition condition
}

type testOp uint8

const (
	testCondition testOp = iota
	testArea
	testAnd
	testOr
	testNot
)

// NewTest makes a test with one of these operators: OpLess, OpLessOrEqual, OpGreater and
// OpGreaterOrEqual, which take one value; OpEquals, OpEach and OpOnly, which take any number; and
// OpLacks, which takes none. With fold, the Fold of a text is compared; values should then be
// folded as well.
func NewTest(name, op string, fold bool, values ...Literal) Test {
	c := conditionOf(name, op, Any)
	c.fold = fold
	for _, v := range values {
		c.values = append(c.values, v.operand)
	}
	return Test{condition: c}
}

// NewLikeTest makes a test of whether a text matches a pattern. With fold, the pattern has to be of
// folded text.
func NewLikeTest(name string, p Pattern, fold bool) Test {
	c := conditionOf(name, opLike, Any)
	c.pattern, c.fold = p, fold
	return Test{condition: c}
}

// NewAreaTest makes a test of whether a feature meets an area or, with whole, whether all of it is in the area. It
// is never unknown. The dynamic type of an area must be comparable.
func NewAreaTest(in Ground, whole bool) Test { return Test{op: testArea, in: in, whole: whole} }

// And returns a test that is true if all tests are true. Without tests it is true.
func And(tests ...Test) Test { return join(testAnd, tests) }

// Or returns a test that is true if at least one of the tests is true.
func Or(tests ...Test) Test { return join(testOr, tests) }

// Not returns a test that is true where t is false, and unknown where t is unknown.
func Not(t Test) Test { return Test{op: testNot, kids: []Test{t}} }

// join makes one test of several. It flattens nested ones with the same operator.
func join(op testOp, tests []Test) Test {
	if len(tests) == 1 {
		return tests[0]
	}
	t := Test{op: op}
	for _, kid := range tests {
		if kid.op == op {
			t.kids = append(t.kids, kid.kids...)
		} else {
			t.kids = append(t.kids, kid)
		}
	}
	return t
}

// ForSchema returns the test for a layer with a schema. ForSchema it, ids of regions are compared as such.
func (t Test) ForSchema(s Schema) Test {
	t.kids = slices.Clone(t.kids)
	for i := range t.kids {
		t.kids[i] = t.kids[i].ForSchema(s)
	}
	c := &t.condition
	of, _ := s.Lookup(c.name)
	if c.region = of.Kind == RegionID; c.region && c.op == opLike {
		c.folded = c.pattern.foldedID()
	}
	return t
}

// ForTexts returns the test for features whose values are all texts, as those of tables are: numbers and booleans are
// also compared with texts that spell them.
func (t Test) ForTexts() Test {
	t.kids = slices.Clone(t.kids)
	for i := range t.kids {
		t.kids[i] = t.kids[i].ForTexts()
	}
	t.condition.values = slices.Clone(t.condition.values)
	for i := range t.condition.values {
		t.condition.values[i].is |= fromTable
	}
	return t
}

// Eval evaluates the test for some properties. A condition is Unknown where the property is absent
// (except for OpLacks), and where its type differs from the type of the values. The test must not
// have areas.
func (t *Test) Eval(p Properties) Truth { return t.truth(&subject{members: p.compact, list: p.list}) }

// each calls fn with a test and all tests within.
func (t *Test) each(fn func(t *Test)) {
	fn(t)
	for i := range t.kids {
		t.kids[i].each(fn)
	}
}

// required returns the conditions and areas that must be true.
func (t *Test) required() []Test {
	if t.op == testAnd {
		return t.kids
	}
	return []Test{*t}
}

// Properties lists the names of the properties that occur in the test, each once, sorted.
func (t *Test) Properties() (names []string) {
	t.each(func(t *Test) {
		if t.op == testCondition {
			names = append(names, t.condition.name)
		}
	})
	slices.Sort(names)
	return slices.Compact(names)
}

// Areas lists the areas that occur in the test, each once.
func (t *Test) Areas() (areas []Ground) {
	t.each(func(t *Test) {
		if t.op == testArea && !slices.Contains(areas, t.in) {
			areas = append(areas, t.in)
		}
	})
	return areas
}

// Area returns an area that every passing feature meets, for a search by an index. Of several areas
// it is the smallest. It is not their intersection, because a long feature can meet two areas and
// miss their intersection. The result is nil if areas are only below OR or NOT.
func (t *Test) Area() (in Ground) {
	for _, r := range t.required() {
		if r.op == testArea && (in == nil || r.in.SquareDegrees() < in.SquareDegrees()) {
			in = r.in
		}
	}
	return in
}

// Cost returns an upper bound of the work of the test for one feature, in comparisons of two short
// texts. A pattern counts each of its characters: at worst, matching takes time in proportion to
// the length of the text times that of the pattern.
func (t *Test) Cost() (cost int) {
	t.each(func(t *Test) { cost += 1 + len(t.condition.values) + len(t.condition.pattern) })
	return cost
}

// subject is the input of a filter.
type subject struct {
	members []byte
	list    []Property // nil if the properties are members
	spatial            // zero if the filter has no area
}

// spatial is the input of a filter with areas.
type spatial struct {
	*Expression
	ctx context.Context //nolint:containedctx // it is an argument
	of  *Feature
	err error
}

// holds evaluates a condition.
func (s *subject) holds(c *condition) Truth {
	if s.list == nil {
		return c.holds(c.find(s.members))
	}
	if i := slices.IndexFunc(s.list, func(o Property) bool { return o.Name == c.name }); i >= 0 {
		var buf [64]byte
		value := s.list[i].Value.AppendJSON(buf[:0])
		return c.holds(value, string(value) != "null")
	}
	if c.path == nil {
		return c.holds(nil, false)
	}
	return c.holds(c.find(Properties{compact: s.members, list: s.list}.AppendMembers(nil)))
}

// in reports whether the feature meets the area of a test.
func (s *spatial) in(t *Test) (meets bool) {
	switch {
	case s.err != nil || s.given != nil && t.in == s.given && (!t.whole || s.meets == nil):
		return true
	case s.meets == nil:
		return t.in.Contains(s.of.Position)
	}
	meets, s.err = s.meets(s.ctx, s.of, t.in, t.whole)
	return meets
}

// passes reports whether a test is true. Unlike truth it stops as soon as the result is certain.
func (t *Test) passes(s *subject) bool {
	switch t.op {
	case testCondition:
		return s.holds(&t.condition) == Yes
	case testAnd:
		for i := range t.kids {
			if kid := &t.kids[i]; kid.op == testCondition { // without a call, as most are
				if s.holds(&kid.condition) != Yes {
					return false
				}
			} else if !kid.passes(s) {
				return false
			}
		}
		return true
	case testOr:
		for i := range t.kids {
			if t.kids[i].passes(s) {
				return true
			}
		}
		return false
	}
	return t.truth(s) == Yes
}

// truth evaluates a test. No other function does this.
func (t *Test) truth(s *subject) (result Truth) {
	switch t.op {
	case testCondition:
		return s.holds(&t.condition)
	case testNot:
		return Yes - t.kids[0].truth(s)
	case testArea:
		return truthOf(s.in(t))
	case testAnd:
		result = Yes
		for i := 0; i < len(t.kids) && result > No; i++ {
			result = min(result, t.kids[i].truth(s))
		}
	case testOr:
		for i := 0; i < len(t.kids) && result < Yes; i++ {
			result = max(result, t.kids[i].truth(s))
		}
	}
	return result
}

// appendTo appends bytes that are equal only for the same tests.
func (t *Test) appendTo(dst []byte) []byte {
	part := func(b []byte) { dst = append(binary.AppendUvarint(dst, uint64(len(b))), b...) }
	switch t.op {
	case testArea:
		dst = append(dst, byte(t.op), byte(truthOf(t.whole)))
		part([]byte(t.in.String()))
		return dst
	case testCondition:
		c := &t.condition
		dst = append(dst, byte(t.op))
		part([]byte(c.op))
		part([]byte(c.kind.String()))
		part([]byte(c.name))
		dst = binary.AppendUvarint(append(dst, byte(truthOf(c.fold))), uint64(len(c.pattern)))
		for _, r := range c.pattern {
			dst = binary.BigEndian.AppendUint32(dst, uint32(r)) //nolint:gosec // a wildcard is below 0
		}
		for i := range c.values {
			dst = append(dst, byte(c.values[i].is))
			part(c.values[i].compact)
		}
		return dst
	}
	kids := make([]string, len(t.kids))
	for i := range t.kids {
		kids[i] = string(t.kids[i].appendTo(nil))
	}
	slices.Sort(kids)
	if kids = slices.Compact(kids); len(kids) == 1 && t.op != testNot {
		return append(dst, kids[0]...)
	}
	dst = binary.AppendUvarint(append(dst, byte(t.op)), uint64(len(kids)))
	for _, kid := range kids {
		part([]byte(kid))
	}
	return dst
}
