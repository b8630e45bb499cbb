package ask

import (
	"context"
	"errors"
	"io/fs"
	"iter"
	"net/netip"
	"os"
	"path/filepath"
	"sync/atomic"

	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/ipgeo"
)

// AddressReader reads a generation of IP ranges: an *ipgeo.Reader, or one that also has an index.
type AddressReader interface {
	ipgeo.Lookuper
	All(ctx context.Context) iter.Seq2[*ipgeo.Result, error]
}

// openAddresses opens the table, with the index if there is one.
func openAddresses(g *dataset.Generation) (AddressReader, error) {
	table, err := AddressTable.Open(g)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(g.Dir, ipgeo.IndexFileName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return table, nil
	}
	index, err := ipgeo.OpenIndex(path)
	if err != nil {
		return nil, err
	}
	w := &checkedIndex{index: index, table: table, suspect: g.ReportReadFailure, checked: make(chan struct{})}
	var ctx context.Context
	ctx, w.stop = context.WithCancel(context.Background())
	go w.check(ctx)
	return w, nil
}

// checkedIndex answers from an index after a check has found it undamaged. Before the check, and if
// it fails, it answers from the table, which checks each read. It reports damage of the index to
// its generation.
type checkedIndex struct {
	index   *ipgeo.Index
	table   *ipgeo.Reader
	suspect func(error)

	whole   atomic.Bool
	stop    context.CancelFunc
	checked chan struct{}
}

func (w *checkedIndex) check(ctx context.Context) {
	defer close(w.checked)
	switch err := w.index.Verify(ctx); {
	case err == nil:
		w.whole.Store(true)
	case ctx.Err() == nil:
		w.suspect(err)
	}
}

// All yields the ranges of the table, because an index cannot list its ranges.
func (w *checkedIndex) All(ctx context.Context) iter.Seq2[*ipgeo.Result, error] {
	return w.table.All(ctx)
}

// Lookup implements ipgeo.Lookuper.
func (w *checkedIndex) Lookup(ctx context.Context, addr netip.Addr, res *ipgeo.Result) error {
	if w.whole.Load() {
		err := w.index.Lookup(ctx, addr, res)
		if err == nil || !errors.Is(err, cellstore.ErrCorrupt) {
			return err
		}
		w.whole.Store(false)
		w.suspect(err)
	}
	return w.table.Lookup(ctx, addr, res)
}

// Close ends the mapping of the index. No lookup may be running.
func (w *checkedIndex) Close() error {
	w.stop()
	<-w.checked
	return w.index.Close()
}
