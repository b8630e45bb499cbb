package follow

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/places/live"
	"quadrille/places/points"
	"quadrille/tiles"
)

// text is a writer that collects the log.
type text struct {
	mu sync.Mutex
	b  strings.Builder
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}

// TestRedraws tests that ReportRedraws gives the generation of the boundaries to existing
// collections at once, and to new collections at its next check. It logs an error that several
// collections have in common only once.
func TestRedraws(t *testing.T) {
	boundaries := dataset.NewFixedLive(tiles.Join(), dataset.Manifest{Generation: 3, Digest: "0123456789abcdef"})
	views := ask.NewViews(ask.Sets{Boundaries: boundaries})
	store := must.Get(live.Open(t.Context(), buildtest.NewStore(t), points.LiveKind)).In(t)
	must.Close(t, store)
	first := must.Get(store.Create(t.Context(), live.Meta{Name: "first"})).In(t)
	ctx, cancel := context.WithCancel(t.Context())
	var log text
	var ended sync.WaitGroup
	ended.Go(func() { ReportRedraws(ctx, store, views, slog.New(slog.NewTextHandler(&log, nil))) })
	second := must.Get(store.Create(t.Context(), live.Meta{Name: "second"})).In(t)
	for _, c := range []*live.Collection{first, second} {
		for now, _ := c.Editions(); now.Number != 3 || now.Identity == 0; now, _ = c.Editions() {
			time.Sleep(time.Millisecond)
		}
	}
	cancel()
	ended.Wait()
	if got := log.String(); got != "" {
		t.Error(got)
	}
	must.Do(t, boundaries.Close())
	ctx, cancel = context.WithCancel(t.Context())
	ended.Go(func() { ReportRedraws(ctx, store, views, slog.New(slog.NewTextHandler(&log, nil))) })
	for log.String() == "" {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(10 * time.Millisecond) // for the other collection
	cancel()
	ended.Wait()
	if got := log.String(); strings.Count(got, "\n") != 1 || !strings.Contains(got, "get no events of borders") {
		t.Error(got)
	}
}
