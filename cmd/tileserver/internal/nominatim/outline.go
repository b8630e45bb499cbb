package nominatim

import (
	"encoding/json"
	"fmt"
	"math"

	"quadrille/tiles"
)

// outline returns the geometry of a region's record. Above 0, the threshold is the
// distance in degrees below which points of a line are left out.
func outline(record []byte, threshold float64) ([]byte, error) {
	damaged := func(err error) ([]byte, error) { return nil, fmt.Errorf("%w: %w", tiles.ErrCorrupt, err) }
	var r struct {
		Geometry json.RawMessage `json:"geometry"`
	}
	if err := json.Unmarshal(record, &r); err != nil {
		return damaged(err)
	}
	if threshold <= 0 || len(r.Geometry) == 0 {
		return r.Geometry, nil
	}
	var kind struct {
		Type        string          `json:"type"`
		Coordinates json.RawMessage `json:"coordinates"`
	}
	if err := json.Unmarshal(r.Geometry, &kind); err != nil {
		return damaged(err)
	}
	var polygons [][][][2]float64
	if kind.Type == "Polygon" {
		polygons = make([][][][2]float64, 1)
		if err := json.Unmarshal(kind.Coordinates, &polygons[0]); err != nil {
			return damaged(err)
		}
	} else if err := json.Unmarshal(kind.Coordinates, &polygons); err != nil {
		return damaged(err)
	}
	for _, rings := range polygons {
		for i := range rings {
			rings[i] = thin(rings[i], threshold)
		}
	}
	if kind.Type == "Polygon" {
		return json.Marshal(map[string]any{"type": kind.Type, "coordinates": polygons[0]})
	}
	return json.Marshal(map[string]any{"type": kind.Type, "coordinates": polygons})
}

// ringPoints is how many points a ring has at least, the last being the first.
const ringPoints = 4

// thin leaves out points of a ring that are near the one kept before. A ring that would
// vanish stays as it is.
func thin(ring [][2]float64, threshold float64) [][2]float64 {
	if len(ring) <= ringPoints {
		return ring
	}
	kept := [][2]float64{ring[0]}
	for _, p := range ring[1 : len(ring)-1] {
		if last := kept[len(kept)-1]; math.Hypot(p[0]-last[0], p[1]-last[1]) >= threshold {
			kept = append(kept, p)
		}
	}
	if kept = append(kept, ring[len(ring)-1]); len(kept) < ringPoints {
		return ring
	}
	return kept
}
