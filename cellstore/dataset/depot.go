package dataset

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"quadrille/cellstore"
)

// DepotOptions give the location of a Depot. Open and Dir are required.
type DepotOptions struct {
	// Open opens a view of the store in which all table names have a prefix. With the empty prefix
	// it is the store of the Depot's own table. It is called for each opened generation, and must
	// not wait longer than ctx.
	Open func(ctx context.Context, prefix string) (cellstore.Store, error)
	// Dir is a directory of this machine for the files beside a generation's
	// store. They are fetched when the generation is opened, and kept while it is listed. The
	// directory is created if it is missing, and several programs may share it.
	Dir string
	// Name is the Depot's name in messages. It must not hold secrets.
	Name string
	// Skip names files that are not fetched, by their path in the manifest.
	Skip []string
}

// Depot keeps generations of data sets in a store that is reached over a
// network, for any number of servers on any number of machines. Push fills it from a Catalog, in
// which the data sets are built. Its methods may be called by any number of goroutines.
//
// Everything is in one store:
//
//	table datasets
//	  row places                          p:current  the pointer, as CURRENT has it
//	                                      p:lease    who pushes, and until when
//	  row places/g0000000007              m:manifest, and while it is pushed
//	                                      m:load and m:part/…, how far that is
//	  row places/g0000000007/ip.idx/00000000   f:c   a file beside the store, in pieces
//	table places.g0000000007.cells        a table of that generation
//
// The pointer is replaced by a check-and-put of its whole content, so a publish, a rollback or a
// prune acts on the stored state or not at all. An unlisted generation whose row records a load or
// a removal is left over from a killed push or prune; the next push or prune removes it. A complete
// unlisted generation stays, as in a Catalog.
//
// A Depot does not know its readers. So a generation stays for some time after another has replaced
// it; see [Generations.Prune].
type Depot struct {
	*Generations

	opts DepotOptions

	opening chan struct{} // holds an element while the Depot's own store is being opened

	mu       sync.Mutex
	root     cellstore.Store
	tab      cellstore.Table
	closed   bool
	failed   error     // the last attempt to open root, and
	failedAt time.Time // when it failed

	leaseFor, patience time.Duration // the constants, unless a test changes them
}

// OpenDepot returns a Depot. The store need not answer yet: each call that
// needs it tries to open it.
func OpenDepot(o DepotOptions) (*Depot, error) {
	if o.Open == nil || o.Dir == "" {
		return nil, errors.New("a depot needs an opener of stores and a directory for files: name both")
	}
	dir, err := filepath.Abs(o.Dir)
	if err != nil {
		return nil, err
	}
	o.Dir = dir
	if o.Name == "" {
		o.Name = "the depot"
	}
	d := &Depot{opts: o, opening: make(chan struct{}, 1), leaseFor: leaseFor, patience: patience}
	d.Generations = &Generations{back: d, place: o.Name, fill: "push", now: time.Now}
	return d, nil
}

// Name returns the name in the options.
func (d *Depot) Name() string { return d.opts.Name }

// Close closes the Depot's own store, not the generations that are open.
func (d *Depot) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	s := d.root
	d.root, d.tab = nil, nil
	if s == nil {
		return nil
	}
	return s.Close()
}

// These are the table of a Depot and its columns.
const (
	depotTable = "datasets"

	familyPointer  = "p"
	familyManifest = "m"
	familyFile     = "f"
)

var (
	columnCurrent  = []byte("current")
	columnLease    = []byte("lease")
	columnManifest = []byte("manifest")
	columnLoad     = []byte("load")
	columnRemoving = []byte("removing")
	columnChunk    = []byte("c")
)

// chunkBytes is the size of the pieces of files.
const chunkBytes = 1 << 20

// store returns the Depot's own store, and opens it if necessary. One goroutine at a time tries to
// open it, and the waiting ones use its result.
func (d *Depot) store(ctx context.Context) (cellstore.Store, error) {
	if s, err := d.opened(); s != nil || err != nil {
		return s, err
	}
	asked := time.Now()
	select {
	case d.opening <- struct{}{}:
		defer func() { <-d.opening }()
	case <-ctx.Done():
		return nil, fmt.Errorf("open %s: %w", d.opts.Name, errors.Join(cellstore.ErrUnavailable, ctx.Err()))
	}
	if s, err := d.opened(); s != nil || err != nil {
		return s, err
	}
	d.mu.Lock()
	failed, at := d.failed, d.failedAt
	d.mu.Unlock()
	if failed != nil && at.After(asked) {
		return nil, failed
	}
	s, err := d.opts.Open(ctx, "")
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		if ctx.Err() == nil { // otherwise only this caller ran out of time
			d.failed, d.failedAt = err, time.Now()
		}
		return nil, err
	}
	if d.closed {
		return nil, errors.Join(cellstore.ErrClosed, s.Close())
	}
	d.root = s
	return s, nil
}

// opened returns the store if it is open.
func (d *Depot) opened() (cellstore.Store, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, fmt.Errorf("%s: %w", d.opts.Name, cellstore.ErrClosed)
	}
	return d.root, nil
}

// closeRead closes the store of a generation. Its error does not matter, because every write has
// been acknowledged by then.
func closeRead(s cellstore.Store) { _ = s.Close() }

// table returns the Depot's own table, or nil if there is none yet.
func (d *Depot) table(ctx context.Context) (cellstore.Table, error) {
	s, err := d.store(ctx)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	t := d.tab
	d.mu.Unlock()
	if t != nil {
		return t, nil
	}
	t, err = s.Table(ctx, depotTable)
	if errors.Is(err, cellstore.ErrTableNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.tab = t
	d.mu.Unlock()
	return t, nil
}

// forget drops the reference to the open table after its removal has been detected.
func (d *Depot) forget() {
	d.mu.Lock()
	d.tab = nil
	d.mu.Unlock()
}

// create makes the Depot's own table, if necessary.
func (d *Depot) create(ctx context.Context) (cellstore.Table, error) {
	t, err := d.table(ctx)
	if t != nil || err != nil {
		return t, err
	}
	s, err := d.store(ctx)
	if err != nil {
		return nil, err
	}
	err = s.CreateTable(ctx, cellstore.Schema{Table: depotTable, Families: []cellstore.Family{
		{Name: familyPointer}, {Name: familyManifest}, {Name: familyFile},
	}})
	if err != nil && !errors.Is(err, cellstore.ErrTableExists) {
		return nil, err
	}
	return s.Table(ctx, depotTable)
}

// get reads one column of the Depot's table. It returns nil if there is none.
func (d *Depot) get(ctx context.Context, row, family string, column []byte) ([]byte, error) {
	t, err := d.table(ctx)
	if t == nil || err != nil {
		return nil, err
	}
	var r cellstore.Row
	_, err = t.Get(ctx, []byte(row), &cellstore.Selection{Columns: []cellstore.Column{{Family: family, Qualifier: column}}}, &r)
	if errors.Is(err, cellstore.ErrTableNotFound) {
		d.forget()
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	v, _ := r.Value(family, column)
	return v, nil
}

// generationRow returns the row of a generation. With a dot after it, it also begins the names of
// the generation's tables.
func generationRow(dataset string, generation uint64) string {
	return dataset + "/" + generationName(generation)
}

func tablePrefix(dataset string, generation uint64) string {
	return dataset + "." + generationName(generation) + "."
}

// retryable reports whether a call that failed with err may succeed if sent again. The call must be
// one that may be sent twice.
func retryable(ctx context.Context, err error) bool {
	return ctx.Err() == nil && (errors.Is(err, cellstore.ErrUnavailable) || errors.Is(err, cellstore.ErrUnknownOutcome) ||
		errors.Is(err, context.DeadlineExceeded))
}

// patience is the time for which a push retries a call that the store does not answer. A cluster
// takes minutes to replace a server that died.
const patience = 5 * time.Minute

// patiently calls f until it succeeds, fails for good, or patience is over. f
// may take effect twice.
func (d *Depot) patiently(ctx context.Context, f func() error) error {
	pauses := &backoff.ExponentialBackOff{InitialInterval: 100 * time.Millisecond, MaxInterval: 5 * time.Second, Multiplier: 2}
	_, err := backoff.Retry(ctx, func() (none struct{}, err error) {
		if err = f(); err != nil && !retryable(ctx, err) {
			err = backoff.Permanent(err)
		}
		return none, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxElapsedTime(max(d.patience, 1))) // 0 would mean no end
	return err
}
