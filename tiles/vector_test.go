package tiles_test

import (
	"testing"

	"quadrille/tiles/mvt"
)

// vectorIDs lists the features of a vector tile as layer:id, and lines as
// layer:left|right, and checks that no layer comes twice.
func vectorIDs(t testing.TB, tile []byte) []string {
	t.Helper()
	var out []string
	seen, numbers := map[string]bool{}, map[uint64]bool{}
	var v mvt.View
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
