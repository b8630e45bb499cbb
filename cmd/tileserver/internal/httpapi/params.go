package httpapi

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"quadrille/places"
	"quadrille/quadkey"
)

// params reads query parameters strictly: a value that cannot be used is
// refused by name instead of being replaced by a default. The first refusal
// sticks and is reported by err. Names that are not known or given twice have
// been refused before; see query.
type params struct {
	values url.Values
	err    error
}

func queryParams(r *http.Request) params {
	if r.URL.RawQuery == "" {
		return params{}
	}
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return params{err: errQuery} // which the route's check has refused
	}
	return params{values: values}
}

func (p *params) refuse(name, detail string) {
	if p.err == nil {
		p.err = refuse(errParameter, name, detail)
	}
}

// text returns a parameter of at most max bytes, or "" when it is absent.
func (p *params) text(name string, max int) string {
	v := p.values[name]
	switch {
	case len(v) == 0:
		return ""
	case len(v[0]) > max:
		p.refuse(name, "Shorten "+name+" to at most "+strconv.Itoa(max)+" bytes.")
		return ""
	}
	for i := range len(v[0]) {
		if v[0][i] < 0x20 || v[0][i] == 0x7f {
			p.refuse(name, "Remove the control characters from "+name+".")
			return ""
		}
	}
	return v[0]
}

// has reports whether the parameter was given, if only as an empty value.
func (p *params) has(name string) bool { return len(p.values[name]) > 0 }

// number returns a required decimal number in [min, max].
func (p *params) number(name, unit string, min, max float64) float64 {
	if !p.has(name) {
		p.refuse(name, "Add "+name+", a number of "+unit+" from "+bound(min)+" to "+bound(max)+".")
		return 0
	}
	v, ok := decimal(p.text(name, 64))
	// Written so that NaN fails it too.
	if !ok || !(v >= min && v <= max) {
		p.refuse(name, "Set "+name+" to a number of "+unit+" from "+bound(min)+" to "+bound(max)+".")
		return 0
	}
	return v
}

// optional is number with a value for when the parameter is absent.
func (p *params) optional(name, unit string, min, max, absent float64) float64 {
	if !p.has(name) {
		return absent
	}
	return p.number(name, unit, min, max)
}

// integer returns a whole number in [min, max], or absent.
func (p *params) integer(name string, min, max, absent int64) int64 {
	if !p.has(name) {
		return absent
	}
	v, err := strconv.ParseInt(p.text(name, 64), 10, 64)
	if err != nil || v < min || v > max {
		p.refuse(name, "Set "+name+" to a whole number from "+strconv.FormatInt(min, 10)+" to "+strconv.FormatInt(max, 10)+".")
		return absent
	}
	return v
}

// oneOf returns a parameter restricted to a few words, or "" when absent.
func (p *params) oneOf(name string, words ...string) string {
	if !p.has(name) {
		return ""
	}
	v := p.text(name, 64)
	for _, w := range words {
		if v == w {
			return v
		}
	}
	p.refuse(name, "Set "+name+" to one of: "+strings.Join(words, ", ")+".")
	return ""
}

// codes returns the entries of a comma-separated list of at most
// places.MaxFilter codes of min to max ASCII letters, and digits where those are
// allowed, in upper case; nil when it is absent.
func (p *params) codes(name, what string, min, max int, digits bool) []string {
	entries := p.list(name, places.MaxFilter)
	for i, v := range entries {
		v = strings.ToUpper(v)
		if !isCode(v, min, max, digits) {
			p.refuse(name, "Set "+name+" to "+what+", or to several with commas between them.")
			return nil
		}
		entries[i] = v
	}
	return entries
}

// isCode reports whether s is min to max upper-case ASCII letters, or digits
// where those are allowed.
func isCode(s string, min, max int, digits bool) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'A' || c > 'Z') && (!digits || c < '0' || c > '9') {
			return false
		}
	}
	return len(s) >= min && len(s) <= max
}

// placeFilter is what endpoints of places let through.
type placeFilter struct {
	classes, codes, countries []string
	minPopulation             int64
}

// dear reports whether a search for so many places may look at very many: where
// the classes, codes and countries asked for are is known without reading, to a
// hundred places or so, but not where those of a population are.
func (f *placeFilter) dear(limit int) bool {
	return f.minPopulation > 0 || limit > 100 && len(f.classes)+len(f.codes)+len(f.countries) > 0
}

// places reads the filters that endpoints of places have in common.
func (p *params) places() (f placeFilter) {
	f.classes = p.codes("class", "one letter of GeoNames' feature classes, such as P", 1, 1, false)
	f.codes = p.codes("code", "a GeoNames feature code, such as PPLC", 1, 10, true)
	f.countries = p.codes("country", "the two letters of an ISO 3166-1 country code, such as FR", 2, 2, false)
	f.minPopulation = p.integer("min_population", 0, 1<<53, 0)
	return f
}

// cursor returns the cursor, "" for the first page.
func (p *params) cursor() string {
	cursor := p.text("cursor", maxCursor)
	if cursor == "" && p.has("cursor") {
		// A client that lost its cursor must not read page one for ever.
		p.refuse("cursor", "Leave cursor out for the first page; for the next one give it the answer's next.")
	}
	return cursor
}

// searchText returns the required text of a search.
func (p *params) searchText(name string) string {
	if !p.has(name) {
		p.refuse(name, "Add "+name+", the beginning of a place's name or words of it.")
		return ""
	}
	v := p.text(name, maxSearchText)
	if p.err == nil && !isSearchText(v) {
		p.refuse(name, "Set "+name+" to 1 to "+strconv.Itoa(maxSearchText)+" bytes of UTF-8 without control characters, of which not all are spaces.")
	}
	return v
}

// isSearchText reports whether a text can be searched for.
func isSearchText(s string) bool {
	blank := true
	for _, r := range s {
		if unicode.IsControl(r) {
			return false
		}
		blank = blank && unicode.IsSpace(r)
	}
	return !blank && len(s) <= maxSearchText && utf8.ValidString(s)
}

// tile returns the tile z/x/y that a parameter names, nil when it is absent.
func (p *params) tile(name string) *quadkey.Tile {
	if !p.has(name) {
		return nil
	}
	z, rest, _ := strings.Cut(p.text(name, 64), "/")
	x, y, _ := strings.Cut(rest, "/")
	zn, okZ := whole(z)
	xn, okX := whole(x)
	yn, okY := whole(y)
	t, err := quadkey.NewTile(zn, xn, yn)
	if !okZ || !okX || !okY || err != nil {
		p.refuse(name, "Set "+name+" to z/x/y: a zoom from 0 to 22, then x and y from 0 to 2^z - 1.")
	}
	return &t
}

// list returns the entries of a comma-separated parameter, nil when it is
// absent.
func (p *params) list(name string, max int) []string {
	if !p.has(name) {
		return nil
	}
	text := p.text(name, maxLayersText)
	if text == "" {
		p.refuse(name, "List at least one entry in "+name+", or leave it out.")
		return nil
	}
	entries := strings.Split(text, ",")
	if len(entries) > max {
		p.refuse(name, "Shorten "+name+" to at most "+strconv.Itoa(max)+" entries.")
		return nil
	}
	return entries
}

// position reads lat and lon.
func (p *params) position() (lat, lon float64) {
	lat = p.number("lat", "degrees", -90, 90)
	lon = p.number("lon", "degrees", -180, 180)
	return lat + 0, lon + 0 // -0 is 0
}

func bound(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// decimal reads a number in decimal notation. ParseFloat alone would also take
// hexadecimal, "nan" and "infinity".
func decimal(s string) (float64, bool) {
	if s == "" {
		return 0, false
	}
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9', c == '.', c == '-', c == '+', c == 'e', c == 'E':
		default:
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(s, 64)
	return v, err == nil
}

// runsOn reports whether the path goes on behind its last parameter, which the
// router then makes part of it.
func runsOn(c echo.Context) bool {
	values := c.ParamValues()
	return strings.Contains(values[len(values)-1], "/")
}

// pathParams returns the path parameters with their percent-encoding removed.
// The router matches the path as it was sent when that differs from the usual
// encoding, and the decoded one otherwise; decoding twice would be wrong.
func pathParams(c echo.Context) ([]string, error) {
	values := c.ParamValues()
	if c.Request().URL.RawPath == "" {
		return values, nil
	}
	decoded := make([]string, len(values))
	for i, v := range values {
		var err error
		if decoded[i], err = url.PathUnescape(v); err != nil {
			return nil, refuse(errParameter, "", "Correct the percent-encoding of the path.")
		}
	}
	return decoded, nil
}
