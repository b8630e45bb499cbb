package airport

import (
	"slices"
	"strings"
	"testing"

	"quadrille/places/airports"
)

// TestShortTypes tests that the last word of a two-word type may be omitted in requests. Each such
// type has a unique short word.
func TestShortTypes(t *testing.T) {
	var want []string
	for _, typ := range airports.Types() {
		if short, _, two := strings.Cut(typ, "_"); two {
			want = append(want, short)
			if airportTypes[short] != typ {
				t.Errorf("%s is %s, want %s", short, airportTypes[short], typ)
			}
		}
		if airportTypes[typ] != typ {
			t.Errorf("%s is %q", typ, airportTypes[typ])
		}
	}
	slices.Sort(want)
	if got := shortTypes(); !slices.Equal(got, want) || len(got) == 0 {
		t.Errorf("%q, want %q", got, want)
	}
}
