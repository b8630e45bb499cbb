package build

import (
	"cmp"
	"math"
	"slices"
)

// boundsOf is the smallest box around the shells on the cylinder: the widest
// stretch of longitude they leave free is left out.
func boundsOf(polygons [][]ring) [4]float64 {
	type span struct{ lo, hi float64 }
	var spans []span
	south, north := 90.0, -90.0
	wide := false
	for _, rings := range polygons {
		s := span{math.Inf(1), math.Inf(-1)}
		for _, p := range rings[0] {
			s.lo, s.hi = min(s.lo, p[0]), max(s.hi, p[0])
			south, north = min(south, p[1]), max(north, p[1])
		}
		if s.hi-s.lo >= 360 {
			wide = true
		}
		shift := math.Floor((s.lo+180)/360) * 360
		spans = append(spans, span{s.lo - shift, s.hi - shift})
	}
	if len(spans) == 0 {
		return [4]float64{}
	}
	if wide {
		return [4]float64{-180, south, 180, north}
	}
	slices.SortFunc(spans, func(a, b span) int { return cmp.Compare(a.lo, b.lo) })
	// The gap before the first span goes round to the end of the last.
	reach := spans[0].hi
	west, gap := spans[0].lo, -1.0
	for _, s := range spans[1:] {
		if s.lo-reach > gap {
			gap, west = s.lo-reach, s.lo
		}
		reach = max(reach, s.hi)
	}
	if around := spans[0].lo + 360 - reach; around >= gap {
		gap, west = around, spans[0].lo
	}
	if gap <= 0 {
		return [4]float64{-180, south, 180, north}
	}
	east := west - gap
	if east <= -180 {
		east += 360
	}
	if east > 180 {
		east -= 360
	}
	return [4]float64{west, south, east, north}
}
