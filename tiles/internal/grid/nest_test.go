package grid

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"quadrille/internal/testrace"
)

// nestSlowly is the reference for nest: it tests each hole against each shell.
func nestSlowly(rings [][]Point) (polys []Polygon) {
	type shell struct {
		area int64
		b    Box
	}
	var shells []shell
	var holes [][]Point
	for _, r := range rings {
		if a := RingArea2(r); a > 0 {
			polys = append(polys, Polygon{r})
			shells = append(shells, shell{a, RingBox(r)})
		} else {
			holes = append(holes, r)
		}
	}
	for _, h := range holes {
		hb := RingBox(h)
		best := -1
		for i, sh := range shells {
			if hb.X0 < sh.b.X0 || hb.X1 > sh.b.X1 || hb.Y0 < sh.b.Y0 || hb.Y1 > sh.b.Y1 ||
				best >= 0 && sh.area >= shells[best].area {
				continue
			}
			if ringHolds(polys[i][0], h) {
				best = i
			}
		}
		if best >= 0 {
			polys[best] = append(polys[best], h)
		}
	}
	slices.SortFunc(polys, func(p, q Polygon) int {
		return cmp.Or(ComparePoints(p[0][0], q[0][0]), cmp.Compare(len(p[0]), len(q[0])))
	})
	return polys
}

// ringHolds reports whether hole h lies inside ring r. It tests the first vertex of h that is not
// on r. If all are on r, it tests the middle of an edge.
func ringHolds(r, h []Point) bool {
	for _, p := range h {
		switch pointInRing(r, 2*int64(p.X), 2*int64(p.Y)) {
		case 1:
			return true
		case -1:
			return false
		}
	}
	for i, p := range h {
		q := h[(i+1)%len(h)]
		if in := pointInRing(r, int64(p.X)+int64(q.X), int64(p.Y)+int64(q.Y)); in != 0 {
			return in > 0
		}
	}
	return false
}

// pointInRing returns 1 if the point (x2/2, y2/2) is inside a ring, −1 if it is
// outside and 0 if it is on the ring.
func pointInRing(r []Point, x2, y2 int64) int {
	in := -1
	for i, p := range r {
		q := r[(i+1)%len(r)]
		px, py, qx, qy := 2*int64(p.X), 2*int64(p.Y), 2*int64(q.X), 2*int64(q.Y)
		c := (qx-px)*(y2-py) - (qy-py)*(x2-px)
		if c == 0 && min(px, qx) <= x2 && x2 <= max(px, qx) && min(py, qy) <= y2 && y2 <= max(py, qy) {
			return 0
		}
		if (py <= y2) != (qy <= y2) && (c > 0) == (qy > py) {
			in = -in
		}
	}
	return in
}

// bitmapEdges appends the border of the set cells of a bitmap, sheared so that
// its edges have many directions.
func bitmapEdges(dst []Edge, width int, set func(x, y int) bool, shear [4]int32) []Edge {
	at := func(x, y int) Point {
		return Point{int32(x)*shear[0] + int32(y)*shear[1], int32(x)*shear[2] + int32(y)*shear[3]}
	}
	for y := range width {
		for x := range width {
			if !set(x, y) {
				continue
			}
			nw, ne, se, sw := at(x, y), at(x+1, y), at(x+1, y+1), at(x, y+1)
			dst = append(dst, Edge{nw, ne}, Edge{ne, se}, Edge{se, sw}, Edge{sw, nw})
		}
	}
	return dst
}

// The sweep gives the same result as the test of each hole against each shell. This also holds
// where rings touch or run along each other because regions were added up.
func TestNestEqualsReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.IntRange(3, 14).Draw(t, "width")
		shear := rapid.SampledFrom([][4]int32{{4, 0, 0, 4}, {7, 3, -2, 5}, {3, -8, 9, 2}, {1, 0, 0, 1}, {40, 1, 1, 40}}).Draw(t, "shear")
		var edges []Edge
		for range rapid.IntRange(1, 2).Draw(t, "layers") {
			bits := rapid.SliceOfN(rapid.IntRange(0, 3), width*width, width*width).Draw(t, "bits")
			full := rapid.IntRange(0, 3).Draw(t, "full")
			edges = bitmapEdges(edges, width, func(x, y int) bool { return bits[y*width+x] >= full }, shear)
		}
		var s assembler
		got := s.polygons(edges)
		want := nestSlowly(s.rings)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("the sweep gives\n%v\nthe reference\n%v", got, want)
		}
	})
}

// nestedSquares returns the border of n nested squares, alternately shells and holes.
func nestedSquares(n int) (edges []Edge) {
	for i := range int32(n) {
		nw, ne, se, sw := Point{i, i}, Point{int32(4*n) - i, i}, Point{int32(4*n) - i, int32(4*n) - i}, Point{i, int32(4*n) - i}
		for _, e := range [4]Edge{{nw, ne}, {ne, se}, {se, sw}, {sw, nw}} {
			if i%2 == 1 {
				e = e.Reversed()
			}
			edges = append(edges, e)
		}
	}
	return edges
}

// Nested rings and many islands with a lake both cost no more than a sweep.
func TestNestManyRings(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	n := 200_000
	if testing.Short() {
		n = 20_000
	}
	var s assembler
	polys := s.polygons(nestedSquares(n))
	if len(polys) != n/2 {
		t.Fatalf("%d polygons, want %d", len(polys), n/2)
	}
	for _, p := range polys {
		if len(p) != 2 || RingBox(p[1]).X0 != RingBox(p[0]).X0+1 {
			t.Fatalf("polygon %v: the hole is not the ring just inside", p)
		}
	}
	polys = s.polygons(islands(n))
	if len(polys) != n {
		t.Fatalf("%d polygons, want %d", len(polys), n)
	}
	for _, p := range polys {
		if len(p) != 2 {
			t.Fatalf("polygon %v has no lake", p)
		}
	}
}

// islands returns the borders of n islands with a lake each.
func islands(n int) (edges []Edge) {
	side := int(math.Ceil(math.Sqrt(float64(n))))
	for i := range n {
		x, y := int32(i%side*8), int32(i/side*8)
		for k, d := range [2]int32{0, 2} {
			nw, ne, se, sw := Point{x + d, y + d}, Point{x + 6 - d, y + d}, Point{x + 6 - d, y + 6 - d}, Point{x + d, y + 6 - d}
			for _, e := range [4]Edge{{nw, ne}, {ne, se}, {se, sw}, {sw, nw}} {
				if k == 1 {
					e = e.Reversed()
				}
				edges = append(edges, e)
			}
		}
	}
	return edges
}

// BenchmarkNest compares the sweep with the test of each hole against each
// shell.
func BenchmarkNest(b *testing.B) {
	for _, n := range []int{100, 10_000} {
		for name, edges := range map[string][]Edge{"islands": islands(n), "nested": nestedSquares(n)} {
			var s assembler
			s.polygons(edges)
			b.Run(fmt.Sprintf("sweep/%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					s.nest()
				}
			})
			b.Run(fmt.Sprintf("each against each/%s/%d", name, n), func(b *testing.B) {
				for b.Loop() {
					nestSlowly(s.rings)
				}
			})
		}
	}
}
