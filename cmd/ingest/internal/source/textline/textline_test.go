package textline_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source/textline"
)

func TestReader(t *testing.T) {
	long := strings.Repeat("x", 40)
	for text, want := range map[string][]string{
		"":                             {""},
		"a":                            {"a"},
		"a\n":                          {"a", ""},
		"\xef\xbb\xbfa\r\nb\n\nc":      {"a", "b", "", "c"},
		long + "\nb":                   {"LONG", "b"},
		"a\n" + long:                   {"a", "LONG"},
		strings.Repeat("y", 15) + "\n": {strings.Repeat("y", 15), ""},
	} {
		r := textline.New(iotest.OneByteReader(strings.NewReader(text)), 16)
		var got []string
		for last := false; !last; {
			var line []byte
			var err error
			line, last, err = r.Next()
			switch {
			case errors.Is(err, textline.ErrLong):
				line = []byte("LONG")
			case err != nil:
				t.Fatal(err)
			}
			got = append(got, string(line))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestReaderFails(t *testing.T) {
	for _, text := range []string{"a\nb", strings.Repeat("x", 40)} {
		r := textline.New(io.MultiReader(strings.NewReader(text), iotest.ErrReader(io.ErrClosedPipe)), 16)
		var err error
		for n := 0; err == nil && n < 9; n++ {
			_, _, err = r.Next()
		}
		if !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSplit(t *testing.T) {
	for line, want := range map[string][]string{
		"":                    {""},
		"a, b ,c":             {"a", "b", "c"},
		`"a,b", "c ""d""" ,e`: {"a,b", `c "d"`, "e"},
		`"",`:                 {"", ""},
		`x"y,z`:               {`x"y`, "z"},
	} {
		fields, ok := textline.Split([]byte(line), nil)
		var got []string
		for _, f := range fields {
			got = append(got, string(f))
		}
		if !ok || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", line, got, ok)
		}
	}
	for _, line := range []string{`"a`, `"a"b`, `"a" b,c`, `a,"`} {
		if fields, ok := textline.Split([]byte(line), nil); ok {
			t.Errorf("%q: %q", line, fields)
		}
	}
}

// However a field is quoted, the same comes out.
func TestSplitProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.StringMatching(`([a-z",]([a-z", ]*[a-z",])?)?`), 1, 6).Draw(t, "fields")
		var b strings.Builder
		for i, f := range want {
			if i > 0 {
				b.WriteByte(',')
			}
			if strings.ContainsAny(f, `",`) || rapid.Bool().Draw(t, "quoted") {
				f = `"` + strings.ReplaceAll(f, `"`, `""`) + `"`
			}
			b.WriteString(f)
		}
		got, ok := textline.Split([]byte(b.String()), nil)
		if !ok || len(got) != len(want) {
			t.Fatalf("%s: %q, %v", b.String(), got, ok)
		}
		for i := range want {
			if string(got[i]) != want[i] {
				t.Fatalf("%s: field %d is %q, want %q", b.String(), i, got[i], want[i])
			}
		}
	})
}
