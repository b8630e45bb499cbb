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

// outline does the same as layout.Outline.
func outline(o *grid.Outliner, polygons [][]ring, pr layout.Projection) ([]grid.Edge, error) {
	chain, err := layout.Outline(o, polygons, pr)
	if err != nil {
		return nil, badBorders(err)
	}
	return chain, nil
}
