package cql2

import (
	"context"
	"testing"

	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/quadkey"
)

// TestSpatialOperators tests operators with a point in Zürich.
func TestSpatialOperators(t *testing.T) {
	zurich := &feature.Feature{Position: quadkey.Position{Lon: 8.54, Lat: 47.37}}
	for text, want := range map[string]bool{
		"S_INTERSECTS(g, POLYGON((8 47, 9 47, 9 48, 8 47)))":                                                                              true,
		"S_INTERSECTS(POLYGON((8 47, 9 47, 9 48, 8 47)), g)":                                                                              true,
		"S_INTERSECTS(g, POLYGON((8 47, 9 48, 8 48, 8 47)))":                                                                              false,
		"S_INTERSECTS(g, MULTIPOLYGON(((8 47, 9 48, 8 48, 8 47)), ((8 47, 9 47, 9 48, 8 47), (8.5 47.3, 8.6 47.3, 8.6 47.5, 8.5 47.3))))": false,
		"S_INTERSECTS(g, GEOMETRYCOLLECTION(POINT(1 2), POLYGON((8 47, 9 47, 9 48, 8 47))))":                                              true,
		"S_INTERSECTS(g, MULTIPOINT((1 2), (8.54 47.37)))":                                                                                true,
		"S_INTERSECTS(g, MULTIPOINT(1 2, 3 4))":                                                                                           false,
		"S_INTERSECTS(g, LINESTRING(8.54 47, 8.54 48))":                                                                                   true,
		"S_INTERSECTS(g, MULTILINESTRING((8.54 47, 8.54 47.3), (8.54 47.4, 8.54 48)))":                                                    false,
		"s_disjoint(g, polygon((8 47, 9 47, 9 48, 8 47)))":                                                                                false,
		"S_DISJOINT(g, BBOX(0, 0, 1, 1))":                                                                                                 true,
		"S_WITHIN(g, BBOX(8, 47, 9, 48))":                                                                                                 true,
		"S_WITHIN(g, BBOX(170, 47, 8.6, 48))":                                                                                             true,
		"S_WITHIN(g, POLYGON((8 47, 9 48, 8 48, 8 47)))":                                                                                  false,
		"S_DWITHIN(g, POINT(8.55 47.37), 800)":                                                                                            true,
		"S_DWITHIN(g, POINT(8.55 47.37), 700, METERS)":                                                                                    false,
		"S_DWITHIN(g, LINESTRING(8 47.3, 9 47.3), 8, kilometers)":                                                                         true,
		"S_DWITHIN(g, BBOX(8, 47, 9, 47.3), 7.7, km)":                                                                                     false,
	} {
		f := mustParse(t, text)
		if got := must.Get(f.Expression(nil, nil, nil).Match(context.Background(), zurich)).In(t); got != want {
			t.Errorf("%s: %t", text, got)
		}
		if again := mustParse(t, text+" AND "+text); told(&again.Test) != told(&f.Test) {
			t.Errorf("%s twice is another filter", text)
		}
	}
}
