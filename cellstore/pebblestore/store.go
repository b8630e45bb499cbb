package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
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

	troubles sync.Map // why tables take no writes: func() error by name

	onFailure atomic.Pointer[func(error)]
}

var (
	_ cellstore.Store       = (*Store)(nil)
	_ cellstore.StatsReader = (*Store)(nil)
	_ cellstore.Recoverer   = (*Store)(nil)
)

// Open opens the store in dir, creating it unless it is read-only. A second writable opener, in
// this process or another, gets cellstore.ErrLocked. Open removes the remains of interrupted loads,
// creations and removals of tables, which it recognises by name. A table whose files are damaged or
// missing is left as it is, and its calls return cellstore.ErrCorrupt. The other tables are not
// affected.
func Open(dir string, opts *Options) (*Store, error) {
	o := opts.withDefaults()
	s := &Store{dir: dir, opts: o, fs: o.FS, tables: map[string]*table{}}
	if o.ReadOnly {
		s.fs = readOnlyFS{o.FS}
		if _, err := s.fs.Stat(dir); err != nil {
			return nil, fail("Open", "", nil, err)
		}
	} else if err := s.prepare(); err != nil {
		return nil, fail("Open", "", nil, noSpace(err))
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
	_, err := s.fs.Stat(s.path("LOCK"))
	used := err == nil
	if _, err := s.fs.Stat(s.path("tables")); used && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s has been a store, and its tables are missing: restore them, or remove %s to begin an empty one: %w",
			cellstore.ErrCorrupt, s.dir, s.path("LOCK"), err)
	}
	other, err := s.foreign()
	if err != nil {
		return err
	}
	if !used && other != "" {
		return fmt.Errorf("%s is no store, and it is not empty: it has %s: name a new or empty directory, or use the "+
			"program that wrote this one", s.dir, other)
	}
	if err := makeDir(s.fs, s.path("tables")); err != nil {
		return err
	}
	if s.lock, err = lockStore(s.fs, s.path("LOCK")); err != nil {
		return err
	}
	if err := s.clean(); err != nil {
		return errors.Join(err, s.lock.Close())
	}
	return nil
}

// foreign returns the name of a file in a directory without tables. It ignores hidden files and
// those that systems put on a new disk.
func (s *Store) foreign() (found string, err error) {
	names, err := s.fs.List(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	for _, name := range names {
		switch {
		case name == "tables":
			return "", nil
		case name != "lost+found" && !strings.HasPrefix(name, "."):
			found = name
		}
	}
	return found, nil
}

// These are prefixes of removable directories in the directory tables. No name of a table begins
// with one of them.
const (
	newPrefix     = ".new-"     // not created yet
	droppedPrefix = ".dropped-" // no table any more
)

func (s *Store) clean() error {
	names, err := s.fs.List(s.path("tables"))
	if err != nil {
		return err
	}
	for _, name := range names {
		left := s.path("tables", name, "bulk")
		if strings.HasPrefix(name, newPrefix) || strings.HasPrefix(name, droppedPrefix) {
			left = s.path("tables", name)
		}
		if _, err := s.fs.Stat(left); err != nil {
			continue
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

// exists reports whether a table exists. A table exists as long as its directory does, even if
// files are missing.
func (s *Store) exists(table string) (bool, error) {
	// The name becomes a path, so it must be a valid one.
	probe := cellstore.Schema{Table: table, Families: []cellstore.Family{{Name: "f"}}}
	if _, err := probe.Normalize(); err != nil {
		return false, nil //nolint:nilerr // nothing has such a name
	}
	info, err := s.fs.Stat(s.path("tables", table))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && info.IsDir(), err
}

// find returns an error unless the table exists.
func (s *Store) find(table string) error {
	if s.closed {
		return cellstore.ErrClosed
	}
	exists, err := s.exists(table)
	if err == nil && !exists {
		err = cellstore.ErrTableNotFound
	}
	return err
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
	if err := s.makeTable(newStoredTable(schema)); err != nil {
		return noSpace(err)
	}
	t, err := openTable(s, newStoredTable(schema), false)
	if err != nil {
		return err
	}
	s.keep(t)
	return nil
}

// keep adds a table to the open tables.
func (s *Store) keep(t *table) {
	s.tables[t.name] = t
	s.troubles.Store(t.name, t.disk.failure)
}

// forget removes a closed table from the open ones.
func (s *Store) forget(name string) {
	delete(s.tables, name)
	s.troubles.Delete(name)
}

// makeTable makes a table in one visible step.
func (s *Store) makeTable(stored storedTable) error {
	dir := s.path("tables", newPrefix+stored.Name)
	err := s.fs.RemoveAll(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err == nil {
		err = s.fillTable(dir, stored)
	}
	if err == nil {
		err = s.fs.Rename(dir, s.path("tables", stored.Name))
	}
	if err != nil {
		_ = s.fs.RemoveAll(dir) // the next Open tries again
		return err
	}
	return syncDir(s.fs, s.path("tables"))
}

func (s *Store) fillTable(dir string, stored storedTable) error {
	db := s.fs.PathJoin(dir, "db")
	if err := makeDir(s.fs, db); err != nil {
		return err
	}
	// The engine begins a database, including the first log, in its oldest format.
	t, err := newTable(s, dir, stored)
	if err != nil {
		return err
	}
	created, err := pebble.Open(db, t.engineOptions(stored, false))
	if err == nil {
		err = created.Close()
	}
	if err = cmp.Or(t.disk.failure(), err); err != nil {
		return err
	}
	if err := makeLedger(s.fs, s.fs.PathJoin(dir, ledgerName), db); err != nil {
		return err
	}
	return writeSchema(s.fs, s.fs.PathJoin(dir, "schema.json"), stored)
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
	if err := s.find(name); err != nil {
		return nil, err
	}
	stored, err := readSchema(s.fs, s.path("tables", name, "schema.json"), name)
	if err != nil {
		return nil, err
	}
	t, err := openTable(s, stored, false)
	if err != nil {
		return nil, err
	}
	s.keep(t)
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

// OnReadFailure sets the function that is called for every read that fails because of the files:
// because of damage, with an error that matches cellstore.ErrCorrupt, or because of an error of the
// disk. It is not called for invalid arguments and cancelled reads. f runs within the read, in any
// number of goroutines at once: it must not wait, nor call the store. It replaces the function set
// before; nil removes it.
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
