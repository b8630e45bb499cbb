package ask_test

import (
	"quadrille/ask"
	"slices"
	"testing"
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
