//go:build !race

package stations

import "testing"

// The race detector makes pools forget, so this says nothing under it.
func TestQueriesAllocateLittle(t *testing.T) {
	f := build(t, scatter(2, 3000, shapes["clustered"]))
	var dst []Hit
	for name, tc := range map[string]struct {
		most float64
		run  func() error
	}{
		"nearest": {0, func() error {
			_, err := f.Nearest(t.Context(), 10, 10)
			return err
		}},
		"nearby": {0, func() (err error) {
			dst, err = f.Nearby(t.Context(), NearbyQuery{Lat: 10, Lon: 10}, dst)
			return err
		}},
	} {
		run := func() {
			if err := tc.run(); err != nil {
				t.Fatal(err)
			}
		}
		run()
		if n := testing.AllocsPerRun(100, run); n > tc.most {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
