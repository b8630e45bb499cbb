package endpoint

import (
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/internal/iso3166"
	"quadrille/internal/instant"
	"quadrille/quadkey"
)

func notWhole(name string) error {
	return Refuse(ErrParameter, name, "Set "+name+" to a whole number, as in /tiles/all/3/4/2.mvt.")
}

// ParseWhole reads a decimal whole number. For a number that is too large for any tile, it returns a
// number outside every grid.
func ParseWhole(s string) (int, bool) {
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

// ParseGridNumber does the same as ParseWhole, for a number of a tile. Non-canonical spellings, such as 00 or
// -0, give a number outside every grid. Thus a tile has one address and is cached only once.
func ParseGridNumber(s string) (int, bool) {
	n, ok := ParseWhole(s)
	if digits := strings.TrimPrefix(s, "-"); ok && (len(digits) > 1 && digits[0] == '0' || n == 0 && s != digits) {
		n = 1 << 24
	}
	return n, ok
}

// ParseGridTile reads the tile that three parts of a path name.
func ParseGridTile(z, x, y string) (quadkey.Tile, error) {
	var numbers [3]int
	for i, part := range [...]string{z, x, y} {
		n, ok := ParseGridNumber(part)
		if !ok {
			return quadkey.Tile{}, notWhole("zxy"[i : i+1])
		}
		numbers[i] = n
	}
	t, err := quadkey.NewTile(numbers[0], numbers[1], numbers[2])
	if err != nil {
		return quadkey.Tile{}, ErrTileOutside
	}
	return t, nil
}

// These are limits of parameters.
const (
	MaxListBytes     = 1024 // bytes of a comma-separated list
	MaxListEntries   = 64   // entries of one
	maxBoxText       = 160  // bytes
	MaxCursorBytes   = 512  // bytes
	MaxLanguageBytes = 16   // bytes
	maxCodes         = 20   // entries of a list of codes

	// MaxRadiusM is half the Earth's circumference in metres. This radius includes every place.
	MaxRadiusM = 20_037_508
)

// Params reads the parameters of one request strictly: it refuses an unusable value, with the
// parameter's name, instead of replacing it by a default. Err is the first refusal. Unknown and
// repeated names have already been refused; see [ParamNames].
type Params struct {
	view   ask.View // once it is taken
	take   func() ask.View
	of     *Endpoint // the endpoint that declares the parameters; nil is none
	query  string    // not decoded yet, "" if it is
	values url.Values
	// pairs has the names and values of a query without encoded characters. Most queries are of
	// this kind.
	pairs [maxPairs][2]string
	n     int
	Err   error
	// OnRead is called with the name of each parameter that is read. It is nil except in tests.
	OnRead func(name string)
}

// ParamsOf returns the parameters of a query to an endpoint. The query is decoded when a
// parameter is first read.
func ParamsOf(of *Endpoint, query string) (p Params) {
	p.of, p.query = of, query
	if strings.IndexByte(query, '%') >= 0 || strings.IndexByte(query, '+') >= 0 || strings.IndexByte(query, ';') >= 0 {
		return p
	}
	for rest := query; rest != ""; p.n++ {
		if p.n == maxPairs {
			p.n = 0 // decoding it costs less than going over it many times
			return p
		}
		var part string
		part, rest, _ = strings.Cut(rest, "&")
		p.pairs[p.n][0], p.pairs[p.n][1], _ = strings.Cut(part, "=")
	}
	return p
}

// maxPairs is the number of parameters up to which they are found without a map.
const maxPairs = 16

// Line returns the parameters of a line, or from any other source that is not a query.
func (p *Params) Line(values url.Values) Params {
	return Params{view: p.View(), of: p.of, values: values, OnRead: p.OnRead}
}

// Sees sets the function from which View takes a view. The caller releases it by Release.
func (p *Params) Sees(take func() ask.View) { p.take = take }

// View returns the request's view of the data sets, which stays the same from the first call until
// the handler has returned. If no data set is read, no view is taken. The view belongs to the
// goroutine of the handler; Line passes it on. Long-running streams of events, and parameters
// without a request, have no view.
func (p *Params) View() ask.View {
	if p.view.Moment == nil && p.take != nil {
		p.view = p.take()
	}
	return p.view
}

// Release releases the view, if one was taken.
func (p *Params) Release() {
	if p.view.Moment != nil {
		p.view.Release()
	}
}

// Endpoint returns the endpoint of the request.
func (p *Params) Endpoint() *Endpoint { return p.of }

// Values returns all parameters. The caller must not change them.
func (p *Params) Values() url.Values {
	if p.query != "" {
		var err error
		if p.values, err = url.ParseQuery(p.query); err != nil && p.Err == nil {
			p.Err = errQuery // ParamNames.Check has refused such a query
		}
		p.query = ""
	}
	return p.values
}

// ask reports the name of a parameter to tests.
func (p *Params) ask(name string) {
	if p.OnRead != nil {
		p.OnRead(name)
	}
}

// Refuse refuses a parameter. The text says what to change.
func (p *Params) Refuse(name, detail string) {
	if p.Err == nil {
		p.Err = Refuse(ErrParameter, name, detail)
	}
}

// value returns a parameter as it was given.
func (p *Params) value(name string) (value string, given bool) {
	p.ask(name)
	if p.n > 0 {
		for i := range p.pairs[:p.n] {
			if p.pairs[i][0] == name {
				return p.pairs[i][1], true
			}
		}
		return "", false
	}
	v := p.Values()[name]
	if len(v) == 0 {
		return "", false
	}
	return v[0], true
}

// Text returns a parameter of at most max bytes, or "" if it is absent.
func (p *Params) Text(name string, max int) string {
	v, _ := p.value(name)
	if len(v) > max {
		p.Refuse(name, "Shorten "+name+" to at most "+strconv.Itoa(max)+" bytes.")
		return ""
	}
	return p.printable(name, v)
}

func (p *Params) printable(name, v string) string {
	for i := range len(v) {
		if v[i] < 0x20 || v[i] == 0x7f {
			p.Refuse(name, "Remove the control characters from "+name+".")
			return ""
		}
	}
	return v
}

// TypedText does the same as Text, for texts that people type or paste. max counts characters, so that
// all scripts have the same limit. Tabs and line ends become blanks.
func (p *Params) TypedText(name string, max int) string {
	v, _ := p.value(name)
	if len(v) > max && utf8.RuneCountInString(v) > max {
		p.Refuse(name, "Shorten "+name+" to at most "+strconv.Itoa(max)+" characters.")
		return ""
	}
	return p.printable(name, blanks.Replace(v))
}

var blanks = strings.NewReplacer("\t", " ", "\n", " ", "\r", " ")

// Has reports whether the parameter was given, even with an empty value.
func (p *Params) Has(name string) bool {
	_, given := p.value(name)
	return given
}

// number returns a required decimal number in [min, max].
func (p *Params) number(name, unit string, min, max float64) float64 {
	if !p.Has(name) {
		p.Refuse(name, "Add "+name+", a number of "+unit+" from "+FormatBound(min)+" to "+FormatBound(max)+".")
		return 0
	}
	v, ok := quadkey.ParseNumber(p.Text(name, 64))
	// In this form the condition also refuses NaN.
	if !ok || !(v >= min && v <= max) {
		p.Refuse(name, "Set "+name+" to a number of "+unit+" from "+FormatBound(min)+" to "+FormatBound(max)+".")
		return 0
	}
	return v
}

// integer returns a whole number in [min, max].
func (p *Params) integer(name string, min, max int64) int64 {
	v, err := strconv.ParseInt(p.Text(name, 64), 10, 64)
	if err != nil || v < min || v > max {
		p.Refuse(name, "Set "+name+" to a whole number from "+strconv.FormatInt(min, 10)+" to "+strconv.FormatInt(max, 10)+".")
		return 0
	}
	return v
}

// oneOf returns a parameter restricted to a few words, or "" when absent.
func (p *Params) oneOf(name string, words ...string) string {
	if !p.Has(name) {
		return ""
	}
	v := p.Text(name, 64)
	for _, w := range words {
		if v == w {
			return v
		}
	}
	p.Refuse(name, "Set "+name+" to one of: "+strings.Join(words, ", ")+".")
	return ""
}

// codes returns the entries of a comma-separated list of at most maxCodes codes of min to max ASCII
// letters, and digits if they are allowed, in upper case. It returns nil if the parameter is
// absent.
func (p *Params) codes(name, what string, min, max int, digits bool) []string {
	entries := p.List(name, maxCodes)
	for i, v := range entries {
		v = strings.ToUpper(v)
		if !IsCode(v, min, max, digits) {
			p.Refuse(name, "Set "+name+" to "+what+", or to several with commas between them.")
			return nil
		}
		entries[i] = v
	}
	return entries
}

// IsCode reports whether s is min to max upper-case ASCII letters, or also digits if they are
// allowed.
func IsCode(s string, min, max int, digits bool) bool {
	for i := range len(s) {
		if c := s[i]; (c < 'A' || c > 'Z') && (!digits || c < '0' || c > '9') {
			return false
		}
	}
	return len(s) >= min && len(s) <= max
}

// cursor returns the cursor, or "" for the first page.
func (p *Params) cursor() string {
	cursor := p.Text("cursor", MaxCursorBytes)
	if cursor == "" && p.Has("cursor") {
		// A client that has lost its cursor must not read the first page endlessly.
		p.Refuse("cursor", "Leave cursor out for the first page; for the next one give it the answer's next.")
	}
	return cursor
}

// tile returns the tile z/x/y in a parameter, or nil if the parameter is absent.
func (p *Params) tile(name string) *quadkey.Tile {
	if !p.Has(name) {
		return nil
	}
	z, rest, _ := strings.Cut(p.Text(name, 64), "/")
	x, y, _ := strings.Cut(rest, "/")
	t, err := ParseGridTile(z, x, y)
	if err != nil {
		p.Refuse(name, "Set "+name+" to z/x/y: a zoom from 0 to 22, then x and y from 0 to 2^z - 1.")
	}
	return &t
}

// List returns the entries of a comma-separated parameter, or nil if it is absent.
func (p *Params) List(name string, max int) []string {
	if !p.Has(name) {
		return nil
	}
	text := p.Text(name, MaxListBytes)
	if text == "" {
		p.Refuse(name, "List at least one entry in "+name+", or leave it out.")
		return nil
	}
	entries := strings.Split(text, ",")
	if len(entries) > max {
		p.Refuse(name, "Shorten "+name+" to at most "+strconv.Itoa(max)+" entries.")
		return nil
	}
	return entries
}

// ExtraParam is a parameter that the endpoint does not declare.
type ExtraParam struct{ Name, Value string }

// ExtraParams returns the parameters that an endpoint with TakesFilters does not declare, by name. Names that
// every endpoint accepts are not included.
func (p *Params) ExtraParams() (list []ExtraParam) {
	q := p.of.ParamNames()
	own := func(name string) bool { return isFree(name) || slices.Contains(q.Names, name) }
	if n := p.n; n > 0 && !slices.ContainsFunc(p.pairs[:n], func(pair [2]string) bool { return !own(pair[0]) }) {
		return nil // without a map, as most queries
	}
	for name, values := range p.Values() {
		if own(name) {
			continue
		}
		shown := Printable(name)
		switch {
		case len(values) > 1:
			p.Refuse(shown, "Give "+shown+" once.")
		case strings.ContainsFunc(values[0], unicode.IsControl):
			p.Refuse(shown, "Remove the control characters from "+shown+".")
		}
		list = append(list, ExtraParam{name, values[0]})
	}
	slices.SortFunc(list, func(a, b ExtraParam) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Position reads lat and lon.
func (p *Params) Position() (lat, lon float64) {
	lat = p.number("lat", "degrees", -90, 90)
	lon = p.number("lon", "degrees", -180, 180)
	return lat + 0, lon + 0 // -0 is 0
}

// FormatBound writes a bound of a parameter for a refusal.
func FormatBound(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }

// WholePath does the same as PathParams, for a path that ends with its last parameter. It returns
// ErrNoRoute if more segments follow, because the router includes them in the last parameter.
func WholePath(c echo.Context) ([]string, error) {
	if values := c.ParamValues(); strings.Contains(values[len(values)-1], "/") {
		return nil, ErrNoRoute
	}
	return PathParams(c)
}

// PathParams returns the path parameters with their percent-encoding removed. The router matches
// the path as it was sent if its encoding is unusual, and otherwise the decoded path. Decoding
// twice would be wrong.
func PathParams(c echo.Context) ([]string, error) {
	values := c.ParamValues()
	if c.Request().URL.RawPath == "" {
		return values, nil
	}
	decoded := make([]string, len(values))
	for i, v := range values {
		var err error
		if decoded[i], err = url.PathUnescape(v); err != nil {
			return nil, Refuse(ErrParameter, "", "Correct the percent-encoding of the path.")
		}
	}
	return decoded, nil
}

// box returns a required box of degrees.
func (p *Params) box(name string) quadkey.Box {
	b, err := quadkey.ParseBox(p.Text(name, maxBoxText))
	if err != nil {
		p.Refuse(name, "Set "+name+" to west,south,east,north in degrees, south at most north; west may be greater than east, across 180.")
	}
	return b
}

// These are the first and the last instant for which time zones are known.
var (
	FirstInstant = time.Date(1900, 1, 1, 0, 0, 0, 0, time.UTC)
	AfterInstant = time.Date(2101, 1, 1, 0, 0, 0, 0, time.UTC)
)

// instant reads a time for which time zones are known.
func (p *Params) instant(name string) (time.Time, bool) {
	if !p.Has(name) {
		return time.Time{}, false
	}
	at, ok := instant.Parse(p.Text(name, 64))
	if !ok || at.Before(FirstInstant) || !at.Before(AfterInstant) {
		p.Refuse(name, "Set "+name+" to a time of the years 1900 to 2100 such as 2026-07-01T12:00:00Z, with + written as %2B.")
		return time.Time{}, false
	}
	return at, true
}

// country reads the code of one country, or returns "" if it is absent.
func (p *Params) country(name string) string {
	if !p.Has(name) {
		return ""
	}
	code, ok := ParseCountryCode(p.Text(name, 64))
	if !ok {
		p.Refuse(name, "Set "+name+" to the two letters of a country code in use, such as FR (ISO 3166-1).")
	}
	return code
}

// countries reads a comma-separated list of at most maxCodes codes of countries. It returns nil if
// it is absent.
func (p *Params) countries(name string) []string {
	entries := p.List(name, maxCodes)
	for i, v := range entries {
		code, ok := ParseCountryCode(v)
		if !ok {
			p.Refuse(name, "Set "+name+
				" to the two letters of a country code in use, such as FR (ISO 3166-1), or to several with commas between them.")
			return nil
		}
		entries[i] = code
	}
	return entries
}

// ParseCountryCode reads the code of a country, in either letter case, with the rules that ingest
// applies to its sources: UK is GB. It reports whether the code is that of a country. A filter by
// any other code must be refused, because the empty result would look like an answer.
func ParseCountryCode(s string) (code string, ok bool) {
	c, ok := iso3166.Lookup(s)
	if !ok || c.Name == "" || !c.Assigned() {
		return "", false
	}
	return c.Code, true
}

// Day reads a day, or the day of a time, in UTC. It returns the zero time if it is absent.
func (p *Params) Day(name string) time.Time {
	t, _ := p.time(name)
	return t
}

// EndOf reads a time or a day, and returns the end of a day. It returns the zero time if it is
// absent.
func (p *Params) EndOf(name string) time.Time {
	_, t := p.time(name)
	return t
}

// time reads a day or a time, and returns its first and last instant. Both are zero if it is
// absent.
func (p *Params) time(name string) (first, last time.Time) {
	if !p.Has(name) {
		return first, last
	}
	first, last, ok := instant.ParseSpan(p.Text(name, 64))
	if !ok || first.Year() < 1 || first.Year() > 6000 || first.IsZero() {
		p.Refuse(name, "Set "+name+
			" to a day such as 2024-01-31 or a time such as 2024-01-31T06:00:00Z, of the years 1 to 6000; write a + as %2B.")
		return time.Time{}, time.Time{}
	}
	return first, last
}

// language reads a language code, or "" if it is absent.
func (p *Params) language(name string) string {
	v := p.Text(name, MaxLanguageBytes)
	ok := v != "" || !p.Has(name)
	for i := range len(v) {
		c := v[i] | 0x20
		ok = ok && (c >= 'a' && c <= 'z' || v[i] >= '0' && v[i] <= '9' || v[i] == '-')
	}
	if !ok {
		p.Refuse(name, "Set "+name+" to a language code such as de or zh-Hant, or leave it out.")
		return ""
	}
	return v
}
