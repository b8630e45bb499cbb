package build

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/tiles/internal/layout"
)

// Witnesses agree with the meaning of the source, on both sides of the border.
func TestWitnesses(t *testing.T) {
	all := randomFigures(rand.New(rand.NewPCG(75, 76)), 10)
	for name, f := range figures() {
		all[name] = f
	}
	for name, f := range all {
		borders := withoutLines(f)
		for _, x0 := range []float64{-180, -3, 10, 175, 179.995} { // across the antimeridian too
			var polygons [][]ring
			for _, feature := range featuresOf(f, "f", x0, 40, 1, true) {
				p, err := cleanRings(feature.Geometry, LongEdgesAuto, new(assumed))
				if err != nil {
					t.Fatal(err)
				}
				polygons = append(polygons, p...)
			}
			b := appendWitnesses(nil, polygons, nil, 1, 7)
			if !slices.Equal(b, appendWitnesses(nil, polygons, nil, 1, 7)) {
				t.Fatal("not the same twice")
			}
			witnesses, err := layout.ParseWitnesses(b)
			if err != nil {
				t.Fatal(err)
			}
			sides := map[bool]int{}
			for _, w := range witnesses {
				lon, lat := w.Degrees()
				switch {
				case lon < x0-180:
					lon += 360
				case lon > x0+180:
					lon -= 360
				}
				if borders.DistanceToBoundary(lon-x0, lat-40) < 1e-6 {
					t.Errorf("%s: %v lies on an edge", name, w)
				} else if in := borders.Holds(lon-x0, lat-40); in != w.Inside {
					t.Errorf("%s: %v, %v is said to be inside: %t", name, lon, lat, w.Inside)
				}
				sides[w.Inside]++
			}
			if name == "a bow-tie in a box" && (sides[true] < 10 || sides[false] < 3) {
				t.Errorf("%s: witnesses %v", name, sides)
			}
		}
	}
	if few := appendWitnesses(nil, [][]ring{{{{0, 0}, {1, 0}, {0, 1}}}}, nil, 350_000, 7); len(few) != 2*8 {
		t.Errorf("%d bytes for one of very many regions", len(few))
	}
	if _, err := layout.ParseWitnesses(make([]byte, 7)); err == nil {
		t.Error("half a witness was taken")
	}
}

// withoutLines drops the rings that lie on one straight line: they enclose nothing. A polygon with
// such a shell is empty.
func withoutLines(f figure) (out figure) {
	for _, p := range f {
		var rings [][][2]int
		for i, r := range p {
			if i > len(rings) && len(rings) == 0 {
				break // the shell was a line
			}
			if slices.ContainsFunc(r, func(q [2]int) bool {
				return slices.ContainsFunc(r, func(u [2]int) bool {
					return (q[0]-r[0][0])*(u[1]-r[0][1]) != (u[0]-r[0][0])*(q[1]-r[0][1])
				})
			}) {
				rings = append(rings, r)
			}
		}
		out = append(out, rings)
	}
	return out
}

// If a ring that encloses something is left out as flat, its witnesses contradict the build.
func TestWitnessesOfFlatRings(t *testing.T) {
	var seen assumed
	polygons, err := cleanRings(orb.MultiPolygon{
		{{{0, 0}, {4, 0}, {4, 4}, {0, 4}, {0, 0}}, {{1, 1}, {2, 2}, {1, 1}}},
		{{{6, 0}, {8, 0}, {6, 0}}},
	}, LongEdgesAuto, &seen)
	if err != nil || len(polygons) != 1 || len(seen.flat) != 2 || !seen.flat[0].hole || seen.flat[1].hole {
		t.Fatalf("%v, %v, %+v", polygons, err, seen)
	}
	seen.flat[0].ring = ring{{1, 1}, {1, 3}, {3, 3}, {3, 1}} // as if its width had been misjudged
	seen.flat[1].ring = ring{{6, 0}, {8, 0}, {8, 2}, {6, 2}}
	witnesses, err := layout.ParseWitnesses(appendWitnesses(nil, polygons, seen.flat, 1, 7))
	if err != nil {
		t.Fatal(err)
	}
	var hole, shell int
	for _, w := range witnesses {
		lon, lat := w.Degrees()
		inHole, inShell := lon > 1 && lon < 3 && lat > 1 && lat < 3, lon > 6 && lon < 8 && lat > 0 && lat < 2
		if w.Inside != (inShell || !inHole && lon > 0 && lon < 4 && lat > 0 && lat < 4) {
			t.Errorf("%v, %v: inside %v", lon, lat, w.Inside)
		}
		if inHole {
			hole++
		}
		if inShell {
			shell++
		}
	}
	if hole == 0 || shell == 0 {
		t.Errorf("%d witnesses in the hole, %d in the second polygon", hole, shell)
	}
}
