package places

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"
	"unicode/utf8"

	"quadrille/feature"
	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// Errors for errors.Is. The packages airports, stations and search also return ErrQuery, ErrCursor,
// ErrCursorExpired and ErrTooMuchWork.
var (
	// ErrNotFound means that no place has this id.
	ErrNotFound = feature.NotFound("no such place")
	// ErrInvalidPlace means that a Place cannot be stored.
	ErrInvalidPlace = errors.New("place is not valid")
	// ErrQuery means that a query is invalid.
	ErrQuery = near.ErrQuery
	// ErrCursor means that a cursor is damaged or belongs to another query.
	ErrCursor = near.ErrCursor
	// ErrCursorExpired means that the data of a cursor have been replaced.
	ErrCursorExpired = near.ErrCursorExpired
	// ErrTooMuchWork: a search has examined MaxExamined places without filling its page.
	ErrTooMuchWork = near.ErrTooMuchWork
	// ErrNoCode means that no country, division or feature has this code.
	ErrNoCode = errors.New("no such code")
)

// Place is a named point, with the columns GeoNames has for it. Unknown values
// are empty, zero or nil.
type Place struct {
	ID             uint32 // never 0
	Name           string // required
	ASCIIName      string
	AlternateNames string  // comma-separated
	Lat, Lon       float64 // degrees WGS84
	Class          string  // feature class, one upper-case letter: "P"
	Code           string  // feature code: "PPLC"
	Country        string  // ISO 3166-1 alpha-2
	CC2            string  // further countries, comma-separated
	Admin1         string  // codes of the administrative divisions it is in
	Admin2         string
	Admin3         string
	Admin4         string
	Population     int64 // 0: unknown
	Elevation      *int  // metres
	DEM            *int  // metres, from a digital elevation model
	TimeZone       string
	Modified       time.Time
	// Kind is the type of a point without GeoNames' class and code, which are both empty then. It
	// is a lower-case letter, and up to 63 such letters, digits and _ - /. Filters use it in a term
	// "kind". The output does not have the kind, but Extra may have the source's text for it. The
	// point's importance is its Weight.
	Kind string
	// Weight, if not 0, is the population that the place has on a map: of its agglomeration, for example. The output has
	// it as map_population. A point with a Kind has it as its importance, instead of a population and a feature code. See
	// Importance in the package documentation. From 100,000 a place is in the high tier, and from 5,000 in the medium tier.
	Weight uint64
	// Extra has further members of the place's JSON object, each with a comma before it:
	// `,"iata":"ZRH","icao":"LSZH"`. They follow the other members in every output, and must not
	// repeat their names. Build copies them.
	Extra []byte
}

// These lengths in bytes bound a stored place.
const (
	maxName       = 1000
	maxAlternates = 1 << 20
	maxCode       = 10
	maxKind       = 64
	maxText       = 1000
	maxExtra      = 4096
)

// Validate returns an error that matches ErrInvalidPlace with the fault, or nil for a place that
// Build accepts.
func (p *Place) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: place %d: %s", ErrInvalidPlace, p.ID, fmt.Sprintf(format, args...))
	}
	if p.ID == 0 {
		return bad("ids start at 1")
	}
	if quadkey.CheckCoordinate(p.Lon, p.Lat) != nil {
		return bad("latitude %v, longitude %v: they must be within ±90 and ±180 degrees", p.Lat, p.Lon)
	}
	if p.Name == "" {
		return bad("it has no name")
	}
	if p.Population < 0 {
		return bad("population %d is negative", p.Population)
	}
	if !validClass(p.Class) {
		return bad("feature class %q must be one letter A to Z, or empty", p.Class)
	}
	if !validCode(p.Code) {
		return bad("feature code %q must be up to %d of A to Z and 0 to 9, or empty", p.Code, maxCode)
	}
	if p.Kind != "" && (!validKind(p.Kind) || p.Class != "" || p.Code != "") {
		return bad("kind %.80q must be a lower-case letter and up to %d of a to z, 0 to 9, _, - and /, and the feature "+
			"class and code empty", p.Kind, maxKind-1)
	}
	if !near.ValidCountry(p.Country) {
		return bad("country %q must be two letters A to Z, or empty", p.Country)
	}
	for _, f := range [...]struct {
		what, text string
		most       int
	}{
		{"name", p.Name, maxName}, {"ASCII name", p.ASCIIName, maxName},
		{"alternate names", p.AlternateNames, maxAlternates}, {"cc2", p.CC2, maxText},
		{"admin1", p.Admin1, maxText}, {"admin2", p.Admin2, maxText},
		{"admin3", p.Admin3, maxText}, {"admin4", p.Admin4, maxText},
		{"time zone", p.TimeZone, maxText},
	} {
		if len(f.text) > f.most {
			return bad("%s of %d bytes is over the limit of %d", f.what, len(f.text), f.most)
		}
		if !utf8.ValidString(f.text) {
			return bad("%s is not UTF-8", f.what)
		}
	}
	if len(p.Extra) > 0 && !validExtra(p.Extra) {
		return bad("the extra members must be up to %d bytes of JSON, each with a comma before it", maxExtra)
	}
	return nil
}

func validExtra(b []byte) bool {
	if len(b) > maxExtra || b[0] != ',' {
		return false
	}
	object := append(append(append(make([]byte, 0, len(b)+16), `{"id":0`...), b...), '}')
	return json.Valid(object) && utf8.Valid(b)
}

func validClass(s string) bool { return s == "" || len(s) == 1 && isUpper(s[0]) }

func validCode(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isUpper(c) && (c < '0' || c > '9') {
			return false
		}
	}
	return len(s) <= maxCode
}

// validKind reports whether a text is a kind. No kind is also a code.
func validKind(s string) bool {
	for i := range len(s) {
		if c := s[i]; !('a' <= c && c <= 'z' || i > 0 && ('0' <= c && c <= '9' || c == '_' || c == '-' || c == '/')) {
			return false
		}
	}
	return s != "" && len(s) <= maxKind
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
