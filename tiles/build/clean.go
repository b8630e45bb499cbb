package build

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/paulmach/orb"

	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
)

// ErrBadGeometry is matched by errors about a feature's geometry.
var ErrBadGeometry = errors.New("geometry cannot be used")

// badBorders wraps an error about borders that cannot be arranged.
func badBorders(err error) error { return fmt.Errorf("%w: %w", ErrBadGeometry, err) }

func badGeometry(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrBadGeometry, fmt.Sprintf(format, args...))
}

// ring is a closed ring in degrees. Its longitudes are unwrapped and may leave
// [−180, 180]. The first point is not repeated.
type ring []orb.Point

// cleanRings turns a feature's geometry into polygons, each a shell followed by
// its holes. Rings keep the direction they have in the source. A hole without a
// shell is dropped.
func cleanRings(g orb.Geometry, rule LongEdges, seen *assumed) ([][]ring, error) {
	var polys []orb.Polygon
	switch g := g.(type) {
	case orb.Polygon:
		polys = []orb.Polygon{g}
	case orb.MultiPolygon:
		polys = g
	case orb.Collection:
		var out [][]ring
		for _, m := range g {
			polygons, err := cleanRings(m, rule, seen)
			if err != nil {
				return nil, err
			}
			out = append(out, polygons...)
		}
		return out, nil
	case nil:
		return nil, badGeometry("there is none: remove the feature or give it a polygon")
	default:
		return nil, badGeometry("it is a %s: regions need polygons", g.GeoJSONType())
	}
	out := make([][]ring, 0, len(polys))
	for _, poly := range polys {
		cleaned, err := cleanPolygon(poly, rule, seen)
		if err != nil {
			return nil, err
		}
		rings := make([]ring, 0, len(cleaned))
		shell := false
		for i, clean := range cleaned {
			if len(clean) < 3 {
				continue // encloses nothing
			}
			shell = shell || i == 0
			rings = append(rings, clean)
		}
		if shell {
			seen.polygons++
			out = append(out, rings)
		}
	}
	return out, nil
}

// EnclosesNothing reports whether all rings of a geometry are points and lines. It returns false
// for an invalid geometry, for which the build returns the error.
func EnclosesNothing(g orb.Geometry, rule LongEdges) bool {
	polygons, err := cleanRings(g, rule, &assumed{})
	return err == nil && len(polygons) == 0
}

// maxWound bounds the unwrapped longitudes of a ring, in degrees. The grid's
// coordinates have room for several times as much.
const maxWound = 3600

func isWound(p orb.Point) bool { return math.Abs(p[0]) > maxWound }

// cleanPoints checks the points of a ring or line, and drops each point that repeats the previous
// one.
func cleanPoints(src orb.Ring) (ring, error) {
	r := make(ring, 0, len(src)+2)
	for i, p := range src {
		lon, lat := p[0], p[1]
		if !(lon >= -540 && lon <= 540 && lat >= -90.000001 && lat <= 90.000001) {
			return nil, badGeometry("the position %v, %v is outside the world: coordinates must be longitude, latitude in degrees (WGS84)", lon, lat)
		}
		if i > 0 && src[i-1] == p {
			continue
		}
		r = append(r, orb.Point{lon, max(-90, min(90, lat))})
	}
	return r, nil
}

// cleanRing checks one ring and unwraps it across the antimeridian by the rule. turns is the number
// of times that the ring goes around the globe, positive to the east. A ring with turns is left
// open at its end.
func cleanRing(src orb.Ring, rule LongEdges, seen *assumed) (r ring, turns float64, err error) {
	if r, err = cleanPoints(src); err != nil {
		return nil, 0, err
	}
	if n := len(r); n > 1 && r[0] == r[n-1] {
		r = r[:n-1]
	}
	if len(r) < 2 {
		return nil, 0, nil
	}
	crosses, edges := rule.crosses(orb.Ring(r))
	if rule == LongEdgesAuto && crosses {
		seen.crossing += edges
	} else if rule == LongEdgesAuto {
		seen.straight += edges
	}
	if !crosses {
		return r, 0, nil
	}
	running := unroll(orb.Ring(r))
	if slices.ContainsFunc(running, isWound) {
		return nil, 0, badGeometry("a ring winds around the world more than ten times: check its longitudes")
	}
	first, last := r[0], len(r)-1
	end := running[last][0] + shortWay(r[last], first)
	if turns = math.Round((end - first[0]) / 360); turns != 0 {
		running = append(running, orb.Point{first[0] + 360*turns, first[1]})
	}
	return ring(running), turns, nil
}

// outline returns the borders of polygons in a projection as a closed chain
// within [0, WorldSize] in x.
func outline(o *grid.Outliner, polygons [][]ring, pr layout.Projection) (chain []grid.Edge, err error) {
	for _, rings := range polygons {
		chain, err = o.Polygon(chain, len(rings), func(i int, dst []grid.Edge) []grid.Edge { return appendChain(dst, rings[i], pr) })
		if err != nil {
			return nil, badBorders(err)
		}
	}
	return chain, nil
}

// appendChain projects a ring onto the grid and appends its edges. Points
// beyond the projection's latitudes are clamped to them, which closes the chain
// along that line.
func appendChain(dst []grid.Edge, r ring, pr layout.Projection) []grid.Edge {
	start := r[0]
	prev := pr.Point(start[0], start[1])
	first := prev
	for i := range r {
		p, q := r[i], r[(i+1)%len(r)]
		dst, prev = appendSegment(dst, prev, p, q, pr)
	}
	if prev != first { // impossible: the last segment ends where the first began
		dst = append(dst, grid.Edge{A: prev, B: first})
	}
	return dst
}

// appendSegment appends the image of the straight line p–q in degrees. prev is
// the grid point of p. Intermediate points are computed from the western (or
// southern) end, so neighbours that walk a border in opposite directions get
// the same points.
func appendSegment(dst []grid.Edge, prev grid.Point, p, q orb.Point, pr layout.Projection) ([]grid.Edge, grid.Point) {
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
func densify(dst []orb.Point, a, b orb.Point, pr layout.Projection, depth int) []orb.Point {
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
