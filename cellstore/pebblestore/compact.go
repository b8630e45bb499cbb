package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"io/fs"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
)

// Compact implements cellstore.Store. Close does not wait for Compact, but ends it with ErrClosed.
func (s *Store) Compact(ctx context.Context, name string) error {
	err := s.compact(ctx, name)
	if err != nil {
		return fail("Compact", name, nil, err)
	}
	return nil
}

func (s *Store) compact(ctx context.Context, name string) error {
	t, err := s.table(ctx, name)
	if err != nil {
		return err
	}
	if s.opts.ReadOnly {
		return cellstore.ErrReadOnly
	}
	long, done, err := t.job(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := t.sweepAll(long, false); err != nil {
		return cmp.Or(ctx.Err(), t.ended(), err)
	}
	// Idle readers keep the files of their state on the disk.
	t.refresh()
	err = t.db.Compact(long, firstKey, lastKey, false)
	if err != nil {
		return cmp.Or(ctx.Err(), t.ended(), err)
	}
	t.replaced()
	t.refresh()
	return nil
}

// Checkpoint implements cellstore.Store. Files are linked if the file system can do that. Links
// take no space until the store replaces its files.
func (s *Store) Checkpoint(ctx context.Context, dir string) error {
	if err := s.checkpoint(ctx, dir); err != nil {
		return fail("Checkpoint", "", nil, err)
	}
	return nil
}

func (s *Store) checkpoint(ctx context.Context, dir string) error {
	names, err := s.listTables(ctx)
	if err != nil {
		return err
	}
	if s.opts.ReadOnly {
		return cellstore.ErrReadOnly
	}
	switch _, err := s.fs.Stat(dir); {
	case err == nil:
		return &fs.PathError{Op: "checkpoint", Path: dir, Err: fs.ErrExist}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	part := dir + ".part"
	if err := s.fs.RemoveAll(part); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := s.copyTables(ctx, names, part); err != nil {
		return errors.Join(err, s.fs.RemoveAll(part))
	}
	if err := s.fs.Rename(part, dir); err != nil {
		return errors.Join(err, s.fs.RemoveAll(part))
	}
	return syncDir(s.fs, s.fs.PathDir(dir))
}

func (s *Store) copyTables(ctx context.Context, names []string, dir string) error {
	if err := makeDir(s.fs, s.fs.PathJoin(dir, "tables")); err != nil {
		return err
	}
	for _, name := range names {
		t, err := s.table(ctx, name)
		if err == nil {
			err = t.checkpoint(ctx, s.fs.PathJoin(dir, "tables", name))
		}
		if errors.Is(err, cellstore.ErrTableNotFound) {
			continue // dropped meanwhile
		}
		if err != nil {
			return err
		}
	}
	// The lock file marks the directory as a store, even if its tables are lost.
	return errors.Join(syncDir(s.fs, s.fs.PathJoin(dir, "tables")), writeFile(s.fs, s.fs.PathJoin(dir, "LOCK"), nil))
}

func (t *table) checkpoint(ctx context.Context, dir string) error {
	_, done, err := t.job(ctx)
	if err != nil {
		return err
	}
	defer done()
	t.altering.Lock() // so that the declaration does not change
	defer t.altering.Unlock()
	stored, err := readSchema(t.store.fs, t.store.path("tables", t.name, "schema.json"), t.name)
	if err != nil {
		return cmp.Or(t.ended(), err)
	}
	if err := makeDir(t.store.fs, dir); err != nil {
		return err
	}
	err = t.db.Checkpoint(t.store.fs.PathJoin(dir, "db"), pebble.WithFlushedWAL())
	if err = cmp.Or(t.disk.failure(), err); err != nil {
		return err
	}
	if err := makeLedger(t.store.fs, t.store.fs.PathJoin(dir, ledgerName), t.store.fs.PathJoin(dir, "db")); err != nil {
		return err
	}
	return writeSchema(t.store.fs, t.store.fs.PathJoin(dir, "schema.json"), stored)
}
