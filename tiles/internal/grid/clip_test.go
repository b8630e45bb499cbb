package grid

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// winding2 returns the winding number of a chain at (x2/2, y2/2), computed as in a textbook: a ray
// to the east, edge by edge. The point must not lie on an edge.
func winding2(edges []Edge, x2, y2 int64) int {
	w := 0
	for _, e := range edges {
		ax, ay, bx, by := 2*int64(e.A.X), 2*int64(e.A.Y), 2*int64(e.B.X), 2*int64(e.B.Y)
		if (ay <= y2) == (by <= y2) {
			continue
		}
		// This is x of the edge at y2, compared without division.
		num := (y2-ay)*(bx-ax) - (x2-ax)*(by-ay)
		if by < ay {
			num = -num
		}
		if num > 0 {
			if by > ay {
				w++ // runs south: its interior is to the west
			} else {
				w--
			}
		}
	}
	return w
}

// near reports whether (x2/2, y2/2) is within d units of an edge.
func near(edges []Edge, x2, y2 int64, d float64) bool {
	for _, e := range edges {
		px, py := float64(x2)/2, float64(y2)/2
		ax, ay, bx, by := float64(e.A.X), float64(e.A.Y), float64(e.B.X), float64(e.B.Y)
		dx, dy := bx-ax, by-ay
		t := 0.0
		if l := dx*dx + dy*dy; l > 0 {
			t = max(0, min(1, ((px-ax)*dx+(py-ay)*dy)/l))
		}
		qx, qy := ax+t*dx-px, ay+t*dy-py
		if qx*qx+qy*qy <= d*d {
			return true
		}
	}
	return false
}

func checkClosed(t interface{ Fatalf(string, ...any) }, edges []Edge) {
	sum := map[Point]int{}
	for _, e := range edges {
		sum[e.A]--
		sum[e.B]++
	}
	for p, n := range sum {
		if n != 0 {
			t.Fatalf("chain is open at %v by %d: %v", p, n, edges)
		}
	}
}

func drawPoint(rt *rapid.T, n int) Point {
	return Point{int32(rapid.IntRange(-n, n).Draw(rt, "x")), int32(rapid.IntRange(-n, n).Draw(rt, "y"))}
}

// drawChain draws random rings, which may cross themselves.
func drawChain(rt *rapid.T, n int) []Edge {
	var edges []Edge
	for range rapid.IntRange(1, 3).Draw(rt, "rings") {
		var ring []Point
		for range rapid.IntRange(3, 8).Draw(rt, "points") {
			ring = append(ring, drawPoint(rt, n))
		}
		for i, p := range ring {
			edges = append(edges, Edge{p, ring[(i+1)%len(ring)]})
		}
	}
	return edges
}

func drawBox(rt *rapid.T, n int) Box {
	x0, y0 := rapid.IntRange(-n, n-1).Draw(rt, "x0"), rapid.IntRange(-n, n-1).Draw(rt, "y0")
	return Box{
		int32(x0), int32(y0),
		int32(rapid.IntRange(x0+1, n).Draw(rt, "x1")), int32(rapid.IntRange(y0+1, n).Draw(rt, "y1")),
	}
}

// TestClipKeepsWinding clips wild chains to boxes. The result is closed and winds around nothing
// outside the box. Inside it has the chain's winding numbers, except near edges that rounding may
// move.
func TestClipKeepsWinding(t *testing.T) {
	for _, n := range []int{4, 30} {
		rapid.Check(t, func(rt *rapid.T) {
			edges := drawChain(rt, n)
			b := drawBox(rt, n)
			var c Clipper
			got := c.Clip(edges, WindingFromNorth(edges, Point{b.X0, b.Y0}), b, 0)
			checkClosed(rt, got)
			for range 20 {
				x2 := int64(rapid.IntRange(-2*n, 2*n).Draw(rt, "x2"))
				y2 := int64(rapid.IntRange(-2*n, 2*n).Draw(rt, "y2"))
				if near(edges, x2, y2, 1) || near(Perimeter(b), x2, y2, 0.1) {
					continue
				}
				want := 0
				if x2 > 2*int64(b.X0) && x2 < 2*int64(b.X1) && y2 > 2*int64(b.Y0) && y2 < 2*int64(b.Y1) {
					want = winding2(edges, x2, y2)
				}
				if w := winding2(got, x2, y2); w != want {
					rt.Fatalf("at %v/2, %v/2 winding %d, want %d\nbox %v\nchain %v\nclipped %v", x2, y2, w, want, b, edges, got)
				}
			}
		})
	}
}

// TestClipKeepsMeetings clips triangles that meet at vertices only, but lie so close together that
// rounding a cut would move an edge onto a vertex or over it. The clipped parts still meet at
// vertices only, on the perimeter too.
func TestClipKeepsMeetings(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		const n = 12
		reg := NewShareSets()
		var edges []Edge
		for range rapid.IntRange(1, 8).Draw(rt, "triangles") {
			p, q, r := drawPoint(rt, n), drawPoint(rt, n), drawPoint(rt, n)
			more := append(slices.Clone(edges), Edge{p, q}, Edge{q, r}, Edge{r, p})
			if side(Edge{p, q}, r) != 0 && notAtVertices(AppendLines(nil, more, reg, 0)) == "" {
				edges = more
			}
		}
		b := drawBox(rt, n)
		var c Clipper
		got := c.Clip(edges, WindingFromNorth(edges, b.Corner()), b, 0)
		checkClosed(rt, got)
		meetAtVertices(rt, AppendLines(nil, got, reg, 0))
	})
}

// TestClipBends clips edges that rounding would move onto a vertex, or over several.
func TestClipBends(t *testing.T) {
	for name, tc := range map[string]struct {
		rings [][]Point
		box   Box
		want  []Edge // among others
	}{
		"a spike on the coast of Turkey": {
			[][]Point{{{3687, 4152}, {3725, 4126}, {3687, 4158}, {3725, 4183}, {3686, 4182}}},
			Box{-64, -64, 4160, 4160},
			[]Edge{{Point{3687, 4160}, Point{3687, 4158}}, {Point{3687, 4158}, Point{3687, 4152}}},
		},
		"an edge cut at both ends, over vertices on both sides of it": {
			[][]Point{
				{{-4, -1}, {104, 38}, {-4, 1000}},
				{{9, -40}, {10, 4}, {11, -40}},
				{{20, -40}, {21, 8}, {22, -40}},
				{{72, 90}, {73, 27}, {74, 90}},
				{{78, 90}, {79, 29}, {80, 90}},
			},
			Box{0, -50, 100, 100},
			nil,
		},
	} {
		var edges []Edge
		for _, ring := range tc.rings {
			for i, p := range ring {
				edges = append(edges, Edge{p, ring[(i+1)%len(ring)]})
			}
		}
		if problem := notAtVertices(AppendLines(nil, edges, NewShareSets(), 0)); problem != "" {
			t.Fatalf("%s: %s", name, problem)
		}
		var c Clipper
		got := c.Clip(edges, WindingFromNorth(edges, tc.box.Corner()), tc.box, 0)
		checkClosed(t, got)
		meetAtVertices(t, AppendLines(nil, got, NewShareSets(), 0))
		for _, e := range tc.want {
			if !slices.Contains(got, e) {
				t.Errorf("%s: %v is not among %v", name, e, got)
			}
		}
	}
}

// TestClipExactOnGrid clips chains of axis-parallel edges, where nothing is
// rounded: every half-integer point has the right winding number.
func TestClipExactOnGrid(t *testing.T) {
	const n = 6
	rapid.Check(t, func(rt *rapid.T) {
		var edges []Edge
		for range rapid.IntRange(1, 4).Draw(rt, "boxes") {
			turned := rapid.Bool().Draw(rt, "hole")
			for _, e := range Perimeter(drawBox(rt, n)) {
				if turned {
					e = e.Reversed()
				}
				edges = append(edges, e)
			}
		}
		b := drawBox(rt, n)
		var c Clipper
		got := c.Clip(edges, WindingFromNorth(edges, Point{b.X0, b.Y0}), b, 0)
		checkClosed(rt, got)
		for x2 := int64(-2*n - 1); x2 <= 2*n+1; x2 += 2 {
			for y2 := int64(-2*n - 1); y2 <= 2*n+1; y2 += 2 {
				want := 0
				if x2 > 2*int64(b.X0) && x2 < 2*int64(b.X1) && y2 > 2*int64(b.Y0) && y2 < 2*int64(b.Y1) {
					want = winding2(edges, x2, y2)
				}
				if w := winding2(got, x2, y2); w != want {
					rt.Fatalf("at %v/2, %v/2 winding %d, want %d\nbox %v\nchain %v\nclipped %v", x2, y2, w, want, b, edges, got)
				}
			}
		}
	})
}

// TestCarry moves references randomly, and compares the result with counting from the north.
func TestCarry(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		edges := drawChain(rt, 12)
		from := drawPoint(rt, 12)
		to := Point{from.X + int32(rapid.IntRange(0, 12).Draw(rt, "dx")), from.Y + int32(rapid.IntRange(0, 12).Draw(rt, "dy"))}
		want := WindingFromNorth(edges, to)
		if got := CarryWinding(edges, from, to, WindingFromNorth(edges, from)); got != want {
			rt.Fatalf("carried from %v to %v: %d, from the north: %d\n%v", from, to, got, want, edges)
		}
		// CarryWinding needs only the edges that meet the box between the two points.
		var some []Edge
		for _, e := range edges {
			if Meets(e, Box{from.X, from.Y, to.X + 1, to.Y + 1}) {
				some = append(some, e)
			}
		}
		if got := CarryWinding(some, from, to, WindingFromNorth(edges, from)); got != want {
			rt.Fatalf("with the edges that meet the box: %d, want %d", got, want)
		}
	})
}

// TestPolygonsOfDisjointSquares converts chains to polygons and back. If the chain's winding number
// is 0 or 1 everywhere, nothing changes.
func TestPolygonsOfDisjointSquares(t *testing.T) {
	const n = 5
	rapid.Check(t, func(rt *rapid.T) {
		// The shapes are unit squares of a board, each in or out. They have every pattern of
		// touching corners, holes and islands in holes.
		var in [2*n + 2][2*n + 2]bool
		var edges []Edge
		for x := range 2 * n {
			for y := range 2 * n {
				if in[x][y] = rapid.Bool().Draw(rt, "in"); in[x][y] {
					edges = append(edges, Perimeter(Box{int32(x), int32(y), int32(x + 1), int32(y + 1)})...)
				}
			}
		}
		var s assembler
		polys := s.polygons(edges)
		var back []Edge
		for _, p := range polys {
			for i, r := range p {
				if a := RingArea2(r); (a > 0) != (i == 0) {
					rt.Fatalf("ring %d of a polygon has area %d", i, a)
				}
				seen := map[Point]bool{}
				for j, q := range r {
					if seen[q] {
						rt.Fatalf("a ring repeats %v: %v", q, r)
					}
					seen[q] = true
					back = append(back, Edge{q, r[(j+1)%len(r)]})
				}
			}
			for x2 := int64(1); x2 < 4*n; x2 += 2 {
				for y2 := int64(1); y2 < 4*n; y2 += 2 {
					var one []Edge
					for _, r := range p {
						for j, q := range r {
							one = append(one, Edge{q, r[(j+1)%len(r)]})
						}
					}
					if w := winding2(one, x2, y2); w != 0 && w != 1 {
						rt.Fatalf("a polygon winds %d times around %d/2, %d/2: %v", w, x2, y2, p)
					}
				}
			}
		}
		for x := range 2 * n {
			for y := range 2 * n {
				if w := winding2(back, int64(2*x+1), int64(2*y+1)); (w == 1) != in[x][y] || w != 0 && w != 1 {
					rt.Fatalf("square %d,%d: winding %d, in %v", x, y, w, in[x][y])
				}
			}
		}
	})
}
