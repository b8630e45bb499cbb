package layout

import (
	"math"

	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
)

// Projection maps degrees to grid units. The projections share x and differ in
// y.
type Projection struct {
	// Y maps a latitude to units. It falls as the latitude rises and is
	// defined on [MinLat, MaxLat].
	Y              func(lat float64) float64
	MinLat, MaxLat float64
	// Curved is set if straight lines in degrees are not straight in units.
	Curved bool
}

// Clamp limits a latitude to the range of the projection.
func (pr Projection) Clamp(lat float64) float64 { return max(pr.MinLat, min(pr.MaxLat, lat)) }

// Point returns the grid point nearest to a place in degrees.
func (pr Projection) Point(lon, lat float64) grid.Point {
	round := func(v float64) int32 { return int32(math.Floor(v + 0.5)) }
	return grid.Pt(round(GridX(lon)), round(pr.Y(pr.Clamp(lat))))
}

// GridX returns the x of a longitude on the grid, in both projections.
func GridX(lon float64) float64 { return (lon + 180) / 360 * grid.WorldSize }

// Mercator is the tiles' projection, defined to a rim beyond the square
// world. The formula is the spherical Web-Mercator of EPSG:3857.
var Mercator = Projection{
	Y:      MercatorY,
	MinLat: MercatorLat(grid.WorldSize + grid.RimUnits),
	MaxLat: MercatorLat(-grid.RimUnits),
	Curved: true,
}

// MercatorY returns the y of a latitude on the tiles' grid.
func MercatorY(lat float64) float64 {
	s := math.Sin(lat * math.Pi / 180)
	return (0.5 - math.Log((1+s)/(1-s))/(4*math.Pi)) * grid.WorldSize
}

// MercatorLat is the inverse of MercatorY.
func MercatorLat(y float64) float64 {
	return math.Atan(math.Sinh(math.Pi*(1-2*y/grid.WorldSize))) * 180 / math.Pi
}

// PlateCarree is the plate carrée of the polar rows: y is the distance from the north pole in the same
// angular unit as x.
var PlateCarree = Projection{Y: PlateCarreeY, MinLat: -90, MaxLat: 90}

// PlateCarreeY returns the y of a latitude on the grid of the polar rows.
func PlateCarreeY(lat float64) float64 { return (90 - lat) / 360 * grid.WorldSize }

// PolarCap is a polar cap: its box in plate carrée and the key of its row.
type PolarCap struct {
	grid.Box
	Key []byte
}

// The polar caps are everything beyond the tiles' square. Their rows come last
// in the table.
var (
	NorthCap = &PolarCap{
		Box: grid.Box{X0: 0, Y0: 0, X1: grid.WorldSize, Y1: int32(math.Ceil(PlateCarreeY(quadkey.MaxLatitude)))},
		Key: []byte("\xFF\xFF\xFF\xFF\xFFN"),
	}
	SouthCap = &PolarCap{
		Box: grid.Box{X0: 0, Y0: int32(math.Floor(PlateCarreeY(-quadkey.MaxLatitude))), X1: grid.WorldSize, Y1: grid.WorldSize / 2},
		Key: []byte("\xFF\xFF\xFF\xFF\xFFS"),
	}
	PolarCaps = [2]*PolarCap{NorthCap, SouthCap}
)
