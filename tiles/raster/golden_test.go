package raster

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"quadrille/internal/testrace"
	"quadrille/tiles/mvt"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// sampleMap returns a small map with every kind of feature.
func sampleMap() *plane {
	border := []mvt.XY{{X: 2100, Y: -64}, {X: 1900, Y: 700}, {X: 2400, Y: 1300}, {X: 2000, Y: 2200}, {X: 2300, Y: 3000}}
	south := mvt.XY{X: 2300, Y: 3000}
	west := append(slices.Clone(border), mvt.XY{X: 1500, Y: 3500}, mvt.XY{X: -64, Y: 3300}, mvt.XY{X: -64, Y: -64})
	east := []mvt.XY{{X: 4160, Y: -64}, {X: 4160, Y: 2500}, {X: 3200, Y: 2600}}
	for i := range border {
		east = append(east, border[len(border)-1-i])
	}
	lake := []mvt.XY{{X: 2900, Y: 900}, {X: 3500, Y: 700}, {X: 3600, Y: 1400}, {X: 3000, Y: 1500}}
	return &plane{
		shapes: []shape{
			{layer: "country", id: "aa", rings: [][]mvt.XY{west, {{X: 3300, Y: 3300}, {X: 3700, Y: 3400}, {X: 3500, Y: 3800}}}},
			{layer: "country", id: "bb", rings: [][]mvt.XY{east}},
			{layer: "country_line", id: "aa", left: "bb", lines: true, rings: [][]mvt.XY{border}},
			{layer: "country_line", id: "aa", lines: true, rings: [][]mvt.XY{
				{south, {X: 1500, Y: 3500}, {X: -64, Y: 3300}}, {{X: 3300, Y: 3300}, {X: 3700, Y: 3400}, {X: 3500, Y: 3800}, {X: 3300, Y: 3300}}}},
			{layer: "country_line", id: "bb", lines: true, rings: [][]mvt.XY{{{X: 4160, Y: 2500}, {X: 3200, Y: 2600}, south}}},
			{
				layer: "state_line",
				id:    "aa-1",
				left:  "aa-2",
				lines: true,
				rings: [][]mvt.XY{{{X: -64, Y: 1500}, {X: 900, Y: 1700}, {X: 2100, Y: 1900}}},
			},
			{layer: "lake", id: "l", rings: [][]mvt.XY{lake}},
		},
		points: []spot{
			{"country_label", "aa", "Westland", 0, mvt.XY{X: 1000, Y: 800}},
			{"country_label", "bb", "United Kingdom of the East", 1, mvt.XY{X: 3300, Y: 300}},
			{"country_label", "cc", "Over the edge", 2, mvt.XY{X: -200, Y: 2700}},
			{"country_label", "dd", "Touches", 3, mvt.XY{X: 1200, Y: 900}},
			{"state_label", "aa-2", "Süd-Štát", 0, mvt.XY{X: 1000, Y: 2300}},
			{"places", "1", "Łódź", 0, mvt.XY{X: 3000, Y: 2200}},
			{"places", "2", "Hamlet", 1, mvt.XY{X: 1300, Y: 3100}},
			{"places", "3", "Near", 2, mvt.XY{X: 1500, Y: 3050}},
		},
	}
}

// airfields returns a map with airports and places. Names of places have priority, and airports are
// ordered by rank.
func airfields() *plane {
	m := sampleMap()
	m.points = []spot{
		{"country_label", "aa", "Westland", 0, mvt.XY{X: 1000, Y: 800}},
		{"places", "1", "Łódź", 0, mvt.XY{X: 3000, Y: 2200}},
		{"places", "2", "Hamlet", 1, mvt.XY{X: 1300, Y: 3100}},
		{"airports", "1", "Westland International Airport", 0, mvt.XY{X: 1100, Y: 1900}},
		{"airports", "2", "Hamlet Airport", 19, mvt.XY{X: 1400, Y: 3000}},
		{"airports", "3", "Eastland Airport", 119, mvt.XY{X: 3000, Y: 3400}},
		{"airports", "4", "Strip", 899, mvt.XY{X: 2500, Y: 1000}},
		{"airports", "5", "Over the edge", 5, mvt.XY{X: 4200, Y: 1700}},
		{"airports", "6", "Over the edge", 5, mvt.XY{X: 4000, Y: 700}},
	}
	return m
}

// TestGolden compares with pictures that a person has checked.
func TestGolden(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine draws")
	r := newRenderer(t)
	for _, tt := range []struct {
		name string
		tile *Tile
	}{
		{"sample", sampleMap().window(0, 0, 5, 1)},
		{"sample@2x", sampleMap().window(0, 0, 5, 2)},
		{"low", sampleMap().window(0, 0, 0, 1)},
		{"airports", airfields().window(0, 0, 6, 1)},
		{"airports@2x", airfields().window(0, 0, 3, 2)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.tile.Land, tt.tile.FillSea = "country", true
			compareGolden(t, r, tt.name, tt.tile)
		})
	}
}

func compareGolden(t *testing.T, r *Renderer, name string, tile *Tile) {
	t.Helper()
	path := filepath.Join("testdata", name+".png")
	file, err := r.AppendPNG(nil, tile)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v: run go test with -update to write it, and look at it", err)
	}
	a, b := decode(t, file), decode(t, want)
	if a.Rect != b.Rect {
		t.Fatalf("%v, want %v", a.Rect, b.Rect)
	}
	// Processors differ in the last bit of sums of products.
	if n := differ(a, b, oneStep); n > 0 {
		t.Errorf("%d pixels differ from %s: look at both, then run with -update", n, path)
	}
}

// TestRealWorld draws real tiles across seams, and compares two of them with golden pictures.
func TestRealWorld(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine draws")
	w := readWorld(t, "country", "110m/ne_110m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME")
	r := newRenderer(t)
	compareGolden(t, r, "world", makeTile(0, 0, 0, 1, w))
	compareGolden(t, r, "alps", makeTile(5, 16, 11, 1, w))
	// The world continues across ±180°: the columns at both edges match.
	img := drawn(t, r, makeTile(0, 0, 0, 1, w))
	for y := 253; y < 256; y++ {
		if img.RGBAAt(0, y).A != 255 || img.RGBAAt(255, y).A != 255 {
			t.Errorf("Antarctica is open at row %d", y)
		}
	}
}
