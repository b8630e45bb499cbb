package bulkload

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/must"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func open(t *testing.T) cellstore.Store {
	t.Helper()
	s := must.Get(pebblestore.Open("store", &pebblestore.Options{FS: vfs.NewMem()})).In(t)
	t.Cleanup(func() { s.Close() })
	must.Do(t, s.CreateTable(t.Context(), cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "f"}}}))
	return s
}

func count(t *testing.T, s cellstore.Store) (n int) {
	t.Helper()
	table := must.Get(s.Table(t.Context(), "t")).In(t)
	for row := range must.All(t, table.Scan(t.Context(), cellstore.Scan{})) {
		if want := fmt.Sprintf("%06d", n); string(row.Key) != want || string(row.Cells[0].Value) != "v"+want {
			t.Fatalf("row %d is %q = %q", n, row.Key, row.Cells[0].Value)
		}
		n++
	}
	return n
}

// TestLoad loads more rows than fit into a batch, from memory that the caller reuses at once.
func TestLoad(t *testing.T) {
	s := open(t)
	l := must.Get(New(t.Context(), s, "t")).In(t)
	defer l.Abort()
	var key, value []byte
	const rows = 40000
	for i := range rows {
		key = fmt.Appendf(key[:0], "%06d", i)
		value = append(append(value[:0], 'v'), key...)
		must.Do(t, l.Add(key, cellstore.Cell{Family: "f", Value: value}))
	}
	must.Do(t, l.Commit())
	if n := count(t, s); n != rows {
		t.Errorf("%d rows", n)
	}
}

func TestAbort(t *testing.T) {
	s := open(t)
	l := must.Get(New(t.Context(), s, "t")).In(t)
	must.Do(t, l.Add([]byte("000000"), cellstore.Cell{Family: "f"}))
	l.Abort()
	l.Abort()
	if n := count(t, s); n != 0 {
		t.Errorf("%d rows", n)
	}
}

// A failure in the goroutine is reported by a later call, and no call waits.
func TestFailures(t *testing.T) {
	s := open(t)
	if _, err := New(t.Context(), s, "missing"); !errors.Is(err, cellstore.ErrTableNotFound) {
		t.Error(err)
	}
	l, err := New(t.Context(), s, "t")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Abort()
	for range 10 * batchSize / 1000 {
		if err = l.Add([]byte("same"), cellstore.Cell{Family: "f", Value: make([]byte, 1000)}); err != nil {
			break
		}
	}
	if err := l.Commit(); !errors.Is(err, cellstore.ErrUnsorted) {
		t.Error(err)
	}

	ctx, cancel := context.WithCancel(t.Context())
	l = must.Get(New(ctx, s, "t")).In(t)
	defer l.Abort()
	cancel()
	if err := l.Add([]byte("a"), cellstore.Cell{Family: "f"}); err != nil {
		t.Error(err)
	}
	if err := l.Commit(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}
