package tiles

import (
	"math"

	"quadrille/quadkey"
)

// widened returns a bounding box with a margin.
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

// lonSpan is a range of longitudes from start to the east.
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
	// Measure from the western end of the box to the western end of the bounds.
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

// ClipBounds returns the part of a region's bounds that lies in a box. The bounds must meet the
// box. Two parts, at the western and the eastern end of the box, become one.
func ClipBounds(b, bounds quadkey.Box) quadkey.Box {
	s, g := spanOf(b.West, b.East), spanOf(bounds.West, bounds.East)
	ahead := math.Mod(g.start-s.start+720, 360)
	o := quadkey.Box{West: b.West, South: max(b.South, bounds.South), East: b.East, North: min(b.North, bounds.North)}
	starts, wraps := ahead <= s.width, ahead+g.width >= 360
	if starts && !wraps {
		o.West = bounds.West
	}
	switch {
	case starts && ahead+g.width < s.width:
		o.East = bounds.East
	case !starts && wraps && ahead+g.width-360 < s.width:
		o.East = bounds.East
	}
	if o.South > o.North { // they touch, and rounding to the grid parted them
		o.South, o.North = o.North, o.South
	}
	return o
}
