package tiles

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/paulmach/orb"

	"quadrille/quadkey"
)

// LongEdges says how a feature's edges of more than 180° of longitude are meant.
// Sources that are cut at ±180° draw them as they are, which RFC 7946 asks of
// GeoJSON; stitched ones, such as world-atlas, cross ±180° by them. An edge of
// exactly 180° is always drawn as it is, and so is one along a pole, where
// longitude means nothing.
type LongEdges uint8

const (
	// LongEdgesAuto reads all such edges of a ring in one way. They are straight
	// unless they look like crossings, for which two things must hold. The ring is
	// drawn in detail: no other edge is wider or higher than 45°, and the short way
	// of a crossing is at most three times the largest of them. And most edges wider
	// than 270°, if they were straight, would turn the line back at an end, or at
	// both ends if they follow a parallel. Edges also cross where the ring then goes
	// around the globe and would otherwise enclose nothing.
	LongEdgesAuto LongEdges = iota
	// LongEdgesStraight takes everything as it is drawn, at the poles too.
	LongEdgesStraight
	// LongEdgesShortest takes the short way across ±180°. A step of 360° is
	// none then.
	LongEdgesShortest
)

var longEdgesNames = [...]string{"auto", "straight", "shortest"}

func (l LongEdges) String() string {
	if int(l) < len(longEdgesNames) {
		return longEdgesNames[l]
	}
	return fmt.Sprintf("LongEdges(%d)", uint8(l))
}

// MarshalText gives the name of the value.
func (l LongEdges) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText is the inverse of MarshalText.
func (l *LongEdges) UnmarshalText(text []byte) error {
	i := slices.Index(longEdgesNames[:], string(text))
	if i < 0 {
		return errors.New("give one of " + strings.Join(longEdgesNames[:], ", "))
	}
	*l = LongEdges(i)
	return nil
}

// Unroll returns a closed ring whose longitudes run on without a jump: those of
// its edges that cross ±180° do so by leaving it. The ring is returned itself
// where none does. One that goes around the globe ends 360° from where it
// began.
func (l LongEdges) Unroll(r orb.Ring) orb.Ring {
	if !slices.ContainsFunc(r, func(p orb.Point) bool { return math.Abs(p[0]-r[0][0]) > 90 }) {
		return r // no two points are more than 180° apart
	}
	points := slices.Clone(r)
	open := points
	if n := len(points); points[0] == points[n-1] {
		open = points[:n-1]
	}
	crosses, edges := l.crosses(open)
	if !crosses || edges == 0 {
		return r
	}
	for i := 1; i < len(points); i++ {
		points[i][0] = points[i-1][0] + shortWay(r[i-1], r[i])
	}
	return points
}

// long is the widest edge, in degrees of longitude, that can be read in one way
// only, with some room for rounding. Latitudes that differ by no more than apart
// count as equal: d3's geoStitch rounds to four decimals beside ±180°.
const (
	long  = 180 + 1e-9
	apart = 1.5e-4
)

// isLong tells the edges that can be read in two ways.
func isLong(a, b orb.Point) bool {
	return math.Abs(b[0]-a[0]) > long && !(math.Abs(a[1]) >= 90 && math.Abs(b[1]) >= 90)
}

// shortWay is the step in longitude of an edge where long ones cross ±180°.
func shortWay(a, b orb.Point) float64 {
	step := b[0] - a[0]
	if isLong(a, b) {
		step -= 360 * math.Round(step/360)
	}
	return step
}

// crosses reports whether the long edges of a ring cross ±180°, and how many
// edges another reading would change. A step of 360° along a parallel that is read
// as straight is not counted: it is clear. The ring's first point is not repeated.
func (l LongEdges) crosses(r orb.Ring) (crosses bool, edges int) {
	votes, turns := 0, 0
	for i, a := range r {
		b := r[(i+1)%len(r)]
		if !isLong(a, b) {
			continue
		}
		edges++
		level := math.Abs(b[1]-a[1]) <= apart
		if level && math.Abs(b[0]-a[0]) >= 360-1e-9 {
			turns++
		}
		if math.Abs(b[0]-a[0]) > 270 {
			votes += vote(neighbour(r, i, len(r)-1), a, b, neighbour(r, (i+1)%len(r), 1), level)
		}
	}
	switch {
	case edges == 0 || l == LongEdgesStraight:
		return false, edges - turns
	case l == LongEdgesShortest, votes > 0 && isDetailed(r), ringArea(r, straightStep) == 0 && goesRound(r):
		return true, edges
	}
	return false, edges - turns
}

// isDetailed is whether the edges of a ring are so short that its long ones can
// be crossings. Those of a wide box or dome are not.
func isDetailed(r orb.Ring) bool {
	const maxEdge, maxGap = 45, 3
	longest, gap := 0.0, 0.0
	for i, a := range r {
		b := r[(i+1)%len(r)]
		if isLong(a, b) {
			gap = max(gap, math.Abs(shortWay(a, b)))
		} else {
			longest = max(longest, math.Abs(b[0]-a[0]), math.Abs(b[1]-a[1]))
		}
	}
	return longest <= maxEdge && gap <= maxGap*longest
}

// vote is 1 if the edge a–b between its neighbours looks as if it crossed
// ±180°, −1 if it looks straight and 0 otherwise. A crossing shows as a line
// that would turn back at the ends of the edge if that were straight. The sides
// of a box turn neither way, and those of a trapezoid with a level base are too
// wide for a line that comes up to ±180°. An oblique edge on which the line goes
// on if it is straight says so only far from ±180°: small islands lean too.
func vote(before, a, b, after orb.Point, level bool) int {
	const near = 45
	onward := math.Copysign(1, b[0]-a[0])
	in, out := onward*(a[0]-before[0]), onward*(after[0]-b[0])
	switch {
	case in > 0 && out > 0:
		if level || math.Abs(b[0]-a[0]) <= 360-near {
			return -1
		}
		return 0
	case level && (in >= 0 || out >= 0 || in < -near || out < -near):
		return 0
	case in < 0 || out < 0:
		return 1
	}
	return 0
}

// neighbour is the first point elsewhere than r[i] by steps of so many points:
// rounding doubles points, above all where a ring closes.
func neighbour(r orb.Ring, i, step int) orb.Point {
	p := r[i]
	for n := 1; n < len(r); n++ {
		q := r[(i+n*step)%len(r)]
		if math.Abs(q[0]-p[0]) > 1e-9 || math.Abs(q[1]-p[1]) > 1e-9 {
			return q
		}
	}
	return p
}

func straightStep(a, b orb.Point) float64 { return b[0] - a[0] }

// ringArea is twice the signed area of a ring in square degrees, with the
// given steps of longitude.
func ringArea(r orb.Ring, step func(a, b orb.Point) float64) (s float64) {
	for i, a := range r {
		b := r[(i+1)%len(r)]
		// Relative to the first point: what lies along one parallel is exactly 0.
		s += step(a, b) * (a[1] - r[0][1] + b[1] - r[0][1])
	}
	return s
}

// goesRound is whether a ring with long edges that cross ±180° goes around the
// globe.
func goesRound(r orb.Ring) bool {
	var s float64
	for i, a := range r {
		s += shortWay(a, r[(i+1)%len(r)])
	}
	return math.Abs(s) > 180
}

// assumed counts what was assumed of a region's source.
type assumed struct {
	crossing, straight int     // long edges, by how they were read
	poles              [2]bool // south, north: the border was drawn on to it
	ends               [2]float64
	empty              int // rings that enclose nothing
}

// String is "" where nothing was.
func (s *assumed) String() string {
	var parts []string
	edges := func(n int, what string) {
		switch {
		case n == 1:
			parts = append(parts, "an edge wider than 180° was taken "+what)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d edges wider than 180° were taken %s", n, what))
		}
	}
	edges(s.crossing, "to cross ±180°")
	edges(s.straight, "to be straight")
	for i, name := range [2]string{"south", "north"} {
		if s.poles[i] {
			parts = append(parts, fmt.Sprintf("its end along latitude %v was taken for the %s pole", s.ends[i], name))
		}
	}
	return strings.Join(parts, ", ")
}

// toPoles draws a ring on to the pole where it ends along a full parallel
// beyond the latitudes of the tiles' square and all else of it lies on the
// equator's side: sources end there because they cannot hold the pole. Where the
// pole is farther away than the ring is high, the ring is a band and stays so.
func toPoles(r ring, seen *assumed) ring {
	for i, sign := range [2]float64{-1, 1} {
		start, end := 90.0, -90.0
		for _, p := range r {
			start, end = min(start, sign*p[1]), max(end, sign*p[1])
		}
		if end <= quadkey.MaxLatitude || end >= 90 || end-start < 90-end {
			continue
		}
		at := func(p orb.Point) bool { return sign*p[1] >= end-apart }
		n := len(r)
		first := -1 // of a run along the end
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
	var inside []orb.Point // a point of each hole that does not
	for i, src := range poly {
		r, turns, err := cleanRing(src, rule, seen)
		if err != nil {
			return nil, err
		}
		switch {
		case turns != 0:
			round = append(round, i)
		case r.isFlat():
			seen.empty++
			if i == 0 {
				return nil, nil // nor are there holes without a shell
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

// isFlat is whether the ring lies on one straight line.
func (r ring) isFlat() bool {
	var way orb.Point // from the first point to one elsewhere
	for _, p := range r {
		p[0], p[1] = p[0]-r[0][0], p[1]-r[0][1]
		if way == (orb.Point{}) {
			way = p
		} else if math.Abs(way[0]*p[1]-way[1]*p[0]) > 1e-12 {
			return false
		}
	}
	return true
}

// The methods below are of a ring that goes around the globe: it is not closed
// but ends a multiple of 360° from where it begins.

// meanLat is the latitude that halves the area between the ring and a parallel,
// so that the smaller part of the map lies on the side of the pole of its sign.
func (r ring) meanLat() float64 {
	var s float64
	for i, q := range r[1:] {
		s += (q[0] - r[i][0]) * (q[1] + r[i][1])
	}
	return s / 2 / (r[len(r)-1][0] - r[0][0])
}

// hasNorth is whether a point lies north of the ring.
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

// isEndOf is whether the ring is a parallel beyond the latitudes of the tiles'
// square, on the far side of another: the end of a source that cannot hold the
// pole.
func (r ring) isEndOf(other ring, seen *assumed) bool {
	side, sign := 0, -1.0 // south
	if r[0][1] > 0 {
		side, sign = 1, 1
	}
	for _, p := range r {
		if math.Abs(p[1]) <= quadkey.MaxLatitude || math.Abs(p[1]-r[0][1]) > apart {
			return false
		}
	}
	if sign*other.meanLat() >= sign*r[0][1] {
		return false
	}
	seen.poles[side], seen.ends[side] = true, r[0][1]
	return true
}

// band is the ring around what lies between two. It is cut open along a line
// that is there twice, once either way.
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
