package ask_test

import (
	"slices"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/feature"
)

// TestDatasets: names are unique, and what a data set uses comes before it.
func TestDatasets(t *testing.T) {
	var before []string
	for _, d := range ask.Datasets {
		if slices.Contains(before, d.Name) {
			t.Errorf("%s is listed twice", d.Name)
		}
		for _, name := range d.Uses {
			if !slices.Contains(before, name) {
				t.Errorf("%s uses %s, which does not come before it", d.Name, name)
			}
		}
		if found, ok := ask.FindDataset(d.Name); !ok || found.Name != d.Name || d.Schema == 0 {
			t.Errorf("Find(%s) = %v, %v", d.Name, found, ok)
		}
		before = append(before, d.Name)
	}
	if _, ok := ask.FindDataset("world"); ok {
		t.Error("world is no data set")
	}
	if got := ask.DatasetNames(ask.Datasets); !slices.Equal(got, before) {
		t.Errorf("Names = %v, want %v", got, before)
	}
}

// TestSingleNames: those of the program and of its caller are in one list, and faces have words for what is known beforehand.
func TestSingleNames(t *testing.T) {
	sets := ask.Sets{More: []ask.LayerKind{ask.SingleLayer("toys", func(*ask.Sets) *dataset.Live[feature.Layer] { return nil })}}
	if all, open, tiled := sets.SingleNames(), sets.OpenNames(), sets.TiledNames(); !slices.Equal(all, []string{"places", "airports", "stations", "toys"}) ||
		!slices.Equal(open, []string{"toys"}) || !slices.Equal(tiled, []string{"places", "airports"}) {
		t.Errorf("layers %v, open %v, with tiles %v", all, open, tiled)
	}
	if !ask.IsPoints("points-toys") || ask.IsPoints("places") {
		t.Error("points are not told from places")
	}
}
