//go:build !race

package stations

import (
	"testing"

	"quadrille/feature"
	"quadrille/internal/must"
)

// TestQueriesAllocateLittle bounds the allocations of Nearest and Features. The race detector
// empties pools, so the test proves nothing under it.
func TestQueriesAllocateLittle(t *testing.T) {
	f := build(t, scatter(2, 3000, shapes["clustered"]))
	q := feature.Query{Near: feature.NearTo(10, 10, 0), Limit: 10}
	for name, tc := range map[string]struct {
		most float64
		run  func() error
	}{
		"nearest": {0, func() error {
			_, err := f.Nearest(t.Context(), 10, 10)
			return err
		}},
		"features": {float64(q.Limit) + 4, func() (err error) { // their ids, and the iterator
			for _, err = range f.Features(t.Context(), &q) {
			}
			return err
		}},
	} {
		run := func() {
			must.Do(t, tc.run())
		}
		run()
		if n := testing.AllocsPerRun(100, run); n > tc.most {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
