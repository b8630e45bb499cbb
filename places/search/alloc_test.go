//go:build !race

package search

import "testing"

// TestCompleteAllocatesNothing tests that Reader.Complete allocates nothing. The race detector
// empties pools, so the test proves nothing under it.
func TestCompleteAllocatesNothing(t *testing.T) {
	var entries []Entry
	for i := range 20 {
		entries = append(entries, Entry{ID: uint32(i + 1), Name: "Bad 北京"})
	}
	r := build(t, entries)
	dst := make([]byte, 0, 4096)
	for _, text := range []string{"Bad", "bad 北京", "nothing"} {
		n := testing.AllocsPerRun(100, func() {
			if _, found, err := r.Complete(t.Context(), text, dst); err != nil || found == (text == "nothing") {
				t.Fatal(found, err)
			}
		})
		if n != 0 {
			t.Errorf("%q: %v allocations", text, n)
		}
	}
}
