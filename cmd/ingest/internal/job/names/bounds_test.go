package names

import (
	"fmt"
	"strings"
	"testing"

	"github.com/paulmach/orb/geojson"
)

// A country has the bounds of its main part, if other parts lie far away.
func TestMainBounds(t *testing.T) {
	square := func(w, s, e, n float64) string {
		return fmt.Sprintf("[[[%v,%v],[%v,%v],[%v,%v],[%v,%v],[%v,%v]]]", w, s, e, s, e, n, w, n, w, s)
	}
	for _, tt := range []struct {
		name        string
		parts       []string
		whole, want [4]float64
	}{
		{
			"far islands",
			[]string{square(-5, 42, 9, 51), square(8, 41, 9, 43), square(55, -21, 56, -20), square(-54, 2, -52, 5)},
			[4]float64{-54, -21, 56, 51},
			[4]float64{-5, 41, 9, 51},
		},
		{
			"a large part far away",
			[]string{square(95, -5, 110, 5), square(130, -8, 140, 0)},
			[4]float64{95, -8, 140, 5},
			[4]float64{95, -8, 140, 5},
		},
		{
			"across 180°",
			[]string{square(30, 45, 180, 75), square(-180, 62, -170, 70), square(20, 54, 22, 55)},
			[4]float64{20, 45, -170, 75},
			[4]float64{20, 45, -170, 75},
		},
		{
			"small islands everywhere",
			[]string{square(170, 0, 171, 1), square(-175, 0, -174, 1), square(-150, 2, -149, 3)},
			[4]float64{170, 0, -149, 3},
			[4]float64{170, 0, -149, 3},
		},
		{
			"main part across 180°",
			[]string{square(177, -18, 180, -16), square(-180, -17, -179, -16), square(100, 0, 100.1, 0.1)},
			[4]float64{100, -18, -179, 0.1},
			[4]float64{177, -18, -179, -16},
		},
	} {
		g, err := geojson.UnmarshalGeometry([]byte(`{"type":"MultiPolygon","coordinates":[` + strings.Join(tt.parts, ",") + `]}`))
		if err != nil {
			t.Fatal(err)
		}
		if got := mainBounds(g.Geometry(), tt.whole); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
	if got := mainBounds(nil, [4]float64{1, 2, 3, 4}); got != [4]float64{1, 2, 3, 4} {
		t.Error(got)
	}
}
