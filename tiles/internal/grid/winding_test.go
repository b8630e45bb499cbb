package grid

import (
	"testing"

	"pgregory.net/rapid"

	"quadrille/internal/tilestest"
)

// regionOf computes the border of polygons as a build does, and whether they had to be repaired.
func regionOf(t interface{ Fatal(...any) }, polygons ...[][]Point) (border []Edge, repaired bool) {
	o := NewOutliner()
	var chain []Edge
	for _, rings := range polygons {
		var err error
		chain, err = o.Polygon(chain, len(rings), func(i int, dst []Edge) []Edge {
			for k, p := range rings[i] {
				dst = append(dst, Edge{p, rings[i][(k+1)%len(rings[i])]})
			}
			return dst
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	n := Noder{ShareSets: NewShareSets(), MayCross: true}
	lines, err := n.Node(MergeLines(AppendLines(nil, chain, n.ShareSets, 0), n.ShareSets))
	if err != nil {
		t.Fatal(err)
	}
	border, repaired, err = Resolve(AppendCounted(nil, lines, n.ShareSets), Winding.Covered, nil)
	if err != nil {
		t.Fatal(err)
	}
	return border, repaired || o.Repaired
}

func TestResolve(t *testing.T) {
	square := func(x0, y0, x1, y1 int32) []Point {
		return []Point{{x0, y0}, {x1, y0}, {x1, y1}, {x0, y1}}
	}
	hole := func(x0, y0, x1, y1 int32) []Point {
		return []Point{{x0, y0}, {x0, y1}, {x1, y1}, {x1, y0}}
	}
	for name, tc := range map[string]struct {
		rings    [][]Point
		area2    int64
		repaired bool
	}{
		"a square":                {[][]Point{square(0, 0, 10, 10)}, 200, false},
		"with a hole":             {[][]Point{square(0, 0, 10, 10), hole(2, 2, 4, 4)}, 200 - 8, false},
		"an island in the hole":   {[][]Point{square(0, 0, 10, 10), hole(2, 2, 8, 8), square(4, 4, 6, 6)}, 200 - 72 + 8, false},
		"two that overlap":        {[][]Point{square(0, 0, 10, 10), square(5, 5, 15, 15)}, 400 - 50, true},
		"two that touch":          {[][]Point{square(0, 0, 10, 10), square(10, 5, 15, 15)}, 200 + 100, false},
		"a figure eight":          {[][]Point{{{0, 0}, {10, 10}, {10, 0}, {0, 10}}}, 2 * 2 * 25, true},
		"a hole out of its shell": {[][]Point{square(0, 0, 10, 10), hole(20, 20, 24, 24)}, 200, true},
		"a hole half out":         {[][]Point{square(0, 0, 10, 10), hole(8, 2, 12, 4)}, 200 - 8, true},
		"a spike":                 {[][]Point{{{0, 0}, {10, 0}, {20, 0}, {10, 0}, {10, 10}, {0, 10}}}, 200, false},
		"twice the same":          {[][]Point{square(0, 0, 10, 10), square(0, 0, 10, 10)}, 200, true},
		"wound twice":             {[][]Point{{{0, 0}, {10, 0}, {10, 10}, {0, 10}, {0, 0}, {10, 0}, {10, 10}, {0, 10}}}, 200, true},
	} {
		// Holes belong to the shell before them.
		var polygons [][][]Point
		for _, r := range tc.rings {
			for i := range r { // off the antimeridian
				r[i].X += 100
			}
			if n := len(polygons); RingArea2(r) < 0 {
				polygons[n-1] = append(polygons[n-1], r)
			} else {
				polygons = append(polygons, [][]Point{r})
			}
		}
		border, repaired := regionOf(t, polygons...)
		if got := Area2(border); got != tc.area2 || repaired != tc.repaired {
			t.Errorf("%s: area2 %d, want %d; repaired %t", name, got, tc.area2, repaired)
		}
	}
}

// Random polygons have rings that cross themselves and each other, and share vertices and edges.
// They cover the ground that follows from the winding numbers of the single rings.
func TestResolveRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		// The lines are so far apart that rounding does not move a line across the points between
		// them.
		const step, x0 = 64, 1000
		var f tilestest.Figure
		var polygons [][][]Point
		for range rapid.IntRange(1, 3).Draw(rt, "polygons") {
			var rings [][][2]int
			var placed [][]Point
			for range rapid.IntRange(1, 3).Draw(rt, "rings") {
				var r [][2]int
				var p []Point
				for range rapid.IntRange(1, 9).Draw(rt, "points") {
					x, y := rapid.IntRange(0, 7).Draw(rt, "x"), rapid.IntRange(0, 7).Draw(rt, "y")
					r = append(r, [2]int{x, y})
					p = append(p, Point{x0 + int32(step*x), int32(step * y)})
				}
				rings, placed = append(rings, r), append(placed, p)
			}
			f, polygons = append(f, rings), append(polygons, placed)
		}
		border, _ := regionOf(rt, polygons...)
		for range 30 {
			x2, y2 := 2*rapid.IntRange(-20, 8*step).Draw(rt, "px")+1, 2*rapid.IntRange(-20, 8*step).Draw(rt, "py")+1
			x, y := float64(x2)/2/step, float64(y2)/2/step
			if f.DistanceToBoundary(x, y) < 4.0/step {
				continue
			}
			want := 0
			if f.Holds(x, y) {
				want = 1
			}
			if got := winding2(border, int64(x2)+2*x0, int64(y2)); got != want {
				rt.Fatalf("%v: at %v, %v the border winds %d times, not %d", f, x, y, got, want)
			}
		}
	})
}
