package places_test

import (
	"slices"
	"testing"

	"quadrille/places"
)

func TestISODivision(t *testing.T) {
	for _, c := range []struct {
		country, admin1, code string
		known                 bool
	}{
		{"CH", "ZH", "ZH", true}, {"CH", "00", "", true}, {"CH", "", "", true}, {"LI", "11", "11", true},
		{"GB", "ENG", "ENG", true}, {"GB", "KEN", "", true}, {"GB", "00", "", true},
		{"FR", "11", "", false}, {"", "", "", false},
	} {
		if code, known := places.ISODivision(c.country, c.admin1); code != c.code || known != c.known {
			t.Errorf("%s.%s: %q, %v", c.country, c.admin1, code, known)
		}
	}
}

// A division is joined by its code or any of its names, in its own country.
func TestISONames(t *testing.T) {
	for _, c := range []struct{ country, name, code, other string }{
		{"DE", "Bavaria", "DE-BY", "Bayern"}, {"DE", "bayern", "DE-BY", "Bavaria"}, {"DE", "North Rhine-Westphalia", "DE-NW", "NRW"},
		{"CA", "Ontario", "CA-ON", "Ontario"}, {"FR", "Ile-de-France", "FR-IDF", "Île-de-France"}, {"MX", "Mexico City", "MX-CMX", "CDMX"},
		{"DE", "DE-BY", "DE-BY", "Bayern"}, {"TH", "TH", "TH", "Siam"}, {"TH", "Siam", "", ""}, {"VN", "Hanoi", "VN-HN",
			"Hanoi"}, {"AT", "Bavaria", "", ""}, {"", "Bavaria", "", ""}, {"DE", "", "", ""}, {"DE", "…", "", ""},
	} {
		code, names := places.ISONames(c.country, c.name)
		if code != c.code || c.other != "" && !slices.Contains(names, c.other) {
			t.Errorf("%s %s: %q, %q", c.country, c.name, code, names)
		}
	}
}
