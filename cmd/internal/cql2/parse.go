package cql2

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"quadrille/feature"
)

// comparisons maps the operators between a property, on the left, and a value to those of tests. <>
// is the opposite of =.
var comparisons = map[string]string{
	"=":  feature.OpEquals,
	"<>": feature.OpEquals,
	"<":  feature.OpLess,
	"<=": feature.OpLessOrEqual,
	">":  feature.OpGreater,
	">=": feature.OpGreaterOrEqual,
}

// mirrored maps operators to the equivalent operators after exchanging the sides. Symmetric
// operators are absent.
var mirrored = map[string]string{"<": ">", "<=": ">=", ">": "<", ">=": "<="}

// reserved lists the words that can be names of properties only in double quotes.
var reserved = []string{"AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", "LIKE", "TRUE", "FALSE"}

type parser struct {
	lexer
	token                 // the current token
	depth, nodes, pattern int
	areas                 int // other than boxes
	geometries            []string
}

// check returns an error unless a text can be a filter.
func check(text string) error {
	if len(text) > MaxBytes {
		return refuse(MaxBytes, "the filter has %d bytes; give at most %d", len(text), MaxBytes)
	}
	if !utf8.ValidString(text) {
		valid := 0
		for r, size := utf8.DecodeRuneInString(text); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRuneInString(text[valid:]) {
			valid += size
		}
		return refuse(valid, "the filter is not UTF-8 here; encode it so, and then for a URL")
	}
	return nil
}

// filter reads the whole of a filter.
func (p *parser) filter() (test feature.Test, err error) {
	if err := p.advance(); err != nil {
		return test, err
	}
	if p.kind == tokenEnd {
		return test, refuse(p.offset, "the filter is empty; write a comparison such as name = 'Oak', or leave the filter out")
	}
	test, err = p.or()
	if err == nil && p.kind != tokenEnd {
		err = refuse(p.offset, "%s is not expected here; write AND or OR between comparisons", p.token)
	}
	return test, err
}

func (p *parser) advance() (err error) {
	p.token, err = p.next()
	return err
}

// is reports whether the token is a word, in any case, or a sign.
func (t token) is(text string) bool {
	return t.kind == tokenName && strings.EqualFold(t.text, text) || t.kind == tokenSign && t.text == text
}

// expect reads a word or sign that must follow.
func (p *parser) expect(text, advice string) error {
	if !p.is(text) {
		return refuse(p.offset, "%s is not expected here; %s", p.token, advice)
	}
	return p.advance()
}

// count bounds the nodes of the tree.
func (p *parser) count() error {
	if p.nodes++; p.nodes > MaxNodes {
		return refuse(p.offset, "the filter has more than %d comparisons, values and operators; ask for less at once", MaxNodes)
	}
	return nil
}

// deeper increments depth, and returns an error at the limit of recursion. The caller decrements
// depth afterwards.
func (p *parser) deeper() error {
	if p.depth++; p.depth > MaxDepth {
		return refuse(p.offset, "more than %d parentheses and NOTs within each other; leave out those that change nothing", MaxDepth)
	}
	return nil
}

func (p *parser) or() (feature.Test, error) { return p.list("OR", feature.Or, p.and) }

func (p *parser) and() (feature.Test, error) { return p.list("AND", feature.And, p.not) }

func (p *parser) list(word string, join func(...feature.Test) feature.Test, item func() (feature.Test, error)) (feature.Test, error) {
	first, err := item()
	if err != nil || !p.is(word) {
		return first, err
	}
	if err := p.count(); err != nil {
		return feature.Test{}, err
	}
	kids := []feature.Test{first}
	for p.is(word) {
		if err := p.advance(); err != nil {
			return feature.Test{}, err
		}
		kid, err := item()
		if err != nil {
			return feature.Test{}, err
		}
		kids = append(kids, kid)
	}
	return join(kids...), nil
}

func (p *parser) not() (feature.Test, error) {
	if !p.is("NOT") {
		return p.primary()
	}
	if err := p.deeper(); err != nil {
		return feature.Test{}, err
	}
	if err := p.count(); err != nil {
		return feature.Test{}, err
	}
	if err := p.advance(); err != nil {
		return feature.Test{}, err
	}
	kid, err := p.not()
	p.depth--
	return feature.Not(kid), err
}

func (p *parser) primary() (feature.Test, error) {
	if p.is("(") {
		if err := p.deeper(); err != nil {
			return feature.Test{}, err
		}
		if err := p.advance(); err != nil {
			return feature.Test{}, err
		}
		n, err := p.or()
		if err != nil {
			return n, err
		}
		p.depth--
		return n, p.expect(")", "close the parenthesis with ), or write AND or OR between comparisons")
	}
	if err := p.count(); err != nil {
		return feature.Test{}, err
	}
	if slices.ContainsFunc(spatials, p.is) && p.opens() {
		return p.spatial()
	}
	if f, ok := p.arrayOf(); ok {
		return p.arrayComparison(f)
	}
	left, err := p.operand()
	if err != nil {
		return feature.Test{}, err
	}
	if _, is := comparisons[p.text]; is && p.kind == tokenSign {
		return p.comparison(left, p.text)
	}
	if left.property == "" {
		if left.value.kind == kindBoolean {
			if left.value.truth {
				return feature.And(), nil
			}
			return feature.Or(), nil
		}
		return feature.Test{}, refuse(left.offset,
			"%s is no comparison; write a property and an operator before it, such as name = 'Oak'", short(left.source))
	}
	return p.predicate(left)
}

// predicate reads the part of a predicate after the property, except a comparison by a sign.
func (p *parser) predicate(left operand) (test feature.Test, err error) {
	not := p.is("NOT")
	if not {
		if err := p.count(); err != nil {
			return test, err
		}
		if err := p.advance(); err != nil {
			return test, err
		}
	}
	switch {
	case p.is("IN"):
		test, err = p.in(left)
	case p.is("BETWEEN"):
		test, err = p.between(left)
	case p.is("LIKE"):
		test, err = p.like(left)
	case p.is("IS") && !not:
		if left.fold {
			return test, refuse(left.offset, "CASEI changes nothing before IS NULL; leave it out")
		}
		test = feature.NewTest(left.property, feature.OpLacks, false)
		if err = p.advance(); err == nil {
			if not = p.is("NOT"); not {
				if err = p.count(); err == nil {
					err = p.advance()
				}
			}
		}
		if err == nil {
			err = p.expect("NULL", "write IS NULL or IS NOT NULL")
		}
	case not:
		err = refuse(p.offset, "%s is not expected here; write IN, BETWEEN or LIKE after NOT", p.token)
	default:
		err = refuse(p.offset, "%s is not expected after the property %s; write =, <>, <, <=, >, >=, IN, BETWEEN, LIKE or "+
			"IS NULL, and = TRUE for a boolean", p.token, short(left.property))
	}
	if not {
		test = feature.Not(test)
	}
	return test, err
}

func (p *parser) comparison(left operand, sign string) (feature.Test, error) {
	if err := p.advance(); err != nil {
		return feature.Test{}, err
	}
	right, err := p.operand()
	if err != nil {
		return feature.Test{}, err
	}
	property, literal := left, right
	if left.property == "" {
		property, literal, sign = right, left, cmp.Or(mirrored[sign], sign)
	}
	switch {
	case property.property == "":
		return feature.Test{}, refuse(left.offset, "two values are compared; write a property on one side, without quotes or in double ones")
	case literal.property != "":
		return feature.Test{}, right.refuse(
			"two properties are compared; write a value on one side, and text in single quotes, such as '%s'",
			strings.ReplaceAll(short(right.property), "'", "''"))
	case property.fold && literal.value.kind != kindText:
		return feature.Test{}, refuse(literal.offset, "CASEI is for text; leave it out, or write the value in single quotes")
	case literal.value.kind == kindBoolean && comparisons[sign] != feature.OpEquals:
		return feature.Test{}, refuse(literal.offset, "TRUE and FALSE have no order; write = or <>")
	}
	test := feature.NewTest(property.property, comparisons[sign], property.fold, literal.value.literal)
	if sign == "<>" {
		test = feature.Not(test)
	}
	return test, nil
}

func (p *parser) in(left operand) (test feature.Test, err error) {
	if err := p.advance(); err != nil {
		return test, err
	}
	values, err := p.valueList(left, false)
	return feature.NewTest(left.property, feature.OpEquals, left.fold, values...), err
}

// valueList reads a list of values in parentheses with which a property is compared. The list may
// be empty if none is set.
func (p *parser) valueList(left operand, none bool) (values []feature.Literal, err error) {
	if err := p.expect("(", "write values in parentheses, such as IN ('a', 'b')"); err != nil {
		return nil, err
	}
	if none && p.is(")") {
		return nil, p.advance()
	}
	for {
		if err := p.count(); err != nil {
			return nil, err
		}
		v, err := p.literal(left)
		if err != nil {
			return nil, err
		}
		if values = append(values, v.literal); p.is(")") {
			return values, p.advance()
		}
		if err := p.expect(",", "write a comma between values and ) after the last"); err != nil {
			return nil, err
		}
	}
}

func (p *parser) between(left operand) (test feature.Test, err error) {
	if err := p.advance(); err != nil {
		return test, err
	}
	low, err := p.literal(left)
	if err != nil {
		return test, err
	}
	if err := p.expect("AND", "write two values with AND between them, such as BETWEEN 1 AND 10"); err != nil {
		return test, err
	}
	at := p.offset
	high, err := p.literal(left)
	switch {
	case err != nil:
		return test, err
	case low.kind == kindBoolean || high.kind == kindBoolean:
		return test, refuse(at, "TRUE and FALSE have no order; write = or <>")
	case low.kind != high.kind:
		return test, refuse(at, "the values of BETWEEN have different types; give two numbers, two instants or two texts")
	}
	return feature.And(
		feature.NewTest(left.property, feature.OpGreaterOrEqual, left.fold, low.literal),
		feature.NewTest(left.property, feature.OpLessOrEqual, left.fold, high.literal),
	), nil
}

func (p *parser) like(left operand) (test feature.Test, err error) {
	if err := p.advance(); err != nil {
		return test, err
	}
	at := p.offset
	v, err := p.literal(left)
	if err != nil {
		return test, err
	}
	if v.kind != kindText {
		return test, refuse(at, "LIKE takes a pattern in single quotes, such as 'o%%'; compare other values with =")
	}
	pattern, ok := feature.ParsePattern(v.text)
	if !ok {
		return test, refuse(at, `the pattern ends with a backslash that escapes nothing; write \\ for a backslash`)
	}
	if p.pattern += len(pattern); p.pattern > MaxPattern {
		return test, refuse(at, "the patterns of LIKE have more than %d characters together; shorten them", MaxPattern)
	}
	return feature.NewLikeTest(left.property, pattern, left.fold), nil
}

// literal reads a value that a property is compared with.
func (p *parser) literal(left operand) (value, error) {
	v, err := p.operand()
	switch {
	case err != nil:
		return value{}, err
	case v.property != "":
		return value{}, v.refuse("a value must stand here and %s is a property; write text in single quotes", short(v.property))
	case left.fold && v.value.kind != kindText:
		return value{}, refuse(v.offset, "CASEI is for text; leave it out, or write the value in single quotes")
	}
	return v.value, nil
}
