package build

import (
	"math"
	"slices"

	"github.com/paulmach/orb"

	"quadrille/quadkey"
)

// toPoles extends a ring to the pole. The ring must end along a full parallel
// beyond the latitudes of the tiles' square, with everything else on the
// equator's side: some sources end there because they cannot represent the
// pole. If the pole is farther away than the ring is high, the ring is a band
// and stays one.
func toPoles(r ring, seen *assumed) ring {
	for i, sign := range [2]float64{-1, 1} {
		start, end := 90.0, -90.0
		for _, p := range r {
			start, end = min(start, sign*p[1]), max(end, sign*p[1])
		}
		if end <= quadkey.MaxLatitude || end >= 90 || end-start < 90-end {
			continue
		}
		at := func(p orb.Point) bool { return sign*p[1] >= end-sameLatitude }
		n := len(r)
		first := -1 // start of a run along the source's end
		for i := range r {
			if at(r[i]) && !at(r[(i+n-1)%n]) {
				first = i
				last := i
				for at(r[(last+1)%n]) {
					last++
				}
				if math.Abs(r[last%n][0]-r[first][0]) >= 360-1e-6 {
					break
				}
				first = -1
			}
		}
		if first < 0 {
			continue
		}
		r = slices.Concat(r[first:], r[:first])
		last := 0
		for at(r[last+1]) {
			last++
		}
		r = slices.Concat(ring{r[0], {r[0][0], 90 * sign}, {r[last][0], 90 * sign}}, r[last:])
		seen.poles[i], seen.ends[i] = true, sign*end
	}
	return r
}

// cleanPolygon cleans the rings of a polygon, the shell first. A ring without
// points encloses nothing.
func cleanPolygon(poly orb.Polygon, rule LongEdges, seen *assumed) ([]ring, error) {
	rings := make([]ring, len(poly))
	var round []int        // the rings that go around the globe
	var inside []orb.Point // a point of each hole that does not go around
	for i, src := range poly {
		r, turns, err := cleanRing(src, rule, seen)
		if err != nil {
			return nil, err
		}
		switch {
		case turns != 0:
			round = append(round, i)
		case r.isFlat():
			seen.flat = append(seen.flat, flatRing{r, i > 0, seen.polygons})
			if i == 0 {
				return nil, nil // holes need a shell
			}
			continue
		case rule != LongEdgesStraight:
			r = toPoles(r, seen)
			fallthrough
		default:
			if i > 0 {
				inside = append(inside, r[0])
			}
		}
		rings[i] = r
	}
	if len(round) == 2 && round[0] == 0 {
		a, b := rings[0], rings[round[1]]
		rings[round[1]] = nil
		round = round[:1]
		switch {
		case b.isEndOf(a, seen):
		case a.isEndOf(b, seen):
			rings[0] = b
		default:
			rings[0], round = band(a, b), nil
		}
	}
	for _, i := range round {
		r := rings[i]
		north := r.meanLat() >= 0
		if i == 0 && len(inside) > 0 {
			north = r.hasNorth(inside[0])
		}
		pole := -90.0
		if north {
			pole = 90
		}
		rings[i] = append(r, orb.Point{r[len(r)-1][0], pole}, orb.Point{r[0][0], pole})
	}
	return rings, nil
}

// flatDegrees bounds the distance of the points of an empty ring from one straight line. Rounding
// moves points on a line by less; a ring of a metre is ten million times as wide.
const flatDegrees = 1e-12

// isFlat reports whether the ring lies on one straight line.
func (r ring) isFlat() bool {
	way, length := orb.Point{}, 0.0 // from the first point to the farthest one; from a near point, all would seem to lie on a line
	for _, p := range r {
		p[0], p[1] = p[0]-r[0][0], p[1]-r[0][1]
		if l := math.Hypot(p[0], p[1]); l > length {
			way, length = p, l
		}
	}
	for _, p := range r {
		if math.Abs(way[0]*(p[1]-r[0][1])-way[1]*(p[0]-r[0][0])) > flatDegrees*length {
			return false
		}
	}
	return true
}

// The methods below are for a ring that goes around the globe. Such a ring is open: it ends a
// multiple of 360° from its start.

// meanLat returns the latitude that halves the area between the ring and a
// parallel. The smaller part of the map lies towards the pole of its sign.
func (r ring) meanLat() float64 {
	var s float64
	for i, q := range r[1:] {
		s += (q[0] - r[i][0]) * (q[1] + r[i][1])
	}
	return s / 2 / (r[len(r)-1][0] - r[0][0])
}

// hasNorth reports whether a point lies north of the ring.
func (r ring) hasNorth(p orb.Point) bool {
	above := 0
	for i, q := range r[1:] {
		a, b := r[i], q
		if a[0] > b[0] {
			a, b = b, a
		}
		for lon := p[0] + 360*math.Ceil((a[0]-p[0])/360); lon < b[0]; lon += 360 {
			if a[1]+(b[1]-a[1])*(lon-a[0])/(b[0]-a[0]) > p[1] {
				above++
			}
		}
	}
	return above%2 == 0
}

// isEndOf reports whether the ring is the end of a source that cannot represent
// the pole: a parallel beyond the latitudes of the tiles' square, on the far
// side of the other ring.
func (r ring) isEndOf(other ring, seen *assumed) bool {
	side, sign := 0, -1.0 // south
	if r[0][1] > 0 {
		side, sign = 1, 1
	}
	for _, p := range r {
		if math.Abs(p[1]) <= quadkey.MaxLatitude || math.Abs(p[1]-r[0][1]) > sameLatitude {
			return false
		}
	}
	if sign*other.meanLat() >= sign*r[0][1] {
		return false
	}
	seen.poles[side], seen.ends[side] = true, r[0][1]
	return true
}

// band returns the ring around the area between two rings. The cut that opens
// it is a line that runs once each way.
func band(a, b ring) ring {
	if (a[0][0] < a[len(a)-1][0]) == (b[0][0] < b[len(b)-1][0]) {
		slices.Reverse(b)
	}
	shift := 360 * math.Round((a[len(a)-1][0]-b[0][0])/360)
	for _, p := range b {
		a = append(a, orb.Point{p[0] + shift, p[1]})
	}
	return a
}
