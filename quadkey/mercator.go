package quadkey

import (
	"fmt"
	"math"
)

// MaxLatitude, in degrees, is where Web Mercator cuts the world to a square:
// atan(sinh(π)).
const MaxLatitude = 85.05112877980659

const (
	radians = math.Pi / 180
	degrees = 180 / math.Pi

	// grid is the number of columns and rows at MaxZoom.
	grid = 1 << MaxZoom
)

// CheckCoordinate returns an error that matches [ErrCoordinate] unless the
// longitude is within ±180° and the latitude within ±90°.
func CheckCoordinate(lon, lat float64) error {
	// In this form the condition also refuses NaN.
	if !(lon >= -180 && lon <= 180) {
		return fmt.Errorf("%w: longitude %v; give degrees from -180 to 180", ErrCoordinate, lon)
	}
	if !(lat >= -90 && lat <= 90) {
		return fmt.Errorf("%w: latitude %v; give degrees from -90 to 90", ErrCoordinate, lat)
	}
	return nil
}

// TileAt returns the tile at zoom z that a point, in degrees, belongs to: west
// and north edges belong to a tile, 180° is −180°, and latitudes beyond
// ±[MaxLatitude] belong to the row at that edge. Errors match [ErrCoordinate]
// or, for a zoom above [MaxZoom], [ErrTile].
func TileAt(lon, lat float64, z uint8) (Tile, error) {
	if z > MaxZoom {
		return Tile{}, zoomError(int(z))
	}
	if err := CheckCoordinate(lon, lat); err != nil {
		return Tile{}, err
	}
	x, y := gridAt(lon, lat)
	return Tile{z, x >> (MaxZoom - z), y >> (MaxZoom - z)}, nil
}

// gridAt returns the column and row at MaxZoom of a valid coordinate. Shift
// them right for other zooms.
func gridAt(lon, lat float64) (x, y uint32) {
	x = uint32(projectX(lon)*grid) % grid // 180° is column 0
	return x, rowAt(lat)
}

// Project maps degrees to the unit square of spherical Web Mercator (EPSG:3857,
// scaled): x from 0 at −180° to 1 at 180°, y from 0 at [MaxLatitude] down to 1
// at −MaxLatitude, where latitudes are clamped. Longitudes are not wrapped, so
// unwrapped geometry stays connected: 180° is 1, though its points belong to
// column 0, and 190° is further right. NaN gives NaN.
//
//	x = (lon + 180) / 360
//	y = ½ − ln((1 + sin lat) / cos lat) / 2π
//
// The result is off by a rounding error or two, yet never lands on the wrong
// side of a tile edge: see the package documentation.
func Project(lon, lat float64) (x, y float64) {
	return projectX(lon), projectY(lat)
}

// Unproject is the inverse of [Project], to within rounding. It clamps y to the
// unit square, but not x.
func Unproject(x, y float64) (lon, lat float64) {
	return unprojectX(x), unprojectY(y)
}

func projectX(lon float64) float64 {
	x := (lon + 180) / 360
	// lon+180 drops the low bits of a small longitude, which can move a point
	// just west of a tile edge onto the edge. The edge itself is exact in
	// degrees.
	if f := x * grid; f == math.Floor(f) && lon < unprojectX(x) {
		x = math.Nextafter(x, math.Inf(-1))
	}
	return x
}

func unprojectX(x float64) float64 { return x*360 - 180 }

// nearEdge is the distance from a row's edge, in rows at MaxZoom, within which rounding might move
// a point across it, with a margin of about ten.
const nearEdge = 1.0 / (1 << 24)

func projectY(lat float64) float64 {
	switch {
	case lat >= MaxLatitude:
		return 0
	case lat <= -MaxLatitude:
		return 1
	}
	// Of the many forms of the formula, this one loses no digits towards the
	// edges of the map. The absolute value makes the map symmetric.
	sin, cos := math.Sincos(math.Abs(lat) * radians)
	y := 0.5 - math.Copysign(math.Log((1+sin)/cos), lat)/(2*math.Pi)

	// This close to a row's edge rounding could choose the side, so compare degrees, as a reader of
	// Bound would. This also makes rows monotonic in latitude, which sine and logarithm are not in
	// their last bits.
	f := y * grid
	if k := math.Floor(f + 0.5); math.Abs(f-k) < nearEdge {
		edge := k / grid
		if lat <= unprojectY(edge) {
			return max(y, edge)
		}
		return max(0, min(y, math.Nextafter(edge, 0)))
	}
	return y
}

func unprojectY(y float64) float64 {
	// The formula differs from the constant by a rounding error.
	switch {
	case y <= 0:
		return MaxLatitude
	case y >= 1:
		return -MaxLatitude
	}
	return math.Atan(math.Sinh(math.Pi*(1-2*y))) * degrees
}
