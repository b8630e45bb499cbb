package delimited_test

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/delimited"
)

// read returns each row as "line: fields", and bad ones as "line! reason".
func read(t testing.TB, text string, f delimited.Format) []string {
	t.Helper()
	var in *delimited.Reader
	return readAll(t, &in, text, f)
}

func readAll(t testing.TB, at **delimited.Reader, text string, f delimited.Format) (rows []string) {
	t.Helper()
	in := delimited.New(iotest.OneByteReader(strings.NewReader(text)), "f", f)
	*at = in
	for row, err := range delimited.Records(in, func(row *string) error {
		fields, err := in.Fields()
		*row = fmt.Sprintf("%d: %s", in.Line, join(fields))
		return err
	}) {
		if bad := (*source.BadRecord)(nil); errors.As(err, &bad) {
			row = fmt.Sprintf("%d! %s", bad.Line, bad.Reason)
		} else if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, row)
	}
	return rows
}

func join(fields [][]byte) string {
	var s []string
	for _, f := range fields {
		s = append(s, string(f))
	}
	return strings.Join(s, "|")
}

var (
	lax    = delimited.Format{Separator: ',', MaxBytes: 24, AllowBlanks: true}
	strict = delimited.Format{Separator: ',', MaxBytes: 64, MaxLines: 3}
	tabs   = delimited.Format{Separator: '\t', MaxBytes: 24}
)

func TestRows(t *testing.T) {
	long := strings.Repeat("x", 70)
	comments, columns, text := tabs, tabs, lax
	comments.Comments, columns.Columns, text.RequireUTF8 = []string{"#"}, []int{2, 3}, true
	marks, behind := lax, lax
	marks.Comments, behind.TrailingComments = []string{"//", "; "}, true
	strictText := strict
	strictText.RequireUTF8 = true
	for _, tc := range []struct {
		format delimited.Format
		text   string
		want   []string
	}{
		{lax, "", nil},
		{lax, "a", []string{"1: a"}},
		{lax, "\xef\xbb\xbfa\r\nb\n\n \t\nc", []string{"1: a", "2: b", "5: c"}},
		{lax, long + "\nb", []string{"1! line is too long", "2: b"}},
		{lax, "a\n" + long, []string{"1: a", "2! line is too long"}},
		{lax, strings.Repeat("y", 23) + "\n" + strings.Repeat("y", 24) + "\n", []string{"1: " + strings.Repeat("y", 23), "2! line is too long"}},
		{lax, `"a,b", "c ""d""" ,e`, []string{`1: a,b|c "d"|e`}},
		{lax, ` a, b ,c` + "\n" + `"",` + "\n" + `x"y,z`, []string{"1: a|b|c", "2: |", `3: x"y|z`}},
		{lax, "\"a\n\"a\"b\n\"a\" b,c\na,\"\nd", []string{
			"1! " + delimited.ReasonQuotes, "2! " + delimited.ReasonQuotes, "3! " + delimited.ReasonQuotes, "4! " + delimited.ReasonQuotes, "5: d"}},
		{text, "\xff\na", []string{"1! not UTF-8", "2: a"}},
		{strictText, "\"a\n\xff\"\nb", []string{"1! not UTF-8", "2! not UTF-8", "3: b"}},
		{tabs, " a\t\"b\t\n#\t", []string{"1:  a|\"b|", "2: #|"}},
		{comments, "# a\n #\nb", []string{"3: b"}},
		{marks, "// a\n ; b\n;\n;c\n/d", []string{"4: ;c", "5: /d"}},
		{behind, "a,b # c, d\n\"#\",b#\n\"# a", []string{"1: a|b", "2: #|b", "3! " + delimited.ReasonQuotes}},
		{columns, "a\na\tb\na\t\t\na\t\t\t", []string{"1! not 2 or 3 columns", "2: a|b", "3: a||", "4! not 2 or 3 columns"}},
		{strict, "a,\"b\r\nc\",\" \"\"\"\r\nd", []string{"1: a|b\nc| \"", "3: d"}},
		{
			strict,
			"\"1\n2\n3\"\nd\n\"1\n2\n3\n4\"",
			[]string{"1: 1\n2\n3", "4: d", "5! " + delimited.ReasonQuotes, "6: 2", "7: 3", "8! " + delimited.ReasonQuotes},
		},
		{strict, "a, \"b\"\na\"b\n\"\n" + long + "\n\"" + long[:30] + "\n" + long[:32] + "\"\n" + "\"\na\"", []string{
			"1! " + delimited.ReasonQuotes, "2! " + delimited.ReasonQuotes, "3! " + delimited.ReasonQuotes, "4! line is too long",
			"5! " + delimited.ReasonQuotes, "6! " + delimited.ReasonQuotes, "7: \na"}},
	} {
		if got := read(t, tc.text, tc.format); !slices.Equal(got, tc.want) {
			t.Errorf("%q: %q, want %q", tc.text, got, tc.want)
		}
	}
}

func TestHeader(t *testing.T) {
	var names string
	f := strict
	f.Header = func(header [][]byte, err error) error {
		names = join(header)
		if i := delimited.ColumnIndex(header, "x", "b"); err == nil && i != 1 {
			t.Errorf("%s: b is column %d", names, i)
		}
		return err
	}
	want := []string{"3: 1|2", "4! " + delimited.ReasonHeader, "5! " + delimited.ReasonQuotes, "6: 1|2"}
	if got := read(t, "\na, B \n1,2\n1\n\"1\n1,2\n", f); !slices.Equal(got, want) || names != "a| B " {
		t.Errorf("%s, %q", names, got)
	}
	for text, want := range map[string]error{"": io.EOF, "\n\n": io.EOF} {
		in := delimited.New(strings.NewReader(text), "f", f)
		n := 0
		for _, err := range delimited.Records(in, func(*string) error { return nil }) {
			if n++; !errors.Is(err, want) {
				t.Errorf("%q: %v", text, err)
			}
		}
		if n != 1 {
			t.Errorf("%q: %d errors", text, n)
		}
	}
	if delimited.ColumnIndex(nil, "a") != -1 {
		t.Error("a column of no header")
	}
}

// TestStrayQuotes tests that quotes in the wrong places do not make the reader lose rows.
func TestStrayQuotes(t *testing.T) {
	table := delimited.Format{Separator: ',', Quoted: true, MaxBytes: 64, MaxLines: 4, AllowBlanks: true, RequireUTF8: true}
	tabbed, long := table, table
	tabbed.Separator = '\t'
	long.MaxBytes, long.MaxLines = 1000, 100
	var rows []string
	for i := 3; i < 13; i++ {
		rows = append(rows, fmt.Sprintf("%d: 2|y|1", i))
	}
	for _, tc := range []struct {
		format delimited.Format
		text   string
		want   []string
		stray  delimited.Occurrences
		joined delimited.Occurrences
	}{
		{table, "a,b\n1,24\"\n2,27\"\n", []string{"2: 1|24\"", "3: 2|27\""}, delimited.Occurrences{}, delimited.Occurrences{}},
		// This is a quote that opens in one row and closes in a later one.
		{
			long,
			"a,b,c\n1,\"x,1\n" + strings.Repeat("2,y,1\n", 10) + "\n3,z\",1\n",
			slices.Concat([]string{"2: 1|\"x|1"}, rows, []string{"14: 3|z\"|1"}),
			delimited.Occurrences{Count: 1, Line: 2},
			delimited.Occurrences{},
		},
		{
			long,
			"a,b,c\nA,\"Mo, Tu\nWe, Th, Fr\nSa, Su\",1\n",
			[]string{"2: A|Mo, Tu\nWe, Th, Fr\nSa, Su|1"},
			delimited.Occurrences{},
			delimited.Occurrences{Count: 1, Line: 2},
		},
		{table, "a,b,c\n1,2,\"x\n2,y,1\n", []string{"2: 1|2|\"x", "3: 2|y|1"}, delimited.Occurrences{Count: 1, Line: 2}, delimited.Occurrences{}},
		// This is a line break within a field, even if the field's first line has as many columns
		// as the header.
		{table, "a,b\n1,\"x\ny\"\n2,z\n", []string{"2: 1|x\ny", "4: 2|z"}, delimited.Occurrences{}, delimited.Occurrences{Count: 1, Line: 2}},
		{
			table,
			"a,b\n1,\"x\ny, z\n(1, 2)\"\n",
			[]string{"2: 1|x\ny, z\n(1, 2)"},
			delimited.Occurrences{},
			delimited.Occurrences{Count: 1, Line: 2},
		},
		{
			table,
			"a,b\n\"x,\n\ny\" ,1\n\"\n\",2",
			[]string{"2: x,\n\ny|1", "5: |2"},
			delimited.Occurrences{},
			delimited.Occurrences{Count: 2, Line: 2},
		},
		{
			table,
			"a,b\n\"x\" y,1\n\"x\" y\n1,\"z\n\n\n\n\"",
			[]string{"2: \"x\" y|1", "3! " + delimited.ReasonQuotes, "4: 1|\"z", "8! " + delimited.ReasonQuotes},
			delimited.Occurrences{Count: 2, Line: 2},
			delimited.Occurrences{},
		},
		{table, "a,b\n1,\"x\n\xff\"\n", []string{"2! not UTF-8", "3! not UTF-8"}, delimited.Occurrences{}, delimited.Occurrences{}},
		{
			tabbed,
			"a\tb\t\n\"1 \"\"x\"\"\"\t\"y\nz\"\t\n\t24\" \t\n\"The\" bar\t1\t2\n",
			[]string{"2: 1 \"x\"|y\nz|", "4: |24\"|", "5: \"The\" bar|1|2"},
			delimited.Occurrences{Count: 1, Line: 5},
			delimited.Occurrences{Count: 1, Line: 2},
		},
		// These tables have other line ends, and a first line from Excel.
		{table, "a,b\r1,\"x\ry\"\r\r2,z\r", []string{"2: 1|x\ny", "5: 2|z"}, delimited.Occurrences{}, delimited.Occurrences{Count: 1, Line: 2}},
		{table, "sep=;\r\na;b\r\n1,1;2\r\n", []string{"3: 1,1|2"}, delimited.Occurrences{}, delimited.Occurrences{}},
		{table, "\ufeffSEP=\t\na\tb\n1,1\t\n", []string{"3: 1,1|"}, delimited.Occurrences{}, delimited.Occurrences{}},
		{table, "sep=,b\n1,2\n", []string{"2: 1|2"}, delimited.Occurrences{}, delimited.Occurrences{}},
	} {
		var in *delimited.Reader
		tc.format.Header = func([][]byte, error) error { return nil }
		got := readAll(t, &in, tc.text, tc.format)
		if !slices.Equal(got, tc.want) || in.StrayQuotes != tc.stray || in.JoinedLines != tc.joined {
			t.Errorf("%q: %q, %v %v; want %q, %v %v", tc.text, got, in.StrayQuotes, in.JoinedLines, tc.want, tc.stray, tc.joined)
		}
	}
}

// TestBackslashes tests that \" within quotes is a quote where a row has the header's columns only then.
func TestBackslashes(t *testing.T) {
	f := delimited.Format{Separator: ',', MaxBytes: 1000, MaxLines: 9, AllowBlanks: true, Header: func([][]byte, error) error { return nil }}
	for _, tc := range []struct {
		rows, want  string
		backslashes int
	}{
		{`"N31 59.0\"; W120 58.7\"",7`, `2: N31 59.0"; W120 58.7"|7`, 1},
		{`"8\" x 6\", steel", "b"`, `2: 8" x 6", steel|b`, 1},
		{`"labelled \"a, \"b\"",7`, `2: labelled "a, "b"|7`, 1},
		{`"C:\a\",7`, `2: C:\a\|7`, 0},
		{`"C:\a\","b, c"`, `2: C:\a\|b, c`, 0},
		{`"say \"C:\\",7`, `2: say "C:\\|7`, 1},
		{`24\" pipe,7`, `2: 24\" pipe|7`, 0},
		{`a \"b\",7`, `2: a \"b\"|7`, 0},
		{`"a\"b","c","d"`, `2! quotes are not closed`, 0},
		{"\"C:\\\",\"two\nlines\"", "2: C:\\|two\nlines", 0},
		{"\"a \\\"b\\\"\",1\n\"c\",2", "2: a \"b\"|1 3: c|2", 1},
	} {
		var in *delimited.Reader
		got := strings.Join(readAll(t, &in, "a,b\n"+tc.rows+"\n", f), " ")
		if !strings.HasPrefix(got, tc.want) || in.Backslashes.Count != tc.backslashes {
			t.Errorf("%s: %s, %d; want %s, %d", tc.rows, got, in.Backslashes.Count, tc.want, tc.backslashes)
		}
	}
}

func TestReaderFails(t *testing.T) {
	for _, text := range []string{"", "a\nb", strings.Repeat("x", 80), "a\n\"b\n"} {
		in := delimited.New(io.MultiReader(strings.NewReader(text), iotest.ErrReader(io.ErrClosedPipe)), "f", strict)
		var last error
		for _, err := range delimited.Records(in, func(*string) error {
			_, err := in.Fields()
			return err
		}) {
			last = err
		}
		if !errors.Is(last, io.ErrClosedPipe) || !strings.HasPrefix(last.Error(), "f: line ") {
			t.Errorf("%q: %v", text, last)
		}
	}
}

// If each line opens a quote that no later line closes, lines are read about once. They are not
// read again for each quote, as far as a row may extend.
func TestQuotesThatStayOpen(t *testing.T) {
	const lines = 200_000
	f := delimited.Format{
		Separator:   ',',
		MaxBytes:    256 << 10,
		MaxLines:    100_000,
		AllowBlanks: true,
		Header:      func([][]byte, error) error { return nil },
	}
	var at *delimited.Reader
	if rows := readAll(t, &at, "a,b\n"+strings.Repeat("x\",\"y\n", lines), f); len(rows) != lines || at.StrayQuotes.Count != lines {
		t.Errorf("%d rows, of which %d have stray quotes; want %d", len(rows), at.StrayQuotes.Count, lines)
	}
	// The quotes of a valid row are still respected.
	if rows := readAll(t, &at, "a,b\n1,\"5 x\n2,y\n3,\"p\nq\"\n", f); !slices.Contains(rows, "4: 3|p\nq") {
		t.Errorf("%q", rows)
	}
}

// A field has the same value in every way of quoting.
func TestQuotesProperty(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := delimited.Format{Separator: ',', MaxBytes: 4 << 10, MaxLines: 99, AllowBlanks: rapid.Bool().Draw(t, "lax")}
		want := rapid.SliceOfN(rapid.StringMatching("([a-z\",](\n|[a-z\", ])*[a-z\",])?"), 1, 6).Draw(t, "fields")
		var b strings.Builder
		for i, field := range want {
			if f.AllowBlanks { // no format is lax and has rows of several lines
				field = strings.ReplaceAll(field, "\n", "")
				want[i] = field
			}
			if i > 0 {
				b.WriteByte(',')
			}
			if strings.ContainsAny(field, "\",\n") || rapid.Bool().Draw(t, "quoted") {
				field = `"` + strings.ReplaceAll(field, `"`, `""`) + `"`
			}
			b.WriteString(field)
		}
		if b.Len() == 0 {
			return // a blank line
		}
		in := delimited.New(strings.NewReader(b.String()), "f", f)
		_, err := in.Next()
		if err != nil {
			t.Fatal(err)
		}
		got, err := in.Fields()
		if err != nil || len(got) != len(want) {
			t.Fatalf("%s: %q, %v", b.String(), got, err)
		}
		for i := range want {
			if string(got[i]) != want[i] {
				t.Fatalf("%s: field %d is %q, want %q", b.String(), i, got[i], want[i])
			}
		}
	})
}

// No table makes the reader exceed its bounds of memory, miscount lines or read endlessly.
func FuzzRead(f *testing.F) {
	f.Add("a,\"b\nc\"\n\"\"\"\n", byte(0))
	f.Add("a,b\n1,\"\n2,\"\r3\"\",4\n\"\n", byte(0xff))
	f.Add("\ufeff# a\n\"\n\"\n\"\n\"\nb\t\xff\r\n", byte(7))
	f.Fuzz(func(t *testing.T, text string, how byte) {
		format := delimited.Format{
			Separator:   ',',
			MaxBytes:    32,
			MaxLines:    int(how>>4) % 5,
			AllowBlanks: how&1 != 0,
			Comments:    []string{"#", "; "}[:how>>1&1*2],
			RequireUTF8: how&4 != 0,
		}
		if how&8 != 0 {
			format.Separator, format.Quoted = '\t', how&1 == 0
		}
		if how == 0xff {
			format.Header = func([][]byte, error) error { return nil }
		}
		in := delimited.New(strings.NewReader(text), "f", format)
		last, most := 0, strings.Count(text, "\n")+strings.Count(text, "\r")+1
		for size, err := range delimited.Records(in, func(size *int) error {
			fields, err := in.Fields()
			for _, field := range fields {
				*size += len(field)
			}
			return err
		}) {
			if err != nil && !delimited.IsBad(err) {
				t.Fatal(err)
			}
			if size > format.MaxBytes || in.Line <= last || in.Line > most {
				t.Fatalf("%d bytes in line %d after %d of %d", size, in.Line, last, most)
			}
			last = in.Line
		}
	})
}
