package geonames

import (
	"io"
	"iter"
	"math"
	"strconv"

	"quadrille/cmd/ingest/internal/source"
)

// Country is a row of countryInfo.txt. All other lines of that file begin with #:
//
//	1 ISO            6 Capital          11 CurrencyCode       16 Languages
//	2 ISO3           7 Area (km²)       12 CurrencyName       17 geonameid
//	3 ISO-Numeric    8 Population       13 Phone              18 neighbours
//	4 fips           9 Continent        14 Postal Code Format 19 EquivalentFipsCode
//	5 Country       10 tld              15 Postal Code Regex
//
// Unknown fields are empty or zero.
type Country struct {
	Code, ISO3, FIPS string
	Numeric          int // of ISO 3166-1
	Name             string
	Capital          string
	AreaKM2          float64
	Population       int64
	Continent        string // two letters
	TLD              string // ".ch"
	CurrencyCode     string
	CurrencyName     string
	Phone            string
	PostalFormat     string // "####"
	PostalPattern    string // a regular expression
	Languages        []string
	ID               uint32 // of the place
	Neighbours       []string
	EquivalentFIPS   string
	Line             int // 1-based
}

const (
	reasonISO3       = "ISO3 is not three letters A to Z"
	reasonNumeric    = "ISO numeric code is not a number from 0 to 999"
	reasonArea       = "area is not a number of square kilometres"
	reasonNeighbours = "neighbours are not country codes"
	reasonLongText   = "text is over 1000 bytes"
)

// ReadCountries yields the countries of r; see Read. If a code is repeated in a file, only the
// first row is good.
func ReadCountries(r io.Reader, name string) iter.Seq2[Country, error] {
	seen := codes{}
	f := format(columns)
	f.Comments = []string{"#"}
	return rows(r, name, f, func(r row, rec *Country) (reason, detail string) {
		rec.Line = r.line
		if reason, detail = rec.parse(r); reason == "" {
			reason, detail = seen.once(rec.Code)
		}
		return reason, detail
	})
}

func (rec *Country) parse(r row) (reason, detail string) {
	if rec.Code = r.text(); !isCountry(rec.Code) {
		return reasonCountry, source.Excerpt(rec.Code)
	}
	if rec.ISO3 = r.text(); rec.ISO3 != "" && !source.IsCode(rec.ISO3, 3) {
		return reasonISO3, source.Excerpt(rec.ISO3)
	}
	c := r.text()
	var ok bool
	if rec.Numeric, ok = numeric(c); !ok {
		return reasonNumeric, source.Excerpt(c)
	}
	rec.FIPS, rec.Name, rec.Capital = r.text(), r.text(), r.text()
	if reason, detail := checkName(rec.Name, rec.Code); reason != "" {
		return reason, detail
	}
	c = r.text()
	if rec.AreaKM2, ok = area(c); !ok {
		return reasonArea, source.Excerpt(c)
	}
	c = r.text()
	if rec.Population, ok = count(c); !ok {
		return reasonPopulation, source.Excerpt(c)
	}
	rec.Continent, rec.TLD, rec.CurrencyCode, rec.CurrencyName = r.text(), r.text(), r.text(), r.text()
	rec.Phone, rec.PostalFormat, rec.PostalPattern = r.text(), r.text(), r.text()
	languages := r.text()
	rec.Languages = list(languages)
	c = r.text()
	if rec.ID, ok = parseAnyID(c); !ok {
		return reasonID, source.Excerpt(c)
	}
	neighbours := r.text()
	rec.Neighbours = list(neighbours)
	for _, code := range rec.Neighbours {
		if !isCountry(code) {
			return reasonNeighbours, source.Excerpt(code)
		}
	}
	rec.EquivalentFIPS = r.text()
	for _, s := range [...]string{
		rec.FIPS, rec.Capital, rec.Continent, rec.TLD, rec.CurrencyCode, rec.CurrencyName, rec.Phone,
		rec.PostalFormat, rec.PostalPattern, languages, neighbours, rec.EquivalentFIPS,
	} {
		if len(s) > maxName {
			return reasonLongText, source.Excerpt(s)
		}
	}
	return "", ""
}

func numeric(s string) (int, bool) {
	if s == "" {
		return 0, true
	}
	n, err := strconv.ParseUint(s, 10, 16)
	return int(n), err == nil && n <= 999
}

// area parses square kilometres.
func area(s string) (float64, bool) {
	if s == "" {
		return 0, true
	}
	v, ok := source.ParseDecimal(s, math.MaxInt32)
	return v, ok && v >= 0
}
