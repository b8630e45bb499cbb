package cql2

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"unicode"

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

func TestParse(t *testing.T) {
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
		{"a NOT BETWEEN DATE('2026-01-01') AND TIMESTAMP('2026-01-31T12:00:00Z')", "NOT a BETWEEN DATE('2026-01-01') AND TIMESTAMP('2026-01-31T12:00:00Z')"},
		{"a is null", "a IS NULL"},
		{"a IS NOT NULL", "NOT a IS NULL"},
		{`a LIKE '50\%_%'`, `a LIKE '50\%_%'`},
		{"a NOT LIKE 'x'", "NOT a LIKE 'x'"},
		{"casei(a) = CASEI('ÄÖ')", "CASEI(a) = CASEI('äö')"},
		{"CASEI(a) LIKE casei('O%') OR CASEI(\"a\") IN (CASEI('A'), 'b')", "CASEI(a) LIKE CASEI('o%') OR CASEI(a) IN (CASEI('a'), 'b')"},
		{"casei = 1 AND point = 2", "casei = 1 AND point = 2"},
		{"s_intersects(geom, bbox(170,-10,-170,10))", "S_INTERSECTS(geom, BBOX(170,-10,-170,10))"},
		{"S_INTERSECTS(ENVELOPE ( 1 , 2 , 3 , 4 ), \"a geom\")", "S_INTERSECTS(\"a geom\", BBOX(1,2,3,4))"},
		{"S_INTERSECTS(geom, POINT(7.5 -47))", "S_INTERSECTS(geom, BBOX(7.5,-47,7.5,-47))"},
		{"S_INTERSECTS(geom, POLYGON((1 2, 3 2, 3 4, 1 4, 1 2)))", "S_INTERSECTS(geom, BBOX(1,2,3,4))"},
		{"S_INTERSECTS(geom, POLYGON((3 4, 3 2, 1 2, 1 4, 3 4)))", "S_INTERSECTS(geom, BBOX(1,2,3,4))"},
	} {
		f := mustParse(t, tc.text)
		if got := f.String(); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.text, got, tc.want)
		}
		if again := mustParse(t, tc.want); !reflect.DeepEqual(again, f) && tc.text != `"name" = 1` {
			t.Errorf("%s: %+v, again %+v", tc.text, f, again)
		}
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
		{"S_WITHIN(geom, BBOX(1,2,3,4))", 0, "S_INTERSECTS"},
		{"T_AFTER(a, DATE('2026-01-01'))", 0, "compare with DATE"},
		{"A_CONTAINS(a, b)", 0, "IN"},
		{"BBOX(1,2,3,4)", 0, "within S_INTERSECTS"},
		{"S_INTERSECTS(geom)", 17, "comma"},
		{"S_INTERSECTS(a, b)", 17, "one box"},
		{"S_INTERSECTS(POINT(1 2), POINT(1 2))", 35, "one box"},
		{"S_INTERSECTS(geom, 'x')", 19, "a box, such as"},
		{"S_INTERSECTS(geom, BBOX(1,2,3,4)", 32, "close S_INTERSECTS"},
		{"S_INTERSECTS(geom, BBOX(1,2,3))", 29, "commas between"},
		{"S_INTERSECTS(geom, BBOX(1,2,0,3,4,0))", 31, "without heights"},
		{"S_INTERSECTS(geom, BBOX(1,2,x,4))", 28, "x is no number"},
		{"S_INTERSECTS(geom, BBOX(1,4,3,2))", 19, "exchange them"},
		{"S_INTERSECTS(geom, BBOX(170,0,190,2))", 19, "west greater than east"},
		{"S_INTERSECTS(geom, POINT(1 2 3))", 29, "without heights"},
		{"S_INTERSECTS(geom, POLYGON((0 0, 1 0, 1 1, 0 0)))", 19, "no rectangle"},
		{"S_INTERSECTS(geom, POLYGON((0 0, 1 0, 0 0, 0 1, 0 0)))", 19, "no rectangle"},
		{"S_INTERSECTS(geom, POLYGON((0 0, 1 0, 1 1, 0 1, 0 0), (0 0, 1 0, 1 1, 0 1, 0 0)))", 19, "without holes"},
		{"S_INTERSECTS(geom, POLYGON((0 0, 1 0, 1 1, 0 2, 0 0)))", 19, "no rectangle"},
		{"S_INTERSECTS(geom, POLYGON((0 0, 1 0, 1 1, 0 1, 0 0.5)))", 19, "no rectangle"},
		{"S_INTERSECTS(geom, POLYGON((0 0, 1 0, 1 1, 0 1, 0 1, 0 0)))", 19, "no rectangle"},
		{"S_INTERSECTS(geom, POLYGON(0 0))", 27, "write POLYGON(("},
		{"S_INTERSECTS(geom, LINESTRING(0 0, 1 1))", 19, "LINESTRING is no box; write BBOX"},
		{"S_INTERSECTS(geom, CIRCLE(0 0, 1 1))", 19, "CIRCLE is no geometry; write BBOX"},
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
		{"a = '" + strings.Repeat("x", MaxBytes-6) + "'", ""},
		{"a = '" + strings.Repeat("x", MaxBytes-5) + "'", "10001 bytes; give at most 10000"},
		{"a LIKE '" + strings.Repeat("ä_", 500) + "'", ""},
		{"a LIKE '" + strings.Repeat("x", 500) + "' OR a LIKE '" + strings.Repeat("x", 501) + "'", "the patterns of LIKE have more than 1000"},
		{"a = '" + strings.Repeat("\\'", 4990) + "'", ""},
	} {
		f, err := Parse(tc.text)
		var syntax *SyntaxError
		if ok := tc.want == ""; ok != (err == nil) || ok != (f != nil) || !ok && (!errors.As(err, &syntax) || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%.40s…: %v, want %q", tc.text, err, tc.want)
		}
	}
}

func TestNames(t *testing.T) {
	f := mustParse(t, "b = 1 AND (a IS NULL OR b = 2 OR CASEI(c) LIKE 'x') AND NOT S_INTERSECTS(g2, POINT(1 2)) AND S_INTERSECTS(g1, POINT(1 2)) AND S_INTERSECTS(g1, POINT(1 2))")
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

func TestBox(t *testing.T) {
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
		if got, ok := mustParse(t, tc.text).Box(); got != tc.want || ok != tc.ok {
			t.Errorf("%s: %v, %v", tc.text, got, ok)
		}
	}
	if b, ok := And(mustParse(t, "a = 1"), mustParse(t, small)).Box(); !ok || b.West != 1 {
		t.Errorf("a filter of two: %v, %v", b, ok)
	}
}

var oak = map[string]any{
	"name": "Oak", "height": 12.5, "closed": false, "alive": true, "no": nil, "nan": math.NaN(), "odd": []string{"x"},
	"planted": "1990-05-01", "seen": "2026-01-31T12:00:00+01:00", "bad": "2026-13-01", "greek": "ΟΔΟΣ", "aaab": "aaab", "percent": `50%\x`, "number": "12",
}

func meetsBern(b quadkey.Box) bool { return b.Contains(7.4, 46.9) }

func TestMatch(t *testing.T) {
	for text, want := range map[string]truth{
		"name = 'Oak'": yes, "name = 'oak'": no, "name <> 'oak'": yes, "name < 'Oal'": yes, "name >= 'P'": no,
		"height = 12.50": yes, "height > 12.5": no, "height >= 12.5": yes, "13 > height": yes, "height <> 1": yes,
		"closed = FALSE": yes, "closed <> FALSE": no, "alive <> FALSE": yes, "TRUE": yes, "FALSE": no,
		// Nothing is known of what is absent.
		"gone = 'x'": unknown, "gone <> 'x'": unknown, "no = 1": unknown, "NOT no = 1": unknown, "no IN (1)": unknown,
		"no LIKE '%'": unknown, "no BETWEEN 1 AND 2": unknown, "no > DATE('2026-01-01')": unknown, "CASEI(no) = 'x'": unknown,
		"no IS NULL": yes, "gone IS NULL": yes, "name IS NULL": no, "name IS NOT NULL": yes, "odd IS NULL": no,
		"no = 1 AND TRUE": unknown, "no = 1 AND FALSE": no, "no = 1 OR TRUE": yes, "no = 1 OR FALSE": unknown, "NOT (no = 1 OR TRUE)": no,
		"FALSE OR no = 1 OR TRUE": yes, "TRUE AND no = 1 AND FALSE": no,
		// Types differ.
		"name = 1": unknown, "name <> 1": unknown, "height = '12.5'": unknown, "number = 12": unknown, "closed = 'false'": unknown,
		"height LIKE '1%'": unknown, "CASEI(height) = 'x'": unknown, "name = DATE('2026-01-01')": unknown, "name BETWEEN 1 AND 2": unknown,
		"name IN (1)": unknown, "name IN (1, 'Oak')": yes, "name IN (1, 'x')": unknown, "odd = 'x'": unknown,
		"nan = 1": unknown, "nan <> 1": unknown, "nan < 1": unknown, "nan IS NULL": no,
		"name IN ('Ash', 'Oak')": yes, "name IN ('Ash')": no, "name NOT IN ('Ash')": yes,
		"height BETWEEN 12.5 AND 13": yes, "height BETWEEN 12 AND 12.5": yes, "height BETWEEN 13 AND 12": no, "height NOT BETWEEN 13 AND 14": yes, "name BETWEEN 'A' AND 'P'": yes,
		"planted = DATE('1990-05-01')": yes, "planted = TIMESTAMP('1990-05-01T02:00:00+02:00')": yes, "planted < DATE('1990-05-02')": yes,
		"seen = TIMESTAMP('2026-01-31T11:00:00Z')": yes, "seen > DATE('2026-01-31')": yes, "seen <= DATE('2026-01-31')": no,
		"seen BETWEEN DATE('2026-01-31') AND TIMESTAMP('2026-01-31T11:00:00.000Z')": yes,
		"seen = '2026-01-31T11:00:00Z'":                                             no, "bad > DATE('1990-01-01')": unknown, "height > DATE('1990-01-01')": unknown,
		"CASEI(name) = CASEI('OAK')": yes, "CASEI(name) = 'OAK'": no, "CASEI(name) = 'oak'": yes, "name = CASEI('OAK')": no,
		"CASEI(name) < CASEI('OAKS')": yes, "CASEI(name) > CASEI('OA')": yes, "CASEI(name) IN (CASEI('ASH'), CASEI('oAk'))": yes,
		"CASEI(greek) = CASEI('οδος')": yes, "CASEI(greek) LIKE CASEI('_Δ%')": yes, "CASEI(name) BETWEEN CASEI('O') AND CASEI('P')": yes,
		"name LIKE 'Oak'": yes, "name LIKE 'O%'": yes, "name LIKE 'O_'": no, "name LIKE 'O__'": yes, "name LIKE '%'": yes, "name LIKE ''": no,
		"name LIKE '%a%'": yes, "name LIKE '%%k'": yes, "aaab LIKE '%aab'": yes, "aaab LIKE 'a%a%ab'": yes, "aaab LIKE '%aba'": no, "name LIKE '%a'": no, "name LIKE 'o%'": no, "CASEI(name) LIKE CASEI('O%')": yes,
		`percent LIKE '50\%%'`: yes, `percent LIKE '__\_%'`: no, `percent LIKE '%\\x'`: yes, `percent LIKE '%\x'`: yes, "greek LIKE '____'": yes,
		"S_INTERSECTS(g, BBOX(7,46,8,47))": yes, "S_INTERSECTS(g, BBOX(8,46,9,47))": no, "NOT S_INTERSECTS(g, POINT(1 2))": yes,
	} {
		f := mustParse(t, text)
		value := func(name string) any { return oak[name] }
		if got := f.root.eval(value, meetsBern); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
		if got := f.eval(value, meetsBern); got != (want == yes) {
			t.Errorf("%s: %v", text, got)
		}
	}
}

func TestMatchDoesNotAllocate(t *testing.T) {
	f := mustParse(t, "CASEI(name) LIKE CASEI('%A%') AND height IN (1, 12.5) AND (gone = 1 OR seen > DATE('2026-01-01')) AND S_INTERSECTS(g, POINT(7.4 46.9))")
	values := map[string]any{"name": "Oak", "height": 12.5, "seen": "2026-01-31T12:00:00Z"}
	value := func(name string) any { return values[name] }
	if n := testing.AllocsPerRun(100, func() {
		if !f.eval(value, meetsBern) {
			t.Fatal("does not pass")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestAnd(t *testing.T) {
	a, b := mustParse(t, "a = 1 OR b = 2"), mustParse(t, "c = 3 AND d = 4")
	for _, tc := range []struct {
		all  []*Filter
		want string
	}{
		{nil, "TRUE"},
		{[]*Filter{nil}, "TRUE"},
		{[]*Filter{a, nil}, "a = 1 OR b = 2"},
		{[]*Filter{a, b, b}, "(a = 1 OR b = 2) AND c = 3 AND d = 4 AND c = 3 AND d = 4"},
	} {
		if got := And(tc.all...).String(); got != tc.want {
			t.Errorf("%s, want %s", got, tc.want)
		}
	}
	if got := And(a, b).Properties(); !reflect.DeepEqual(got, []string{"a", "b", "c", "d"}) {
		t.Errorf("properties %q", got)
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
		f := Equal(tc.name, tc.text)
		if got := f.eval(func(name string) any { return oak[name] }, nil); got != tc.want {
			t.Errorf("%s=%s: %v", tc.name, tc.text, got)
		}
		if again := mustParse(t, f.String()); again.String() != f.String() {
			t.Errorf("%s, again %s", f, again)
		}
	}
	if got := Equal("a b", "12").String(); got != `"a b" IN ('12', 12)` {
		t.Error(got)
	}
}

// TestFold: what differs in case only has one fold, and a fold is its own.
func TestFold(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		fold := foldRune(r)
		if foldRune(fold) != fold {
			t.Errorf("%U folds to %U, and that to %U", r, fold, foldRune(fold))
		}
		if other := unicode.SimpleFold(r); foldRune(other) != fold {
			t.Errorf("%U folds to %U, but %U to %U", r, fold, other, foldRune(other))
		}
	}
}
