package pebblestore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// Store is a cellstore.Store in a directory. All its methods, and those of
// its tables, may be called by any number of goroutines.
type Store struct {
	dir   string
	opts  Options
	fs    vfs.FS
	cache *Cache
	lock  io.Closer // nil when read-only

	mu     sync.Mutex
	closed bool
	tables map[string]*table // those opened so far

	latest atomic.Int64 // the latest time the clock has shown

	onFailure atomic.Pointer[func(error)]
}

var (
	_ cellstore.Store       = (*Store)(nil)
	_ cellstore.StatsReader = (*Store)(nil)
)

// Open opens the store in dir, creating it unless it is read-only. A second
// writable opener, in this process or another, gets cellstore.ErrLocked.
// What interrupted loads and table creations left behind is removed.
func Open(dir string, opts *Options) (*Store, error) {
	o := opts.withDefaults()
	if o.FS == vfs.Default { // whose locks within a process go by name
		abs, err := filepath.Abs(dir)
		if err != nil {
			return nil, fail("Open", "", nil, err)
		}
		dir = abs
	}
	s := &Store{dir: dir, opts: o, fs: o.FS, tables: map[string]*table{}}
	if o.ReadOnly {
		s.fs = readOnlyFS{o.FS}
		if _, err := s.fs.Stat(dir); err != nil {
			return nil, fail("Open", "", nil, err)
		}
	} else if err := s.prepare(); err != nil {
		return nil, fail("Open", "", nil, err)
	}
	if o.Cache != nil {
		s.cache = o.Cache.ref()
	} else {
		s.cache = NewCache(o.CacheBytes)
	}
	return s, nil
}

// prepare locks the directory and clears leftovers.
func (s *Store) prepare() error {
	if err := makeDir(s.fs, s.path("tables")); err != nil {
		return err
	}
	lock, err := s.fs.Lock(s.path("LOCK"))
	if err != nil {
		var path *fs.PathError
		if errors.As(err, &path) { // the lock file itself cannot be made
			return err
		}
		return fmt.Errorf("%w: close it there or open it read-only: %w", cellstore.ErrLocked, err)
	}
	if err := s.clean(); err != nil {
		return errors.Join(err, lock.Close())
	}
	s.lock = lock
	return nil
}

func (s *Store) clean() error {
	names, err := s.fs.List(s.path("tables"))
	if err != nil {
		return err
	}
	for _, name := range names {
		left := s.path("tables", name)
		switch exists, err := s.exists(name); {
		case err != nil:
			return err
		case exists:
			left = s.path("tables", name, "bulk")
		}
		if err := s.fs.RemoveAll(left); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func (s *Store) path(elem ...string) string {
	return s.fs.PathJoin(append([]string{s.dir}, elem...)...)
}

func (s *Store) exists(table string) (bool, error) {
	_, err := s.fs.Stat(s.path("tables", table, "schema.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// CreateTable implements cellstore.Store.
func (s *Store) CreateTable(ctx context.Context, schema cellstore.Schema) error {
	if err := s.createTable(ctx, schema); err != nil {
		return fail("CreateTable", schema.Table, nil, err)
	}
	return nil
}

func (s *Store) createTable(ctx context.Context, schema cellstore.Schema) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	schema, err := schema.Normalize()
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return cellstore.ErrClosed
	case s.opts.ReadOnly:
		return cellstore.ErrReadOnly
	}
	if exists, err := s.exists(schema.Table); err != nil {
		return err
	} else if exists {
		return cellstore.ErrTableExists
	}
	stored := newStoredTable(schema)
	t, err := openTable(s, stored)
	if err != nil {
		return err
	}
	dir := s.path("tables", schema.Table)
	err = writeSchema(s.fs, s.fs.PathJoin(dir, "schema.json"), stored)
	if err == nil {
		err = syncDir(s.fs, s.path("tables"))
	}
	if err != nil {
		return errors.Join(err, t.close(cellstore.ErrClosed), s.fs.RemoveAll(dir))
	}
	s.tables[schema.Table] = t
	return nil
}

// Tables implements cellstore.Store.
func (s *Store) Tables(ctx context.Context) ([]string, error) {
	names, err := s.listTables(ctx)
	if err != nil {
		return nil, fail("Tables", "", nil, err)
	}
	return names, nil
}

func (s *Store) listTables(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, cellstore.ErrClosed
	}
	all, err := s.fs.List(s.path("tables"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, name := range all {
		if exists, err := s.exists(name); err != nil {
			return nil, err
		} else if exists {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Table implements cellstore.Store. The table stays open until the store is
// closed.
func (s *Store) Table(ctx context.Context, name string) (cellstore.Table, error) {
	t, err := s.table(ctx, name)
	if err != nil {
		return nil, fail("Table", name, nil, err)
	}
	return t, nil
}

func (s *Store) table(ctx context.Context, name string) (*table, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tableLocked(name)
}

func (s *Store) tableLocked(name string) (*table, error) {
	if s.closed {
		return nil, cellstore.ErrClosed
	}
	if t := s.tables[name]; t != nil {
		return t, nil
	}
	// The name becomes a path: nothing but a valid one may.
	probe := cellstore.Schema{Table: name, Families: []cellstore.Family{{Name: "f"}}}
	if _, err := probe.Normalize(); err != nil {
		return nil, cellstore.ErrTableNotFound
	}
	if exists, err := s.exists(name); err != nil {
		return nil, err
	} else if !exists {
		return nil, cellstore.ErrTableNotFound
	}
	stored, err := readSchema(s.fs, s.path("tables", name, "schema.json"), name)
	if err != nil {
		return nil, err
	}
	t, err := openTable(s, stored)
	if err != nil {
		return nil, missing(err)
	}
	s.tables[name] = t
	return t, nil
}

// Capabilities implements cellstore.Store.
func (s *Store) Capabilities() cellstore.Capabilities {
	return capabilities
}

var capabilities = cellstore.Capabilities{
	SnapshotScan:      true,
	MixedMutation:     true,
	CellTimestamps:    true,
	CounterTimestamps: true,
	AtomicBatch:       true,
	Bulk:              true,
	Snapshot:          true,
	Checkpoint:        true,
}

// Limits implements cellstore.Store.
func (s *Store) Limits() cellstore.Limits { return cellstore.DefaultLimits }

// Close implements cellstore.Store. Loads not committed are aborted; a scan
// in progress ends with ErrClosed at its next row.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	var errs []error
	for _, t := range s.tables {
		errs = append(errs, t.close(cellstore.ErrClosed))
	}
	s.cache.Close()
	if s.lock != nil {
		errs = append(errs, s.lock.Close())
	}
	if err := errors.Join(errs...); err != nil {
		return fail("Close", "", nil, err)
	}
	return nil
}

// OnReadFailure sets the function that is called for every read that fails
// because of the files: damage, which matches cellstore.ErrCorrupt, or an error of
// the disk. It is not called for invalid arguments and cancelled reads. f runs
// within the read, in any number of goroutines at once: it must not wait, nor call
// the store. It replaces the function set before; nil removes it.
func (s *Store) OnReadFailure(f func(error)) {
	if f == nil {
		s.onFailure.Store(nil)
		return
	}
	s.onFailure.Store(&f)
}

func (s *Store) readFailed(err error) {
	if f := s.onFailure.Load(); f != nil {
		(*f)(classify(err))
	}
}

// Stats implements cellstore.StatsReader for all tables opened so far.
func (s *Store) Stats() cellstore.IOStats {
	s.mu.Lock()
	defer s.mu.Unlock()
	var sum cellstore.IOStats
	for _, t := range s.tables {
		sum = addStats(sum, t.Stats())
	}
	return sum
}
