package dataset

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/must"
)

// acquired returns the text of a generation, acquired by its number.
func acquired(t testing.TB, l *Live[*text], generation uint64) string {
	t.Helper()
	h, err := l.AcquireGeneration(generation)
	if err != nil {
		t.Fatalf("generation %d: %v", generation, err)
	}
	defer h.Release()
	must.Do(t, h.Value().check())
	if h.Manifest().Generation != generation {
		t.Errorf("generation %d instead of %d", h.Manifest().Generation, generation)
	}
	return h.Value().want
}

func TestAcquireGeneration(t *testing.T) {
	c, stats := newCatalog(t)
	l, _ := newLive(t, c)
	_, err := l.AcquireGeneration(1)
	wantErr(t, err, ErrNoGeneration)
	for _, s := range []string{"one", "two", "three", "four"} {
		mustIngest(t, c, "ip", s)
	}
	must.Do(t, l.Poll(t.Context()))
	before := stats.open.Load()
	if got := acquired(t, l, 4); got != "four" || stats.open.Load() != before {
		t.Errorf("in service: %q, %d stores", got, stats.open.Load())
	}
	for range 3 {
		if a, b := acquired(t, l, 1), acquired(t, l, 3); a != "one" || b != "three" || stats.open.Load() != before+maxOlder {
			t.Errorf("%q, %q, %d stores", a, b, stats.open.Load())
		}
	}
	// No further generation is opened, unless one of the open ones has not been used lately.
	_, err = l.AcquireGeneration(2)
	wantErr(t, err, ErrOlderBusy)
	l.older.busy = 0
	if got := acquired(t, l, 2); got != "two" {
		t.Errorf("generation 2 is %q", got)
	}
	_, err = l.AcquireGeneration(5)
	wantErr(t, err, ErrNoGeneration)
	_, err = l.AcquireGeneration(0)
	wantErr(t, err, ErrNoGeneration)

	// An open generation is not pruned. A pruned one is reported as gone, not as unknown.
	// Generation 1 made room above, and is closed by another goroutine.
	var done PruneResult
	eventually(t, "the removal of generation 1", func() bool {
		done, err = c.Prune(t.Context(), 0, 0)
		return err != nil || len(done.Removed) > 0
	})
	if err != nil || len(done.Removed) != 1 || done.Removed[0].Generation != 1 || len(done.InUse) != 2 {
		t.Errorf("pruned %+v, %v", done, err)
	}
	_, err = l.AcquireGeneration(1)
	wantErr(t, err, ErrPruned)

	// A generation goes out of service while it is in use.
	h, err := l.AcquireGeneration(4)
	must.Do(t, err)
	if _, err := c.Rollback(t.Context(), "ip"); err != nil {
		t.Fatal(err)
	}
	must.Do(t, l.Poll(t.Context()))
	if got := serving(t, l); got != "three" {
		t.Errorf("serving %q", got)
	}
	if err := h.Value().check(); err != nil {
		t.Error(err)
	}
	h.Release()
	if got := acquired(t, l, 4); got != "four" {
		t.Errorf("newer than the one in service: %q", got)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if n := stats.open.Load(); n != 0 {
		t.Errorf("%d stores are open after Close", n)
	}
	_, err = l.AcquireGeneration(4)
	wantErr(t, err, cellstore.ErrClosed)
}

// TestReplacedIsHeld tests that a generation that was in service can be acquired without opening it
// again, as long as any caller holds it.
func TestReplacedIsHeld(t *testing.T) {
	c, stats := newCatalog(t)
	l, _ := newLive(t, c)
	for _, s := range []string{"one", "two", "three"} {
		mustIngest(t, c, "ip", s)
	}
	must.Do(t, l.Poll(t.Context()))
	held := must.Get(l.Acquire()).In(t)
	mustIngest(t, c, "ip", "four")
	must.Do(t, l.Poll(t.Context()))
	mustIngest(t, c, "ip", "five")
	must.Do(t, l.Poll(t.Context()))
	_, _ = acquired(t, l, 1), acquired(t, l, 2) // no more older ones may be opened
	before := stats.open.Load()
	if got := acquired(t, l, 3); got != "three" || stats.open.Load() != before {
		t.Errorf("%q, %d stores instead of %d", got, stats.open.Load(), before)
	}
	held.Release()
	_, err := l.AcquireGeneration(3)
	wantErr(t, err, ErrOlderBusy)
	mustIngest(t, c, "ip", "six")
	must.Do(t, l.Poll(t.Context()))
	if n := len(l.held.list); n > 2 {
		t.Errorf("%d replaced generations are remembered", n)
	}
	held = must.Get(l.Acquire()).In(t)
	mustIngest(t, c, "ip", "seven")
	must.Do(t, l.Poll(t.Context()))
	closing := make(chan error)
	go func() { closing <- l.Close() }()
	eventually(t, "Close begins", func() bool { return l.closed.Load() })
	_, err = l.AcquireGeneration(6)
	wantErr(t, err, cellstore.ErrClosed)
	held.Release()
	must.Do(t, <-closing)
}

// TestOlderIdle tests that an older generation is closed once it is idle, but not while it has
// readers.
func TestOlderIdle(t *testing.T) {
	c, stats := newCatalog(t)
	l, _ := newLive(t, c)
	l.older.idle = time.Millisecond
	mustIngest(t, c, "ip", "one")
	mustIngest(t, c, "ip", "two")
	must.Do(t, l.Poll(t.Context()))
	h, err := l.AcquireGeneration(1)
	must.Do(t, err)
	eventually(t, "the end of idleness", func() bool {
		l.older.mu.Lock()
		defer l.older.mu.Unlock()
		return len(l.older.open) == 0
	})
	if err := h.Value().check(); err != nil {
		t.Errorf("closed under its reader: %v", err)
	}
	h.Release()
	eventually(t, "its close", func() bool { return stats.open.Load() == 1 })
	if got := acquired(t, l, 1); got != "one" {
		t.Errorf("opened again: %q", got)
	}
}

// TestOlderFails tests that requests for an older generation that does not open do not all try to
// open it: after a failure they get its error for a while.
func TestOlderFails(t *testing.T) {
	c, stats := newCatalog(t)
	l, _ := newLive(t, c)
	mustIngest(t, c, "ip", "one")
	mustIngest(t, c, "ip", "two")
	must.Do(t, l.Poll(t.Context()))
	stats.fail(cellstore.ErrCorrupt)
	_, err := l.AcquireGeneration(1)
	wantErr(t, err, cellstore.ErrCorrupt)
	stats.fail(nil)
	_, err = l.AcquireGeneration(1)
	wantErr(t, err, cellstore.ErrCorrupt)
	l.older.retryAt = time.Time{}
	if got := acquired(t, l, 1); got != "one" {
		t.Errorf("generation 1 is %q", got)
	}
}

// TestOlderConcurrent runs readers of any generation, publications, rollbacks and a Close at once,
// over the real store.
func TestOlderConcurrent(t *testing.T) {
	c := newPebbleCatalog(t)
	l := NewLive(c, "ip", func(g *Generation) (uint64, error) { return g.Manifest.Generation, nil })
	l.older.busy, l.older.idle = 0, time.Millisecond
	for i := range 4 {
		mustIngest(t, c, "ip", fmt.Sprint(i))
	}
	var wait sync.WaitGroup
	for r := range 4 {
		wait.Go(func() {
			for i := range 60 {
				n := uint64((r+i)%4 + 1)
				h, err := l.AcquireGeneration(n)
				if err != nil {
					t.Error(err)
					return
				}
				if h.Value() != n {
					t.Errorf("generation %d instead of %d", h.Value(), n)
				}
				h.Release()
			}
		})
	}
	for range 6 {
		if _, err := c.Activate(t.Context(), "ip", 3); err != nil {
			t.Error(err)
		}
		if err := l.Poll(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := c.Activate(t.Context(), "ip", 4); err != nil {
			t.Error(err)
		}
		if err := l.Poll(t.Context()); err != nil {
			t.Error(err)
		}
	}
	wait.Wait()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}
