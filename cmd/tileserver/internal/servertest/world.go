package servertest

import (
	"context"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/tileserver/internal/httpapi"
)

// World is the toy world with the whole chain: real builders, stores and readers.
type World struct {
	Server
	// store is the store of the boundaries in service.
	store atomic.Value
}

// toyData returns the directory in which the toy world is published, only once for all tests.
var toyData = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "servertest")
	if err != nil {
		return "", err
	}
	toyDir = dir
	return dir, toyworld.Publish(context.Background(), dir)
})

var toyDir string // for TestMain to remove

func NewWorld(t testing.TB) *World {
	t.Helper()
	dir, err := toyData()
	if err != nil {
		t.Fatal(err)
	}
	w := &World{Server: Server{T: t}}
	w.Catalog, err = dataset.Open(dir, func(name, dir string, readOnly bool) (cellstore.Store, error) {
		store, err := toyworld.Open(name, dir, readOnly)
		if name == ask.Boundaries.Name && err == nil {
			w.store.Store(store)
		}
		return store, err
	})
	if err != nil {
		t.Fatal(err)
	}
	all := ask.PublishedSets(w.Catalog.Generations)
	w.Config = httpapi.Config{
		Sets: ask.Sets{
			Boundaries: all.Boundaries,
			Places:     all.Places,
			Addresses:  ask.Addresses.Live(w.Catalog.Generations), // from its index
		},
	}
	w.Poll()
	w.Serve()
	t.Cleanup(func() {
		if err := w.Config.Sets.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// Seeks returns the number of seeks of the iterators of boundaries.
func (w *World) Seeks() int64 { return w.store.Load().(cellstore.StatsReader).Stats().Seeks }

// DiscardWriter is a ResponseWriter that records only the size.
type DiscardWriter struct {
	Headers http.Header
	Bytes   int
}

func (d *DiscardWriter) Header() http.Header { return d.Headers }

func (d *DiscardWriter) WriteHeader(int) {}

func (d *DiscardWriter) Write(b []byte) (int, error) {
	d.Bytes += len(b)
	return len(b), nil
}
