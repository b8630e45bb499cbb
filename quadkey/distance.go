package quadkey

import "math"

// EarthRadius is the mean radius of the WGS84 ellipsoid, (2a+b)/3, in metres.
const EarthRadius = 6371008.8

// Distance returns the great-circle distance between two points, in metres, by
// the haversine formula. It is exact to within nanometres at any distance, near
// antipodes and poles too. Beyond a quarter turn it measures from the antipode,
// where the plain formula would lose half its digits. It is symmetric to the
// last bit. It treats 180° and −180° as one meridian and a pole as one point.
// Coordinates are degrees and must be valid.
func Distance(lon1, lat1, lon2, lat2 float64) float64 {
	return EarthRadius * angle(turn(lon1, lon2), lat1, lat2)
}

// turn returns the angle between two meridians, 0 to 180 degrees.
func turn(lon1, lon2 float64) float64 {
	d := math.Abs(lon1 - lon2)
	if d > 180 {
		d = 360 - d
	}
	return d
}

// angle returns the angle, in radians, between two points on meridians dlon
// degrees apart.
func angle(dlon, lat1, lat2 float64) float64 {
	c := cosLat(lat1) * cosLat(lat2)
	sinLon, cosLon := math.Sincos(dlon * (radians / 2))
	s := math.Sin((lat1 - lat2) * (radians / 2))
	if h := s*s + c*sinLon*sinLon; h <= 0.5 {
		return 2 * math.Asin(math.Sqrt(h))
	}
	s = math.Sin((lat1 + lat2) * (radians / 2))
	return math.Pi - 2*math.Asin(math.Sqrt(s*s+c*cosLon*cosLon))
}

// cosLat returns the cosine of a latitude, measured from the pole: it is
// exactly 0 there and keeps all its digits nearby.
func cosLat(lat float64) float64 { return math.Sin((90 - math.Abs(lat)) * radians) }

// These are a micrometre, and a part in 10^12. MinDistance subtracts both from the true minimum, so
// that rounding never makes it exceed Distance.
const (
	slack         = 1e-6
	slackPerMetre = 1e-12
)

// MinDistance returns a lower bound, in metres, of the [Distance] from a point
// to any point that belongs to the tile. It is 0 inside, and elsewhere at most
// 22 µm below the true minimum. Tiles of the top and bottom rows extend to the
// pole, because points beyond ±[MaxLatitude] belong to them. Coordinates are
// degrees and must be valid; NaN gives NaN.
func (t Tile) MinDistance(lon, lat float64) float64 {
	v, g := viewpointAt(lon, lat), t.ground()
	return v.minDistance(&g)
}

// viewpoint is a point from which distances are measured: its longitude in
// degrees, and the sine and cosine of its latitude.
type viewpoint struct{ lon, sin, cos float64 }

func viewpointAt(lon, lat float64) viewpoint {
	sin, cos := math.Sincos(lat * radians)
	return viewpoint{lon, sin, cos}
}

// opposite returns the viewpoint of the antipode.
func (v viewpoint) opposite() viewpoint {
	if v.lon > 0 {
		return viewpoint{v.lon - 180, -v.sin, v.cos}
	}
	return viewpoint{v.lon + 180, -v.sin, v.cos}
}

// ground is the area of a tile's points: edges in degrees of longitude, and
// sines and cosines of latitude.
type ground struct {
	west, east         float64
	sinSouth, cosSouth float64
	sinNorth, cosNorth float64
}

func (t Tile) ground() ground {
	n := 1 / float64(uint64(1)<<t.Z)
	g := ground{
		west:     unprojectX(float64(t.X) * n),
		east:     unprojectX(float64(t.X+1) * n),
		sinSouth: -1,
		sinNorth: 1,
	}
	if t.Y > 0 {
		g.sinNorth, g.cosNorth = unprojectSincos(float64(t.Y) * n)
	}
	if t.Y+1 < 1<<t.Z {
		g.sinSouth, g.cosSouth = unprojectSincos(float64(t.Y+1) * n)
	}
	return g
}

// unprojectSincos returns sine and cosine of the latitude at y: the hyperbolic
// tangent and secant of the argument that unprojectY passes to sinh.
func unprojectSincos(y float64) (sin, cos float64) {
	e := math.Exp(math.Pi * (1 - 2*y))
	return (e*e - 1) / (e*e + 1), 2 * e / (e*e + 1)
}

func (v viewpoint) minDistance(g *ground) float64 {
	d := EarthRadius * v.minAngle(g)
	return max(0, d-d*slackPerMetre-slack)
}

// minAngle returns the angle to the nearest point of the ground, in radians.
//
// At any one latitude, that point is on v's own meridian if the ground has it,
// otherwise on the east or west edge, whichever is the smaller turn away. On a
// meridian, it is not the point at v's latitude, because great circles bend
// towards the pole. The cosine of the angle to latitude φ of a meridian dlon
// away is
//
//	sin lat·sin φ + cos lat·cos dlon·cos φ
//
// The slope at both ends shows whether the greatest value is at one of them or in between. In
// between it is that of the meridian's whole circle. Angles are computed from both sine and cosine,
// which is precise at every distance.
func (v viewpoint) minAngle(g *ground) float64 {
	sinLon, cosLon := 0.0, 1.0
	if !(v.lon >= g.west && v.lon <= g.east) {
		sinLon, cosLon = math.Sincos(min(turn(v.lon, g.west), turn(v.lon, g.east)) * radians)
	}
	c := v.cos * cosLon
	southSlope := v.sin*g.cosSouth - c*g.sinSouth
	northSlope := v.sin*g.cosNorth - c*g.sinNorth
	to := func(sin, cos float64) float64 {
		a, b := cos*sinLon, v.cos*sin-v.sin*cos*cosLon
		return math.Atan2(math.Sqrt(a*a+b*b), v.sin*sin+c*cos)
	}
	switch {
	case southSlope >= 0 && northSlope <= 0:
		return math.Atan2(v.cos*sinLon, math.Sqrt(v.sin*v.sin+c*c))
	case southSlope >= 0 && northSlope > 0:
		return to(g.sinNorth, g.cosNorth)
	case southSlope < 0 && northSlope <= 0:
		return to(g.sinSouth, g.cosSouth)
	}
	// Beyond a quarter turn of longitude, either end may be nearer, over one pole or the other.
	return min(to(g.sinSouth, g.cosSouth), to(g.sinNorth, g.cosNorth))
}
