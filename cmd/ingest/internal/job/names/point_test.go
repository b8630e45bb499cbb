package names

import (
	"testing"

	"github.com/paulmach/orb"

	"quadrille/feature"
	"quadrille/quadkey"
)

// The point of lines lies on the longest of them, and never at 0, 0.
func TestPointOfLines(t *testing.T) {
	region := &feature.Feature{Position: quadkey.Position{Lat: 3, Lon: 4}}
	for _, tc := range []struct {
		geometry orb.Geometry
		lon, lat float64
	}{
		{orb.LineString{{0, 10}, {2, 10}, {2, 14}}, 2, 11},
		{orb.LineString{{5, 6}, {5, 6}}, 5, 6},
		{orb.MultiLineString{{{1, 1}, {1, 2}}, {{7, 8}, {11, 8}}, {{1, 1}, {2, 1}}}, 9, 8},
		{orb.MultiLineString{{}}, 4, 3},
		{orb.LineString{}, 4, 3},
		{nil, 4, 3},
		{orb.Polygon{{{0, 0}, {2, 0}, {2, 2}, {0, 2}, {0, 0}}}, 1, 1},
	} {
		if lon, lat := pointOf(region, tc.geometry); lon != tc.lon || lat != tc.lat {
			t.Errorf("%v: %v %v, want %v %v", tc.geometry, lon, lat, tc.lon, tc.lat)
		}
	}
}
