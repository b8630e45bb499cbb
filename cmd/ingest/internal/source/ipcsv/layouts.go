package ipcsv

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/iso3166"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// layout is a kind of list without column names, recognised by the look of its columns. The
// addresses come first: two, or one network. It describes every column that is not empty. A list
// with more columns is of another kind.
type layout struct {
	name    string
	network bool // a network, or an address alone, and never two addresses
	least   int  // columns after the addresses that a row must have
	open    bool // further columns may follow that are not numbers; they are ignored, with a note
	columns []shaped
}

type shaped struct {
	column Column
	fits   func([]byte) bool
}

// layouts lists the known layouts, the most specific first.
var layouts = []layout{
	{name: "location list of DB-IP", least: 9, columns: []shaped{
		{Continent, isContinent}, {Country, isCountry}, {Region, isRegion}, {RegionName, isText}, {DistrictName, isText}, {City,
			isAny}, {Postal, isAny},
		{Latitude, isDegrees}, {Longitude, isDegrees}, {Place, isNumber}, {ExtraPrefix + "utc_offset", isDegrees}, {TimeZone, isZone},
		{ExtraPrefix + "weather_code", isAny}}},
	{name: "city list of ip-location-db", least: 8, columns: []shaped{
		{Country, isCountry}, {RegionName, isAny}, {DistrictName, isAny}, {City, isAny}, {Postal, isAny},
		{Latitude, isDegrees}, {Longitude, isDegrees}, {TimeZone, isZone}}},
	{name: "city list of DB-IP", least: 6, columns: []shaped{
		{Continent, isContinent}, {Country, isCountry}, {RegionName, isAny}, {City, isAny}, {Latitude, isDegrees}, {Longitude, isDegrees}}},
	{name: "city list of IP2Location", least: 6, columns: []shaped{
		{Country, isCountry}, {CountryName, isName}, {RegionName, isAny}, {City, isAny}, {Latitude, isDegrees}, {Longitude, isDegrees},
		{Postal, isAny}, {ExtraPrefix + "utc_offset", isOffset}}},
	{name: "list of iptoasn.com", least: 3, columns: []shaped{
		{ASN, isASN}, {Country, isCountry}, {ASOrganization, isAny}}},
	{name: "list of autonomous systems", least: 2, columns: []shaped{
		{ASN, isASN}, {ASOrganization, isAny}}},
	{name: "AS list of IP2Location", least: 3, columns: []shaped{
		{Skip, isNetwork}, {ASN, isASN}, {ASOrganization, isAny}}},
	{name: "geofeed (RFC 8805)", network: true, least: 2, open: true, columns: []shaped{
		{Country, isCountry}, {Region, isRegion}, {City, isText}, {Postal, isAny}}},
	{name: "list of IP2Proxy", least: 3, columns: []shaped{
		{ProxyType, isProxyType}, {Country, isCountry}, {CountryName, isName}, {RegionName, isAny}, {City, isAny}, {"traits.isp", isAny},
		{"traits.domain", isAny}, {ExtraPrefix + "usage_type", isAny}, {ASN, isASN}, {ASOrganization, isAny}, {ExtraPrefix + "last_seen", isNumber},
		{ExtraPrefix + "threat", isAny}, {ExtraPrefix + "provider", isAny}, {ExtraPrefix + "fraud_score", isNumber}}},
	{name: "list of IP2Proxy with countries", least: 2, columns: []shaped{{ProxyType, isProxyType}, {Country, isCountry}}},
	{name: "country list of IP2Location", least: 2, columns: []shaped{
		{Country, isCountry}, {CountryName, isName}}},
	{name: "list of IP2Location with operators", least: 3, columns: []shaped{
		{Country, isCountry}, {CountryName, isName}, {"traits.isp", isAny}}},
	{name: "list of IP2Location with regions and cities", least: 4, columns: []shaped{
		{Country, isCountry}, {CountryName, isName}, {RegionName, isText}, {City, isText}, {"traits.isp", isAny}}},
	{name: "geofeed (RFC 8805) with names of regions", network: true, least: 3, columns: []shaped{
		{Country, isCountry}, {Region, isText}, {City, isText}, {Postal, isAny}}},
	{name: "country list of DB-IP", least: 2, columns: []shaped{
		{Continent, isContinent}, {Country, isCountry}}},
	countryList,
	continentList,
}

var continentList = layout{name: "list of continents", least: 1, columns: []shaped{{Continent, isContinent}}}

var countryList = layout{name: "country list", least: 1, columns: []shaped{{Country, isCountry}}}

// fits reports whether the fields after the addresses are of this layout.
func (l *layout) fits(values [][]byte, network bool) bool {
	if l.network && !network || len(values) < l.least || !l.open && len(trimEmpty(values)) > len(l.columns) {
		return false
	}
	for i, v := range values[:min(len(values), len(l.columns))] {
		// A name after a code may be the name of a region, so check that it is the country's.
		if c := l.columns[i]; !c.fits(v) || c.column == CountryName && l.columns[0].column != ProxyType && !isNameOf(v, values[i-1]) {
			return false
		}
	}
	// A number in a further column is a coordinate, and needs a name.
	return len(values) <= len(l.columns) ||
		!slices.ContainsFunc(values[len(l.columns):], func(v []byte) bool { return len(v) > 0 && isDegrees(v) })
}

func trimEmpty(fields [][]byte) [][]byte {
	for len(fields) > 0 && len(fields[len(fields)-1]) == 0 {
		fields = fields[:len(fields)-1]
	}
	return fields
}

// recognise returns the layout of most rows, and in a tie the more informative one. It also returns
// the meaning of the columns, with the first example of each. It returns nil if fewer than half of
// the rows have a layout, or if the rows have only addresses. Rows without addresses do not count.
// If no row has an address, but the rows seem to have damaged ones, it returns the simplest layout,
// so that each row is refused for its own fault.
func recognise(rows [][][]byte) (best *layout, guess string) {
	most, of, bare := 0, 0, 0
	counts := make([]int, len(layouts))
	for _, fields := range rows {
		values, network, alone, ok := split(fields)
		if !ok {
			continue
		}
		fits := false
		for i := range layouts {
			// A single address is a network in geofeeds. In other lists the second address of such
			// a row is bad, and the row shows nothing.
			if (!alone || layouts[i].network) && layouts[i].fits(values, network) {
				counts[i]++
				fits = true
			}
		}
		if fits || !alone {
			of++
		} else if len(trimEmpty(values)) == 0 {
			bare++
		}
	}
	for i, n := range counts {
		if n > most {
			best, most = &layouts[i], n
		}
	}
	switch {
	case of+bare == 0 && (len(rows) == 0 || slices.ContainsFunc(rows, func(f [][]byte) bool { return resembles(f[0]) })):
		return &countryList, ""
	case most == 0 || most*2 < of:
		return nil, ""
	case best.name == countryList.name && counts[len(counts)-1] == of && areContinents(rows):
		best = &continentList
	}
	return best, best.guess(rows)
}

// areContinents decides about codes that are codes of continents as well as of countries. They are
// continents if Europe and another continent are among them: NA is also Namibia.
func areContinents(rows [][][]byte) bool {
	seen := map[string]bool{}
	for _, fields := range rows {
		if values, _, _, ok := split(fields); ok && len(values) > 0 && !IsUnknown(string(values[0])) {
			seen[strings.ToUpper(string(values[0]))] = true
		}
	}
	return seen["EU"] && len(seen) > 1
}

// guess returns the meaning of the columns of rows.
func (l *layout) guess(rows [][][]byte) string {
	var taken []string
	examples := make([]string, len(l.columns)+1)
	for _, fields := range rows {
		values, network, _, ok := split(fields)
		if !ok || !l.fits(values, network) {
			continue
		}
		for i, v := range values {
			if i = min(i, len(l.columns)); examples[i] == "" && len(v) > 0 {
				examples[i] = source.Excerpt(v)
			}
		}
	}
	for i, example := range examples {
		switch {
		case example == "":
		case i == len(l.columns) || l.columns[i].column == Skip:
			taken = append(taken, "unread "+example)
		default:
			taken = append(taken, fmt.Sprintf("%s %s", l.columns[i].column, example))
		}
	}
	if taken == nil {
		return ""
	}
	return "by its content; after the addresses it has " + strings.Join(taken, ", ")
}

// split separates the addresses of a row from the rest. It reports whether they are one network, or
// a single address.
func split(fields [][]byte) (values [][]byte, network, alone, ok bool) {
	if isWhole(fields[0]) {
		_, _, reason := parseNetwork(fields[0])
		return fields[1:], true, false, reason == ""
	}
	_, first, reason := parseAddr(fields[0]) // first: it is a number
	if reason != "" {
		return nil, false, false, false
	}
	if len(fields) > 1 {
		b, number, reason := parseAddr(fields[1])
		switch {
		case reason == "" && number && !first && b.Is4() && len(fields[1]) <= 3: // the length of a prefix, which no layout has
			return nil, false, false, true
		case reason == "":
			return fields[2:], false, false, true
		}
	}
	return fields[1:], true, true, true
}

// resembles reports whether a field looks like an address, or is empty.
func resembles(s []byte) bool {
	return len(s) == 0 || bytes.ContainsAny(s, "0123456789") && (bytes.ContainsAny(s, ".:") || !isWord(s))
}

func isAny([]byte) bool { return true }

// isText reports whether a field is not a number, and is empty or has a letter.
func isText(s []byte) bool {
	return len(s) == 0 || bytes.ContainsFunc(s, func(r rune) bool { return r == '-' || unicode.IsLetter(r) })
}

// isCountry reports whether a field is an assigned code, or one of the words for an unknown
// country.
func isCountry(s []byte) bool {
	if c, ok := iso3166.Lookup(string(s)); ok {
		return c.Name != ""
	}
	return IsUnknown(string(s))
}

// IsUnknown reports whether s is empty, or a word that sources write for an unknown
// value.
func IsUnknown(s string) bool { return s == "" || source.UnknownWords.Has([]byte(s)) }

func isLetters(s []byte) bool {
	for _, c := range s {
		if c |= 0x20; c < 'a' || 'z' < c {
			return false
		}
	}
	return true
}

// isName reports whether a text can be a name: it is longer than a code, or it is "-", which stands
// for an unknown name.
func isName(s []byte) bool { return len(s) > 3 || len(s) == 1 && s[0] == '-' }

// isNameOf reports whether a name may be the name of a code's country. Lists spell names in many
// ways, so the beginning of one word of the known name is enough.
func isNameOf(name, code []byte) bool {
	c, ok := iso3166.Lookup(string(code))
	if !ok {
		return true
	}
	const telling = 4 // letters
	name = bytes.ReplaceAll(bytes.ToLower(name), []byte{' '}, nil)
	for word := range strings.FieldsSeq(strings.ToLower(c.Name)) {
		if len(word) >= telling && bytes.Contains(name, []byte(word[:telling])) {
			return true
		}
	}
	return false
}

func isContinent(s []byte) bool {
	return len(s) == 0 || len(s) == 2 && bytes.Contains([]byte("AF AN AS EU NA OC SA ZZ"), bytes.ToUpper(s))
}

func isDegrees(s []byte) bool {
	_, number := source.ParseDecimal(s, math.MaxFloat64)
	return number || len(s) == 0
}

// isZone reports whether a field is an IANA name, which has a slash, or a name such as UTC.
func isZone(s []byte) bool {
	return len(s) == 0 || bytes.IndexByte(s, '/') > 0 || len(s) <= 3
}

func isOffset(s []byte) bool {
	return len(s) <= 1 || (s[0] == '+' || s[0] == '-') && bytes.IndexByte(s, ':') > 0
}

func isASN(s []byte) bool {
	if len(s) > 2 && bytes.EqualFold(s[:2], []byte("AS")) {
		s = s[2:]
	}
	return len(s) <= 10 && source.IsDigits(s) || len(s) > 0 && IsUnknown(string(s))
}

// isProxyType reports whether a field is one of the types of IP2Proxy.
func isProxyType(s []byte) bool {
	return len(s) == 1 && s[0] == '-' || len(s) == 3 && bytes.Contains([]byte("PUB VPN TOR DCH WEB SES RES CPN EPN"), s)
}

// areRoutes reports whether rows are those of a table of routes, which tabs or blanks separate: a network, and the
// system that announces it. lengths is set if the length of the prefix is apart. Several systems are joined.
func areRoutes(rows [][][]byte) (are, lengths bool) {
	isOrigin := func(s []byte) bool {
		return len(bytes.Trim(s, "0123456789")) < len(s) && len(bytes.Trim(s, "0123456789_,{}")) == 0
	}
	whole, apart, large := 0, 0, 0
	for _, f := range rows {
		if last := f[len(f)-1]; len(last) > 2 && isOrigin(last) {
			large++ // no score, nor a small count
		}
		switch {
		case len(f) == 2 && isNetwork(f[0]) && isOrigin(f[1]):
			whole++
		case len(f) == 3 && isAddress(f[0]) && !isWhole(f[0]) && source.IsDigits(f[1]) && len(f[1]) <= 3 && isOrigin(f[2]):
			apart++
		}
	}
	return 2*max(whole, apart) > len(rows) && 4*large >= 3*max(whole, apart), apart > whole
}

// firstOrigin returns the first of several systems that announce a network.
func firstOrigin(s []byte) []byte {
	s = bytes.TrimLeft(s, "{")
	if i := bytes.IndexAny(s, "_,}"); i >= 0 {
		s = s[:i]
	}
	return s
}

func isNumber(s []byte) bool { return len(s) == 0 || source.IsDigits(s) }

func isNetwork(s []byte) bool {
	_, _, reason := parseNetwork(s)
	return reason == "" && bytes.IndexByte(s, '/') > 0
}

func isRegion(s []byte) bool { return len(s) == 0 || IsRegion(string(s)) }

// IsRegion reports whether s has the form of an ISO 3166-2 code, in either case of letters, with
// or, as in many geofeeds, without its country.
func IsRegion(s string) bool {
	country, code, whole := strings.Cut(s, "-")
	if !whole {
		code = s
	} else if len(country) != 2 || !isLetters([]byte(country)) {
		return false
	}
	return 0 < len(code) && len(code) <= 3 && (whole || code == strings.ToUpper(code)) && !strings.ContainsFunc(code, func(r rune) bool {
		return (r|0x20 < 'a' || 'z' < r|0x20) && (r < '0' || '9' < r)
	})
}

// isDelegation reports whether a line is a delegation of a regional registry: an IPv4 range with
// the number of its addresses, or an IPv6 network with the length of its prefix.
//
//	apnic|AU|ipv4|1.0.0.0|256|20110811|assigned
//	apnic|AU|ipv6|2001:360::|32|20000101|allocated
func isDelegation(f [][]byte) bool {
	if len(f) < 7 || len(f[0]) == 0 || !isLetters(f[0]) || !source.IsDigits(f[4]) {
		return false
	}
	if country := string(f[1]); country != "" && country != "*" && (len(country) != 2 || !isLetters(f[1])) {
		return false
	}
	switch string(f[2]) {
	case "asn":
		return source.IsDigits(f[3])
	case "ipv4", "ipv6":
		_, _, reason := parseAddr(f[3])
		return reason == ""
	}
	return false
}

// isVersion reports whether a line is the first of a registry's file, which begins with
// the version of the format.
func isVersion(f [][]byte) bool { return len(f[0]) > 0 && source.IsDigits(f[0][:1]) }

// isSummary reports whether a line of a registry's file gives the number of other lines.
func isSummary(f [][]byte) bool { return string(f[len(f)-1]) == "summary" }

// areDelegations reports whether most rows are delegations. Lines of other kinds that such files
// have are not counted.
func areDelegations(rows [][][]byte) bool {
	are, of := 0, 0
	for i, f := range rows {
		if i == 0 && isVersion(f) || isSummary(f) {
			continue
		}
		if of++; isDelegation(f) {
			are++
		}
	}
	return are*2 > of
}

// delegation returns the first address, the last address and the country of a line, or nil for a
// line without addresses. Available and reserved ranges have no country.
func (t *Table) delegation(f [][]byte) [][]byte {
	first, last, country := f[3], []byte("+"), f[1] // no address
	switch string(f[2]) {
	case "asn":
		t.SystemLines++
		return nil
	case "ipv6":
		first, last = slices.Concat(first, []byte("/"), f[4]), nil
	default:
		// A number beyond 32 bits, or less than one, does not give a valid end of an IPv4 range.
		a, _, _ := parseAddr(first)
		if n, err := strconv.ParseUint(string(f[4]), 10, 32); err == nil && a.Is4() {
			last = strconv.AppendUint(nil, uint64(binary.BigEndian.Uint32(a.AsSlice()))+n-1, 10)
		}
	}
	if status := string(f[6]); status != "allocated" && status != "assigned" {
		country = nil
	}
	return [][]byte{first, last, country}
}
