package dataset

import (
	"context"
	"errors"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/must"
)

func TestFixed(t *testing.T) {
	l := NewFixedLive("value", Manifest{Dataset: "places", Digest: "d"})
	for range 2 {
		h, err := l.Acquire()
		must.Do(t, err)
		if h.Value() != "value" || h.Manifest().Digest != "d" {
			t.Error(h.Value(), h.Manifest())
		}
		h.Release()
		if err := l.Poll(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if st := l.Status(); st.Serving == nil || st.Published != 1 || st.Err != nil || st.Dataset != "places" {
		t.Errorf("%+v", st)
	}
	if h, err := l.AcquireGeneration(1); err != nil {
		t.Error(err)
	} else {
		h.Release()
	}
	if _, err := l.AcquireGeneration(2); !errors.Is(err, ErrNoGeneration) {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	l.Run(ctx)
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Acquire(); !errors.Is(err, cellstore.ErrClosed) {
		t.Error(err)
	}
}
