package feature

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestNewSchema(t *testing.T) {
	s, err := NewSchema([]Field{{Name: "b", Kind: Text}, {Name: "a", Kind: Number}})
	if err != nil || !slices.Equal(s, Schema{{Name: "a", Kind: Number}, {Name: "b", Kind: Text}}) {
		t.Error(s, err)
	}
	if f, ok := s.Lookup("a"); !ok || f.Kind != Number {
		t.Error(f, ok)
	}
	if _, ok := s.Lookup("c"); ok {
		t.Error("there is no c")
	}
	for _, bad := range [][]Field{{{Name: "a", Kind: Text}, {Name: "a", Kind: Number}}, {{Name: "a", Kind: Null}}, make([]Field, 1001)} {
		if _, err := NewSchema(bad); !errors.Is(err, ErrType) {
			t.Error(err)
		}
	}
	if _, err := NewSchema([]Field{{Name: "", Kind: Text}}); !errors.Is(err, ErrProperties) {
		t.Error(err)
	}
	if b, err := json.Marshal(s); err != nil || string(b) != `[{"name":"a","type":"number"},{"name":"b","type":"text"}]` {
		t.Errorf("%s, %v", b, err)
	}
}

func TestLearn(t *testing.T) {
	for values, want := range map[string]Kind{
		`"x" "y"`:  Text,
		`"x" 2026`: Any,
		`"2026-01-01" "2026-01-01T00:00:00+01:00"`: Time,
		`"2026-01-01" "x"`:                         Text,
		`"x" "2026-01-01"`:                         Text,
		`"2026-01-01" ""`:                          Text,
		`1 2.5 null`:                               Number,
		`1 true`:                                   Any,
		`true false`:                               Boolean,
		`["a"] [] ["b","c"]`:                       Texts,
		`[]`:                                       Any,
		`["a",1]`:                                  Any,
		`"a" ["a"]`:                                Any,
		`null`:                                     Any,
		`{}`:                                       Any,
		`[[]]`:                                     Any,
		`"01234"`:                                  Text,
	} {
		l := NewLearner(nil)
		for v := range strings.FieldsSeq(values) {
			l.Learn(compact(t, `{"other":1,"<v>":`+v+`}`))
			l.Learn([]byte("{}"))
		}
		if got := l.Schema(); !slices.Equal(got, Schema{{Name: "<v>", Kind: want}, {Name: "other", Kind: Number}}) {
			t.Errorf("%s: %v, want %s", values, got, want)
		}
	}
}

func TestLearnText(t *testing.T) {
	for values, want := range map[string]Kind{
		"1|2.5|":                            Number,
		"-1|.5|5.|1e3|0|0.5":                Number,
		"01234":                             Text,
		"1|01":                              Text,
		"+49":                               Text,
		"1,5":                               Text,
		"1e999":                             Text,
		"NaN":                               Text,
		"0x10":                              Text,
		"true|FALSE|":                       Boolean,
		"yes|no":                            Text,
		"true|1":                            Text,
		"2026-01-01|2026-01-01T00:00:00.5Z": Time,
		"2026-01-01|x":                      Text,
		"2026-13-01":                        Text,
		"||":                                Text,
		" 5 | ":                             Number,
		"x|5":                               Text,
		// These are codes that consist of digits.
		"10E2|12E4": Text, "101|10e2": Text, "10E2|1.5": Number, "10E2|-1": Number, "1E+2": Number, "+1|1": Text,
		// All values count, however late one comes.
		strings.Repeat("1.5|", 99_999) + "998A": Text, "x" + strings.Repeat("|1.5", 99): Text, "01" + strings.Repeat("|10", 200): Text,
		strings.Repeat("true|", 99) + "maybe":    Text,
		strings.Repeat("2026-01-01|", 199) + "-": Text,
		strings.Repeat("x|", 2000) + "1":         Text,
		"true|2026-01-01":                        Text,
	} {
		l := NewLearner(nil)
		for v := range strings.SplitSeq(values, "|") {
			l.LearnText(compact(t, fmt.Sprintf(`{"v":%q}`, v)))
		}
		if got := l.Schema(); !slices.Equal(got, Schema{{Name: "v", Kind: want}}) {
			t.Errorf("%s: %v, want %s", values, got, want)
		}
	}
	for values, want := range map[string]bool{
		"1,5":          true,
		"1,5|2||-3,25": true,
		"1,5|x":        false,
		"x|1,5":        false,
		"1":            false,
		"1,5,6":        false,
		"1,":           false,
	} {
		l := NewLearner(nil)
		for v := range strings.SplitSeq(values, "|") {
			l.LearnText(compact(t, fmt.Sprintf(`{"v":%q}`, v)))
		}
		if got := l.HasDecimalCommas("v"); got != want {
			t.Errorf("%s: %v", values, got)
		}
		if l.HasDecimalCommas("w") {
			t.Error("there is no w")
		}
	}
}

func TestOdd(t *testing.T) {
	l := NewLearner(Schema{{Name: "told", Kind: Text}})
	for i := range 200 {
		l.At = int64(i)
		n, v := "1.5", "1.1"
		if i == 150 {
			n = "n/a"
		}
		if i == 199 {
			n, v = "true", "1.10"
		}
		l.LearnText(compact(t, fmt.Sprintf(`{"n":%q,"App version":%q,"told":%q,"t":"x","e":""}`, n, v, n)))
	}
	want := []OddColumn{{Field: Field{Name: "n", Kind: Number}, Count: 2, Total: 200, At: 150, Text: "n/a"}}
	if got := l.OddColumns(); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
	s := l.Schema()
	if got, _ := s.Lookup("App version"); got.Kind != Text {
		t.Errorf("%+v", s)
	}
	if got, _ := s.Lookup("n"); got.Kind != Text {
		t.Errorf("%+v", s)
	}
	// One of ten is many: house numbers are not odd, because half of them have letters.
	l = NewLearner(nil)
	for i := range 20 {
		l.LearnText(compact(t, fmt.Sprintf(`{"few":%q,"many":%q}`, []string{"1", "1A"}[i/18], []string{"1", "1A"}[i/17])))
	}
	if got := l.OddColumns(); len(got) != 1 || got[0].Name != "few" {
		t.Errorf("%+v", got)
	}
}

func TestLearnDeclaredAndMany(t *testing.T) {
	l := NewLearner(Schema{{Name: "unseen", Kind: Time}, {Name: "zip", Kind: Text}})
	l.Learn(compact(t, `{"zip":8001,"name":"x"}`))
	l.LearnText(compact(t, `{"zip":"8001"}`))
	if got := l.Schema(); !slices.Equal(got, Schema{{Name: "name", Kind: Text}, {Name: "unseen", Kind: Time}, {Name: "zip", Kind: Text}}) {
		t.Error(got)
	}
	l = NewLearner(nil)
	for i := range 1002 {
		l.Learn(compact(t, fmt.Sprintf(`{"%d":1}`, i)))
	}
	if s := l.Schema(); len(s) != MaxFields || l.UnlistedMembers() != 2 || !slices.IsSortedFunc(s, byName) {
		t.Error(len(s), l.UnlistedMembers())
	}
}

func TestConvert(t *testing.T) {
	s := Schema{{Name: "any", Kind: Any}, {Name: "b", Kind: Boolean}, {Name: "l", Kind: Texts},
		{Name: "n", Kind: Number}, {Name: "s", Kind: Text}, {Name: "t", Kind: Time}}
	for in, want := range map[string]string{
		`{"x":"1","any":"","s":"","n":null}`:            `{"x":"1","any":"","s":"","n":null}`,
		`{"b":"True","n":" -12.50 "}`:                   `{"b":true,"n":-12.5}`,
		`{"b":"","l":" ; ","n":" ","t":"","s":" "}`:     `{"s":" "}`,
		`{"b":"No","n":7}`:                              `{"b":false,"n":7}`,
		`{"b":1}`:                                       `{"b":true}`,
		`{"b":"0"}`:                                     `{"b":false}`,
		`{"n":".5","b":false}`:                          `{"n":0.5,"b":false}`,
		`{"s":12.50}`:                                   `{"s":"12.5"}`,
		`{"s":true,"l":5}`:                              `{"s":"true","l":["5"]}`,
		`{"l":"swiss; vegan;;<x>"}`:                     `{"l":["swiss","vegan","\u003cx\u003e"]}`,
		`{"l":["a;b",1,false]}`:                         `{"l":["a;b","1","false"]}`,
		`{"s":[],"n":[],"any":[]}`:                      `{"any":[]}`,
		`{"l":[]}`:                                      `{"l":[]}`,
		`{"t":"2026-01-01"}`:                            `{"t":"2026-01-01T00:00:00Z"}`,
		`{"t":"2026-01-01t01:30:00.500+02:00"}`:         `{"t":"2025-12-31T23:30:00.5Z"}`,
		`{"t":"2024-02-29T23:59:59.12345678999-00:30"}`: `{"t":"2024-03-01T00:29:59.123456789Z"}`,
	} {
		if got, err := s.Convert([]byte("x"), compact(t, in)); err != nil || string(got) != "x"+want {
			t.Errorf("%s: %s, %v, want %s", in, got, err, want)
		}
	}
	for in, want := range map[string]string{
		`{"n":"abc"}`:                       `n: "abc" is no number`,
		`{"n":"1,5"}`:                       `"1,5" has a decimal comma: write a point, as in 1.5`,
		`{"n":"01"}`:                        "without leading zeros",
		`{"n":true}`:                        "true is no number",
		`{"n":"1e999"}`:                     "no number",
		`{"b":"maybe"}`:                     "neither true nor false",
		`{"b":2}`:                           "2 is neither",
		`{"t":"2026-02-29"}`:                "no time",
		`{"t":20260101}`:                    "no time",
		`{"t":"0000-01-01T00:00:00+01:00"}`: "no time",
		`{"s":["a"]}`:                       "no text",
		`{"n":[1]}`:                         "no number",
		`{"l":[[]]}`:                        "no text",
		`{"l":{}}`:                          "no list of text",
		`{"l":[null]}`:                      "no text",
		`{"l":[["a"]]}`:                     "no text",
	} {
		if got, err := s.Convert([]byte("x"), compact(t, in)); !errors.Is(err, ErrType) || !strings.Contains(err.Error(), want) ||
			string(got) != "x" {
			t.Errorf("%s: %s, %v, want %s", in, got, err, want)
		}
	}
	if _, err := s.Convert(nil, compact(t, `{"l":"`+strings.Repeat("a;", 30000)+`"}`)); !errors.Is(err, ErrProperties) {
		t.Error(err)
	}
}

// TestLearnedTypesConvert tests that a schema learned from points can convert all values of these
// points.
func TestLearnedTypesConvert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := NewLearner(nil)
		var all [][]byte
		for range rapid.IntRange(1, 4).Draw(t, "points") {
			object := encode(t, objects(t))
			l.Learn(object)
			all = append(all, object)
		}
		s := l.Schema()
		for _, object := range all {
			checkConverted(t, s, object, true)
		}
	})
}

func checkConverted(t interface {
	Helper()
	Fatalf(string, ...any)
}, s Schema, object []byte, must bool) {
	out, err := s.Convert(nil, object)
	if err != nil {
		if must || !errors.Is(err, ErrType) && !errors.Is(err, ErrProperties) || len(out) > 0 {
			t.Fatalf("%s: %v: %v", object, s, err)
		}
		return
	}
	if normal, err := AppendProperties(nil, out); err != nil || !bytes.Equal(normal, out) {
		t.Fatalf("%s became %s: %v", object, out, err)
	}
	if again, err := s.Convert(nil, out); err != nil || !bytes.Equal(again, out) {
		t.Fatalf("%s became %s, then %s, %v", object, out, again, err)
	}
	for name, v := range decode(t, out) {
		if v == nil {
			continue
		}
		f, _ := s.Lookup(name)
		ok := true
		switch f.Kind {
		case Text:
			_, ok = v.(string)
		case Number:
			_, ok = v.(json.Number)
		case Boolean:
			_, ok = v.(bool)
		case Time:
			text, isText := v.(string)
			when, err := time.Parse(time.RFC3339, text)
			ok = isText && err == nil && when.Format(time.RFC3339Nano) == text && strings.HasSuffix(text, "Z")
		case Texts:
			list, isList := v.([]any)
			ok = isList && !slices.ContainsFunc(list, func(v any) bool { _, isText := v.(string); return !isText })
		}
		if !ok {
			t.Fatalf("%s became %s: %s is no %s", object, out, name, f.Kind)
		}
	}
}

func FuzzConvert(f *testing.F) {
	for _, s := range []string{`{"n":"1,5"}`, `{"l":"a;b","t":"2026-01-01"}`, `{"b":"TRUE","n":"-.5e3"}`,
		`{"t":"2026-01-01T01:00:00.120+01:00","l":["x",1,true]}`, `{"s":1e2,"l":[]}`} {
		f.Add([]byte(s))
	}
	s := Schema{{Name: "any", Kind: Any}, {Name: "b", Kind: Boolean}, {Name: "l", Kind: Texts},
		{Name: "n", Kind: Number}, {Name: "s", Kind: Text}, {Name: "t", Kind: Time}}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if object, err := AppendProperties(nil, raw); err == nil {
			checkConverted(t, s, object, false)
			l := NewLearner(nil)
			l.Learn(object)
			checkConverted(t, l.Schema(), object, true)
		}
	})
}

func TestDecimals(t *testing.T) {
	literal := rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,24})?([eE][+-]?[0-9]{1,2})?`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := literal.Draw(t, "a"), literal.Draw(t, "b")
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if got := parseDecimal([]byte(a)).compare(parseDecimal([]byte(b))); got != x.Cmp(y) {
			t.Fatalf("%s, %s: %d", a, b, got)
		}
		out := string(parseDecimal([]byte(a)).appendTo(nil))
		if back, ok := new(big.Rat).SetString(out); !ok || back.Cmp(x) != 0 || !json.Valid([]byte(out)) {
			t.Fatalf("%s became %s", a, out)
		}
	})
}
