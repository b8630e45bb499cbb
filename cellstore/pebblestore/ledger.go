package pebblestore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// ledger is a file beside a table's database. It has the names of the logs and lists of files
// (Pebble's WAL and MANIFEST), the number of their bytes on the disk, and the checksum of these
// bytes. The engine assumes that it was stopped by a crash at the first unreadable record, that an
// unknown file is garbage, and that a missing file never existed. The ledger distinguishes damage
// from a crash: all acknowledged writes lie before the byte that it names.
//
// The file has two slots, which are written alternately, so that one of them is always intact. A
// slot is one sector, as long as its content fits:
//
//	checksum 4 | length 2 | sequence 8 | flags 1 | count 1 | count × entry
//	entry: length of the name 1 | name | bytes 8 | their checksum 4
//
// Checksums are CRC-32C, and integers big-endian. The checksum of a slot covers the length bytes
// after it. A slot is written after each synchronisation of a log, but is not synchronised itself.
// So it is a lower bound. But before a file is removed, both slots are on the disk without its
// name.
//
// The ledger also names the files of options that the engine has made, without a number of bytes.
// The engine makes such a file whenever it opens a database for writing. If the last of them is not
// named, a program without ledgers has written since.
type ledger struct {
	fs   vfs.FS
	path string

	mu       sync.Mutex
	file     vfs.File
	sequence uint64
	clean    bool
	entries  map[string]*entry
	buf      []byte
}

// entry is a file in a ledger.
type entry struct {
	of         *ledger
	now, whole extent // written; on the disk
	listed     bool   // its name is on the disk too
	found      bool   // it was there when the store was opened
}

// named reports whether a file is in the ledger. A file is in the ledger as soon as the disk has
// some of its bytes.
func (e *entry) named() bool { return e.listed && e.whole.bytes > 0 }

// extent describes the beginning of a file: its length and checksum.
type extent struct {
	bytes int64
	sum   uint32
}

const (
	ledgerName  = "ledger"
	slotBytes   = 4096
	sector      = 512
	slotHead    = 4 + 2 + 8 + 1 + 1
	flagClean   = 1
	entryExtent = 8 + 4
)

// parseSlot reads a slot; ok is false if it is not complete.
func parseSlot(b []byte) (sequence uint64, clean bool, entries map[string]extent, ok bool) {
	if len(b) < slotHead {
		return 0, false, nil, false
	}
	n := int(binary.BigEndian.Uint16(b[4:]))
	if n < slotHead || n > len(b) || crc32.Checksum(b[4:n], crcTable) != binary.BigEndian.Uint32(b) {
		return 0, false, nil, false
	}
	sequence, clean = binary.BigEndian.Uint64(b[6:]), b[14]&flagClean != 0
	entries = map[string]extent{}
	rest := b[slotHead:n]
	for range b[15] {
		if len(rest) < 1 || len(rest) < 1+int(rest[0])+entryExtent {
			return 0, false, nil, false
		}
		name, tail := string(rest[1:1+rest[0]]), rest[1+rest[0]:]
		entries[name] = extent{int64(binary.BigEndian.Uint64(tail)), binary.BigEndian.Uint32(tail[8:])}
		rest = tail[entryExtent:]
	}
	return sequence, clean, entries, true
}

// slot makes the next slot.
func (l *ledger) slot() ([]byte, error) {
	b := append(l.buf[:0], make([]byte, slotHead)...)
	count := 0
	for name, e := range l.entries {
		if !e.named() && !isOptions(name) {
			continue
		}
		b = append(append(b, byte(len(name))), name...)
		b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, uint64(e.whole.bytes)), e.whole.sum)
		count++
	}
	if count > 255 || len(b) > slotBytes {
		return nil, fmt.Errorf("%s: %d logs are more than it can name: close the store and open it again", l.path, count)
	}
	l.sequence++
	binary.BigEndian.PutUint16(b[4:], uint16(len(b)))
	binary.BigEndian.PutUint64(b[6:], l.sequence)
	if l.clean {
		b[14] = flagClean
	}
	b[15] = byte(count)
	binary.BigEndian.PutUint32(b, crc32.Checksum(b[4:], crcTable))
	l.buf = b
	return b, nil
}

// write writes a slot.
func (l *ledger) write() error {
	b, err := l.slot()
	if err == nil {
		_, err = l.file.WriteAt(b, int64(l.sequence%2)*slotBytes)
	}
	if err == nil && len(b) > sector {
		err = l.file.SyncData() // a loss of power must not tear both slots
	}
	return err
}

// writeBoth writes both slots and brings them to the disk.
func (l *ledger) writeBoth() error {
	if err := errors.Join(l.write(), l.write(), l.file.SyncData()); err != nil {
		return err
	}
	return l.keep()
}

// keep writes the ledger again if another file, such as one of a backup, has replaced it since it
// was opened: otherwise the writes would go to an open file that nobody can read any more.
func (l *ledger) keep() error {
	b, err := readFile(l.fs, l.path)
	if cellstore.IsShortage(err) {
		return nil // both slots are on the disk: the next call checks again
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for at := 0; at < len(b); at += slotBytes {
		sequence, _, _, ok := parseSlot(b[at:min(at+slotBytes, len(b))])
		if ok && sequence == l.sequence {
			return nil
		}
	}
	both, err := l.slots()
	if err == nil {
		err = writeFile(l.fs, l.path, both)
	}
	if err != nil {
		return err
	}
	file, err := l.fs.OpenReadWrite(l.path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	old := l.file
	l.file = file
	return old.Close()
}

// slots returns the content of the file with the next two slots.
func (l *ledger) slots() ([]byte, error) {
	file := make([]byte, 2*slotBytes)
	for range 2 {
		b, err := l.slot()
		if err != nil {
			return nil, err
		}
		copy(file[l.sequence%2*slotBytes:], b)
	}
	return file, nil
}

// begin adds a new file, which is empty.
func (l *ledger) begin(name string) *entry {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := &entry{of: l}
	l.entries[name] = e
	return e
}

// announce adds the name of a file of options before the file exists.
func (l *ledger) announce(name string) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.entries[name] = &entry{of: l, listed: true}
	return l.writeBoth()
}

// remove removes a file from the ledger, before the file itself is removed.
func (l *ledger) remove(name string) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.entries[name]
	if e == nil {
		return nil
	}
	delete(l.entries, name)
	if !e.named() {
		return nil
	}
	return l.writeBoth()
}

// opened removes files of earlier runs from the ledger. The logs among them are no longer needed,
// because opening the database has flushed them to sorted files. The earlier list of files
// (Pebble's MANIFEST) stays until Pebble has created a new one, which it does only if it has
// something to write.
func (l *ledger) opened() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	listed := false
	for name, e := range l.entries {
		listed = listed || isList(name) && !e.found && e.named()
	}
	maps.DeleteFunc(l.entries, func(name string, e *entry) bool { return e.found && (listed || !isList(name)) })
	return l.writeBoth()
}

// wrote adds bytes that were written to the end of the file.
func (e *entry) wrote(p []byte) {
	if e == nil {
		return
	}
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	e.now.bytes += int64(len(p))
	e.now.sum = crc32.Update(e.now.sum, crcTable, p)
}

func (e *entry) written() extent {
	if e == nil {
		return extent{}
	}
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	return e.now
}

// synced records the extent of the file that is on the disk.
func (e *entry) synced(whole extent) error {
	if e == nil {
		return nil
	}
	e.of.mu.Lock()
	defer e.of.mu.Unlock()
	if whole.bytes <= e.whole.bytes {
		return nil
	}
	e.whole = whole
	if !e.listed {
		return nil
	}
	return e.of.write()
}

// unlisted returns the files whose names are perhaps not on the disk yet.
func (l *ledger) unlisted() (list []*entry) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		if !e.listed {
			list = append(list, e)
		}
	}
	return list
}

// list records that the names of files are on the disk.
func (l *ledger) list(files []*entry) error {
	if len(files) == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range files {
		e.listed = true
	}
	return l.write()
}

// close closes the ledger. With seal, it first records that each file ends exactly at its length in
// the ledger.
func (l *ledger) close(seal bool) error {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.entries {
		seal = seal && e.now == e.whole
	}
	var err error
	if seal {
		l.clean = true
		err = l.writeBoth()
	}
	return errors.Join(err, l.file.Close())
}

// readLedger reads the ledger of a table; entries is nil if there is none.
func readLedger(fsys vfs.FS, path string) (clean bool, entries map[string]extent, sequence uint64, err error) {
	b, err := readFile(fsys, path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil, 0, nil
	}
	if err != nil {
		return false, nil, 0, err
	}
	for at := 0; at < len(b); at += slotBytes {
		s, c, e, ok := parseSlot(b[at:min(at+slotBytes, len(b))])
		if ok && s > sequence {
			sequence, clean, entries = s, c, e
		}
	}
	if entries == nil {
		return false, nil, 0, fmt.Errorf("%w: %s is damaged", cellstore.ErrCorrupt, path)
	}
	return clean, entries, sequence, nil
}

// openLedger makes the ledger of a table that is opened for writing, with these entries.
func openLedger(fsys vfs.FS, path string, entries map[string]extent, sequence uint64) (*ledger, error) {
	file, err := fsys.OpenReadWrite(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, err
	}
	l := &ledger{fs: fsys, path: path, file: file, sequence: sequence, entries: map[string]*entry{}}
	for name, x := range entries {
		l.entries[name] = &entry{of: l, now: x, whole: x, listed: true, found: true}
	}
	// The ledger is not sealed while the table is open.
	if err := l.writeBoth(); err != nil {
		return nil, errors.Join(err, l.file.Close())
	}
	return l, nil
}

// makeLedger writes the ledger of a database that no program has open, from the present files.
func makeLedger(fsys vfs.FS, path, db string) error {
	names, err := fsys.List(db)
	if err != nil {
		return err
	}
	l := &ledger{path: path, clean: true, entries: map[string]*entry{}}
	for _, name := range names {
		if isOptions(name) {
			l.entries[name] = &entry{listed: true}
		}
		if !ledgered(name) {
			continue
		}
		x, err := extentOf(fsys, fsys.PathJoin(db, name), -1)
		if err != nil {
			return err
		}
		l.entries[name] = &entry{whole: x, listed: true}
	}
	both, err := l.slots()
	if err != nil {
		return err
	}
	return writeFile(fsys, path, both)
}

// extentOf returns the length and the checksum of the first bytes of a file, or of the whole file
// if bytes is negative.
func extentOf(fsys vfs.FS, path string, bytes int64) (extent, error) {
	f, err := fsys.Open(path, vfs.SequentialReadsOption)
	if err != nil {
		return extent{}, err
	}
	defer f.Close()
	var from io.Reader = f
	if bytes >= 0 {
		from = io.LimitReader(f, bytes)
	}
	sum := crc32.New(crcTable)
	n, err := io.Copy(sum, from)
	return extent{n, sum.Sum32()}, err
}

// checkFiles compares the files of a database with its ledger.
func checkFiles(fsys vfs.FS, db string, clean bool, entries map[string]extent) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		if isOptions(name) {
			continue
		}
		want := entries[name]
		path := fsys.PathJoin(db, name)
		switch got, err := extentOf(fsys, path, want.bytes); {
		case errors.Is(err, fs.ErrNotExist):
			errs = append(errs, fmt.Errorf("%w: %s is missing", cellstore.ErrCorrupt, path))
			continue
		case err != nil:
			errs = append(errs, err)
			continue
		case got.bytes < want.bytes:
			errs = append(errs, fmt.Errorf("%w: %s ends at byte %d, and was written to %d", cellstore.ErrCorrupt, path, got.bytes, want.bytes))
			continue
		case got.sum != want.sum:
			errs = append(errs, fmt.Errorf("%w: the first %d bytes of %s are not those that were written", cellstore.ErrCorrupt, want.bytes, path))
			continue
		}
		if info, err := fsys.Stat(path); clean && err == nil && info.Size() != want.bytes {
			errs = append(errs, fmt.Errorf("%w: %s has %d bytes, and was closed with %d", cellstore.ErrCorrupt, path, info.Size(), want.bytes))
		}
	}
	return errors.Join(errs...)
}

// ledgered reports whether a ledger names a file of a database.
func ledgered(name string) bool {
	return strings.HasSuffix(name, ".log") || isList(name)
}

// isList reports whether a file of a database is a list of its files.
func isList(name string) bool { return strings.HasPrefix(name, "MANIFEST-") }

// isOptions reports whether a file of a database has the options of an opening.
func isOptions(name string) bool { return strings.HasPrefix(name, "OPTIONS-") }

// lastOptions returns the last file of options of a database, or "" if there is none.
func lastOptions(fsys vfs.FS, db string) (string, error) {
	names, err := fsys.List(db)
	last := ""
	for _, name := range names {
		// Numbers of more digits are larger.
		if isOptions(name) && (len(name) > len(last) || len(name) == len(last) && name > last) {
			last = name
		}
	}
	return last, err
}
