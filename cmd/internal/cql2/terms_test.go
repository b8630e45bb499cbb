package cql2

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quadrille/feature"
	"quadrille/internal/must"
)

// kinds are the properties of the features here. Members of "at" have no declared kinds.
var kinds = map[string]feature.Kind{
	"any": feature.Any, "at.city": feature.Any, "at.n": feature.Any, "at.tags": feature.Any, "flag": feature.Boolean, "num": feature.Number,
	"tags": feature.Texts, "text": feature.Text, "when": feature.Time,
}

// found lists values of each property. Some have a different type than the property. No property of
// kinds is an object: for a Term, an object is unequal to every value, and CQL2 has no such
// comparison.
var found = map[string][]string{
	"text": {`null`, `"cafe"`, `"Caf%"`, `"Caf_x"`, `""`, `"5"`, `5`, `true`},
	"num":  {`null`, `5`, `5.0`, `-1.5`, `1e3`, `"5"`, `false`},
	"flag": {`null`, `true`, `false`, `"true"`, `1`},
	"when": {`null`, `"2026-01-01"`, `"2026-01-01T01:00:00+01:00"`, `"2025-12-31T12:00:00Z"`, `3`, `true`},
	"tags": {`null`, `[]`, `["a"]`, `["b","a"]`, `["b",5]`},
	"any":  {`null`, `"a"`, `"5"`, `5`, `true`, `["a",5]`, `[]`, `[true]`},
	"at":   {`null`, `{"city":"Bern","n":5,"tags":["a","b"]}`, `{"city":null,"n":"5","tags":"a"}`, `{"city":7,"tags":[]}`, `"Bern"`},
}

var asked = map[feature.Kind][]string{
	feature.Text: {"cafe", "Caf%", "", "5", "Ca", "Caf_"}, feature.Texts: {"a", "b", "5", ""}, feature.Number: {"5", "-1.50", "1000", "4.9"},
	feature.Boolean: {"true", "false"},
	feature.Time:    {"2026-01-01", "2026-01-01T00:00:00Z", "2025-12-31T13:00:00+01:00"},
	feature.Any:     {"a", "5", "true", "Bern", "Be"},
}

func termOf(t *rapid.T) feature.Term {
	names := slices.Sorted(maps.Keys(kinds))
	term := feature.Term{Name: rapid.SampledFrom(names).Draw(t, "name")}
	kind := kinds[term.Name]
	ops := []string{feature.OpEquals, feature.OpDiffers, feature.OpFalsy, feature.OpHas, feature.OpLacks}
	switch kind {
	case feature.Number, feature.Time:
		ops = append(ops, feature.OpLess, feature.OpLessOrEqual, feature.OpGreater, feature.OpGreaterOrEqual)
	case feature.Text, feature.Texts:
		ops = append(ops, feature.OpPrefix)
	case feature.Any:
		ops = append(ops, feature.OpPrefix, feature.OpLess, feature.OpGreaterOrEqual)
	}
	term.Op = rapid.SampledFrom(ops).Draw(t, "op")
	values := asked[kind]
	switch term.Op {
	case feature.OpFalsy:
	case feature.OpHas, feature.OpLacks:
		term.Name, term.Values = "", rapid.SliceOfN(rapid.SampledFrom(names), 1, 2).Draw(t, "names")
	case feature.OpLess, feature.OpLessOrEqual, feature.OpGreater, feature.OpGreaterOrEqual:
		if kind == feature.Any {
			values = []string{"5", "4"}
		}
		term.Values = rapid.SliceOfN(rapid.SampledFrom(values), 1, 1).Draw(t, "value")
	default:
		term.Values = rapid.SliceOfN(rapid.SampledFrom(values), 1, 3).Draw(t, "values")
	}
	return term
}

// literalsOf returns the literals of CQL2 that a value of a term may correspond to. Only its
// property gives the value a type.
func literalsOf(kind feature.Kind, value string) (list []string) {
	switch kind {
	case feature.Number:
		return []string{value}
	case feature.Boolean:
		return []string{strings.ToUpper(value)}
	case feature.Time:
		if len(value) == len(time.DateOnly) {
			return []string{"DATE('" + value + "')"}
		}
		return []string{"TIMESTAMP('" + value + "')"}
	}
	list = []string{quote(value)}
	if kind == feature.Any && isNumber(value) {
		list = append(list, value)
	}
	if kind == feature.Any && value == "true" {
		list = append(list, "TRUE")
	}
	return list
}

// cql2Of returns a term as CQL2 text.
func cql2Of(term feature.Term) string {
	name, kind := `"`+term.Name+`"`, kinds[term.Name]
	var literals, parts []string
	for _, v := range term.Values {
		literals = append(literals, literalsOf(kind, v)...)
	}
	in := name + " IN (" + strings.Join(literals, ",") + ")"
	switch term.Op {
	case feature.OpEquals:
		return in
	case feature.OpDiffers:
		// If types differ, the result is unknown in CQL2, but a term regards the values as
		// different.
		for _, l := range literals {
			boolean, number := l == "TRUE" || l == "FALSE", isNumber(l)
			part := name + " <> " + l
			if boolean || number {
				part += " OR " + name + " >= ''"
			}
			if !number {
				part += " OR " + name + " <= 1e308"
			}
			if !boolean {
				part += " OR " + name + " IN (TRUE, FALSE)"
			}
			parts = append(parts, "("+part+")")
		}
		return strings.Join(parts, " AND ")
	case feature.OpPrefix:
		for _, v := range term.Values {
			parts = append(parts, name+" LIKE "+quote(strings.NewReplacer("%", `\%`, "_", `\_`).Replace(v)+"%"))
		}
		return "(" + strings.Join(parts, " OR ") + ")"
	case feature.OpFalsy:
		return "(" + name + " IS NULL OR " + name + " = FALSE OR " + name + " = '' OR A_EQUALS(" + name + ", ()))"
	case feature.OpHas, feature.OpLacks:
		not := map[string]string{feature.OpHas: "NOT "}[term.Op]
		for _, v := range term.Values {
			parts = append(parts, `"`+v+`" IS `+not+"NULL")
		}
		return strings.Join(parts, " AND ")
	}
	sign := map[string]string{
		feature.OpLess:           " < ",
		feature.OpLessOrEqual:    " <= ",
		feature.OpGreater:        " > ",
		feature.OpGreaterOrEqual: " >= ",
	}[term.Op]
	return name + sign + literals[len(literals)-1]
}

// means evaluates a term on an object without package feature.
func means(term feature.Term, object map[string]any) bool {
	valueOf := func(name string) any {
		if outer, inner, ok := strings.Cut(name, "."); ok {
			members, _ := object[outer].(map[string]any)
			return members[inner]
		}
		return object[name]
	}
	switch term.Op {
	case feature.OpHas, feature.OpLacks:
		return !slices.ContainsFunc(term.Values, func(name string) bool { return (valueOf(name) != nil) != (term.Op == feature.OpHas) })
	}
	v, kind := valueOf(term.Name), kinds[term.Name]
	list, isList := v.([]any)
	switch {
	case term.Op == feature.OpFalsy:
		return v == nil || v == false || v == "" || isList && len(list) == 0
	case v == nil:
		return false
	case !isList:
		list = []any{v}
	}
	some := slices.ContainsFunc(list, func(v any) bool {
		return slices.ContainsFunc(term.Values, func(operand string) bool {
			if text, is := v.(string); is && term.Op == feature.OpPrefix {
				return strings.HasPrefix(text, operand)
			}
			order, ok := ordered(kind, v, operand)
			switch term.Op {
			case feature.OpEquals, feature.OpDiffers:
				return ok && order == 0
			case feature.OpPrefix:
				return false
			}
			_, number := v.(float64)
			ok = ok && !isList && (number || kind == feature.Time)
			return ok && map[string]bool{
				feature.OpLess:           order < 0,
				feature.OpLessOrEqual:    order <= 0,
				feature.OpGreater:        order > 0,
				feature.OpGreaterOrEqual: order >= 0,
			}[term.Op]
		})
	})
	return some != (term.Op == feature.OpDiffers)
}

// ordered compares a value with one of a term, if they have a type in common.
func ordered(kind feature.Kind, v any, operand string) (order int, ok bool) {
	sign := func(less, more bool) int { return map[bool]int{true: 1}[more] - map[bool]int{true: 1}[less] }
	switch v := v.(type) {
	case string:
		if kind == feature.Time {
			a, b := instantOf(v), instantOf(operand)
			return strings.Compare(a, b), a != "" && b != ""
		}
		return strings.Compare(v, operand), kind == feature.Text || kind == feature.Texts || kind == feature.Any
	case float64:
		n, err := strconv.ParseFloat(operand, 64)
		return sign(v < n, v > n), err == nil && (kind == feature.Number || kind == feature.Any)
	case bool:
		return sign(strconv.FormatBool(v) != operand, false), kind == feature.Boolean || kind == feature.Any
	}
	return 0, false
}

// A filter of a list and the equivalent filter in CQL2 pass the same features as a simple
// evaluation.
func TestTermsAreCQL2(t *testing.T) {
	var fields []feature.Field
	for name, kind := range kinds {
		if !strings.Contains(name, ".") {
			fields = append(fields, feature.Field{Name: name, Kind: kind})
		}
	}
	schema := must.Get(feature.NewSchema(append(fields, feature.Field{Name: "at", Kind: feature.Any}))).In(t)
	passed, failed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var terms []feature.Term
		var texts []string
		for range rapid.IntRange(1, 3).Draw(t, "terms") {
			term := termOf(t)
			terms, texts = append(terms, term), append(texts, cql2Of(term))
		}
		text := strings.Join(texts, " AND ")
		byTerms := must.Get(feature.ParseFilter(schema, terms)).In(t)
		parsed := must.Get(Parse(text)).In(t)
		for range 8 {
			var members []string
			for _, name := range slices.Sorted(maps.Keys(found)) {
				values := found[name]
				if i := rapid.IntRange(-1, len(values)-1).Draw(t, name); i >= 0 {
					members = append(members, `"`+name+`":`+values[i])
				}
			}
			object := must.Get(feature.AppendProperties(nil, []byte("{"+strings.Join(members, ",")+"}"))).In(t)
			values := map[string]any{}
			must.Do(t, json.Unmarshal(object, &values))
			want := !slices.ContainsFunc(terms, func(term feature.Term) bool { return !means(term, values) })
			if want {
				passed++
			} else {
				failed++
			}
			for _, filter := range []feature.Filter{byTerms, parsed.Expression(schema, nil, nil)} {
				f := feature.Feature{Properties: feature.CompactProperties(object[1 : len(object)-1])}
				if got := must.Get(filter.Match(t.Context(), &f)).In(t); got != want {
					t.Fatalf("%+v, %s: %s passes: %v, want %v", terms, text, object, got, want)
				}
				rows, all := schema.ForIndex(filter)
				if got := rows.MatchCompact(object); got != want || !all {
					t.Fatalf("%+v, %s: %s passes an index: %v, want %v", terms, text, object, got, want)
				}
			}
		}
	})
	if passed == 0 || failed == 0 {
		t.Errorf("%d passed, %d failed", passed, failed)
	}
}
