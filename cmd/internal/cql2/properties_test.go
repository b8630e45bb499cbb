package cql2

import (
	"errors"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quadrille/feature"
	"quadrille/quadkey"
)

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", "name = 'it''s' AND NOT (a < -1.5e3 OR b IN (TRUE, 'x'))", `"a b" LIKE '%\%_'`, "CASEI(a) <> CASEI('İß')",
		"a BETWEEN DATE('2026-01-31') AND TIMESTAMP('2026-01-31T12:00:00Z')", "S_INTERSECTS(g, POLYGON((1 2, 3 2, 3 4, 1 4, 1 2)))",
		"A_CONTAINS(a, ('x', 1)) OR A_EQUALS((), b)", "S_INTERSECTS(ENVELOPE(170,-1,-170,1), g) AND a IS NOT NULL", "((((", "a = b AND c IN ( \"d\" , CASEI(e))",
		"NOT NOT NOT", `a = '\\\'`, "\xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		filter, err := Parse(s)
		if err != nil {
			var syntax *SyntaxError
			if filter != nil || !errors.As(err, &syntax) || syntax.Offset < 0 || syntax.Offset > len(s) || syntax.Message == "" ||
				len(err.Error()) > 500 || !strings.HasPrefix(s[syntax.Offset:], syntax.Property) {
				t.Fatalf("%q: %v, %v", s, filter, err)
			}
			return
		}
		// Every parsed filter can be evaluated.
		meets := func(quadkey.Box) bool { return false }
		for _, v := range []any{nil, "", "Oak", 1.0, true, "2026-01-31"} {
			values := map[string]any{}
			for _, name := range filter.Properties() {
				values[name] = v
			}
			passes(&filter.Test, propertiesOf(values), meets)
		}
		if again, err := Parse(s); err != nil || told(&again.Test) != told(&filter.Test) {
			t.Fatalf("%q: %v, again %v: %v", s, filter, again, err)
		}
	})
}

// An expression is a filter: its text, and its meaning, evaluated without this package. nil means
// unknown.
type expression struct {
	text string
	eval func(tree) *bool
}

type tree struct {
	values map[string]any
	boxes  map[quadkey.Box]bool // those that it meets
}

func is(b bool) *bool { return &b }

func opposite(b *bool) *bool {
	if b == nil {
		return nil
	}
	return is(!*b)
}

// both computes AND with unknown values.
func both(a, b *bool) *bool {
	switch {
	case a != nil && !*a, b != nil && !*b:
		return is(false)
	case a == nil || b == nil:
		return nil
	}
	return is(true)
}

// either computes OR from both by De Morgan's law.
func either(a, b *bool) *bool { return opposite(both(opposite(a), opposite(b))) }

var (
	someNames = []string{"a", "b", "or", "d e"}
	someTexts = []string{"", "Oak", "oak", "OAK", "it's", "o%k", "o_k", `o\\k`, "Ökö", "öKÖ", "1", "2026-01-31",
		"2026-01-31T00:00:00Z", "2026-01-31T00:30:00+01:00", "2026-02-30"}
	someBoxes  = []quadkey.Box{{West: 1, South: 2, East: 3, North: 4}, {West: 170, South: -5, East: -170, North: 5.5}}
	somePieces = []string{"o", "O", "k", "a", "%", "_", `\%`, `\_`, `\\`, "ö", "'"}
)

// word draws the case of a keyword's letters.
func word(t *rapid.T, s string) string {
	return rapid.SampledFrom([]string{s, strings.ToLower(s), s[:1] + strings.ToLower(s[1:])}).Draw(t, "case")
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

// literal draws a value. It returns its text, and its comparison with a property, which returns nil
// for unknown. casei is set if the property is in CASEI: then the value must be a text.
func literal(t *rapid.T, casei bool) (text string, compare func(property any) *int, typ string) {
	int3 := func(n int) *int { return &n }
	typ = "text"
	if !casei {
		typ = rapid.SampledFrom([]string{"text", "number", "boolean", "instant"}).Draw(t, "type")
	}
	switch typ {
	case "number":
		n := rapid.SampledFrom([]string{"0", "-1.5", "12.50", "+1e2", ".5"}).Draw(t, "number")
		want, _ := new(big.Rat).SetString(strings.TrimPrefix(n, "+"))
		return n, func(property any) *int {
			p, ok := property.(float64)
			if !ok {
				return nil
			}
			return int3(new(big.Rat).SetFloat64(p).Cmp(want))
		}, typ
	case "boolean":
		b := rapid.Bool().Draw(t, "boolean")
		return word(t, strings.ToUpper(strconv.FormatBool(b))), func(property any) *int {
			switch property {
			case b:
				return int3(0)
			case !b:
				return int3(1)
			}
			return nil
		}, typ
	case "instant":
		s := rapid.SampledFrom([]string{"DATE('2026-01-31')", "TIMESTAMP('2026-01-30T23:30:00Z')",
			"timestamp('2026-02-01T00:00:00+00:30')"}).Draw(t, "instant")
		want := instantOf(strings.Split(s, "'")[1])
		return s, func(property any) *int {
			p, ok := property.(string)
			if !ok || instantOf(p) == "" {
				return nil
			}
			return int3(strings.Compare(instantOf(p), want))
		}, typ
	}
	s := rapid.SampledFrom(someTexts).Draw(t, "text")
	text = quote(s)
	if casei && rapid.IntRange(0, 3).Draw(t, "casei") > 0 {
		text, s = word(t, "CASEI")+"( "+text+" )", strings.ToLower(s)
	}
	return text, func(property any) *int {
		p, ok := property.(string)
		if !ok {
			return nil
		}
		if casei {
			p = strings.ToLower(p)
		}
		return int3(strings.Compare(p, s))
	}, typ
}

// instantOf returns the normalized text of an instant, or "" if s is not an instant.
func instantOf(s string) string {
	for _, layout := range []string{time.DateOnly, time.RFC3339} {
		if when, err := time.Parse(layout, s); err == nil {
			return when.UTC().Format(time.RFC3339)
		}
	}
	return ""
}

var operators = map[string]func(order int) bool{
	"=": func(o int) bool { return o == 0 }, "<>": func(o int) bool { return o != 0 },
	"<": func(o int) bool { return o < 0 }, "<=": func(o int) bool { return o <= 0 },
	">": func(o int) bool { return o > 0 }, ">=": func(o int) bool { return o >= 0 },
}

var exchanged = strings.NewReplacer("<>", "<>", "<", ">", ">", "<")

func holds(order *int, operator string) *bool {
	if order == nil {
		return nil
	}
	return is(operators[operator](*order))
}

// comparisonOf draws an expression without nested expressions.
func comparisonOf(t *rapid.T) expression {
	name := rapid.SampledFrom(someNames).Draw(t, "name")
	column := name
	if len(name) > 1 || rapid.Bool().Draw(t, "quoted") {
		column = `"` + name + `"`
	}
	form := rapid.SampledFrom([]string{"compare", "compare", "in", "between", "like", "null", "intersects", "constant"}).Draw(t, "form")
	casei := form != "null" && rapid.IntRange(0, 3).Draw(t, "fold") == 0
	if casei {
		column = word(t, "CASEI") + "(" + column + ")"
	}
	not := ""
	if form != "compare" && form != "intersects" && form != "constant" && rapid.IntRange(0, 2).Draw(t, "not") == 0 {
		not = word(t, "NOT") + " "
	}
	e := expression{}
	switch form {
	case "compare":
		text, compare, typ := literal(t, casei)
		operator := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">="}).Draw(t, "operator")
		if typ == "boolean" && operator != "<>" {
			operator = "="
		}
		e.eval = func(f tree) *bool { return holds(compare(f.values[name]), operator) }
		if rapid.Bool().Draw(t, "left") {
			e.text = text + exchanged.Replace(operator) + column
		} else {
			e.text = column + operator + text
		}
	case "in":
		var texts []string
		e.eval = func(tree) *bool { return is(false) }
		for range rapid.IntRange(1, 4).Draw(t, "values") {
			text, compare, _ := literal(t, casei)
			before := e.eval
			texts = append(texts, text)
			e.eval = func(f tree) *bool { return either(before(f), holds(compare(f.values[name]), "=")) }
		}
		e.text = column + " " + not + word(t, "IN") + " (" + strings.Join(texts, " , ") + ")"
	case "between":
		low, compareLow, lowType := literal(t, casei)
		high, compareHigh, highType := literal(t, casei)
		if lowType == "boolean" || highType != lowType {
			return comparisonOf(t)
		}
		e.text = column + " " + not + word(t, "BETWEEN") + " " + low + " " + word(t, "AND") + " " + high
		e.eval = func(f tree) *bool {
			return both(holds(compareLow(f.values[name]), ">="), holds(compareHigh(f.values[name]), "<="))
		}
	case "like":
		pieces := rapid.SliceOfN(rapid.SampledFrom(somePieces), 0, 6).Draw(t, "pattern")
		pattern := regexp.MustCompile(regexpOf(pieces, casei))
		text := quote(strings.Join(pieces, ""))
		// A backslash before a quote would escape the quote, so no piece ends with an odd number of
		// backslashes.
		if casei {
			text = "CASEI(" + text + ")"
		}
		e.text = column + " " + not + word(t, "LIKE") + " " + text
		e.eval = func(f tree) *bool {
			s, ok := f.values[name].(string)
			if !ok {
				return nil
			}
			return is(pattern.MatchString(s))
		}
	case "null":
		e.text = column + " " + word(t, "IS") + " " + not + word(t, "NULL")
		e.eval = func(f tree) *bool { return is(f.values[name] == nil) }
	case "intersects":
		box := rapid.SampledFrom(someBoxes).Draw(t, "box")
		e.text = fmt.Sprintf("%s(geom, %s(%v))", word(t, "S_INTERSECTS"), word(t, "BBOX"), box)
		e.eval = func(f tree) *bool { return is(f.boxes[box]) }
	case "constant":
		b := rapid.Bool().Draw(t, "constant")
		e.text = word(t, strings.ToUpper(strconv.FormatBool(b)))
		e.eval = func(tree) *bool { return is(b) }
	}
	if not != "" {
		plain := e.eval
		e.eval = func(f tree) *bool { return opposite(plain(f)) }
	}
	return e
}

func regexpOf(pieces []string, casei bool) string {
	flags := "(?s)"
	if casei {
		flags = "(?si)"
	}
	pattern := ""
	for _, p := range pieces {
		switch p {
		case "%":
			pattern += ".*"
		case "_":
			pattern += "."
		default:
			pattern += regexp.QuoteMeta(strings.TrimPrefix(p, `\`))
		}
	}
	return flags + "^" + pattern + "$"
}

// expressionOf draws an expression. It puts parentheses around each part, except in "mixed", which
// tests that AND binds more tightly than OR, and NOT more tightly than both.
func expressionOf(t *rapid.T, depth int) expression {
	form := "comparison"
	if depth > 0 {
		form = rapid.SampledFrom([]string{"comparison", "not", "and", "or", "mixed"}).Draw(t, "tree")
	}
	inner := func() expression {
		e := expressionOf(t, depth-1)
		e.text = "( " + e.text + ")"
		return e
	}
	and, or := " "+word(t, "AND")+" ", " "+word(t, "OR")+"\n"
	switch form {
	case "not":
		e := inner()
		return expression{word(t, "NOT") + " " + e.text, func(f tree) *bool { return opposite(e.eval(f)) }}
	case "and":
		a, b := inner(), inner()
		return expression{a.text + and + b.text, func(f tree) *bool { return both(a.eval(f), b.eval(f)) }}
	case "or":
		a, b := inner(), inner()
		return expression{a.text + or + b.text, func(f tree) *bool { return either(a.eval(f), b.eval(f)) }}
	case "mixed":
		a, b, c, d := comparisonOf(t), inner(), inner(), comparisonOf(t)
		return expression{"NOT " + a.text + and + b.text + or + c.text + and + d.text, func(f tree) *bool {
			return either(both(opposite(a.eval(f)), b.eval(f)), both(c.eval(f), d.eval(f)))
		}}
	}
	return comparisonOf(t)
}

func featureOf(t *rapid.T) tree {
	f := tree{values: map[string]any{}, boxes: map[quadkey.Box]bool{}}
	for _, name := range someNames {
		switch rapid.IntRange(0, 4).Draw(t, "type of "+name) {
		case 1:
			f.values[name] = rapid.SampledFrom([]float64{0, -1.5, 12.5, 100, 1e300}).Draw(t, name)
		case 2:
			f.values[name] = rapid.Bool().Draw(t, name)
		case 3, 4:
			f.values[name] = rapid.SampledFrom(someTexts).Draw(t, name)
		}
	}
	for _, b := range someBoxes {
		f.boxes[b] = rapid.Bool().Draw(t, "meets")
	}
	return f
}

// TestMatchAgreesWithMeaning tests that filters of random trees pass the features that the trees
// describe.
func TestMatchAgreesWithMeaning(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		e := expressionOf(t, 3)
		if len(e.text) > MaxBytes {
			t.Skip("too long")
		}
		filter, err := Parse(e.text)
		if err != nil {
			t.Fatalf("%s: %v", e.text, err)
		}
		box, hasBox := filter.Area().(feature.Box)
		for range 8 {
			f := featureOf(t)
			value := propertiesOf(f.values)
			meets := func(b quadkey.Box) bool { return f.boxes[b] }
			result := e.eval(f)
			want := result != nil && *result
			if got := passes(&filter.Test, value, meets); got != want {
				t.Fatalf("%s passes %v: %v, want %v", e.text, f, got, want)
			}
			if want && hasBox && !f.boxes[quadkey.Box(box)] {
				t.Fatalf("%s passes %v, which does not meet its box %v", e.text, f, box)
			}
		}
	})
}
