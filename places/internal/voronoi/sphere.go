package voronoi

import (
	"math"

	"quadrille/quadkey"
)

// vec is a point of three-dimensional space. Points of the globe are on the
// unit sphere: x towards 0°, y towards 90° east, z north.
type vec struct{ x, y, z float64 }

func (a vec) minus(b vec) vec   { return vec{a.x - b.x, a.y - b.y, a.z - b.z} }
func (a vec) dot(b vec) float64 { return a.x*b.x + a.y*b.y + a.z*b.z }
func (a vec) negative() vec     { return vec{-a.x, -a.y, -a.z} }

// direction is a point of the unit circle.
type direction struct{ cos, sin float64 }

const radians = math.Pi / 180

func toDirection(degrees float64) direction {
	sin, cos := math.Sincos(degrees * radians)
	return direction{cos, sin}
}

// latitude returns the direction of a latitude. Its cosine keeps all digits
// towards the poles and is exactly 0 there.
func latitude(degrees float64) direction {
	return direction{math.Sin((90 - math.Abs(degrees)) * radians), math.Sin(degrees * radians)}
}

func vecOf(lon, lat float64) vec {
	return corner(toDirection(lon), latitude(lat))
}

// corner returns the point of a longitude and a latitude.
func corner(lon, lat direction) vec { return vec{lat.cos * lon.cos, lat.cos * lon.sin, lat.sin} }

// ground is the area of a tile's points: its edges as directions.
type ground struct {
	west, east   direction // of longitude
	south, north direction // of latitude, −90° to 90°
	round        bool      // every longitude
	centre       vec
	lon, lat     float64 // of the centre
}

// groundOf returns the ground of a tile. Tiles of the top and bottom rows
// extend to the pole.
func groundOf(t quadkey.Tile) ground {
	b := t.Bound()
	if t.Y == 0 {
		b.North = 90
	}
	if t.Y == 1<<t.Z-1 {
		b.South = -90
	}
	lon, lat := (b.West+b.East)/2, (b.South+b.North)/2
	return ground{
		west: toDirection(b.West), east: toDirection(b.East),
		south: latitude(b.South), north: latitude(b.North),
		round:  t.Z == 0,
		centre: vecOf(lon, lat), lon: lon, lat: lat,
	}
}

// maxDot returns the greatest value of v·p over the points p of the ground. It
// is exact to some units of the last place of |v|.
//
// At longitude λ and latitude φ the product is cos φ·h(λ) + v.z·sin φ, where
// h(λ) = v.x·cos λ + v.y·sin λ. Cosines of latitudes are not negative, so at
// every latitude the product is greatest where h is. That is in the direction
// of v if the ground has that meridian, otherwise on one of its two edges. With
// h fixed the product is a cosine of φ, and no ground spans more than half its
// period. Its slopes at the two ends tell whether it is greatest at one of them
// or in between. In between the maximum is the amplitude.
func (g *ground) maxDot(v vec) float64 {
	h := max(g.west.cos*v.x+g.west.sin*v.y, g.east.cos*v.x+g.east.sin*v.y)
	// No tile but the world is wider than half a turn. So v's meridian is in
	// the tile if it is left of the west edge and right of the east edge.
	if g.round || g.west.cos*v.y-g.west.sin*v.x >= 0 && v.x*g.east.sin-v.y*g.east.cos >= 0 {
		h = math.Sqrt(v.x*v.x + v.y*v.y)
	}
	if g.south.cos*v.z-g.south.sin*h >= 0 && g.north.cos*v.z-g.north.sin*h <= 0 {
		return math.Sqrt(h*h + v.z*v.z)
	}
	return max(g.south.cos*h+g.south.sin*v.z, g.north.cos*h+g.north.sin*v.z)
}
