// Package sphere measures between points and lines on the globe, which is the unit sphere around the
// origin.
package sphere

import (
	"math"

	"quadrille/quadkey"
)

// ArcOf returns the length in metres of an angle in degrees.
func ArcOf(degrees float64) float64 { return degrees * math.Pi / 180 * quadkey.EarthRadius }

// Vec is a point in space. The globe is the unit sphere around the origin.
type Vec struct{ x, y, z float64 }

// At returns the point at a longitude and a latitude in degrees.
func At(lon, lat float64) Vec {
	sin, cos := math.Sincos(lat * math.Pi / 180)
	if math.Abs(lat) > 45 {
		// Near the pole this form keeps all digits.
		cos = math.Sin((90 - math.Abs(lat)) * math.Pi / 180)
	}
	return On(lon*math.Pi/180, sin, cos)
}

// On returns the point at a longitude in radians and a latitude of which sine and cosine are given.
func On(lon, sin, cos float64) Vec {
	sinLon, cosLon := math.Sincos(lon)
	return Vec{cos * cosLon, cos * sinLon, sin}
}

// To returns the distance in space to another point.
func (v Vec) To(o Vec) float64 {
	d := Vec{o.x - v.x, o.y - v.y, o.z - v.z}
	return math.Sqrt(d.x*d.x + d.y*d.y + d.z*d.z)
}

// ToChord returns the distance in space to the nearest point of the chord a–b.
func (v Vec) ToChord(a, b Vec) float64 {
	d, w := Vec{b.x - a.x, b.y - a.y, b.z - a.z}, Vec{v.x - a.x, v.y - a.y, v.z - a.z}
	t := 0.0
	if l := d.x*d.x + d.y*d.y + d.z*d.z; l > 0 {
		t = max(0, min(1, (w.x*d.x+w.y*d.y+w.z*d.z)/l))
	}
	w = Vec{w.x - t*d.x, w.y - t*d.y, w.z - t*d.z}
	return math.Sqrt(w.x*w.x + w.y*w.y + w.z*w.z)
}

// Between returns the distance in space between the chords a–b and c–d.
func Between(a, b, c, d Vec) float64 {
	// It is at an end of one of them, unless they are closest at inner points: those of the lines through
	// them, as far as these are no parallels.
	least := min(a.ToChord(c, d), b.ToChord(c, d), c.ToChord(a, b), d.ToChord(a, b))
	u, v, w := b.minus(a), d.minus(c), a.minus(c)
	uu, uv, vv, uw, vw := u.dot(u), u.dot(v), v.dot(v), u.dot(w), v.dot(w)
	det := uu*vv - uv*uv
	if det <= 1e-12*uu*vv {
		return least
	}
	s, t := (uv*vw-vv*uw)/det, (uu*vw-uv*uw)/det
	if s <= 0 || s >= 1 || t <= 0 || t >= 1 {
		return least
	}
	gap := Vec{w.x + s*u.x - t*v.x, w.y + s*u.y - t*v.y, w.z + s*u.z - t*v.z}
	return min(least, math.Sqrt(gap.dot(gap)))
}

// Mid returns the middle of the chord to another point.
func (v Vec) Mid(o Vec) Vec { return Vec{(v.x + o.x) / 2, (v.y + o.y) / 2, (v.z + o.z) / 2} }

func (v Vec) minus(o Vec) Vec { return Vec{v.x - o.x, v.y - o.y, v.z - o.z} }

func (v Vec) dot(o Vec) float64 { return v.x*o.x + v.y*o.y + v.z*o.z }

// ChordOf returns the chord on the unit sphere that spans an arc in metres.
func ChordOf(metres float64) float64 { return 2 * math.Sin(metres/(2*quadkey.EarthRadius)) }

// MetresOf returns the arc in metres that a chord spans.
func MetresOf(chord float64) float64 { return 2 * quadkey.EarthRadius * math.Asin(min(1, chord/2)) }
