package shape_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"pgregory.net/rapid"

	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/quadkey"
	"quadrille/tiles/shape"
)

// lattice draws positions in steps of 15°, so that many are on edges, on ±180° and at poles.
func lattice(most int) *rapid.Generator[orb.Point] {
	return rapid.Custom(func(t *rapid.T) orb.Point {
		return orb.Point{15 * float64(rapid.IntRange(-most, most).Draw(t, "lon")), 15 * float64(rapid.IntRange(-6, 6).Draw(t, "lat"))}
	})
}

func drawRing(t *rapid.T) orb.Ring {
	r := orb.Ring(rapid.SliceOfN(lattice(20), 3, 8).Draw(t, "ring"))
	return append(r, r[0])
}

// winds returns how often a ring winds around a point, by the sum of angles, and whether the point is on it.
func winds(r orb.Ring, p orb.Point) (times int, on bool) {
	sum := 0.0
	for i, b := range r[1:] {
		ax, ay, bx, by := r[i][0]-p[0], r[i][1]-p[1], b[0]-p[0], b[1]-p[1]
		cross, dot := ax*by-ay*bx, ax*bx+ay*by
		if cross == 0 && dot <= 0 {
			return 0, true
		}
		sum += math.Atan2(cross, dot)
	}
	return int(math.Round(sum / (2 * math.Pi))), false
}

// inPolygon is a slow reference for polygons whose positions are whole numbers.
func inPolygon(polygon orb.Polygon, p orb.Point) bool {
	in := func(p orb.Point) bool {
		for i, r := range polygon {
			times, on := winds(r, p)
			if i == 0 && !on && times == 0 || i > 0 && !on && times != 0 {
				return false
			}
		}
		return true
	}
	if math.Abs(p[1]) == 90 {
		for _, q := range polygon[0] {
			if q[1] == p[1] {
				return true
			}
		}
		return false
	}
	for turn := -3.0; turn <= 3; turn++ {
		if in(orb.Point{p[0] + 360*turn, p[1]}) {
			return true
		}
	}
	return false
}

// TestContainsAsTheReference compares random polygons, which cross themselves, ±180° and poles, with a slow
// reference.
func TestContainsAsTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all orb.MultiPolygon
		for range rapid.IntRange(1, 3).Draw(t, "polygons") {
			p := orb.Polygon{drawRing(t)}
			for range rapid.IntRange(0, 2).Draw(t, "holes") {
				p = append(p, drawRing(t))
			}
			all = append(all, p)
		}
		a, err := shape.New(all, 0)
		if err != nil {
			if !errors.Is(err, shape.ErrGeometry) || !strings.Contains(err.Error(), "encloses nothing") {
				t.Fatal(err)
			}
			t.Skip()
		}
		for _, p := range rapid.SliceOfN(lattice(12), 30, 30).Draw(t, "points") {
			if rapid.Bool().Draw(t, "off") {
				p[0], p[1] = max(-180, min(180, p[0]+1)), max(-90, min(90, p[1]+2))
			}
			want := false
			for _, polygon := range all {
				want = want || inPolygon(polygon, p)
			}
			if got := a.Contains(quadkey.Position{Lon: p[0], Lat: p[1]}); got != want {
				t.Fatalf("%v in %v: %t, want %t", p, all, got, want)
			}
		}
	})
}

// meets reports whether an area has one of many positions of a ring.
func meets(a *shape.Area, r orb.Ring) bool {
	for i, b := range r[1:] {
		for s := 0.0; s <= 1; s += 1.0 / 1024 {
			at := quadkey.Position{Lon: math.Remainder(r[i][0]+s*(b[0]-r[i][0]), 360), Lat: r[i][1] + s*(b[1]-r[i][1])}
			if a.Contains(at) {
				return true
			}
		}
	}
	return false
}

// TestCoverIsInOrder tests that parts are disjoint and in order, that they are those from a cell, and that whole ones
// have no position outside.
func TestCoverIsInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		polygon := orb.Polygon{drawRing(t)}
		radius := rapid.SampledFrom([]float64{0, 3e6}).Draw(t, "radius")
		a, err := shape.New(polygon, radius)
		if err != nil {
			t.Skip()
		}
		var all []feature.AreaPart
		next := uint64(0)
		must.Do(t, a.Cover(context.Background(), 0, func(p *feature.AreaPart) error {
			if uint64(p.Cells.First) < next {
				t.Fatalf("part %v after cell %d", p.Cells, next)
			}
			next = uint64(p.Cells.Last) + 1
			all = append(all, *p)
			return nil
		}))
		if len(all) == 0 {
			t.Fatal("no part")
		}
		from := all[rapid.IntRange(0, len(all)-1).Draw(t, "from")].Cells
		first := true
		must.Do(t, a.Cover(context.Background(), from.Last, func(p *feature.AreaPart) error {
			if first && p.Cells != from {
				t.Fatalf("from %v the first part is %v", from, p.Cells)
			}
			first = false
			return nil
		}))
		all = slices.DeleteFunc(all, func(p feature.AreaPart) bool { return p.Contains != nil })
		for _, p := range all[:min(len(all), 10)] {
			for tile := range p.Cells.Tiles() {
				b := tile.Bound()
				at := orb.Point{b.West + (b.East-b.West)/1024, b.South + (b.North-b.South)/1024}
				if near := must.Get(shape.New(at, 1.1*radius)).In(t); !inPolygon(polygon, at) && !meets(near, polygon[0]) {
					t.Fatalf("%v is not in the area", at)
				}
			}
		}
	})
}

// TestRadiusAsTheReference compares distances with the least one to many positions of each edge.
func TestRadiusAsTheReference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		degree := rapid.Float64Range(-1, 1)
		middle := lattice(12).Draw(t, "middle")
		at := func(scale float64) orb.Point {
			return orb.Point{middle[0] + scale*degree.Draw(t, "lon"), max(-90, min(90, middle[1]+scale*degree.Draw(t, "lat")))}
		}
		var l orb.LineString
		for range rapid.IntRange(1, 5).Draw(t, "positions") {
			l = append(l, at(20))
		}
		radius := rapid.Float64Range(1, 3e6).Draw(t, "radius")
		var g orb.Geometry = l
		if len(l) == 1 {
			g = l[0]
		}
		a := must.Get(shape.New(g, radius)).In(t)
		for range 20 {
			p := at(60)
			p[0] = math.Remainder(p[0], 360)
			least, longest := math.Inf(1), 0.0
			for i := range l {
				q, r := l[max(0, i-1)], l[i]
				const steps = 500
				longest = max(longest, (math.Abs(r[0]-q[0])+math.Abs(r[1]-q[1]))/steps*112e3)
				for k := range steps + 1 {
					s := float64(k) / steps
					lon := math.Remainder(q[0]+s*(r[0]-q[0]), 360)
					least = min(least, quadkey.Distance(p[0], p[1], lon, q[1]+s*(r[1]-q[1])))
				}
			}
			got := a.Contains(quadkey.Position{Lon: p[0], Lat: p[1]})
			if got && least-longest > radius || !got && least < radius {
				t.Fatalf("%v is %f m from %v: within %f m is %t", p, least, l, radius, got)
			}
		}
	})
}

// TestBordersOfPositions tests positions on edges that rounding would move, and longitudes beyond ±180°.
func TestBordersOfPositions(t *testing.T) {
	a := must.Get(shape.New(orb.Polygon{{{179.1234567, -0.1}, {190.1234567, -0.1}, {190.1234567, 0.1}, {179.1234567, 0.1}, {179.1234567, -0.1}}}, 0)).In(t)
	for _, tc := range []struct {
		lon, lat float64
		want     bool
	}{
		{-169.8765433, 0, true}, {-169.8765432, 0, false}, {179.1234567, 0.1, true}, {179.1234566, 0, false}, {180, 0, true}, {-180, 0, true},
	} {
		if got := a.Contains(quadkey.Position{Lon: tc.lon, Lat: tc.lat}); got != tc.want {
			t.Errorf("%v, %v: %t", tc.lon, tc.lat, got)
		}
	}
	// (0.1, 0.1)+(0.2, 0.2) is on the diagonal, and a step of rounding beside it is not.
	half := must.Get(shape.New(orb.Polygon{{{0, 0}, {1, 1}, {0, 1}, {0, 0}}}, 0)).In(t)
	for lat, want := range map[float64]bool{0.3: true, math.Nextafter(0.3, 0): false, math.Nextafter(0.3, 1): true} {
		if got := half.Contains(quadkey.Position{Lon: 0.3, Lat: lat}); got != want {
			t.Errorf("%v: %t", lat, got)
		}
	}
}

// TestBadGeometriesAreRefused tests that what is no area says what to change.
func TestBadGeometriesAreRefused(t *testing.T) {
	nan := math.NaN()
	long := make(orb.LineString, shape.MaxVertices+1)
	var wide, many orb.LineString // around the world and back
	for i := range 2 * 10_001 {
		wide = append(wide, orb.Point{float64(359*(i%2)) - 180, 80})
		many = append(many, orb.Point{float64(i) / 1e4, float64(i) / 1e4})
	}
	for _, tc := range []struct {
		of     orb.Geometry
		radius float64
		want   string
	}{
		{nil, 0, "there is none"},
		{orb.Polygon{}, 0, "no positions"},
		{orb.MultiPolygon{}, 0, "no positions"},
		{orb.Polygon{{}}, 0, "no positions"},
		{orb.Polygon{{{0, 0}, {1, 0}, {1, 1}}}, 0, "not closed"},
		{orb.Polygon{{{0, 0}, {1, 1}, {2, 2}, {0, 0}}}, 0, "encloses nothing"},
		{orb.Polygon{{{0, 0}, {0, 0}, {0, 0}, {0, 0}}}, 0, "encloses nothing"},
		{orb.Polygon{{{nan, 0}, {1, 0}, {1, 1}, {nan, 0}}}, 0, "outside the world"},
		{orb.Polygon{{{0, math.Inf(1)}, {1, 0}, {1, 1}, {0, math.Inf(1)}}}, 0, "no latitude"},
		{orb.Polygon{{{47, 120}, {48, 120}, {48, 121}, {47, 120}}}, 0, "longitude before latitude"},
		{orb.Polygon{{{950000, 6e6}, {950001, 6e6}, {950000, 6000001}, {950000, 6e6}}}, 0, "degrees (WGS84)"},
		{orb.LineString{{1, 1}}, 1, "give it two"},
		{long, 1, "more than 100000 positions"},
		{wide, 0, "at one latitude"},
		{wide[:1000], 1, "longer than"},
		{many, 1, "more than 10000 positions"},
		{orb.Bound{}, 1, "give a polygon"},
		{orb.Point{}, nan, "distance"},
		{orb.Point{}, -1, "distance"},
		{orb.Point{}, math.Inf(1), "distance"},
	} {
		if _, err := shape.New(tc.of, tc.radius); !errors.Is(err, shape.ErrGeometry) || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%.60s: %v, want %q", fmt.Sprint(tc.of), err, tc.want)
		}
	}
}

// TestWideBordersAreRefused tests that borders that would take much memory on the map are refused before they are drawn.
func TestWideBordersAreRefused(t *testing.T) {
	var star orb.Ring
	for i := range 3000 {
		star = append(star, orb.Point{float64(i * 7919 % 360), float64(i*104729%170) - 85})
	}
	a := must.Get(shape.New(orb.Polygon{append(star, star[0])}, 0)).In(t)
	if err := a.CheckBorder(); !errors.Is(err, shape.ErrGeometry) || !strings.Contains(err.Error(), "too long") {
		t.Error(err)
	}
	line := must.Get(shape.New(orb.LineString{{0, 0}, {1, 1}}, 1)).In(t)
	if _, err := line.Covers(orb.Polygon{{{0, 0}, {1, 0}, {1, 1}, {0, 0}}}); !errors.Is(err, shape.ErrGeometry) {
		t.Error(err)
	}
	big := must.Get(shape.New(orb.Polygon{{{0, 0}, {10, 0}, {10, 10}, {0, 10}, {0, 0}}}, 0)).In(t)
	for _, tc := range []struct {
		of   orb.Geometry
		want bool
	}{
		{orb.Polygon{{{0, 0}, {10, 0}, {10, 10}, {0, 10}, {0, 0}}}, true},
		{orb.Polygon{{{1, 1}, {2, 1}, {2, 2}, {1, 1}}}, true},
		{orb.Polygon{{{1, 1}, {11, 1}, {2, 2}, {1, 1}}}, false},
		{orb.MultiPolygon{{{{1, 1}, {2, 1}, {2, 2}, {1, 1}}}, {{{21, 1}, {22, 1}, {22, 2}, {21, 1}}}}, false},
	} {
		if got := must.Get(big.Covers(tc.of)).In(t); got != tc.want {
			t.Errorf("%v: %t", tc.of, got)
		}
	}
}

// TestMeasureIsOfTheSphere compares areas with those of boxes on the sphere, R²·Δλ·Δ(sin φ).
func TestMeasureIsOfTheSphere(t *testing.T) {
	box := func(w, s, e, n float64) orb.Polygon { return orb.Polygon{{{w, s}, {e, s}, {e, n}, {w, n}, {w, s}}} }
	size := func(w, s, e, n float64) float64 {
		const r = math.Pi / 180
		return quadkey.EarthRadius * quadkey.EarthRadius * (e - w) * r * (math.Sin(n*r) - math.Sin(s*r))
	}
	for _, tc := range []struct {
		of     orb.Geometry
		with   orb.Geometry
		shared float64
	}{
		{box(0, 0, 10, 10), box(5, 5, 20, 20), size(5, 5, 10, 10)},
		{box(0, 60, 10, 70), box(0, 60, 10, 70), size(0, 60, 10, 70)},
		{box(170, 0, 190, 10), orb.MultiPolygon{box(170, 5, 180, 20), box(-180, 5, -170, 20)}, size(170, 5, 190, 10)},
		{box(-180, -90, 180, 90), box(-180, 80, 180, 90), size(-180, 80, 180, 90)},
		{box(0, 0, 1, 1), box(2, 2, 3, 3), 0},
		{orb.MultiPolygon{box(0, 0, 2, 2), box(1, 1, 3, 3)}, box(0, 0, 3, 3), size(0, 0, 2, 2) + size(1, 1, 3, 3) - size(1, 1, 2, 2)},
		{box(0, 0, 1, 1), orb.LineString{{0, 0}, {1, 1}}, 0},
	} {
		m, err := must.Get(shape.New(tc.of, 0)).In(t).Measure(tc.with)
		if err != nil || math.Abs(m.Shared-tc.shared) > 1e-6*tc.shared || m.Area < m.Shared*0.999999 {
			t.Errorf("%v and %v: %+v, %v; want %g", tc.of, tc.with, m, err, tc.shared)
		}
	}
}
