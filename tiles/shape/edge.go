package shape

import (
	"math"
	"math/big"
	"slices"

	"github.com/paulmach/orb"

	"quadrille/quadkey"
	"quadrille/tiles/internal/sphere"
)

// side returns 1 if p is on the left of the line from a to b, −1 if it is on the right, and 0 if it is on
// the line. It is exact: where rounding could matter, it computes with fractions.
func side(a, b, p orb.Point) int {
	left, right := (a[0]-p[0])*(b[1]-p[1]), (a[1]-p[1])*(b[0]-p[0])
	// This is the error bound of Shewchuk, "Adaptive Precision Floating-Point Arithmetic" (1997).
	if d, bound := left-right, 3.3306690738754716e-16*(math.Abs(left)+math.Abs(right)); d > bound {
		return 1
	} else if -d > bound {
		return -1
	}
	of := func(v float64) *big.Rat { return new(big.Rat).SetFloat64(v) }
	minus := func(v, w float64) *big.Rat { return of(v).Sub(of(v), of(w)) }
	l, r := minus(a[0], p[0]), minus(a[1], p[1])
	return l.Mul(l, minus(b[1], p[1])).Cmp(r.Mul(r, minus(b[0], p[0])))
}

// winding returns the part of an edge in the winding number of a position, and whether the position is
// on it: 1 if the edge passes east of the position to the north, and −1 if to the south.
func (e *edge) winding(lon, lat float64) (turn int, on bool) {
	north := e.b[1] > e.a[1]
	low, high := e.a[1], e.b[1]
	if !north {
		low, high = high, low
	}
	if lat < low || lat > high || lon > max(e.a[0], e.b[0]) {
		return 0, false
	}
	at := 1 // the position is on the left of the edge to the north
	if lon >= min(e.a[0], e.b[0]) {
		if low == high {
			return 0, true
		}
		p := orb.Point{lon, lat}
		if north {
			at = side(e.a, e.b, p)
		} else {
			at = side(e.b, e.a, p)
		}
	}
	switch {
	case at == 0:
		return 0, true
	case at < 0 || lat == high: // an end belongs to one of the edges that meet there
		return 0, false
	case north:
		return 1, false
	}
	return -1, false
}

// isPole reports whether an edge is nothing but a pole.
func (e *edge) isPole() bool { return e.a[1] == e.b[1] && math.Abs(e.a[1]) == 90 }

// meets reports whether an edge may have a point in a box. It is certain if the answer is no.
func (e *edge) meets(b *quadkey.Box) bool {
	if max(e.a[0], e.b[0]) < b.West || min(e.a[0], e.b[0]) > b.East || max(e.a[1], e.b[1]) < b.South || min(e.a[1], e.b[1]) > b.North {
		return false
	}
	left, right := false, false
	for _, c := range [4]orb.Point{{b.West, b.South}, {b.East, b.South}, {b.East, b.North}, {b.West, b.North}} {
		d := (e.b[0]-e.a[0])*(c[1]-e.a[1]) - (e.b[1]-e.a[1])*(c[0]-e.a[0])
		left, right = left || d >= 0, right || d <= 0
	}
	return left && right
}

// ball is a ball around an edge. Its size is a distance in space.
type ball struct {
	middle sphere.Vec
	size   float64
}

func (e *edge) ball() (b ball) {
	b.middle = sphere.At((e.a[0]+e.b[0])/2, (e.a[1]+e.b[1])/2)
	b.size = max(b.middle.To(sphere.At(e.a[0], e.a[1])), b.middle.To(sphere.At(e.b[0], e.b[1]))) + bend(e.a, e.b)
	return b
}

// isNear reports whether an edge has a point within a distance in space.
func (a *Area) isNear(i int32, from sphere.Vec, chord float64) bool {
	const slack = 1e-13
	b, e := &a.balls[i], &a.edges[i]
	switch d := from.To(b.middle); {
	case d-b.size > chord+slack:
		return false
	case d+b.size < chord-slack:
		return true
	}
	return near(from, chord, e.a, e.b, sphere.At(e.a[0], e.a[1]), sphere.At(e.b[0], e.b[1]))
}

// near measures to the straight line between the ends of an edge. Where the edge may bend too far away from
// that line for an answer, it measures the two halves.
func near(from sphere.Vec, chord float64, a, b orb.Point, atA, atB sphere.Vec) bool {
	const millimetre = 1e-3 / quadkey.EarthRadius
	d, bend := from.ToChord(atA, atB), bend(a, b)
	switch {
	case d-bend > chord:
		return false
	case d+bend <= chord, bend < millimetre:
		return d <= chord
	}
	m := orb.Point{(a[0] + b[0]) / 2, (a[1] + b[1]) / 2}
	atM := sphere.At(m[0], m[1])
	return near(from, chord, a, m, atA, atM) || near(from, chord, m, b, atM, atB)
}

// bend bounds the distance on the unit sphere of an edge from the chord between its ends. A curve γ(t)
// with t from 0 to 1 stays within max|γ″|/8, and |γ″| ≤ φ′² + 2|φ′λ′| + cos φ·λ′².
func bend(a, b orb.Point) float64 {
	const radians = math.Pi / 180
	dx, dy := math.Abs(b[0]-a[0])*radians, math.Abs(b[1]-a[1])*radians
	widest := 1.0
	if a[1] > 0 == (b[1] > 0) {
		widest = math.Cos(min(math.Abs(a[1]), math.Abs(b[1])) * radians)
	}
	return (dy*dy + 2*dx*dy + widest*dx*dx) / 8
}

// rows finds the edges at a latitude, or at an x: those of row i are list[ends[i]:ends[i+1]], in order.
type rows struct {
	least, most float64
	scale       float64 // rows in a unit
	list        []int32
	ends        []int32
}

// mostRows bounds the rows, and mostPerEdge how often an edge is listed on average.
const (
	mostRows    = 1 << 16
	mostPerEdge = 8
)

// rowsOf returns the rows of edges by their spans, such as those of their latitudes.
func rowsOf(edges int, span func(i int32) (low, high float64)) rows {
	r := rows{least: math.Inf(1), most: math.Inf(-1)}
	sum := 0.0
	for i := range int32(edges) { //nolint:gosec // there are fewer than mostBends, or some more
		low, high := span(i)
		r.least, r.most, sum = min(r.least, low), max(r.most, high), sum+high-low
	}
	n := min(mostRows, 2*edges)
	if sum > 0 { // an edge is in one row more than it is high, or in two
		n = max(1, min(n, int(float64(edges*mostPerEdge)*(r.most-r.least)/sum)))
	}
	r.ends = make([]int32, n+1)
	if r.most-r.least > 1e-9 {
		r.scale = float64(n-1) / (r.most - r.least)
	}
	each := func(fn func(row int, edge int32)) {
		for i := range int32(edges) { //nolint:gosec // as above
			low, high := span(i)
			for row := r.row(low); row <= r.row(high); row++ {
				fn(row, i)
			}
		}
	}
	each(func(row int, _ int32) { r.ends[row+1]++ })
	for i := range n {
		r.ends[i+1] += r.ends[i]
	}
	r.list = make([]int32, r.ends[n])
	next := slices.Clone(r.ends)
	each(func(row int, edge int32) {
		r.list[next[row]] = edge
		next[row]++
	})
	return r
}

// longest returns the most edges of a row.
func (r *rows) longest() (most int32) {
	for i, end := range r.ends[1:] {
		most = max(most, end-r.ends[i])
	}
	return most
}

func (r *rows) row(at float64) int { return int((at - r.least) * r.scale) }

// at returns the edges that may be at a latitude or an x.
func (r *rows) at(v float64) []int32 {
	if !(v >= r.least && v <= r.most) {
		return nil
	}
	i := r.row(v)
	return r.list[r.ends[i]:r.ends[i+1]]
}

// between calls fn with the edges that may be between two such numbers, each once. low is the lower end of an edge's span.
func (r *rows) between(from, to float64, low func(i int32) float64, fn func(i int32)) {
	if from, to = max(from, r.least), min(to, r.most); from > to {
		return
	}
	first := r.row(from)
	for row := first; row <= r.row(to); row++ {
		for _, i := range r.list[r.ends[row]:r.ends[row+1]] {
			if max(first, r.row(low(i))) == row {
				fn(i)
			}
		}
	}
}
