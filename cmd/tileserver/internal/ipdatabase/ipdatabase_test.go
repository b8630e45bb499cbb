package ipdatabase

import (
	"strings"
	"testing"
	"time"

	"quadrille/cellstore/dataset"
)

// The header names the generation, its age and its sources, each once and in characters that are
// allowed in a header; answers name the sources.
func TestDescribeDatabase(t *testing.T) {
	built := time.Date(2026, 11, 20, 5, 0, 0, 0, time.FixedZone("", 3600))
	for _, c := range []struct {
		sources        []dataset.Source
		header, member string
	}{
		{nil, "ip/12; built=2026-11-20T04:00:00Z", ""},
		{[]dataset.Source{{License: "CC0-1.0"}}, `ip/12; built=2026-11-20T04:00:00Z; license="CC0-1.0"`, ""},
		{
			[]dataset.Source{
				{Name: "A", License: "CC0-1.0", Modified: built.AddDate(0, 0, -1)},
				{Name: "B", License: "CC0-1.0", Modified: built},
				{Name: "A"},
			},
			`ip/12; built=2026-11-20T04:00:00Z; data=2026-11-20T04:00:00Z; source="A, B"; license="CC0-1.0"`, `,"source":"A, B"`,
		},
		{
			[]dataset.Source{{Name: "\"é\r\nX-Evil: 1\\"}},
			`ip/12; built=2026-11-20T04:00:00Z; source="?????X-Evil: 1?"`,
			`,"source":"\"é\u000d\u000aX-Evil: 1\\"`,
		},
		{
			[]dataset.Source{{Name: strings.Repeat("a", 500)}},
			`ip/12; built=2026-11-20T04:00:00Z; source="` + strings.Repeat("a", maxDescribed) + `"`,
			`,"source":"` + strings.Repeat("a", 500) + `"`,
		},
	} {
		m := &dataset.Manifest{Dataset: "ip", Generation: 12, Built: built, Sources: c.sources}
		if got := describeDatabase(m); got != c.header {
			t.Errorf("%+v: %s, want %s", c.sources, got, c.header)
		}
		if got := string(encodeSources(m)); got != c.member {
			t.Errorf("%+v: %s, want %s", c.sources, got, c.member)
		}
	}
}
