package tiles

import (
	"math"
	"strconv"

	"quadrille/quadkey"
)

// The world grid. Every border is an integer polygon on it: the tile of zoom
// 13 is 4096 units wide, the world 2²⁵, and one unit is 1.2 m at the equator.
// x grows to the east from longitude −180°, y to the south from latitude
// +85.0511° in Web-Mercator.
const (
	// MaxZoom is the deepest zoom with rows of its own; deeper tiles are cut
	// from it.
	MaxZoom = 13
	// worldBits is the base-2 logarithm of the world's width in units.
	worldBits = MaxZoom + 12
	worldSize = 1 << worldBits

	// bufferShift makes a tile's buffer 1/64 of its side: 64 of 4096 units.
	bufferShift = 6
	// rimUnits is how far geometry is kept beyond the top and bottom of the
	// world, so that the buffer of the outermost tiles, 1/64 of the world at
	// zoom 0, shows land and not the edge where it was cut.
	rimUnits = worldSize >> (bufferShift - 1)
)

// tileShift is the base-2 logarithm of a tile's side in units at zoom z.
func tileShift(z int) uint { return uint(worldBits - z) }

// gridShift is the base-2 logarithm of the coordinate step used at zoom z:
// the tile always has 4096 steps.
func gridShift(z int) uint { return uint(MaxZoom - z) }

// point is a place on the grid.
type point struct{ x, y int32 }

// box is a rectangle on the grid, its sides included.
type box struct{ x0, y0, x1, y1 int32 }

// tileBox returns the extent of a tile, buffered by 1/64 of its side on every
// side if buffered is set.
func tileBox(z int, x, y uint32, buffered bool) box {
	s := tileShift(z)
	b := box{int32(x) << s, int32(y) << s, int32(x+1) << s, int32(y+1) << s}
	if buffered {
		d := int32(1) << (s - bufferShift)
		b.x0, b.y0, b.x1, b.y1 = b.x0-d, b.y0-d, b.x1+d, b.y1+d
	}
	return b
}

// projection maps degrees to grid units. Both projections share x; they differ
// in y only.
type projection struct {
	// y maps a latitude to units; it falls as the latitude rises and is
	// defined on [minLat, maxLat].
	y              func(lat float64) float64
	minLat, maxLat float64
	// curved says that straight lines in degrees are not straight in units.
	curved bool
}

func gridX(lon float64) float64 { return (lon + 180) / 360 * worldSize }

// mercator is the tiles' projection, defined to a rim beyond the square
// world. The formula is the spherical Web-Mercator of EPSG:3857.
var mercator = projection{
	y:      mercatorY,
	minLat: mercatorLat(worldSize + rimUnits),
	maxLat: mercatorLat(-rimUnits),
	curved: true,
}

func mercatorY(lat float64) float64 {
	s := math.Sin(lat * math.Pi / 180)
	return (0.5 - math.Log((1+s)/(1-s))/(4*math.Pi)) * worldSize
}

// mercatorLat is the inverse of mercatorY.
func mercatorLat(y float64) float64 {
	return math.Atan(math.Sinh(math.Pi*(1-2*y/worldSize))) * 180 / math.Pi
}

// plate is the plate carrée of the polar rows: y counts the same angular unit
// as x from the north pole.
var plate = projection{y: plateY, minLat: -90, maxLat: 90}

func plateY(lat float64) float64 { return (90 - lat) / 360 * worldSize }

// The polar caps, in plate carrée: everything beyond the tiles' square.
var (
	northCap = box{0, 0, worldSize, int32(math.Ceil(plateY(quadkey.MaxLatitude)))}
	southCap = box{0, int32(math.Floor(plateY(-quadkey.MaxLatitude))), worldSize, worldSize / 2}
)

// appendLonLat appends a grid point as a GeoJSON position, longitude first.
// Decimals follow the zoom's step: a position is never finer than 1/8 of it
// and never needs more than 7 decimals.
func appendLonLat(dst []byte, p point, decimals int) []byte {
	dst = append(dst, '[')
	dst = appendFixed(dst, float64(p.x)/worldSize*360-180, decimals)
	dst = append(dst, ',')
	dst = appendFixed(dst, mercatorLat(float64(p.y)), decimals)
	return append(dst, ']')
}

// decimalsAt is the number of decimals of a degree at zoom z: the step of the
// zoom's grid is 360/2^(z+12)°, and one decimal digit more than its magnitude
// keeps positions apart.
func decimalsAt(z int) int {
	step := 360 / math.Exp2(float64(z+12))
	return min(7, 1+int(math.Ceil(-math.Log10(step))))
}

var pow10 = [...]float64{1, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7}

// appendFixed appends v with at most the given decimals and no trailing zeros.
// It exists because strconv's shortest formatting is several times slower and
// coordinates are most of the bytes of a build.
func appendFixed(dst []byte, v float64, decimals int) []byte {
	n := int64(math.Round(v * pow10[decimals]))
	if n < 0 {
		dst = append(dst, '-')
		n = -n
	}
	div := int64(pow10[decimals])
	dst = strconv.AppendInt(dst, n/div, 10)
	frac := n % div
	if frac == 0 {
		return dst
	}
	dst = append(dst, '.')
	for div /= 10; frac > 0; div /= 10 {
		dst = append(dst, byte('0'+frac/div))
		frac %= div
	}
	return dst
}
