package instant_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quadrille/internal/instant"
)

// slow parses a time with the standard library.
func slow(s string) (time.Time, bool) {
	if when, err := time.Parse(time.DateOnly, s); err == nil {
		return when, true
	}
	if len(s) > 10 && strings.Contains("tT ", s[10:11]) { // RFC 3339, section 5.6
		s = s[:10] + "T" + s[11:]
	}
	when, err := time.Parse(time.RFC3339, strings.ToUpper(s))
	return when.UTC(), err == nil && when.UTC().Year() >= 0 && when.UTC().Year() <= 9999 && !strings.Contains(s, ",")
}

// Parse accepts the times that the standard library accepts and RFC 3339 permits.
func TestParse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.StringMatching(`[0-9]{3,4}-[01][0-9]-[0-3][0-9]([Tt ][0-2][0-9]:[0-6][0-9]:[0-6][0-9](\.[0-9]{0,11})?([Zz]|[+-][0-2][0-9]:[0-6][0-9])?)?`).Draw(t, "time")
		got, ok := instant.Parse(s)
		want, wantOK := slow(s)
		// time.Parse accepts offsets of 24 hours and 60 minutes
		if ok != wantOK && !(strings.HasSuffix(s, ":60") || strings.Contains(s[len(s)-6:], "24:")) {
			t.Fatalf("%s: %v, want %v", s, ok, wantOK)
		}
		if ok && (!got.Equal(want) || got.Location() != time.UTC) {
			t.Fatalf("%s: %v, want %v", s, got, want)
		}
		bytes, okBytes := instant.Parse([]byte(s))
		if okBytes != ok || !bytes.Equal(got) {
			t.Fatalf("%s: %v as bytes, %v as text", s, bytes, got)
		}
		first, last, okSpan := instant.ParseSpan(s)
		end := got
		if ok && instant.IsDate(s) {
			end = got.Add(24*time.Hour - 1)
		}
		if okSpan != ok || !first.Equal(got) || !last.Equal(end) {
			t.Fatalf("%s is from %v to %v", s, first, last)
		}
	})
}

func TestParseAllocates(t *testing.T) {
	for _, s := range []string{"2026-01-31", "2026-01-31 12:00:00.5+01:00", "no time at all, but a text"} {
		if n := testing.AllocsPerRun(100, func() { instant.Parse(s) }); n != 0 {
			t.Errorf("%s takes %v allocations", s, n)
		}
	}
}
