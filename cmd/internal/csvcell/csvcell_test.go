package csvcell_test

import (
	"bytes"
	"encoding/csv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quadrille/cmd/internal/csvcell"
)

func TestAppend(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"plain text", "plain text"},
		{"a,b", "\"a,b\""},
		{"a;b", "a;b"},
		{`say "x"`, `"say ""x"""`},
		{"two\nlines", "\"two\nlines\""},
		{"", ""},
	} {
		if got := string(csvcell.Append(nil, ',', []byte(tc.text))); got != tc.want {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestAppendForeign(t *testing.T) {
	for text, want := range map[string]string{
		"=1+1": "'=1+1", "-05:00": "-05:00", "+41 44 123": "+41 44 123", "-cmd": "'-cmd", "a;=b": "a;'=b", "@x, y": "\"'@x, y\"",
	} {
		if got := string(csvcell.AppendForeign(nil, ',', []byte(text))); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What AppendForeign finds to be plain needs no guard and no quotes.
func TestPlain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := []byte(rapid.StringOf(rapid.RuneFrom([]rune("a1=+-@ \",;|\t\n\uff1d\uff0bé"))).Draw(t, "text"))
		want := csvcell.Quote(csvcell.Guard(bytes.Clone(text), 0), 0, ';')
		if got := csvcell.AppendForeign(nil, ';', text); !bytes.Equal(got, want) {
			t.Fatalf("%q is %q, want %q", text, got, want)
		}
	})
}

// Cells have the same bytes as those of encoding/csv.
func TestCellsAreAsOthersWriteThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.RuneFrom([]rune("ab \",\n;'é\t"))).Draw(t, "text")
		var reference bytes.Buffer
		w := csv.NewWriter(&reference)
		if err := w.Write([]string{"x", text}); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		want := strings.TrimSuffix(reference.String()[2:], "\n")
		got := string(csvcell.Quote([]byte(text), 0, ','))
		if !strings.HasPrefix(got, `"`) && strings.HasPrefix(want, `"`) && strings.TrimSpace(text) != text {
			return // it quotes more kinds of space in front
		}
		if strings.HasSuffix(text, " ") && !strings.HasPrefix(want, `"`) {
			want = `"` + want + `"` // programs cut it off
		}
		if got != want {
			t.Fatalf("%q: %s, want %s", text, got, want)
		}
	})
}

// TestIsRead compares with the reader of the standard library.
func TestIsRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		row := rapid.SliceOfN(rapid.StringMatching(`[a",;\n |]{0,6}`), 2, 4).Draw(t, "row")
		separator := rapid.SampledFrom([]byte{',', ';', '\t'}).Draw(t, "separator")
		var line []byte
		for i, cell := range row {
			if i > 0 {
				line = append(line, separator)
			}
			line = csvcell.Append(line, separator, []byte(cell))
		}
		in := csv.NewReader(strings.NewReader(string(line) + "\n"))
		in.Comma = rune(separator)
		got, err := in.Read()
		if strings.Join(row, "") == "" && err != nil {
			return
		}
		if err != nil || strings.Join(got, "|") != strings.Join(row, "|") || len(got) != len(row) {
			t.Fatalf("%q is %q: %q, %v", row, line, got, err)
		}
	})
}
