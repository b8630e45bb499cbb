package places

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"quadrille/places/search"
)

// isoDivisions are the countries whose first-level divisions have their ISO 3166-2 codes in
// GeoNames. GeoNames documents this for Belgium, Switzerland, Montenegro and the United States. For
// the others it has the numbers of FIPS 10-4, which ISO has adopted unchanged.
var isoDivisions = map[string]bool{
	"BE": true, "CH": true, "ME": true, "US": true,
	"AD": true, "GD": true, "LI": true, "SM": true, "VC": true,
}

// kingdoms are the divisions of the United Kingdom in GeoNames. ISO 3166-2 also has hundreds of
// smaller ones.
var kingdoms = []string{"ENG", "NIR", "SCT", "WLS"}

// noDivision is GeoNames' code for places outside all first-level divisions.
const noDivision = "00"

// ISODivision returns the ISO 3166-2 code, without the country, of the first-level division with a
// GeoNames code. known is false in most countries, where GeoNames has codes of its own.
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

// iso3166 has a line for each first-level division of a country with a code in ISO 3166-2, and for
// the provinces of Trentino-South Tyrol. A line has the code, and after tabs its names: in English,
// in its own languages, in GeoNames, and some common short forms. Lines of countries have former
// names, and those formal names that do not contain the usual one. The facts come from CLDR 48.2,
// iso-3166 4.4.0, pycountry 26.2.16 and GeoNames' admin1CodesASCII of two years.
//
//go:embed iso3166.txt
var iso3166 string

type isoNames struct {
	code  string
	names []string
}

// byISO has the lines by country and folded code, and the lines of divisions also by each of their
// names.
var byISO = sync.OnceValue(func() map[string]isoNames {
	all := map[string]isoNames{}
	for line := range strings.Lines(iso3166) {
		columns := strings.Split(strings.TrimSpace(line), "\t")
		is := isoNames{columns[0], columns[1:]}
		known := columns
		if country := !strings.Contains(is.code, "-"); country {
			known = columns[:1]
		}
		for _, name := range known {
			if key := isoKey(is.code[:2], name); all[key].code == "" { // the first of two wins
				all[key] = is
			}
		}
	}
	return all
})

func isoKey(country, name string) string { return string(search.Fold([]byte(country), name)) }

// ISONames returns the ISO 3166-2 code and the names of a first-level division, given the code of
// its country and either that code or one of the names. With it, sources that have their own codes
// can be joined. With a country's code alone it returns the country's further names. It returns ""
// for unknown divisions. The names are shared and must not be changed.
func ISONames(country, known string) (code string, names []string) {
	is := byISO()[isoKey(country, known)]
	return is.code, is.names
}

// lettered are countries whose addresses use letters for their divisions, while GeoNames
// has numbers.
var lettered = []string{"AU", "BR", "CA"}
