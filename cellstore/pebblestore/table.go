package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// table is a cellstore.Table over a Pebble database of its own.
type table struct {
	source
	store  *Store
	db     *pebble.DB
	dbOpts *pebble.Options
	dir    string
	opened storedTable // as it was when the database was opened: its hints are in force

	// blocks counts the data blocks opened, from the files or the cache.
	blocks atomic.Int64

	// gate is held for reading by every write, and for writing by what comes
	// between writes: an alteration, and Close.
	gate sync.RWMutex
	// altering is held while the stored declaration must not change. It is
	// taken before gate.
	altering sync.Mutex

	rows  rowLocks
	stock sync.Pool // of *writer

	log    logFS
	upkeep upkeep

	// Guarded by source.mu.
	loads map[*bulk]struct{}
	snaps map[*snapshot]struct{}

	// long is the context of what runs long, cancelled by Close, which waits
	// for jobs. They are added under source.mu.
	long   context.Context
	cancel context.CancelFunc
	jobs   sync.WaitGroup
}

var (
	_ cellstore.Table       = (*table)(nil)
	_ cellstore.StatsReader = (*table)(nil)
)

func openTable(s *Store, stored storedTable) (*table, error) {
	t := &table{
		store:  s,
		dir:    s.path("tables", stored.Name),
		opened: stored,
		loads:  map[*bulk]struct{}{},
		snaps:  map[*snapshot]struct{}{},
	}
	t.name, t.clock, t.failed = stored.Name, s.now, s.readFailed
	t.lay.Store(newLayout(stored.inForce(stored), stored))
	t.long, t.cancel = context.WithCancel(context.Background())
	t.log.FS = s.fs
	log := engineLog{s.opts.Logger}
	keys := newKeySchema(&t.blocks)
	o := &pebble.Options{
		Cache:                   s.cache.blocks,
		FileCache:               s.cache.files,
		Comparer:                comparer,
		FS:                      &t.log,
		FormatMajorVersion:      pebble.FormatNewest,
		KeySchema:               keys.Name,
		KeySchemas:              sstable.MakeKeySchemas(keys),
		BlockPropertyCollectors: []func() pebble.BlockPropertyCollector{newTimeCollector},
		MemTableSize:            memTableBytes,
		Logger:                  log,
		ReadOnly:                s.opts.ReadOnly,
		// The read that meets a damaged block reports it. The default listener
		// would end the process.
		EventListener: &pebble.EventListener{
			DataCorruption:  func(info pebble.DataCorruptionInfo) { log.Errorf("%s", info) },
			BackgroundError: func(err error) { log.Errorf("background error: %s", err) },
			FlushEnd:        t.upkeep.flushed,
		},
	}
	stored.setLevels(o)
	o.Experimental.ReadSamplingMultiplier = -1 // reads start no compactions
	// The engine sets the values of all but the first key of a prefix apart,
	// on the assumption that they are old versions. Here they are the other
	// columns of the row.
	o.Experimental.SpanPolicyFunc = func([]byte) (pebble.SpanPolicy, []byte, error) {
		return pebble.SpanPolicy{
			DisableValueSeparationBySuffix: true,
			ValueStoragePolicy:             pebble.ValueStorageLowReadLatency,
		}, nil, nil
	}
	t.dbOpts = o
	dir := s.fs.PathJoin(t.dir, "db")
	if s.opts.ReadOnly {
		if err := checkManifest(s.fs, dir); err != nil {
			return nil, err
		}
	}
	db, err := pebble.Open(dir, o)
	if err != nil {
		return nil, err
	}
	t.db, t.from = db, db
	if !s.opts.ReadOnly {
		if err := t.clearDropped(stored); err != nil {
			return nil, errors.Join(err, db.Close())
		}
		t.startUpkeep()
	}
	return t, nil
}

// checkManifest reads the engine's list of files to its end. The engine takes
// a damaged record for one cut short by a crash and stops there, which would
// make files, and the rows in them, disappear without an error. A store that
// was closed by its writer has no such record.
func checkManifest(fsys vfs.FS, dir string) error {
	desc, err := pebble.Peek(dir, fsys)
	if err != nil {
		return err
	}
	if !desc.Exists {
		return pebble.ErrDBDoesNotExist
	}
	f, err := fsys.Open(desc.ManifestFilename)
	if err != nil {
		return err
	}
	defer f.Close()
	for records := record.NewReader(f, 0); ; {
		r, err := records.Next()
		if err == nil {
			_, err = io.Copy(io.Discard, r)
		}
		switch {
		case err == io.EOF: //nolint:errorlint // wrapped, it would be a record cut short
			return nil
		case err != nil:
			return fmt.Errorf("%w: list of files %s: %w (if the process that wrote it crashed, open the store for writing once)",
				cellstore.ErrCorrupt, desc.ManifestFilename, err)
		}
	}
}

// close waits for running calls, ends what is open and closes the database.
// Calls answer why from then on.
func (t *table) close(why error) error {
	if !t.end(why) {
		return nil
	}
	t.gate.Lock()
	t.gate.Unlock() //nolint:staticcheck // nothing to do under it: it waited for the writes
	t.cancel()
	t.jobs.Wait()

	t.mu.Lock()
	loads, snaps := t.loads, t.snaps
	t.loads, t.snaps = nil, nil
	t.mu.Unlock()
	var errs []error
	for l := range loads {
		errs = append(errs, l.close(why))
	}
	for s := range snaps {
		errs = append(errs, s.close(why))
	}
	t.closeReaders()
	return errors.Join(append(errs, t.db.Close(), t.log.failure())...)
}

// job begins something that runs long. It returns a context that ends with the
// caller's and at Close, and a function to call at the end.
func (t *table) job(ctx context.Context) (context.Context, func(), error) {
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over != nil {
		return nil, nil, t.over
	}
	t.jobs.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(t.long, cancel)
	return ctx, func() {
		stop()
		cancel()
		t.jobs.Done()
	}, nil
}

// Schema implements cellstore.Table.
func (t *table) Schema() cellstore.Schema {
	s := t.lay.Load().Schema
	s.Families = append([]cellstore.Family(nil), s.Families...)
	return s
}
