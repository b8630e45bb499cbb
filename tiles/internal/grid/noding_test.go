package grid

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"quadrille/internal/testrace"
)

// meetAtVertices fails when two lines cross or a vertex lies on a line.
func meetAtVertices(t interface{ Fatalf(string, ...any) }, lines []Line) {
	if problem := notAtVertices(lines); problem != "" {
		t.Fatalf("%s", problem)
	}
}

// notAtVertices names two lines that cross, or a vertex that lies on a line.
func notAtVertices(lines []Line) string {
	for i, l := range lines {
		for _, m := range lines[i+1:] {
			e, f := l.edge(), m.edge()
			s1, s2, t1, t2 := side(e, f.A), side(e, f.B), side(f, e.A), side(f, e.B)
			if (s1 > 0) != (s2 > 0) && s1 != 0 && s2 != 0 && (t1 > 0) != (t2 > 0) && t1 != 0 && t2 != 0 {
				return fmt.Sprintf("%v and %v cross", l, m)
			}
			for _, p := range [2]Point{m.A, m.B} {
				if p != l.A && p != l.B && side(e, p) == 0 && inBox(p, lineBox(l)) {
					return fmt.Sprintf("%v lies on %v", p, l)
				}
			}
			for _, p := range [2]Point{l.A, l.B} {
				if p != m.A && p != m.B && side(f, p) == 0 && inBox(p, lineBox(m)) {
					return fmt.Sprintf("%v lies on %v", p, m)
				}
			}
		}
	}
	return ""
}

// TestNodeRandom snap-rounds random closed chains to random grids. Lines meet at vertices only and
// chains stay closed. A place farther from every border than a pixel's diagonal keeps its winding
// number.
func TestNodeRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		grid := uint(rapid.IntRange(0, 3).Draw(rt, "grid"))
		tiles := uint(rapid.SampledFrom([]int{0, 4}).Draw(rt, "tiles"))
		reg := NewShareSets()
		var chains [2][]Edge
		var lines []Line
		for i := range chains {
			chains[i] = drawChain(rt, 60)
			lines = AppendLines(lines, chains[i], reg, int32(i))
		}
		n := Noder{ShareSets: reg, PixelShift: grid, TileShift: tiles, MayCross: true}
		out, err := n.Node(MergeLines(lines, reg))
		if err != nil {
			rt.Fatal(err)
		}
		meetAtVertices(rt, out)
		for i, edges := range EdgesByRegion(out, reg, 2) {
			checkClosed(rt, edges)
			for _, e := range edges {
				if mask := int32(1)<<grid - 1; (e.A.X|e.A.Y|e.B.X|e.B.Y)&mask != 0 {
					rt.Fatalf("%v is off the grid", e)
				}
			}
			for range 20 {
				x2, y2 := 2*rapid.IntRange(-5, 65).Draw(rt, "x")+1, 2*rapid.IntRange(-5, 65).Draw(rt, "y")+1
				if near(chains[i], int64(x2), int64(y2), 1.5*float64(int(1)<<grid)) {
					continue
				}
				if got, want := winding2(edges, int64(x2), int64(y2)), winding2(chains[i], int64(x2), int64(y2)); got != want {
					rt.Fatalf("at %d/2, %d/2 region %d winds %d times, before %d", x2, y2, i, got, want)
				}
			}
		}
	})
}

// TestSimplifyKeepsTopology thins random arrangements as far as possible. Lines still meet at
// vertices only, and each region keeps its winding numbers.
func TestSimplifyKeepsTopology(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		reg := NewShareSets()
		var lines []Line
		for i := range int32(3) {
			var drawn []CountedLine
			own := NewShareSets()
			n := Noder{ShareSets: own, MayCross: true}
			noded, err := n.Node(MergeLines(AppendLines(nil, drawChain(rt, 200), own, 0), own))
			if err != nil {
				rt.Fatal(err)
			}
			for _, l := range noded {
				drawn = append(drawn, plainly(l.edge(), own.Shares(l.ShareSet)[0].Times))
			}
			border, _, err := Resolve(drawn, Winding.touched, nil)
			if err != nil {
				rt.Fatal(err)
			}
			lines = AppendLines(lines, border, reg, i)
		}
		n := Noder{ShareSets: reg, MayCross: true}
		lines, err := n.Node(MergeLines(lines, reg))
		if err != nil {
			rt.Fatal(err)
		}
		s := NewSimplifier(lines, reg)
		if got := MergeLines(s.Lines(reg), reg); len(got) != len(lines) {
			rt.Fatalf("arcs have %d lines, not %d", len(got), len(lines))
		}
		before := len(lines)
		for _, limit := range []int64{10, 100, 1000, 1 << 40} {
			s.Thin(limit)
			out := MergeLines(s.Lines(reg), reg)
			if len(out) > before {
				rt.Fatalf("thinning made %d lines of %d", len(out), before)
			}
			before = len(out)
			meetAtVertices(rt, out)
			for _, edges := range EdgesByRegion(out, reg, 3) {
				checkClosed(rt, edges)
				var drawn []CountedLine
				for _, e := range edges {
					if e.Upward() {
						drawn = append(drawn, plainly(e, 1))
					} else {
						drawn = append(drawn, plainly(e.Reversed(), -1))
					}
				}
				if border, repaired, err := Resolve(drawn, Winding.Covered, nil); err != nil || repaired || len(border) != len(edges) {
					rt.Fatalf("a region came out of order: %v", edges)
				}
			}
		}
	})
}

func TestScaled(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := rapid.Int32Range(-1<<26, 1<<26).Draw(rt, "d")
		den := rapid.Int64Range(1, 1<<54).Draw(rt, "den")
		num := rapid.Int64Range(0, den).Draw(rt, "num")
		// floor(d·num/den + 1/2)
		v := new(big.Int).Mul(big.NewInt(2*int64(d)), big.NewInt(num))
		v.Add(v, big.NewInt(den))
		v.Div(v, new(big.Int).Mul(big.NewInt(2), big.NewInt(den)))
		if got := scaled(d, num, den, true); int64(got) != v.Int64() {
			rt.Fatalf("%d·%d/%d is %d, not %d", d, num, den, v, got)
		}
		v.Mul(big.NewInt(int64(d)), big.NewInt(num))
		v.Div(v, big.NewInt(den))
		if got := scaled(d, num, den, false); int64(got) != v.Int64() {
			rt.Fatalf("%d·%d/%d is at least %d, not %d", d, num, den, v, got)
		}
	})
}

// The rings of a region share one limit for self-crossings, so many small tangles are refused like
// a large one.
func TestTangledRings(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	rnd := rand.New(rand.NewPCG(77, 78))
	var rings [4][]Point
	for i := range rings {
		for range 200 {
			rings[i] = append(rings[i], Point{rnd.Int32N(1 << 20), rnd.Int32N(1 << 20)})
		}
	}
	o := NewOutliner()
	outline := func() (err error) {
		for _, r := range rings {
			_, err = o.Polygon(nil, 1, func(_ int, dst []Edge) []Edge {
				for i, p := range r {
					dst = append(dst, Edge{p, r[(i+1)%len(r)]})
				}
				return dst
			})
			if err != nil {
				return err
			}
		}
		return nil
	}
	err := outline()
	spent := o.noder.beyond
	if err != nil || !o.Repaired || spent < 4*200 {
		t.Fatalf("%v, %d crossings beyond the usual", err, spent)
	}
	o.noder.beyond = maxBeyond - spent + 1
	if err := outline(); !errors.Is(err, errTangled) {
		t.Errorf("with almost as many before: %v", err)
	}
}

// TestLensStays tests that a region of two arcs between two neighbours is not thinned away at a
// zoom at which it can be seen.
func TestLensStays(t *testing.T) {
	reg := NewShareSets()
	step := int32(1) << StepShift(5)
	at := func(x, y int32) Point { return Point{1<<24 + x*step, 1<<24 + y*step} }
	ring := func(number int32, points ...Point) (lines []Line) {
		var edges []Edge
		for i, p := range points {
			edges = append(edges, Edge{p, points[(i+1)%len(points)]})
		}
		return AppendLines(nil, edges, reg, number)
	}
	lines := slices.Concat(
		ring(0, at(0, 0), at(16, 0), at(8, 4)),                             // below it, and
		ring(1, at(0, 0), at(8, -3), at(16, 0), at(8, 4)),                  // the lens
		ring(2, at(0, 0), at(-50, -90), at(66, -90), at(16, 0), at(8, -3)), // above it
	)
	s := NewSimplifier(MergeLines(lines, reg), reg)
	s.Thin(MaxThinArea2 << (2 * StepShift(5)))
	if got := EdgesByRegion(MergeLines(s.Lines(reg), reg), reg, 3); len(got[1]) == 0 {
		t.Error("the lens is gone")
	}
}

func plainly(e Edge, n int32) CountedLine { return CountedLine{A: e.A, B: e.B, Shells: n} }

func lineBox(l Line) Box {
	return Box{l.A.X, min(l.A.Y, l.B.Y), l.B.X, max(l.A.Y, l.B.Y)}
}
