package pebblestore

import (
	"bytes"
	"cmp"
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

// bulk is a cellstore.BulkLoader. Every family has a stream of sorted files. At Commit the database
// takes over all of them in one step.
type bulk struct {
	t   *table
	lay *layout // of the table when the load began
	dir string

	mu      sync.Mutex // against the closing of the store
	over    error      // the error of further calls; nil while the load is open
	done    bool       // committed or aborted: nothing is left
	streams []*stream  // by index of layout.fams
	paths   []string   // of files begun
	loaded  []bool     // by index of layout.fams: has a file
	cells   int64      // added
	key     []byte

	// last is the last added cell, for detecting disorder.
	last struct {
		row, qualifier []byte
		family         int
		timestamp      int64
	}
}

// stream writes the sorted files (sstables) of one family.
type stream struct {
	w     *sstable.Writer
	bytes int64  // put into w, uncompressed
	row   []byte // put last
}

// loadID numbers the directories of loads within the process. Directories of earlier processes are
// removed when a store is opened.
var loadID atomic.Uint64

// Bulk implements cellstore.Table. Any number of loads may be open at once.
func (t *table) Bulk(ctx context.Context) (cellstore.BulkLoader, error) {
	b, err := t.bulk(ctx)
	if err != nil {
		return nil, fail("Bulk", t.name, nil, err)
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
	fsys, lay := t.store.fs, t.lay.Load()
	b := &bulk{
		t:       t,
		dir:     fsys.PathJoin(t.dir, "bulk", fmt.Sprintf("%d", loadID.Add(1))),
		streams: make([]*stream, len(lay.fams)),
		loaded:  make([]bool, len(lay.fams)),
		lay:     lay,
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over != nil {
		return nil, t.over
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
		return fail("Add", b.t.name, key, err)
	}
	return nil
}

func (b *bulk) add(key []byte, c *cellstore.Cell) error {
	if b.over != nil {
		return b.over
	}
	if err := b.lay.Cell(key, c); err != nil {
		return err
	}
	f := b.last.family
	if b.last.row == nil || b.lay.fams[f].name != c.Family {
		var err error
		if f, err = b.lay.family(c.Family); err != nil {
			return err
		}
	}
	if err := b.inOrder(key, f, c); err != nil {
		b.over = err
		return err
	}
	if err := b.write(key, f, c); err != nil {
		b.over = err
		return err
	}
	b.last.row = append(b.last.row[:0], key...)
	b.last.qualifier = append(b.last.qualifier[:0], c.Qualifier...)
	b.last.family, b.last.timestamp = f, c.Timestamp
	return nil
}

// inOrder compares a cell with the last one.
func (b *bulk) inOrder(key []byte, f int, c *cellstore.Cell) error {
	last := &b.last
	if last.row == nil {
		return nil
	}
	d := bytes.Compare(key, last.row)
	if d == 0 {
		d = f - last.family // fams are in the order of names
	}
	if d == 0 {
		d = bytes.Compare(c.Qualifier, last.qualifier)
	}
	if d > 0 || d == 0 && c.Timestamp < last.timestamp {
		return nil
	}
	return fmt.Errorf("%w: %s:%q@%d of row %q does not sort after %s:%q@%d of row %q",
		cellstore.ErrUnsorted, c.Family, c.Qualifier, c.Timestamp, key,
		b.lay.fams[last.family].name, last.qualifier, last.timestamp, last.row)
}

// write puts the cell into the file of its family. It begins a new file if the present one is full
// and has no cells of the row.
func (b *bulk) write(key []byte, f int, c *cellstore.Cell) error {
	s := b.streams[f]
	if s != nil && s.bytes >= b.t.store.opts.FileBytes && !bytes.Equal(s.row, key) {
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
	b.key = appendPrefix(b.key[:0], b.lay.fams[f].byte, key)
	b.key = appendSuffix(b.key, c.Qualifier, invert(c.Timestamp))
	s.bytes += int64(len(b.key) + len(c.Value))
	s.row = append(s.row[:0], key...)
	b.cells++
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
	b.streams[f], b.loaded[f] = s, true
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
		return fail("Commit", b.t.name, nil, err)
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
		err = b.ingest(ctx)
	}
	if err != nil {
		b.over = err
		return err
	}
	return b.remove(errDone)
}

// ingest passes the files to the database.
func (b *bulk) ingest(ctx context.Context) error {
	t := b.t
	lay, err := t.beginWrite(ctx)
	if err != nil {
		return err
	}
	defer t.gate.RUnlock()
	for f := range b.lay.fams {
		if !b.loaded[f] {
			continue
		}
		now, err := lay.family(b.lay.fams[f].name)
		if err != nil {
			return err
		}
		if lay.fams[now].byte != b.lay.fams[f].byte {
			return fmt.Errorf("%w: %q was dropped during the load", cellstore.ErrFamilyNotFound, b.lay.fams[f].name)
		}
	}
	// Earlier commits become durable first, because a crash may only undo the last commits of a
	// row.
	if err := t.syncLog(); err != nil {
		return err
	}
	err = t.change(func() error { return t.db.Ingest(ctx, b.paths) })
	if err = cmp.Or(t.disk.failure(), err); err != nil {
		return unknown(noSpace(err))
	}
	t.refresh()
	t.upkeep.loaded(b.cells)
	return nil
}

var errDone = errors.New("load is over: begin another")

// Abort implements cellstore.BulkLoader.
func (b *bulk) Abort() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.abort(errDone); err != nil {
		return fail("Abort", b.t.name, nil, err)
	}
	return nil
}

// close aborts the load because the store is closing.
func (b *bulk) close(why error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.abort(why)
}

func (b *bulk) abort(why error) error {
	if b.done {
		return nil
	}
	_ = b.finishAll() // the files are removed anyway
	return b.remove(why)
}

// remove ends the load and removes its directory, with the files that the
// database did not take over.
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
