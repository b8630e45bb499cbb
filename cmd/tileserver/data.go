package main

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/hbasestore"
	"quadrille/cellstore/pebblestore"
	"quadrille/cellstore/rowcache"
	"quadrille/cmd/internal/hbasedepot"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/ipgeo"
)

// source is where the server has its generations from.
type source struct {
	from *dataset.Generations
	kind string // for /status
	name string // for the operator; without credentials
	// patience bounds the time that starting waits for the data.
	patience time.Duration
	close    func() error
}

// blockCacheBytes is what is left of --cache for blocks of local stores. With
// --store it is for rows of the remote one instead.
func (c *config) blockCacheBytes() int64 {
	if c.Store != "" {
		return 1 << 20
	}
	return int64(c.Cache) - c.responseBytes()
}

// generations opens the directory or the store that is to be served from.
func (c *config) generations(cache *pebblestore.Cache, observed *observer, log *slog.Logger) (source, error) {
	if c.Store != "" {
		return c.depot(observed)
	}
	catalog, err := dataset.Open(c.Data, func(name, dir string, readOnly bool) (cellstore.Store, error) {
		store, err := pebblestore.Open(dir, &pebblestore.Options{ReadOnly: readOnly, Cache: cache, Logger: log})
		if err != nil {
			return nil, err
		}
		return observed.stores.opened(store, name), nil
	})
	if err != nil {
		return source{}, err
	}
	return source{from: catalog.Generations, kind: "local", name: catalog.Dir(), patience: time.Hour, close: func() error { return nil }}, nil
}

// remotePatience is how long starting waits for a store that does not answer.
// The server then listens all the same, and is ready once the store is there.
const remotePatience = 5 * time.Second

func (c *config) depot(observed *observer) (source, error) {
	rows := rowcache.NewCache(int64(c.Cache) - c.responseBytes())
	observed.remote.cache = rows
	o := hbasedepot.Options{Data: c.Data, ReadOnly: true, Opened: func(s *hbasestore.Store, dataset string) cellstore.Store {
		counted := observed.remote.opened(s, dataset)
		if dataset == "" {
			return counted // what is published changes
		}
		return rowcache.New(counted, rowcache.Options{Cache: rows})
	}}
	if !c.IPIndex {
		o.Skip = []string{ipgeo.IndexName}
	}
	depot, err := hbasedepot.Open(c.Store, o)
	if err != nil {
		return source{}, err
	}
	return source{from: depot.Generations, kind: hbasestore.Scheme, name: depot.Name(), patience: remotePatience, close: depot.Close}, nil
}

// openAddresses makes the reader of IP ranges that the flags ask for.
func (c *config) openAddresses() func(*dataset.Generation) (httpapi.Addresses, error) {
	if c.IPIndex {
		return httpapi.OpenAddresses
	}
	return httpapi.OpenAddressTable
}

// together begins to follow data sets, all at once, and returns how many are
// served by then.
func together(ctx context.Context, patience time.Duration, follow ...func(ctx, first context.Context) bool) int {
	first, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	var serving atomic.Int64
	var wg sync.WaitGroup
	for _, f := range follow {
		wg.Go(func() {
			if f(ctx, first) {
				serving.Add(1)
			}
		})
	}
	wg.Wait()
	return int(serving.Load())
}
