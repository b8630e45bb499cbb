package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
	store  *Store
	db     *pebble.DB
	dbOpts *pebble.Options
	schema cellstore.Schema // in force
	fams   []family         // by name
	dir    string

	expires bool // some family has a TTL

	// commits counts what was committed to the database: a reader whose
	// iterators are older than the count must make new ones. It never moves
	// in a read-only store, so there iterators live on.
	commits atomic.Uint64
	// blocks counts the data blocks opened, from the files or the cache.
	blocks atomic.Int64

	idle sync.Pool // of *reader; may lose some, readers has them all

	mu      sync.Mutex
	closed  bool
	readers []*reader
	loads   map[*bulk]struct{}
	count   atomic.Int64 // of readers

	retired retiredStats
}

var (
	_ cellstore.Table       = (*table)(nil)
	_ cellstore.StatsReader = (*table)(nil)
)

func openTable(s *Store, stored storedTable) (*table, error) {
	t := &table{
		store:  s,
		schema: stored.inForce(),
		fams:   stored.families(),
		dir:    s.path("tables", stored.Name),
		loads:  map[*bulk]struct{}{},
	}
	t.expires = slices.ContainsFunc(t.fams, func(f family) bool { return f.ttl > 0 })
	log := engineLog{s.opts.Logger}
	keys := newKeySchema(&t.blocks)
	o := &pebble.Options{
		Cache:                   s.cache.blocks,
		FileCache:               s.cache.files,
		Comparer:                comparer,
		FS:                      s.fs,
		FormatMajorVersion:      pebble.FormatNewest,
		KeySchema:               keys.Name,
		KeySchemas:              sstable.MakeKeySchemas(keys),
		BlockPropertyCollectors: []func() pebble.BlockPropertyCollector{newTimeCollector},
		Logger:                  log,
		ReadOnly:                s.opts.ReadOnly,
		// A damaged block is the business of the read that meets it: the
		// default listener would end the process.
		EventListener: &pebble.EventListener{
			DataCorruption:  func(info pebble.DataCorruptionInfo) { log.Errorf("%s", info) },
			BackgroundError: func(err error) { log.Errorf("background error: %s", err) },
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
	t.db = db
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
func (t *table) close() error {
	t.mu.Lock()
	t.closed = true
	readers, loads := t.readers, t.loads
	t.readers, t.loads = nil, nil
	t.mu.Unlock()

	var errs []error
	for l := range loads {
		errs = append(errs, l.close())
	}
	for _, r := range readers {
		r.mu.Lock() // waits for the call that has it
		r.closeIterators()
		r.free, r.dead = false, true
		r.mu.Unlock()
	}
	return errors.Join(append(errs, t.db.Close())...)
}

// Schema implements cellstore.Table.
func (t *table) Schema() cellstore.Schema {
	s := t.schema
	s.Families = append([]cellstore.Family(nil), s.Families...)
	return s
}

// begin is the start of every read: an idle reader with the selection
// compiled into it.
func (t *table) begin(ctx context.Context, sel *cellstore.Selection) (*reader, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	r, err := t.acquire()
	if err != nil {
		return nil, err
	}
	if err := r.view.compile(t, sel); err != nil {
		r.release()
		return nil, err
	}
	return r, nil
}

// end returns the reader and settles the outcome of a call that fills a row.
func (t *table) end(r *reader, op string, key []byte, row *cellstore.Row, err error) (bool, error) {
	if err != nil {
		r.broken(err)
		r.release()
		row.Reset()
		return false, fail(op, t.schema.Table, key, err)
	}
	r.release()
	if len(row.Cells) == 0 {
		row.Reset()
		return false, nil
	}
	return true, nil
}

// Get implements cellstore.Table.
func (t *table) Get(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	row.Reset()
	if err := checkRow(key); err != nil {
		return false, fail("Get", t.schema.Table, nil, err)
	}
	r, err := t.begin(ctx, sel)
	if err != nil {
		return false, fail("Get", t.schema.Table, key, err)
	}
	return t.end(r, "Get", key, row, r.get(key, row))
}

// Next implements cellstore.Table.
func (t *table) Next(ctx context.Context, from, to []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	row.Reset()
	r, err := t.begin(ctx, sel)
	if err != nil {
		return false, fail("Next", t.schema.Table, from, err)
	}
	err = r.seek(from)
	if err == nil {
		err = r.next(ctx, to, row)
	}
	return t.end(r, "Next", from, row, err)
}

// Prev implements cellstore.Table.
func (t *table) Prev(ctx context.Context, from, downTo []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	row.Reset()
	r, err := t.begin(ctx, sel)
	if err != nil {
		return false, fail("Prev", t.schema.Table, from, err)
	}
	err = r.seekBack(from)
	if err == nil {
		err = r.prev(ctx, downTo, false, row)
	}
	return t.end(r, "Prev", from, row, err)
}

// NextEach implements cellstore.Table.
func (t *table) NextEach(ctx context.Context, from, to []byte, families []string, rows []cellstore.Row) error {
	for i := range rows {
		rows[i].Reset()
	}
	if err := t.nextEach(ctx, from, to, families, rows); err != nil {
		for i := range rows {
			rows[i].Reset()
		}
		return fail("NextEach", t.schema.Table, from, err)
	}
	return nil
}

func (t *table) nextEach(ctx context.Context, from, to []byte, families []string, rows []cellstore.Row) error {
	if len(rows) < len(families) {
		return fmt.Errorf("%d families need as many rows, not %d", len(families), len(rows))
	}
	r, err := t.begin(ctx, nil)
	if err != nil {
		return err
	}
	defer r.release()
	for _, name := range families {
		if _, err := t.family(name); err != nil {
			return err
		}
	}
	for i, name := range families {
		f, _ := t.family(name)
		r.view.only(f, true)
		err := r.seek(from)
		if err == nil {
			err = r.next(ctx, to, &rows[i])
		}
		if err != nil {
			r.broken(err)
			return err
		}
	}
	return nil
}

// family returns the index of a family in t.fams.
func (t *table) family(name string) (int, error) {
	for i := range t.fams {
		if t.fams[i].name == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("%w: %q", cellstore.ErrFamilyNotFound, name)
}

// before reports whether a row lies before an end of range, where empty means
// the end of the table.
func before(row, end []byte) bool { return len(end) == 0 || bytes.Compare(row, end) < 0 }
