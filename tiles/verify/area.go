package verify

import (
	"bytes"
	"errors"
	"math"
	"math/bits"
	"strconv"

	"quadrille/quadkey"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// regionArea is the area of a region's record on the world grid, in units squared, and a bound on
// its difference from the area of the region's pieces.
type regionArea struct{ area, bound float64 }

var errGeometry = errors.New("not the coordinates of a Polygon or MultiPolygon")

// geometryArea measures the GeoJSON geometry of a record on the world grid. limit is the greatest
// number of bytes that a geometry may have. A geometry of nearly that size may have been made
// coarser to fit.
//
// regionArea.bound follows from how far rounding moves a border. The record's vertices are rounded
// to the plate carrée grid, which moves them by up to half a unit in x and half a unit times sec φ
// in y. They are also rounded to six decimals of a degree, which adds a tenth of these. The tiles'
// vertices are off by half a unit. Straight edges add half a unit, and corners where borders meet
// add one. A border moved by δ changes the area by at most its length times δ.
func geometryArea(g []byte, limit int) (regionArea, error) {
	const before, multi = `"coordinates":`, `"MultiPolygon"`
	at := bytes.Index(g, []byte(before))
	if at < 0 {
		return regionArea{}, errGeometry
	}
	depth := 3
	if bytes.Contains(g[:at], []byte(multi)) {
		depth = 4
	}
	coarse := 1.0
	if len(g) > limit/8 {
		units := uint64(0) // of all coordinates together
		err := eachCoordinate(g[at+len(before):], depth, func(lon, lat float64, _ bool) {
			units |= uint64(int64(math.Round((lon+180)/360*grid.WorldSize)) | int64(math.Round(layout.PlateCarreeY(lat))))
		})
		if err != nil {
			return regionArea{}, err
		}
		coarse = math.Exp2(float64(bits.TrailingZeros64(units | grid.WorldSize)))
	}
	var sum, bound float64
	var x0, lat0 float64
	err := eachCoordinate(g[at+len(before):], depth, func(lon, lat float64, first bool) {
		x := layout.GridX(lon)
		if !first {
			y0, y := clampedY(lat0), clampedY(lat)
			sum += x*y - x0*y0 - (x-x0)*meanY(lat0, lat)
			if length := math.Hypot(x-x0, y-y0); y0 != y || y0 > 0 && y0 < grid.WorldSize {
				far := math.Cos(min(max(math.Abs(lat0), math.Abs(lat)), quadkey.MaxLatitude) * math.Pi / 180)
				bound += (length + 4) * (2 + coarse*(0.6+0.6/far))
			}
		}
		x0, lat0 = x, lat
	})
	return regionArea{math.Abs(sum), bound + 64}, err
}

// clampedY returns the row of a latitude on the grid, clamped to the grid's
// edges.
func clampedY(lat float64) float64 {
	if math.Abs(lat) >= quadkey.MaxLatitude {
		return math.Copysign(grid.WorldSize/2, -lat) + grid.WorldSize/2
	}
	return layout.MercatorY(lat)
}

// meanY returns the mean row along an edge that is straight in degrees, by
// Simpson's rule on steps of a quarter of a degree.
func meanY(lat0, lat1 float64) float64 {
	n := max(1, math.Ceil(math.Abs(lat1-lat0)*4))
	sum := 0.0
	for i := range int(n) {
		a := lat0 + (lat1-lat0)*float64(i)/n
		b := lat0 + (lat1-lat0)*float64(i+1)/n
		sum += clampedY(a) + 4*clampedY((a+b)/2) + clampedY(b)
	}
	return sum / 6 / n
}

// eachCoordinate calls fn for the positions of GeoJSON coordinates that are
// nested depth arrays deep. first marks the first position of a ring.
func eachCoordinate(b []byte, depth int, fn func(lon, lat float64, first bool)) error {
	level, first := 0, true
	for i := 0; i < len(b); {
		switch b[i] {
		case '[':
			level++
			first = first || level == depth-1
			i++
		case ']':
			if level--; level == 0 {
				return nil
			}
			i++
		case ',', ' ', '\n', '\t', '\r':
			i++
		default:
			if level != depth {
				return errGeometry
			}
			var v [2]float64
			for k := range v {
				n := i
				for n < len(b) && b[n] != ',' && b[n] != ']' {
					n++
				}
				f, err := strconv.ParseFloat(string(bytes.TrimSpace(b[i:n])), 64)
				if err != nil || n == len(b) || k == 0 && b[n] != ',' {
					return errGeometry
				}
				v[k] = f
				if i = n; k == 0 {
					i++
				}
			}
			fn(v[0], v[1], first)
			first = false
		}
	}
	return errGeometry
}
