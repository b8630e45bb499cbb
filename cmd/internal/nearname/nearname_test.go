package nearname

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOf(t *testing.T) {
	known := []string{"lat", "lon", "lang", "limit", "min_population", "class", "code", "country", "q", "at", "types"}
	for name, want := range map[string]string{
		"limt": "limit", "LIMIT": "limit", "Lat": "lat", "lng": "lang", "longitude": "lon", "latitude": "lat", "language": "lang",
		"min_pop": "min_population", "type": "types", "categories": "", "category": "", "f": "", "query": "", "": "", "xy": "",
		"é": "", "\xff": "", strings.Repeat("limit", 100): "", "minpopulation": "min_population",
	} {
		if got := Of(name, slices.Values(known)); got != want {
			t.Errorf("%.20q: %q, want %q", name, got, want)
		}
	}
}

// The order in which names are known does not matter, and what is known is found.
func TestOfProperties(t *testing.T) {
	names := rapid.SliceOfN(rapid.StringMatching(`[a-z_]{1,8}`), 1, 12)
	rapid.Check(t, func(t *rapid.T) {
		known, name := names.Draw(t, "known"), rapid.StringMatching(`[a-zA-Z_]{0,9}`).Draw(t, "name")
		got := Of(name, slices.Values(known))
		slices.Reverse(known)
		if again := Of(name, slices.Values(known)); again != got {
			t.Fatalf("%q or %q, by the order", got, again)
		}
		if got != "" && !slices.Contains(known, got) {
			t.Fatalf("%q is not known", got)
		}
		if some := known[0]; Of(strings.ToUpper(some), slices.Values(known)) != some {
			t.Fatalf("%q is not found", some)
		}
	})
}

// edits against the definition.
func TestEdits(t *testing.T) {
	var slow func(a, b string) int
	slow = func(a, b string) int {
		switch {
		case a == "" || b == "":
			return len(a) + len(b)
		case a[0] == b[0]:
			return slow(a[1:], b[1:])
		}
		return 1 + min(slow(a[1:], b), slow(a, b[1:]), slow(a[1:], b[1:]))
	}
	word := rapid.StringMatching(`[ab]{0,6}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if got, want := edits(a, b), slow(a, b); got != want {
			t.Fatalf("%q to %q: %d, want %d", a, b, got, want)
		}
	})
}
