package points

import (
	"math"
	"time"

	"quadrille/feature"
	"quadrille/places/live"
	"quadrille/quadkey"
)

// Callers can check for these errors with errors.Is.
var (
	// ErrNotFound is matched when no point has the id.
	ErrNotFound = live.ErrNotFound
	// ErrInvalidPoint is matched if a point cannot be stored.
	ErrInvalidPoint = live.ErrInvalid
	// ErrQuery is matched if a query is invalid, ErrCursor if its cursor belongs to another query,
	// and ErrTooMuchWork if it would read too many points.
	ErrQuery       = feature.ErrQuery
	ErrCursor      = feature.ErrCursor
	ErrTooMuchWork = feature.ErrTooMuchWork
)

// MaxIDBytes bounds the id of a point, in bytes.
const MaxIDBytes = 256

// Point is a point to write.
type Point struct {
	// ID is 1 to MaxIDBytes bytes of UTF-8 without control characters.
	ID string
	// Lat and Lon are degrees.
	Lat, Lon float64
	// Properties is a JSON object; empty means {}.
	Properties []byte
	// Expires is the expiry time of the point; the zero time means never.
	Expires time.Time
	// Line is the line of the point in its source, for errors.
	Line int64
}

// unitsPerDegree is the stored precision of positions.
const unitsPerDegree = 1e7

func toUnits(degrees float64) int32 { return int32(math.Round(degrees * unitsPerDegree)) }

func toDegrees(units int32) float64 { return float64(units) / unitsPerDegree }

// position is the position of a point.
type position struct {
	key      quadkey.PointKey
	lat, lon int32 // units
}

// positionAt returns the position of valid degrees, rounded to the stored precision.
func positionAt(lat, lon float64) (position, error) {
	if err := quadkey.CheckCoordinate(lon, lat); err != nil {
		return position{}, err
	}
	return positionOf(toUnits(lat), toUnits(lon)), nil
}

func (p *position) degrees() quadkey.Position {
	return quadkey.Position{Lat: toDegrees(p.lat), Lon: toDegrees(p.lon)}
}

func positionOf(lat, lon int32) position {
	key, _ := quadkey.PointKeyOf(toDegrees(lon), toDegrees(lat)) // in range
	return position{key, lat, lon}
}
