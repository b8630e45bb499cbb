package iso3166

import (
	"bufio"
	"os"
	"strings"
	"testing"

	"golang.org/x/text/language"
)

func TestLookup(t *testing.T) {
	for _, tc := range []struct {
		code string
		want Country
		ok   bool
	}{
		{"FR", Country{"FR", "France", "EU", true}, true},
		{"fr", Country{"FR", "France", "EU", true}, true},
		{"CH", Country{"CH", "Switzerland", "EU", false}, true},
		{"GB", Country{"GB", "United Kingdom", "EU", false}, true},
		{"UK", Country{"GB", "United Kingdom", "EU", false}, true},
		{"NA", Country{"NA", "Namibia", "AF", false}, true}, // not "no answer"
		{"XK", Country{"XK", "Kosovo", "EU", false}, true},
		{"RE", Country{"RE", "Réunion", "AF", true}, true},
		{"HK", Country{"HK", "Hong Kong", "AS", false}, true},
		{"AN", Country{"AN", "Netherlands Antilles", "NA", false}, true},
		{"AP", Country{"AP", "Asia/Pacific Region", "", false}, true},
		{"EU", Country{"EU", "Europe", "EU", false}, true},
		{"QQ", Country{"QQ", "", "", false}, true},
		{"ZZ", Country{}, false},
		{"XX", Country{}, false},
		{"", Country{}, false},
		{"-", Country{}, false},
		{"A1", Country{}, false},
		{"@[", Country{}, false}, // letters but for the bit of case
		{"DEU", Country{}, false},
		{"É", Country{}, false},
	} {
		if got, ok := Lookup(tc.code); got != tc.want || ok != tc.ok {
			t.Errorf("Lookup(%q) = %+v, %v, want %+v, %v", tc.code, got, ok, tc.want, tc.ok)
		}
	}
}

// TestComplete tests that every country in CLDR that still exists has a continent and a unique
// name.
func TestComplete(t *testing.T) {
	for a := 'A'; a <= 'Z'; a++ {
		for b := 'A'; b <= 'Z'; b++ {
			code := string([]rune{a, b})
			c, ok := Lookup(code)
			if r, err := language.ParseRegion(code); err != nil || !r.IsCountry() || r.Canonicalize().String() != code {
				continue
			}
			// These are groups, and parts of countries to which only CLDR gives a code.
			if in("AC CP CQ CS DG DY EA EZ FX FQ HV IC JT MI NH NQ NT PC PU PZ RH SU TA UN VD WK YU", code) {
				continue
			}
			if !ok || c.Name == "" || ContinentName(c.Continent) == "" {
				t.Errorf("%s: %+v, %v", code, c, ok)
			}
		}
	}
	if n := len(strings.Fields(union)); n != 27+7 {
		t.Errorf("%d codes in the Union, want 34", n)
	}
	for code := range strings.FieldsSeq(union) {
		if !in(union, code) || continents[code] == "" {
			t.Errorf("%s of the Union has no continent", code)
		}
	}
	if in(union, "TB") || in(union, "T ") {
		t.Error("a code is found across two others")
	}
}

// The continents are compared with GeoNames' own list of countries.
func TestContinentsAgainstGeoNames(t *testing.T) {
	f, err := os.Open("../../../../../shared/data/geonames/meta/countryInfo.txt")
	if err != nil {
		t.Skip("no real data: ", err)
	}
	defer f.Close()
	n := 0
	for s := bufio.NewScanner(f); s.Scan(); {
		col := strings.Split(s.Text(), "\t")
		if strings.HasPrefix(col[0], "#") || len(col) < 9 || col[0] == "CS" { // Serbia and Montenegro, gone
			continue
		}
		n++
		// GeoNames assigns Christmas Island to Oceania but the neighbouring Cocos Islands to Asia.
		// GeoIP2 assigns both to Asia.
		if c, ok := Lookup(col[0]); !ok || c.Continent != col[8] && col[0] != "CX" {
			t.Errorf("%s is in %q, GeoNames says %q", col[0], c.Continent, col[8])
		}
	}
	if n < 240 {
		t.Errorf("only %d countries compared", n)
	}
}
