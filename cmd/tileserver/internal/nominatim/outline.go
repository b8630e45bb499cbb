package nominatim

import (
	"encoding/json"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"
	"github.com/paulmach/orb/simplify"

	"quadrille/feature"
)

// simplified returns the geometry of a region with fewer points. Lines may move by at most
// tolerance degrees.
func simplified(region *feature.Feature, tolerance float64) ([]byte, error) {
	g, err := region.Orb()
	if err != nil {
		return nil, err
	}
	switch g := g.(type) {
	case orb.Polygon:
		simplifyRings(g, tolerance)
	case orb.MultiPolygon:
		for _, p := range g {
			simplifyRings(p, tolerance)
		}
	case orb.LineString, orb.MultiLineString:
		g = simplify.DouglasPeucker(tolerance).Simplify(orb.Clone(g))
		return json.Marshal(geojson.NewGeometry(g))
	}
	return json.Marshal(geojson.NewGeometry(g))
}

// ringPoints is the least number of points in a ring. The last point equals the first.
const ringPoints = 4

// simplifyRings removes points of rings whose distance from the line without them is less than the
// tolerance. A ring that would vanish stays unchanged, so that no part is lost, as in Nominatim.
func simplifyRings(p orb.Polygon, tolerance float64) {
	s := simplify.DouglasPeucker(tolerance)
	for i, ring := range p {
		if simple := s.Ring(ring.Clone()); len(simple) >= ringPoints {
			p[i] = simple
		}
	}
}
