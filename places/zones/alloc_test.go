//go:build !race

package zones

import (
	"testing"
	"time"

	"quadrille/internal/must"
)

// TestOffsetAllocatesNothing tests that Reader.Offset allocates nothing. The race detector empties
// pools, so the test proves nothing under it.
func TestOffsetAllocatesNothing(t *testing.T) {
	r := newReader(t, some)
	at := time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC)
	run := func() {
		must.Get(r.Offset(t.Context(), "Europe/Zurich", at)).In(t)
	}
	run()
	if n := testing.AllocsPerRun(200, run); n > 0 {
		t.Errorf("%v allocations per offset", n)
	}
}
