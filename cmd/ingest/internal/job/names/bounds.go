package names

import (
	"math"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"
)

// These constants decide which parts of a country are its main part.
const (
	mainShare = 0.75 // the least share of the area; with less there is no main part
	largeArea = 0.25 // share of the largest polygon's area from which a part belongs to it wherever it lies
	nearShare = 0.08 // greatest distance, as a share of the largest polygon's extent
	nearLeast = 2.0  // degrees
	muchWider = 2    // how many times larger the bounds of everything must be
)

// mainBounds returns the bounds of a country's main part, from its geometry: France as on a map of
// France, without Réunion. It returns the whole bounds if they are not much larger than those of
// the main part, or if the country consists of scattered islands.
func mainBounds(geometry orb.Geometry, whole [4]float64) [4]float64 {
	polygons, ok := geometry.(orb.MultiPolygon)
	if !ok {
		return whole
	}
	largest, total := 0, 0.0
	areas := make([]float64, len(polygons))
	for i, p := range polygons {
		areas[i] = planar.Area(p) * math.Cos(p.Bound().Center()[1]*math.Pi/180)
		if total += areas[i]; areas[i] > areas[largest] {
			largest = i
		}
	}
	if len(polygons) == 0 {
		return whole
	}
	first := polygons[largest].Bound()
	reach := max(nearLeast, nearShare*max(first.Max[0]-first.Min[0], first.Max[1]-first.Min[1]))
	sum, held := first, 0.0
	for i, p := range polygons {
		b := p.Bound()
		// A part on the other side of ±180° may be close.
		for _, turn := range []float64{-360, 360} {
			moved := orb.Bound{Min: orb.Point{b.Min[0] + turn, b.Min[1]}, Max: orb.Point{b.Max[0] + turn, b.Max[1]}}
			if apart(first, moved) < apart(first, b) {
				b = moved
			}
		}
		if areas[i] >= largeArea*areas[largest] || apart(first, b) <= reach {
			sum, held = sum.Union(b), held+areas[i]
		}
	}
	width := whole[2] - whole[0]
	if width < 0 {
		width += 360
	}
	if held < mainShare*total || width <= muchWider*(sum.Max[0]-sum.Min[0]) && whole[3]-whole[1] <= muchWider*(sum.Max[1]-sum.Min[1]) {
		return whole
	}
	return [4]float64{math.Remainder(sum.Min[0], 360), sum.Min[1], math.Remainder(sum.Max[0], 360), sum.Max[1]}
}

// apart returns how far apart two boxes are, in degrees along the farther axis.
func apart(a, b orb.Bound) float64 {
	gap := 0.0
	for axis := range 2 {
		gap = max(gap, b.Min[axis]-a.Max[axis], a.Min[axis]-b.Max[axis])
	}
	return gap
}
