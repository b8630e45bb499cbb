package build

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/cellstore"
	"quadrille/internal/testrace"
	"quadrille/internal/tilestest"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/internal/layout"
	"quadrille/tiles/mvt"
)

// lineLayer returns a layer with one region per polygon.
func lineLayer(typ string, polys ...orb.Polygon) Layer {
	l := Layer{Type: typ}
	for i, p := range polys {
		l.Features = append(l.Features, Feature{ID: fmt.Sprint("r", i), Geometry: p})
	}
	return l
}

// TestHostileRings tests that a few bytes of input cause no more than reasonable work, or are
// refused.
func TestHostileRings(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
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
		if _, err := newRegions(l, func(_, _, _, _ string) {}); !errors.Is(err, ErrBadGeometry) {
			t.Errorf("a ring that winds 63 times, %v: %v", rule, err)
		}
	}

	// Two sets of long stripes at a tiny angle have many cells in common and cross in few places.
	stripe := func(lat, tilt float64) orb.Polygon {
		return orb.Polygon{{{-170, lat}, {5, lat + tilt}, {5, lat + 0.01 + tilt}, {-170, lat + 0.01}}}
	}
	var straight, tilted []orb.Polygon
	for i := range 20 {
		straight = append(straight, stripe(float64(i)*0.01, 0))
		tilted = append(tilted, stripe(float64(i)*0.01-1e-5, 2e-5))
	}
	b := &build{opts: Options{Workers: 2}}
	if _, err := b.addLayers([]Layer{lineLayer("a", straight...), lineLayer("b", tilted...)}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.exactLines(t.Context()); err != nil {
		t.Errorf("tilted stripes: %v", err)
	}

	// Many overlapping regions must give only few different sets of shares.
	var copies []orb.Polygon
	for range 100 {
		copies = append(copies, tilestest.Square(1, 1, 2, 2))
	}
	b = &build{opts: Options{Workers: 2}}
	if _, err := b.addLayers([]Layer{lineLayer("year", copies...)}); err != nil {
		t.Fatal(err)
	}
	_, reg, err := b.exactLines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if sets := reg.Number([]grid.Share{{Region: 1 << 20, Times: 1}}); sets > 1000 { // a new one has the next number
		t.Errorf("a hundred copies: %d sets", sets)
	}
}

// TestTangle tests that a ring with too many self-crossings is refused as bad geometry.
func TestTangle(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	rnd := rand.New(rand.NewPCG(79, 80))
	var r ring
	for range 4000 {
		r = append(r, orb.Point{10 * rnd.Float64(), 10 * rnd.Float64()})
	}
	if _, err := outline(grid.NewOutliner(), [][]ring{{r}}, layout.PlateCarree); !errors.Is(err, ErrBadGeometry) {
		t.Error(err)
	}
}

// TestEveryRegionHasItsLabel builds very thin regions, too.
func TestEveryRegionHasItsLabel(t *testing.T) {
	rnd := rand.New(rand.NewPCG(31, 32))
	const unit = 360.0 / grid.WorldSize
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
	table, err := store.Table(t.Context(), layout.TableBounds)
	if err != nil {
		t.Fatal(err)
	}
	var shown = map[string]bool{}
	for row, err := range table.Scan(t.Context(), cellstore.Scan{}) {
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range row.Cells {
			var v mvt.LayerView
			switch c.Family {
			case "speck":
				shown[string(c.Qualifier)] = true
			case "speck" + layout.FamilyLabel:
				if _, _, err := mvt.NextLayer(c.Value[1:], &v); err != nil {
					t.Fatal(err)
				}
				for i := range v.Len() {
					f, err := v.Feature(i)
					if err != nil {
						t.Fatal(err)
					}
					labels[string(v.StringTag(f, layout.TagRegion))]++
				}
			}
		}
	}
	for id := range shown {
		if labels[id] != grid.MaxZoom+1 {
			t.Errorf("%s has %d labels", id, labels[id])
		}
	}
	if len(shown) < 50 {
		t.Errorf("only %d regions are shown", len(shown))
	}
}
