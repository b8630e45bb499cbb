package build

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/internal/testrace"
	"quadrille/internal/tilestest"
	"quadrille/tiles/internal/grid"
)

// scaled returns n, or n divided by share in short tests.
func scaled(n, share int) int {
	if testing.Short() {
		return n / share
	}
	return n
}

// prepared builds everything that does not depend on tiles.
func prepared(t *testing.T, layers ...Layer) (*build, error) {
	t.Helper()
	b := &build{opts: Options{Workers: 2}}
	if _, err := b.addLayers(layers); err != nil {
		t.Fatal(err)
	}
	return b, b.prepare(t.Context())
}

// Very many overlapping rings of one region become one area.
func TestManyOverlappingRings(t *testing.T) {
	side := scaled(447, 10) // rings of a side: 200,000 in all
	var rings orb.MultiPolygon
	for i := range side * side {
		x, y := float64(i%side)*0.01, float64(i/side)*0.01
		rings = append(rings, tilestest.Square(x, y, x+0.015, y+0.015))
	}
	b, err := prepared(t, Layer{"land", []Feature{{ID: "a", Geometry: rings}}})
	if err != nil {
		t.Fatal(err)
	}
	if r := b.regions[0]; !r.repaired || len(r.plate) == 0 || grid.Area2(r.plate) <= 0 {
		t.Errorf("repaired %v, a border of %d edges", r.repaired, len(r.plate))
	}
	width := (float64(side-1)*0.01 + 0.015) / 360 * grid.WorldSize
	if area := float64(grid.Area2(b.regions[0].plate)) / 2; math.Abs(area-width*width) > 4*width {
		t.Errorf("the area is %.0f, want about %.0f", area, width*width)
	}
}

// Rings that all cross each other are refused. The error names their region.
func TestRingsThatAllCross(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	rnd := rand.New(rand.NewPCG(1, 1))
	var rings orb.MultiPolygon
	for range scaled(200_000, 40) {
		x, y := rnd.Float64()*0.5, rnd.Float64()*0.5
		rings = append(rings, orb.Polygon{{{x, -1}, {x + 1e-4, -1}, {y + 1e-4, 1}, {y, 1}, {x, -1}}})
	}
	_, err := prepared(t, Layer{"land", []Feature{{ID: "tangle", Name: "Tangle", Geometry: rings}}})
	if !errors.Is(err, ErrBadGeometry) || !strings.Contains(err.Error(), "tangle (Tangle)") {
		t.Errorf("error %v, want ErrBadGeometry with the region's name", err)
	}
}

// TestIdenticalPolygons tests a layer in which all regions are the same polygon.
func TestIdenticalPolygons(t *testing.T) {
	n := scaled(2000, 10)
	var polys []orb.Polygon
	for range n {
		polys = append(polys, tilestest.Square(0.001, 0.001, 0.003, 0.003))
	}
	r, _, stats := buildReader(t, lineLayer("land", polys...))
	if stats.Regions != int64(n) {
		t.Errorf("%d regions, want %d", stats.Regions, n)
	}
	found, err := r.At(context.Background(), 0.002, 0.002, "land")
	if err != nil || len(found) != n {
		t.Errorf("%d regions at a point in all of %d: %v", len(found), n, err)
	}
}

// TestLongRing builds one ring with very many vertices.
func TestLongRing(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	n := scaled(1_000_000, 50)
	ring := make(orb.Ring, 0, n+1)
	for i := range n {
		a := 2 * math.Pi * float64(i) / float64(n)
		radius := 8 + math.Sin(a*float64(n)/7)/50
		ring = append(ring, orb.Point{10 + radius*math.Cos(a), 10 + radius*math.Sin(a)})
	}
	b, err := prepared(t, Layer{"land", []Feature{{ID: "a", Geometry: orb.Polygon{ring}}}})
	if err != nil {
		t.Fatal(err)
	}
	if b.regions[0].grown || b.regions[0].vertices != n {
		t.Errorf("a region of %d vertices, grown %v", b.regions[0].vertices, b.regions[0].grown)
	}
}

// TestMemory tests that layers that need too much memory are refused, and that the error names the
// need.
func TestMemory(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	many := make(orb.Ring, 2000)
	for i := range many {
		a := 2 * math.Pi * float64(i) / float64(len(many))
		many[i] = orb.Point{math.Cos(a) / 100, math.Sin(a) / 100}
	}
	var wide orb.MultiPolygon // few vertices, but 32,000 tiles along each ring
	for i := range 20 {
		wide = append(wide, tilestest.Square(-170+float64(i), -70+float64(i), 170-float64(i), 70-float64(i)))
	}
	run := func(g orb.Geometry, memory int64) error {
		_, _, err := Run(t.Context(), tilestest.OpenStore(t), []Layer{{"land", []Feature{{ID: "a", Geometry: g}}}}, Options{Memory: memory})
		return err
	}
	for name, g := range map[string]orb.Geometry{"many vertices": orb.Polygon{many}, "many tiles": wide} {
		var short *MemoryError
		if err := run(g, MemoryFor(1000)); !errors.As(err, &short) || short.NeedBytes <= MemoryFor(1000) {
			t.Errorf("%s: error %v, want a MemoryError", name, err)
		} else if name == "many vertices" {
			if err := run(g, short.NeedBytes); err != nil {
				t.Errorf("with as much memory as the error asked for: %v", err)
			}
		}
	}
}

// TestMemoryOfCopies tests that the memory is estimated by borders: many regions of one shape share
// few lines, but each region has a border of its own.
func TestMemoryOfCopies(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	layer := Layer{Type: "land"}
	for i := range 3000 {
		layer.Features = append(layer.Features, Feature{ID: fmt.Sprint("r", i), Geometry: orb.Polygon{tilestest.Square(1, 1, 8, 8)[0]}})
	}
	_, _, err := Run(t.Context(), tilestest.OpenStore(t), []Layer{layer}, Options{Memory: baseMemory + 8<<20})
	var short *MemoryError
	if !errors.As(err, &short) || short.NeedBytes < baseMemory+3000*4*100*bytesPerShare {
		t.Errorf("error %v, want a MemoryError of more", err)
	}
}

// Every phase reports its start and its end, and never more than its total.
func TestProgress(t *testing.T) {
	var phases []string
	var last [2]int64
	opts := Options{Progress: func(phase string, done, total int64, unit string) {
		if n := len(phases); n == 0 || phases[n-1] != phase {
			if n > 0 && last[0] != last[1] {
				t.Errorf("%s ends at %d of %d", phases[n-1], last[0], last[1])
			}
			if done != 0 {
				t.Errorf("%s begins at %d", phase, done)
			}
			phases = append(phases, phase)
		}
		if last = [2]int64{done, total}; done < 0 || done > total || unit == "" {
			t.Errorf("%s: %d of %d %q", phase, done, total, unit)
		}
	}}
	layers := []Layer{lineLayer("land", tilestest.Square(0, 0, 1, 1), tilestest.Square(1, 0, 2, 1))}
	if _, _, err := Run(t.Context(), tilestest.OpenStore(t), layers, opts); err != nil {
		t.Fatal(err)
	}
	want := "[preparing borders arranging borders arranging zoom levels measuring tiles writing records placing labels building tiles]"
	if got := fmt.Sprint(phases); got != want {
		t.Errorf("phases %s, want %s", got, want)
	}
}
