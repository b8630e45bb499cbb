package layout

import (
	"math"

	"github.com/paulmach/orb"

	"quadrille/tiles/internal/grid"
)

// Outline returns the borders of polygons in a projection as a closed chain within [0, WorldSize] in
// x. Each polygon is a shell followed by its holes. Rings are in degrees, do not repeat their first
// point, and their longitudes may leave [−180, 180].
func Outline[R ~[]orb.Point](o *grid.Outliner, polygons [][]R, pr Projection) (chain []grid.Edge, err error) {
	for _, rings := range polygons {
		chain, err = o.Polygon(chain, len(rings), func(i int, dst []grid.Edge) []grid.Edge { return appendChain(dst, rings[i], pr) })
		if err != nil {
			return nil, err
		}
	}
	return chain, nil
}

// appendChain projects a ring onto the grid and appends its edges. Points
// beyond the projection's latitudes are clamped to them, which closes the chain
// along that line.
func appendChain(dst []grid.Edge, r []orb.Point, pr Projection) []grid.Edge {
	start := r[0]
	prev := pr.Point(start[0], start[1])
	first := prev
	for i := range r {
		p, q := r[i], r[(i+1)%len(r)]
		dst, prev = AppendSegment(dst, prev, p, q, pr)
	}
	if prev != first { // impossible: the last segment ends where the first began
		dst = append(dst, grid.Edge{A: prev, B: first})
	}
	return dst
}

// AppendSegment appends the image of the straight line p–q in degrees. prev is
// the grid point of p. Intermediate points are computed from the western (or
// southern) end, so neighbours that walk a border in opposite directions get
// the same points.
func AppendSegment(dst []grid.Edge, prev grid.Point, p, q orb.Point, pr Projection) ([]grid.Edge, grid.Point) {
	a, b := p, q
	flip := a[0] > b[0] || a[0] == b[0] && a[1] > b[1]
	if flip {
		a, b = b, a
	}
	var buf [8]orb.Point
	mids := buf[:0]
	// This adds a vertex where the line crosses a limit of the projection.
	for _, lim := range [2]float64{pr.MinLat, pr.MaxLat} {
		if (a[1] < lim) != (b[1] < lim) && a[1] != lim && b[1] != lim {
			t := (lim - a[1]) / (b[1] - a[1])
			mids = append(mids, orb.Point{a[0] + t*(b[0]-a[0]), lim})
		}
	}
	if len(mids) == 2 && a[1] > b[1] {
		mids[0], mids[1] = mids[1], mids[0]
	}
	if pr.Curved {
		stops := append(append([]orb.Point{a}, mids...), b)
		mids = mids[:0:0]
		for i := 1; i < len(stops); i++ {
			s, e := stops[i-1], stops[i]
			s[1], e[1] = pr.Clamp(s[1]), pr.Clamp(e[1])
			if i > 1 {
				mids = append(mids, s)
			}
			mids = densify(mids, s, e, pr, 0)
		}
	}
	if flip {
		for i, j := 0, len(mids)-1; i < j; i, j = i+1, j-1 {
			mids[i], mids[j] = mids[j], mids[i]
		}
	}
	for _, m := range append(mids, q) {
		next := pr.Point(m[0], m[1])
		if next != prev {
			dst = append(dst, grid.Edge{A: prev, B: next})
		}
		prev = next
	}
	return dst, prev
}

// densify appends the points between a and b that keep the image of their
// straight line in degrees within half a unit of a polyline. It also tests the
// quarters of the line: around the equator its image is an S whose middle lies
// on the chord.
func densify(dst []orb.Point, a, b orb.Point, pr Projection, depth int) []orb.Point {
	if a[1] == b[1] || a[0] == b[0] || depth == 24 {
		return dst
	}
	ay, by := pr.Y(a[1]), pr.Y(b[1])
	worst := 0.0
	for _, t := range [3]float64{0.25, 0.5, 0.75} {
		d := math.Abs(pr.Y(a[1]+t*(b[1]-a[1])) - (ay + t*(by-ay)))
		worst = max(worst, d)
	}
	if worst <= 0.5 {
		return dst
	}
	m := orb.Point{(a[0] + b[0]) / 2, (a[1] + b[1]) / 2}
	dst = densify(dst, a, m, pr, depth+1)
	dst = append(dst, m)
	return densify(dst, m, b, pr, depth+1)
}
