package nominatim

import (
	"encoding/json"
	"fmt"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"
	"github.com/paulmach/orb/simplify"

	"quadrille/tiles"
)

// outline returns the geometry of a region's record. Above 0, the tolerance is how far in
// degrees the lines may be from where they were.
func outline(record []byte, tolerance float64) ([]byte, error) {
	damaged := func(err error) ([]byte, error) { return nil, fmt.Errorf("%w: %w", tiles.ErrCorrupt, err) }
	var r struct {
		Geometry json.RawMessage `json:"geometry"`
	}
	if err := json.Unmarshal(record, &r); err != nil {
		return damaged(err)
	}
	if tolerance <= 0 || len(r.Geometry) == 0 {
		return r.Geometry, nil
	}
	g, err := geojson.UnmarshalGeometry(r.Geometry)
	if err != nil {
		return damaged(err)
	}
	switch g := g.Geometry().(type) {
	case orb.Polygon:
		simplifyRings(g, tolerance)
	case orb.MultiPolygon:
		for _, p := range g {
			simplifyRings(p, tolerance)
		}
	}
	return json.Marshal(g)
}

// ringPoints is how many points a ring has at least, the last being the first.
const ringPoints = 4

// simplifyRings leaves out points of rings that are nearer than the tolerance to the line
// without them. A ring that would vanish stays as it is, so that every part keeps its
// place, as with Nominatim.
func simplifyRings(p orb.Polygon, tolerance float64) {
	s := simplify.DouglasPeucker(tolerance)
	for i, ring := range p {
		if simple := s.Ring(ring.Clone()); len(simple) >= ringPoints {
			p[i] = simple
		}
	}
}
