package format

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/charset"
	"quadrille/cmd/ingest/internal/source/delimited"
	"quadrille/cmd/internal/testfile"
	"quadrille/internal/instant"
)

// All readers judge words, numbers, times, encodings, separators and foreign kinds by these
// functions, so that equal text has the same meaning in every format and for every command.
func TestJudges(t *testing.T) {
	words := func(w *source.Words) func(string) string {
		return func(text string) string { return fmt.Sprint(w.Has([]byte(text))) }
	}
	separator := func(frequent bool, groups ...string) func(string) string {
		return func(text string) string {
			return fmt.Sprintf("%q", delimited.DetectSeparator([]byte(text), frequent, groups...))
		}
	}
	foreign := func(want source.Want) func(string) string {
		return func(text string) string {
			f, err := source.Open(testfile.WriteTemp(t, "f", text))
			if err != nil {
				return err.Error()
			}
			defer f.Close()
			return fmt.Sprint(f.Refuse(want))
		}
	}
	for name, judge := range map[string]struct {
		of    func(string) string
		cases map[string]string // text and a part of its judgment
	}{
		"empty words": {
			words(source.EmptyWords),
			map[string]string{
				"":     "false",
				"NULL": "true",
				"Null": "false",
				`\N`:   "true",
				"-":    "true",
				"n/a":  "true",
				"nan":  "true",
				"Nan":  "false",
				"0":    "false",
			},
		},
		"unknown words": {
			words(source.UnknownWords),
			map[string]string{"ZZ": "true", "xx": "true", "Unknown": "true", "NA": "false", "--": "true"},
		},
		"unknown codes": {words(source.UnknownCodes), map[string]string{"-99": "true", "-9999": "true", "99": "false"}},
		"numbers": {
			func(text string) string { return fmt.Sprint(source.ParseDecimal(text, 1000)) },
			map[string]string{
				"1.5":  "1.5 true",
				"-1e2": "-100 true",
				"1,5":  "false",
				"NaN":  "false",
				"0x1":  "false",
				"1_0":  "false",
				"":     "false",
				"1001": "false",
			},
		},
		"times": {
			func(text string) string { return fmt.Sprint(instant.Parse(text)) },
			map[string]string{
				"2026-01-31":                "2026-01-31 00:00:00 +0000 UTC true",
				"2026-01-31 12:00:00+01:00": "2026-01-31 11:00:00 +0000 UTC true",
				"31/12/2024":                "false",
				"2026-02-30":                "false",
			},
		},
		"encoding names": {
			func(text string) string { e, known := charset.Find(text); return fmt.Sprint(e, known) },
			map[string]string{"latin1": "Windows 1252 true", "UTF-8": "<nil> true", "cp850": "IBM Code Page 850 true", "klingon": "false"},
		},
		"encodings": {func(text string) string {
			r := charset.NewGuessing(strings.NewReader(text), "f", func() (io.ReadCloser,
				error) {
				return io.NopCloser(strings.NewReader(text)), nil
			})
			read, err := io.ReadAll(r.Text())
			return fmt.Sprint(string(read), err)
		}, map[string]string{"Z\xfcrich": "Zürich<nil>", "Zürich": "Zürich<nil>", "\ufeffa": "a<nil>"}},
		"separators of tables": {
			separator(true, ",;\t"),
			map[string]string{"a;b;c,d\n,,,,": "';'", "a,b": "','", "\"a;;;\",b": "','", "\"a\n;\"\tb": "'\\t'", "a": "'\\x00'", "\"a;b": "';'"},
		},
		"separators of lists": {
			separator(false, ",\t", ";|"),
			map[string]string{"1\tA, B, C": "'\\t'", "1,A|B|C": "','", "1|2;3": "'|'", "1": "'\\x00'"},
		},
		"foreign shapes": {foreign(source.WantPolygons), map[string]string{
			"PAR1":                 "<nil>",
			"<a>":                  "or if it is GML",
			"fgb\x03":              "FlatGeobuf",
			"[{":                   "<nil>",
			"SQLite format 3":      "<nil>",
			"":                     "<nil>",
			"{":                    "<nil>",
			"i\x00d\x00,\x00a\x00": "<nil>",
			"\xff\xfe\x00\x00":     "it is text in UTF-32; convert it by iconv",
			"7z\xbc\xaf\x27\x1c":   "unpack it by 7z x FILE",
		}},
		"foreign addresses": {foreign(source.WantAddresses), map[string]string{
			"PAR1":            "<nil>",
			"<kml>":           "it is a page in HTML or XML and no data; open the address",
			"[{":              "<nil>",
			"SQLite format 3": "a CSV file",
			"":                "the file is empty",
			"\x01\x02\x1a\x0b\x0f" + strings.Repeat("\x00", 60): "is a BIN file of IP2Location",
		}},
		"foreign rows": {
			foreign(source.WantRows),
			map[string]string{"<html>": "it is a page in HTML or XML", "PAR1": "a CSV file", "[{": "jq -r", "a\tb": "<nil>", "": "<nil>"},
		},
	} {
		for text, want := range judge.cases {
			if got := judge.of(text); !strings.Contains(got, want) {
				t.Errorf("%s: %q: %s, want %s", name, text, got, want)
			}
		}
	}
}
