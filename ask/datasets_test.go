package ask_test

import (
	"slices"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/feature"
)

// TestDatasets tests that names are unique, and the data sets that a data set uses come before it.
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

// TestSingleNames: the layers of the program and the layers of its caller are in one list.
// Endpoints have texts for layers with known properties.
func TestSingleNames(t *testing.T) {
	var own ask.Sets
	sets := ask.Sets{ExtraLayers: []ask.LayerKind{ask.SingleLayer("toys", func(*ask.Sets) *dataset.Live[feature.Layer] { return nil })}}
	all, open, tiled := sets.SingleLayerNames(), sets.OpenLayerNames(), sets.TiledLayerNames()
	if !slices.Equal(all, append(own.SingleLayerNames(), "toys")) || !slices.Equal(open, append(own.OpenLayerNames(), "toys")) ||
		!slices.Equal(tiled, own.TiledLayerNames()) {
		t.Errorf("with toys: layers %v, open %v, with tiles %v", all, open, tiled)
	}
	for _, name := range []string{ask.PlacesLayer, ask.AirportsLayer, ask.StationsLayer} {
		if !slices.Contains(all, name) || slices.Contains(open, name) || slices.Contains(tiled, name) != (name != ask.StationsLayer) {
			t.Errorf("%s: layers %v, open %v, with tiles %v", name, all, open, tiled)
		}
	}
	if !ask.IsPoints("points-toys") || ask.IsPoints("places") {
		t.Error("points are not told from places")
	}
}
