package near

import (
	"bytes"
	"math"
	"slices"
	"strings"

	"quadrille/feature"
	"quadrille/quadkey"
)

// These are the errors of searches. Package places exports them.
var (
	ErrQuery         = feature.ErrQuery
	ErrCursor        = feature.ErrCursor
	ErrCursorExpired = feature.ErrCursorExpired
	ErrTooMuchWork   = feature.ErrTooMuchWork
)

// These are bounds of queries.
const (
	DefaultLimit    = 10
	MaxLimit        = 1000
	MaxFilterValues = 20 // elements of a list
)

// CheckLimit returns the number of points of a page.
func CheckLimit(limit int) (int, error) {
	if limit < 0 || limit > MaxLimit {
		return 0, feature.BadQuery("limit %d: give 1 to %d", limit, MaxLimit)
	}
	if limit == 0 {
		limit = DefaultLimit
	}
	return limit, nil
}

// CheckCircle checks a point and a radius in metres, and returns the last rank by distance that
// lies within the radius. A radius of 0 means any distance.
func CheckCircle(lat, lon, radius float64) (limit uint64, err error) {
	// In this form the conditions also refuse NaN.
	switch {
	case !(math.Abs(lat) <= 90):
		return 0, feature.BadQuery("latitude %v: give degrees from -90 to 90", lat)
	case !(math.Abs(lon) <= 180):
		return 0, feature.BadQuery("longitude %v: give degrees from -180 to 180", lon)
	case !(radius >= 0) || math.IsInf(radius, 0):
		return 0, feature.BadQuery("radius %v: give metres, or 0 for no bound", radius)
	case radius == 0:
		radius = math.Inf(1)
	}
	return DistanceRank(radius), nil
}

// Country is an ISO 3166-1 alpha-2 code; the zero value is unknown.
type Country [2]byte

// Countries is a filter by countries: sorted, without repetition, and empty if all pass.
type Countries []Country

// ParseCountries reads a filter of codes, in either case.
func ParseCountries(codes []string) (list Countries, err error) {
	if len(codes) > MaxFilterValues {
		return nil, feature.BadQuery("%d countries: give at most %d", len(codes), MaxFilterValues)
	}
	for _, s := range codes {
		c := strings.ToUpper(s)
		if len(s) != 2 || !ValidCountry(c) {
			return nil, feature.BadQuery("country %.20q: give a two-letter ISO 3166-1 code such as CH", s)
		}
		list = append(list, Country([]byte(c)))
	}
	return list.sorted(), nil
}

// Has reports whether a country passes.
func (l Countries) Has(c Country) bool { return len(l) == 0 || slices.Contains(l, c) }

// AppendTo appends bytes that distinguish the filter from others.
func (l Countries) AppendTo(b []byte) []byte {
	b = append(b, byte(len(l)))
	for _, c := range l {
		b = append(b, c[:]...)
	}
	return b
}

// Compare compares countries by their codes.
func (c Country) Compare(o Country) int { return bytes.Compare(c[:], o[:]) }

// ValidCountry reports whether a text is empty or two letters A to Z.
func ValidCountry(s string) bool {
	return s == "" || len(s) == 2 && 'A' <= s[0] && s[0] <= 'Z' && 'A' <= s[1] && s[1] <= 'Z'
}

// CheckBox checks a box.
func CheckBox(b quadkey.Box) error {
	if err := b.Check(); err != nil {
		return feature.BadQuery("%v", err)
	}
	return nil
}

// BoxOf returns the box of a manifest's bounds, or the world if it has none.
func BoxOf(b []float64) quadkey.Box {
	if len(b) != 4 {
		return quadkey.World
	}
	return quadkey.Box{West: b[0], South: b[1], East: b[2], North: b[3]}
}

// BoxMeetsTile reports whether a box may have points that belong to a tile. Tiles of
// the top and bottom rows reach to the pole.
func BoxMeetsTile(b quadkey.Box, t quadkey.Tile) bool {
	const margin = 1e-9 // degrees: more than rounding, less than points are kept to
	o := t.Bound()
	if t.Y > 0 && o.North+margin < b.South || t.Y < 1<<t.Z-1 && o.South-margin > b.North {
		return false
	}
	if o.West == -180 && (b.East == 180 || b.West == 180) {
		return true // 180° belongs to the tiles at −180°
	}
	west, east := o.East+margin >= b.West, o.West-margin <= b.East
	if b.West > b.East {
		return west || east
	}
	return west && east
}
