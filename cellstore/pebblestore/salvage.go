package pebblestore

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/batchrepr"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// mostLost bounds the number of sentences about damage that Salvage returns.
const mostLost = 100

// Salvage reads the undamaged part of a damaged table of the store in dir. No program may have the
// store open. It calls fn with the rows in their order, each with all its versions, also those that
// MaxVersions and TTL hide. It writes only to a directory of its own beside the tables, and removes
// it at the end. It opens the store, which removes what Open removes. schema is the declaration of
// the table. It is used if the stored one is damaged, and may be just a name. The row is valid
// until fn returns; an error of fn ends Salvage. opts are as for Open, but not read-only.
//
// lost describes the unreadable parts, with a sentence for each place of damage. After the first
// hundred, one sentence says how many more there are. The lost content is unknown: if it was
// deletions, deleted cells have come back.
//
// It reads the sorted files without the engine, and leaves out damaged blocks. It also reads the
// undamaged parts of the logs. Of each cell it keeps the newest version of the entry that it finds.
func Salvage(ctx context.Context, dir string, schema cellstore.Schema, opts *Options,
	fn func(*cellstore.Row) error) (lost []string, err error) {
	v := salvage{ctx: ctx, fn: fn}
	if err = v.run(dir, schema, opts); err != nil {
		err = fail("Salvage", schema.Table, nil, err)
	}
	return v.report(), err
}

func (v *salvage) report() []string {
	if v.more == 0 {
		return v.damage
	}
	return append(v.damage, fmt.Sprintf("So it is in %d more places.", v.more))
}

type salvage struct {
	ctx    context.Context
	fn     func(*cellstore.Row) error
	store  *Store
	table  *table // of the damaged one; not open
	damage []string
	more   int // places that damage does not name

	// db has the newest entry of each cell: sequence 8 | 1 if the cell exists | value.
	db      *pebble.DB
	disk    *disk // of db
	removed []span
	buf     []byte
}

// span is a range of cells that was deleted at once.
type span struct {
	from, to []byte
	sequence uint64
}

func (v *salvage) lost(format string, args ...any) {
	if len(v.damage) == mostLost {
		v.more++
		return
	}
	v.damage = append(v.damage, fmt.Sprintf(format, args...))
}

func (v *salvage) run(dir string, schema cellstore.Schema, opts *Options) (err error) {
	s, err := Open(dir, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	v.store = s
	if err := s.find(schema.Table); err != nil {
		return err
	}
	stored, err := readSchema(s.fs, s.path("tables", schema.Table, "schema.json"), schema.Table)
	if err != nil {
		if len(schema.Families) == 0 {
			return err
		}
		v.lost("The declaration of the table cannot be read, so that the one it is made with was taken: %s.", err)
		if schema, err = schema.Normalize(); err != nil {
			return err
		}
		stored = newStoredTable(schema)
	}
	if v.table, err = newTable(s, s.path("tables", schema.Table), stored); err != nil {
		return err
	}
	scratch := s.path("tables", newPrefix+schema.Table+".salvage")
	if err := s.fs.RemoveAll(scratch); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := makeDir(s.fs, scratch); err != nil {
		return noSpace(err)
	}
	defer func() { err = errors.Join(err, s.fs.RemoveAll(scratch)) }()
	if v.disk, err = newDisk(s.fs, scratch); err != nil {
		return err
	}
	v.db, err = pebble.Open(scratch, &pebble.Options{
		FS: v.disk, DisableWAL: true, FormatMajorVersion: pebble.FormatNewest, Comparer: comparer,
		Cache: s.cache.blocks, Logger: engineLog{s.opts.Logger},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, v.db.Close()) }()
	if err := v.gather(); err != nil {
		return err
	}
	if err := v.disk.failure(); err != nil {
		return err
	}
	err = v.pass()
	return cmp.Or(v.disk.failure(), err)
}

// gather reads all files of the table.
func (v *salvage) gather() error {
	fsys, dir := v.store.fs, v.table.dbDir()
	names, err := fsys.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		v.lost("The files of the table are missing: %s.", err)
		return nil
	}
	if err != nil {
		return err
	}
	slices.Sort(names)
	live, oldest := v.listed()
	for _, name := range names {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		path := fsys.PathJoin(dir, name)
		switch {
		case strings.HasSuffix(name, ".sst") && (live == nil || live[name]):
			err = v.readSorted(path)
		case strings.HasSuffix(name, ".log") && numberOf(name) >= oldest:
			err = v.readLog(path)
		}
		if err != nil {
			return err
		}
		delete(live, name)
	}
	for name := range live {
		v.lost("%s is missing.", fsys.PathJoin(dir, name))
	}
	for _, r := range v.removed {
		if err := v.remove(r); err != nil {
			return err
		}
	}
	return nil
}

// numberOf returns the number in the name of a file of the engine, or 0 if there is none.
func numberOf(name string) (n uint64) {
	name = strings.TrimPrefix(name, "MANIFEST-")
	_, _ = fmt.Sscanf(name, "%d", &n) // 0
	return n
}

// listed returns the current sorted files, and the number of the oldest log that they do not
// include. The files are nil if their list is not reliable.
func (v *salvage) listed() (live map[string]bool, oldestLog uint64) {
	fsys, t := v.store.fs, v.table
	var entries map[string]extent
	counts, err := t.ledgered(t.opened)
	if counts {
		_, entries, _, err = readLedger(fsys, t.ledgerPath())
	}
	if err == nil && entries == nil {
		err = checkManifest(fsys, t.dbDir(), true)
	}
	if err == nil {
		lists := map[string]extent{}
		// Numbers only rise. So if there is no synchronised log, the valid logs have numbers above
		// that of the list of files.
		for name, x := range entries {
			if isList(name) {
				lists[name], oldestLog = x, max(oldestLog, numberOf(name))
			}
		}
		for name := range entries {
			if !strings.HasSuffix(name, ".log") {
				continue
			}
			oldestLog = min(oldestLog, numberOf(name))
			if _, err := fsys.Stat(fsys.PathJoin(t.dbDir(), name)); errors.Is(err, fs.ErrNotExist) {
				v.lost("%s is missing.", fsys.PathJoin(t.dbDir(), name))
			}
		}
		err = checkFiles(fsys, t.dbDir(), false, lists)
	}
	if err == nil {
		// The database is opened without its logs to get its list of files.
		o := t.engineOptions(t.opened, true)
		o.FS = withoutLogs{o.FS}
		o.ErrorIfNotExists, o.DisableConsistencyCheck = true, true
		var db *pebble.DB
		if db, err = pebble.Open(t.dbDir(), o); err == nil {
			live = map[string]bool{}
			levels, serr := db.SSTables()
			for _, level := range levels {
				for _, info := range level {
					live[fmt.Sprintf("%06d.sst", uint64(info.BackingSSTNum))] = true
				}
			}
			err = errors.Join(serr, db.Close())
		}
	}
	if err != nil {
		v.lost("The list of sorted files cannot be relied on, so that all there are were read: %s.", err)
		return nil, oldestLog
	}
	return live, oldestLog
}

// withoutLogs hides the logs of a database.
type withoutLogs struct{ vfs.FS }

func (f withoutLogs) List(dir string) ([]string, error) {
	names, err := f.FS.List(dir)
	return slices.DeleteFunc(names, func(name string) bool { return strings.HasSuffix(name, ".log") }), err
}

// readSorted reads the undamaged blocks of a sorted file.
func (v *salvage) readSorted(path string) error {
	file, err := v.store.fs.Open(path)
	if err != nil {
		v.lost("%s cannot be read: %s.", path, err)
		return nil
	}
	readable, err := sstable.NewSimpleReadable(file)
	if err != nil {
		return errors.Join(err, file.Close())
	}
	r, err := sstable.NewReader(v.ctx, readable, v.table.engineOptions(v.table.opened, true).MakeReaderOptions())
	if err != nil {
		v.lost("%s cannot be read: %s.", path, err)
		return v.ctx.Err()
	}
	defer func() { _ = r.Close() }() // it was only read
	if err := v.readSpans(r); err != nil {
		v.lost("Deletions in %s cannot be read: %s.", path, err)
	}
	from := firstKey
	for {
		next, err := v.readFrom(r, from)
		if err == nil {
			return nil
		}
		if !errors.Is(classify(err), cellstore.ErrCorrupt) {
			return err
		}
		v.lost("Cells of %s behind %s cannot be read: %s.", path, describeKey(next), err)
		if from = v.beyond(r, next); from == nil {
			return nil
		}
	}
}

// readFrom stores the entries of a file from a key on. If there is an error, it returns a key at or
// after the last key that was read.
func (v *salvage) readFrom(r *sstable.Reader, from []byte) ([]byte, error) {
	it, err := r.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
	if err != nil {
		return from, err
	}
	defer func() { _ = it.Close() }() // it repeats its error
	last := bytes.Clone(from)
	for kv := it.SeekGE(from, 0); kv != nil; kv = it.Next() {
		value, _, err := kv.Value(nil)
		if err != nil {
			return last, err
		}
		last = append(last[:0], kv.K.UserKey...)
		if err := v.keep(last, uint64(kv.SeqNum()), removes(uint8(kv.Kind())), value); err != nil {
			return last, err
		}
	}
	return last, it.Error()
}

// beyond returns a key after the given one, from which the file can be read again, or nil if there
// is none. It finds the first such key by bisection.
func (v *salvage) beyond(r *sstable.Reader, after []byte) []byte {
	reads := func(key []byte) bool {
		it, err := r.NewIter(sstable.NoTransforms, nil, nil, sstable.AssertNoBlobHandles)
		if err != nil {
			return false
		}
		defer func() { _ = it.Close() }() // it repeats its error
		kv := it.SeekGE(key, 0)
		if kv == nil {
			return it.Error() == nil
		}
		_, _, err = kv.Value(nil)
		return err == nil
	}
	low, high := bytes.Clone(after), lastKey
	if !reads(high) {
		return nil
	}
	for {
		middle := between(low, high)
		if middle == nil {
			break
		}
		middle = append(middle, 0) // the end of a row in a key: see doc.go
		if reads(middle) {
			high = middle
		} else {
			low = middle
		}
	}
	if comparer.Compare(high, lastKey) >= 0 {
		return nil
	}
	return high
}

// removes reports whether an entry of the given kind removes its cell.
func removes(kind uint8) bool {
	return kind == uint8(pebble.InternalKeyKindDelete) || kind == uint8(pebble.InternalKeyKindSingleDelete) ||
		kind == uint8(pebble.InternalKeyKindDeleteSized)
}

func (v *salvage) readSpans(r *sstable.Reader) error {
	it, err := r.NewRawRangeDelIter(v.ctx, sstable.FragmentIterTransforms{}, sstable.NoReadEnv)
	if err != nil || it == nil {
		return err
	}
	defer it.Close()
	s, err := it.First()
	for ; s != nil && err == nil; s, err = it.Next() {
		for _, k := range s.Keys {
			v.removed = append(v.removed, span{bytes.Clone(s.Start), bytes.Clone(s.End), uint64(k.SeqNum())})
		}
	}
	return err
}

// readLog reads a log. After a damaged record it continues with the next block of 32 KiB.
func (v *salvage) readLog(path string) error {
	const block = 32 << 10
	data, err := readFile(v.store.fs, path)
	if err != nil {
		v.lost("%s cannot be read: %s.", path, err)
		return nil
	}
	number := numberOf(v.store.fs.PathBase(path))
	for at := 0; at < len(data); {
		records := numbered(record.NewReader, bytes.NewReader(data[at:]), number)
		for {
			offset := at + int(records.Offset())
			var repr []byte
			one, err := records.Next()
			if err == nil {
				repr, err = io.ReadAll(one)
			}
			if err == nil {
				err = v.readBatch(repr)
			}
			if err == io.EOF { //nolint:errorlint // wrapped, it would be a record cut short
				return nil
			}
			if errors.Is(err, record.ErrUnexpectedEOF) && offset >= len(data) {
				return nil // it was not closed
			}
			if err != nil && !errors.Is(classify(err), cellstore.ErrCorrupt) && !brokenRecord(err) {
				return err
			}
			if err != nil {
				next := (offset/block + 1) * block
				v.lost("%s cannot be read from byte %d to %d: %s.", path, offset, min(next, len(data)), err)
				at = next
				break
			}
		}
	}
	return nil
}

func brokenRecord(err error) bool {
	return errors.Is(err, record.ErrInvalidChunk) || errors.Is(err, record.ErrZeroedChunk) || errors.Is(err, record.ErrUnexpectedEOF)
}

// numbered calls a function whose second parameter has a type that cannot be named here.
func numbered[N ~uint64](open func(io.Reader, N) *record.Reader, r io.Reader, n uint64) *record.Reader {
	return open(r, N(n))
}

func (v *salvage) readBatch(repr []byte) error {
	if len(repr) < batchrepr.HeaderLen {
		return fmt.Errorf("%w: a record of %d bytes", cellstore.ErrCorrupt, len(repr))
	}
	sequence := uint64(batchrepr.ReadSeqNum(repr))
	for r := batchrepr.Read(repr); ; sequence++ {
		kind, key, value, ok, err := r.Next()
		if err != nil {
			return fmt.Errorf("%w: %w", cellstore.ErrCorrupt, err)
		}
		if !ok {
			return nil
		}
		switch kind {
		case pebble.InternalKeyKindSet, pebble.InternalKeyKindSetWithDelete:
			err = v.keep(key, sequence, false, value)
		case pebble.InternalKeyKindDelete, pebble.InternalKeyKindSingleDelete, pebble.InternalKeyKindDeleteSized:
			err = v.keep(key, sequence, true, nil)
		case pebble.InternalKeyKindRangeDelete:
			v.removed = append(v.removed, span{bytes.Clone(key), bytes.Clone(value), sequence})
		case pebble.InternalKeyKindLogData:
			sequence-- // it has none
		default:
			v.lost("An entry of the log of kind %d is not one of a cell.", kind)
		}
		if err != nil {
			return err
		}
	}
}

// keep stores an entry of a cell unless there is a newer one.
func (v *salvage) keep(key []byte, sequence uint64, removed bool, value []byte) error {
	if n := splitKey(key); n < 2 || n == len(key) {
		v.lost("An entry has key %x, which is not a cell's.", key)
		return nil
	}
	old, closer, err := v.db.Get(key)
	if err == nil {
		newer := binary.BigEndian.Uint64(old) > sequence
		if err := closer.Close(); err != nil || newer {
			return err
		}
	} else if !errors.Is(err, pebble.ErrNotFound) {
		return err
	}
	there := byte(1)
	if removed {
		there = 0
	}
	v.buf = append(append(binary.BigEndian.AppendUint64(v.buf[:0], sequence), there), value...)
	return cmp.Or(v.disk.failure(), v.db.Set(key, v.buf, pebble.NoSync))
}

// remove removes the cells of a span that are older than its deletion.
func (v *salvage) remove(s span) error {
	it, err := v.db.NewIter(&pebble.IterOptions{LowerBound: s.from, UpperBound: s.to})
	if err != nil {
		return err
	}
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		if binary.BigEndian.Uint64(it.Value()) < s.sequence {
			err = v.db.Delete(it.Key(), pebble.NoSync)
		}
	}
	return errors.Join(err, it.Error(), it.Close())
}

// pass calls fn with the rows, each joined from the ranges of its families.
func (v *salvage) pass() (err error) {
	fams := v.table.lay.Load().fams
	its := make([]*pebble.Iterator, len(fams))
	defer func() {
		for _, it := range its {
			if it != nil {
				err = errors.Join(err, it.Close())
			}
		}
	}()
	for f := range fams {
		if its[f], err = v.db.NewIter(&pebble.IterOptions{LowerBound: fams[f].lower, UpperBound: fams[f].upper}); err != nil {
			return err
		}
		its[f].First()
	}
	rowOf := func(it *pebble.Iterator) []byte { return it.Key()[1 : splitKey(it.Key())-1] }
	var row cellstore.Row
	for {
		if err := v.ctx.Err(); err != nil {
			return err
		}
		var next []byte
		for _, it := range its {
			if it.Valid() && (next == nil || bytes.Compare(rowOf(it), next) < 0) {
				next = rowOf(it)
			}
		}
		if next == nil {
			return nil
		}
		row.Reset()
		row.SetKey(bytes.Clone(next))
		for f, it := range its {
			for ; it.Valid() && bytes.Equal(rowOf(it), row.Key); it.Next() {
				if value := it.Value(); value[8] == 1 {
					q, inverted := splitSuffix(it.Key()[splitKey(it.Key()):])
					row.AppendCell(fams[f].name, q, int64(^inverted), value[9:])
				}
			}
			if err := it.Error(); err != nil {
				return err
			}
		}
		if len(row.Cells) == 0 {
			continue // deleted
		}
		if err := v.fn(&row); err != nil {
			return err
		}
	}
}

// describeKey names the row of a cell.
func describeKey(key []byte) string {
	if n := splitKey(key); n >= 2 {
		return fmt.Sprintf("row %q", key[1:n-1])
	}
	return "its beginning"
}
