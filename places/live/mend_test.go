package live

import (
	"testing"

	"quadrille/feature"
)

// TestReadPauses tests what Collection.read does when the table has been closed: it first pauses,
// so that other work gets the processor, and waits for the new state. Then it calls fn again with
// it.
func TestReadPauses(t *testing.T) {
	c := &Collection{quit: make(chan struct{})}
	c.show(&stored{}, nil)
	c.now.Load().leaving.Store(true)
	calls, paused := 0, 0
	ctx := feature.WithPause(t.Context(), func() {
		paused++
		c.show(&stored{}, nil) // as if the table has been opened again
	})
	err := c.read(ctx, func(*current) error {
		if calls++; calls == 1 {
			return ErrClosed
		}
		return nil
	})
	if err != nil || calls != 2 || paused != 1 {
		t.Errorf("%v after %d calls and %d pauses", err, calls, paused)
	}
}
