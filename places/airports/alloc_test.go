//go:build !race

package airports

import (
	"testing"

	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/places"
)

// TestLookupAllocatesNothing tests that Finder.Lookup allocates nothing. The race detector empties
// pools, so the test proves nothing under it.
func TestLookupAllocatesNothing(t *testing.T) {
	f, _ := newFinder(t, few)
	var r Record
	run := func() {
		must.Do(t, f.Lookup(t.Context(), "ZZH", &r))
	}
	run()
	if n := testing.AllocsPerRun(200, run); n > 0 {
		t.Errorf("%v allocations per lookup", n)
	}
}

// A filter that is made once is not analysed again for each query.
func TestNearestAllocatesLittle(t *testing.T) {
	f, _ := newFinder(t, scatter(4, 500))
	filter, err := Filter{Types: []string{Large, Medium}, Scheduled: true}.FeatureFilter()
	if err != nil {
		t.Fatal(err)
	}
	q := feature.Query{Near: feature.NearTo(10, 10, 0), Filter: filter, Limit: 1}
	var hits []places.Hit
	run := func() {
		if hits, err = places.CollectHits(hits, f.Features(t.Context(), &q)); err != nil || len(hits) != 1 {
			t.Fatal(hits, err)
		}
	}
	run()
	if n := testing.AllocsPerRun(200, run); n > 14 {
		t.Errorf("%v allocations per query", n)
	}
}
