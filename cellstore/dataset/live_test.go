package dataset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/must"
)

func newLive(t testing.TB, c *Catalog) (l *Live[*text], closed *atomic.Int64) {
	t.Helper()
	closed = new(atomic.Int64)
	l = NewLive(c, "ip", binder(closed))
	l.interval = 10 * time.Millisecond
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l, closed
}

func serving(t testing.TB, l *Live[*text]) string {
	t.Helper()
	h, err := l.Acquire()
	must.Do(t, err)
	defer h.Release()
	must.Do(t, h.Value().check())
	if st := l.Status(); st.Serving != h.Manifest() {
		t.Errorf("status shows %+v, served is %+v", st.Serving, h.Manifest())
	}
	return h.Value().want
}

func TestLive(t *testing.T) {
	c, stats := newCatalog(t)
	l, closed := newLive(t, c)
	var events []string
	l.Notify = func(s Status) {
		served := uint64(0)
		if s.Serving != nil {
			served = s.Serving.Generation
		}
		events = append(events, fmt.Sprint(s.Published, served, s.Err != nil))
	}
	poll := func() {
		t.Helper()
		must.Do(t, l.Poll(t.Context()))
	}
	poll() // nothing published is no failure
	_, err := l.Acquire()
	wantErr(t, err, ErrNoGeneration)
	if st := l.Status(); st.Dataset != "ip" || st.Published != 0 || st.Serving != nil || st.Err != nil {
		t.Errorf("status %+v", st)
	}

	mustIngest(t, c, "ip", "one")
	_, err = l.Acquire()
	wantErr(t, err, ErrNoGeneration) // not before a poll
	poll()
	poll()
	if got := serving(t, l); got != "one" {
		t.Errorf("serving %q", got)
	}

	// A reader keeps its generation across a swap. The next reader gets the new one.
	old, err := l.Acquire()
	must.Do(t, err)
	mustIngest(t, c, "ip", "two")
	poll()
	if got := serving(t, l); got != "two" {
		t.Errorf("serving %q", got)
	}
	if err := old.Value().check(); err != nil {
		t.Errorf("a reader lost its generation: %v", err)
	}
	if done, err := c.Prune(t.Context(), 0, 0, "ip"); err != nil || len(done.InUse) != 1 {
		t.Errorf("pruned %+v, %v", done, err)
	}
	if closed.Load() != 0 || stats.open.Load() != 2 {
		t.Errorf("%d closed, %d open while both are in use", closed.Load(), stats.open.Load())
	}
	old.Release()
	eventually(t, "the old generation closes", func() bool { return closed.Load() == 1 && stats.open.Load() == 1 })

	if _, err := c.Rollback(t.Context(), "ip"); err != nil {
		t.Fatal(err)
	}
	poll()
	if got := serving(t, l); got != "one" {
		t.Errorf("serving %q after a rollback", got)
	}
	if got, want := strings.Join(events, ","), "1 1 false,2 2 false,1 1 false"; got != want {
		t.Errorf("notified of %q, want %q", got, want)
	}

	h, err := l.Acquire()
	must.Do(t, err)
	shut := make(chan error)
	go func() { shut <- l.Close() }()
	eventually(t, "acquire is refused", func() bool { h, err := l.Acquire(); release(h, err); return err != nil })
	if err := h.Value().check(); err != nil {
		t.Errorf("closed under a reader: %v", err)
	}
	h.Release()
	if err := <-shut; err != nil {
		t.Error(err)
	}
	if stats.open.Load() != 0 || closed.Load() != 3 {
		t.Errorf("%d stores open, %d values closed", stats.open.Load(), closed.Load())
	}
	_, err = l.Acquire()
	wantErr(t, err, cellstore.ErrClosed)
	wantErr(t, l.Poll(t.Context()), cellstore.ErrClosed)
	if err := l.Run(t.Context()); err != nil {
		t.Error(err)
	}
}

func release(h *Handle[*text], err error) {
	if err == nil {
		h.Release()
	}
}

func TestReleaseTooMuch(t *testing.T) {
	c, _ := newCatalog(t)
	mustIngest(t, c, "ip", "one")
	l := NewLive(c, "ip", binder(new(atomic.Int64)))
	must.Do(t, l.Poll(t.Context()))
	h, err := l.Acquire()
	must.Do(t, err)
	h.Release()
	must.Do(t, l.Close())
	defer func() {
		if recover() == nil {
			t.Error("a release without acquire went unnoticed")
		}
	}()
	h.Release()
}

// TestBadGeneration: the published generation has some fault. The old one stays in service, the
// reason is reported, and a repair brings the published one into service.
func TestBadGeneration(t *testing.T) {
	rewrite := func(c *Catalog, from, to string) error { // the manifest of generation 2, and its pin
		path := filepath.Join(c.generationDir("ip", 2), manifestName)
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		b = []byte(strings.Replace(string(b), from, to, 1))
		if err := os.WriteFile(path, b, 0o644); err != nil {
			return err
		}
		_, err = c.update(t.Context(), "ip", func(p *pointer, err error) (*pointer, error) {
			if err == nil {
				p.Generations[1].Manifest = digestBytes(b)
			}
			return p, err
		})
		return err
	}
	for name, tc := range map[string]struct {
		text  string
		spoil func(*Catalog, *fileStats) error
		want  error
	}{
		"pointer cut": {"two", func(c *Catalog, _ *fileStats) error {
			return os.WriteFile(filepath.Join(c.Dir(), "ip", pointerName), []byte(`{"version":1`), 0o644)
		}, ErrBadPointer},
		"manifest unreadable": {"two", func(c *Catalog, _ *fileStats) error { return rewrite(c, `"files"`, `files`) }, cellstore.ErrCorrupt},
		"manifest newer": {
			"two",
			func(c *Catalog, _ *fileStats) error { return rewrite(c, `"version": 1`, `"version": 2`) },
			cellstore.ErrNewer,
		},
		"rows newer": {"two", func(c *Catalog, _ *fileStats) error {
			return rewrite(c, `"schema_version": 1`, `"schema_version": 2`)
		}, cellstore.ErrNewer},
		"file cut": {"two", func(c *Catalog, _ *fileStats) error {
			return os.Truncate(filepath.Join(c.generationDir("ip", 2), "store", "cells"), 1)
		}, cellstore.ErrCorrupt},
		"store does not open": {"two", func(_ *Catalog, s *fileStats) error { s.fail(errInjected); return nil }, errInjected},
		"bind fails":          {"refuse two", func(*Catalog, *fileStats) error { return nil }, errAny},
		"bind panics":         {"panic two", func(*Catalog, *fileStats) error { return nil }, errAny},
	} {
		t.Run(name, func(t *testing.T) {
			c, stats := newCatalog(t)
			l, closed := newLive(t, c)
			mustIngest(t, c, "ip", "one")
			must.Do(t, l.Poll(t.Context()))
			mustIngest(t, c, "ip", tc.text)
			must.Do(t, tc.spoil(c, stats))
			for range 3 { // again and again, without leaving anything open
				err := l.Poll(t.Context())
				checkKind(t, "poll", err, tc.want)
				var le *LoadError
				if !errors.As(err, &le) || le.Serving != 1 || !errors.Is(l.Err(), err) {
					t.Fatalf("poll returned %v, Err is %v", err, l.Err())
				}
				if !strings.Contains(err.Error(), "generation 1 stays in service") {
					t.Errorf("the error does not tell what is served: %v", err)
				}
			}
			stats.fail(nil)
			if got := serving(t, l); got != "one" {
				t.Errorf("serving %q", got)
			}
			if stats.open.Load() != 1 || closed.Load() != 0 {
				t.Errorf("%d stores open, %d values closed", stats.open.Load(), closed.Load())
			}
			if strings.HasPrefix(name, "pointer ") {
				_, err := c.Activate(t.Context(), "ip", 2)
				wantErr(t, err, nil)
			} else {
				mustIngest(t, c, "ip", "three")
			}
			if err := l.Poll(t.Context()); err != nil || l.Err() != nil {
				t.Errorf("after mending: %v, %v", err, l.Err())
			}
			if got := serving(t, l); got == "one" {
				t.Errorf("still serving %q", got)
			}
		})
	}
}

// TestUnpublished: a data set goes out of service if it is dropped or its pointer is removed, as if
// it had never been published. It can come back. The loss of the whole directory changes nothing:
// the open generation stays in service.
func TestUnpublished(t *testing.T) {
	for name, tc := range map[string]struct {
		take func(*Catalog) error
		back func(*Catalog) error
	}{
		"dropped": {
			func(c *Catalog) error { _, err := c.Unpublish(t.Context(), "ip"); return err },
			func(c *Catalog) error { _, err := c.Rollback(t.Context(), "ip"); return err },
		},
		"data set gone": {
			func(c *Catalog) error { return os.RemoveAll(filepath.Join(c.Dir(), "ip")) },
			func(c *Catalog) error { _, err := ingest(c, "ip", "again"); return err },
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, stats := newCatalog(t)
			l, closed := newLive(t, c)
			mustIngest(t, c, "ip", "one")
			mustIngest(t, c, "ip", "two")
			must.Do(t, l.Poll(t.Context()))
			h, err := l.AcquireGeneration(1)
			must.Do(t, err)
			h.Release()
			if h, err = l.Acquire(); err != nil {
				t.Fatal(err)
			}
			must.Do(t, tc.take(c))
			if err := l.Poll(t.Context()); err != nil {
				t.Errorf("nothing is published: %v", err)
			}
			if st := l.Status(); st.Serving != nil || st.Err != nil || st.Published != 0 || st.Damage != nil {
				t.Errorf("the status is %+v", st)
			}
			_, err = l.Acquire()
			wantErr(t, err, ErrNoGeneration)
			for _, n := range []uint64{1, 2} {
				_, err = l.AcquireGeneration(n)
				wantErr(t, err, ErrNoGeneration)
			}
			if err := h.Value().check(); err != nil {
				t.Errorf("closed under a reader: %v", err)
			}
			h.Release()
			eventually(t, "all generations close", func() bool { return stats.open.Load() == 0 && closed.Load() == 2 })
			if names, err := c.Datasets(t.Context()); err != nil || len(names) > 0 {
				t.Errorf("published are %v, %v", names, err)
			}
			must.Do(t, tc.back(c))
			must.Do(t, l.Poll(t.Context()))
			serving(t, l)
		})
	}
	c, _ := newCatalog(t)
	l, _ := newLive(t, c)
	mustIngest(t, c, "ip", "one")
	must.Do(t, l.Poll(t.Context()))
	must.Do(t, os.RemoveAll(c.Dir()))
	wantErr(t, l.Poll(t.Context()), os.ErrNotExist)
	if h, err := l.Acquire(); err != nil {
		t.Error(err)
	} else {
		h.Release()
	}
}

// TestFirstGenerationBad tests that readers get the reason if no earlier generation is in service.
func TestFirstGenerationBad(t *testing.T) {
	c, stats := newCatalog(t)
	l, _ := newLive(t, c)
	mustIngest(t, c, "ip", "one")
	stats.fail(errInjected)
	wantErr(t, l.Poll(t.Context()), errInjected)
	_, err := l.Acquire()
	wantErr(t, err, ErrNoGeneration)
	wantErr(t, err, errInjected)
	if st := l.Status(); st.Published != 1 || st.Serving != nil {
		t.Errorf("status %+v", st)
	}
	stats.fail(nil)
	must.Do(t, l.Poll(t.Context()))
}

// TestRetriesWaitLonger: after a failure, an unforced poll does not try the same generation again
// for a while. It tries a new one at once.
func TestRetriesWaitLonger(t *testing.T) {
	c, stats := newCatalog(t)
	var tries int
	l := NewLive(c, "ip", func(*Generation) (int, error) { tries++; return 0, errInjected })
	defer l.Close()
	l.interval = time.Hour
	poll := func(force bool, want int) {
		t.Helper()
		wantErr(t, l.poll(t.Context(), force), errInjected)
		if tries != want {
			t.Fatalf("bound %d times, want %d", tries, want)
		}
	}
	mustIngest(t, c, "ip", "one")
	poll(false, 1)
	poll(false, 1)
	poll(true, 2)
	mustIngest(t, c, "ip", "two")
	poll(false, 3)
	poll(false, 3)
	l.retryAt = time.Time{}
	poll(false, 4)
	if n := stats.open.Load(); n != 0 {
		t.Errorf("%d stores left open", n)
	}
}

// TestPrunedWhileOpening: between the reads of CURRENT and of its generation, another one is
// published and the first one pruned.
func TestPrunedWhileOpening(t *testing.T) {
	c, _ := newCatalog(t)
	mustIngest(t, c, "ip", "one")
	raced := false
	open := c.open
	c.open = func(dataset, dir string, readOnly bool) (cellstore.Store, error) {
		if readOnly && !raced {
			raced = true
			mustIngest(t, c, "ip", "two")
			return nil, os.ErrNotExist // as after a prune
		}
		return open(dataset, dir, readOnly)
	}
	l, _ := newLive(t, c)
	must.Do(t, l.Poll(t.Context()))
	if got := serving(t, l); got != "two" {
		t.Errorf("serving %q", got)
	}
}

// TestSwapsUnderLoad publishes, rolls back and prunes while readers hold their generations. No
// request fails, and none sees two generations.
func TestSwapsUnderLoad(t *testing.T) {
	c, stats := newCatalog(t)
	l, closed := newLive(t, c)
	mustIngest(t, c, "ip", "text 0")
	must.Do(t, l.Poll(t.Context()))
	var stop atomic.Bool
	var requests atomic.Int64
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for !stop.Load() {
				h, err := l.Acquire()
				if err != nil {
					t.Error(err)
					return
				}
				inner, err := l.Acquire() // nested, as two parts of one request
				if err != nil {
					t.Error(err)
					return
				}
				for _, h := range []*Handle[*text]{h, inner, h} {
					if err := h.Value().check(); err != nil {
						t.Error(err)
					}
				}
				inner.Release()
				h.Release()
				requests.Add(1)
				time.Sleep(100 * time.Microsecond) // leave a core to the publisher
			}
		})
	}
	const swaps = 30
	for i := 1; i <= swaps; i++ {
		switch i % 3 {
		case 0:
			if _, err := c.Rollback(t.Context(), "ip"); err != nil {
				t.Fatal(err)
			}
		default:
			mustIngest(t, c, "ip", fmt.Sprint("text ", i))
		}
		must.Do(t, l.Poll(t.Context()))
		if _, err := c.Prune(t.Context(), 2, 0, "ip"); err != nil {
			t.Fatal(err)
		}
	}
	stop.Store(true)
	wg.Wait()
	if requests.Load() == 0 {
		t.Error("no request was made")
	}
	eventually(t, "all but one generation close", func() bool { return stats.open.Load() == 1 && closed.Load() == swaps })
}

func TestRunFollows(t *testing.T) {
	c, stats := newCatalog(t)
	for _, how := range []string{"by notification", "by polling"} {
		t.Run(how, func(t *testing.T) {
			c.dir = filepath.Join(filepath.Dir(c.dir), how) // does not exist yet
			l, _ := newLive(t, c)
			switch how {
			case "by notification":
				// The interval is too long for the fallback to run. Events need the directory.
				l.interval = time.Hour
				must.Do(t, os.MkdirAll(c.dir, 0o755))
			case "by polling":
				l.interval = time.Millisecond
			}
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			looked := make(chan struct{}, 1)
			l.Notify = func(Status) {
				select {
				case looked <- struct{}{}:
				default:
				}
			}
			go func() { ended <- l.Run(ctx) }()
			is := func(want string) func() bool {
				return func() bool {
					h, err := l.Acquire()
					if err != nil {
						return false
					}
					defer h.Release()
					return h.Value().want == want
				}
			}
			for i := range 5 {
				want := fmt.Sprint(how, i)
				mustIngest(t, c, "ip", want)
				eventually(t, "serving "+want, is(want))
			}
			if _, err := c.Rollback(t.Context(), "ip"); err != nil {
				t.Fatal(err)
			}
			eventually(t, "the rollback", is(how+"3"))
			<-looked
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if got := serving(t, l); got != how+"3" {
				t.Errorf("serving %q after Run", got)
			}
			if err := l.Close(); err != nil {
				t.Error(err)
			}
			if n := stats.open.Load(); n != 0 {
				t.Errorf("%d stores left open", n)
			}
		})
	}
}

// TestRunSurvivesReplacedDirectory: the watched directory is moved away and replaced by another, as
// when a backup is restored.
func TestRunSurvivesReplacedDirectory(t *testing.T) {
	c, _ := newCatalog(t)
	mustIngest(t, c, "ip", "one")
	l, _ := newLive(t, c)
	go l.Run(t.Context())
	eventually(t, "the first", func() bool { return l.Status().Serving != nil })
	must.Do(t, os.Rename(c.Dir(), c.Dir()+".old"))
	eventually(t, "the loss is reported", func() bool { return errors.Is(l.Err(), os.ErrNotExist) })
	if got := serving(t, l); got != "one" {
		t.Errorf("serving %q", got)
	}
	// This is generation 1 again, with other data.
	mustIngest(t, c, "ip", "restored")
	eventually(t, "the new one", func() bool { return l.Err() == nil && serving(t, l) == "restored" })
}

func TestAcquireAllocatesNothing(t *testing.T) {
	c, _ := newCatalog(t)
	mustIngest(t, c, "ip", "one")
	l, _ := newLive(t, c)
	must.Do(t, l.Poll(t.Context()))
	if n := testing.AllocsPerRun(1000, func() {
		h, err := l.Acquire()
		must.Do(t, err)
		if h.Value() == nil || h.Manifest().Generation != 1 {
			t.Error("wrong generation")
		}
		h.Release()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
