package build

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/paulmach/orb"
)

// LongEdges chooses the reading of a feature's edges of more than 180° of longitude: straight, or
// the short way across ±180°. Sources that are cut at ±180° mean straight edges, as RFC 7946
// demands of GeoJSON. Stitched sources, such as world-atlas, use them to cross ±180°. An edge of
// exactly 180° is always read as drawn. So is an edge along a pole, where longitude means nothing.
type LongEdges uint8

const (
	// LongEdgesAuto reads all long edges of a ring in one way: straight, unless two signs show that
	// they cross ±180°. First, the ring is drawn in detail: its other edges are at most 45° wide and
	// high, and a crossing is at most three times as long as the largest of them. Second, most edges
	// wider than 270° would make the line turn back if they were straight: at one end, or at both
	// ends if they follow a parallel. Long edges also cross if the ring then goes around the globe
	// and would otherwise enclose nothing.
	LongEdgesAuto LongEdges = iota
	// LongEdgesStraight interprets every edge as it is drawn, even at the poles.
	LongEdgesStraight
	// LongEdgesShortest takes the short way across ±180°. A step of 360° then
	// has no length.
	LongEdgesShortest
)

var longEdgesNames = [...]string{"auto", "straight", "shortest"}

// String returns the name of the value, as UnmarshalText reads it.
func (l LongEdges) String() string {
	if int(l) < len(longEdgesNames) {
		return longEdgesNames[l]
	}
	return fmt.Sprintf("LongEdges(%d)", uint8(l))
}

// MarshalText returns the name of the value.
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

// Unroll returns a closed ring with unwrapped longitudes: an edge that crosses
// ±180° leaves that range. If no edge crosses, the ring itself is returned. A
// ring that goes around the globe ends 360° from its start.
func (l LongEdges) Unroll(r orb.Ring) orb.Ring {
	if !slices.ContainsFunc(r, func(p orb.Point) bool { return math.Abs(p[0]-r[0][0]) > 90 }) {
		return r // no edge spans more than 180°
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

// unroll copies a ring, reads its long edges as crossings of ±180°, and unwraps
// the longitudes.
func unroll(r orb.Ring) orb.Ring {
	running := slices.Clone(r)
	for i := 1; i < len(r); i++ {
		running[i][0] = running[i-1][0] + shortWay(r[i-1], r[i])
	}
	return running
}

// widestClear is the largest width of an edge, in degrees of longitude, that has only one reading.
// It leaves some room for rounding. Latitudes that differ by at most sameLatitude count as equal:
// d3's geoStitch rounds to four decimals beside ±180°.
const (
	widestClear  = 180 + 1e-9
	sameLatitude = 1.5e-4
)

// isLong reports whether an edge has two readings.
func isLong(a, b orb.Point) bool {
	return math.Abs(b[0]-a[0]) > widestClear && !(math.Abs(a[1]) >= 90 && math.Abs(b[1]) >= 90)
}

// shortWay returns the step in longitude of an edge if long edges cross ±180°.
func shortWay(a, b orb.Point) float64 {
	step := b[0] - a[0]
	if isLong(a, b) {
		step -= 360 * math.Round(step/360)
	}
	return step
}

// crosses reports whether the long edges of a ring cross ±180°, and how many
// edges the other reading would change. A step of 360° along a parallel that is
// read as straight is not counted, because its reading is clear. The ring's
// first point is not repeated.
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

// isDetailed reports whether the edges of a ring are short enough for its long edges to be
// crossings. The edges of a wide box or dome are not.
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

// vote returns 1 if the edge a–b seems to cross ±180°, −1 if it seems straight, and 0 if it shows
// neither. At the ends of a crossing, the line would turn back if the edge were straight. The sides
// of a box turn neither way. The sides of a trapezoid with a level base are too wide for a line
// that reaches ±180°. An oblique edge that continues the line counts as straight only far from
// ±180°, because small islands lean too.
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

// neighbour returns the first point that differs from r[i], in steps of the given size. Rounding
// doubles points, above all where a ring closes.
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

// ringArea returns twice the signed area of a ring in square degrees. step gives the step of
// longitude along an edge.
func ringArea(r orb.Ring, step func(a, b orb.Point) float64) (s float64) {
	for i, a := range r {
		b := r[(i+1)%len(r)]
		// Latitudes are relative to the first point, so a ring along one
		// parallel has an area of exactly 0.
		s += step(a, b) * (a[1] - r[0][1] + b[1] - r[0][1])
	}
	return s
}

// goesRound reports whether a ring goes around the globe if its long edges
// cross ±180°.
func goesRound(r orb.Ring) bool {
	var s float64
	for i, a := range r {
		s += shortWay(a, r[(i+1)%len(r)])
	}
	return math.Abs(s) > 180
}

// assumed counts the assumptions about a region's source.
type assumed struct {
	crossing, straight int     // long edges, by their reading
	poles              [2]bool // south, north: the border was extended to it
	ends               [2]float64
	flat               []flatRing // rings that enclose nothing
	polygons           int        // polygons that enclose something
}

// flatRing is a ring that is left out because it encloses nothing. It is a shell, or a hole of the
// polygon with the given number.
type flatRing struct {
	ring
	hole    bool
	polygon int
}

// String describes the assumptions, or returns "" if there are none.
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
