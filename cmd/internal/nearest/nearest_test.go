package nearest

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestName(t *testing.T) {
	flags := []string{"data", "listen", "store", "tls-cert", "tls-key", "ip", "list", "z"}
	for _, tc := range []struct{ got, want string }{
		{"data", "data"},
		{"dat", "data"},
		{"dtaa", "data"},
		{"date", "data"},
		{"lisen", "listen"},
		{"lst", "list"},
		{"LISTEN", "listen"},
		{"tls_cert", "tls-cert"},
		{"tlskey", "tls-key"},
		{"tls-kry", "tls-key"},
		{"pi", "ip"},
		{"stroe", "store"},
		{"dots", ""}, // two edits of four letters are another word
		{"x", ""},
		{"z", "z"},
		{"y", ""},
		{"", ""},
		{"tile", ""},
		{strings.Repeat("a", 1<<20), ""},
	} {
		got, ok := Name(tc.got, flags)
		if got != tc.want || ok != (tc.want != "") {
			t.Errorf("Name(%.20q) = %q, %v, want %q", tc.got, got, ok, tc.want)
		}
	}
	if got, ok := Name("abc", nil); ok {
		t.Errorf("of no names: %q", got)
	}
	if got, _ := Name("cat", []string{"rat", "bat", "hat"}); got != "bat" {
		t.Errorf("of names equally near: %q, want the first in order", got)
	}
}

func TestNameOfParameters(t *testing.T) {
	known := []string{"lat", "lon", "lang", "limit", "min_population", "class", "code", "country", "q", "at", "types"}
	for name, want := range map[string]string{
		"limt": "limit", "LIMIT": "limit", "Lat": "lat", "lng": "lang", "longitude": "lon", "latitude": "lat", "language": "lang",
		"min_pop": "min_population", "type": "types", "categories": "", "category": "", "f": "", "query": "", "": "", "xy": "",
		"é": "", "\xff": "", strings.Repeat("limit", 100): "", "minpopulation": "min_population",
	} {
		if got, _ := Name(name, known); got != want {
			t.Errorf("%.20q: %q, want %q", name, got, want)
		}
	}
}

// The order of the names does not matter, and the result is one of them.
func TestNameProperties(t *testing.T) {
	names := rapid.SliceOfN(rapid.StringMatching(`[a-z_]{1,8}`), 1, 12)
	rapid.Check(t, func(t *rapid.T) {
		known, name := names.Draw(t, "known"), rapid.StringMatching(`[a-zA-Z_]{0,9}`).Draw(t, "name")
		got, ok := Name(name, known)
		slices.Reverse(known)
		if again, _ := Name(name, known); again != got {
			t.Fatalf("%q or %q, by the order", got, again)
		}
		if ok && !slices.Contains(known, got) {
			t.Fatalf("%q is not known", got)
		}
		if some, _ := Name(strings.ToUpper(known[0]), known); some != known[0] {
			t.Fatalf("%q is not found but %q", known[0], some)
		}
	})
}

// The distance agrees with a direct translation of its definition.
func TestDistance(t *testing.T) {
	var slow func(a, b string) int
	slow = func(a, b string) int {
		if a == "" || b == "" {
			return len(a) + len(b)
		}
		n, m := len(a)-1, len(b)-1
		if a[n] == b[m] {
			return slow(a[:n], b[:m])
		}
		d := 1 + min(slow(a[:n], b[:m]), slow(a[:n], b), slow(a, b[:m]))
		if n > 0 && m > 0 && a[n] == b[m-1] && a[n-1] == b[m] {
			d = min(d, 1+slow(a[:n-1], b[:m-1]))
		}
		return d
	}
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringMatching(`[ab-]{0,6}`)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		if got, want := distance(a, b), slow(a, b); got != want {
			t.Fatalf("%q and %q: %d, want %d", a, b, got, want)
		}
		if name, ok := Name(a, []string{b}); ok && slow(a, name) > 2 && !begins(a, b) {
			t.Fatalf("%q is suggested for %q", name, a)
		}
		if _, ok := Name(a, []string{"other-name", a}); !ok {
			t.Fatalf("%q is not near to itself", a)
		}
	})
}
