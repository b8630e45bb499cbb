package places_test

import (
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
