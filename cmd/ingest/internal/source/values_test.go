package source_test

import (
	"testing"

	"quadrille/cmd/ingest/internal/source"
)

func TestDecimal(t *testing.T) {
	for s, want := range map[string]float64{"0": 0, "-12.5": -12.5, "+47.383": 47.383, "1e2": 100, ".5": 0.5} {
		if v, ok := source.ParseDecimal(s, 100); !ok || v != want {
			t.Errorf("%q: %v, %v", s, v, ok)
		}
	}
	for _, s := range []string{"", " 1", "0x1p3", "1_0", "nan", "Inf", "-infinity", "1,5", "e", "--1", "1e999", "100.1"} {
		if v, ok := source.ParseDecimal(s, 100); ok {
			t.Errorf("%q is taken for %v", s, v)
		}
	}
}

func TestTextOf(t *testing.T) {
	for value, want := range map[string]string{
		`"a"`: "a", `""`: "", `"a\u00e9\"\n"`: "aé\"\n", `1.50`: "1.50", `null`: "null", `["a"]`: `["a"]`, ``: "", `"`: `"`,
	} {
		if got := string(source.TextOf([]byte(value))); got != want {
			t.Errorf("%s: %q, want %q", value, got, want)
		}
	}
}
