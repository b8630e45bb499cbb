package dataset

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/must"
)

func pebbleOpener(_, dir string, readOnly bool) (cellstore.Store, error) {
	return pebblestore.Open(dir, &pebblestore.Options{ReadOnly: readOnly, CacheBytes: 1 << 20})
}

func newPebbleCatalog(t testing.TB) *Catalog {
	t.Helper()
	c, err := Open(filepath.Join(tempDir(t), "data"), pebbleOpener)
	must.Do(t, err)
	return c
}

const tableRows = 300

func rowKey(i int) []byte { return binary.BigEndian.AppendUint32(nil, uint32(i)) }

// write fills a store with text: every row of its table holds it.
func write(ctx context.Context, s cellstore.Store, text string) error {
	if f, ok := s.(*fileStore); ok {
		return f.put(text)
	}
	if err := s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "f"}}}); err != nil {
		return err
	}
	tab, err := s.Table(ctx, "t")
	if err != nil {
		return err
	}
	load, err := tab.Bulk(ctx)
	if err != nil {
		return err
	}
	defer load.Abort()
	at := Timestamp([]Source{{Modified: when}})
	for i := range tableRows {
		if err := load.Add(rowKey(i), cellstore.Cell{Family: "f", Timestamp: at, Value: []byte(text)}); err != nil {
			return err
		}
	}
	return load.Commit(ctx)
}

// read returns the text in a store, or an error when its rows differ.
func read(ctx context.Context, s cellstore.Store) (string, error) {
	if f, ok := s.(*fileStore); ok {
		return f.get()
	}
	tab, err := s.Table(ctx, "t")
	if err != nil {
		return "", err
	}
	var text []byte
	n := 0
	for row, err := range tab.Scan(ctx, cellstore.Scan{}) {
		if err != nil {
			return "", err
		}
		v := row.Cells[0].Value
		if n > 0 && !bytes.Equal(v, text) {
			return "", fmt.Errorf("rows of %q and %q in one generation", text, v)
		}
		text = append(text[:0], v...)
		n++
	}
	if n != tableRows {
		return "", fmt.Errorf("%d rows instead of %d", n, tableRows)
	}
	return string(text), nil
}

func TestPebble(t *testing.T) {
	c := newPebbleCatalog(t)
	mustIngest(t, c, "ip", "one")
	first := mustIngest(t, c, "ip", "two")
	second := mustIngest(t, c, "ip", "two")
	wantContent(t, c, "ip", "two")

	// The same input gives the same sorted tables, byte for byte.
	if d := cmp.Diff(tables(first), tables(second)); d != "" {
		t.Errorf("two builds of the same cells differ:\n%s", d)
	}
	if len(tables(first)) == 0 {
		t.Error("no sorted tables were found")
	}

	// There may be two readers at a time, and reading leaves no trace in the directory.
	a, err := c.OpenCurrent(t.Context(), "ip")
	must.Do(t, err)
	defer a.Close()
	b, err := c.OpenCurrent(t.Context(), "ip")
	must.Do(t, err)
	defer b.Close()
	for _, g := range []*Generation{a, b} {
		if got, err := read(t.Context(), g.Store); got != "two" || err != nil {
			t.Errorf("read %q, %v", got, err)
		}
		if err := g.Verify(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if err := a.Store.CreateTable(t.Context(),
		cellstore.Schema{Table: "x", Families: []cellstore.Family{{Name: "f"}}}); !errors.Is(err, cellstore.ErrReadOnly) {
		t.Errorf("a generation was written to: %v", err)
	}
}

func tables(m Manifest) []File {
	var list []File
	for _, f := range m.Files {
		if strings.HasSuffix(f.Path, ".sst") {
			list = append(list, f)
		}
	}
	return list
}

// TestPebbleDamage flips one bit of each file of a generation in turn, and then truncates each
// file.
func TestPebbleDamage(t *testing.T) {
	c := newPebbleCatalog(t)
	mustIngest(t, c, "ip", "one")
	m := mustIngest(t, c, "ip", "two")
	for _, f := range m.Files {
		if f.Bytes == 0 {
			continue
		}
		path := filepath.Join(c.generationDir("ip", m.Generation), filepath.FromSlash(f.Path))
		good, err := os.ReadFile(path)
		must.Do(t, err)
		flipped := bytes.Clone(good)
		flipped[len(flipped)/2] ^= 0x10
		for what, bad := range map[string][]byte{"flipped": flipped, "cut": good[:len(good)-1]} {
			must.Do(t, os.WriteFile(path, bad, 0o644))
			if err := c.Verify(t.Context(), "ip", 0, nil); err == nil {
				t.Errorf("%s %s went unnoticed", f.Path, what)
			}
			if got, err := content(c, "ip"); err == nil && got != "two" {
				t.Errorf("%s %s: read %q", f.Path, what, got)
			}
		}
		must.Do(t, os.WriteFile(path, good, 0o644))
	}
	if err := c.Verify(t.Context(), "ip", 0, nil); err != nil {
		t.Error(err)
	}
}

// TestPebbleSwapsUnderLoad does the same as TestSwapsUnderLoad, with real stores behind one cache
// and with a Live that polls by itself.
func TestPebbleSwapsUnderLoad(t *testing.T) {
	cache := pebblestore.NewCache(4 << 20)
	defer cache.Close()
	c, err := Open(filepath.Join(tempDir(t), "data"), func(_, dir string, readOnly bool) (cellstore.Store, error) {
		return pebblestore.Open(dir, &pebblestore.Options{ReadOnly: readOnly, Cache: cache})
	})
	if err != nil {
		t.Fatal(err)
	}
	type reader struct {
		store cellstore.Store
		want  string
	}
	l := NewLive(c, "ip", func(g *Generation) (reader, error) {
		text, err := read(t.Context(), g.Store)
		return reader{g.Store, text}, err
	})
	mustIngest(t, c, "ip", "text 0")
	must.Do(t, l.Poll(t.Context()))
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { l.Run(ctx) })
	var requests atomic.Int64
	for range 3 {
		wg.Go(func() {
			for ctx.Err() == nil {
				h, err := l.Acquire()
				if err != nil {
					t.Error(err)
					return
				}
				r := h.Value()
				if got, err := read(t.Context(), r.store); err != nil || got != r.want {
					t.Errorf("read %q, %v from generation %d of %q", got, err, h.Manifest().Generation, r.want)
				}
				h.Release()
				requests.Add(1)
				time.Sleep(100 * time.Microsecond) // leave a core to the publisher
			}
		})
	}
	for i := range 20 {
		m := mustIngest(t, c, "ip", fmt.Sprint("text ", i+1))
		eventually(t, "the swap", func() bool { s := l.Status(); return s.Serving != nil && s.Serving.Generation == m.Generation })
		if _, err := c.Prune(t.Context(), 1, 0); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	wg.Wait()
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if requests.Load() == 0 {
		t.Error("no request was made")
	}
	if _, err := c.Prune(t.Context(), 1, 0); err != nil {
		t.Fatal(err)
	}
	if got := numbers(t, c, "ip"); got != "21*" {
		t.Errorf("generations %q", got)
	}
}
