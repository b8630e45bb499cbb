package build

import (
	"cmp"
	"fmt"
	"slices"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/internal/testrace"
	"quadrille/internal/tilestest"
	"quadrille/tiles/internal/grid"
)

// closed reports the first vertex at which more edges arrive than leave, the
// world being a cylinder.
func closed(edges []grid.Edge) (grid.Point, bool) {
	flow := map[grid.Point]int{}
	on := func(p grid.Point) grid.Point { return grid.Pt(p.X&(grid.WorldSize-1), p.Y) }
	for _, e := range edges {
		flow[on(e.A)]--
		flow[on(e.B)]++
	}
	for p, n := range flow {
		if n != 0 {
			return p, false
		}
	}
	return grid.Point{}, true
}

// checkLevels checks the arrangement of every zoom: borders are closed, lines meet at vertices
// only, and no region winds around anything twice. Where the exact borders of a type do not
// overlap, those of coarser zooms do not either.
func checkLevels(t *testing.T, layers ...Layer) {
	b := &build{opts: Options{Workers: 2}}
	if _, err := b.addLayers(layers); err != nil {
		t.Fatal(err)
	}
	lv, err := b.arrange(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	layerOf := make([]int, len(b.regions))
	for i, l := range b.layers {
		for _, r := range l.regions {
			layerOf[r.number] = i
		}
	}
	overlapping := make([]int, len(b.layers))
	for z := grid.MaxZoom; z >= 0; z-- {
		lines := lv.lines[z]
		for _, l := range lines {
			if ts := grid.TileShift(z); (l.B.X-1)>>ts > l.A.X>>ts || (max(l.A.Y, l.B.Y)-1)>>ts > min(l.A.Y, l.B.Y)>>ts {
				t.Errorf("zoom %d: %v passes a tile line", z, l)
			}
			if mask := int32(1)<<grid.StepShift(z) - 1; (l.A.X|l.A.Y|l.B.X|l.B.Y)&mask != 0 {
				t.Errorf("zoom %d: %v is off the grid", z, l)
			}
		}
		if l, m, ok := meetBetween(lines, grid.TileShift(z)); ok {
			t.Errorf("zoom %d: %v and %v meet elsewhere than at vertices of both", z, l, m)
		}
		// This counts the regions of one layer on the right and on the left of a line.
		overlaps := make([]int, len(b.layers))
		for _, l := range lines {
			sides := map[[2]int]int{}
			for _, s := range lv.reg.Shares(l.ShareSet) {
				k := [2]int{layerOf[s.Region], int(s.Times)}
				if sides[k]++; sides[k] > 1 {
					overlaps[k[0]]++
				}
			}
		}
		if z == grid.MaxZoom {
			overlapping = overlaps
		}
		for i, n := range overlaps {
			if n > 0 && overlapping[i] == 0 {
				t.Errorf("zoom %d: %d lines of %s have two regions on one side", z, n, b.layers[i].typ)
			}
		}
		for i, edges := range grid.EdgesByRegion(lines, lv.reg, len(b.regions)) {
			if p, ok := closed(edges); !ok {
				t.Errorf("zoom %d: region %s is open at %v", z, b.regions[i].id, p)
			}
			own := grid.NewShareSets()
			simple := grid.Noder{ShareSets: own}
			noded, err := simple.Node(grid.AppendLines(nil, grid.CutAtSeams(edges), own, 0))
			if err != nil {
				t.Fatal(err)
			}
			var drawn []grid.CountedLine
			for _, l := range noded {
				drawn = append(drawn, grid.CountedLine{A: l.A, B: l.B, Shells: own.Shares(l.ShareSet)[0].Times})
			}
			if border, repaired, err := grid.Resolve(drawn, grid.Winding.Covered, nil); err != nil || repaired || len(border) != len(drawn) {
				t.Errorf("zoom %d: region %s is not simple", z, b.regions[i].id)
			}
		}
	}
	t.Logf("lines at zooms 0 to 13: %v; overlaps in the source: %v", lineCounts(lv), overlapping)
}

// meetBetween finds two lines with a common point that is not an end of both. Each line lies in one
// square of 2^shift units, its sides included; only lines in the same square are compared.
func meetBetween(lines []grid.Line, shift uint) (l, m grid.Line, found bool) {
	squares := map[grid.Point][]grid.Line{}
	for _, l := range lines {
		for x := (l.A.X - 1) >> shift; x <= l.B.X>>shift; x++ {
			for y := (min(l.A.Y, l.B.Y) - 1) >> shift; y <= max(l.A.Y, l.B.Y)>>shift; y++ {
				squares[grid.Pt(x, y)] = append(squares[grid.Pt(x, y)], l)
			}
		}
	}
	cross := func(a, b, p grid.Point) int64 {
		return int64(b.X-a.X)*int64(p.Y-a.Y) - int64(b.Y-a.Y)*int64(p.X-a.X)
	}
	opposite := func(p, q int64) bool { return p < 0 && q > 0 || p > 0 && q < 0 }
	passes := func(l grid.Line, p grid.Point) bool { // through p, but does not end there
		return p != l.A && p != l.B && cross(l.A, l.B, p) == 0 &&
			l.A.X <= p.X && p.X <= l.B.X && min(l.A.Y, l.B.Y) <= p.Y && p.Y <= max(l.A.Y, l.B.Y)
	}
	for _, in := range squares {
		slices.SortFunc(in, func(l, m grid.Line) int { return cmp.Compare(l.A.X, m.A.X) })
		for i, l := range in {
			for _, m := range in[i+1:] {
				if m.A.X > l.B.X {
					break
				}
				if max(m.A.Y, m.B.Y) < min(l.A.Y, l.B.Y) || min(m.A.Y, m.B.Y) > max(l.A.Y, l.B.Y) {
					continue
				}
				if passes(l, m.A) || passes(l, m.B) || passes(m, l.A) || passes(m, l.B) ||
					opposite(cross(l.A, l.B, m.A), cross(l.A, l.B, m.B)) && opposite(cross(m.A, m.B, l.A), cross(m.A, m.B, l.B)) {
					return l, m, true
				}
			}
		}
	}
	return grid.Line{}, grid.Line{}, false
}

func lineCounts(lv *levels) (counts []int) {
	for _, lines := range lv.lines {
		counts = append(counts, len(lines))
	}
	return counts
}

func TestLevels(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	if tilestest.Full {
		for _, scale := range []string{"50m", "10m"} {
			t.Run(scale, func(t *testing.T) {
				checkLevels(t,
					naturalEarth(t, "country", scale+"/ne_"+scale+"_admin_0_countries.geojson.gz", "ADM0_A3", "NAME"),
					naturalEarth(t, "state", scale+"/ne_"+scale+"_admin_1_states_provinces.geojson.gz", "adm1_code", "name"),
					naturalEarth(t, "lake", scale+"/ne_"+scale+"_lakes.geojson.gz", "name", "name"))
			})
		}
		return
	}
	checkLevels(t,
		naturalEarth(t, "country", "110m/ne_110m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME",
			"USA", "CAN", "FJI", "LSO", "ZAF", "CHE", "AUT", "ITA", "SVN", "BIH", "HRV", "SDN", "SDS"),
		naturalEarth(t, "state", "110m/ne_110m_admin_1_states_provinces.geojson.gz", "adm1_code", "name"))
}

// TestLayersShareBorders: borders of two layers that coincide in the source coincide at every zoom,
// even if one has vertices that the other lacks. A country is drawn with few vertices, its states
// with many along its border.
func TestLayersShareBorders(t *testing.T) {
	outline := []orb.Point{{5, 5}, {9.3, 5.2}, {9.1, 8.7}, {5.4, 9.2}}
	var ring orb.Ring
	for i, a := range outline {
		b := outline[(i+1)%len(outline)]
		for k := range 7 {
			f := float64(k) / 7
			ring = append(ring, orb.Point{a[0] + f*(b[0]-a[0]), a[1] + f*(b[1]-a[1])})
		}
	}
	middle := orb.Point{7, 7.1}
	var states []Feature
	cuts := []int{0, 9, 17, len(ring)}
	for i := range 3 {
		var r orb.Ring
		for k := cuts[i]; k <= cuts[i+1]; k++ {
			r = append(r, ring[k%len(ring)])
		}
		states = append(states, Feature{ID: fmt.Sprint("s", i), Geometry: orb.Polygon{append(r, middle)}})
	}
	refs := newReferences(t,
		Layer{"country", []Feature{{ID: "c", Geometry: orb.Polygon{outline}}}},
		Layer{"state", states})
	for z := range grid.MaxZoom + 1 {
		var sum []grid.Edge
		for i := range states {
			sum = append(sum, refs[1].levels[i][z]...)
		}
		sum = grid.CancelEdges(sum)
		country := grid.CancelEdges(slices.Clone(refs[0].levels[0][z]))
		if len(country) == 0 || !slices.Equal(sum, country) {
			t.Errorf("zoom %d: the states' outline has %d edges, their country's border %d, and they differ", z, len(sum), len(country))
		}
	}
}
