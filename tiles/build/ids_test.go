package build

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	orbmvt "github.com/paulmach/orb/encoding/mvt"

	"quadrille/feature"
	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/internal/layout"
)

// TestIDsAsPublished tests that lists and tiles have the ids as published, in the order of their
// folds, and that lookups accept any spelling of an id.
func TestIDsAsPublished(t *testing.T) {
	ids := []string{"b", "E06000001", "DE21", "KEN.1.1_1", "KEN.1.10_1", "a_1", "Zz"}
	var features []Feature
	for i, id := range ids {
		features = append(features, Feature{ID: id, Name: "N " + id, Geometry: tilestest.Square(float64(i), 0, float64(i+1), 1)})
	}
	store := tilestest.OpenStore(t)
	meta, _, err := Run(t.Context(), store, []Layer{{Type: "ward", Features: features}}, Options{Timestamp: 1})
	if err != nil {
		t.Fatal(err)
	}
	r, err := tiles.Open(t.Context(), store, meta)
	if err != nil {
		t.Fatal(err)
	}
	if f := faults(t, store, r); f != "" {
		t.Error(f)
	}
	sorted := slices.SortedFunc(slices.Values(ids), feature.CompareRegionIDs)
	ward, err := r.Layer("ward")
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range []feature.Query{{}, {In: feature.Box(quadkey.World)}, {In: feature.Box{West: 0.5, South: 0.5, East: 6.5, North: 0.6}}} {
		var listed []string
		for i := 0; ; i++ {
			q.Limit = 2
			before := len(listed)
			for f, err := range ward.Features(t.Context(), &q) {
				if err != nil {
					t.Fatal(err)
				}
				listed, q.After = append(listed, f.ID), slices.Clone(f.Mark)
			}
			if len(listed) == before {
				break
			}
		}
		if !slices.Equal(listed, sorted) {
			t.Errorf("%v lists %q, want %q", q.In, listed, sorted)
		}
	}
	tile := quadkey.Tile{Z: 5, X: 16, Y: 15}
	for i, id := range ids {
		at, err := r.At(t.Context(), 0.5, float64(i)+0.5)
		if err != nil || len(at) != 1 || at[0].ID != id {
			t.Errorf("%s: at its middle there is %v, %v", id, at, err)
		}
		for _, asked := range []string{id, strings.ToLower(id), strings.ToUpper(id), feature.FoldedRegionID(id)} {
			record, err := r.Region(t.Context(), "ward", asked, true)
			if err != nil || tiles.RecordID(record) != id || !strings.Contains(string(record), `"coordinates"`) {
				t.Errorf("%s: %.80s, %v", asked, record, err)
			}
			var f feature.Feature
			if err := ward.Get(t.Context(), asked, time.Time{}, &f); err != nil || f.ID != id {
				t.Errorf("%s: %+v, %v", asked, f, err)
			}
			one := []tiles.Selector{{Type: "ward", ID: asked}}
			vector, err := r.AppendMVT(t.Context(), nil, tile, one)
			if err != nil {
				t.Fatal(err)
			}
			layers, err := orbmvt.Unmarshal(vector)
			if err != nil || len(layers) != 3 || len(layers[0].Features) != 1 || len(layers[2].Features) != 1 {
				t.Fatalf("%s: %d layers, %v", asked, len(layers), err)
			}
			polygon, label := layers[0].Features[0], layers[2].Features[0]
			if polygon.Properties["id"] != id || label.Properties["region"] != id || label.Properties["id"] != nil ||
				label.Properties["name"] != "N "+id {
				t.Errorf("%s: polygon %v, label %v", asked, polygon.Properties, label.Properties)
			}
			if polygon.ID == label.ID || polygon.ID != float64(layout.FeatureID("ward", asked)) {
				t.Errorf("%s: the polygon has the number %v, its label %v", asked, polygon.ID, label.ID)
			}
			text, err := r.AppendGeoJSON(t.Context(), nil, tile, one)
			if err != nil || strings.Count(string(text), `"Feature"`) != 1 || !strings.Contains(string(text), `"id":"ward:`+id+`"`) {
				t.Errorf("%s: %.100s, %v", asked, text, err)
			}
			cut, _, err := r.AppendCutout(t.Context(), nil, "ward", asked, quadkey.World)
			if err != nil || !strings.Contains(string(cut), `"id":"ward:`+id+`"`) {
				t.Errorf("%s: %.100s, %v", asked, cut, err)
			}
			cells := 0
			err = r.QueryArea("ward", asked).Cover(t.Context(), 0, func(*feature.AreaPart) error { cells++; return nil })
			if err != nil || cells == 0 {
				t.Errorf("%s: %d parts, %v", asked, cells, err)
			}
		}
	}
	for _, asked := range []string{"E0600000", "KEN.1.1", "~b", "", "ken-11-1"} {
		if _, err := r.Region(t.Context(), "ward", asked, false); !errors.Is(err, tiles.ErrNotFound) {
			t.Errorf("%q: %v", asked, err)
		}
	}
}

// Ids with the same fold are refused in one layer.
func TestIDsAlike(t *testing.T) {
	for _, ids := range [][2]string{{"DE21", "de21"}, {"KEN.1.1_1", "KEN-1-1-1"}, {"a", "a-"}} {
		_, _, err := Run(t.Context(), tilestest.OpenStore(t), []Layer{{Type: "ward", Features: []Feature{
			{ID: ids[0], Geometry: tilestest.Square(0, 0, 1, 1)}, {ID: ids[1], Geometry: tilestest.Square(1, 0, 2, 1)},
		}}}, Options{Timestamp: 1})
		if !errors.Is(err, ErrBadLayer) || !strings.Contains(err.Error(), ids[0]) || !strings.Contains(err.Error(), ids[1]) {
			t.Errorf("%q: %v", ids, err)
		}
	}
}
