package cql2

import (
	"slices"
	"strings"
	"unicode/utf8"

	"quadrille/feature"
)

// comparison is an operator between a property, on its left, and a value.
type comparison uint8

const (
	equal comparison = iota
	different
	less
	lessOrEqual
	greater
	greaterOrEqual
)

var comparisons = [...]string{equal: "=", different: "<>", less: "<", lessOrEqual: "<=", greater: ">", greaterOrEqual: ">="}

// mirrored has, for each operator, the one that means the same with the sides exchanged.
var mirrored = [...]comparison{equal: equal, different: different, less: greater, lessOrEqual: greaterOrEqual, greater: less, greaterOrEqual: lessOrEqual}

// reserved are the words that name a property in double quotes only.
var reserved = []string{"AND", "OR", "NOT", "IN", "BETWEEN", "IS", "NULL", "LIKE", "TRUE", "FALSE"}

type parser struct {
	lexer
	token                 // the one that is looked at
	depth, nodes, pattern int
}

func parse(text string) (node, error) {
	if len(text) > MaxBytes {
		return node{}, refuse(MaxBytes, "the filter has %d bytes; give at most %d", len(text), MaxBytes)
	}
	if !utf8.ValidString(text) {
		valid := 0
		for r, size := utf8.DecodeRuneInString(text); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRuneInString(text[valid:]) {
			valid += size
		}
		return node{}, refuse(valid, "the filter is not UTF-8 here; encode it so, and then for a URL")
	}
	p := &parser{lexer: lexer{input: text}}
	if err := p.advance(); err != nil {
		return node{}, err
	}
	if p.kind == tokenEnd {
		return node{}, refuse(p.offset, "the filter is empty; write a comparison such as name = 'Oak', or leave the filter out")
	}
	n, err := p.or()
	if err == nil && p.kind != tokenEnd {
		err = refuse(p.offset, "%s is not expected here; write AND or OR between comparisons", p.token)
	}
	return n, err
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

// deeper bounds recursion. Whoever calls it counts depth down again.
func (p *parser) deeper() error {
	if p.depth++; p.depth > MaxDepth {
		return refuse(p.offset, "more than %d parentheses and NOTs within each other; leave out those that change nothing", MaxDepth)
	}
	return nil
}

func (p *parser) or() (node, error) { return p.list("OR", opOr, p.and) }

func (p *parser) and() (node, error) { return p.list("AND", opAnd, p.not) }

func (p *parser) list(word string, o op, item func() (node, error)) (node, error) {
	first, err := item()
	if err != nil || !p.is(word) {
		return first, err
	}
	if err := p.count(); err != nil {
		return node{}, err
	}
	kids := []node{first}
	for p.is(word) {
		if err := p.advance(); err != nil {
			return node{}, err
		}
		kid, err := item()
		if err != nil {
			return node{}, err
		}
		kids = append(kids, kid)
	}
	return join(o, kids), nil
}

func (p *parser) not() (node, error) {
	if !p.is("NOT") {
		return p.primary()
	}
	if err := p.deeper(); err != nil {
		return node{}, err
	}
	if err := p.count(); err != nil {
		return node{}, err
	}
	if err := p.advance(); err != nil {
		return node{}, err
	}
	kid, err := p.not()
	p.depth--
	return negate(kid), err
}

func negate(n node) node { return node{op: opNot, kids: []node{n}} }

func (p *parser) primary() (node, error) {
	if p.is("(") {
		if err := p.deeper(); err != nil {
			return node{}, err
		}
		if err := p.advance(); err != nil {
			return node{}, err
		}
		n, err := p.or()
		if err != nil {
			return n, err
		}
		p.depth--
		return n, p.expect(")", "close the parenthesis with ), or write AND or OR between comparisons")
	}
	if err := p.count(); err != nil {
		return node{}, err
	}
	if p.is("S_INTERSECTS") && p.opens() {
		return p.intersects()
	}
	if f, ok := p.arrayOf(); ok {
		return p.arrayComparison(f)
	}
	left, err := p.operand()
	if err != nil {
		return node{}, err
	}
	if c := slices.Index(comparisons[:], p.text); c >= 0 && p.kind == tokenSign {
		return p.comparison(left, comparison(c))
	}
	if left.property == "" {
		if left.value.kind == kindBoolean {
			if left.value.truth {
				return node{op: opTrue}, nil
			}
			return node{op: opFalse}, nil
		}
		return node{}, refuse(left.offset, "%s is no comparison; write a property and an operator before it, such as name = 'Oak'", short(left.source))
	}
	return p.predicate(left)
}

// predicate reads what stands after a property, except a sign.
func (p *parser) predicate(left operand) (node, error) {
	n := node{name: left.property, fold: left.fold}
	not := p.is("NOT")
	if not {
		if err := p.count(); err != nil {
			return node{}, err
		}
		if err := p.advance(); err != nil {
			return node{}, err
		}
	}
	var err error
	switch {
	case p.is("IN"):
		err = p.in(&n)
	case p.is("BETWEEN"):
		err = p.between(&n)
	case p.is("LIKE"):
		err = p.like(&n)
	case p.is("IS") && !not:
		if n.fold {
			return n, refuse(left.offset, "CASEI changes nothing before IS NULL; leave it out")
		}
		n.op = opNull
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
		err = refuse(p.offset, "%s is not expected after the property %s; write =, <>, <, <=, >, >=, IN, BETWEEN, LIKE or IS NULL, and = TRUE for a boolean", p.token, short(left.property))
	}
	if not {
		n = negate(n)
	}
	return n, err
}

func (p *parser) comparison(left operand, c comparison) (node, error) {
	if err := p.advance(); err != nil {
		return node{}, err
	}
	right, err := p.operand()
	if err != nil {
		return node{}, err
	}
	property, literal := left, right
	if left.property == "" {
		property, literal, c = right, left, mirrored[c]
	}
	switch {
	case property.property == "":
		return node{}, refuse(left.offset, "two values are compared; write a property on one side, without quotes or in double ones")
	case literal.property != "":
		return node{}, refuse(right.offset, "two properties are compared; write a value on one side, and text in single quotes, such as '%s'", strings.ReplaceAll(short(right.property), "'", "''"))
	case property.fold && literal.value.kind != kindText:
		return node{}, refuse(literal.offset, "CASEI is for text; leave it out, or write the value in single quotes")
	case literal.value.kind == kindBoolean && c != equal && c != different:
		return node{}, refuse(literal.offset, "TRUE and FALSE have no order; write = or <>")
	}
	return node{op: opCompare, name: property.property, fold: property.fold, compare: c, values: []value{literal.value}}, nil
}

func (p *parser) in(n *node) error {
	n.op = opIn
	if err := p.advance(); err != nil {
		return err
	}
	return p.valueList(n, false)
}

// valueList reads values in parentheses, perhaps none.
func (p *parser) valueList(n *node, none bool) error {
	if err := p.expect("(", "write values in parentheses, such as IN ('a', 'b')"); err != nil {
		return err
	}
	if none && p.is(")") {
		return p.advance()
	}
	for {
		if err := p.count(); err != nil {
			return err
		}
		if err := p.literal(n); err != nil {
			return err
		}
		if p.is(")") {
			return p.advance()
		}
		if err := p.expect(",", "write a comma between values and ) after the last"); err != nil {
			return err
		}
	}
}

func (p *parser) between(n *node) error {
	n.op = opBetween
	if err := p.advance(); err != nil {
		return err
	}
	if err := p.literal(n); err != nil {
		return err
	}
	if err := p.expect("AND", "write two values with AND between them, such as BETWEEN 1 AND 10"); err != nil {
		return err
	}
	at := p.offset
	if err := p.literal(n); err != nil {
		return err
	}
	if n.values[0].kind == kindBoolean || n.values[1].kind == kindBoolean {
		return refuse(at, "TRUE and FALSE have no order; write = or <>")
	}
	instants := n.values[0].instant() && n.values[1].instant()
	if n.values[0].kind != n.values[1].kind && !instants {
		return refuse(at, "the values of BETWEEN have different types; give two numbers, two instants or two texts")
	}
	return nil
}

func (p *parser) like(n *node) error {
	n.op = opLike
	if err := p.advance(); err != nil {
		return err
	}
	at := p.offset
	if err := p.literal(n); err != nil {
		return err
	}
	v := n.values[0]
	if v.kind != kindText {
		return refuse(at, "LIKE takes a pattern in single quotes, such as 'o%%'; compare other values with =")
	}
	var ok bool
	if n.pattern, ok = feature.ParsePattern(v.text); !ok {
		return refuse(at, `the pattern ends with a backslash that escapes nothing; write \\ for a backslash`)
	}
	if p.pattern += len(n.pattern); p.pattern > MaxPattern {
		return refuse(at, "the patterns of LIKE have more than %d characters together; shorten them", MaxPattern)
	}
	return nil
}

// literal reads a value that a property is compared with.
func (p *parser) literal(n *node) error {
	v, err := p.operand()
	switch {
	case err != nil:
		return err
	case v.property != "":
		return refuse(v.offset, "a value must stand here and %s is a property; write text in single quotes", short(v.property))
	case n.fold && v.value.kind != kindText:
		return refuse(v.offset, "CASEI is for text; leave it out, or write the value in single quotes")
	}
	n.values = append(n.values, v.value)
	return nil
}
