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
	rest, more := s, true
	for i := range v {
		if !more {
			return Box{}, boxTextError(s)
		}
		var field string
		field, rest, more = strings.Cut(rest, ",")
		field = strings.TrimSpace(field)
		// ParseFloat accepts hexadecimal, underscores and names too.
		if strings.Trim(field, "+-.0123456789eE") != "" {
			return Box{}, boxTextError(s)
		}
		var err error
		if v[i], err = strconv.ParseFloat(field, 64); err != nil {
			return Box{}, boxTextError(s)
		}
	}
	if more {
		return Box{}, boxTextError(s)
	}
	b := Box{v[0], v[1], v[2], v[3]}
	if err := b.Check(); err != nil {
		return Box{}, err
	}
	return b, nil
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
