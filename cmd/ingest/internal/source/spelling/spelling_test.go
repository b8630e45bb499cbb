package spelling_test

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/ingest/internal/source/spelling"
	"quadrille/internal/instant"
	"quadrille/internal/jsontext"
	"quadrille/internal/must"
)

// column yields features with a property x each, of JSON values.
func column(values ...string) iter.Seq2[source.Feature, error] {
	return func(yield func(source.Feature, error) bool) {
		value := make([]byte, 0, 100)
		for i, v := range values {
			value = append(value[:0], v...)
			if !yield(source.Feature{Line: i + 2, Members: []source.Member{{Name: "x", Value: value}}}, nil) {
				return
			}
		}
	}
}

// texts yields features of texts.
func texts(values ...string) iter.Seq2[source.Feature, error] {
	quoted := make([]string, len(values))
	for i, v := range values {
		quoted[i] = string(jsontext.AppendString(nil, v))
	}
	return column(quoted...)
}

func values(t interface{ Error(...any) }, in iter.Seq2[source.Feature, error]) (all []string) {
	for f, err := range in {
		if err != nil {
			t.Error(err)
			continue
		}
		all = append(all, strings.Trim(string(f.Members[0].Value), `"`))
	}
	return all
}

func TestColumns(t *testing.T) {
	berlin := must.Get(time.LoadLocation("Europe/Berlin")).In(t)
	told := func(string) bool { return true }
	for name, tc := range map[string]struct {
		in, want string // of a column, separated by |
		style    spelling.Style
		typed    bool
		note     string
	}{
		"times of RFC 3339":        {in: "2024-01-02T03:04:05Z|2024-01-02", want: "2024-01-02T03:04:05Z|2024-01-02"},
		"times without a zone":     {in: "2024-01-02 03:04:05|2024-01-02T03:04|2024-01-02", want: "2024-01-02T03:04:05Z|2024-01-02T03:04:00Z|2024-01-02", note: `f: "x": its times without a zone, as "2024-01-02 03:04:05", are those of UTC`},
		"of a zone":                {in: "2024-01-02 03:04:05.5|2024-07-02 03:04:05", want: "2024-01-02T03:04:05.5+01:00|2024-07-02T03:04:05+02:00", style: spelling.Style{Zone: berlin}, note: "are those of Europe/Berlin"},
		"words of zones":           {in: "2024-01-02 03:04:05 UTC|2024-01-02 03:04:05+00|2024-01-02 03:04:05 +0530", want: "2024-01-02T03:04:05Z|2024-01-02T03:04:05Z|2024-01-02T03:04:05+05:30"},
		"day first":                {in: "31/12/2024|01/02/2024|1/2/2024 14:05", want: "2024-12-31|2024-02-01|2024-02-01T14:05:00Z", note: `the day first, as "31/12/2024"`},
		"month first":              {in: "12/31/2024|01/02/2024|1/2/2024 2:05 PM", want: "2024-12-31|2024-01-02|2024-01-02T14:05:00Z", note: `the month first, as "12/31/2024"`},
		"German":                   {in: "1.2.2024|03.04.2024 5:06", want: "2024-02-01|2024-04-03T05:06:00Z"},
		"either":                   {in: "1/2/2024|3/4/2024", want: "1/2/2024|3/4/2024", note: "--date-order says which"},
		"either, told":             {in: "1/2/2024|3/4/2024", want: "2024-01-02|2024-03-04", style: spelling.Style{DateOrder: spelling.MonthFirst}},
		"both":                     {in: "31/12/2024|12/31/2024|1/2/2024", want: "31/12/2024|12/31/2024|1/2/2024", note: `contradict each other: "31/12/2024" in line 2 has the day first, and "12/31/2024" in line 3 the month`},
		"both, told":               {in: "31/12/2024|12/31/2024", want: "2024-12-31|12/31/2024", style: spelling.Style{DateOrder: spelling.DayFirst}, note: `1 values are written otherwise and stay as they are, the first "12/31/2024" in line 3`},
		"no date":                  {in: "30/02/2024|31/12/2024", want: "30/02/2024|31/12/2024"},
		"decimal commas":           {in: "1,5|-20.986,50|3|1 234,5", want: "1.5|-20986.50|3|1234.5", note: "decimal commas"},
		"thousands or decimals":    {in: "1,234|12,500", want: "1,234|12,500"},
		"told to be decimals":      {in: "1,234|1.000|2", want: "1.234|1000|2", style: spelling.Style{Decimal: ","}},
		"shown to be decimals":     {in: "1,234|0,5", want: "1.234|0.5"},
		"told to be none":          {in: "1,25|0,5", want: "1,25|0,5", style: spelling.Style{Decimal: "."}},
		"numbers of houses":        {in: "1|2|3|12,14", want: "1|2|3|12,14"},
		"points among commas":      {in: "1.234|12.5|3,5|4,5", want: "1.234|12.5|3,5|4,5"},
		"lists":                    {in: "1,10|1,1|7,23", want: "1,10|1,1|7,23", style: spelling.Style{Listed: true}},
		"declared among points":    {in: "12.125|13.5|3,5", want: "12.125|13.5|3,5", style: spelling.Style{IsNumber: told}},
		"declared thousands":       {in: "1,234|12,345|999", want: "1,234|12,345|999", style: spelling.Style{IsNumber: told}},
		"declared text":            {in: "1,10|31/12/2024", want: "1,10|31/12/2024", style: spelling.Style{IsText: told, Decimal: ","}},
		"telephone numbers":        {in: "+41 301 234|+41 301 235", want: "+41 301 234|+41 301 235", style: spelling.Style{Decimal: ","}},
		"no zone":                  {in: "2024-01-01 10:00 UTCGMT", want: "2024-01-01 10:00 UTCGMT"},
		"no such time":             {in: "2024-03-31 02:30:00|2024-03-31 03:30:00", want: "2024-03-31 02:30:00|2024-03-31T03:30:00+02:00", style: spelling.Style{Zone: berlin}},
		"dates of eight digits":    {in: "20241231|20250101", want: "20241231|20250101", style: spelling.Style{IsTime: told}},
		"early milliseconds":       {in: "63072000000|1700000000000", want: "1972-01-01T00:00:00Z|2023-11-14T22:13:20Z", style: spelling.Style{IsTime: told}},
		"points":                   {in: "1.234|5.678", want: "1.234|5.678"},
		"words among numbers":      {in: "1,5|none", want: "1,5|none"},
		"versions and addresses":   {in: "1.2.3.4|10.0.0.1", want: "1.2.3.4|10.0.0.1"},
		"text of a typed file":     {in: "31/12/2024", want: "31/12/2024", typed: true},
		"declared in a typed file": {in: "31/12/2024", want: "2024-12-31", typed: true, style: spelling.Style{IsTime: told}},
		"seconds":                  {in: "1704067205|1706835665", want: "2024-01-01T00:00:05Z|2024-02-02T01:01:05Z", style: spelling.Style{IsTime: told}, note: "since 1970"},
		"milliseconds":             {in: "1704067205000", want: "2024-01-01T00:00:05Z", style: spelling.Style{IsTime: told}},
		"numbers":                  {in: "1704067205", want: "1704067205"},
		"empty ones":               {in: "|31/12/2024| ", want: "|2024-12-31| "},
	} {
		r := spelling.New("f", !tc.typed, tc.typed, tc.style)
		got := values(t, r.Features(texts(strings.Split(tc.in, "|")...)))
		if d := cmp.Diff(strings.Split(tc.want, "|"), got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
		if notes := strings.Join(r.Notes(), "\n"); !strings.Contains(notes, tc.note) || notes != "" && tc.in == tc.want && tc.note == "" {
			t.Errorf("%s: %q, want %q", name, notes, tc.note)
		}
	}
	// Numbers of typed files are times, too.
	r := spelling.New("f", false, true, spelling.Style{IsTime: told})
	if got := values(t, spelling.New("f", true, true, spelling.Style{}).Features(texts("1,5", "-20.986,50"))); !slices.Equal(got, []string{"1.5", "-20986.50"}) {
		t.Errorf("%q", got)
	}
	if got := values(t, r.Features(column("1704067205", "null", "true"))); !strings.HasPrefix(got[0], "2024-") && got[1] != "null" {
		t.Errorf("%q", got)
	}
}

// TestLate tests that values behind those that were read ahead stay, if they are written otherwise, and are counted.
func TestLate(t *testing.T) {
	all := make([]string, 0, 6002)
	for range 6000 {
		all = append(all, "31/12/2024")
	}
	all = append(all, "soon", "2024-01-02T00:00:00Z")
	r := spelling.New("f", true, false, spelling.Style{})
	got := values(t, r.Features(texts(all...)))
	if len(got) != 6002 || got[5999] != "2024-12-31" || got[6000] != "soon" || got[6001] != "2024-01-02T00:00:00Z" {
		t.Errorf("%d, %q", len(got), got[max(0, len(got)-3):])
	}
	if notes := fmt.Sprint(r.Notes()); !strings.Contains(notes, `1 values are written otherwise and stay as they are, the first "soon" in line 6002`) {
		t.Error(notes)
	}
	// An error of the file ends the sequence after the features before it.
	broken := errors.New("broken")
	n := 0
	for _, err := range spelling.New("f", true, false, spelling.Style{}).Features(func(yield func(source.Feature, error) bool) {
		_ = yield(source.Feature{}, nil) && yield(source.Feature{}, &source.BadRecord{}) && yield(source.Feature{}, broken)
	}) {
		if n++; n == 3 && !errors.Is(err, broken) || n == 1 && err != nil {
			t.Error(n, err)
		}
	}
	if n != 3 {
		t.Errorf("%d records", n)
	}
}

// TestAnyTime compares with the standard library what is read of times in the usual layouts.
func TestAnyTime(t *testing.T) {
	layouts := []string{"02/01/2006", "2/1/2006 15:04", "02.01.2006 15:04:05", "2006-01-02 15:04:05", "2006/01/02 15:04", "02-01-2006 03:04:05 PM", "2006-01-02 15:04:05.999999 MST"}
	rapid.Check(t, func(r *rapid.T) {
		layout := rapid.SampledFrom(layouts).Draw(r, "layout")
		at := time.Unix(rapid.Int64Range(-5e9, 5e9).Draw(r, "at"), 0).UTC()
		text := at.Format(layout)
		// A day over 12 shows the order.
		got := values(r, spelling.New("f", true, false, spelling.Style{}).Features(texts(text, time.Date(2024, 1, 31, 0, 0, 0, 0, time.UTC).Format(layout))))
		want := must.Get(time.Parse(layout, text)).In(r)
		if when, ok := instant.Parse(got[0]); !ok || !when.Equal(want) {
			r.Errorf("%q is %q, want %v", text, got[0], want)
		}
	})
}

// FuzzText: any text is rewritten as a number or time that can be read, or stays.
func FuzzText(f *testing.F) {
	for _, text := range []string{"1,5", "31/12/2024", "2024-01-02 03:04:05 +5", "1.2.2024 25:00", "+1'234,5", "9999-12-31 23:59:59 -14"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, style := range []spelling.Style{{}, {Decimal: ","}, {IsTime: func(string) bool { return true }, DateOrder: spelling.DayFirst}} {
			quoted := string(jsontext.AppendString(nil, text))
			for _, got := range values(t, spelling.New("f", true, false, style).Features(column(quoted))) {
				if quoted == `"`+got+`"` {
					continue
				}
				_, isTime := instant.Parse(got)
				if _, isNumber := source.ParseDecimal(got, 1e300); !isTime && !isNumber && strings.Trim(quoted, `"`) != got {
					t.Errorf("%q became %q", text, got)
				}
			}
		}
	})
}
