package pebblestore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
)

// AlterTable implements cellstore.Store. Hints take effect when the store is opened again;
// Table.Schema reports the hints in force.
func (s *Store) AlterTable(ctx context.Context, schema cellstore.Schema) error {
	if err := s.alterTable(ctx, schema); err != nil {
		return fail("AlterTable", schema.Table, nil, err)
	}
	return nil
}

func (s *Store) alterTable(ctx context.Context, schema cellstore.Schema) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t, err := s.table(ctx, schema.Table)
	if err != nil {
		return err
	}
	if s.opts.ReadOnly {
		return cellstore.ErrReadOnly
	}
	if schema, err = schema.Normalize(); err != nil {
		return err
	}
	t.altering.Lock()
	defer t.altering.Unlock()
	// No write runs meanwhile: earlier writes have the old declaration, and later ones the new one.
	t.gate.Lock()
	defer t.gate.Unlock()
	if err := cmp.Or(t.ended(), t.disk.failure()); err != nil {
		return err
	}
	path := s.path("tables", t.name, "schema.json")
	stored, err := readSchema(s.fs, path, t.name)
	if err != nil {
		return err
	}
	if stored, err = stored.alter(schema); err != nil {
		return err
	}
	if err := writeSchema(s.fs, path, stored); err != nil {
		return err
	}
	t.lay.Store(newLayout(stored.inForce(t.opened), stored))
	return t.clearDropped(stored)
}

// alter returns the declaration that replaces t. Families that stay keep
// their bytes, new ones get bytes never used before.
func (t storedTable) alter(s cellstore.Schema) (storedTable, error) {
	fresh := newStoredTable(s)
	next := storedTable{Name: t.Name, NextFamilyByte: t.NextFamilyByte, format: t.format, ledger: t.ledger}
	for _, f := range fresh.Families {
		if i := slices.IndexFunc(t.Families, func(old storedFamily) bool { return old.Name == f.Name }); i >= 0 {
			f.Byte = t.Families[i].Byte
		} else {
			if next.NextFamilyByte == lastFamily {
				return t, fmt.Errorf("%w: %d families have been added over time, which is all a table can have: copy it into a new table",
					cellstore.ErrBadSchema, lastFamily-1)
			}
			f.Byte = next.NextFamilyByte
			next.NextFamilyByte++
		}
		next.Families = append(next.Families, f)
	}
	return next, nil
}

// lastFamily is the first byte that no family has. The end of the range of the family before it
// needs this byte.
const lastFamily = 254

// clearDropped deletes the cells of dropped families, also those of families dropped before a
// crash.
func (t *table) clearDropped(stored storedTable) error {
	used := map[byte]bool{}
	for _, f := range stored.Families {
		used[f.Byte] = true
	}
	cleared := false
	for b := byte(1); b < stored.NextFamilyByte; b++ {
		if used[b] {
			continue
		}
		lower, upper := appendPrefix(nil, b, nil), appendPrefix(nil, b+1, nil)
		it, err := t.db.NewIter(&pebble.IterOptions{LowerBound: lower, UpperBound: upper})
		if err != nil {
			return err
		}
		left := it.First()
		if err := errors.Join(it.Error(), it.Close()); err != nil {
			return err
		}
		if left {
			cleared = true
			if err := t.change(func() error { return t.db.DeleteRange(lower, upper, pebble.NoSync) }); err != nil {
				return err
			}
		}
	}
	if !cleared {
		return nil
	}
	if err := t.syncLog(); err != nil {
		return err
	}
	t.refresh()
	return nil
}

// DropTable implements cellstore.Store.
func (s *Store) DropTable(ctx context.Context, name string) error {
	if err := s.dropTable(ctx, name); err != nil {
		return fail("DropTable", name, nil, err)
	}
	return nil
}

func (s *Store) dropTable(ctx context.Context, name string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	gone, err := s.putAway(name)
	if err != nil {
		return err
	}
	if rm := s.fs.RemoveAll(gone); rm != nil {
		engineLog{s.opts.Logger}.Errorf("%s was dropped and is removed when the store is opened again: %s", gone, rm)
	}
	return nil
}

// putAway renames a table to a name that Open removes, even after a crash. After an error, the
// Tables of callers are closed, and callers can open them again.
func (s *Store) putAway(name string) (gone string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.find(name); err != nil {
		return "", err
	}
	if s.opts.ReadOnly {
		return "", cellstore.ErrReadOnly
	}
	if gone, err = s.unused(droppedPrefix + name); err != nil {
		return "", err
	}
	if t := s.tables[name]; t != nil {
		s.forget(name)
		_ = t.close(cellstore.ErrTableNotFound) // failed writes are discarded too
	}
	if err := s.fs.Rename(s.path("tables", name), gone); err != nil {
		return "", noSpace(err)
	}
	return gone, syncDir(s.fs, s.path("tables"))
}

// unused returns the path of a directory in tables that does not exist.
func (s *Store) unused(name string) (string, error) {
	for n := 0; ; n++ {
		path := s.path("tables", name)
		if n > 0 {
			path = s.path("tables", fmt.Sprintf("%s.%d", name, n))
		}
		if _, err := s.fs.Stat(path); errors.Is(err, fs.ErrNotExist) {
			return path, nil
		} else if err != nil {
			return "", err
		}
	}
}
