package servertest_test

import (
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
)

// TestRegionsAtSeeks tests that a query for a point also costs one seek per type.
func TestRegionsAtSeeks(t *testing.T) {
	w := servertest.NewWorld(t)
	for _, q := range []string{"lat=47&lon=4.5", "lat=48.5&lon=6.1", "lat=10&lon=-30", "lat=0&lon=180", "lat=90&lon=0", "lat=-90&lon=-180"} {
		before := w.Seeks()
		if res := w.Get("/regions/at?" + q); res.StatusCode != 200 {
			t.Fatalf("%s: %s", q, servertest.Body(t, res))
		}
		if got := w.Seeks() - before; got != 2 {
			t.Errorf("%s: %d seeks, want 2", q, got)
		}
	}
}
