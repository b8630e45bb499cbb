package live

import (
	"testing"

	"quadrille/feature"
)

// A reader that waits for a table first gives its processor to other work, and continues with the
// new state.
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
