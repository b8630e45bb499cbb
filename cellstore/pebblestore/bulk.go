package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// bulk is a cellstore.BulkLoader. Every family has a stream of sorted files,
// which the database takes over, all in one step, at Commit.
type bulk struct {
	t   *table
	dir string

	mu      sync.Mutex // against the closing of the store
	over    error      // why nothing more can be added; nil while it can
	done    bool       // committed or aborted: nothing is left
	streams []*stream  // by index of table.fams
	paths   []string   // of finished files
	key     []byte

	// The cell added last, to tell disorder.
	last struct {
		row, qualifier []byte
		family         int
		timestamp      int64
	}
}

// stream writes the sorted files of one family.
type stream struct {
	w     *sstable.Writer
	bytes int64 // put into w, uncompressed
}

// loadID numbers the directories of loads within the process. Those of
// earlier processes are gone when a store is open.
var loadID atomic.Uint64

// Bulk implements cellstore.Table. Any number of loads may be open at once.
func (t *table) Bulk(ctx context.Context) (cellstore.BulkLoader, error) {
	b, err := t.bulk(ctx)
	if err != nil {
		return nil, fail("Bulk", t.schema.Table, nil, err)
	}
	return b, nil
}

func (t *table) bulk(ctx context.Context) (*bulk, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if t.store.opts.ReadOnly {
		return nil, cellstore.ErrReadOnly
	}
	fsys := t.store.fs
	b := &bulk{
		t:       t,
		dir:     fsys.PathJoin(t.dir, "bulk", fmt.Sprintf("%d", loadID.Add(1))),
		streams: make([]*stream, len(t.fams)),
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, cellstore.ErrClosed
	}
	if err := fsys.MkdirAll(b.dir, 0o755); err != nil {
		return nil, err
	}
	t.loads[b] = struct{}{}
	return b, nil
}

// Add implements cellstore.BulkLoader.
func (b *bulk) Add(key []byte, c cellstore.Cell) error {
	b.mu.Lock()
	err := b.add(key, &c)
	b.mu.Unlock()
	if err != nil {
		return fail("Add", b.t.schema.Table, key, err)
	}
	return nil
}

func (b *bulk) add(key []byte, c *cellstore.Cell) error {
	if b.over != nil {
		return b.over
	}
	if err := checkRow(key); err != nil {
		return err
	}
	if err := checkCell(key, c); err != nil {
		return err
	}
	f := b.last.family
	if b.last.row == nil || b.t.fams[f].name != c.Family {
		var err error
		if f, err = b.t.family(c.Family); err != nil {
			return err
		}
	}
	newRow, err := b.inOrder(key, f, c)
	if err != nil {
		b.over = err
		return err
	}
	if err := b.write(key, f, c, newRow); err != nil {
		b.over = err
		return err
	}
	b.last.row = append(b.last.row[:0], key...)
	b.last.qualifier = append(b.last.qualifier[:0], c.Qualifier...)
	b.last.family, b.last.timestamp = f, c.Timestamp
	return nil
}

func checkCell(key []byte, c *cellstore.Cell) error {
	limits := &cellstore.DefaultLimits
	if err := checkSize("qualifier", len(c.Qualifier), limits.Qualifier); err != nil {
		return err
	}
	if err := checkSize("cell key", keyLen(len(key), len(c.Qualifier)), limits.CellKey); err != nil {
		return err
	}
	if err := checkSize("value", len(c.Value), limits.Value); err != nil {
		return err
	}
	if c.Timestamp < 0 || c.Timestamp > cellstore.MaxTimestamp {
		return fmt.Errorf("%w: %d is not in 0 to %d", cellstore.ErrBadTimestamp, c.Timestamp, int64(cellstore.MaxTimestamp))
	}
	return nil
}

// inOrder compares a cell with the last one and tells whether it begins a row.
func (b *bulk) inOrder(key []byte, f int, c *cellstore.Cell) (newRow bool, err error) {
	last := &b.last
	if last.row == nil {
		return true, nil
	}
	d := bytes.Compare(key, last.row)
	if d > 0 {
		return true, nil
	}
	if d == 0 {
		d = f - last.family // fams are in the order of names
	}
	if d == 0 {
		d = bytes.Compare(c.Qualifier, last.qualifier)
	}
	if d > 0 || d == 0 && c.Timestamp < last.timestamp {
		return false, nil
	}
	return false, fmt.Errorf("%w: %s:%q@%d of row %q does not sort after %s:%q@%d of row %q",
		cellstore.ErrUnsorted, c.Family, c.Qualifier, c.Timestamp, key,
		b.t.fams[last.family].name, last.qualifier, last.timestamp, last.row)
}

// write puts the cell into its family's file, in a new one if the old one is
// full and the row is new.
func (b *bulk) write(key []byte, f int, c *cellstore.Cell, newRow bool) error {
	s := b.streams[f]
	if s != nil && s.bytes >= b.t.store.opts.FileBytes && newRow {
		if err := b.finish(f); err != nil {
			return err
		}
		s = nil
	}
	if s == nil {
		var err error
		if s, err = b.begin(f); err != nil {
			return err
		}
	}
	b.key = appendPrefix(b.key[:0], b.t.fams[f].byte, key)
	b.key = appendSuffix(b.key, c.Qualifier, invert(c.Timestamp))
	s.bytes += int64(len(b.key) + len(c.Value))
	return s.w.Set(b.key, c.Value)
}

func (b *bulk) begin(f int) (*stream, error) {
	t := b.t
	path := t.store.fs.PathJoin(b.dir, fmt.Sprintf("%06d.sst", len(b.paths)))
	file, err := t.store.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	b.paths = append(b.paths, path)
	file = vfs.NewSyncingFile(file, vfs.SyncingFileOptions{BytesPerSync: 1 << 20})
	const lowest = 6 // of the engine's levels, where loads into a new table end up
	o := t.dbOpts.MakeWriterOptions(lowest, t.db.TableFormat())
	o.DisableValueBlocks = true // see openTable
	s := &stream{w: sstable.NewWriter(objstorageprovider.NewFileWritable(file), o)}
	b.streams[f] = s
	return s, nil
}

func (b *bulk) finish(f int) error {
	s := b.streams[f]
	b.streams[f] = nil
	if s == nil {
		return nil
	}
	return s.w.Close() // syncs the file
}

func (b *bulk) finishAll() error {
	var errs []error
	for f := range b.streams {
		errs = append(errs, b.finish(f))
	}
	return errors.Join(errs...)
}

// Commit implements cellstore.BulkLoader.
func (b *bulk) Commit(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.commit(ctx); err != nil {
		return fail("Commit", b.t.schema.Table, nil, err)
	}
	return nil
}

func (b *bulk) commit(ctx context.Context) error {
	if b.over != nil {
		return b.over
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	err := b.finishAll()
	if err == nil && len(b.paths) > 0 {
		err = b.t.db.Ingest(ctx, b.paths)
	}
	if err != nil {
		b.over = err
		return err
	}
	b.t.committed()
	return b.remove(errDone)
}

var errDone = errors.New("load is over: begin another")

// Abort implements cellstore.BulkLoader.
func (b *bulk) Abort() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.abort(errDone); err != nil {
		return fail("Abort", b.t.schema.Table, nil, err)
	}
	return nil
}

// close is Abort by the closing of the store.
func (b *bulk) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.abort(cellstore.ErrClosed)
}

func (b *bulk) abort(why error) error {
	if b.done {
		return nil
	}
	_ = b.finishAll() // the files go anyway
	return b.remove(why)
}

// remove ends the load: its directory goes, with what the database did not
// take over.
func (b *bulk) remove(why error) error {
	b.over, b.done = why, true
	b.t.mu.Lock()
	delete(b.t.loads, b)
	b.t.mu.Unlock()
	if err := b.t.store.fs.RemoveAll(b.dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// committed makes readers see a commit. Idle ones give up their iterators at
// once, which would keep files and memory of the old state.
func (t *table) committed() {
	t.commits.Add(1)
	t.mu.Lock()
	readers := append([]*reader(nil), t.readers...)
	t.mu.Unlock()
	for _, r := range readers {
		if !r.mu.TryLock() {
			continue // it looks at the count before its next use
		}
		if r.free {
			r.closeIterators()
		}
		r.mu.Unlock()
	}
}
