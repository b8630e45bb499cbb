package catalogue

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"net/netip"
	"os"
	"path/filepath"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/ipgeo"
)

// Addresses is what IP opens: lookups as fast as they can be had, and all ranges.
type Addresses interface {
	ipgeo.Lookuper
	All(ctx context.Context) iter.Seq2[*ipgeo.Result, error]
}

func openIP(g *dataset.Generation) (Addresses, error) {
	table, err := IPTable.Open(g)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(g.Dir, ipgeo.IndexName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return table, nil
	}
	index, err := ipgeo.OpenIndex(path)
	if err != nil {
		return nil, err
	}
	return watchedIndex{index, g, table}, nil
}

// watchedIndex has its generation looked at when a lookup fails. Stores do so
// by themselves. The table yields all ranges, which an index does not.
type watchedIndex struct {
	*ipgeo.Index
	generation *dataset.Generation
	table      *ipgeo.Reader
}

func (w watchedIndex) All(ctx context.Context) iter.Seq2[*ipgeo.Result, error] {
	return w.table.All(ctx)
}

func (w watchedIndex) Lookup(ctx context.Context, addr netip.Addr, res *ipgeo.Result) error {
	err := w.Index.Lookup(ctx, addr, res)
	if err != nil && errors.Is(err, cellstore.ErrCorrupt) {
		w.generation.Suspect(err)
	}
	return err
}
