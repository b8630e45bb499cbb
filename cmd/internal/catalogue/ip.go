package catalogue

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/ipgeo"
)

func openIP(g *dataset.Generation) (ipgeo.Lookuper, error) {
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
	return watchedIndex{index, g}, nil
}

// watchedIndex has its generation looked at when a lookup fails. Stores do so
// by themselves.
type watchedIndex struct {
	*ipgeo.Index
	generation *dataset.Generation
}

func (w watchedIndex) Lookup(ctx context.Context, addr netip.Addr, res *ipgeo.Result) error {
	err := w.Index.Lookup(ctx, addr, res)
	if err != nil && errors.Is(err, cellstore.ErrCorrupt) {
		w.generation.Suspect(err)
	}
	return err
}
