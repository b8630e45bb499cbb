package dataset

import (
	"context"
	"errors"
	"fmt"
	"io"
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

// fileStore is a minimal store: one file. Tests watch its opens and closes, and make them fail;
// pebble_test.go has the real store.
type fileStore struct {
	cellstore.Store // nil: nothing else is called
	dir             string
	file            *os.File // when read-only
	stats           *fileStats
	closed          atomic.Bool
}

type fileStats struct {
	open    atomic.Int64          // stores open now
	failNow atomic.Pointer[error] // when set, opening read-only fails so
}

func (s *fileStats) fail(err error) {
	if err == nil {
		s.failNow.Store(nil)
		return
	}
	s.failNow.Store(&err)
}

func (s *fileStats) opener(_, dir string, readOnly bool) (cellstore.Store, error) {
	st := &fileStore{dir: dir, stats: s}
	if readOnly {
		if err := s.failNow.Load(); err != nil {
			return nil, *err
		}
		f, err := os.Open(filepath.Join(dir, "cells"))
		if err != nil {
			return nil, err
		}
		st.file = f
		if text, err := st.get(); err != nil || strings.HasPrefix(text, "broken") {
			f.Close()
			return nil, errors.Join(cellstore.ErrCorrupt, err)
		}
	}
	s.open.Add(1)
	return st, nil
}

func (s *fileStore) put(text string) error {
	return os.WriteFile(filepath.Join(s.dir, "cells"), []byte(text), 0o644)
}

func (s *fileStore) get() (string, error) {
	if s.closed.Load() {
		return "", cellstore.ErrClosed
	}
	b := make([]byte, 100)
	n, err := s.file.ReadAt(b, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return string(b[:n]), err
}

func (s *fileStore) Close() error {
	if s.closed.CompareAndSwap(false, true) {
		s.stats.open.Add(-1)
		if s.file != nil {
			return s.file.Close()
		}
	}
	return nil
}

var when = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// tester has the common methods of *testing.T, *testing.B and *rapid.T.
type tester interface {
	Helper()
	Fatal(args ...any)
	Cleanup(func())
	Context() context.Context
}

// tempDir does the same as t.TempDir, but on a file system in memory if the system has one, because
// these tests sync thousands of files.
func tempDir(t tester) string {
	tmp := "/dev/shm"
	if _, err := os.Stat(tmp); err != nil {
		tmp = ""
	}
	dir, err := os.MkdirTemp(tmp, "dataset")
	must.Do(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

func newCatalog(t testing.TB) (*Catalog, *fileStats) {
	t.Helper()
	stats := new(fileStats)
	c, err := Open(filepath.Join(tempDir(t), "data"), stats.opener)
	must.Do(t, err)
	return c, stats
}

// ingest publishes a generation holding text.
func ingest(c *Catalog, dataset, text string) (m Manifest, err error) {
	ctx := context.Background()
	b, err := c.Begin(ctx, dataset)
	if err != nil {
		return Manifest{}, err
	}
	defer func() { err = errors.Join(err, b.Abort()) }()
	if err := write(ctx, b.Store(), text); err != nil {
		return Manifest{}, err
	}
	if err := os.MkdirAll(filepath.Join(b.Dir(), "extra"), 0o755); err != nil {
		return Manifest{}, err
	}
	if err := os.WriteFile(filepath.Join(b.Dir(), "extra", "index"), []byte("index of "+text), 0o644); err != nil {
		return Manifest{}, err
	}
	return b.Publish(ctx, Manifest{SchemaVersion: 1, Built: when})
}

func mustIngest(t testing.TB, c *Catalog, dataset, text string) Manifest {
	t.Helper()
	m, err := ingest(c, dataset, text)
	must.Do(t, err)
	return m
}

// content reads the published text.
func content(c *Catalog, dataset string) (string, error) {
	g, err := c.OpenCurrent(context.Background(), dataset)
	if err != nil {
		return "", err
	}
	defer g.Close()
	return read(context.Background(), g.Store)
}

func wantContent(t testing.TB, c *Catalog, dataset, want string) {
	t.Helper()
	if got, err := content(c, dataset); err != nil || got != want {
		t.Fatalf("published %q, %v; want %q", got, err, want)
	}
}

func wantErr(t tester, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatal(fmt.Sprintf("got error %v, want one that is %v", err, want))
	}
}

// numbers lists the generations of a data set, the current one marked by *.
func numbers(t testing.TB, c *Catalog, dataset string) string {
	t.Helper()
	list, err := c.List(t.Context())
	must.Do(t, err)
	var s []string
	for _, in := range list {
		if in.Dataset != dataset {
			continue
		}
		n := fmt.Sprint(in.Generation)
		if in.Current {
			n += "*"
		}
		if in.Err != nil {
			n += "!"
		}
		s = append(s, n)
	}
	return strings.Join(s, " ")
}

// pruneGrace is the grace of prunes of a Depot.
const pruneGrace = 10 * time.Minute

// storedNumbers returns the numbers of the generations that exist, in or out of the pointer's list.
func storedNumbers(t tester, g *Generations, dataset string) []uint64 {
	stored, err := g.back.stored(t.Context(), dataset)
	must.Do(t, err)
	var list []uint64
	for _, s := range stored {
		list = append(list, s.number)
	}
	return list
}

// text is the reader of a domain package: the text of the generation when it was bound.
type text struct {
	store  *fileStore
	want   string
	closed *atomic.Int64
}

func (x *text) Close() error { x.closed.Add(1); return nil }

// check fails if the store is closed, or has the text of another generation.
func (x *text) check() error {
	got, err := x.store.get()
	if err == nil && got != x.want {
		err = fmt.Errorf("reader of %q found %q", x.want, got)
	}
	return err
}

// binder binds generations of fileStore. It fails for text that starts with "refuse", and panics
// for text that starts with "panic".
func binder(closed *atomic.Int64) func(*Generation) (*text, error) {
	return func(g *Generation) (*text, error) {
		s := g.Store.(*fileStore)
		got, err := s.get()
		switch {
		case err != nil:
			return nil, err
		case strings.HasPrefix(got, "refuse"):
			return nil, errors.New("refused")
		case strings.HasPrefix(got, "panic"):
			panic("unexpected bytes")
		}
		if err := g.Manifest.CheckSchema(1); err != nil {
			return nil, err
		}
		return &text{s, got, closed}, nil
	}
}

// eventually waits for the effect of another goroutine. Its limit ends a hanging test, and measures
// nothing.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for range 6000 {
		if ok() {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Fatalf("never happened: %s", what)
}

// steps records the steps of a catalogue and can fail one of them.
type steps struct {
	mu   sync.Mutex
	seen []string
	fail string
}

var errInjected = errors.New("injected failure")

func (s *steps) on(step string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, step)
	if step == s.fail {
		return errInjected
	}
	return nil
}
