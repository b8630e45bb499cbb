package web

import (
	"errors"
	"testing"
)

// Streams share their memory, of which a part is for those that have begun. One alone may take more, up to the default, and
// then none is beside it.
func TestStreamsShareMemory(t *testing.T) {
	k := New(&Config{StreamMemory: 100})
	a, b, c := k.HoldMemory(), k.HoldMemory(), k.HoldMemory()
	for i, step := range []struct {
		of    *Held
		bytes int64
		busy  bool
	}{{a, 60, false}, {b, 0, false}, {b, 16, true}, {b, 15, false}, {c, 1, true}, {b, 40, false}, {a, 50, false}, {a, 61, true}, {c, 1, true}} {
		if err := step.of.Grow(step.bytes); errors.Is(err, ErrBusy) != step.busy {
			t.Errorf("step %d: %v", i, err)
		}
	}
	a.Release()
	b.Release()
	if err := a.Grow(1000); err != nil || !errors.Is(a.Grow(DefaultStreamMemory+1), ErrBusy) || !errors.Is(b.Grow(1), ErrBusy) || c.Grow(0) != nil {
		t.Errorf("alone: %v", err)
	}
	if a.Release(); k.streamMemory.used != 0 {
		t.Errorf("%d bytes are held of nobody", k.streamMemory.used)
	}
}
