package quadkey

import (
	"flag"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func init() {
	// Checks here take microseconds each, so try more than the default of 100.
	// The command line still overrides it.
	if err := flag.Set("rapid.checks", "3000"); err != nil {
		panic(err)
	}
}

// trials returns n, or fewer in short tests.
func trials(n int) int {
	if testing.Short() {
		n /= 10
	}
	return max(n, 3)
}

// These are slow and obvious counterparts of the package's bits and formulas, and the generators
// that most tests share.

// refQuadkey builds the digits of a tile by halving the grid.
func refQuadkey(t Tile) string {
	var s strings.Builder
	x, y := int(t.X), int(t.Y)
	for half := 1 << t.Z / 2; half > 0; half /= 2 {
		digit := '0'
		if x >= half {
			digit, x = digit+1, x-half
		}
		if y >= half {
			digit, y = digit+2, y-half
		}
		s.WriteRune(digit)
	}
	return s.String()
}

// refPacked reads digits as a base-4 number.
func refPacked(quadkey string) (p uint64) {
	for _, d := range quadkey {
		p = p*4 + uint64(d-'0')
	}
	return p
}

// refKey returns the textual form of a Key. '~' sorts after every digit, so padding with it puts an
// ancestor after its descendants.
func refKey(t Tile) string {
	return refQuadkey(t) + strings.Repeat("~", CellZoom-int(t.Z))
}

// refHolds reports whether a tile holds a point, by comparing degrees.
func refHolds(t Tile, lon, lat float64) bool {
	b := t.Bound()
	if lon == 180 {
		lon = -180
	}
	top, bottom := t.Y == 0, t.Y == 1<<t.Z-1
	return lon >= b.West && lon < b.East &&
		(lat <= b.North || top) && (lat > b.South || bottom)
}

// refMercatorY computes Web Mercator by the textbook formula.
func refMercatorY(lat float64) float64 {
	return 0.5 - math.Log(math.Tan(math.Pi/4+lat*math.Pi/360))/(2*math.Pi)
}

type vector [3]float64

func refVector(lon, lat float64) vector {
	sinLat, cosLat := math.Sincos(lat * math.Pi / 180)
	sinLon, cosLon := math.Sincos(lon * math.Pi / 180)
	return vector{cosLat * cosLon, cosLat * sinLon, sinLat}
}

// refDistance returns the angle between two vectors, computed as the arc tangent of their cross and
// dot products. This method is precise at every angle.
func refDistance(lon1, lat1, lon2, lat2 float64) float64 {
	a, b := refVector(lon1, lat1), refVector(lon2, lat2)
	cross := math.Hypot(a[1]*b[2]-a[2]*b[1], math.Hypot(a[2]*b[0]-a[0]*b[2], a[0]*b[1]-a[1]*b[0]))
	dot := a[0]*b[0] + a[1]*b[1] + a[2]*b[2]
	return EarthRadius * math.Atan2(cross, dot)
}

// refTarget returns the area of a tile's points, including the poles.
func refTarget(t Tile) Box {
	b := t.Bound()
	if t.Y == 0 {
		b.North = 90
	}
	if t.Y == 1<<t.Z-1 {
		b.South = -90
	}
	return b
}

// refMinDistance walks the outline of a tile and refines the nearest point of each side. It exceeds
// the true minimum by a rounding error or two.
func refMinDistance(t Tile, lon, lat float64) float64 {
	b := refTarget(t)
	if b.Contains(lon, lat) {
		return 0
	}
	sides := [4]func(f float64) (lon, lat float64){
		func(f float64) (float64, float64) { return b.West, b.South + f*(b.North-b.South) },
		func(f float64) (float64, float64) { return b.East, b.South + f*(b.North-b.South) },
		func(f float64) (float64, float64) { return b.West + f*(b.East-b.West), b.South },
		func(f float64) (float64, float64) { return b.West + f*(b.East-b.West), b.North },
	}
	best := math.Inf(1)
	for _, side := range sides {
		at := func(f float64) float64 {
			x, y := side(f)
			return Distance(lon, lat, x, y)
		}
		const steps = 64
		nearest, least := 0, math.Inf(1)
		for i := 0; i <= steps; i++ {
			if d := at(float64(i) / steps); d < least {
				nearest, least = i, d
			}
		}
		low := math.Max(0, float64(nearest-1)/steps)
		high := math.Min(1, float64(nearest+1)/steps)
		for range 80 {
			third := (high - low) / 3
			if at(low+third) < at(high-third) {
				high -= third
			} else {
				low += third
			}
		}
		best = min(best, least, at(low), at(high))
	}
	return best
}

// refDestination returns the point that lies the given metres from a point, in the given direction
// in radians.
func refDestination(lon, lat, direction, metres float64) (float64, float64) {
	up := refVector(lon, lat)
	sinLon, cosLon := math.Sincos(lon * math.Pi / 180)
	sinLat, cosLat := math.Sincos(lat * math.Pi / 180)
	north := vector{-sinLat * cosLon, -sinLat * sinLon, cosLat}
	east := vector{-sinLon, cosLon, 0}
	sinDir, cosDir := math.Sincos(direction)
	sinDist, cosDist := math.Sincos(metres / EarthRadius)
	var v vector
	for i := range v {
		v[i] = up[i]*cosDist + sinDist*(north[i]*cosDir+east[i]*sinDir)
	}
	return math.Atan2(v[1], v[0]) * 180 / math.Pi, math.Atan2(v[2], math.Hypot(v[0], v[1])) * 180 / math.Pi
}

// specialLons and specialLats are coordinates where errors are likely.
var (
	specialLons = []float64{
		-180, 180, 0, math.Copysign(0, -1), 90, -90, 45, 1e-15, -1e-15, 5e-324, -5e-324,
		math.Nextafter(180, 0), math.Nextafter(-180, 0), math.Nextafter(90, 0),
	}
	specialLats = []float64{
		-90, 90, 0, math.Copysign(0, -1), 1e-15, -1e-15, 5e-324, -5e-324, 89.9999, -89.9999,
		MaxLatitude, -MaxLatitude,
		math.Nextafter(MaxLatitude, 0), math.Nextafter(MaxLatitude, 90),
		math.Nextafter(-MaxLatitude, 0), math.Nextafter(-MaxLatitude, -90),
		math.Nextafter(90, 0), math.Nextafter(-90, 0),
	}
)

// randPoint returns a random point: uniform on the sphere, or in a third of the cases on an edge.
func randPoint(r *rand.Rand) (lon, lat float64) {
	lon = r.Float64()*360 - 180
	lat = math.Asin(2*r.Float64()-1) * 180 / math.Pi
	if r.IntN(6) == 0 {
		lon = specialLons[r.IntN(len(specialLons))]
	}
	if r.IntN(6) == 0 {
		lat = specialLats[r.IntN(len(specialLats))]
	}
	if r.IntN(6) == 0 {
		lat = math.Copysign(MaxLatitude+r.Float64()*(90-MaxLatitude), lat)
	}
	return lon, lat
}

// randTile returns a tile of a random zoom up to z, biased towards the grid's edges.
func randTile(r *rand.Rand, z int) Tile {
	t := Tile{Z: uint8(r.IntN(z + 1))}
	n := uint32(1) << t.Z
	t.X, t.Y = r.Uint32N(n), r.Uint32N(n)
	switch r.IntN(8) {
	case 0:
		t.X = 0
	case 1:
		t.X = n - 1
	case 2:
		t.Y = 0
	case 3:
		t.Y = n - 1
	}
	return t
}

// randIn returns a point that belongs to a tile, often on its outline.
func randIn(r *rand.Rand, t Tile) (lon, lat float64) {
	b := refTarget(t)
	pick := func(low, high float64) float64 {
		switch r.IntN(5) {
		case 0:
			return low
		case 1:
			return high
		}
		return min(high, low+r.Float64()*(high-low))
	}
	lon, lat = pick(b.West, b.East), pick(b.South, b.North)
	if lon == -180 && r.IntN(2) == 0 {
		lon = 180
	}
	return lon, lat
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0x9E3779B97F4A7C15)) }

// drawTile draws any valid tile of zoom 0 to z.
func drawTile(rt *rapid.T, label string, z uint8) Tile {
	t := Tile{Z: rapid.Uint8Range(0, z).Draw(rt, label+" zoom")}
	n := uint32(1)<<t.Z - 1
	t.X = rapid.Uint32Range(0, n).Draw(rt, label+" x")
	t.Y = rapid.Uint32Range(0, n).Draw(rt, label+" y")
	return t
}

// drawRelated draws any valid tile. In half of the cases it is a relative of t.
func drawRelated(rt *rapid.T, t Tile, z uint8) Tile {
	switch rapid.IntRange(0, 3).Draw(rt, "relation") {
	case 0:
		return t.Ancestor(rapid.Uint8Range(0, t.Z).Draw(rt, "up"))
	case 1:
		first, last := t.AtZoom(rapid.Uint8Range(t.Z, z).Draw(rt, "down"))
		return Tile{
			first.Z,
			rapid.Uint32Range(first.X, last.X).Draw(rt, "x"),
			rapid.Uint32Range(first.Y, last.Y).Draw(rt, "y"),
		}
	}
	return drawTile(rt, "other", z)
}

func drawLon(rt *rapid.T, label string) float64 {
	return rapid.OneOf(rapid.Float64Range(-180, 180), rapid.SampledFrom(specialLons)).Draw(rt, label)
}

func drawLat(rt *rapid.T, label string) float64 {
	return rapid.OneOf(rapid.Float64Range(-90, 90), rapid.SampledFrom(specialLats)).Draw(rt, label)
}
