package hierarchy

import (
	"testing"

	"quadrille/feature"
)

// The country of a region is the source's property "country", in either case.
func TestCountryOf(t *testing.T) {
	for members, want := range map[string]string{
		`"name":"A","country":"CH"`: "CH", `"COUNTRY":"CH"`: "CH", `"Country":"FR","name":"A"`: "FR",
		`"name":"A"`: "", `"country":5`: "", `"country":null,"COUNTRY":"CH"`: "CH",
	} {
		if got := countryOf(&feature.Feature{Properties: feature.CompactProperties([]byte(members))}); got != want {
			t.Errorf("%s: %q, want %q", members, got, want)
		}
	}
}
