package dataset

import (
	"slices"
	"testing"
	"time"
)

func TestLosses(t *testing.T) {
	m := Manifest{Records: map[string]int64{"ward": 5, "city": 90, "new": 1}}
	if got := m.Losses(0); got != nil {
		t.Errorf("lost %v where nothing was replaced", got)
	}
	m.SetPredecessor(&Manifest{Generation: 3, Records: map[string]int64{"ward": 20, "city": 100, "gone": 1, "empty": 0}})
	if got, want := m.Losses(0.1), []RecordLoss{{"gone", 1, 0}, {"ward", 20, 5}}; !slices.Equal(got, want) {
		t.Errorf("lost %v, want %v", got, want)
	}
	if got, want := m.Losses(0), []RecordLoss{{"city", 100, 90}, {"gone", 1, 0}, {"ward", 20, 5}}; !slices.Equal(got, want) {
		t.Errorf("lost %v, want %v", got, want)
	}
}

// TestEarlierEdition tests that a source of an earlier date is reported. Sources are compared by
// name or, if no name is in both lists, by the newest dates. A file with the same content and
// another date is the same edition.
func TestEarlierEdition(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 1, n, 12, 0, 0, 0, time.UTC) }
	old := &Manifest{
		Generation: 2,
		Sources:    []Source{{Name: "City", Modified: day(20), SHA256: "a"}, {Name: "own", Modified: day(10), SHA256: "b"}},
	}
	told := "City is of 2026-01-03, older than that of generation 2, which is of 2026-01-20"
	for name, tc := range map[string]struct {
		now  []Source
		want string
	}{
		"older":          {[]Source{{Name: "own", Modified: day(30)}, {Name: "City", Modified: day(3)}}, told},
		"newer":          {[]Source{{Name: "City", Modified: day(21)}}, ""},
		"the same day":   {[]Source{{Name: "City", Modified: day(20).Add(-time.Hour)}}, ""},
		"the same file":  {[]Source{{Name: "City", Modified: day(3), SHA256: "a"}}, ""},
		"without a date": {[]Source{{Name: "City"}}, ""},
		"another name": {
			[]Source{{Name: "x", Modified: day(3)}},
			"x is of 2026-01-03, older than that of generation 2, which is of 2026-01-20",
		},
		"one name differs": {[]Source{{Name: "x", Modified: day(3)}, {Name: "own", Modified: day(10)}}, ""},
		"nothing":          {nil, ""},
	} {
		if got := earlierEdition(tc.now, old); got != tc.want {
			t.Errorf("%s: %q, want %q", name, got, tc.want)
		}
	}
}
