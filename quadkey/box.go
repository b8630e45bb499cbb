package quadkey

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Box is a rectangle of longitudes and latitudes, in degrees, edges included.
// A box whose West is greater than its East crosses ±180°.
type Box struct {
	West, South, East, North float64
}

// World is the box of every point.
var World = Box{West: -180, South: -90, East: 180, North: 90}

// ParseBox reads "west,south,east,north" in degrees, the order of GeoJSON and
// of bbox parameters. Spaces around numbers are allowed. Errors match [ErrBox].
func ParseBox(s string) (Box, error) {
	var v [4]float64
	if !ParseNumbers(s, v[:], ParseNumber) {
		return Box{}, boxTextError(s)
	}
	b := Box{v[0], v[1], v[2], v[3]}
	if err := b.Check(); err != nil {
		return Box{}, err
	}
	return b, nil
}

// ParseNumbers reads as many numbers as v has room for, with commas between them. Spaces around a
// number are allowed. number reads one: ParseNumber, or it and more.
func ParseNumbers(s string, v []float64, number func(string) (float64, bool)) bool {
	more := true
	for i := range v {
		if !more {
			return false
		}
		var field string
		field, s, more = strings.Cut(s, ",")
		var ok bool
		if v[i], ok = number(strings.TrimSpace(field)); !ok {
			return false
		}
	}
	return !more
}

// ParseNumber reads a finite number in decimal notation, with or without an exponent. ParseFloat
// alone would also take hexadecimal, underscores, "nan" and "infinity".
func ParseNumber(s string) (float64, bool) {
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

func boxTextError(s string) error {
	if len(s) > 80 {
		s = s[:80] + "…"
	}
	return fmt.Errorf("%w: %q; give west,south,east,north in degrees", ErrBox, s)
}

// Check returns an error that matches [ErrBox] unless longitudes are within
// ±180°, latitudes are within ±90° and south is not above north.
func (b Box) Check() error {
	for _, lon := range [2]float64{b.West, b.East} {
		if !(math.Abs(lon) <= 180) {
			return fmt.Errorf("%w: longitude %v; give degrees from -180 to 180, with west greater than east to cross ±180", ErrBox, lon)
		}
	}
	for _, lat := range [2]float64{b.South, b.North} {
		if !(math.Abs(lat) <= 90) {
			return fmt.Errorf("%w: latitude %v; give degrees from -90 to 90", ErrBox, lat)
		}
	}
	if b.South > b.North {
		return fmt.Errorf("%w: south %v is above north %v; exchange them", ErrBox, b.South, b.North)
	}
	return nil
}

// SquareDegrees returns the width times the height of the box in degrees.
func (b Box) SquareDegrees() float64 {
	width := b.East - b.West
	if b.West > b.East {
		width += 360
	}
	return width * (b.North - b.South)
}

// Valid reports whether [Box.Check] returns nil.
func (b Box) Valid() bool { return b.Check() == nil }

// Contains reports whether the point is in the box or on its edge. 180° and
// −180° are the same meridian.
func (b Box) Contains(lon, lat float64) bool {
	if !(lat >= b.South && lat <= b.North) {
		return false
	}
	if math.Abs(lon) == 180 {
		return b.hasLon(180) || b.hasLon(-180)
	}
	return b.hasLon(lon)
}

func (b Box) hasLon(lon float64) bool {
	if b.West > b.East {
		return lon >= b.West && lon <= 180 || lon <= b.East && lon >= -180
	}
	return lon >= b.West && lon <= b.East
}

// String returns "west,south,east,north", which [ParseBox] reads back exactly.
func (b Box) String() string {
	buf := make([]byte, 0, 80)
	for i, v := range [4]float64{b.West, b.South, b.East, b.North} {
		if i > 0 {
			buf = append(buf, ',')
		}
		buf = strconv.AppendFloat(buf, v, 'f', -1, 64)
	}
	return string(buf)
}
