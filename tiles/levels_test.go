package tiles

import (
	"fmt"
	"slices"
	"testing"

	"github.com/paulmach/orb"
)

// closed reports the first vertex at which more edges arrive than leave, the
// world being a cylinder.
func closed(edges []edge) (point, bool) {
	flow := map[point]int{}
	on := func(p point) point { return point{p.x & (worldSize - 1), p.y} }
	for _, e := range edges {
		flow[on(e.a)]--
		flow[on(e.b)]++
	}
	for p, n := range flow {
		if n != 0 {
			return p, false
		}
	}
	return point{}, true
}

// checkLevels judges an arrangement at every zoom: borders are closed, lines
// meet at vertices only, no region winds around anything twice, and where the
// exact borders of a type do not overlap those of coarser zooms do not either.
func checkLevels(t *testing.T, layers ...Layer) {
	b := &build{opts: BuildOptions{Workers: 2}}
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
	for z := MaxZoom; z >= 0; z-- {
		lines := lv.lines[z]
		n := noder{reg: lv.reg, grid: 0, crossings: true}
		crossings, err := n.appendProperCrossings(nil, lines)
		if err != nil || len(crossings) > 0 {
			t.Errorf("zoom %d: %d lines cross, the first at %v; %v", z, len(crossings), crossings[:min(1, len(crossings))], err)
		}
		var vertices []point
		for _, l := range lines {
			vertices = append(vertices, l.a, l.b)
			if ts := tileShift(z); (l.b.x-1)>>ts > l.a.x>>ts || (max(l.a.y, l.b.y)-1)>>ts > min(l.a.y, l.b.y)>>ts {
				t.Errorf("zoom %d: %v passes a tile line", z, l)
			}
			if mask := int32(1)<<gridShift(z) - 1; (l.a.x|l.a.y|l.b.x|l.b.y)&mask != 0 {
				t.Errorf("zoom %d: %v is off the grid", z, l)
			}
		}
		cells := newCellIndex(vertices, cellBits)
		for _, l := range lines {
			cells.near(l, 0, func(p point) {
				if p != l.a && p != l.b && side(l.edge(), p) == 0 && inBox(p, lineBox(l)) {
					t.Errorf("zoom %d: vertex %v lies on line %v", z, p, l)
				}
			})
		}
		// On the right and on the left of a line, the regions of one layer.
		overlaps := make([]int, len(b.layers))
		for _, l := range lines {
			sides := map[[2]int]int{}
			for _, s := range lv.reg.shares(l.who) {
				k := [2]int{layerOf[s.region], int(s.n)}
				if sides[k]++; sides[k] > 1 {
					overlaps[k[0]]++
				}
			}
		}
		if z == MaxZoom {
			overlapping = overlaps
		}
		for i, n := range overlaps {
			if n > 0 && overlapping[i] == 0 {
				t.Errorf("zoom %d: %d lines of %s have two regions on one side", z, n, b.layers[i].typ)
			}
		}
		for i, edges := range byRegion(lines, lv.reg, len(b.regions)) {
			if p, ok := closed(edges); !ok {
				t.Errorf("zoom %d: region %s is open at %v", z, b.regions[i].id, p)
			}
			own := newRegistry()
			simple := noder{reg: own}
			noded, err := simple.node(appendDrawn(nil, cutAtSeams(edges), own, 0))
			if err != nil {
				t.Fatal(err)
			}
			var drawn []drawn
			for _, l := range noded {
				drawn = append(drawn, plainly(l.edge(), own.shares(l.who)[0].n))
			}
			if border, repaired, err := resolve(drawn, winding.covered, nil); err != nil || repaired || len(border) != len(drawn) {
				t.Errorf("zoom %d: region %s is not simple", z, b.regions[i].id)
			}
		}
	}
	t.Logf("lines at zooms 0 to 13: %v; overlaps in the source: %v", lineCounts(lv), overlapping)
}

func plainly(e edge, n int32) drawn { return drawn{a: e.a, b: e.b, shells: n} }

func lineBox(l line) box {
	return box{l.a.x, min(l.a.y, l.b.y), l.b.x, max(l.a.y, l.b.y)}
}

func lineCounts(lv *levels) (counts []int) {
	for _, lines := range lv.lines {
		counts = append(counts, len(lines))
	}
	return counts
}

func TestLevels(t *testing.T) {
	if full {
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

// TestLayersShareBorders: where the borders of two layers coincide in the
// source they coincide at every zoom, though one has vertices the other lacks.
// A country is drawn with few vertices, its states with many along its border.
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
	for z := range MaxZoom + 1 {
		var sum []edge
		for i := range states {
			sum = append(sum, refs[1].levels[i][z]...)
		}
		sum = cancel(sum)
		country := cancel(slices.Clone(refs[0].levels[0][z]))
		if len(country) == 0 || !slices.Equal(sum, country) {
			t.Errorf("zoom %d: the states' outline has %d edges, their country's border %d, and they differ", z, len(sum), len(country))
		}
	}
}
