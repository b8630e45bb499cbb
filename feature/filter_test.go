package feature

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quadrille/internal/must"
)

var filterSchema = Schema{{Name: "a.lt", Kind: Text}, {Name: "any", Kind: Any},
	{Name: "category", Kind: Text}, {Name: "closed", Kind: Boolean}, {Name: "open", Kind: Time},
	{Name: "price", Kind: Number}, {Name: "tags", Kind: Texts}}

func TestParseTerm(t *testing.T) {
	for _, tc := range []struct {
		key, values string
		want        Term
	}{
		{"category", "cafe,bakery", Term{"category", OpEquals, []string{"cafe", "bakery"}}},
		{"category", `a\,b,c\\,d\x,e\`, Term{"category", OpEquals, []string{"a,b", `c\`, `d\x`, `e\`}}},
		{"category", "", Term{"category", OpEquals, []string{""}}},
		{"category.ne", "cafe", Term{"category", OpDiffers, []string{"cafe"}}},
		{"category.prefix", "caf", Term{"category", OpPrefix, []string{"caf"}}},
		{"price.lt", "20", Term{"price", OpLess, []string{"20"}}},
		{"open.gte", "2026-01-01", Term{"open", OpGreaterOrEqual, []string{"2026-01-01"}}},
		{"-closed", "", Term{"closed", OpFalsy, nil}},
		{"has", "phone,email", Term{"", OpHas, []string{"phone", "email"}}},
		{"lacks", "phone", Term{"", OpLacks, []string{"phone"}}},
		{"a.lt", "x", Term{"a", OpLess, []string{"x"}}},
		{"p.a.lt", "x", Term{"a.lt", OpEquals, []string{"x"}}},
		{"p.price.lt", "2", Term{"price", OpLess, []string{"2"}}},
		{"p.price", "2", Term{"price", OpEquals, []string{"2"}}},
		{"-p.price", "", Term{"p.price", OpFalsy, nil}},
		{"a.lt.ne", "x", Term{"a.lt", OpDiffers, []string{"x"}}},
		{"a.b", "x", Term{"a.b", OpEquals, []string{"x"}}},
		{"a.not", "x", Term{"a.not", OpEquals, []string{"x"}}},
	} {
		if got, err := filterSchema.ParseTerm(tc.key, tc.values); err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s=%s: %+v, %v, want %+v", tc.key, tc.values, got, err, tc.want)
		}
	}
	// Codes may be written in any case.
	codes := Schema{{Name: "country", Kind: Text, Upper: true}}
	for key, want := range map[string]Term{
		"country": {"country", OpEquals, []string{"CH", "DE"}}, "country.ne": {"country", OpDiffers, []string{"CH", "DE"}},
	} {
		if got, err := codes.ParseTerm(key, "ch,De"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", key, got, err, want)
		}
	}
	// Properties with the name of an operator affect only names with p.
	named := Schema{{Name: "-closed", Kind: Text}, {Name: "closed", Kind: Boolean}, {Name: "has", Kind: Text}}
	for key, want := range map[string]Term{
		"-closed":   {"closed", OpFalsy, nil},
		"p.-closed": {"-closed", OpEquals, []string{""}},
		"has":       {"", OpHas, []string{""}},
		"p.has":     {"has", OpEquals, []string{""}},
	} {
		if got, err := named.ParseTerm(key, ""); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v", key, got, err, want)
		}
	}
	for key, values := range map[string]string{"-closed": "true", "category": strings.Repeat("x", 1<<20)} {
		if _, err := filterSchema.ParseTerm(key, values); !errors.Is(err, ErrFilter) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestBadFilters(t *testing.T) {
	for _, tc := range []struct {
		term Term
		want string
	}{
		{Term{"categor", "", []string{"x"}}, "give one of category, a.lt, any"},
		{Term{"", "", []string{"x"}}, "no property"},
		{Term{"", OpHas, []string{"x"}}, "no property"},
		{Term{"", OpHas, nil}, "name a property"},
		{Term{"price", "", nil}, "give a value"},
		{Term{"price", "", []string{"abc"}}, "no number"},
		{Term{"price", "", []string{"1,5"}}, "decimal comma: write a point, as in 1.5"},
		{Term{"price", OpLess, []string{"1", "2"}}, "give one"},
		{Term{"price", OpPrefix, []string{"1"}}, "only text"},
		{Term{"any", OpLess, []string{"x"}}, "no number"},
		{Term{"closed", "", []string{"yes"}}, "true or false"},
		{Term{"closed", OpLess, []string{"true"}}, "closed has the type boolean, and only numbers and times"},
		{Term{"closed", OpPrefix, []string{"t"}}, "closed has the type boolean, and only text"},
		{Term{"category", OpLess, []string{"x"}}, "only numbers and times"},
		{Term{"open", "", []string{"2026-02-29"}}, "no time"},
		{Term{"closed", OpFalsy, []string{"x"}}, "give it no value"},
		{Term{"closed", "near", []string{"x"}}, "no operator"},
		{Term{"category", "", []string{strings.Repeat("x", 257)}}, "at most 256"},
		{Term{"category", "", []string{"\xff"}}, "UTF-8"},
		{Term{"category", "", make([]string, 51)}, "at most 50"},
	} {
		if _, err := newExpression(filterSchema, []Term{tc.term}); !errors.Is(err, ErrFilter) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%+v: %v, want %s", tc.term, err, tc.want)
		}
	}
	if _, err := newExpression(filterSchema, make([]Term, 21)); !errors.Is(err, ErrFilter) {
		t.Error(err)
	}
	if f, err := ParseFilter(filterSchema, nil); f != nil || err != nil {
		t.Error(f, err)
	}
}

func TestMatch(t *testing.T) {
	const object = `{"category":"Cafe <1>","price":9007199254740993,"open":"2026-01-01T12:00:00+02:00","closed":false,"tags":["a","b;\"c"],"any":5.50,"a.lt":null}`
	for query, want := range map[string]bool{
		"category=Cafe <1>":      true,
		"category=cafe <1>":      false,
		"category=x,Cafe <1>":    true,
		"category.ne=x":          true,
		"category.ne=x,Cafe <1>": false,
		"category.prefix=Cafe <": true, "category.prefix=Cafe <1>2": false, "category.prefix=": true, "category.prefix=x,Ca": true,
		"price=9007199254740993":        true,
		"price=9007199254740992":        false,
		"price.gt=9007199254740992":     true,
		"price.lte=9007199254740993.0":  true,
		"price.lt=9.007199254740993e15": false,
		"price.ne=1":                    true, "price.gte=-1": true, "price.lt=-1": false,
		"open=2026-01-01T10:00:00Z":         true,
		"open.gte=2026-01-01":               true,
		"open=2026-01-01 10:00:00z":         true,
		"open=2026-01-01t10:00:00z":         true,
		"open.lt=2026-01-01":                false,
		"open.lte=2026-01-01T10:00:00.000Z": true,
		"open.ne=2026-01-01":                true,
		"closed=false":                      true, "closed=TRUE": false, "closed=true,false": true, "-closed=": true, "closed.ne=true": true,
		"tags=a": true, `tags=b;"c`: true, "tags=c": false, "tags.ne=a": false, "tags.ne=c": true, "tags.prefix=b": true, "tags.prefix=c": false,
		"any=5.5": true, "any=5.5e0": true, "any=x": false, "any.gt=5": true, "any.lt=5": false, "any.prefix=5": false,
		"p.a.lt=x":      false,
		"a.lt.ne=x":     false,
		"-a.lt=":        true,
		"has=a.lt":      false,
		"lacks=a.lt":    true,
		"has=tags,any":  true,
		"has=tags,a.lt": false,
		"-tags=":        false,
		"-any=":         false,
	} {
		key, values, _ := strings.Cut(query, "=")
		term := must.Get(filterSchema.ParseTerm(key, values)).In(t)
		f := must.Get(newExpression(filterSchema, []Term{term})).In(t)
		if got := f.MatchCompact(compact(t, object)); got != want {
			t.Errorf("%s: %v", query, got)
		}
	}
}

// slowMatch is the reference. It uses encoding/json, big numbers and time.Parse.
func slowMatch(s Schema, terms []Term, object map[string]any) bool {
	for _, t := range terms {
		if t.Op == OpHas || t.Op == OpLacks {
			for _, name := range t.Values {
				if (object[name] != nil) != (t.Op == OpHas) {
					return false
				}
			}
			continue
		}
		v := object[t.Name]
		list, isList := v.([]any)
		if t.Op == OpFalsy {
			if !(v == nil || v == false || v == "" || isList && len(list) == 0) {
				return false
			}
			continue
		}
		if v == nil {
			return false
		}
		field, _ := s.Lookup(t.Name)
		if !isList || field.Kind != Texts && field.Kind != Any {
			if list = []any{v}; field.Kind == Texts {
				list = nil
			}
		}
		if t.Op != OpEquals && t.Op != OpDiffers && t.Op != OpPrefix {
			list = []any{v}
		}
		found := slices.ContainsFunc(list, func(v any) bool {
			return slices.ContainsFunc(t.Values, func(operand string) bool { return slowCompare(field.Kind, t.Op, v, operand) })
		})
		if found == (t.Op == OpDiffers) {
			return false
		}
	}
	return true
}

func slowTime(s string) (time.Time, bool) {
	if when, err := time.Parse(time.DateOnly, s); err == nil {
		return when, true
	}
	if len(s) > 10 && strings.Contains("tT ", s[10:11]) { // RFC 3339, section 5.6
		s = s[:10] + "T" + s[11:]
	}
	when, err := time.Parse(time.RFC3339, strings.ToUpper(s))
	return when.UTC(), err == nil && when.UTC().Year() >= 0 && when.UTC().Year() <= 9999 && !strings.Contains(s, ",")
}

func slowCompare(kind Kind, op string, v any, operand string) bool {
	order, ok := 1, false
	switch v := v.(type) {
	case string:
		if op == OpPrefix {
			return strings.HasPrefix(v, operand)
		}
		if kind == Time {
			a, ok1 := slowTime(v)
			b, ok2 := slowTime(operand)
			order, ok = a.Compare(b), ok1 && ok2
		} else if kind != Number && kind != Boolean {
			order, ok = strings.Compare(v, operand), op == OpEquals || op == OpDiffers
		}
	case bool:
		if kind == Boolean {
			return strings.EqualFold(fmt.Sprint(v), operand)
		}
		return kind == Any && op != OpPrefix && fmt.Sprint(v) == operand
	case json.Number:
		if kind != Number && kind != Any || op == OpPrefix {
			return false
		}
		if !isTextNumber([]byte(operand)) { // big.Rat would take its time for 1e999999999
			return false
		}
		a, ok1 := new(big.Rat).SetString(v.String())
		b, ok2 := new(big.Rat).SetString(operand)
		order, ok = a.Cmp(b), ok1 && ok2
	}
	switch op {
	case OpEquals, OpDiffers:
		return ok && order == 0
	case OpLess:
		return ok && order < 0
	case OpLessOrEqual:
		return ok && order <= 0
	case OpGreater:
		return ok && order > 0
	default:
		return ok && op == OpGreaterOrEqual && order >= 0
	}
}

func schemas(t *rapid.T) Schema {
	var fields []Field
	for _, name := range []string{"a", "b", "c", "open", "a.lt", "has", "-a", "<é>", ",\":", ":", "a\\"} {
		fields = append(fields, Field{Name: name, Kind: rapid.SampledFrom([]Kind{Text, Number, Boolean, Time, Texts, Any}).Draw(t, "type of "+name)})
	}
	return must.Get(NewSchema(fields)).In(t)
}

func drawTerms(t *rapid.T) []Term {
	values := rapid.SliceOfN(rapid.SampledFrom([]string{
		"",
		"cafe",
		"bar",
		"a",
		"true",
		"false",
		"1",
		"1.0",
		"-2",
		"2026-01-01",
		"2026-01-01T00:00:00Z",
		strings.Repeat("long ", 20),
		"x,\":{}[]",
	}), 1, 3)
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Term {
		op := rapid.SampledFrom([]string{OpEquals, OpEquals, OpFalsy, OpDiffers, OpLess, OpLessOrEqual, OpGreater,
			OpGreaterOrEqual, OpPrefix, OpHas, OpLacks}).Draw(t, "op")
		switch op {
		case OpHas, OpLacks:
			return Term{Op: op, Values: rapid.SliceOfN(names(), 1, 2).Draw(t, "names")}
		case OpFalsy:
			return Term{Op: op, Name: names().Draw(t, "name")}
		}
		return Term{Op: op, Name: names().Draw(t, "name"), Values: values.Draw(t, "values")}
	}), 0, 3).Draw(t, "terms")
}

// checkEqualities requires that a feature that passes the filter has one of the values of each
// equality.
func checkEqualities(t interface {
	Helper()
	Fatalf(string, ...any)
}, f *Expression, object []byte) {
	t.Helper()
	for _, e := range f.Equalities() {
		var name string
		if err := json.Unmarshal([]byte(e.QuotedName), &name); err != nil {
			t.Fatalf("%s: %v", e.QuotedName, err)
		}
		value, _ := Member(object, name)
		found := slices.Collect(Elements(value))
		if !IsList(value) {
			found = [][]byte{value}
		}
		if !slices.ContainsFunc(found, func(v []byte) bool {
			return slices.ContainsFunc(e.Values, func(one []byte) bool { return bytes.Equal(v, one) })
		}) {
			t.Fatalf("%s has none of %s in %s, and matches", object, e.Values, e.QuotedName)
		}
	}
}

func TestMatchAsTheReference(t *testing.T) {
	matched := 0
	rapid.Check(t, func(t *rapid.T) {
		s, terms := schemas(t), drawTerms(t)
		f, err := newExpression(s, terms)
		if err != nil {
			if !errors.Is(err, ErrFilter) {
				t.Fatal(err)
			}
			return
		}
		object := encode(t, objects(t))
		want := slowMatch(s, terms, decode(t, object))
		if got := f.MatchCompact(object); got != want {
			t.Fatalf("%s: %+v of %+v: %v", object, terms, s, got)
		}
		if !want {
			return
		}
		matched++
		checkEqualities(t, f, object)
	})
	if matched == 0 {
		t.Error("nothing matched")
	}
}

func TestFiltersAreTold(t *testing.T) {
	tag := func(terms ...Term) string {
		f := must.Get(newExpression(filterSchema, terms)).In(t)
		return string(f.AppendTo([]byte("x")))
	}
	a, b := Term{"category", "", []string{"x", "y"}}, Term{"price", OpLess, []string{"1"}}
	same := []string{
		tag(a, b),
		tag(b, a),
		tag(b, Term{"category", "", []string{"y", "x", "y"}}, a),
		tag(a, Term{"price", OpLess, []string{"1.0"}}),
	}
	if len(slices.Compact(same)) != 1 {
		t.Errorf("%q", same)
	}
	others := []string{"x", same[0], tag(a), tag(b), tag(a, Term{"price", OpLessOrEqual, []string{"1"}}),
		tag(Term{"category", "", []string{"x"}}, Term{"category", "", []string{"y"}}),
		tag(Term{"category", OpDiffers, []string{"x", "y"}}), tag(Term{"category", "", []string{"xy"}}),
		tag(Term{"open", "", []string{"2026-01-01"}}), tag(Term{"open", "", []string{"2026-01-02"}})}
	slices.Sort(others)
	if n := len(others); len(slices.Compact(others)) != n {
		t.Errorf("%q", others)
	}
}

func FuzzFilter(f *testing.F) {
	f.Add("category", "cafe,bar", []byte(`{"category":"cafe"}`))
	f.Add("price.lt", "20", []byte(`{"price":1e1}`))
	f.Add("open.gte", "2026-01-01", []byte(`{"open":"2026-01-01T00:00:00.5+01:00"}`))
	f.Add("any", "true", []byte(`{"any":[true,"x",1.0]}`))
	f.Add("tags.prefix", `a\,b`, []byte(`{"tags":["a,bc"]}`))
	f.Fuzz(func(t *testing.T, key, values string, raw []byte) {
		term, err := filterSchema.ParseTerm(key, values)
		if err != nil {
			return
		}
		filter, err := newExpression(filterSchema, []Term{term})
		if err != nil {
			if !errors.Is(err, ErrFilter) {
				t.Fatal(err)
			}
			return
		}
		object, err := AppendProperties(nil, raw)
		if err != nil {
			return
		}
		got, want := filter.MatchCompact(object), slowMatch(filterSchema, []Term{term}, decode(t, object))
		if got != want {
			t.Fatalf("%s: %+v: %v", object, term, got)
		}
		if got {
			checkEqualities(t, filter, object)
		}
		if !bytes.Equal(filter.AppendTo(nil), filter.AppendTo(nil)) {
			t.Fatal("the tag changes")
		}
	})
}

// A name with dots names a member of nested objects, unless a property has the whole name.
func TestNestedMembers(t *testing.T) {
	s := Schema{{Name: "at", Kind: Any}, {Name: "at.zip", Kind: Text}, {Name: "name", Kind: Text}}
	object := []byte(`{"name":"x","at":{"city":"Bern","zip":"nested","geo":{"lat":46.9},"tags":["a","b"],"no":null},"at.zip":"flat"}`)
	for text, want := range map[string]bool{
		"at.city=Bern":        true,
		"at.city=Basel":       false,
		"at.city.ne=Basel":    true,
		"at.city.prefix=Be":   true,
		"at.geo.lat.gt=46":    true,
		"at.geo.lat.lt=46":    false,
		"at.tags=b":           true,
		"at.tags.ne=b":        false,
		"at.zip=flat":         true,
		"at.zip=nested":       false,
		"has=at.city,at.geo":  true,
		"has=at.no":           false,
		"lacks=at.no,at.gone": true,
		"-at.gone=":           true, "at.gone=x": false, "at.city.more=x": false,
	} {
		key, values, _ := strings.Cut(text, "=")
		term, err := s.ParseTerm(key, values)
		if err != nil {
			t.Fatal(err)
		}
		f, err := newExpression(s, []Term{term})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if got := f.MatchCompact(object); got != want {
			t.Errorf("%s: %v", text, got)
		}
		if got, err := f.Match(t.Context(), &Feature{Properties: CompactProperties(object[1 : len(object)-1]).decoded()}); got != want ||
			err != nil {
			t.Errorf("%s of values: %v, %v", text, got, err)
		}
		if len(f.Equalities()) > 0 && strings.HasPrefix(text, "at.city") {
			t.Errorf("%s: an index knows nothing of members", text)
		}
	}
	// An index does not cover members, not even if some features have a property with the whole
	// name.
	zip := must.Get(newExpression(s, []Term{{Name: "at.zip", Values: []string{"nested"}}})).In(t)
	if nested := []byte(`{"at":{"zip":"nested"}}`); !zip.MatchCompact(nested) || len(zip.Equalities()) > 0 {
		t.Errorf("equalities of a member: %v", zip.Equalities())
	}
	if _, err := newExpression(s, []Term{{Name: "name.first", Values: []string{"x"}}}); !errors.Is(err, ErrFilter) {
		t.Errorf("a member of a text: %v", err)
	}
}

// TestForIndex tests which part of a filter an index gets: the whole filter if it has no boxes, and
// otherwise only those conditions on properties that must hold.
func TestForIndex(t *testing.T) {
	s := Schema{{Name: "a", Kind: Text}, {Name: "n", Kind: Number}}
	a, n := NewTest("a", OpEquals, false, TextLiteral("x")), NewTest("n", OpGreater, false, NumberLiteral("1"))
	box := NewAreaTest(Box{West: 0, South: 0, East: 1, North: 1}, false)
	for name, tc := range map[string]struct {
		of   Test
		want *Test
		all  bool
	}{
		"properties": {Or(a, Not(n)), ptr(Or(a, Not(n))), true}, "a box": {And(a, box, Or(n, a)), ptr(And(a, Or(n, a))), false},
		"a box below OR": {And(Or(box, a), n), &n, false}, "a box alone": {box, nil, false}, "a box or": {Or(box, a), nil, false},
	} {
		f := tc.of.Expression(s, nil, nil)
		rows, all := s.ForIndex(f)
		if all != tc.all || (rows == nil) != (tc.want == nil) || rows != nil && rows.String() != tc.want.Expression(s, nil, nil).String() {
			t.Errorf("%s: %v, %v", name, rows, all)
		}
		terms, all := f.Terms()
		if all || (len(terms) == 1) != (name == "a box") || len(terms) != len(f.Equalities()) {
			t.Errorf("%s: terms %v, equalities %v", name, terms, f.Equalities())
		}
	}
}

func ptr(t Test) *Test { return &t }
