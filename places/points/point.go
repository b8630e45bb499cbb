package points

import (
	"errors"
	"math"
	"time"

	"quadrille/places/internal/near"
	"quadrille/quadkey"
)

// Errors that callers branch on.
var (
	// ErrNotFound is matched when no point has the id.
	ErrNotFound = errors.New("no such point")
	// ErrPoint is matched when a point cannot be kept as it is.
	ErrPoint = errors.New("point is not valid")
	// ErrQuery is matched when a query makes no sense, ErrCursor when its cursor is not
	// one of this query, ErrTooMuchWork when it would read too many points.
	ErrQuery       = near.ErrQuery
	ErrCursor      = near.ErrCursor
	ErrTooMuchWork = near.ErrTooMuchWork
)

// MaxID is the longest id of a point, in bytes.
const MaxID = 256

// Point is a point as it is written.
type Point struct {
	// ID is 1 to MaxID bytes of UTF-8 without control characters.
	ID string
	// Lat and Lon are degrees.
	Lat, Lon float64
	// Properties is a JSON object; empty stands for {}.
	Properties []byte
	// Expires is when the point goes by itself; the zero time is never.
	Expires time.Time
	// Line is where the point stands in its source, for errors.
	Line int64
}

// Hit is a point that a question found.
type Hit struct {
	ID        string
	Lat, Lon  float64 // degrees
	DistanceM float64 // metres from the point asked about; only Nearby sets it
	// Version rises with every write of the point: milliseconds since 1970.
	Version int64
	Expires time.Time // the zero time is never
	// Properties is a compact JSON object.
	Properties []byte
}

// unitsPerDegree is the precision that points are kept at.
const unitsPerDegree = 1e7

func toUnits(degrees float64) int32 { return int32(math.Round(degrees * unitsPerDegree)) }

func toDegrees(units int32) float64 { return float64(units) / unitsPerDegree }

// position is where a point is.
type position struct {
	key      quadkey.PointKey
	lat, lon int32 // units
}

// positionAt returns the position of valid degrees, rounded to what is kept.
func positionAt(lat, lon float64) (position, error) {
	if err := quadkey.CheckCoordinate(lon, lat); err != nil {
		return position{}, err
	}
	return positionOf(toUnits(lat), toUnits(lon)), nil
}

func positionOf(lat, lon int32) position {
	key, _ := quadkey.PointKeyOf(toDegrees(lon), toDegrees(lat)) // in range
	return position{key, lat, lon}
}
