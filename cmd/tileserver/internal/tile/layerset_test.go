package tile

import (
	"fmt"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// TestListsMayBeAskedFor tests that the canonical list of a layerSet is a list that requests may
// have, however many layers there are.
func TestListsMayBeAskedFor(t *testing.T) {
	set := func(layers int, points ...string) *layerSet {
		of := &layerSet{}
		for i := range layers {
			of.regions = append(of.regions, fmt.Sprint("layer", i))
		}
		return of.with(points)
	}
	few, most, many := set(2, "places", "points:a"), set(endpoint.MaxListEntries),
		set(endpoint.MaxListEntries, "places", "points:a", "points:b")
	if few.canonical != "layer0,layer1,places,points:a" || strings.Count(most.canonical, ",") != endpoint.MaxListEntries-1 ||
		many.canonical != "all,points:a,points:b" {
		t.Errorf("%s; %s; %s", few.canonical, most.canonical, many.canonical)
	}
	if other := set(endpoint.MaxListEntries+1, "points:a", "points:b"); other.canonical != many.canonical || other.hash == many.hash {
		t.Errorf("%s: other layers have one hash", other.canonical)
	}
	long := &layerSet{regions: []string{strings.Repeat("a", endpoint.MaxListBytes), "b"}}
	if got := long.with(nil).canonical; got != "all" {
		t.Error(got)
	}
}
