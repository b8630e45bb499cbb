package places

import "slices"

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
