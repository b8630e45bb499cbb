package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

// table is a cellstore.Table over a Pebble database of its own.
type table struct {
	source
	store  *Store
	db     *pebble.DB
	dbOpts *pebble.Options
	dir    string
	opened storedTable // the declaration at the opening of the database: its hints are in force

	// blocks counts the data blocks opened, from the files or the cache.
	blocks atomic.Int64

	// Every write holds gate for reading. An alteration and Close hold it for writing, so that they
	// run between writes.
	gate sync.RWMutex
	// altering is held while the stored declaration must not change. It is
	// taken before gate.
	altering sync.Mutex

	rows  rowLocks
	stock sync.Pool // of *writer

	disk   *disk
	upkeep upkeep

	// This field is guarded by source.mu.
	loads map[*bulk]struct{}
	snaps map[*snapshot]struct{}

	// long is the context of long calls. Close cancels it, and waits for jobs. Jobs are added under
	// source.mu.
	long   context.Context
	cancel context.CancelFunc
	jobs   sync.WaitGroup
}

var (
	_ cellstore.Table       = (*table)(nil)
	_ cellstore.StatsReader = (*table)(nil)
)

func newTable(s *Store, dir string, stored storedTable) (*table, error) {
	t := &table{
		store:  s,
		dir:    dir,
		opened: stored,
		loads:  map[*bulk]struct{}{},
		snaps:  map[*snapshot]struct{}{},
	}
	t.name, t.clock, t.failed = stored.Name, s.opts.Clock.Now, s.readFailed
	t.lay.Store(newLayout(stored.inForce(stored), stored))
	t.long, t.cancel = context.WithCancel(context.Background())
	t.upkeep.init()
	var err error
	t.disk, err = newDisk(s.fs, t.dbDir())
	return t, err
}

func (t *table) dbDir() string { return t.store.fs.PathJoin(t.dir, "db") }

// engineOptions returns the options of the table's database.
func (t *table) engineOptions(stored storedTable, readOnly bool) *pebble.Options {
	s := t.store
	log, logged := engineLog{s.opts.Logger}, new(said)
	keys := newKeySchema(&t.blocks)
	o := &pebble.Options{
		Cache:                   s.cache.blocks,
		FileCache:               s.cache.files,
		Comparer:                comparer,
		FS:                      t.disk,
		FormatMajorVersion:      pebble.FormatNewest,
		KeySchema:               keys.Name,
		KeySchemas:              sstable.MakeKeySchemas(keys),
		BlockPropertyCollectors: []func() pebble.BlockPropertyCollector{newTimeCollector},
		MemTableSize:            memTableBytes,
		Logger:                  log,
		ReadOnly:                readOnly,
		// The read that meets a damaged block reports it. The default listener
		// would end the process.
		EventListener: &pebble.EventListener{
			DataCorruption: func(info pebble.DataCorruptionInfo) {
				if !logged.lately(info.Path) {
					log.Errorf("%s is damaged: %v", info.Path, info.Details)
				}
			},
			BackgroundError: func(err error) {
				if t.disk.failure() == nil && !logged.lately(err.Error()) { // it is logged once
					log.Errorf("background error: %s", err)
				}
			},
			FlushEnd: func(info pebble.FlushInfo) {
				t.upkeep.flushed(info)
				t.upkeep.filed.Store(true)
				t.upkeep.wake()
			},
			CompactionEnd: func(pebble.CompactionInfo) { t.replaced() },
		},
	}
	stored.setLevels(o)
	// Writers wait in beginWrite instead. In the engine they would wait for ever if the disk is
	// full.
	o.L0StopWritesThreshold = 1 << 20
	o.Experimental.ReadSamplingMultiplier = -1 // reads start no compactions
	// The engine stores the values of all but the first key of a prefix in other blocks, on the
	// assumption that they are old versions. Here they are the other columns of the row.
	o.Experimental.SpanPolicyFunc = func([]byte) (pebble.SpanPolicy, []byte, error) {
		return pebble.SpanPolicy{
			DisableValueSeparationBySuffix: true,
			ValueStoragePolicy:             pebble.ValueStorageLowReadLatency,
		}, nil, nil
	}
	return o
}

// openTable opens an existing table. If the disk has no room for the writes of opening, it opens
// the table for reading only; see Recover. again is set if this process had the table open before.
func openTable(s *Store, stored storedTable, again bool) (*table, error) {
	t, err := newTable(s, s.path("tables", stored.Name), stored)
	if err != nil {
		return nil, err
	}
	err = t.check(stored, again)
	if err == nil && !s.opts.ReadOnly {
		if err = s.room(t.dir); err == nil {
			err = t.openForWriting(stored)
		}
		if err == nil {
			t.startUpkeep()
			return t, nil
		}
		if !refused(err) {
			return nil, err
		}
		t.disk.fail(err)
		s.warn("the disk refuses what opening a table for writing needs: it can be read, and takes writes when it is recovered",
			"table", t.name, "error", err)
		t.disk.ledger, err = nil, nil // it was closed
		t.disk.begun.Store(false)
	}
	if err == nil {
		t.dbOpts = t.engineOptions(stored, true)
		t.dbOpts.ErrorIfNotExists = true
		t.db, err = pebble.Open(t.dbDir(), t.dbOpts)
	}
	if err != nil {
		return nil, damage(err)
	}
	t.from = t.db
	return t, nil
}

// refused reports whether an error is one from writing.
func refused(err error) bool {
	return errors.Is(err, errRefused) || errors.Is(noSpace(err), cellstore.ErrNoSpace)
}

// check compares the files of the table with its ledger. At the first opening it logs the bytes
// that a crash has left beyond the recorded ones.
func (t *table) check(stored storedTable, again bool) error {
	fsys, path := t.store.fs, t.ledgerPath()
	// The table of a newer engine is left as it is, because openForWriting would remove the seal
	// from its ledger.
	if _, err := pebble.Peek(t.dbDir(), fsys); newerEngine(err) {
		return err
	}
	counts, err := t.ledgered(stored)
	if err != nil {
		return err
	}
	if !counts {
		return checkManifest(fsys, t.dbDir(), t.store.opts.ReadOnly)
	}
	clean, entries, _, err := readLedger(fsys, path)
	if err != nil {
		return err
	}
	if err := checkFiles(fsys, t.dbDir(), clean, entries); err != nil {
		return err
	}
	if !clean && !again && !t.store.opts.ReadOnly {
		t.tellUnfinished(entries)
	}
	return nil
}

// ledgered reports whether the table has a valid ledger. It is not valid if a program without
// ledgers has written to the database since.
func (t *table) ledgered(stored storedTable) (bool, error) {
	if !stored.ledger {
		return false, nil
	}
	_, entries, _, err := readLedger(t.store.fs, t.ledgerPath())
	switch {
	case err != nil:
		return false, err
	case entries == nil:
		return false, fmt.Errorf("%w: %s is missing", cellstore.ErrCorrupt, t.ledgerPath())
	case stored.format > schemaFormat: // such a program does not open it
		return true, nil
	}
	last, err := lastOptions(t.store.fs, t.dbDir())
	if err != nil {
		return false, err
	}
	_, known := entries[last]
	return known || last == "", nil
}

func (t *table) ledgerPath() string { return t.store.fs.PathJoin(t.dir, ledgerName) }

// openForWriting opens the database of a table that has been checked.
func (t *table) openForWriting(stored storedTable) error {
	fsys := t.store.fs
	if err := fsys.Remove(fsys.PathJoin(t.dir, probeName)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	counts, err := t.ledgered(stored)
	if err != nil {
		return err
	}
	if !counts {
		// If there is a ledger, it is older than the last writes, which an earlier program made.
		if err := makeLedger(fsys, t.ledgerPath(), t.dbDir()); err != nil {
			return err
		}
		stored.ledger = true
		if err := writeSchema(fsys, fsys.PathJoin(t.dir, "schema.json"), stored); err != nil {
			return err
		}
	}
	_, entries, sequence, err := readLedger(fsys, t.ledgerPath())
	if err != nil {
		return err
	}
	if t.disk.ledger, err = openLedger(fsys, t.ledgerPath(), entries, sequence); err != nil {
		return err
	}
	t.dbOpts = t.engineOptions(stored, false)
	t.dbOpts.ErrorIfNotExists = true
	t.db, err = pebble.Open(t.dbDir(), t.dbOpts)
	if err == nil {
		t.from = t.db
		err = t.disk.failure()
		if err == nil {
			err = t.disk.ledger.opened()
		}
		if err == nil {
			err = cmp.Or(t.clearDropped(stored), t.disk.failure())
		}
		if err == nil {
			return nil
		}
		err = errors.Join(err, t.db.Close())
	}
	return errors.Join(cmp.Or(t.disk.failure(), damage(err)), t.disk.ledger.close(false))
}

// tellUnfinished logs the bytes that a crash has left at the end of the logs. They were not
// acknowledged.
func (t *table) tellUnfinished(entries map[string]extent) {
	fsys := t.store.fs
	logs, err := wal.Scan(wal.Dir{FS: fsys, Dirname: t.dbDir()})
	if err != nil || len(logs) == 0 {
		return // the engine will say so
	}
	last := logs[len(logs)-1]
	r := last.OpenForRead()
	defer func() { _ = r.Close() }() // it was only read
	var at wal.Offset
	for {
		var record io.Reader
		if record, at, err = r.NextRecord(); err == nil {
			_, err = io.Copy(io.Discard, record)
		}
		if err != nil {
			break
		}
	}
	name := fsys.PathBase(at.PhysicalFile)
	info, statErr := fsys.Stat(at.PhysicalFile)
	if statErr != nil {
		return
	}
	var dropped int64
	if err != io.EOF { //nolint:errorlint // wrapped, it would be a record cut short
		dropped = max(info.Size()-at.Physical, 0)
	}
	t.store.warn("the table was not closed: its log is read as far as it is whole",
		"table", t.name, "log", name, "bytes", info.Size(), "acknowledged", entries[name].bytes, "dropped", dropped)
}

// checkManifest reads the engine's list of files (its MANIFEST) to the end, for a table without a
// ledger. The engine takes a damaged record for one that a crash cut short, and stops there. Files,
// and the rows in them, would then disappear without an error. A store that was closed by its
// writer has no record that a crash cut short. strict is set if the writer is known to have closed
// the store.
func checkManifest(fsys vfs.FS, dir string, strict bool) error {
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
		case err == io.EOF, //nolint:errorlint // wrapped, it would be a record cut short
			!strict && errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return fmt.Errorf("%w: list of files %s: %w (if the process that wrote it crashed, open the store for writing once)",
				cellstore.ErrCorrupt, desc.ManifestFilename, err)
		}
	}
}

// close waits for running calls, ends open loads, snapshots and readers, and closes the database.
// From then on calls return the error why.
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
	errs = append(errs, t.db.Close())
	if !t.dbOpts.ReadOnly { // a table opened for reading has nothing to lose
		errs = append(errs, t.disk.failure())
	}
	err := errors.Join(errs...)
	return errors.Join(err, t.disk.ledger.close(err == nil))
}

// job begins a long call. It returns a context that ends with the caller's and at Close, and a
// function to call at the end.
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
