// Package published opens the data sets that ingest has published in a directory of this machine,
// for programs that read them without a server:
//
//	g, err := published.Open(ctx, "data", "boundaries")
//	…
//	defer g.Close()
//	r, err := tiles.OpenPublished(ctx, g)
//	…
//	regions, err := r.At(ctx, 47.37, 8.54)
//
// A program that follows new generations uses dataset.Live instead, with
// Catalog.
package published

import (
	"context"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/pebblestore"
)

// Open opens the published generation of a data set, read-only. The error matches
// dataset.ErrNoGeneration if there is none. The caller closes it.
func Open(ctx context.Context, dir, name string) (*dataset.Generation, error) {
	c, err := OpenCatalog(dir)
	if err != nil {
		return nil, err
	}
	return c.OpenCurrent(ctx, name)
}

// OpenCatalog returns the data sets of a directory, each generation in a store of
// package pebblestore with default options.
func OpenCatalog(dir string) (*dataset.Catalog, error) {
	return dataset.Open(dir, func(_, dir string, readOnly bool) (cellstore.Store, error) {
		return pebblestore.Open(dir, &pebblestore.Options{ReadOnly: readOnly})
	})
}
