package cql2

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"quadrille/feature"
	"quadrille/quadkey"
)

func mustParse(t *testing.T, text string) *Filter {
	t.Helper()
	f, err := Parse(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return f
}

// told returns a text of a test. Different tests have different texts.
func told(t *feature.Test) string { return t.Expression(nil, nil, nil).String() }

// passes reports whether a feature with the properties passes. meets reports which boxes the
// feature meets.
func passes(test *feature.Test, of feature.Properties, meets func(quadkey.Box) bool) bool {
	pass, err := test.Expression(nil, nil, func(_ context.Context, _ *feature.Feature, in feature.Ground, _ bool) (bool, error) {
		return meets(quadkey.Box(in.(feature.Box))), nil
	}).
		Match(context.Background(), &feature.Feature{Properties: of})
	return pass && err == nil
}

// truth returns the truth of a test. A test is unknown if neither it nor its opposite passes.
func truth(test *feature.Test, of feature.Properties, meets func(quadkey.Box) bool) feature.Truth {
	opposite := feature.Not(*test)
	switch pass, fail := passes(test, of, meets), passes(&opposite, of, meets); {
	case pass && !fail:
		return feature.Yes
	case fail && !pass:
		return feature.No
	case pass:
		panic("it is true and false")
	}
	return feature.Unknown
}

// Every line parses to the filter after it, and lines with different filters never parse to the
// same filter.
func TestParse(t *testing.T) {
	seen := map[string]string{}
	for _, tc := range []struct{ text, want string }{
		{"name = 'Oak'", "name = 'Oak'"},
		{"\t name='Oak'\n", "name = 'Oak'"},
		{"'Oak' = name", "name = 'Oak'"},
		{"1<=a", "a >= 1"},
		{"1>a", "a < 1"},
		{"a<>-1.50", "a <> -1.5"},
		{"a = .5 or a = 1. or a = +1E3", "a = 0.5 OR a = 1 OR a = 1000"},
		{"a = 'it''s'", "a = 'it''s'"},
		{`a = 'it\'s'`, "a = 'it''s'"},
		{`a = '\\''b'`, `a = '\\''b'`},
		{`a = ''`, "a = ''"},
		{`a = ''''`, "a = ''''"},
		{`"a""b" = 1`, `"a""b" = 1`},
		{`"name" = 1`, "name = 1"},
		{`"and" = 1 AND "my name" = 2 AND "1st" = 3`, `"and" = 1 AND "my name" = 2 AND "1st" = 3`},
		{"addr:street.no_1 = 1", "addr:street.no_1 = 1"},
		{"straße = 'ä' AND 名 = '東京'", "straße = 'ä' AND 名 = '東京'"},
		{"a = true and FALSE = b", "a = TRUE AND b = FALSE"},
		{"TRUE", "TRUE"},
		{"not false", "NOT FALSE"},
		{"date = date('2026-01-31')", "date = DATE('2026-01-31')"},
		{"t > TIMESTAMP('2026-01-31T12:00:00.5+01:00')", "t > TIMESTAMP('2026-01-31T12:00:00.5+01:00')"},
		{"a = 1 AND b = 2 OR c = 3", "a = 1 AND b = 2 OR c = 3"},
		{"a = 1 AND (b = 2 OR c = 3)", "a = 1 AND (b = 2 OR c = 3)"},
		{"(a = 1 AND (b = 2)) AND c = 3", "a = 1 AND b = 2 AND c = 3"},
		{"NOT a = 1 AND b = 2", "NOT a = 1 AND b = 2"},
		{"NOT (a = 1 AND b = 2)", "NOT (a = 1 AND b = 2)"},
		{"NOT NOT (a = 1)", "NOT NOT a = 1"},
		{"a IN ('x', 1,true)", "a IN ('x', 1, TRUE)"},
		{"a not in ('x')", "NOT a IN ('x')"},
		{"a BETWEEN 1 AND 2 AND b = 1", "a BETWEEN 1 AND 2 AND b = 1"},
		{
			"a NOT BETWEEN DATE('2026-01-01') AND TIMESTAMP('2026-01-31T12:00:00Z')",
			"NOT a BETWEEN DATE('2026-01-01') AND TIMESTAMP('2026-01-31T12:00:00Z')",
		},
		{"a is null", "a IS NULL"},
		{"a IS NOT NULL", "NOT a IS NULL"},
		{`a LIKE '50\%_%'`, `a LIKE '50\%_%'`},
		{"a NOT LIKE 'x'", "NOT a LIKE 'x'"},
		{"casei(a) = CASEI('ÄÖ')", "CASEI(a) = CASEI('äö')"},
		{"CASEI(a) LIKE casei('O%') OR CASEI(\"a\") IN (CASEI('A'), 'b')", "CASEI(a) LIKE CASEI('o%') OR CASEI(a) IN (CASEI('a'), 'b')"},
		{"a_contains(tags,('b', 1 ,'a'))", "A_CONTAINS(tags, ('b', 1, 'a'))"},
		{"A_CONTAINS(('a'), \"my tags\") AND a_overlaps = 1", "A_CONTAINEDBY(\"my tags\", ('a')) AND a_overlaps = 1"},
		{"NOT A_EQUALS(tags, ()) OR A_OVERLAPS(TRUE_, (TRUE))", "NOT A_EQUALS(tags, ()) OR A_OVERLAPS(TRUE_, (TRUE))"},
		{"a = 9007199254740993", "a = 9007199254740993"},
		{"casei = 1 AND point = 2", "casei = 1 AND point = 2"},
		{"s_intersects(geom, bbox(170,-10,-170,10))", "S_INTERSECTS(geom, BBOX(170,-10,-170,10))"},
		{"S_INTERSECTS(ENVELOPE ( 1 , 2 , 3 , 4 ), \"a geom\")", "S_INTERSECTS(\"a geom\", BBOX(1,2,3,4))"},
		{"S_INTERSECTS(geom, POINT(7.5 -47))", "S_INTERSECTS(geom, BBOX(7.5,-47,7.5,-47))"},
		{"S_INTERSECTS(geom, POLYGON((1 2, 3 2, 3 4, 1 4, 1 2)))", "S_INTERSECTS(geom, BBOX(1,2,3,4))"},
		{"S_INTERSECTS(geom, POLYGON((3 4, 3 2, 1 2, 1 4, 3 4)))", "S_INTERSECTS(geom, BBOX(1,2,3,4))"},
	} {
		f, want := mustParse(t, tc.text), mustParse(t, tc.want)
		if told(&f.Test) != told(&want.Test) || !slices.Equal(f.Geometries(), want.Geometries()) {
			t.Errorf("%s: %+v, want %+v", tc.text, f, want)
		}
		key := told(&f.Test) + fmt.Sprint(f.Geometries())
		if other := seen[key]; other != "" && other != tc.want {
			t.Errorf("%s is told as %s", tc.want, other)
		}
		seen[key] = tc.want
	}
}

func TestRefused(t *testing.T) {
	for _, tc := range []struct {
		text   string
		offset int
		want   string
	}{
		{"", 0, "empty"},
		{"  ", 2, "empty"},
		{"a", 1, "write =, <>"},
		{"closed AND a = 1", 7, "= TRUE for a boolean"},
		{"a = ", 4, "the end is not expected"},
		{"a == 1", 3, "= is not expected"},
		{"a != 1", 2, "write <>"},
		{"a = 1 && b = 2", 6, "write AND or OR"},
		{"a = 1 b = 2", 6, "write AND or OR"},
		{"a = 1 AND", 9, "the end"},
		{"AND a = 1", 0, "on each side"},
		{"a = b", 4, "write a value on one side, and text in single quotes, such as 'b'"},
		{`a = "Oak"`, 4, "'Oak'"},
		{"1 = 2", 0, "two values"},
		{"'x'", 0, "'x' is no comparison"},
		{"DATE('2026-01-01') AND a = 1", 0, "DATE('2026-01-01') is no comparison"},
		{"a = NULL", 4, "IS NULL"},
		{"a IS 1", 5, "IS NOT NULL"},
		{"a NOT IS NULL", 6, "after NOT"},
		{"CASEI(a) IS NULL", 0, "leave it out"},
		{"CASEI(a) = 1", 11, "CASEI is for text"},
		{"CASEI(a) IN ('a', 1)", 18, "CASEI is for text"},
		{"CASEI(1) = a", 6, "within CASEI"},
		{"CASEI(CASEI(a)) = 'a'", 6, "within CASEI"},
		{"CASEI(a = 'a'", 8, "close the parenthesis"},
		{"a < TRUE", 4, "no order"},
		{"a BETWEEN FALSE AND TRUE", 20, "no order"},
		{"a BETWEEN 1 AND '2'", 16, "different types"},
		{"a BETWEEN 1, 2", 11, "BETWEEN 1 AND 10"},
		{"a IN 1", 5, "in parentheses"},
		{"a IN ()", 6, ") is not expected"},
		{"a IN (1 2)", 8, "comma"},
		{"a IN (1, b)", 9, "b is a property"},
		{"a LIKE 1", 7, "pattern in single quotes"},
		{`a LIKE 'x\`, 7, "not closed"},
		{`a LIKE '\\\'`, 7, "not closed"},
		{"a = 'x", 4, "not closed"},
		{`"a = 1`, 0, "not closed"},
		{`"" = 1`, 0, "names no property"},
		{"a = it's", 6, "two for a quote within"},
		{"a = 'it's'", 8, "write AND or OR"},
		{"1st = 'a'", 0, "1st is no number"},
		{"a = 1e999", 4, "too large"},
		{"a = 1 + 2", 6, "do not calculate"},
		{"is-open = TRUE", 0, "is is not expected"},
		{"my-name = TRUE", 2, "in double quotes"},
		{"a = [1]", 4, "not expected here"},
		{"(a = 1", 6, "close the parenthesis"},
		{"a = 1)", 5, ") is not expected"},
		{"()", 1, ") is not expected"},
		{"a = DATE('2026-02-30')", 9, "none of DATE"},
		{"a = DATE('2026-02-20T00:00:00Z')", 9, "none of DATE"},
		{"a = TIMESTAMP('2026-02-20T1:00:00Z')", 14, "none of TIMESTAMP"},
		{"a = DATE(2026)", 9, "in single quotes"},
		{"a = DATE('2026-01-01'", 21, "close the date"},
		{"ACCENTI(a) = 'x'", 0, "CASEI"},
		{"lower(a) = 'x'", 0, "the function lower is not offered"},
		{`"a"(1) = 1`, 0, "functions without quotes"},
		{"S_TOUCHES(geom, BBOX(1,2,3,4))", 0, "S_INTERSECTS"},
		{"T_AFTER(a, DATE('2026-01-01'))", 0, "compare with DATE"},
		{"A_CONTAINS(a, b)", 15, "A_CONTAINS compares one property with one list"},
		{"A_CONTAINS(a, 'b')", 14, "write the property and a list of values, such as"},
		{"A_CONTAINS(('a'), ('b'))", 23, "one property with one list"},
		{"A_CONTAINS(a, ('b', c))", 20, "c is a property"},
		{"A_EQUALS(a b)", 11, "write a comma after the first argument of A_EQUALS"},
		{"A_OVERLAPS(a, ('b')", 19, "close A_OVERLAPS"},
		{"A_OVERLAPS(CASEI(a), ('b'))", 11, "CASEI is not expected here"},
		{"A_COUNT(a) = 1", 0, "write A_CONTAINS, A_CONTAINEDBY"},
		{"BBOX(1,2,3,4)", 0, "within S_INTERSECTS"},
		{"S_INTERSECTS(geom)", 17, "comma"},
		{"S_INTERSECTS(a, b)", 16, "one geometry"},
		{"S_INTERSECTS(POINT(1 2), POINT(1 2))", 25, "not expected here"},
		{"S_INTERSECTS(geom, 'x')", 19, "a geometry, such as"},
		{"S_INTERSECTS(geom, BBOX(1,2,3,4)", 32, "close S_INTERSECTS"},
		{"S_INTERSECTS(geom, BBOX(1,2,3))", 29, "commas between"},
		{"S_INTERSECTS(geom, BBOX(1,2,0,3,4,0))", 31, "without heights"},
		{"S_INTERSECTS(geom, BBOX(1,2,x,4))", 28, "x is no number"},
		{"S_INTERSECTS(geom, BBOX(1,4,3,2))", 19, "exchange them"},
		{"S_INTERSECTS(geom, BBOX(170,0,190,2))", 19, "west greater than east"},
		{"S_INTERSECTS(geom, POINT(1 2 3))", 29, "without heights"},
		{"S_INTERSECTS(geom, POINT(1 2, 3 4))", 19, "MULTIPOINT"},
		{"S_INTERSECTS(geom, POINT(1 91))", 19, "has no latitude"},
		{"S_INTERSECTS(geom, POLYGON((0 0, 1 0, 0 0, 0 1)))", 19, "not closed"},
		{"S_INTERSECTS(geom, POLYGON((0 0, 1 1, 2 2, 0 0)))", 19, "encloses nothing"},
		{"S_INTERSECTS(geom, POLYGON(0 0))", 27, "write WKT"},
		{"S_INTERSECTS(geom, POLYGON EMPTY)", 19, "one geometry"},
		{"S_INTERSECTS(geom, POLYGON Z ((0 0 1, 1 0 1, 1 1 1, 0 0 1)))", 19, "one geometry"},
		{"S_WITHIN(POLYGON((0 0, 1 0, 1 1, 0 0)), geom)", 9, "the property of the geometry and then"},
		{"S_DWITHIN(geom, POINT(1 2))", 26, "a distance in metres"},
		{"S_DWITHIN(geom, POINT(1 2), 5, miles)", 31, "miles is no unit"},
		{"S_DWITHIN(geom, POINT(1 2), -5)", 16, "the distance must be"},
		{strings.Repeat("S_WITHIN(g,POLYGON((0 0,1 0,1 1,0 0))) OR ", 21) + "a=1", 851, "more than 20 geometries"},
		{"S_INTERSECTS(geom, CIRCLE(0 0, 1 1))", 19, "CIRCLE is no geometry; write a geometry such as BBOX"},
		{"a = 'ä' AND \xff", 13, "UTF-8"},
		{"a = '\uFFFD\xff'", 8, "UTF-8"},
		{"a = 1 AND " + strings.Repeat("x", 200), 210, "…"},
	} {
		f, err := Parse(tc.text)
		var syntax *SyntaxError
		if f != nil || !errors.As(err, &syntax) || syntax.Offset != tc.offset || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, %v, want byte %d: %s", tc.text, f, err, tc.offset, tc.want)
		}
	}
}

func TestBounds(t *testing.T) {
	deep := func(n int) string { return strings.Repeat("(", n) + "a=1" + strings.Repeat(")", n) }
	many := func(n int, text string) string { return strings.TrimSuffix(strings.Repeat(text, n), ",") }
	for _, tc := range []struct{ text, want string }{
		{deep(MaxDepth), ""},
		{deep(MaxDepth + 1), "more than 100 parentheses"},
		{deep(1000), "more than 100 parentheses"},
		{strings.Repeat("(", MaxBytes), "more than 100 parentheses"},
		{strings.Repeat("NOT ", MaxDepth) + "a=1", ""},
		{strings.Repeat("NOT ", MaxDepth+1) + "a=1", "more than 100 parentheses and NOTs"},
		{many(200, "(a=1) OR NOT b=1 OR ") + "c=1", ""}, // beside each other
		{strings.Repeat("NOT(", 51) + "a=1" + strings.Repeat(")", 51), "more than 100"},
		{many(998, "a=1 OR ") + "a=1", ""},
		{many(999, "a=1 OR ") + "a=1", "more than 1000"},
		{"a IN (" + many(999, "1,") + ")", ""},
		{"a IN (" + many(1000, "1,") + ")", "more than 1000"},
		{"A_CONTAINS(a, (" + many(1000, "1,") + "))", "more than 1000"},
		{"a = '" + strings.Repeat("x", MaxBytes-6) + "'", ""},
		{"a = '" + strings.Repeat("x", MaxBytes-5) + "'", "10001 bytes; give at most 10000"},
		{"a LIKE '" + strings.Repeat("ä_", 500) + "'", ""},
		{"a LIKE '" + strings.Repeat("x", 500) + "' OR a LIKE '" + strings.Repeat("x", 501) + "'", "the patterns of LIKE have more than 1000"},
		{"a = '" + strings.Repeat("\\'", 4990) + "'", ""},
	} {
		f, err := Parse(tc.text)
		var syntax *SyntaxError
		if ok := tc.want == ""; ok != (err == nil) || ok != (f != nil) ||
			!ok && (!errors.As(err, &syntax) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%.40s…: %v, want %q", tc.text, err, tc.want)
		}
	}
}

func TestNames(t *testing.T) {
	f := mustParse(t, "b = 1 AND (a IS NULL OR b = 2 OR CASEI(c) LIKE 'x') AND NOT S_INTERSECTS(g2, POINT(1 2)) AND "+
		"S_INTERSECTS(g1, POINT(1 2)) AND S_INTERSECTS(g1, POINT(1 2))")
	if got, want := f.Properties(), []string{"a", "b", "c"}; !reflect.DeepEqual(got, want) {
		t.Errorf("properties %q, want %q", got, want)
	}
	if got, want := f.Geometries(), []string{"g1", "g2"}; !reflect.DeepEqual(got, want) {
		t.Errorf("geometries %q, want %q", got, want)
	}
	f.Properties()[0] = "changed"
	if f.Properties()[0] != "a" {
		t.Error("what Properties returned belongs to the filter still")
	}
}

func TestArea(t *testing.T) {
	const small, large, across = "S_INTERSECTS(g, BBOX(1,1,2,2))", "S_INTERSECTS(g, BBOX(0,0,5,5))", "S_INTERSECTS(g, BBOX(179,0,-179,10))"
	for _, tc := range []struct {
		text string
		want quadkey.Box
		ok   bool
	}{
		{"a = 1", quadkey.Box{}, false},
		{small, quadkey.Box{West: 1, South: 1, East: 2, North: 2}, true},
		{large + " AND (a = 1 AND " + small + ")", quadkey.Box{West: 1, South: 1, East: 2, North: 2}, true},
		{large + " AND " + across, quadkey.Box{West: 179, South: 0, East: -179, North: 10}, true},
		{across + " AND " + small, quadkey.Box{West: 1, South: 1, East: 2, North: 2}, true},
		{small + " OR a = 1", quadkey.Box{}, false},
		{"NOT " + small, quadkey.Box{}, false},
		{"(" + small + " OR a = 1) AND b = 2", quadkey.Box{}, false},
	} {
		if got := mustParse(t, tc.text).Area(); (got != nil) != tc.ok || tc.ok && got != feature.Box(tc.want) {
			t.Errorf("%s: %v", tc.text, got)
		}
	}
	both := feature.And(mustParse(t, "a = 1").Test, mustParse(t, small).Test)
	if b := both.Area(); b == nil || b.(feature.Box).West != 1 {
		t.Errorf("a filter of two: %v", b)
	}
}

var oak = map[string]any{
	"name":   "Oak",
	"height": 12.5,
	"closed": false,
	"alive":  true,
	"no":     nil,
	"nan":    math.NaN(),
	"odd":    json.RawMessage(`["x",1]`),
	"empty":  json.RawMessage(`[]`),
	"id":     json.RawMessage("9007199254740993"),
	"at":     json.RawMessage(`{"city":"Bern","geo":{"lat":46.9},"tags":["x","y"],"zip":"nested","nothing":null}`), "at.zip": "flat",
	"planted": "1990-05-01",
	"seen":    "2026-01-31T12:00:00+01:00",
	"bad":     "2026-13-01",
	"greek":   "ΟΔΟΣ",
	"aaab":    "aaab",
	"percent": `50%\x`,
	"number":  "12",
}

// propertiesOf returns values as properties.
func propertiesOf(values map[string]any) feature.Properties {
	list := []feature.Property{}
	for name, v := range values {
		p := feature.Property{Name: name}
		switch v := v.(type) {
		case string:
			p.Value = feature.TextValue([]byte(v))
		case float64:
			p.Value = feature.NumberValue(v)
		case bool:
			p.Value = feature.BooleanValue(v)
		case json.RawMessage:
			p.Value = feature.JSONValue(v)
		}
		list = append(list, p)
	}
	return feature.PropertiesOf(list...)
}

func meetsBern(b quadkey.Box) bool { return b.Contains(7.4, 46.9) }

func TestMatch(t *testing.T) {
	for text, want := range map[string]feature.Truth{
		"name = 'Oak'":   feature.Yes,
		"name = 'oak'":   feature.No,
		"name <> 'oak'":  feature.Yes,
		"name < 'Oal'":   feature.Yes,
		"name >= 'P'":    feature.No,
		"height = 12.50": feature.Yes,
		"height > 12.5":  feature.No,
		"height >= 12.5": feature.Yes,
		"13 > height":    feature.Yes,
		"height <> 1":    feature.Yes,
		"closed = FALSE": feature.Yes, "closed <> FALSE": feature.No, "alive <> FALSE": feature.Yes, "TRUE": feature.Yes, "FALSE": feature.No,
		// An absent property makes the result unknown.
		"gone = 'x'":              feature.Unknown,
		"gone <> 'x'":             feature.Unknown,
		"no = 1":                  feature.Unknown,
		"NOT no = 1":              feature.Unknown,
		"no IN (1)":               feature.Unknown,
		"no LIKE '%'":             feature.Unknown,
		"no BETWEEN 1 AND 2":      feature.Unknown,
		"no > DATE('2026-01-01')": feature.Unknown,
		"CASEI(no) = 'x'":         feature.Unknown,
		"no IS NULL":              feature.Yes,
		"gone IS NULL":            feature.Yes,
		"name IS NULL":            feature.No,
		"name IS NOT NULL":        feature.Yes,
		"odd IS NULL":             feature.No,
		"no = 1 AND TRUE":         feature.Unknown,
		"no = 1 AND FALSE":        feature.No,
		"no = 1 OR TRUE":          feature.Yes,
		"no = 1 OR FALSE":         feature.Unknown,
		"NOT (no = 1 OR TRUE)":    feature.No,
		"FALSE OR no = 1 OR TRUE": feature.Yes, "TRUE AND no = 1 AND FALSE": feature.No,
		// The types differ.
		"name = 1":                  feature.Unknown,
		"name <> 1":                 feature.Unknown,
		"height = '12.5'":           feature.Unknown,
		"number = 12":               feature.Unknown,
		"closed = 'false'":          feature.Unknown,
		"height LIKE '1%'":          feature.Unknown,
		"CASEI(height) = 'x'":       feature.Unknown,
		"name = DATE('2026-01-01')": feature.Unknown,
		"name BETWEEN 1 AND 2":      feature.Unknown,
		"name IN (1)":               feature.Unknown, "name IN (1, 'Oak')": feature.Yes, "name IN (1, 'x')": feature.Unknown,
		// A list matches if one of its elements does.
		"odd = 'x'":         feature.Yes,
		"odd = 'y'":         feature.No,
		"odd <> 'y'":        feature.Yes,
		"odd <> 'x'":        feature.No,
		"odd = 1":           feature.Yes,
		"odd = 2":           feature.No,
		"odd IN ('y', 'x')": feature.Yes, "odd NOT IN ('y')": feature.Yes, "odd LIKE '_'": feature.Yes, "odd NOT LIKE 'y%'": feature.Yes,
		"CASEI(odd) = 'x'": feature.Yes, "odd = TRUE": feature.No, "odd < 'y'": feature.Unknown, "odd BETWEEN 0 AND 2": feature.Unknown,
		"empty = 'x'": feature.No, "empty <> 'x'": feature.Yes, "empty IS NULL": feature.No,
		"A_CONTAINS(odd, ('x', 1))":       feature.Yes,
		"A_CONTAINS(odd, ('x', 'y'))":     feature.No,
		"A_CONTAINS(odd, ())":             feature.Yes,
		"A_CONTAINS(gone, ('x'))":         feature.Unknown,
		"A_CONTAINEDBY(odd, (1, 2, 'x'))": feature.Yes,
		"A_CONTAINEDBY(odd, ('x'))":       feature.No,
		"A_CONTAINEDBY(empty, ())":        feature.Yes,
		"A_CONTAINS((1, 'x', 2), odd)":    feature.Yes,
		"A_CONTAINEDBY(('x'), odd)":       feature.Yes,
		"A_EQUALS(odd, (1, 'x', 1))":      feature.Yes,
		"A_EQUALS(odd, (1))":              feature.No,
		"A_EQUALS((), empty)":             feature.Yes,
		"A_OVERLAPS(odd, ('y', 1))":       feature.Yes,
		"A_OVERLAPS(odd, ('y'))":          feature.No,
		"NOT A_OVERLAPS(odd, ('y'))":      feature.Yes,
		"A_CONTAINS(name, ('Oak'))":       feature.Yes,
		// The name is that of a member of an object, unless a property has this name.
		"at.city = 'Bern'":      feature.Yes,
		"at.city <> 'Bern'":     feature.No,
		"at.geo.lat > 46":       feature.Yes,
		"at.gone = 1":           feature.Unknown,
		"at.gone IS NULL":       feature.Yes,
		"at.city.x = 1":         feature.Unknown,
		"at.tags = 'y'":         feature.Yes,
		"at.zip = 'flat'":       feature.Yes,
		"at.nothing IS NULL":    feature.Yes,
		"at = 'Bern'":           feature.Unknown,
		"at IS NULL":            feature.No,
		"id = 9007199254740993": feature.Yes, "id = 9007199254740992": feature.No,
		"nan = 1": feature.Unknown, "nan <> 1": feature.Unknown, "nan < 1": feature.Unknown, "nan IS NULL": feature.No,
		"name IN ('Ash', 'Oak')": feature.Yes, "name IN ('Ash')": feature.No, "name NOT IN ('Ash')": feature.Yes,
		"height BETWEEN 12.5 AND 13":                                                feature.Yes,
		"height BETWEEN 12 AND 12.5":                                                feature.Yes,
		"height BETWEEN 13 AND 12":                                                  feature.No,
		"height NOT BETWEEN 13 AND 14":                                              feature.Yes,
		"name BETWEEN 'A' AND 'P'":                                                  feature.Yes,
		"planted = DATE('1990-05-01')":                                              feature.Yes,
		"planted = TIMESTAMP('1990-05-01T02:00:00+02:00')":                          feature.Yes,
		"planted < DATE('1990-05-02')":                                              feature.Yes,
		"seen = TIMESTAMP('2026-01-31T11:00:00Z')":                                  feature.Yes,
		"seen > DATE('2026-01-31')":                                                 feature.Yes,
		"seen <= DATE('2026-01-31')":                                                feature.No,
		"seen BETWEEN DATE('2026-01-31') AND TIMESTAMP('2026-01-31T11:00:00.000Z')": feature.Yes,
		"seen = '2026-01-31T11:00:00Z'":                                             feature.No,
		"bad > DATE('1990-01-01')":                                                  feature.Unknown,
		"height > DATE('1990-01-01')":                                               feature.Unknown,
		"CASEI(name) = CASEI('OAK')":                                                feature.Yes,
		"CASEI(name) = 'OAK'":                                                       feature.No,
		"CASEI(name) = 'oak'":                                                       feature.Yes,
		"name = CASEI('OAK')":                                                       feature.No,
		"CASEI(name) < CASEI('OAKS')":                                               feature.Yes,
		"CASEI(name) > CASEI('OA')":                                                 feature.Yes,
		"CASEI(name) IN (CASEI('ASH'), CASEI('oAk'))":                               feature.Yes,
		"CASEI(greek) = CASEI('οδος')":                                              feature.Yes,
		"CASEI(greek) LIKE CASEI('_Δ%')":                                            feature.Yes,
		"CASEI(name) BETWEEN CASEI('O') AND CASEI('P')":                             feature.Yes,
		"name LIKE 'Oak'":                                                           feature.Yes,
		"name LIKE 'O%'":                                                            feature.Yes,
		"name LIKE 'O_'":                                                            feature.No,
		"name LIKE 'O__'":                                                           feature.Yes,
		"name LIKE '%'":                                                             feature.Yes,
		"name LIKE ''":                                                              feature.No,
		"name LIKE '%a%'":                                                           feature.Yes,
		"name LIKE '%%k'":                                                           feature.Yes,
		"aaab LIKE '%aab'":                                                          feature.Yes,
		"aaab LIKE 'a%a%ab'":                                                        feature.Yes,
		"aaab LIKE '%aba'":                                                          feature.No,
		"name LIKE '%a'":                                                            feature.No,
		"name LIKE 'o%'":                                                            feature.No,
		"CASEI(name) LIKE CASEI('O%')":                                              feature.Yes,
		`percent LIKE '50\%%'`:                                                      feature.Yes,
		`percent LIKE '__\_%'`:                                                      feature.No,
		`percent LIKE '%\\x'`:                                                       feature.Yes,
		`percent LIKE '%\x'`:                                                        feature.Yes,
		"greek LIKE '____'":                                                         feature.Yes,
		"S_INTERSECTS(g, BBOX(7,46,8,47))":                                          feature.Yes,
		"S_INTERSECTS(g, BBOX(8,46,9,47))":                                          feature.No,
		"NOT S_INTERSECTS(g, POINT(1 2))":                                           feature.Yes,
	} {
		f := mustParse(t, text)
		value := propertiesOf(oak)
		if got := truth(&f.Test, value, meetsBern); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
		compact := feature.CompactProperties(value.AppendMembers(nil))
		if got := passes(&f.Test, compact, meetsBern); got != (want == feature.Yes) && !strings.Contains(text, "nan") { // which is no JSON
			t.Errorf("%s of JSON: %v", text, got)
		}
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	f := mustParse(t, "CASEI(name) LIKE CASEI('%A%') AND height IN (1, 12.5) AND (gone = 1 OR seen > DATE('2026-01-01')) "+
		"AND S_INTERSECTS(g, POINT(7.4 46.9))").Expression(nil, nil, nil)
	values := map[string]any{"name": "Oak", "height": 12.5, "seen": "2026-01-31T12:00:00Z"}
	of := &feature.Feature{
		Position:   quadkey.Position{Lat: 46.9, Lon: 7.4},
		Properties: feature.CompactProperties(propertiesOf(values).AppendMembers(nil)),
	}
	if n := testing.AllocsPerRun(100, func() {
		if pass, err := f.Match(t.Context(), of); !pass || err != nil {
			t.Fatal("does not pass")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestEqual(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		want       bool
	}{
		{"name", "Oak", true}, {"name", "oak", false}, {"height", "12.5", true}, {"height", "12.50", true}, {"height", "0x1p3", false},
		{"height", "inf", false}, {"height", "1e999", false}, {"nan", "NaN", false}, {"closed", "false", true}, {"closed", "true", false},
		{"closed", "0", false}, {"number", "12", true}, {"number", "12.0", false}, {"no", "", false}, {"gone", "null", false},
		{"planted", "1990-05-01", true}, {"percent", `50%\x`, true},
	} {
		f := EqualTest(tc.name, tc.text)
		if got := passes(&f, propertiesOf(oak), nil); got != tc.want {
			t.Errorf("%s=%s: %v", tc.name, tc.text, got)
		}
	}
	if equal, want := EqualTest("a b", "12"), mustParse(t, `"a b" IN ('12', 12)`); told(&equal) != told(&want.Test) {
		t.Errorf("%+v, want %+v", equal, want)
	}
}
