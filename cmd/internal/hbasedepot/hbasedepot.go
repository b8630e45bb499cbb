// Package hbasedepot makes the depot of generations that --store names in both
// programs.
package hbasedepot

import (
	"context"
	"path/filepath"
	"strings"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/hbasestore"
)

// Options set how a program uses the depot.
type Options struct {
	// Data is the program's --data. It contains the local files that belong to stores.
	Data     string
	ReadOnly bool
	// Skip lists files that this machine does not need.
	Skip []string
	// WrapStore, unless nil, may wrap each opened store. The data set is "" for the depot's own store.
	WrapStore func(s *hbasestore.Store, dataset string) cellstore.Store
}

// filesDir is the directory below --data. No data set can have this name.
const filesDir = ".remote"

// Open returns the depot at an address; see hbasestore.ParseURL. It does not
// connect yet. The depot's Name, and errors, show no credentials.
func Open(address string, o Options) (*dataset.Depot, error) {
	store, err := hbasestore.ParseURL(address)
	if err != nil {
		return nil, err
	}
	store.ReadOnly = o.ReadOnly
	return dataset.OpenDepot(dataset.DepotOptions{
		Name: "hbase://" + strings.Join(store.Gateways, ",") + "/" + store.Namespace,
		Dir:  filepath.Join(o.Data, filesDir),
		Skip: o.Skip,
		Open: func(ctx context.Context, prefix string) (cellstore.Store, error) {
			own := store
			own.Prefix = prefix
			s, err := hbasestore.Open(ctx, own)
			if err != nil {
				return nil, err
			}
			if o.WrapStore == nil {
				return s, nil
			}
			name, _, _ := strings.Cut(prefix, ".")
			return o.WrapStore(s, name), nil
		},
	})
}

// Check returns an error if an address is invalid, without connecting. An empty address is valid.
func Check(address string) error {
	if address == "" {
		return nil
	}
	_, err := hbasestore.ParseURL(address)
	return err
}
