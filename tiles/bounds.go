package tiles

import (
	"math"

	"quadrille/quadkey"
)

// common is the intersection of a bounding box and a box, with a margin.
func common(b quadkey.Box, bounds [4]float64) quadkey.Box {
	o := overlap(b, bounds)
	return quadkey.Box{West: o[0], South: o[1], East: o[2], North: o[3]}
}

// widened is a bounding box with a margin.
func widened(b [4]float64, margin float64) quadkey.Box {
	w := quadkey.Box{
		West: max(-180, b[0]-margin), South: max(-90, b[1]-margin),
		East: min(180, b[2]+margin), North: min(90, b[3]+margin),
	}
	if b[0] > b[2] && w.West <= w.East { // the margin closes the gap
		w.West, w.East = -180, 180
	}
	return w
}

// lonSpan is a stretch of longitudes from start, to the east.
type lonSpan struct{ start, width float64 }

func spanOf(west, east float64) lonSpan {
	if west <= east {
		return lonSpan{west, east - west}
	}
	return lonSpan{west, east - west + 360}
}

// compareBounds reports whether a bounding box lies inside a box and whether
// the two are apart, in both cases by more than slack degrees.
func compareBounds(b quadkey.Box, bounds [4]float64, slack float64) (inside, apart bool) {
	s, g := spanOf(b.West, b.East), spanOf(bounds[0], bounds[2])
	// Measure from the western end of the box to that of the bounds.
	ahead := math.Mod(g.start-s.start+720, 360)
	round := s.width >= 360
	inside = (round || ahead >= slack && ahead+g.width <= s.width-slack) &&
		(bounds[1] >= b.South+slack || b.South == -90) && (bounds[3] <= b.North-slack || b.North == 90)
	apart = !round && ahead > s.width+slack && ahead+g.width < 360-slack ||
		bounds[1] > b.North+slack || bounds[3] < b.South-slack
	if b.North == 90 && bounds[3] > 90-slack || b.South == -90 && bounds[1] < -90+slack {
		apart = false // both at a pole
	}
	return inside, apart
}

// overlap is the intersection of a bounding box and a box that meet.
func overlap(b quadkey.Box, bounds [4]float64) [4]float64 {
	s, g := spanOf(b.West, b.East), spanOf(bounds[0], bounds[2])
	ahead := math.Mod(g.start-s.start+720, 360)
	o := [4]float64{b.West, max(b.South, bounds[1]), b.East, min(b.North, bounds[3])}
	starts, wraps := ahead <= s.width, ahead+g.width >= 360
	if starts && !wraps {
		o[0] = bounds[0]
	}
	switch {
	case starts && ahead+g.width < s.width:
		o[2] = bounds[2]
	case !starts && wraps && ahead+g.width-360 < s.width:
		o[2] = bounds[2]
	}
	if o[1] > o[3] { // they touch, and rounding to the grid parted them
		o[1], o[3] = o[3], o[1]
	}
	return o
}
