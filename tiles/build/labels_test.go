package build

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"
	orbmvt "github.com/paulmach/orb/encoding/mvt"

	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/internal/layout"
)

// A label stands at the source's place if that is inside the region, and else at the region's pole.
// Labels are ranked by the source's rank, then by the areas of their regions.
func TestLabelsOfTheSource(t *testing.T) {
	rank := func(f float64) *float64 { return &f }
	square := func(id string, west, side float64, l Label) Feature {
		return Feature{ID: id, Name: id, Geometry: tilestest.Square(west, 0, west+side, side), Label: l}
	}
	var repaired []string
	store := tilestest.OpenStore(t)
	meta, _, err := Run(t.Context(), store, []Layer{{Type: "land", Features: []Feature{
		square("placed", 10, 10, Label{At: &orb.Point{11, 1}, Rank: rank(5)}),
		square("outside", 30, 9, Label{At: &orb.Point{11, 1}, Rank: rank(5)}),
		square("small", 50, 2, Label{Rank: rank(-1)}),
		square("unranked", 60, 20, Label{}),
		square("beyond", 100, 5, Label{At: &orb.Point{460, 1}}),
		{ID: "antarctica", Name: "antarctica", Geometry: tilestest.Square(-60, -89, -10, -60), Label: Label{At: &orb.Point{-20, -88}}},
	}}}, Options{Timestamp: 1, OnRepair: func(typ, id, _, what string) { repaired = append(repaired, typ+" "+id+": "+what) }})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(repaired)
	const astray = ": the place of its label is not inside of it: another one was chosen"
	if d := cmp.Diff([]string{"land antarctica" + astray, "land beyond" + astray, "land outside" + astray}, repaired); d != "" {
		t.Error(d)
	}
	r, err := tiles.Open(t.Context(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	if f := faults(t, store, r); f != "" {
		t.Error(f)
	}
	var got []string
	tile, err := r.AppendLabels(t.Context(), nil, quadkey.Tile{}, []tiles.Selector{{Type: "land"}})
	if err != nil {
		t.Fatal(err)
	}
	labels, err := orbmvt.Unmarshal(tile)
	if err != nil || len(labels) != 1 {
		t.Fatalf("%d layers of labels, %v", len(labels), err)
	}
	for _, f := range labels[0].Features {
		p := f.Geometry.(orb.Point)
		lon, lat := p[0]/4096*360-180, layout.MercatorLat(p[1]/4096*(1<<25))
		got = append(got, fmt.Sprintf("%v %v at %.0f %.0f", f.Properties["rank"], f.Properties["name"], lon, lat))
	}
	want := `0 small at 51 1
1 placed at 11 1
2 outside at 34 5
3 antarctica at -35 -70
4 unranked at 70 10
5 beyond at 102 3`
	if d := cmp.Diff(want, strings.Join(got, "\n")); d != "" {
		t.Error(d)
	}
}

// Names are looked up for the first thousand labels of a layer. If no name is found, the layer
// stays as it is stored. A name may replace the stored one.
func TestLabelNames(t *testing.T) {
	store := tilestest.OpenStore(t)
	var features []Feature
	for i := range 1002 {
		west, south := float64(i%40)*2, float64(i/40)*2
		features = append(features, Feature{ID: fmt.Sprint("r", i), Name: "own", Geometry: tilestest.Square(west, south, west+0.5, south+0.5)})
	}
	meta, _, err := Run(t.Context(), store, []Layer{{Type: "land", Features: features}}, Options{Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tiles.Open(t.Context(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	land := []tiles.Selector{{Type: "land"}}
	stored, err := r.AppendLabels(t.Context(), nil, quadkey.Tile{}, land)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"name": "new <nil>", "name:de": "own new", "": "own <nil>"} {
		asked := 0
		tile, err := r.AppendLabels(t.Context(), nil, quadkey.Tile{}, land, func(typ, id string) (string, string, error) {
			asked++
			if typ != "land" || key == "" {
				return "name", "", nil
			}
			return key, "new", nil
		})
		if err != nil || asked != 1000 {
			t.Fatalf("%d labels were asked for, want 1000: %v", asked, err)
		}
		labels, err := orbmvt.Unmarshal(tile)
		if err != nil || len(labels) != 1 || len(labels[0].Features) != len(features) {
			t.Fatalf("%d layers of labels, want one with all: %v", len(labels), err)
		}
		for i, f := range labels[0].Features {
			if i >= 1000 {
				want = "own <nil>"
			}
			if got := fmt.Sprint(f.Properties["name"], " ", f.Properties["name:de"]); got != want || f.Properties["rank"] != float64(i) {
				t.Errorf("label %d with %q is named %s, want %s", i, key, got, want)
			}
		}
		if key == "" && string(tile) != string(stored) {
			t.Error("without a name the layer differs from the stored one")
		}
	}
	broken := errors.New("no reads")
	if _, err := r.AppendMVT(t.Context(), nil, quadkey.Tile{}, land,
		func(string, string) (string, string, error) { return "", "", broken }); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}
