package build

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/paulmach/orb"
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
	open := r
	if n := len(r); r[0] == r[n-1] {
		open = r[:n-1]
	}
	if crosses, edges := l.crosses(open); !crosses || edges == 0 {
		return r
	}
	return unroll(r)
}

// unroll copies a ring whose long edges cross ±180°, with longitudes that run on
// without a jump.
func unroll(r orb.Ring) orb.Ring {
	running := slices.Clone(r)
	for i := 1; i < len(r); i++ {
		running[i][0] = running[i-1][0] + shortWay(r[i-1], r[i])
	}
	return running
}

// widestClear is the widest edge, in degrees of longitude, that can be read in one
// way only, with some room for rounding. Latitudes that differ by no more than
// sameLatitude count as equal: d3's geoStitch rounds to four decimals beside ±180°.
const (
	widestClear  = 180 + 1e-9
	sameLatitude = 1.5e-4
)

// isLong tells the edges that can be read in two ways.
func isLong(a, b orb.Point) bool {
	return math.Abs(b[0]-a[0]) > widestClear && !(math.Abs(a[1]) >= 90 && math.Abs(b[1]) >= 90)
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
		level := math.Abs(b[1]-a[1]) <= sameLatitude
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
