package grid

import (
	"math/big"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// ratio is a position in exact fractions.
type ratio struct{ x, y *big.Rat }

func whole(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

func between(a, b *big.Rat) *big.Rat {
	sum := new(big.Rat).Add(a, b)
	return sum.Quo(sum, whole(2))
}

// cross returns the cross product of an edge and the vector from its start to a position.
func cross(e Edge, p ratio) *big.Rat {
	dx, dy := whole(int64(e.B.X)-int64(e.A.X)), whole(int64(e.B.Y)-int64(e.A.Y))
	px, py := new(big.Rat).Sub(p.x, whole(int64(e.A.X))), new(big.Rat).Sub(p.y, whole(int64(e.A.Y)))
	return dx.Sub(dx.Mul(dx, py), dy.Mul(dy, px))
}

// winds counts how often a chain goes around a place, and whether the place is on it.
func winds(chain []Edge, p ratio) (n int, on bool) {
	for _, e := range chain {
		above, below := whole(int64(e.A.Y)).Cmp(p.y) <= 0, whole(int64(e.B.Y)).Cmp(p.y) <= 0
		side := cross(e, p).Sign()
		if side == 0 {
			x0, x1 := whole(int64(min(e.A.X, e.B.X))), whole(int64(max(e.A.X, e.B.X)))
			y0, y1 := whole(int64(min(e.A.Y, e.B.Y))), whole(int64(max(e.A.Y, e.B.Y)))
			on = on || x0.Cmp(p.x) <= 0 && p.x.Cmp(x1) <= 0 && y0.Cmp(p.y) <= 0 && p.y.Cmp(y1) <= 0
		}
		switch {
		case above && !below && side > 0:
			n++
		case !above && below && side < 0:
			n--
		}
	}
	return n, on
}

// meet returns where two edges that are not parallel cross, and false if they do not.
func meet(e, f Edge) (ratio, bool) {
	dx, dy := int64(e.B.X-e.A.X), int64(e.B.Y-e.A.Y)
	gx, gy := int64(f.B.X-f.A.X), int64(f.B.Y-f.A.Y)
	det := dx*gy - dy*gx
	if det == 0 {
		return ratio{}, false
	}
	s := big.NewRat((int64(f.A.X-e.A.X))*gy-(int64(f.A.Y-e.A.Y))*gx, det)
	t := big.NewRat((int64(f.A.X-e.A.X))*dy-(int64(f.A.Y-e.A.Y))*dx, det)
	one := whole(1)
	if s.Sign() < 0 || s.Cmp(one) > 0 || t.Sign() < 0 || t.Cmp(one) > 0 {
		return ratio{}, false
	}
	at := func(from int32, d int64) *big.Rat {
		v := new(big.Rat).Mul(s, whole(d))
		return v.Add(v, whole(int64(from)))
	}
	return ratio{at(e.A.X, dx), at(e.A.Y, dy)}, true
}

func sorted(all []*big.Rat) []*big.Rat {
	slices.SortFunc(all, (*big.Rat).Cmp)
	return slices.CompactFunc(all, func(a, b *big.Rat) bool { return a.Cmp(b) == 0 })
}

// shareSlowly tests a position in every face of the planar subdivision by the two chains. Between
// consecutive x at which edges end or cross, no edges cross, so a face lies between neighbouring
// edges.
func shareSlowly(a, b []Edge) bool {
	all := slices.Concat(a, b)
	var xs []*big.Rat
	for i, e := range all {
		xs = append(xs, whole(int64(e.A.X)))
		for _, f := range all[:i] {
			if p, ok := meet(e, f); ok {
				xs = append(xs, p.x)
			}
		}
	}
	xs = sorted(xs)
	for i := range max(0, len(xs)-1) {
		x := between(xs[i], xs[i+1])
		var ys []*big.Rat
		for _, e := range all {
			if e.A.X == e.B.X || (whole(int64(e.A.X)).Cmp(x) < 0) == (whole(int64(e.B.X)).Cmp(x) < 0) {
				continue
			}
			y := new(big.Rat).Sub(x, whole(int64(e.A.X)))
			y.Mul(y, big.NewRat(int64(e.B.Y-e.A.Y), int64(e.B.X-e.A.X)))
			ys = append(ys, y.Add(y, whole(int64(e.A.Y))))
		}
		ys = sorted(ys)
		for k := range max(0, len(ys)-1) {
			p := ratio{x, between(ys[k], ys[k+1])}
			in, _ := winds(a, p)
			also, _ := winds(b, p)
			if in > 0 && also > 0 {
				return true
			}
		}
	}
	return false
}

// entersSlowly tests a place on every piece of the edge.
func entersSlowly(chain []Edge, e Edge) bool {
	if e.A == e.B {
		return false
	}
	var along []*big.Rat // x, or y of an upright edge
	upright := e.A.X == e.B.X
	coordinate := func(p ratio) *big.Rat {
		if upright {
			return p.y
		}
		return p.x
	}
	exact := func(p Point) ratio { return ratio{whole(int64(p.X)), whole(int64(p.Y))} }
	along = append(along, coordinate(exact(e.A)), coordinate(exact(e.B)))
	for _, f := range chain {
		if p, ok := meet(e, f); ok {
			along = append(along, coordinate(p))
		} else if p := exact(f.A); cross(e, p).Sign() == 0 {
			along = append(along, coordinate(p))
		}
	}
	along = sorted(along)
	low, high := coordinate(exact(e.A)), coordinate(exact(e.B))
	if low.Cmp(high) > 0 {
		low, high = high, low
	}
	for i := range len(along) - 1 {
		if along[i].Cmp(low) < 0 || along[i+1].Cmp(high) > 0 {
			continue
		}
		at := between(along[i], along[i+1])
		p := ratio{x: whole(int64(e.A.X)), y: at}
		if !upright {
			y := new(big.Rat).Sub(at, whole(int64(e.A.X)))
			y.Mul(y, big.NewRat(int64(e.B.Y-e.A.Y), int64(e.B.X-e.A.X)))
			p = ratio{at, y.Add(y, whole(int64(e.A.Y)))}
		}
		if n, on := winds(chain, p); n > 0 && !on {
			return true
		}
	}
	return false
}

// polygons draws the edges of a few polygons with corners on a small grid, so that they often
// touch. Rounding moves the places where edges of a ring cross, but hardly bends long edges.
func polygons(t *rapid.T, label string, origin Point) []Edge {
	coordinate := rapid.Int32Range(0, 6)
	var chain []Edge
	for range rapid.IntRange(1, 2).Draw(t, label) {
		var ring []Point
		for range rapid.IntRange(3, 6).Draw(t, "corners") {
			ring = append(ring, Point{origin.X + coordinate.Draw(t, "x")<<scale, origin.Y + coordinate.Draw(t, "y")<<scale})
		}
		for i, p := range ring {
			if q := ring[(i+1)%len(ring)]; p != q {
				chain = append(chain, Edge{p, q})
			}
		}
	}
	border, _, err := NewOutliner().mend(chain, nil, func(w Winding) bool { return w.shells > 0 })
	if err != nil {
		t.Fatal(err)
	}
	return border
}

const scale = 9

func TestShare(t *testing.T) {
	o := NewOutliner()
	found := 0
	origins := rapid.SampledFrom([]Point{{}, {-64, -64}, {WorldSize - 2<<scale, WorldSize / 2}, {WorldSize / 3, WorldSize - 5}})
	rapid.Check(t, func(t *rapid.T) {
		origin := origins.Draw(t, "origin")
		a, b := polygons(t, "a", origin), polygons(t, "b", origin)
		switch rapid.IntRange(0, 4).Draw(t, "alike") {
		case 0:
			b = slices.Clone(a)
		case 1: // a neighbour with the same border
			b = Perimeter(Box{origin.X - 1, origin.Y - 1, origin.X + 7<<scale, origin.Y + 7<<scale})
			for _, e := range a {
				b = append(b, e.Reversed())
			}
		}
		got, err := o.Overlap(a, b)
		if want := shareSlowly(a, b); err != nil || got != want {
			t.Fatalf("%v and %v: %v, %v, want %v", a, b, got, err, want)
		}
		if back, err := o.Overlap(b, a); err != nil || back != got {
			t.Fatalf("%v and %v: %v, and the other way round %v, %v", a, b, got, back, err)
		}
		if got {
			found++
		}
	})
	if found == 0 {
		t.Error("no polygons share ground")
	}
}

func TestEnter(t *testing.T) {
	o := NewOutliner()
	found := 0
	rapid.Check(t, func(t *rapid.T) {
		all := polygons(t, "shells", Point{})
		coordinate := rapid.Int32Range(-1, 7)
		end := func() Point { return Point{coordinate.Draw(t, "x") << scale, coordinate.Draw(t, "y") << scale} }
		lines, want := []Edge{}, false
		for range rapid.IntRange(1, 3).Draw(t, "lines") {
			e := Edge{end(), end()}
			lines, want = append(lines, e), want || entersSlowly(all, e)
		}
		got := o.EntersInterior(lines, all)
		for i, e := range lines {
			lines[i] = e.Reversed()
		}
		if got != want || o.EntersInterior(lines, all) != got {
			t.Fatalf("%v and %v: %v, want %v", all, lines, got, want)
		}
		if got {
			found++
		}
	})
	if found == 0 {
		t.Error("no line enters")
	}
}

// TestEnterFar tests that EntersInterior allocates nothing for lines far from the polygons.
func TestEnterFar(t *testing.T) {
	o, ring := NewOutliner(), Perimeter(Box{1000, 1000, 1100, 1100})
	lines := make([]Edge, 1000)
	for i := range lines {
		lines[i] = Edge{Point{int32(i), 0}, Point{int32(i) + 1, 999}}
	}
	var in bool
	if n := testing.AllocsPerRun(10, func() { in = o.EntersInterior(lines, ring) }); n > 0 || in {
		t.Errorf("%v allocations, and they enter: %v", n, in)
	}
}
