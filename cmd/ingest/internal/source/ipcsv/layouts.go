package ipcsv

import (
	"bytes"
	"quadrille/cmd/ingest/internal/source"
	"slices"
	"strconv"
)

// layout is a kind of list without column names, known by what its columns
// look like. The addresses come first: two, or one network.
type layout struct {
	name    string
	network bool // a network, or an address alone, and never two addresses
	least   int  // columns after the addresses that a row must have
	open    bool // more columns may follow; they are not read
	columns []shaped
}

type shaped struct {
	column Column
	fits   func([]byte) bool
}

// layouts, the most telling first.
var layouts = []layout{
	{name: "city list of ip-location-db", least: 8, columns: []shaped{
		{Country, isCountry}, {RegionName, isAny}, {DistrictName, isAny}, {City, isAny}, {Postal, isAny},
		{Latitude, isDegrees}, {Longitude, isDegrees}, {TimeZone, isZone}}},
	{name: "city list of DB-IP", least: 6, columns: []shaped{
		{Continent, isContinent}, {Country, isCountry}, {RegionName, isAny}, {City, isAny}, {Latitude, isDegrees}, {Longitude, isDegrees}}},
	{name: "city list of IP2Location", least: 6, columns: []shaped{
		{Country, isCountry}, {CountryName, isName}, {RegionName, isAny}, {City, isAny}, {Latitude, isDegrees}, {Longitude, isDegrees},
		{Postal, isAny}, {Extra + "utc_offset", isOffset}}},
	{name: "list of iptoasn.com", least: 3, columns: []shaped{
		{ASN, isASN}, {Country, isCountry}, {ASOrganization, isAny}}},
	{name: "list of autonomous systems", least: 2, columns: []shaped{
		{ASN, isASN}, {ASOrganization, isAny}}},
	{name: "geofeed (RFC 8805)", network: true, least: 2, columns: []shaped{
		{Country, isCountry}, {Region, isRegion}, {City, isAny}, {Postal, isAny}}},
	{name: "country list of IP2Location", least: 2, columns: []shaped{
		{Country, isCountry}, {CountryName, isName}}},
	{name: "country list", least: 1, open: true, columns: []shaped{
		{Country, isCountry}}},
}

// fits reports whether the fields after the addresses are of this layout.
func (l *layout) fits(values [][]byte, network bool) bool {
	if l.network && !network || len(values) < l.least || !l.open && len(trimEmpty(values)) > len(l.columns) {
		return false
	}
	for i, v := range values[:min(len(values), len(l.columns))] {
		if !l.columns[i].fits(v) {
			return false
		}
	}
	return true
}

func trimEmpty(fields [][]byte) [][]byte {
	for len(fields) > 0 && len(fields[len(fields)-1]) == 0 {
		fields = fields[:len(fields)-1]
	}
	return fields
}

// recognise returns the layout of rows: the first that nine of ten have, or
// else the one that most have; nil when that is fewer than half. Rows without
// addresses tell nothing: where all are such, the plainest layout lets each be
// refused for what is wrong with it.
func recognise(rows [][][]byte) *layout {
	var best *layout
	most := 0
	of := 0
	counts := make([]int, len(layouts))
	for _, fields := range rows {
		values, network, alone, ok := split(fields)
		if !ok {
			continue
		}
		fits := false
		for i := range layouts {
			// An address alone is a network in geofeeds. Elsewhere its
			// second address is bad, and the row tells nothing.
			if (!alone || layouts[i].network) && layouts[i].fits(values, network) {
				counts[i]++
				fits = true
			}
		}
		if fits || !alone {
			of++
		}
	}
	for i, n := range counts {
		if n > 0 && n*10 >= of*9 {
			return &layouts[i]
		}
		if n > most {
			best, most = &layouts[i], n
		}
	}
	if of == 0 {
		return &layouts[len(layouts)-1]
	}
	if most*2 < of {
		return nil
	}
	return best
}

// split parts the addresses of a row from the rest, and says whether they are
// one network, or one address alone.
func split(fields [][]byte) (values [][]byte, network, alone, ok bool) {
	if bytes.IndexByte(fields[0], '/') >= 0 {
		_, _, reason := parseNetwork(fields[0])
		return fields[1:], true, false, reason == ""
	}
	if _, _, reason := parseAddr(fields[0]); reason != "" {
		return nil, false, false, false
	}
	if len(fields) > 1 {
		if _, _, reason := parseAddr(fields[1]); reason == "" {
			return fields[2:], false, false, true
		}
	}
	return fields[1:], true, true, true
}

func isAny([]byte) bool { return true }

// isCountry: a code of two letters, or one of the words for none.
func isCountry(s []byte) bool {
	return len(s) == 0 || isLetters(s) && len(s) == 2 || slices.Contains(unknown, string(s))
}

// unknown are the words that lists write where they know nothing.
var unknown = []string{"-", "--", "None", "none", "Unknown", "unknown", "NULL", "N/A", `\N`}

func isLetters(s []byte) bool {
	for _, c := range s {
		if c |= 0x20; c < 'a' || 'z' < c {
			return false
		}
	}
	return true
}

// isName: longer than a code.
func isName(s []byte) bool { return len(s) > 3 || len(s) == 1 && s[0] == '-' }

func isContinent(s []byte) bool {
	return len(s) == 0 || len(s) == 2 && bytes.Contains([]byte("AF AN AS EU NA OC SA ZZ"), bytes.ToUpper(s))
}

func isDegrees(s []byte) bool {
	if len(s) == 0 {
		return true
	}
	_, err := strconv.ParseFloat(string(s), 64)
	return err == nil
}

// isZone: an IANA name, which has a slash, or UTC and such.
func isZone(s []byte) bool {
	return len(s) == 0 || bytes.IndexByte(s, '/') > 0 || len(s) <= 3
}

func isOffset(s []byte) bool {
	return len(s) <= 1 || (s[0] == '+' || s[0] == '-') && bytes.IndexByte(s, ':') > 0
}

func isASN(s []byte) bool {
	s = bytes.TrimPrefix(s, []byte("AS"))
	return len(s) <= 10 && source.IsDigits(s)
}

// isRegion: an ISO 3166-2 code.
func isRegion(s []byte) bool {
	if len(s) == 0 {
		return true
	}
	return len(s) >= 4 && len(s) <= 6 && isLetters(s[:2]) && s[2] == '-'
}
