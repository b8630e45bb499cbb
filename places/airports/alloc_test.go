//go:build !race

package airports

import "testing"

// The race detector makes pools forget, so this says nothing under it.
func TestLookupAllocatesNothing(t *testing.T) {
	f, _ := newFinder(t, few)
	var r Record
	run := func() {
		if err := f.Lookup(t.Context(), "ZZH", &r); err != nil {
			t.Fatal(err)
		}
	}
	run()
	if n := testing.AllocsPerRun(200, run); n > 0 {
		t.Errorf("%v allocations per lookup", n)
	}
}
