package tiles_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"quadrille/internal/tilestest"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/internal/grid"
	"quadrille/tiles/mvt"
)

// A region within another is drawn above it, in any order of their ids: in a mixed tile, and where
// both cover the whole tile.
func TestSmallRegionsAreDrawnLast(t *testing.T) {
	r, _, _ := buildReader(t, build.Layer{Type: "land", Features: []build.Feature{
		{ID: "a-city", Geometry: tilestest.Square(7.44, 46.44, 7.56, 46.56)},
		{ID: "b-town", Geometry: tilestest.Square(7.4, 46.4, 7.6, 46.6)},
		{ID: "c-castle", Geometry: tilestest.Square(7.49, 46.49, 7.51, 46.51)},
	}})
	for z := uint8(6); z <= grid.MaxZoom; z++ {
		tile, err := quadkey.TileAt(7.5, 46.5, z)
		if err != nil {
			t.Fatal(err)
		}
		b, err := r.AppendMVT(t.Context(), nil, tile, []tiles.Selector{{Type: "land"}})
		if err != nil {
			t.Fatal(err)
		}
		drawn := slices.DeleteFunc(vectorIDs(t, b), func(id string) bool { return !strings.HasPrefix(id, "land:") })
		if got := fmt.Sprint(drawn); got != "[land:b-town land:a-city land:c-castle]" {
			t.Errorf("zoom %d: %s", z, got)
		}
	}
}

// vectorIDs lists the features of a vector tile as layer:id, and lines as
// layer:left|right, and checks that no layer comes twice.
func vectorIDs(t testing.TB, tile []byte) []string {
	t.Helper()
	var out []string
	seen, numbers := map[string]bool{}, map[uint64]bool{}
	var v mvt.LayerView
	for {
		rest, ok, err := mvt.NextLayer(tile, &v)
		if err != nil {
			t.Fatal(err)
		}
		if !ok {
			return out
		}
		tile = rest
		if seen[string(v.Name)] {
			t.Fatalf("layer %s twice", v.Name)
		}
		seen[string(v.Name)] = true
		for i := range v.Len() {
			f, err := v.Feature(i)
			if err != nil {
				t.Fatal(err)
			}
			if f.ID != 0 && numbers[f.ID] {
				t.Fatalf("two features have the number %d", f.ID)
			}
			numbers[f.ID] = true
			name := string(v.StringTag(f, "id"))
			if f.Type == mvt.Point {
				name = string(v.StringTag(f, "region"))
			}
			if f.Type == mvt.LineString {
				name = string(v.StringTag(f, "left")) + "|" + string(v.StringTag(f, "right"))
			}
			out = append(out, string(v.Name)+":"+name)
		}
	}
}
