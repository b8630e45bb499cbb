package httpapi

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/quadkey"
)

func notWhole(name string) error {
	return refuse(errParameter, name, "Set "+name+" to a whole number, as in /tiles/all/3/4/2.mvt.")
}

// whole reads a decimal whole number. One too large for any tile comes back
// as a number outside every grid.
func whole(s string) (int, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == "" {
		return 0, false
	}
	n := 0
	for i := range len(digits) {
		d := digits[i] - '0'
		if d > 9 {
			return 0, false
		}
		n = min(n*10+int(d), 1<<24)
	}
	if len(digits) != len(s) && n != 0 {
		n = -n
	}
	return n, true
}

// gridTile reads the tile that three parts of a path name.
func gridTile(z, x, y string) (quadkey.Tile, error) {
	var numbers [3]int
	for i, part := range [...]string{z, x, y} {
		n, ok := whole(part)
		if !ok {
			return quadkey.Tile{}, notWhole("zxy"[i : i+1])
		}
		numbers[i] = n
	}
	t, err := quadkey.NewTile(numbers[0], numbers[1], numbers[2])
	if err != nil {
		return quadkey.Tile{}, errTileOutside
	}
	return t, nil
}

// Limits of parameters.
const (
	maxListText = 1024 // bytes of a comma-separated list
	maxList     = 64   // entries of one
	maxBoxText  = 160  // bytes
	maxCursor   = 512  // bytes
	maxLanguage = 16   // bytes
	maxCodes    = 20   // entries of a list of codes

	// maxRadius is half the Earth's circumference in metres: it holds every place.
	maxRadius = 20_037_508
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
// maxCodes codes of min to max ASCII letters, and digits where those are
// allowed, in upper case; nil when it is absent.
func (p *params) codes(name, what string, min, max int, digits bool) []string {
	entries := p.list(name, maxCodes)
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

// cursor returns the cursor, "" for the first page.
func (p *params) cursor() string {
	cursor := p.text("cursor", maxCursor)
	if cursor == "" && p.has("cursor") {
		// A client that lost its cursor must not read page one for ever.
		p.refuse("cursor", "Leave cursor out for the first page; for the next one give it the answer's next.")
	}
	return cursor
}

// tile returns the tile z/x/y that a parameter names, nil when it is absent.
func (p *params) tile(name string) *quadkey.Tile {
	if !p.has(name) {
		return nil
	}
	z, rest, _ := strings.Cut(p.text(name, 64), "/")
	x, y, _ := strings.Cut(rest, "/")
	t, err := gridTile(z, x, y)
	if err != nil {
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
	text := p.text(name, maxListText)
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

// box returns a required box of degrees.
func (p *params) box(name string) quadkey.Box {
	b, err := quadkey.ParseBox(p.text(name, maxBoxText))
	if err != nil {
		p.refuse(name, "Set "+name+" to west,south,east,north in degrees, south at most north; west may be greater than east, across 180.")
	}
	return b
}

// The instants that time zones are known for.
var (
	firstInstant = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
	afterInstant = time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)
)

// instant reads an RFC 3339 time that time zones are known for.
func (p *params) instant(name string) (time.Time, bool) {
	if !p.has(name) {
		return time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, p.text(name, 64))
	if err != nil || at.Before(firstInstant) || !at.Before(afterInstant) {
		p.refuse(name, "Set "+name+" to a time of the years 1900 to 2100 such as 2026-07-01T12:00:00Z, with + written as %2B.")
		return time.Time{}, false
	}
	return at.UTC(), true
}

// country reads the code of one country, "" when it is absent.
func (p *params) country(name string) string {
	if !p.has(name) {
		return ""
	}
	v := strings.ToUpper(p.text(name, 64))
	if !isCode(v, 2, 2, false) {
		p.refuse(name, "Set "+name+" to the two letters of an ISO 3166-1 country code, such as FR.")
		return ""
	}
	return v
}

// day reads a day, or the day of a time, in UTC; zero when it is absent.
func (p *params) day(name string) time.Time {
	t, _ := p.time(name)
	return t
}

// time reads a day or a time, and says whether it was only a day; both are zero
// when it is absent.
func (p *params) time(name string) (t time.Time, dayOnly bool) {
	if !p.has(name) {
		return t, false
	}
	text := p.text(name, 64)
	t, err := time.Parse(time.DateOnly, text)
	dayOnly = err == nil
	if err != nil {
		t, err = time.Parse(time.RFC3339, text)
	}
	if t = t.UTC(); err != nil || t.Year() < 1 || t.Year() > 6000 || t.IsZero() {
		p.refuse(name, "Set "+name+" to a day such as 2024-01-31 or a time such as 2024-01-31T06:00:00Z, of the years 1 to 6000; write a + as %2B.")
		return time.Time{}, false
	}
	return t, dayOnly
}

// span reads from and to. A day as to is meant to its end.
func (p *params) span() (from, to time.Time) {
	from, _ = p.time("from")
	to, dayOnly := p.time("to")
	if dayOnly {
		to = to.AddDate(0, 0, 1).Add(-time.Second) // the whole day
	}
	if !from.IsZero() && !to.IsZero() && from.After(to) {
		p.refuse("from", "Set from to a time that is not after to.")
	}
	return from, to
}

// language reads a language code, "" when it is absent.
func (p *params) language(name string) string {
	v := p.text(name, maxLanguage)
	ok := v != "" || !p.has(name)
	for i := range len(v) {
		c := v[i] | 0x20
		ok = ok && (c >= 'a' && c <= 'z' || v[i] >= '0' && v[i] <= '9' || v[i] == '-')
	}
	if !ok {
		p.refuse(name, "Set "+name+" to a language code such as de or zh-Hant, or leave it out.")
		return ""
	}
	return v
}

// format reads the form of an answer: what format says, or else what the
// client prefers.
func (p *params) format(r *http.Request) form {
	switch p.oneOf("format", "json", "geojson") {
	case "json":
		return formJSON
	case "geojson":
		return formGeoJSON
	}
	if prefersGeoJSON(r) {
		return formGeoJSON
	}
	return formJSON
}

// prefersGeoJSON reports whether the Accept header gives GeoJSON more weight
// than plain JSON. Wildcards mean neither: who wants GeoJSON says so.
func prefersGeoJSON(r *http.Request) bool {
	var geo, plain float64
	for _, v := range r.Header["Accept"] {
		for len(v) > 0 {
			var item string
			item, v, _ = strings.Cut(v, ",")
			name, params, _ := strings.Cut(item, ";")
			name = strings.TrimSpace(name)
			switch {
			case strings.EqualFold(name, "application/geo+json"):
				geo = max(geo, weight(params))
			case strings.EqualFold(name, "application/json"):
				plain = max(plain, weight(params))
			}
		}
	}
	return geo > 0 && geo >= plain
}
