package build

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"pgregory.net/rapid"

	"quadrille/internal/testrace"
	"quadrille/internal/tilestest"
	"quadrille/tiles"
)

// spot is a point, and whether it is in the region of a test.
type spot struct {
	lat, lon float64
	in       bool
}

// buildAssuming builds one region and returns the messages of OnAssumption and OnRepair.
func buildAssuming(t *testing.T, rule LongEdges, poly orb.Polygon) (r *tiles.Reader, assumed, repaired string) {
	t.Helper()
	store := tilestest.OpenStore(t)
	layers := []Layer{{Type: "land", Features: []Feature{{ID: "a", Geometry: poly, LongEdges: rule}}}}
	meta, _, err := Run(context.Background(), store, layers, Options{
		Timestamp:    1,
		OnAssumption: func(_, _, _, what string) { assumed += what },
		OnRepair:     func(_, _, _, what string) { repaired += what },
	})
	if err != nil {
		t.Fatal(err)
	}
	if r, err = tiles.Open(context.Background(), store, meta); err != nil {
		t.Fatal(err)
	}
	if found := faults(t, store, r); found != "" {
		t.Error(found)
	}
	return r, assumed, repaired
}

// cleaned cleans a polygon. It returns the rings in degrees and the assumptions.
func cleaned(t testing.TB, rule LongEdges, poly orb.Polygon) (rings []ring, said string) {
	t.Helper()
	var seen assumed
	polygons, err := cleanRings(poly, rule, &seen)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(polygons...), seen.String()
}

// holds reports whether rings contain a point, which must not lie on their borders. It applies the
// even-odd rule and counts the edges north of the point.
func holds(rings []ring, lat, lon float64) bool {
	n := 0
	lat = max(-89.9999, min(89.9999, lat))
	for turn := -12; turn <= 12; turn++ {
		x := lon + 360*float64(turn)
		for _, r := range rings {
			for i, a := range r {
				b := r[(i+1)%len(r)]
				if (a[0] <= x) != (b[0] <= x) && a[1]+(x-a[0])/(b[0]-a[0])*(b[1]-a[1]) > lat {
					n++
				}
			}
		}
	}
	return n%2 == 1
}

// turned returns a polygon with the points of its rings in reverse order.
func turned(poly orb.Polygon) orb.Polygon {
	poly = poly.Clone()
	for _, r := range poly {
		slices.Reverse(r)
	}
	return poly
}

func boxRing(w, s, e, n float64) orb.Ring { return tilestest.Square(w, s, e, n)[0] }

// coast returns an open ring once round the globe, from −180 to 180, with both ends at the same
// latitude.
func coast(lat, swing float64) (r orb.Ring) {
	for lon := -180.0; lon <= 180; lon += 15 {
		r = append(r, orb.Point{lon, lat + swing*math.Sin(lon*math.Pi/60)})
	}
	return r
}

func shut(r orb.Ring, more ...orb.Point) orb.Ring {
	r = append(slices.Clone(r), more...)
	return append(r, r[0])
}

// dome returns the inner points of an arc from longitude half to -half in degrees, from east to
// west, one in every step degrees. The ends of the arc, at latitude 20, are left out.
func dome(half, step float64) (line []orb.Point) {
	for lon := half - step; lon > -half; lon -= step {
		line = append(line, orb.Point{lon, 20 + 30*math.Cos(lon/half*math.Pi/2)})
	}
	return line
}

// longEdgeCases lists shapes with more than one interpretation.
var longEdgeCases = []struct {
	name    string
	rule    LongEdges
	poly    orb.Polygon
	spots   []spot
	assumed string // the expected assumption
}{
	{"box of 200°", LongEdgesAuto, orb.Polygon{boxRing(-100, 20, 100, 30)},
		[]spot{
			{25, 0, true},
			{25, 99, true},
			{25, -99, true},
			{25, 101, false},
			{25, 180, false},
			{25, -180, false},
			{25, -101, false},
			{31, 0, false},
			{90, 0, false},
		},
		"2 edges wider than 180° were taken to be straight"},
	{"box of 200°, short way", LongEdgesShortest, orb.Polygon{boxRing(-100, 20, 100, 30)},
		[]spot{{25, 0, false}, {25, 101, true}, {25, 180, true}, {25, -180, true}, {25, -101, true}}, ""},
	{"box of 359°", LongEdgesAuto, orb.Polygon{boxRing(-179.5, 20, 179.5, 30)},
		[]spot{{25, 0, true}, {25, 179.4, true}, {25, -179.4, true}, {25, 179.6, false}, {25, 180, false}, {25, -179.6, false}},
		"2 edges wider than 180° were taken to be straight"},
	{"band", LongEdgesAuto, orb.Polygon{boxRing(-180, 20, 180, 30)},
		[]spot{{25, 0, true}, {25, 180, true}, {25, -180, true}, {19, 0, false}, {31, 0, false}, {90, 0, false}, {-90, 0, false}}, ""},
	{"band, straight", LongEdgesStraight, orb.Polygon{boxRing(-180, 20, 180, 30)},
		[]spot{{25, 0, true}, {25, 180, true}, {25, -180, true}, {19, 0, false}, {90, 0, false}}, ""},
	{"band beyond the tiles", LongEdgesAuto, orb.Polygon{boxRing(-180, 85.2, 180, 86)},
		[]spot{{85.5, 0, true}, {87, 0, false}, {90, 0, false}, {85.1, 0, false}, {80, 3, false}}, ""},
	{"band to near the pole", LongEdgesAuto, orb.Polygon{boxRing(-180, 85.2, 180, 88)},
		[]spot{{85.5, 0, true}, {87, 0, true}, {90, 0, true}, {85.1, 0, false}, {80, 3, false}},
		"its end along latitude 88 was taken for the north pole"},
	{"band beyond the tiles, straight", LongEdgesStraight, orb.Polygon{boxRing(-180, 85.2, 180, 86)},
		[]spot{{85.5, 0, true}, {87, 0, false}, {90, 0, false}, {85.1, 0, false}}, ""},
	{"band up to the end of the tiles", LongEdgesAuto, orb.Polygon{boxRing(-180, 80, 180, 85.05)},
		[]spot{{85, 0, true}, {85.06, 0, false}, {90, 0, false}}, ""},
	{"cap from 86", LongEdgesAuto, orb.Polygon{boxRing(-180, 86, 180, 90)},
		[]spot{{85.5, 0, false}, {87, 0, true}, {90, 0, true}, {87, 180, true}}, ""},
	{"world", LongEdgesAuto, orb.Polygon{boxRing(-180, -90, 180, 90)},
		[]spot{{0, 0, true}, {0, 180, true}, {0, -180, true}, {90, 0, true}, {-90, 0, true}, {85.2, 7, true}}, ""},
	{"world up to 89", LongEdgesAuto, orb.Polygon{boxRing(-180, -89, 180, 89)},
		[]spot{{0, 0, true}, {0, 180, true}, {90, 0, true}, {-90, 0, true}, {89.5, 7, true}},
		"its end along latitude -89 was taken for the south pole, its end along latitude 89 was taken for the north pole"},
	{"world with a hole round the pole", LongEdgesAuto, orb.Polygon{boxRing(-180, -90, 180, 90), shut(coast(-70, 1)[:24])},
		[]spot{{0, 0, true}, {90, 0, true}, {-60, 180, true}, {-80, 0, false}, {-90, 0, false}},
		"an edge wider than 180° was taken to cross ±180°"},
	{"world without what is cut out", LongEdgesAuto,
		orb.Polygon{boxRing(-180, -90, 180, 90), shut(coast(-70, 1), orb.Point{180, -89.9}, orb.Point{-180, -89.9})},
		[]spot{{0, 0, true}, {90, 0, true}, {-60, 180, true}, {-80, 0, false}, {-90, 0, false}},
		"its end along latitude -89.9 was taken for the south pole"},
	{"edge of exactly 180°", LongEdgesAuto, orb.Polygon{boxRing(-90, 20, 90, 30)},
		[]spot{{25, 0, true}, {25, 91, false}, {25, 180, false}}, ""},
	{"edge of exactly 180°, short way", LongEdgesShortest, orb.Polygon{boxRing(-90, 20, 90, 30)},
		[]spot{{25, 0, true}, {25, 91, false}, {25, 180, false}}, ""},
	{"box beyond 180°", LongEdgesAuto, orb.Polygon{boxRing(100, 20, 260, 30)},
		[]spot{{25, 0, false}, {25, 101, true}, {25, 180, true}, {25, -180, true}, {25, -101, true}, {25, -99, false}}, ""},
	{"wide box beyond 180°", LongEdgesAuto, orb.Polygon{boxRing(10, 20, 350, 30)},
		[]spot{{25, 0, false}, {25, 11, true}, {25, 180, true}, {25, -180, true}, {25, -11, true}},
		"2 edges wider than 180° were taken to be straight"},
	{"trapezoid", LongEdgesAuto, orb.Polygon{shut(orb.Ring{{-170, 10}, {170, 12}, {150, 60}, {-150, 60}})},
		[]spot{{30, 0, true}, {30, 180, false}, {90, 0, false}}, "2 edges wider than 180° were taken to be straight"},
	{"level trapezoid", LongEdgesAuto, orb.Polygon{shut(orb.Ring{{-179, 10}, {179, 10}, {170, 60}, {-170, 60}})},
		[]spot{{30, 0, true}, {30, 180, false}, {90, 0, false}}, "2 edges wider than 180° were taken to be straight"},
	{"leaning island", LongEdgesAuto, orb.Polygon{shut(orb.Ring{{179, 1}, {-179, 0}, {-178, 3}, {178, 2}})},
		[]spot{{1.5, 180, true}, {1.5, -179, true}, {1.5, 0, false}}, "2 edges wider than 180° were taken to cross ±180°"},
	{"oblique box", LongEdgesAuto, orb.Polygon{shut(orb.Ring{{-179, -60}, {179, -58}, {179, 60}, {-179, 62}})},
		[]spot{{30, 0, true}, {30, 180, false}, {90, 0, false}}, "2 edges wider than 180° were taken to be straight"},
	{"world below an oblique line", LongEdgesAuto, orb.Polygon{shut(orb.Ring{{-180, -90}, {180, -90}, {180, -60}, {-180, -62}})},
		[]spot{{-70, 0, true}, {-90, 0, true}, {-70, 180, true}, {-50, 0, false}}, "an edge wider than 180° was taken to be straight"},
	{"stitched island, one step of 360° along a parallel", LongEdgesAuto,
		// This is an island of Fiji from world-atlas.
		orb.Polygon{shut(orb.Ring{{-180, -16}, {180, -16}, {179, -16.3}, {178.6, -17}, {180, -16.9}, {-180, -16.8}, {-179, -16.7},
			{-179.2, -16.2}})},
		[]spot{{-16.5, 179.5, true}, {-16.5, 180, true}, {-16.5, -180, true}, {-16.5, -179.5, true}, {-16.5, 0, false}, {-16.5, 170, false}},
		"2 edges wider than 180° were taken to cross ±180°"},
	{"stitched island, both steps along parallels", LongEdgesAuto,
		orb.Polygon{shut(orb.Ring{{-180, -16}, {180, -16}, {179, -16.3}, {178.6, -17}, {180, -16.9}, {-180, -16.9}, {-179, -16.7},
			{-179.2, -16.2}})},
		[]spot{{-16.5, 179.5, true}, {-16.5, 180, true}, {-16.5, -179.5, true}, {-16.5, 0, false}, {-16.5, 170, false}},
		"2 edges wider than 180° were taken to cross ±180°"},
	{"stitched along a parallel, closed but for rounding", LongEdgesAuto,
		orb.Polygon{{
			{153.6, 31.7},
			{-166.4, 31.7},
			{-126.4, 30},
			{-86.4, 30},
			{-46.4, 30},
			{-6.4, 30},
			{33.6, 30},
			{73.6, 30},
			{113.6, 30},
			{153.60000000000002, 31.7},
		}},
		[]spot{{40, 180, true}, {90, 0, true}, {40, 0, true}, {20, 0, false}}, "an edge wider than 180° was taken to cross ±180°"},
	{"drawn by hand", LongEdgesAuto, orb.Polygon{shut(orb.Ring{{150, 60}, {-150, 55}, {-80, 0}, {170, -40}})},
		[]spot{{30, 180, false}, {0, -100, false}, {30, 0, true}, {0, 100, true}, {90, 0, false}},
		"2 edges wider than 180° were taken to be straight"},
	{"drawn by hand, short way", LongEdgesShortest, orb.Polygon{shut(orb.Ring{{150, 60}, {-150, 55}, {-80, 0}, {170, -40}})},
		[]spot{{30, 180, true}, {0, -100, true}, {30, 0, false}, {0, 100, false}, {90, 0, false}}, ""},
	{"world drawn by hand", LongEdgesAuto, orb.Polygon{shut(orb.Ring{{-175.2, -60.1}, {176.1, -59.8}, {175.4, 70.2}, {-174.9, 69.7}})},
		[]spot{{0, 0, true}, {0, 170, true}, {0, 178, false}, {0, 180, false}},
		"2 edges wider than 180° were taken to be straight"},
	{"oblique box of 280°", LongEdgesAuto, orb.Polygon{shut(orb.Ring{{-140, 5}, {140, 7}, {139, 30}, {-141, 28}})},
		[]spot{{20, 0, true}, {20, 180, false}}, "2 edges wider than 180° were taken to be straight"},
	{"oblique box of 340°", LongEdgesAuto, orb.Polygon{shut(orb.Ring{{-170, 5}, {170, 6}, {169, 9}, {-171, 8}})},
		[]spot{{7, 0, true}, {7, 180, false}}, "2 edges wider than 180° were taken to be straight"},
	{"dome", LongEdgesAuto, orb.Polygon{shut(orb.Ring{{-170, 20}, {170, 20}, {160, 30}, {0, 50}, {-160, 30}})},
		[]spot{{40, 0, true}, {80, 0, false}, {90, 0, false}, {25, 180, false}}, "an edge wider than 180° was taken to be straight"},
	{"dome in detail", LongEdgesAuto, orb.Polygon{shut(orb.Ring{{-170, 20}, {170, 20}}, dome(170, 5)...)},
		[]spot{{40, 0, true}, {80, 0, false}, {90, 0, false}, {25, 180, false}}, "an edge wider than 180° was taken to be straight"},
	{"thin triangle", LongEdgesAuto, orb.Polygon{shut(orb.Ring{{-179, -34}, {179, -33}, {0, -31}})},
		[]spot{{-32, 0, true}, {-44, 0, false}, {-53, 180, false}, {-90, 0, false}}, "an edge wider than 180° was taken to be straight"},
	{"triangle across ±180°", LongEdgesAuto, orb.Polygon{shut(orb.Ring{{179, -16}, {-179, -16.5}, {179.2, -17}})},
		[]spot{{-16.5, 180, true}, {-16.5, -179.5, true}, {-16.5, 0, false}}, "2 edges wider than 180° were taken to cross ±180°"},
	{"stitched box", LongEdgesAuto, orb.Polygon{boxRing(177, -20, -178, -12)},
		[]spot{{-15, 0, true}, {-15, 180, false}}, "2 edges wider than 180° were taken to be straight"},
	{"stitched box, short way", LongEdgesShortest, orb.Polygon{boxRing(177, -20, -178, -12)},
		[]spot{{-15, 0, false}, {-15, 180, true}, {-15, 178, true}, {-15, -179, true}}, ""},
	{"cut box", LongEdgesAuto, orb.Polygon{boxRing(177, -20, 182, -12)},
		[]spot{{-15, 0, false}, {-15, 180, true}, {-15, 178, true}, {-15, -179, true}}, ""},
	{"coast drawn straight", LongEdgesStraight, orb.Polygon{shut(coast(-70, 1)[:24])},
		[]spot{{-71, 0, false}, {-80, 0, false}, {-90, 0, false}, {0, 0, false}}, ""},
	{"hanging shell of both sides", LongEdgesAuto,
		// This ring has more vertices in the north, but more of the globe in the south.
		orb.Polygon{shut(orb.Ring{{-170, -60}, {-130, -60}, {-90, -60}, {-50, -60}, {-5, -60}, {-4, -25}, {-4, 10}, {-3, 11},
			{-2, 10}, {-1, 11}, {0, 10}, {1, 12}, {2, 12}, {3, 11}, {4, 10}, {4, -25}, {5, -60}, {50, -60}, {90, -60}, {130, -60}, {170, -61}})},
		[]spot{{-80, 180, true}, {-90, 0, true}, {0, 0, true}, {90, 0, false}, {0, 30, false}},
		"an edge wider than 180° was taken to cross ±180°"},
	{"ocean round a continent", LongEdgesAuto,
		// The hole is not on the side of the nearer pole.
		orb.Polygon{shut(coast(-70, 1)[:24]), boxRing(10, 10, 20, 20)},
		[]spot{{-80, 180, false}, {-90, 0, false}, {0, 0, true}, {15, 15, false}, {90, 0, true}, {0, 180, true}},
		"an edge wider than 180° was taken to cross ±180°"},
	{"stitched band", LongEdgesAuto, orb.Polygon{shut(coast(20, 1)[:24]), shut(coast(40, 1)[:24])},
		[]spot{{30, 0, true}, {30, 180, true}, {30, -180, true}, {15, 0, false}, {45, 0, false}, {90, 0, false}, {-90, 0, false}},
		"2 edges wider than 180° were taken to cross ±180°"},
	{"stitched continent with the end of the source as shell", LongEdgesAuto,
		// This is Antarctica from world-atlas at 50 m.
		orb.Polygon{shut(coast(-89.999, 0)[:24]), shut(coast(-70, 1)[:24])},
		[]spot{{-80, 0, true}, {-80, 180, true}, {-90, 0, true}, {-89.9995, 7, true}, {-60, 0, false}, {90, 0, false}},
		"2 edges wider than 180° were taken to cross ±180°, its end along latitude -89.999 was taken for the south pole"},
	{"stitched continent with the end of the source as hole", LongEdgesAuto,
		orb.Polygon{shut(coast(-70, 1)[:24]), shut(coast(-89.999, 0)[:24])},
		[]spot{{-80, 0, true}, {-80, 180, true}, {-90, 0, true}, {-60, 0, false}, {90, 0, false}},
		"2 edges wider than 180° were taken to cross ±180°, its end along latitude -89.999 was taken for the south pole"},
}

func TestLongEdges(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	for i, c := range longEdgeCases {
		t.Run(c.name, func(t *testing.T) {
			poly := c.poly
			for range 2 {
				rings, said := cleaned(t, c.rule, poly)
				for _, s := range c.spots {
					if got := holds(rings, s.lat, s.lon); got != s.in {
						t.Errorf("the rings at lat %v lon %v: %v", s.lat, s.lon, got)
					}
				}
				if said != c.assumed {
					t.Errorf("said %q, not %q", said, c.assumed)
				}
				poly = turned(poly)
			}
			if i%2 == 0 {
				poly = turned(poly)
			}
			if i%buildShare() != 0 {
				return
			}
			r, said, repaired := buildAssuming(t, c.rule, poly)
			for _, s := range c.spots {
				if got := ids(t, r, s.lat, s.lon) == "a"; got != s.in {
					t.Errorf("at lat %v lon %v: %v", s.lat, s.lon, got)
				}
			}
			if said != c.assumed {
				t.Errorf("said %q, not %q", said, c.assumed)
			}
			if strings.Contains(repaired, "nothing") {
				t.Error(repaired)
			}
		})
	}
}

// TestRoundThePole tests that a ring once round the globe contains the pole on its side, in any
// notation.
func TestRoundThePole(t *testing.T) {
	at := func(lat float64, lons ...float64) (r orb.Ring) {
		for _, lon := range lons {
			r = append(r, orb.Point{lon, lat})
		}
		return r
	}
	type shape struct {
		ring orb.Ring
		edge float64 // the ring reaches no further from the pole
	}
	shapes := map[string]shape{}
	for _, lat := range []float64{-89, -89.995} {
		for name, r := range map[string]orb.Ring{
			"closed by a step of 360°": at(lat, -180, -90, 0, 90, 180, -180),
			"ends at 180°":             at(lat, -180, -90, 0, 90, 180),
			"stitched":                 at(lat, -135, -45, 45, 135, -135),
			"stitched, unclosed":       at(lat, -135, -45, 45, 135),
			"three points":             at(lat, -120, 0, 120),
			"two halves":               at(lat, -180, 0, 180, -180),
			"beyond 180°":              at(lat, 0, 90, 180, 270, 360),
			"cut at Greenwich":         append(at(lat, 0, 90, 180, 270, 360), at(-90, 360, 0)...),
			"cut":                      append(at(lat, -180, 0, 180), at(-90, 180, -180)...),
		} {
			shapes[fmt.Sprint(name, " at ", lat)] = shape{r, lat}
		}
		c := coast(-70, 2)
		var back orb.Ring
		for lon := 180.0; lon >= -180; lon -= 7.5 {
			back = append(back, orb.Point{lon, lat})
		}
		for name, r := range map[string]orb.Ring{
			"coast and one step":         append(slices.Clone(c), at(lat, 180, -180)...),
			"coast and one step, closed": shut(c, at(lat, 180, -180)...),
			"coast and many steps":       shut(c, back...),
			"coast and many steps, sideways": shut(append(orb.Ring{{-180, -75}}, c...),
				append(orb.Ring{{180, -75}, {180, -81.5}}, append(slices.Clone(back), orb.Point{-180, -82})...)...),
			"coast alone":           c,
			"coast alone, closed":   shut(c),
			"coast alone, stitched": shut(c[:24]),
		} {
			shapes[fmt.Sprint(name, " at ", lat)] = shape{r, -68}
		}
	}
	for i, name := range slices.Sorted(maps.Keys(shapes)) {
		t.Run(name, func(t *testing.T) {
			edge := shapes[name].edge
			for variant := range 4 {
				poly := orb.Polygon{shapes[name].ring}.Clone()
				sign := 1.0
				if variant&1 != 0 {
					poly = turned(poly)
				}
				if variant&2 != 0 {
					sign = -1
					for k := range poly[0] {
						poly[0][k][1] *= -1
					}
				}
				rings, _ := cleaned(t, LongEdgesAuto, poly)
				var r *tiles.Reader
				if variant == i%4 && i%buildShare() == 0 {
					var repaired string
					if r, _, repaired = buildAssuming(t, LongEdgesAuto, poly); repaired != "" {
						t.Error(repaired)
					}
				}
				for lat, want := range map[float64]bool{
					-90:             true,
					-89.999:         true,
					(edge - 90) / 2: true,
					edge + 0.5:      false,
					-60:             false,
					0:               false,
					90:              false,
					89.999:          false,
				} {
					for _, lon := range []float64{-180, 180, -179.999, 179.999, 0.001, 12.3, -90} {
						if got := holds(rings, sign*lat, lon); got != want {
							t.Errorf("variant %d, the rings at lat %v lon %v: %v", variant, sign*lat, lon, got)
						}
						if r == nil {
							continue
						}
						if got := ids(t, r, sign*lat, lon) == "a"; got != want {
							t.Errorf("variant %d, at lat %v lon %v: %v", variant, sign*lat, lon, got)
						}
					}
				}
			}
		})
	}
}

// TestWideBoxes compares boxes of any width, drawn straight, with simple comparisons of
// coordinates.
func TestWideBoxes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		deg := func(lo, hi int, name string) float64 {
			return float64(rapid.IntRange(lo*10, hi*10).Draw(rt, name)) / 10
		}
		w := deg(-180, 179, "west")
		e := deg(-180, 180, "east")
		if w >= e {
			rt.Skip()
		}
		s := deg(-85, 84, "south")
		n := min(s+deg(1, 60, "height"), 85)
		r := boxRing(w, s, e, n)
		for range rapid.IntRange(0, 3).Draw(rt, "first") {
			r = append(r[1:], r[1])
		}
		poly := orb.Polygon{r}
		if rapid.Bool().Draw(rt, "turned") {
			poly = turned(poly)
		}
		for rule := LongEdgesAuto; rule <= LongEdgesShortest; rule++ {
			rings, said := cleaned(t, rule, poly)
			if said != "" != (rule == LongEdgesAuto && e-w > 180 && e-w < 360) {
				rt.Fatalf("%v: said %q", rule, said)
			}
			for range 20 {
				lon, lat := deg(-180, 179, "lon")+0.05, deg(-90, 89, "lat")+0.05
				in := w < lon && lon < e
				if rule == LongEdgesShortest && e-w > 180 {
					in = lon < w || e < lon
				}
				if got := holds(rings, lat, lon); got != (in && s < lat && lat < n) {
					rt.Fatalf("%v: at lat %v lon %v: %v", rule, lat, lon, got)
				}
			}
		}
	})
}

// TestRingsRoundAPole builds rings round a pole, stitched at any longitude. It tests that such a
// ring contains a position if and only if the position is nearer to the pole than the ring's line
// at its longitude.
func TestRingsRoundAPole(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(9, 60).Draw(rt, "points") // steps of at most 45°, which may be those of a crossing ring
		start := float64(rapid.IntRange(-1799, 1799).Draw(rt, "start")) / 10
		var line orb.Ring // with unwrapped longitudes
		for i := range n {
			lon := start + 360*float64(i)/float64(n)
			line = append(line, orb.Point{lon, 30 + float64(rapid.IntRange(0, 450).Draw(rt, "lat"))/10})
		}
		line = append(line, orb.Point{line[0][0] + 360, line[0][1]})
		r := make(orb.Ring, 0, n+1)
		for _, p := range line {
			if p[0] > 180 {
				p[0] -= 360
			}
			r = append(r, p)
		}
		sign := float64(1 - 2*rapid.IntRange(0, 1).Draw(rt, "south"))
		for i := range r {
			r[i][1] *= sign
		}
		poly := orb.Polygon{r}
		if rapid.Bool().Draw(rt, "turned") {
			poly = turned(poly)
		}
		for _, rule := range []LongEdges{LongEdgesAuto, LongEdgesShortest} {
			rings, _ := cleaned(t, rule, poly)
			for range 20 {
				x := start + 360*rapid.Float64Range(0.0001, 0.9999).Draw(rt, "x")
				lat := rapid.Float64Range(-89.9, 89.9).Draw(rt, "y")
				i := min(n-1, int((x-start)/360*float64(n)))
				if x >= line[i+1][0] {
					i++
				}
				a, b := line[i], line[i+1]
				y := a[1] + (x-a[0])/(b[0]-a[0])*(b[1]-a[1])
				if math.Abs(lat-y) < 1e-6 {
					continue
				}
				if got := holds(rings, sign*lat, x-360*math.Round(x/360)); got != (lat > y) {
					rt.Fatalf("%v of %v: at lat %v lon %v: %v, the line is at %v", rule, poly, sign*lat, x, got, y)
				}
			}
		}
	})
}

// TestAntarcticaHoldsThePole tests that the real continent reaches the pole, although its source
// may end before the pole.
func TestAntarcticaHoldsThePole(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	t.Parallel() // it takes long, and one build does not keep two processors busy
	for _, scale := range []string{"110m", "50m", "10m"} {
		t.Run(scale, func(t *testing.T) {
			if scale == "10m" && testing.Short() {
				t.Skip("takes a minute under the race detector; run without -short")
			}
			l := naturalEarth(t, "country", scale+"/ne_"+scale+"_admin_0_countries.geojson.gz", "ADM0_A3", "NAME", "ATA")
			r, _, _ := buildReader(t, l)
			for _, lat := range []float64{-90, math.Nextafter(-90, 0), -89.9999, -89.995, -89.9, -85.2} {
				for _, lon := range []float64{-180, 180, -179.9999, 179.9999, 0, -65.3, 119.99} {
					if got := ids(t, r, lat, lon); got != "ata" {
						t.Errorf("at lat %v lon %v: %q", lat, lon, got)
					}
				}
			}
			for _, lat := range []float64{90, 85.1, 0} {
				if got := ids(t, r, lat, 0); got != "" {
					t.Errorf("at lat %v: %q", lat, got)
				}
			}
		})
	}
}

func TestUnroll(t *testing.T) {
	island := shut(orb.Ring{{179, 1}, {-179, 0}, {-178, 3}, {178, 2}})
	for _, c := range []struct {
		rule     LongEdges
		in, want orb.Ring
	}{
		{LongEdgesAuto, boxRing(-100, 0, 100, 1), boxRing(-100, 0, 100, 1)},
		{LongEdgesStraight, island, island},
		{LongEdgesAuto, island, shut(orb.Ring{{179, 1}, {181, 0}, {182, 3}, {178, 2}})},
		{LongEdgesShortest, boxRing(-100, 0, 100, 1), orb.Ring{{-100, 0}, {-260, 0}, {-260, 1}, {-100, 1}, {-100, 0}}},
		{LongEdgesAuto, orb.Ring{{-120, 80}, {0, 80}, {120, 80}, {-120, 80}}, orb.Ring{{-120, 80}, {0, 80}, {120, 80}, {240, 80}}},
		{LongEdgesAuto, nil, nil},
	} {
		before := c.in.Clone()
		if got := c.rule.Unroll(c.in); !slices.Equal(got, c.want) {
			t.Errorf("%v of %v: %v", c.rule, c.in, got)
		}
		if !slices.Equal(c.in, before) {
			t.Errorf("%v has changed to %v", before, c.in)
		}
	}
	for _, l := range []LongEdges{LongEdgesAuto, LongEdgesStraight, LongEdgesShortest} {
		text, _ := l.MarshalText()
		var back LongEdges
		if err := back.UnmarshalText(text); err != nil || back != l {
			t.Errorf("%v: %v, %v", l, back, err)
		}
	}
}
