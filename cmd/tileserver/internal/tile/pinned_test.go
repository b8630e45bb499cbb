package tile

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Every set of generations has one text, which reads as itself.
func TestGenerationsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		numbers := rapid.SliceOfN(rapid.Uint64(), leastNumbers, 6).Draw(t, "numbers")
		g := newGenerations(numbers, rapid.SliceOfN(rapid.Uint64(), 6, 6).Draw(t, "ids"))
		back, ok := parseGenerations(g.String(), 6)
		if slices.Max(g.numbers) > 0 && (!ok || back.mark != g.mark || !slices.Equal(back.numbers, g.numbers)) {
			t.Fatalf("%s became %s, %v", g, back, ok)
		}
	})
}

func FuzzParseGenerations(f *testing.F) {
	for _, s := range []string{"1.2.3-00000000", "1.2-0", "0.0.0-00000000", "+1.2.3-00000000", "1.2.3.4-ffffffff", "1.2.3.0-00000000", "0.0.0.1-00000000", "-", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if g, ok := parseGenerations(s, 4); ok && g.String() != s {
			t.Errorf("%q reads as %s", s, g)
		}
	})
}
