package verify

import (
	"fmt"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/feature"
	"quadrille/internal/testrace"
	"quadrille/internal/testseed"
	"quadrille/internal/tilestest"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/internal/grid"
)

// Any region too small or too narrow for the grid is either drawn or reported, and the output has
// no faults.
func TestVerifySmallRegions(t *testing.T) {
	testrace.SkipUnderRace(t, "it builds much data; smaller builds run under the detector")
	const unit = 360.0 / grid.WorldSize
	random := testseed.Rand(t)
	layer := build.Layer{Type: "small"}
	add := func(id string, r orb.Ring) {
		layer.Features = append(layer.Features, build.Feature{ID: id, Name: id, Geometry: orb.Polygon{append(r, r[0])}})
	}
	add("null-island", orb.Ring{{0, 0}, {9e-6, 0}, {9e-6, 9e-6}, {0, 9e-6}})
	add("tiny", orb.Ring{{7.5, 46.5}, {7.500001, 46.5}, {7.500001, 46.500001}, {7.5, 46.500001}})
	add("sliver", orb.Ring{{7.1, 46.1}, {7.12, 46.130001}, {7.12, 46.13}})
	add("at-the-pole", orb.Ring{{10, 89.9999995}, {10.0000001, 90}, {10, 90}})
	add("at-180", orb.Ring{{179.9999999, 5}, {180, 5}, {180, 5.0000001}})
	for i := range 150 {
		lon, lat := random.Float64()*359-179.5, random.Float64()*170-85
		w, h := unit*3*random.Float64()*random.Float64(), unit*3*random.Float64()*random.Float64()
		switch i % 3 {
		case 0:
			add(fmt.Sprint("box-", i), orb.Ring{{lon, lat}, {lon + w, lat}, {lon + w, lat + h}, {lon, lat + h}})
		case 1:
			add(fmt.Sprint("triangle-", i), orb.Ring{{lon, lat}, {lon + w, lat}, {lon, lat + h}})
		default:
			long := 200 * unit * random.Float64()
			add(fmt.Sprint("sliver-", i), orb.Ring{{lon, lat}, {lon + long, lat + long/3}, {lon + long, lat + long/3 + h/10}})
		}
	}
	n := len(layer.Features)
	told := map[string]string{}
	store := tilestest.OpenStore(t)
	meta, _, err := build.Run(t.Context(), store, []build.Layer{layer}, build.Options{
		Timestamp: 1,
		OnRepair:  func(_, id, _, what string) { told[id] = what },
	})
	if err != nil {
		t.Fatal(err)
	}
	if report := verify(t, store, meta); len(report.Findings) > 0 {
		t.Errorf("%s", describeFindings(report))
	}
	for _, id := range []string{"null-island", "tiny", "sliver", "at-the-pole", "at-180"} {
		if id != "null-island" && !strings.Contains(told[id], "a square of four metres") {
			t.Errorf("%s: %q", id, told[id])
		}
	}
	r, err := tiles.Open(t.Context(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	l, err := r.Layer("small")
	if err != nil {
		t.Fatal(err)
	}
	for f, err := range l.Features(t.Context(), &feature.Query{Limit: 1000}) {
		if err != nil {
			t.Fatal(err)
		}
		n--
		box := f.Bounds
		lon := box.West + 1.5*unit
		if lon > 180 {
			lon -= 360
		}
		at, err := r.At(t.Context(), (box.South+box.North)/2, lon)
		if !strings.Contains(told[f.ID], "a square of four metres") || f.ID == "at-the-pole" {
			continue
		}
		if err != nil || len(at) != 1 || at[0].ID != f.ID {
			t.Errorf("%s (%s): %v %v", f.ID, told[f.ID], at, err)
		}
	}
	if n != 0 {
		t.Errorf("%d regions are missing", n)
	}
}
