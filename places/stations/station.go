package stations

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"quadrille/places/internal/near"
	"quadrille/places/internal/voronoi"
	"quadrille/quadkey"
)

// ID identifies a station: the six characters of its USAF number and the five of its WBAN number, or
// the eleven of its id in the Global Historical Climatology Network. They are letters A to Z and
// digits.
type ID [11]byte

const usafLen = 6

// MakeID returns the id that consists of a USAF and a WBAN number. Errors match ErrInvalid.
func MakeID(usaf, wban string) (ID, error) {
	var id ID
	if len(usaf) != usafLen || len(wban) != len(id)-usafLen {
		return ID{}, idError(usaf + "-" + wban)
	}
	copy(id[:], usaf)
	copy(id[usafLen:], wban)
	if !id.Valid() {
		return ID{}, idError(usaf + "-" + wban)
	}
	return id, nil
}

// ParseID reads "066600-99999", "06660099999" or "SZM00006660", letters of either case. Errors match
// ErrInvalid.
func ParseID(s string) (ID, error) {
	switch {
	case len(s) == len(ID{}):
		return MakeID(strings.ToUpper(s[:usafLen]), strings.ToUpper(s[usafLen:]))
	case len(s) == len(ID{})+1 && s[usafLen] == '-':
		return MakeID(strings.ToUpper(s[:usafLen]), strings.ToUpper(s[usafLen+1:]))
	}
	return ID{}, idError(s)
}

func idError(s string) error {
	return fmt.Errorf("%w: %.40q is no station id; give a USAF and a WBAN number, such as 066600-99999, or a GHCN id, such as SZM00006660", ErrInvalid, s)
}

// Valid reports whether the id is eleven letters A to Z and digits.
func (id ID) Valid() bool {
	for _, c := range id {
		if (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// String returns the eleven characters.
func (id ID) String() string { return string(id[:]) }

// GHCN reports whether the id is of the Global Historical Climatology Network. Such an id begins with
// the two letters of a country; of a USAF number only the first character may be a letter.
func (id ID) GHCN() bool { return id[0] >= 'A' && id[1] >= 'A' }

// WBAN returns the five characters of the WBAN number, or "". The id of a GHCN station has it if its
// third letter, which names the network, is W.
func (id ID) WBAN() string {
	if id.GHCN() && id[2] != 'W' {
		return ""
	}
	return string(id[usafLen:])
}

// WMO returns the five digits of the World Meteorological Organization's number, or "". They are
// the first five digits of the USAF number, with a zero after them, if the station has a WMO
// number.
func (id ID) WMO() string {
	number := string(id[:usafLen-1])
	if id[usafLen-1] != '0' || number < "01" || number >= "99" || strings.Trim(number, "0123456789") != "" {
		return ""
	}
	return number
}

// Station is a weather station as the input of Build. Unknown fields are empty,
// zero or nil.
type Station struct {
	ID         ID
	Name       string
	Country    string // ISO 3166-1 alpha-2, upper case
	State      string // of the United States, two letters
	ICAO       string
	WMO        string   // if the id does not tell it
	Lat, Lon   float64  // degrees WGS84
	ElevationM *float64 // metres above sea level
	// Begin and End are the first and the last day of its record, UTC.
	Begin, End time.Time
}

// maxText is the greatest length in bytes of a text of a station.
const maxText = 256

// Validate returns an error that matches ErrInvalid if the station cannot be
// stored.
func (s *Station) Validate() error {
	bad := func(format string, args ...any) error {
		return fmt.Errorf("%w: station %s: %s", ErrInvalid, s.ID, fmt.Sprintf(format, args...))
	}
	if !s.ID.Valid() {
		return idError(s.ID.String())
	}
	if quadkey.CheckCoordinate(s.Lon, s.Lat) != nil {
		return bad("position %v, %v; give degrees within ±90 and ±180", s.Lat, s.Lon)
	}
	for _, text := range [...]string{s.Name, s.State, s.ICAO, s.WMO} {
		if len(text) > maxText || !utf8.ValidString(text) {
			return bad("text %.20q; give at most %d bytes of UTF-8", text, maxText)
		}
	}
	if !near.ValidCountry(s.Country) {
		return bad("country %.20q; give two letters of ISO 3166-1, upper case, or none", s.Country)
	}
	if e := s.ElevationM; e != nil && !(math.Abs(*e) <= 100_000) {
		return bad("elevation %v; give metres", *e)
	}
	for _, day := range [...]time.Time{s.Begin, s.End} {
		if !day.IsZero() && (day.Year() < 1 || day.Year() > 9999) {
			return bad("date %v; give one of the years 1 to 9999", day)
		}
	}
	return nil
}

const (
	radians     = math.Pi / 180
	halfTurn    = 180 * voronoi.UnitsPerDegree
	quarterTurn = 90 * voronoi.UnitsPerDegree
)

// position is the position of a station.
type position = voronoi.Position

// positionOf returns the same position for equal points of the globe: 180° becomes −180°, and a
// pole gets longitude 0. Stations at one point then share their position.
func positionOf(lat, lon float64) position {
	p := voronoi.PositionOf(lat, lon)
	if p.Lon == halfTurn {
		p.Lon = -halfTurn
	}
	if p.Lat == quarterTurn || p.Lat == -quarterTurn {
		p.Lon = 0
	}
	return p
}

// These are the days of a record, in days since 1970.
const (
	forever = math.MaxInt32
	always  = math.MinInt32
)

func dayOf(t time.Time, unknown int32) int32 {
	if t.IsZero() {
		return unknown
	}
	days := t.Unix() / 86400
	if t.Unix()%86400 < 0 {
		days--
	}
	return int32(days)
}
