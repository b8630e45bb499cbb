package tiles

import (
	"errors"
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"pgregory.net/rapid"

	"quadrille/cellstore"
	"quadrille/tiles/mvt"
)

// meetAtVertices fails when two lines cross or a vertex lies on a line.
func meetAtVertices(t interface{ Fatalf(string, ...any) }, lines []line) {
	for i, l := range lines {
		for _, m := range lines[i+1:] {
			e, f := l.edge(), m.edge()
			s1, s2, t1, t2 := side(e, f.a), side(e, f.b), side(f, e.a), side(f, e.b)
			if (s1 > 0) != (s2 > 0) && s1 != 0 && s2 != 0 && (t1 > 0) != (t2 > 0) && t1 != 0 && t2 != 0 {
				t.Fatalf("%v and %v cross", l, m)
			}
			for _, p := range [2]point{m.a, m.b} {
				if p != l.a && p != l.b && side(e, p) == 0 && inBox(p, lineBox(l)) {
					t.Fatalf("%v lies on %v", p, l)
				}
			}
			for _, p := range [2]point{l.a, l.b} {
				if p != m.a && p != m.b && side(f, p) == 0 && inBox(p, lineBox(m)) {
					t.Fatalf("%v lies on %v", p, m)
				}
			}
		}
	}
}

// TestNodeRandom snap-rounds random closed chains to random grids: lines meet
// at vertices only, chains stay closed, and where a place is farther from every
// border than a pixel's diagonal its winding number stays as it was.
func TestNodeRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		grid := uint(rapid.IntRange(0, 3).Draw(rt, "grid"))
		tiles := uint(rapid.SampledFrom([]int{0, 4}).Draw(rt, "tiles"))
		reg := newRegistry()
		var chains [2][]edge
		var lines []line
		for i := range chains {
			chains[i] = drawChain(rt, 60)
			lines = appendDrawn(lines, chains[i], reg, int32(i))
		}
		n := noder{reg: reg, grid: grid, tiles: tiles, crossings: true}
		out, err := n.node(merge(lines, reg))
		if err != nil {
			rt.Fatal(err)
		}
		meetAtVertices(rt, out)
		for i, edges := range byRegion(out, reg, 2) {
			checkClosed(rt, edges)
			for _, e := range edges {
				if mask := int32(1)<<grid - 1; (e.a.x|e.a.y|e.b.x|e.b.y)&mask != 0 {
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

// TestSimplifyKeepsTopology thins random arrangements as far as it goes: still
// lines meet at vertices only, and each region winds as it did.
func TestSimplifyKeepsTopology(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		reg := newRegistry()
		var lines []line
		for i := range int32(3) {
			var drawn []drawn
			own := newRegistry()
			n := noder{reg: own, crossings: true}
			noded, err := n.node(merge(appendDrawn(nil, drawChain(rt, 200), own, 0), own))
			if err != nil {
				rt.Fatal(err)
			}
			for _, l := range noded {
				drawn = append(drawn, plainly(l.edge(), own.shares(l.who)[0].n))
			}
			border, _, err := resolve(drawn, winding.touched, nil)
			if err != nil {
				rt.Fatal(err)
			}
			lines = appendDrawn(lines, border, reg, i)
		}
		n := noder{reg: reg, crossings: true}
		lines, err := n.node(merge(lines, reg))
		if err != nil {
			rt.Fatal(err)
		}
		s := newSimplifier(newArcs(lines, reg))
		if got := merge(s.lines(reg), reg); len(got) != len(lines) {
			rt.Fatalf("arcs have %d lines, not %d", len(got), len(lines))
		}
		before := len(lines)
		for _, limit := range []int64{10, 100, 1000, 1 << 40} {
			s.thin(limit)
			out := merge(s.lines(reg), reg)
			if len(out) > before {
				rt.Fatalf("thinning made %d lines of %d", len(out), before)
			}
			before = len(out)
			meetAtVertices(rt, out)
			for _, edges := range byRegion(out, reg, 3) {
				checkClosed(rt, edges)
				var drawn []drawn
				for _, e := range edges {
					if e.upward() {
						drawn = append(drawn, plainly(e, 1))
					} else {
						drawn = append(drawn, plainly(e.reversed(), -1))
					}
				}
				if border, repaired, err := resolve(drawn, winding.covered, nil); err != nil || repaired || len(border) != len(edges) {
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

// lineLayer is a layer of one region per polygon.
func lineLayer(typ string, polys ...orb.Polygon) Layer {
	l := Layer{Type: typ}
	for i, p := range polys {
		l.Features = append(l.Features, Feature{ID: fmt.Sprint("r", i), Geometry: p})
	}
	return l
}

// TestHostileRings: what a few bytes of input can ask for is refused or done in
// reasonable work.
func TestHostileRings(t *testing.T) {
	for rule, lons := range map[LongEdges][]float64{
		LongEdgesShortest: {0, 120, -120},
		LongEdgesAuto:     {0, 45, 90, 135, 170, -160, -115, -80, -40},
	} {
		var spiral orb.Ring
		for i := range 63 * len(lons) {
			spiral = append(spiral, orb.Point{lons[i%len(lons)], -20 + 0.05*float64(i)})
		}
		l := lineLayer("land", orb.Polygon{spiral})
		l.Features[0].LongEdges = rule
		if _, err := newRegions(l); !errors.Is(err, ErrBadGeometry) {
			t.Errorf("a ring that winds 63 times, %v: %v", rule, err)
		}
	}

	// Two sets of long stripes at a tiny angle share many cells and cross in
	// few places.
	stripe := func(lat, tilt float64) orb.Polygon {
		return orb.Polygon{{{-170, lat}, {5, lat + tilt}, {5, lat + 0.01 + tilt}, {-170, lat + 0.01}}}
	}
	var straight, tilted []orb.Polygon
	for i := range 20 {
		straight = append(straight, stripe(float64(i)*0.01, 0))
		tilted = append(tilted, stripe(float64(i)*0.01-1e-5, 2e-5))
	}
	b := &build{opts: BuildOptions{Workers: 2}}
	if _, err := b.addLayers([]Layer{lineLayer("a", straight...), lineLayer("b", tilted...)}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.exactLines(t.Context()); err != nil {
		t.Errorf("tilted stripes: %v", err)
	}

	// Many regions over each other leave few sets of shares.
	var copies []orb.Polygon
	for range 100 {
		copies = append(copies, square(1, 1, 2, 2))
	}
	b = &build{opts: BuildOptions{Workers: 2}}
	if _, err := b.addLayers([]Layer{lineLayer("year", copies...)}); err != nil {
		t.Fatal(err)
	}
	_, reg, err := b.exactLines(t.Context())
	if err != nil || len(reg.sets) > 1000 {
		t.Errorf("a hundred copies: %d sets, %v", len(reg.sets), err)
	}
}

// The rings of a region share what they may cross themselves, so that many small
// tangles are refused like a large one.
func TestTangledRings(t *testing.T) {
	rnd := rand.New(rand.NewPCG(77, 78))
	var polygons [][]ring
	for range 4 {
		var r ring
		for range 200 {
			r = append(r, orb.Point{10 * rnd.Float64(), 10 * rnd.Float64()})
		}
		polygons = append(polygons, []ring{r})
	}
	o := newOutliner()
	_, err := o.chain(polygons, plate)
	spent := o.noder.beyond
	if err != nil || !o.repaired || spent < 4*200 {
		t.Fatalf("%v, %d crossings beyond the usual", err, spent)
	}
	o.noder.beyond = maxBeyond - spent + 1
	if _, err := o.chain(polygons, plate); !errors.Is(err, errTangled) || !errors.Is(err, ErrBadGeometry) {
		t.Errorf("with almost as many before: %v", err)
	}
}

// TestEveryRegionHasItsLabel, however thin it is.
func TestEveryRegionHasItsLabel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(31, 32))
	const unit = 360.0 / worldSize
	var polys []orb.Polygon
	for i := range 200 {
		x, y := 10+float64(i%20)*0.01, 10+float64(i/20)*0.01
		var ring orb.Ring
		for range 3 {
			ring = append(ring, orb.Point{x + 5*unit*rnd.Float64(), y + 5*unit*rnd.Float64()})
		}
		polys = append(polys, orb.Polygon{ring})
	}
	_, store, _ := buildReader(t, lineLayer("speck", polys...))
	labels := map[string]int{}
	table, err := store.Table(t.Context(), TableBounds)
	if err != nil {
		t.Fatal(err)
	}
	var shown = map[string]bool{}
	for row, err := range table.Scan(t.Context(), cellstore.Scan{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range row.Cells {
			var v mvt.View
			switch c.Family {
			case "speck":
				shown[string(c.Qualifier)] = true
			case "speck" + familyLabel:
				if _, _, err := mvt.NextLayer(c.Value[1:], &v); err != nil {
					t.Fatal(err)
				}
				for i := range v.Len() {
					f, err := v.Feature(i)
					if err != nil {
						t.Fatal(err)
					}
					labels[string(v.StringTag(f, tagID))]++
				}
			}
		}
	}
	for id := range shown {
		if labels[id] != MaxZoom+1 {
			t.Errorf("%s has %d labels", id, labels[id])
		}
	}
	if len(shown) < 50 {
		t.Errorf("only %d regions are shown", len(shown))
	}
}

// TestLensStays: a region between two neighbours, of two arcs, is not thinned
// away while it is large enough to be seen.
func TestLensStays(t *testing.T) {
	reg := newRegistry()
	step := int32(1) << gridShift(5)
	at := func(x, y int32) point { return point{1<<24 + x*step, 1<<24 + y*step} }
	ring := func(number int32, points ...point) (lines []line) {
		var edges []edge
		for i, p := range points {
			edges = append(edges, edge{p, points[(i+1)%len(points)]})
		}
		return appendDrawn(nil, edges, reg, number)
	}
	lines := slices.Concat(
		ring(0, at(0, 0), at(16, 0), at(8, 4)),                             // below it, and
		ring(1, at(0, 0), at(8, -3), at(16, 0), at(8, 4)),                  // the lens
		ring(2, at(0, 0), at(-50, -90), at(66, -90), at(16, 0), at(8, -3)), // above it
	)
	s := newSimplifier(newArcs(merge(lines, reg), reg))
	s.thin(fineness << (2 * gridShift(5)))
	if got := byRegion(merge(s.lines(reg), reg), reg, 3); len(got[1]) == 0 {
		t.Error("the lens is gone")
	}
}
