package feature

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"quadrille/internal/must"
	"quadrille/internal/testrace"
)

func compact(t testing.TB, object string) []byte {
	t.Helper()
	out, err := AppendProperties(nil, []byte(object))
	if err != nil {
		t.Fatalf("%s: %v", object, err)
	}
	return out
}

func TestAppendProperties(t *testing.T) {
	for in, want := range map[string]string{
		"null":                               `{}`,
		" {\n} ":                             `{}`,
		`{"a" : 1 , "b":[ ], "c":{}}`:        `{"a":1,"b":[],"c":{}}`,
		`{"a":[1, {"x" : null},true,false]}`: `{"a":[1,{"x":null},true,false]}`,
		`{"\u0061":"\/ \n \u00e9 \ud83d\ude00 é"}`:                   "{\"a\":\"/ \\u000a é 😀 é\"}",
		`{"a":"<b>&\u2028"}`:                                         `{"a":"\u003cb\u003e\u0026\u2028"}`,
		`{"a":"\ud800","b":"\ud800\u0041","c":"\udc00\ud83d\ude00"}`: "{\"a\":\"\ufffd\",\"b\":\"\ufffdA\",\"c\":\"\ufffd😀\"}",
		`{"a":"say \"hi\" \\"}`:                                      `{"a":"say \"hi\" \\"}`,
	} {
		got, err := AppendProperties([]byte("x"), []byte(in))
		if err != nil || string(got) != "x"+want {
			t.Errorf("%s: %s, %v, want %s", in, got, err, want)
		}
	}
}

func TestNumbersHaveOneForm(t *testing.T) {
	for in, want := range map[string]string{
		"0":                               "0",
		"-0":                              "0",
		"-0.0e5":                          "0",
		"0e99999999999999999999":          "0",
		"1":                               "1",
		"-1":                              "-1",
		"1.0":                             "1",
		"1.50":                            "1.5",
		"1e3":                             "1000",
		"1E+3":                            "1000",
		"12.5e1":                          "125",
		"12.5e-1":                         "1.25",
		"0.1":                             "0.1",
		"0.0001":                          "0.0001",
		"1e-7":                            "0.0000001",
		"1e-8":                            "1e-8",
		"-12e-9":                          "-1.2e-8",
		"100000000000000000000":           "100000000000000000000",
		"1e20":                            "100000000000000000000",
		"1e21":                            "1e21",
		"123e20":                          "1.23e22",
		"1000":                            "1000",
		"1200.50":                         "1200.5",
		"9007199254740993":                "9007199254740993",
		"18446744073709551615":            "18446744073709551615",
		"0.10000000000000000000000000001": "0.10000000000000000000000000001",
		"1.7976931348623157e308":          "1.7976931348623157e308", "5e-324": "5e-324",
	} {
		if got := string(compact(t, `{"n":`+in+`}`)); got != `{"n":`+want+`}` {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func many(n int, member string) string {
	var b strings.Builder
	for i := range n {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, member, i)
	}
	return b.String()
}

func TestBadProperties(t *testing.T) {
	for in, want := range map[string]string{
		" ":                                     "JSON object",
		"[]":                                    "JSON object",
		"1":                                     "JSON object",
		`{"a":1} x`:                             "the end",
		`{"a":1,}`:                              "name in quotation marks",
		`{"a":01}`:                              "a value",
		`{"a":+1}`:                              "a value",
		`{"a":.5}`:                              "a value",
		`{"a":5.}`:                              "a value",
		`{"a":NaN}`:                             "a value",
		`{"a":[1,]}`:                            "a value",
		`{"a":[1}`:                              "comma or ]",
		`{"a" 1}`:                               "colon",
		`{"a":1e400}`:                           "float64",
		`{"a":1e-400}`:                          "float64",
		`{"a":1e309}`:                           "float64",
		`{"a":"` + "\n" + `"}`:                  "line break",
		`{"a":"\x"}`:                            "escape",
		`{"a":"\u12"}`:                          "escape",
		`{"a":"`:                                "quotation mark",
		`{"a":"\"}`:                             "quotation mark",
		"{\"a\":\"\xff\"}":                      "UTF-8",
		"{\"\xc3\":1}":                          "UTF-8",
		`{"a":1,"b":2,"\u0061":3}`:              `two members named "a"`,
		`{"o":{"x":1,"x":2}}`:                   `two members named "x"`,
		`{"":1}`:                                "without a name",
		`{"a\nb":1}`:                            "control character",
		`{"a\u0085b":1}`:                        "control character",
		`{"` + strings.Repeat("é", 65) + `":1}`: "longer than 128",
		`{` + many(257, `"%d":1`) + `}`:         "256 members",
		`{` + many(50, `"%d":1`) + `,"7":1}`:    `two members named "7"`,
		`{"o":{` + many(50, `"%d":1`) + `,"40":1}}`:                       `two members named "40"`,
		`{"a":` + strings.Repeat("[", 32) + strings.Repeat("]", 32) + `}`: "nested deeper than 32",
		`{"a":"` + strings.Repeat("x", 65530) + `"}`:                      "65536 bytes",
		`{"a":[` + strings.Repeat("1,", 40000) + `1]}`:                    "65536 bytes",
		`{"a":` + strings.Repeat("[", 1<<20):                              "nested deeper than 32",
		`{"a":` + strings.Repeat("1", 1<<20) + `}`:                        "digits",
	} {
		out, err := AppendProperties([]byte("x"), []byte(in))
		if !errors.Is(err, ErrProperties) || !strings.Contains(err.Error(), want) || string(out) != "x" {
			t.Errorf("%.60s: %v, want %s", in, err, want)
		}
		if err != nil && (len(err.Error()) > 300 || !utf8.ValidString(err.Error())) {
			t.Errorf("%.60s: error %q", in, err)
		}
	}
	for _, in := range []string{
		`{` + many(256, `"%d":1`) + `}`,
		`{"a":` + strings.Repeat("[", 31) + strings.Repeat("]", 31) + `}`,
		`{"` + strings.Repeat("é", 64) + `":1}`,
		`{"a":"` + strings.Repeat("x", 65536-8) + `"}`,
		`{"o":{"":1,"` + strings.Repeat("x", 200) + `":2},"p":{"":3}}`,
	} {
		if _, err := AppendProperties(nil, []byte(in)); err != nil {
			t.Errorf("%.60s: %v", in, err)
		}
	}
}

// decode is the reference. It uses encoding/json and keeps the spelling of numbers.
func decode(t interface {
	Helper()
	Fatalf(string, ...any)
}, object []byte) (v map[string]any) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Helper()
		t.Fatalf("%s: %v", object, err)
	}
	return v
}

// sameJSON compares decoded values, numbers by value.
func sameJSON(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		if !ok {
			return false
		}
		x, err1 := a.Float64()
		y, err2 := b.Float64()
		return x == y && err1 == nil && err2 == nil
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			if other, ok := b[k]; !ok || !sameJSON(v, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !sameJSON(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(a, b)
}

func FuzzAppendProperties(f *testing.F) {
	for _, s := range []string{"null", "{}", `{"a":1.50e3,"b":"x\u00e9\n","c":[true,{"d":null}]}`, `{"a":"\ud83d\ude00\ud800"}`,
		`{"n":-0.0,"m":1e-9,"o":123456789012345678901234}`, `{"a":1,"a":2}`, `{"<":"&\u2028"}`, `{",\":":{"\\":"\\\""}}`} {
		f.Add([]byte(s))
	}
	f.Add([]byte(nil))
	f.Fuzz(func(t *testing.T, in []byte) {
		out, err := AppendProperties(nil, in)
		if len(in) == 0 { // nothing is an object without members, as null is
			if err != nil || string(out) != "{}" {
				t.Fatalf("nothing became %q, %v", out, err)
			}
			return
		}
		if err != nil {
			if !errors.Is(err, ErrProperties) || len(out) != 0 {
				t.Fatalf("%q: %v", in, err)
			}
			return
		}
		if !json.Valid(in) || !json.Valid(out) || !utf8.Valid(out) || len(out) > MaxPropertiesBytes {
			t.Fatalf("%q became %q", in, out)
		}
		again, err := AppendProperties(nil, out)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("%q became %q, then %q, %v", in, out, again, err)
		}
		var minified bytes.Buffer
		if err := json.Compact(&minified, out); err != nil || !bytes.Equal(minified.Bytes(), out) {
			t.Fatalf("%q is not compact: %v", out, err)
		}
		was, is := decode(t, in), decode(t, out)
		if !sameJSON(was, is) && string(bytes.TrimSpace(in)) != "null" {
			t.Fatalf("%q became %q", in, out)
		}
		n := 0
		for name, value := range Members(out) {
			n++
			found, ok := Member(out, string(TextOf(name)))
			if !ok || !bytes.Equal(found, value) || !json.Valid(value) {
				t.Fatalf("%q: member %s is %q, %v", out, name, found, ok)
			}
		}
		if n != len(is) {
			t.Fatalf("%q: %d members", out, n)
		}
	})
}

// FuzzBrokenObject tests that input that is no compact object gives wrong answers at worst, and no
// panic.
func FuzzBrokenObject(f *testing.F) {
	f.Add([]byte(`{"a":"x\`), "a")
	f.Add([]byte(`{"a":[1,{"b":`), "b")
	f.Add([]byte(`{"a":,"b":[,,]}`), "b")
	f.Fuzz(func(t *testing.T, object []byte, name string) {
		Member(object, name)
		for _, v := range CompactProperties(object[min(1, len(object)):]).All() {
			v.decoded().AppendJSON([]byte(v.Text()))
		}
		s := Schema{{Name: name, Kind: Texts}}
		l := NewLearner(nil)
		l.Learn(object)
		l.LearnText(object)
		l.Schema()
		_, _ = s.Convert(nil, object)
		for _, kind := range []Kind{Text, Number, Boolean, Time, Texts, Any} {
			s[0].Kind = kind
			for _, v := range []string{"x", "1", "true", "2026-01-01"} {
				if f, err := newExpression(s, []Term{{Name: name, Values: []string{v}}}); err == nil {
					f.MatchCompact(object)
				}
			}
		}
	})
}

// objects draws properties that have all kinds of values.
func objects(t *rapid.T) map[string]any {
	scalar := rapid.OneOf(
		rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Float64(), func(v float64) any { return v }), rapid.Map(rapid.IntRange(-5, 5), func(v int) any { return v }),
		rapid.Map(rapid.String(), func(s string) any { return s }),
		rapid.Map(rapid.SampledFrom([]string{
			"",
			"cafe",
			"bar",
			"a;b",
			"true",
			"1",
			"1.0",
			"2026-01-01",
			"2026-01-01T01:00:00+01:00",
			"x,\":{}[]",
			strings.Repeat("long ", 20),
		}), func(s string) any { return s }),
	)
	value := rapid.OneOf(scalar, scalar, rapid.Map(rapid.SliceOfN(scalar, 0, 4), func(l []any) any { return l }),
		rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"cafe", "bar", ""}), 0, 3), func(l []string) any {
			list := make([]any, len(l))
			for i, s := range l {
				list[i] = s
			}
			return list
		}), rapid.Map(scalar, func(v any) any { return map[string]any{"a": v} }))
	return rapid.MapOfN(names(), value, 0, 8).Draw(t, "object")
}

func names() *rapid.Generator[string] {
	return rapid.SampledFrom([]string{"a", "b", "c", "open", "a.lt", "has", "-a", "<é>", ",\":", ":", "a\\"})
}

func encode(t *rapid.T, object map[string]any) []byte {
	raw := must.Get(json.Marshal(object)).In(t)
	out, err := AppendProperties(nil, raw)
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return out
}

func TestMemberAndFieldsAndPatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in, changes := objects(t), objects(t)
		object := encode(t, in)
		reference := decode(t, object)
		name := names().Draw(t, "name")
		value, ok := Member(object, name)
		want, present := reference[name]
		if ok != present {
			t.Fatalf("%s: %q: %v", object, name, ok)
		}
		if ok {
			if other := decode(t, append(append([]byte(`{"v":`), value...), '}'))["v"]; !sameJSON(want, other) {
				t.Fatalf("%s: %q is %s", object, name, value)
			}
		}
		fields := rapid.SliceOfN(names(), 0, 4).Draw(t, "fields")
		some := decode(t, append(CompactProperties(object[1:len(object)-1]).appendSome([]byte{'{'}, fields), '}'))
		patched := must.Get(PatchProperties([]byte("x"), object, encode(t, changes))).In(t)
		chosen := map[string]any{}
		for _, name := range fields {
			if v, ok := reference[name]; ok {
				chosen[name] = v
			}
		}
		if !sameJSON(chosen, some) {
			t.Fatalf("%s: fields %q: %v", object, fields, some)
		}
		for name, v := range decode(t, encode(t, changes)) {
			if v == nil {
				delete(reference, name)
			} else {
				reference[name] = v
			}
		}
		if again, err := AppendProperties([]byte("x"), patched[1:]); err != nil || !bytes.Equal(again, patched) ||
			!sameJSON(reference, decode(t, patched[1:])) {
			t.Fatalf("%s: %s, want %v", object, patched, reference)
		}
	})
}

func TestPatch(t *testing.T) {
	object := compact(t, `{"a":1,"b":{"x":1},"c":"t","n":null}`)
	for changes, want := range map[string]string{
		`null`:                                  `{"a":1,"b":{"x":1},"c":"t","n":null}`,
		`{"c":null,"missing":null}`:             `{"a":1,"b":{"x":1},"n":null}`,
		`{"z":[1, 2], "a":2.0}`:                 `{"a":2,"b":{"x":1},"c":"t","n":null,"z":[1,2]}`,
		`{"b":{"y":null}}`:                      `{"a":1,"b":{"y":null},"c":"t","n":null}`,
		`{"a":null,"b":null,"c":null,"n":null}`: `{}`,
	} {
		if got, err := PatchProperties(nil, object, []byte(changes)); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", changes, got, err, want)
		}
	}
	full := compact(t, `{`+many(200, `"%d":1`)+`}`)
	for _, changes := range []string{`[]`, `{"a":1,"a":2}`, `{` + many(57, `"new %d":1`) + `}`, `{"a":"` + strings.Repeat("x", 65000) + `"}`} {
		if got, err := PatchProperties([]byte("x"), full, []byte(changes)); !errors.Is(err, ErrProperties) || string(got) != "x" {
			t.Errorf("%.40s: %.40s, %v", changes, got, err)
		}
	}
}

const cafe = `{"name":"Café Zentral","category":"cafe","cuisine":["swiss","vegan"],"price":12.5,"rating":4.7,"open":"2021-03-01T00:00:00Z","wheelchair":true,"website":"https://example.org/zentral","street":"Bahnhofstrasse","phone":"+41 44 123 45 67"}`

func TestReadingAllocatesNothing(t *testing.T) {
	testrace.SkipUnderRace(t, "it allocates")
	object := compact(t, cafe)
	s := Schema{{Name: "category", Kind: Text}, {Name: "cuisine", Kind: Texts}, {Name: "name", Kind: Text},
		{Name: "open", Kind: Time}, {Name: "price", Kind: Number}, {Name: "website", Kind: Any},
		{Name: "wheelchair", Kind: Boolean}}
	filter := must.Get(newExpression(s, []Term{
		{Name: "category", Values: []string{"bakery", "cafe"}}, {Name: "cuisine", Values: []string{"vegan"}}, {Name: "name",
			Op: OpPrefix, Values: []string{"Caf"}},
		{
			Name:   "open",
			Op:     OpGreater,
			Values: []string{"2020-01-01"},
		}, {Name: "open", Values: []string{"2021-03-01"}}, {Name: "price", Op: OpLess, Values: []string{"20"}},
		{Name: "wheelchair", Values: []string{"true"}}, {Name: "website", Op: OpDiffers, Values: []string{"1"}}, {Op: OpHas,
			Values: []string{"name"}},
	})).In(t)
	if !filter.MatchCompact(object) {
		t.Fatal("no match")
	}
	l := NewLearner(nil)
	l.Learn(object)
	in, buf := []byte(cafe), make([]byte, 0, 1<<10)
	for name, run := range map[string]func(){
		"Match":            func() { filter.MatchCompact(object) },
		"member":           func() { Member(object, "phone") },
		"Learn":            func() { l.Learn(object) },
		"AppendProperties": func() { _, _ = AppendProperties(buf, in) },
	} {
		if n := testing.AllocsPerRun(100, run); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

func BenchmarkProperties(b *testing.B) {
	object := compact(b, cafe)
	in, buf := []byte(cafe), make([]byte, 0, 1<<10)
	l := NewLearner(nil)
	l.Learn(object)
	s := l.Schema()
	filter, err := newExpression(s, []Term{
		{Name: "category", Values: []string{"bakery", "cafe"}},
		{Name: "price", Op: OpLess, Values: []string{"20"}},
	})
	if err != nil {
		b.Fatal(err)
	}
	for name, run := range map[string]func(){
		"member last":      func() { Member(object, "phone") },
		"member absent":    func() { Member(object, "closed") },
		"Match":            func() { filter.MatchCompact(object) },
		"Learn":            func() { l.Learn(object) },
		"AppendProperties": func() { _, _ = AppendProperties(buf, in) },
		"Convert":          func() { _, _ = s.Convert(buf, object) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run()
			}
		})
	}
}

// mergeExamples are the examples in the appendix of RFC 7396: an original, a patch, the result.
var mergeExamples = [][3]string{
	{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
	{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
	{`{"a":"b"}`, `{"a":null}`, `{}`},
	{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
	{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
	{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
	{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
	{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
	{`["a","b"]`, `["c","d"]`, `["c","d"]`},
	{`{"a":"b"}`, `["c"]`, `["c"]`},
	{`{"a":"foo"}`, `null`, `null`},
	{`{"a":"foo"}`, `"bar"`, `"bar"`},
	{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
	{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
	{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
}

func TestMergeExamples(t *testing.T) {
	for _, e := range mergeExamples {
		want := `{"x":` + e[2] + `}`
		if e[2] == "null" {
			want = "{}"
		}
		got, err := MergeProperties([]byte("y"), []byte(`{"x":`+e[0]+`}`), []byte(`{"x":`+e[1]+`}`))
		if err != nil || string(got) != "y"+want {
			t.Errorf("%v: %s, %v, want %s", e, got, err, want)
		}
	}
	if got, err := MergeProperties(nil, []byte(`{"a":1}`), []byte("null")); err != nil || string(got) != "{}" {
		t.Errorf("null: %s, %v", got, err)
	}
}

// mergePatch is MergePatch in the form of the pseudocode in RFC 7396.
func mergePatch(target, patch any) any {
	p, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	out := map[string]any{}
	if t, ok := target.(map[string]any); ok {
		maps.Copy(out, t)
	}
	for name, value := range p {
		if value == nil {
			delete(out, name)
		} else {
			out[name] = mergePatch(out[name], value)
		}
	}
	return out
}

func TestMergeModel(t *testing.T) {
	var value func(depth int) *rapid.Generator[any]
	object := func(depth int) *rapid.Generator[map[string]any] {
		return rapid.MapOfN(rapid.SampledFrom([]string{"a", "b", "c", "é", `"`}), value(depth-1), 0, 4)
	}
	value = func(depth int) *rapid.Generator[any] {
		return rapid.Custom(func(t *rapid.T) any {
			switch rapid.IntRange(0, 4).Draw(t, "kind") {
			case 0:
				return nil
			case 1:
				return rapid.SampledFrom([]any{"x", true, 1.5}).Draw(t, "scalar")
			case 2:
				return []any{nil, map[string]any{"a": nil}}
			}
			if depth <= 0 {
				return map[string]any{}
			}
			return object(depth).Draw(t, "object")
		})
	}
	rapid.Check(t, func(t *rapid.T) {
		old, changes := object(4).Draw(t, "object"), object(4).Draw(t, "changes")
		text := must.Get(json.Marshal(old)).In(t)
		compact := must.Get(AppendProperties(nil, text)).In(t)
		patch := must.Get(json.Marshal(changes)).In(t)
		got := must.Get(MergeProperties(nil, compact, patch)).In(t)
		var merged any
		if err := json.Unmarshal(got, &merged); err != nil || !reflect.DeepEqual(merged, mergePatch(old, changes)) {
			t.Fatalf("%s with %s is %s, %v", compact, patch, got, err)
		}
	})
}
