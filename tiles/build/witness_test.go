package build

import (
	"math/rand/v2"
	"slices"
	"testing"

	"quadrille/tiles/internal/layout"
)

// What witnesses say is what the source means, on both sides of the border.
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
			b := appendWitnesses(nil, polygons, 1, 7)
			if !slices.Equal(b, appendWitnesses(nil, polygons, 1, 7)) {
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
				if borders.Apart(lon-x0, lat-40) < 1e-6 {
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
	if few := appendWitnesses(nil, [][]ring{{{{0, 0}, {1, 0}, {0, 1}}}}, 350_000, 7); len(few) != 2*8 {
		t.Errorf("%d bytes for one of very many regions", len(few))
	}
	if _, err := layout.ParseWitnesses(make([]byte, 7)); err == nil {
		t.Error("half a witness was taken")
	}
}

// withoutLines leaves out the rings that lie on one straight line: they border on
// nothing, and a polygon with such a shell holds nothing.
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
