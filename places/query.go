package places

import (
	"fmt"
	"math"
	"strings"
)

// Bounds of a NearbyQuery.
const (
	DefaultLimit = 10
	MaxLimit     = 1000
	// MaxExamined is how many places a search looks at before it gives up with
	// ErrTooMuchWork. Only filters that few places pass get that far.
	MaxExamined = 4_000_000
)

// NearbyQuery asks for the places nearest to a point.
type NearbyQuery struct {
	Lat, Lon float64 // degrees WGS84
	RadiusM  float64 // metres; 0 means no bound
	Limit    int     // places per page, 1 to MaxLimit; 0 means DefaultLimit
	// Filters. They are applied before the limit; an empty one lets every
	// place pass. Letters may be of either case.
	Class         string // feature class: "P"
	Code          string // feature code: "PPLC"
	Country       string // ISO 3166-1 alpha-2
	MinPopulation int64
	// Cursor continues where the page that returned it ended. All the other
	// fields but Limit must be as they were.
	Cursor string
}

// filter is what a place must have.
type filter struct {
	class         string
	featureCode   string
	country       country
	minPopulation uint64
}

func (q *NearbyQuery) check() (f filter, err error) {
	bad := func(format string, args ...any) (filter, error) {
		return filter{}, fmt.Errorf("%w: %s", ErrQuery, fmt.Sprintf(format, args...))
	}
	// Written so that NaN fails.
	switch {
	case !(math.Abs(q.Lat) <= 90):
		return bad("latitude %v: give degrees from -90 to 90", q.Lat)
	case !(math.Abs(q.Lon) <= 180):
		return bad("longitude %v: give degrees from -180 to 180", q.Lon)
	case !(q.RadiusM >= 0) || math.IsInf(q.RadiusM, 0):
		return bad("radius %v: give metres, or 0 for no bound", q.RadiusM)
	case q.Limit < 0 || q.Limit > MaxLimit:
		return bad("limit %d: give 1 to %d", q.Limit, MaxLimit)
	case q.MinPopulation < 0:
		return bad("minimum population %d: give 0 or more", q.MinPopulation)
	}
	f.class, f.featureCode = strings.ToUpper(q.Class), strings.ToUpper(q.Code)
	c := strings.ToUpper(q.Country)
	switch {
	case !validClass(f.class):
		return bad("feature class %.20q: give one letter, such as P for populated places", q.Class)
	case !validCode(f.featureCode):
		return bad("feature code %.20q: give one such as PPLC, without its class", q.Code)
	case !validCountry(c):
		return bad("country %.20q: give a two-letter ISO 3166-1 code such as CH", q.Country)
	}
	copy(f.country[:], c)
	f.minPopulation = uint64(q.MinPopulation)
	return f, nil
}

// none reports whether every place passes.
func (f *filter) none() bool { return *f == filter{} }

// code reports whether a qualifier, class.code, passes.
func (f *filter) code(qualifier string) bool {
	class, code, _ := strings.Cut(qualifier, ".")
	return (f.class == "" || class == f.class) && (f.featureCode == "" || code == f.featureCode)
}

// passes reports whether a place passes.
func (f *filter) passes(p *place) bool {
	if p.population < f.minPopulation {
		return false
	}
	if f.country != (country{}) && p.country != f.country {
		return false
	}
	if f.class != "" && (len(p.qualifier) == 0 || p.qualifier[0] != f.class[0]) {
		return false
	}
	return f.featureCode == "" || string(codeOf(p.qualifier)) == f.featureCode
}
