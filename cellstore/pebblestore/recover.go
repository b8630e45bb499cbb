package pebblestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// leastRoom is the free space that a table needs to be opened for writing, in addition to twice the
// bytes of its logs, because opening writes the logs into sorted files.
const leastRoom = 1 << 20

// Trouble implements cellstore.Recoverer.
func (s *Store) Trouble(table string) error {
	if why, ok := s.troubles.Load(table); ok {
		return why.(func() error)()
	}
	return nil
}

// Recover implements cellstore.Recoverer.
func (s *Store) Recover(ctx context.Context, table string) error {
	if err := s.recover(ctx, table); err != nil {
		return fail("Recover", table, nil, err)
	}
	return nil
}

func (s *Store) recover(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, err := s.tableLocked(name)
	if err != nil {
		return err
	}
	why := t.disk.failure()
	if why == nil {
		return nil
	}
	if t.dbOpts.ReadOnly && s.probe(t.dir) != nil {
		return why // it already shows the state on the disk, and there is no room to write
	}
	delete(s.tables, name)
	_ = t.close(cellstore.ErrClosed) // it repeats why
	stored, err := readSchema(s.fs, s.path("tables", name, "schema.json"), name)
	if err == nil {
		t, err = openTable(s, stored, true)
	}
	if err != nil {
		s.troubles.Store(name, func() error { return err }) // until it opens
		return err
	}
	s.keep(t)
	return t.disk.failure()
}

// needs returns the free bytes that a table needs to be opened for writing.
func (s *Store) needs(dir string) (int64, error) {
	db := s.fs.PathJoin(dir, "db")
	names, err := s.fs.List(db)
	if err != nil {
		return 0, err
	}
	need := int64(leastRoom)
	for _, name := range names {
		if !strings.HasSuffix(name, ".log") {
			continue
		}
		info, err := s.fs.Stat(s.fs.PathJoin(db, name))
		if err != nil {
			return 0, err
		}
		need += 2 * info.Size()
	}
	return need, nil
}

// room returns an error that matches ErrNoSpace if the disk reports too little room to open a table
// for writing.
func (s *Store) room(dir string) error {
	need, err := s.needs(dir)
	if err != nil {
		return err
	}
	if usage, err := s.fs.GetDiskUsage(dir); err == nil && usage.AvailBytes < uint64(need) {
		return fmt.Errorf("%w: %d bytes are free and %d are needed to open the table", cellstore.ErrNoSpace, usage.AvailBytes, need)
	}
	return nil // or the file system does not report its room
}

// probeName is the file that probe writes in the directory of a table.
const probeName = "probe.tmp"

// probe writes a few bytes to find out whether there is room, because a quota may refuse room that
// the disk reports. It tests for less room than opening needs, because without enough room opening
// falls back to reading.
func (s *Store) probe(dir string) (err error) {
	if err := s.room(dir); err != nil {
		return err
	}
	path := s.fs.PathJoin(dir, probeName)
	f, err := s.fs.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	defer func() {
		if rm := s.fs.Remove(path); rm != nil && !errors.Is(rm, fs.ErrNotExist) {
			err = errors.Join(err, rm)
		}
	}()
	_, err = f.Write(bytes.Repeat([]byte("room?"), 64<<10/5))
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
