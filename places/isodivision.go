package places

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"quadrille/places/search"
)

// isoDivisions are the countries whose first-level divisions have their ISO
// 3166-2 codes in GeoNames. It says so of Belgium, Switzerland, Montenegro and
// the United States. Of the others its numbers are those of FIPS 10-4, which
// ISO has taken over unchanged.
var isoDivisions = map[string]bool{
	"BE": true, "CH": true, "ME": true, "US": true,
	"AD": true, "GD": true, "LI": true, "SM": true, "VC": true,
}

// kingdoms are the divisions of the United Kingdom in GeoNames. ISO 3166-2 has
// hundreds of smaller ones beside them.
var kingdoms = []string{"ENG", "NIR", "SCT", "WLS"}

// noDivision is GeoNames' code of what is in no first-level division.
const noDivision = "00"

// ISODivision returns the ISO 3166-2 code, without the country, of the
// first-level division that GeoNames gives a code. In most countries GeoNames
// has codes of its own; known is false there.
func ISODivision(country, admin1 string) (code string, known bool) {
	switch {
	case country == "GB":
		if slices.Contains(kingdoms, admin1) {
			code = admin1
		}
		return code, true
	case !isoDivisions[country]:
		return "", false
	case admin1 == noDivision:
		return "", true
	}
	return admin1, true
}

// divisionTable has a line for each first-level division of a country that has a code in ISO
// 3166-2: the code, and after tabs its names in English and in its own languages, those that
// GeoNames has, and some that people shorten. The facts are those of CLDR 48.2, iso-3166 4.4.0
// and GeoNames' admin1CodesASCII of two years.
//
//go:embed divisions.txt
var divisionTable string

type isoDivision struct {
	code  string
	names []string
}

// divisionsByName are the lines by country and folded name.
var divisionsByName = sync.OnceValue(func() map[string]isoDivision {
	all := map[string]isoDivision{}
	for line := range strings.Lines(divisionTable) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		d := isoDivision{columns[0], columns[1:]}
		for _, name := range d.names {
			if key := divisionKey(d.code[:2], name); all[key].code == "" { // of two the first counts
				all[key] = d
			}
		}
	}
	return all
})

func divisionKey(country, name string) string {
	return string(search.Fold([]byte(country), name))
}

// DivisionNames returns the ISO 3166-2 code and the names of a first-level division by the code
// of its country and one of the names, which is how sources with codes of their own are joined.
// It returns "" for one that is not known by the name. The names are shared and must not be
// changed.
func DivisionNames(country, name string) (code string, names []string) {
	d := divisionsByName()[divisionKey(country, name)]
	return d.code, d.names
}

// lettered are countries whose addresses have the letters of their divisions, and for which
// GeoNames has numbers.
var lettered = []string{"AU", "BR", "CA"}
