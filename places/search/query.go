package search

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// These bound a query.
const (
	MaxQueryChars   = 200  // characters of its text
	DefaultLimit    = 10   // places, when Limit is 0
	MaxResults      = 5000 // bound of Offset plus Limit
	MaxFilterValues = 20   // of one filter
)

// Query is the input of [Reader.Search]. Only Text is required.
type Query struct {
	Text   string // the typed text
	Limit  int    // places; 0 means DefaultLimit
	Offset int    // places left out at the beginning

	// Lang is an ISO 639 code. Alternate names in that language rank like the place's own. Lang is
	// not a filter.
	Lang string

	// A place must pass every filter that is set. A list passes places with one
	// of its values.
	Countries     []string // ISO 3166-1 alpha-2
	Classes       []string // "P"
	Codes         []string // "PPLC" or "P.PPLC"
	Box           *quadkey.Box
	MinPopulation int64

	// With Bias, places near Lat, Lon (degrees) rank higher: from 10 km on,
	// each doubling of the distance costs 320 points of score.
	Lat, Lon float64
	Bias     bool

	NoTypos    bool // wrong letters are not allowed, and no blank more or less
	WholeNames bool // only whole names match, not their beginnings or words
	// IsName says that the text is known to be a whole name. Then it has no wrong letter, as if this
	// search had found that name. It may still be spelled in other ways.
	IsName bool

	// Budget, if set, bounds the work together with that of other searches.
	Budget *Budget
}

// filter holds the checked filters of a query.
type filter struct {
	countries near.Countries
	classes   []byte
	codes     []string // "PPLC" or "P.PPLC"
	box       *quadkey.Box
	people    uint64
}

func bad(format string, args ...any) error {
	return fmt.Errorf("places/search: %w: %s", near.ErrQuery, fmt.Sprintf(format, args...))
}

// check fills the query's defaults and returns its filters.
func (q *Query) check() (f filter, err error) {
	if err := checkText(q.Text); err != nil {
		return f, err
	}
	if q.Limit == 0 {
		q.Limit = DefaultLimit
	}
	if q.Limit < 0 || q.Offset < 0 || q.Limit > MaxResults || q.Offset > MaxResults-q.Limit {
		return f, bad("limit %d, offset %d: neither may be negative, and together they are at most %d", q.Limit, q.Offset, MaxResults)
	}
	if len(q.Classes) > MaxFilterValues || len(q.Codes) > MaxFilterValues {
		return f, bad("a filter has at most %d values", MaxFilterValues)
	}
	if f.countries, err = near.ParseCountries(q.Countries); err != nil {
		return f, wrap(err)
	}
	for _, c := range q.Classes {
		if len(c) != 1 || !isLetter(c[0]) {
			return f, bad("class %.10q: give one letter, such as P", c)
		}
		f.classes = append(f.classes, c[0]&^0x20)
	}
	for _, c := range q.Codes {
		if len(c) == 0 || len(c) > maxCode+2 {
			return f, bad("code %.20q: give a feature code, such as PPLC or P.PPLC", c)
		}
		f.codes = append(f.codes, strings.ToUpper(c))
	}
	if q.Box != nil {
		if err := q.Box.Check(); err != nil {
			return f, bad("%v", err)
		}
		f.box = q.Box
	}
	if q.MinPopulation < 0 {
		return f, bad("population %d is negative", q.MinPopulation)
	}
	f.people = uint64(q.MinPopulation)
	if q.Bias && quadkey.CheckCoordinate(q.Lon, q.Lat) != nil {
		return f, bad("latitude %v, longitude %v: they must be within ±90 and ±180 degrees", q.Lat, q.Lon)
	}
	return f, nil
}

// TooLong reports whether a text has more than MaxQueryChars characters. A letter of Thai or
// Chinese is one, though it has three bytes.
func TooLong(text string) bool {
	return len(text) > MaxQueryChars && utf8.RuneCountInString(text) > MaxQueryChars
}

func checkText(s string) error {
	if TooLong(s) {
		return bad("the text has %d characters; %d are allowed", utf8.RuneCountInString(s), MaxQueryChars)
	}
	if !utf8.ValidString(s) {
		return bad("the text is not UTF-8")
	}
	return nil
}

func isLetter(c byte) bool { c |= 0x20; return 'a' <= c && c <= 'z' }

const unitsPerDegree = 1e7

func degrees(units int32) float64 { return float64(units) / unitsPerDegree }

// passes reports whether a place passes the filters.
func (f *filter) passes(r *record) bool {
	if r.population < f.people {
		return false
	}
	if !f.countries.Has(r.country) || len(f.classes) > 0 && !slices.Contains(f.classes, r.class) || len(f.codes) > 0 && !f.hasCode(r) {
		return false
	}
	return f.box == nil || f.box.Contains(degrees(r.lon), degrees(r.lat))
}

func (f *filter) hasCode(r *record) bool {
	for _, c := range f.codes {
		if len(c) > 2 && c[1] == '.' {
			if c[0] != r.class {
				continue
			}
			c = c[2:]
		}
		if c == string(r.code) {
			return true
		}
	}
	return false
}

// distancePenalty returns the points that a place loses at a distance: 1¼
// doublings for each doubling of the distance.
func distancePenalty(metres float64) int32 {
	return int32(log(uint64(metres)/10_000)) * 5 / 4
}
