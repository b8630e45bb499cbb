package jsonscan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/jsonscan"
)

// decode builds the same values as encoding/json, for comparison.
func decode(s *jsonscan.Scanner) (any, error) {
	k, err := s.Kind()
	if err != nil {
		return nil, err
	}
	switch k {
	case jsonscan.Object:
		m := map[string]any{}
		err := s.Object(func(name []byte) error {
			key := string(name)
			v, err := decode(s)
			m[key] = v
			return err
		})
		return m, err
	case jsonscan.Array:
		a := []any{}
		err := s.Array(func(int) error {
			v, err := decode(s)
			a = append(a, v)
			return err
		})
		return a, err
	case jsonscan.String:
		t, _, err := s.Text(1 << 20)
		return string(t), err
	case jsonscan.Number:
		return s.Float()
	case jsonscan.Null:
		return nil, s.Null()
	case jsonscan.End:
		return nil, s.Skip()
	}
	return s.Bool()
}

func whole(text string) (any, error) {
	s := jsonscan.New(iotest.OneByteReader(strings.NewReader(text)))
	v, err := decode(s)
	if err != nil {
		return nil, err
	}
	if k, err := s.Kind(); err != nil || k != jsonscan.End {
		return nil, fmt.Errorf("%v after the value (%v)", k, err)
	}
	return v, nil
}

var seeds = []string{
	`{"a":[1,-2.5e3,0,1e-7],"b":{"c":null,"d":true,"e":false},"f":"x\"\\\/\b\f\n\r\tyé"}`,
	`[]`, `{}`, ` [ ] `, `"plain"`, `"\ud83d\ude00"`, `"\ud83dx"`, `"\ud83d\n"`, `"\ude00"`, `"\ud83d"`, `"\ud83d\ud83d\ude00"`,
	`0`, `-0`, `1.5`, `01`, `1.`, `.5`, `+1`, `1e`, `--1`, `0x10`, `1_0`, `1e999`,
	`nul`, `nullx`, `tru`, `True`, `[1,]`, `[,1]`, `{"a":1,}`, `{"a"}`, `{a:1}`, `{"a":1 "b":2}`, `[1 2]`, `[1`, `{"a":`, `"abc`,
	`"\x"`, `"\u12g4"`, "\"a\nb\"",
	``, ` `, `[1] 2`, `]`, "\xff\xfe[", `NaN`, `[[[[[[]]]]]]`, "\"\xff\xc3\"",
}

// properties decodes the members of an object.
func properties(s *jsonscan.Scanner) (m map[string]any, lost source.Lost, err error) {
	members, lost, err := s.Members()
	if err != nil || members == nil {
		return nil, lost, err
	}
	return jsonscan.New(nil).Decode(members, &lost), lost, nil
}

func TestAgreesWithStandardLibrary(t *testing.T) {
	for _, text := range seeds {
		compare(t, text)
	}
}

func FuzzAgreesWithStandardLibrary(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) { compare(t, text) })
}

func compare(t *testing.T, text string) {
	t.Helper()
	got, err := whole(text)
	var want any
	wantErr := json.Unmarshal([]byte(text), &want)
	var overflow *json.UnmarshalTypeError // we say ±Inf
	switch {
	case errors.As(wantErr, &overflow), strings.ContainsAny(text, "NI"): // our additions
	case wantErr == nil && err != nil && (strings.Contains(err.Error(), "nested") || strings.Contains(err.Error(), "512")): // our bounds
	case (err == nil) != (wantErr == nil):
		t.Fatalf("%q: got %v, %v; the standard library says %v, %v", text, got, err, want, wantErr)
	case err == nil && !reflect.DeepEqual(got, want) && !hasLongName(want):
		t.Fatalf("%q: got %#v, want %#v", text, got, want)
	}
}

func hasLongName(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if len(k) > 1000 || hasLongName(e) {
				return true
			}
		}
	case []any:
		for _, e := range v {
			if hasLongName(e) {
				return true
			}
		}
	}
	return false
}

func TestNumbersBeyondJSON(t *testing.T) {
	s := jsonscan.New(strings.NewReader(`[NaN, Infinity, -Infinity, 1e999, -1e999]`))
	var got []float64
	if err := s.Array(func(int) error {
		f, err := s.Float()
		got = append(got, f)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if !math.IsNaN(got[0]) || !math.IsInf(got[1], 1) || !math.IsInf(got[2], -1) || !math.IsInf(got[3], 1) || !math.IsInf(got[4], -1) {
		t.Fatal(got)
	}
}

func TestErrorsSayWhere(t *testing.T) {
	for _, tc := range []struct {
		text, want string
		line       int
		truncated  bool
	}{
		{"[1,\n2,\n oops]", "'o' where a value should begin", 3, false},
		{"[1,\n2", "ends in the middle", 2, true},
		{"", "ends in the middle", 1, true},
		{"\xff\xfe[\x00", "convert the file to UTF-8", 1, false},
		{strings.Repeat("[", 500), "nested deeper", 1, false},
		{"[" + strings.Repeat("1", 1000) + "]", "more than 512", 1, false},
	} {
		s := jsonscan.New(strings.NewReader(tc.text))
		err := s.Skip()
		var syntax *jsonscan.SyntaxError
		if !errors.As(err, &syntax) || !strings.Contains(syntax.Msg, tc.want) || syntax.Line != tc.line || syntax.Truncated != tc.truncated {
			t.Errorf("%.20q: %v (%+v)", tc.text, err, syntax)
		}
		if again := s.Skip(); again != err {
			t.Errorf("%.20q: a second call gives %v", tc.text, again)
		}
	}
}

// After Reset a scanner keeps nothing of the previous text.
func TestReset(t *testing.T) {
	s := jsonscan.New(nil)
	for _, text := range []string{"[1,\n[2", "{", "nonsense", `{"a":1} and more`, "", strings.Repeat("[", 300)} {
		s.Reset(strings.NewReader(text))
		for s.Skip() == nil {
		}
		s.Reset(strings.NewReader("\n{\"a\":[1]} "))
		m, lost, err := properties(s)
		if err != nil || lost.Count != 0 || s.Line() != 2 || s.Offset() != 10 || s.Err() != nil {
			t.Errorf("after %.20q: %v, %v, line %d, offset %d", text, lost, err, s.Line(), s.Offset())
		}
		if k, err := s.Kind(); k != jsonscan.End || err != nil || fmt.Sprintf("%s", m["a"]) != "[1]" {
			t.Errorf("after %.20q: %v, %v, %v", text, k, err, m)
		}
	}
}

// TestLostProperties tests that all properties beyond the bound are counted as lost, and that the
// first of them is named.
func TestLostProperties(t *testing.T) {
	var text strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&text, `,"p%d":%d`, i, i)
	}
	m, lost, err := properties(jsonscan.New(strings.NewReader("{" + text.String()[1:] + "}")))
	want := source.Lost{Count: 4000, First: "p1000: it is behind the first 1000"}
	if err != nil || len(m) != 1000 || lost != want {
		t.Errorf("%d kept, %+v, %v", len(m), lost, err)
	}
}

// BenchmarkProperties reads the properties of a feature.
func BenchmarkProperties(b *testing.B) {
	const text = `{"a":1,"b":"x","c":3.5,"d":true,"e":null,"f":6,"g":7,"h":8,"i":9,"j":10}`
	s := jsonscan.New(nil)
	b.ReportAllocs()
	for b.Loop() {
		s.Reset(strings.NewReader(text))
		if _, _, err := properties(s); err != nil {
			b.Fatal(err)
		}
	}
}

func TestReaderErrorsPass(t *testing.T) {
	boom := errors.New("boom")
	for _, text := range []string{"", "[1,", `{"a`, "tr", "12"} {
		s := jsonscan.New(iotest.DataErrReader(&failing{strings.NewReader(text), boom}))
		err := s.Skip()
		if err == nil { // a number ends where the input does
			_, err = s.Kind()
		}
		if !errors.Is(err, boom) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

type failing struct {
	*strings.Reader
	err error
}

func (f *failing) Read(p []byte) (int, error) {
	n, err := f.Reader.Read(p)
	if err != nil {
		err = f.err
	}
	return n, err
}

func TestTextLimit(t *testing.T) {
	for _, tc := range []struct {
		text  string
		limit int
		want  string
		whole bool
	}{
		{`"abcdef"`, 6, "abcdef", true},
		{`"abcdef"`, 3, "abc", false},
		{`"ab\ncd"`, 3, "ab\n", false},
		{`"abc"`, 0, "", false},
	} {
		s := jsonscan.New(strings.NewReader(tc.text))
		got, whole, err := s.Text(tc.limit)
		if err != nil || string(got) != tc.want || whole != tc.whole {
			t.Errorf("%s to %d: %q %v %v", tc.text, tc.limit, got, whole, err)
		}
	}
}
