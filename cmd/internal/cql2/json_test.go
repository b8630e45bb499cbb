package cql2

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// both forms of a filter: as text and as JSON.
type forms struct{ text, json string }

func quoteJSON(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// call returns an operation.
func call(op string, args ...string) string {
	return `{"op":"` + op + `","args":[` + strings.Join(args, ",") + `]}`
}

func formsOfProperty(t *rapid.T) forms {
	name := rapid.SampledFrom([]string{"name", "a b", "AND", "x.y", `q"q`, "ß", "DATE"}).Draw(t, "property")
	return forms{`"` + strings.ReplaceAll(name, `"`, `""`) + `"`, `{"property":` + quoteJSON(name) + `}`}
}

func formsOfText(t *rapid.T) forms {
	text := rapid.SampledFrom([]string{"", "Oak", "it's", "100%", "a_b", "(", "x AND y", "é\u2028"}).Draw(t, "text")
	return forms{quote(text), quoteJSON(text)}
}

func formsOfValue(t *rapid.T) forms {
	switch rapid.IntRange(0, 3).Draw(t, "kind of value") {
	case 0:
		n := rapid.SampledFrom([]string{"0", "-1.5e3", "12345678901234567890", "0.10", "1E2"}).Draw(t, "number")
		return forms{n, n}
	case 1:
		return forms{"DATE('2026-01-31')", `{"date":"2026-01-31"}`}
	case 2:
		return forms{"TIMESTAMP('2026-01-31T12:00:00Z')", `{"timestamp":"2026-01-31T12:00:00Z"}`}
	}
	return formsOfText(t)
}

var shapes = []forms{
	{"POINT(8 47)", `{"type":"Point","coordinates":[8,47]}`},
	{"LINESTRING(8 47, 9.5 48, -1e1 4)", `{"type":"LineString","coordinates":[[8,47],[9.5,48],[-1e1,4]]}`},
	{"POLYGON((8 47, 9 47, 9 48, 8 47), (8.5 47.1, 8.6 47.1, 8.6 47.2, 8.5 47.1))",
		`{"coordinates":[[[8,47],[9,47],[9,48],[8,47]],[[8.5,47.1],[8.6,47.1],[8.6,47.2],[8.5,47.1]]],"type":"Polygon"}`},
	{"MULTIPOINT(1 2, 3 4)", `{"type":"MultiPoint","coordinates":[[1,2],[3,4]]}`},
	{"MULTILINESTRING((1 2, 3 4), (5 6, 7 8))", `{"type":"MultiLineString","coordinates":[[[1,2],[3,4]],[[5,6],[7,8]]]}`},
	{"MULTIPOLYGON(((1 2, 3 2, 3 4, 1 2)))", `{"type":"MultiPolygon","coordinates":[[[[1,2],[3,2],[3,4],[1,2]]]]}`},
	{"GEOMETRYCOLLECTION(POINT(1 2), LINESTRING(1 2, 3 4))",
		`{"type":"GeometryCollection","geometries":[{"type":"Point","coordinates":[1,2]},{"type":"LineString","coordinates":[[1,2],[3,4]]}]}`},
	{"BBOX(170, -20, -170, 20)", `{"bbox":[170,-20,-170,20]}`},
}

// formsOf draws a filter.
func formsOf(t *rapid.T, depth int) forms {
	most := 10
	if depth == 0 {
		most = 7
	}
	p := formsOfProperty(t)
	switch rapid.IntRange(0, most).Draw(t, "operation") {
	case 0:
		return forms{p.text + " IS NULL", call("isNull", p.json)}
	case 1:
		a, b := formsOfText(t), formsOfText(t)
		return forms{p.text + " BETWEEN " + a.text + " AND " + b.text, call("between", p.json, a.json, b.json)}
	case 2:
		v := formsOfText(t)
		return forms{"CASEI(" + p.text + ") LIKE CASEI(" + v.text + ")", call("like", call("casei", p.json), call("casei", v.json))}
	case 3:
		var list []forms
		for range rapid.IntRange(1, 4).Draw(t, "values") {
			list = append(list, formsOfValue(t))
		}
		texts, jsons := parts(list)
		return forms{p.text + " IN (" + strings.Join(texts, ",") + ")", call("in", p.json, "["+strings.Join(jsons, ",")+"]")}
	case 4:
		op := rapid.SampledFrom([]string{"a_contains", "a_containedBy", "a_equals", "a_overlaps"}).Draw(t, "of lists")
		a, b := formsOfValue(t), formsOfValue(t)
		return forms{strings.ToUpper(op) + "(" + p.text + ", (" + a.text + "," + b.text + "))", call(op, p.json, "["+a.json+","+b.json+"]")}
	case 5:
		op := rapid.SampledFrom([]string{"s_intersects", "s_disjoint", "s_within"}).Draw(t, "of space")
		g := rapid.SampledFrom(shapes).Draw(t, "geometry")
		return forms{strings.ToUpper(op) + "(geometry, " + g.text + ")", call(op, `{"property":"geometry"}`, g.json)}
	case 6:
		g := rapid.SampledFrom(shapes).Draw(t, "geometry")
		return forms{"S_DWITHIN(geometry, " + g.text + ", 2.5, km)", call("s_dwithin", `{"property":"geometry"}`, g.json, "2.5", `"km"`)}
	case 8:
		kid := formsOf(t, depth-1)
		return forms{"NOT (" + kid.text + ")", call("not", kid.json)}
	case 9, 10:
		op := rapid.SampledFrom([]string{"and", "or"}).Draw(t, "join")
		var list []forms
		for range rapid.IntRange(2, 4).Draw(t, "kids") {
			list = append(list, formsOf(t, depth-1))
		}
		texts, jsons := parts(list)
		return forms{"((" + strings.Join(texts, ") "+op+" (") + "))", call(op, jsons...)}
	}
	op := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">="}).Draw(t, "sign")
	v := formsOfValue(t)
	if rapid.Bool().Draw(t, "mirrored") {
		return forms{v.text + op + p.text, call(op, v.json, p.json)}
	}
	return forms{p.text + op + v.text, call(op, p.json, v.json)}
}

func parts(list []forms) (texts, jsons []string) {
	for _, f := range list {
		texts, jsons = append(texts, f.text), append(jsons, f.json)
	}
	return texts, jsons
}

// A filter in JSON is the same as in text, and both are refused if one is.
func TestJSONIsText(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		of := formsOf(t, 3)
		want, err := Parse(of.text)
		got, other := ParseJSON(of.json)
		if (err == nil) != (other == nil) {
			t.Fatalf("%s: %v\n%s: %v", of.text, err, of.json, other)
		}
		if err != nil {
			return
		}
		taken++
		if told(&got.Test) != told(&want.Test) || !slices.Equal(got.Geometries(), want.Geometries()) {
			t.Fatalf("%s is not %s", of.json, of.text)
		}
	})
	if taken < 10 {
		t.Errorf("only %d filters can be used", taken)
	}
}

// What is no filter is refused, with advice and its place.
func TestJSONRefused(t *testing.T) {
	const a, b = `{"property":"a"}`, `{"property":"b"}`
	deep := strings.Repeat(`{"op":"not","args":[`, 105) + call("=", a, "1") + strings.Repeat(`]}`, 105)
	for text, want := range map[string]string{
		"":                                  "no JSON",
		"name = 'Oak'":                      "no JSON",
		`{"op":"=","args":[` + a + `,1]`:    "no JSON",
		`{"op":"=","args":[` + a + `,1]} 1`: "something follows",
		`[]`:                                "a list is not expected",
		`1`:                                 "no comparison",
		`null`:                              "nothing equals NULL",
		a:                                   "is not expected after the property",
		`{}`:                                "an object is none of",
		`{"op":"=","args":` + a + `}`:       "an object is none of",
		`{"op":"=","args":[],"x":1}`:        "an object is none of",
		`{"op":"=","op":"<","args":[]}`:     "twice",
		call("="):                           "2",
		call("=", a):                        "2",
		call("=", a, b):                     "two properties",
		call("=", a, "null"):                "nothing equals NULL",
		call("=", a, "1e999"):               "too large",
		call("=", a, call("+", b, "1")):     "not offered",
		call("=", a, call("=", b, "1")):     "two properties",
		call("=", call("not", call("=", a, "1")), "2"): "not expected here",
		call("and"):                    "has 0 arguments",
		call("and", a):                 "not expected after",
		call("not"):                    "has 0 arguments",
		call("between", a, "1"):        "has 2 arguments",
		call("between", a, "1", "[2]"): "a list is not expected",
		call("in", a, "1"):             "a list must stand here",
		call("in", a, "[[1]]"):         "a list is not expected",
		call("like", a, "1"):           "LIKE takes a pattern",
		call("accenti", a):             "CASEI",
		call("isnull", a):              "not offered",
		call("t_before", a, `{"interval":["..","2020-01-01"]}`):                        "DATE",
		call("=", a, `{"date":"31.1.2026"}`):                                           "none of DATE",
		call("s_intersects", a, `{"type":"Circle","coordinates":[1,2]}`):               "no geometry",
		call("s_intersects", a, `{"type":"Point","coordinates":[1,2,3]}`):              "without heights",
		call("s_intersects", a, `{"type":"Point","coordinates":[]}`):                   "a position must stand here",
		call("s_intersects", a, `{"type":"Point"}`):                                    "a position must stand here",
		call("s_intersects", a, `{"type":"LineString","coordinates":[[1,2],[3,"4"]]}`): "a position must stand here",
		call("s_intersects", a, `{"type":"Polygon","coordinates":[[1,2],[3,4]]}`):      "write WKT",
		call("s_intersects", a, `{"type":"GeometryCollection","geometries":[1]}`):      "no geometry",
		call("s_intersects", a, `{"bbox":[1,2,3]}`):                                    "commas between numbers",
		call("s_crosses", a, `{"bbox":[1,2,3,4]}`):                                     "S_INTERSECTS",
		call("s_dwithin", a, `{"bbox":[1,2,3,4]}`):                                     "has 2 arguments",
		call("s_dwithin", a, `{"bbox":[1,2,3,4]}`, "5", `"miles"`):                     "no unit",
		deep:                      "within each other",
		strings.Repeat("[", 9000): "within each other",
		call("in", a, "["+strings.Repeat("1,", 1500)+"1]"):     "more than 1000",
		call("=", a, quoteJSON(strings.Repeat("x", MaxBytes))): "bytes",
		`{"op":"=","args":[{"property":""},1]}`:                "an object is none of",
		"{\"op\":\"=\",\"args\":[{\"property\":\"\xff\"},1]}":  "not UTF-8",
	} {
		f, err := ParseJSON(text)
		var syntax *SyntaxError
		if f != nil || !errors.As(err, &syntax) || !strings.Contains(syntax.Message, want) || syntax.Offset < 0 ||
			syntax.Offset > max(len(text), MaxBytes) {
			t.Errorf("%.80s: %v, want %q", text, err, want)
		}
	}
	// Places are those of the JSON.
	text := call("and", call("=", a, "1"), call("like", b, "7"))
	var syntax *SyntaxError
	if _, err := ParseJSON(text); !errors.As(err, &syntax) || syntax.Offset != strings.Index(text, "7")+1 {
		t.Errorf("%s: %v", text, err)
	}
}

func FuzzParseJSON(f *testing.F) {
	for _, g := range shapes {
		f.Add(call("s_within", `{"property":"geometry"}`, g.json))
	}
	f.Add(call("and", call("not", call("in", `{"property":"a"}`, `["x",1,true]`)), call("<", `{"date":"2020-01-01"}`, `{"property":"b"}`)))
	f.Fuzz(func(t *testing.T, s string) {
		filter, err := ParseJSON(s)
		var syntax *SyntaxError
		if (filter == nil) != errors.As(err, &syntax) || filter != nil && fmt.Sprint(told(&filter.Test)) == "" {
			t.Fatalf("%q: %v, %v", s, filter, err)
		}
		if syntax != nil && (syntax.Offset < 0 || syntax.Offset > len(s)) {
			t.Fatalf("%q: %v", s, err)
		}
	})
}
