package tile

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var someSets = []string{"boundaries", "places", "airports", "bus-stops"}

// TestGenerationsText tests that every set of generations has only one text, and that this text
// parses to the same set.
func TestGenerationsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := generations{mark: rapid.Uint32().Draw(t, "mark")}
		for _, name := range someSets {
			if n := rapid.Uint64().Draw(t, "number"); n > 0 && rapid.Bool().Draw(t, "named") {
				g.add(name, n)
			}
		}
		back, ok := parseGenerations(g.String(), someSets)
		if len(g.names) > 0 && (!ok || back.mark != g.mark || !slices.Equal(back.names, g.names) || !slices.Equal(back.numbers, g.numbers)) {
			t.Fatalf("%s became %s, %v", g, back, ok)
		}
	})
}

// TestOlderGenerations tests addresses of releases up to 0.16, which have only the numbers of the
// generations.
func TestOlderGenerations(t *testing.T) {
	for text, want := range map[string][]uint64{
		"3.2.0-1f0c77ab": {3, 2, 0}, "0.0.1-00000000": {0, 0, 1}, "0.0.0.7-ffffffff": {0, 0, 0, 7},
		"0.0.0-00000000":                     nil,
		"3.2-00000000":                       nil,
		"3.2.0.0-00000000":                   nil,
		"1.2.3.4.5-00000000":                 nil,
		"03.2.0-00000000":                    nil,
		"+3.2.0-00000000":                    nil,
		"3.2.0-1F0C77AB":                     nil,
		"3.2.0-1f0c":                         nil,
		"places.2.boundaries.3-00000000":     nil,
		"boundaries.0-00000000":              nil,
		"boundaries.3.boundaries.3-00000000": nil,
		"planets.1-00000000":                 nil,
		"boundaries-00000000":                nil,
		"-00000000":                          nil,
		"boundaries.3-00000000":              {3}, "places.2.bus-stops.1-00000000": {2, 1},
	} {
		g, ok := parseGenerations(text, someSets)
		if ok != (want != nil) || ok && !slices.Equal(g.numbers, want) {
			t.Errorf("%s: %v, %v", text, g, ok)
		}
	}
}

func FuzzParseGenerations(f *testing.F) {
	for _, s := range []string{"boundaries.1.places.2-00000000", "1.2.3-00000000", "1.2-0", "0.0.0-00000000", "+1.2.3-00000000",
		"1.2.3.4-ffffffff", "1.2.3.0-00000000", "0.0.0.1-00000000", "-", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		g, ok := parseGenerations(s, someSets)
		if older := ok && s[0] >= '0' && s[0] <= '9'; ok && !older && g.String() != s {
			t.Errorf("%q reads as %s", s, g)
		}
	})
}
