package jsontext_test

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"quadrille/internal/jsontext"
)

// TestAppendString tests the policy, byte for byte.
func TestAppendString(t *testing.T) {
	for s, want := range map[string]string{
		"":                       `""`,
		"Zürich 北京 😀":            `"Zürich 北京 😀"`,
		`a "b" \c/`:              `"a \"b\" \\c/"`,
		"\x00\t\n\x1f\x7f":       `"\u0000\u0009\u000a\u001f\u007f"`,
		"</script>&":             `"\u003c/script\u003e\u0026"`,
		"line\u2028end\u2029":    `"line\u2028end\u2029"`,
		"\ufffd":                 "\"\ufffd\"",
		"bad \xff\xc3 utf":       "\"bad \ufffd\ufffd utf\"", // one for each byte
		"cut \xe4\xbd":           "\"cut \ufffd\ufffd\"",
		"surrogate \xed\xa0\x80": "\"surrogate \ufffd\ufffd\ufffd\"",
		"overlong \xc0\xaf":      "\"overlong \ufffd\ufffd\"",
	} {
		if got := string(jsontext.AppendString([]byte("x"), s)); got != "x"+want {
			t.Errorf("%q: %s, want x%s", s, got, want)
		}
	}
	buf := make([]byte, 0, 1<<10)
	if n := testing.AllocsPerRun(100, func() { jsontext.AppendString(buf, "Zürich <\xff> 北京") }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "Zürich", `a "b" \c`, "<img src=x> & Sons", "line\u2028end\u2029", "\x00\x1f\x7f",
		"bad \xff\xc3 utf", "\ufffd", "北京", "\xe2\x80", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := string(jsontext.AppendString([]byte("x"), s))[1:]
		var back, theirs string
		if err := json.Unmarshal([]byte(out), &back); err != nil {
			t.Fatalf("%q: %s, %v", s, out, err)
		}
		// The output decodes to the same text as that of encoding/json, and to the original text if
		// that is valid.
		other, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(other, &theirs); err != nil || back != theirs || utf8.ValidString(s) && back != s {
			t.Errorf("%q became %q, by encoding/json %q, %v", s, back, theirs, err)
		}
		// Repaired text has the same form as the broken one.
		if again := string(jsontext.AppendString(nil, back)); again != out {
			t.Errorf("%q: %s, and of what it became %s", s, out, again)
		}
		if !utf8.ValidString(out) || strings.ContainsAny(out, "<>&\x7f\u2028\u2029") ||
			strings.IndexFunc(out, func(r rune) bool { return r < ' ' }) >= 0 {
			t.Errorf("%q: %s", s, out)
		}
	})
}

func BenchmarkAppendString(b *testing.B) {
	for name, s := range map[string]string{
		"ascii":   "United States of America",
		"latin":   "Le Kremlin-Bicêtre",
		"han":     "北京市朝阳区",
		"escaped": `Smith & "Sons" <x>`,
	} {
		b.Run(name, func(b *testing.B) {
			var buf [256]byte
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				jsontext.AppendString(buf[:0], s)
			}
		})
	}
}

// TestNext tests that Next adds a comma before all members and elements but the first.
func TestNext(t *testing.T) {
	for dst, want := range map[string]string{
		"": "", "{": "{", "[": "[", `{"a":[`: `{"a":[`, "1": "1,", `"{"`: `"{",`, "[]": "[],", "{}": "{},",
	} {
		if got := string(jsontext.Next([]byte(dst))); got != want {
			t.Errorf("after %s: %s, want %s", dst, got, want)
		}
	}
	if got := string(jsontext.AppendText(jsontext.AppendText([]byte(`{"a":1`), "b", ""), "c", "<")); got != `{"a":1,"c":"\u003c"` {
		t.Error(got)
	}
}

func TestAppendDegrees(t *testing.T) {
	for _, units := range []int32{
		0,
		1,
		-1,
		10,
		473_666_700,
		-1_800_000_000,
		1_800_000_000,
		900_000_000,
		123_456_789,
		math.MinInt32,
		math.MaxInt32,
	} {
		got := string(jsontext.AppendDegrees(nil, units))
		v, err := strconv.ParseFloat(got, 64)
		if err != nil || int64(math.Round(v*1e7)) != int64(units) || strings.HasSuffix(got, "0") && strings.Contains(got, ".") {
			t.Errorf("%d: %s", units, got)
		}
	}
}
