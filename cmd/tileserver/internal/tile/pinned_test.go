package tile

import (
	"testing"

	"pgregory.net/rapid"
)

// Every set of generations has one text, which reads as itself.
func TestGenerationsText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := generations{mark: rapid.Uint32().Draw(t, "mark")}
		for i := range g.numbers {
			g.numbers[i] = rapid.Uint64().Draw(t, "number")
		}
		back, ok := parseGenerations(g.String())
		if g.numbers != [3]uint64{} && (!ok || back != g) {
			t.Fatalf("%s became %s, %v", g, back, ok)
		}
	})
}

func FuzzParseGenerations(f *testing.F) {
	for _, s := range []string{"1.2.3-00000000", "1.2-0", "0.0.0-00000000", "+1.2.3-00000000", "1.2.3.4-ffffffff", "-", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if g, ok := parseGenerations(s); ok && g.String() != s {
			t.Errorf("%q reads as %s", s, g)
		}
	})
}
