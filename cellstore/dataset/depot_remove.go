package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"quadrille/cellstore"
)

// removeLeftovers removes the generations that are not listed, but for one. The
// caller holds the lease, so nobody else is pushing.
func (d *Depot) removeLeftovers(ctx context.Context, dataset string, p *pointer, rows []generationRecord, but uint64) error {
	t, err := d.create(ctx)
	if err != nil {
		return err
	}
	for _, r := range rows {
		if r.generation == but {
			continue
		}
		if p != nil {
			if _, ok := p.find(r.generation); ok {
				continue
			}
		} else if r.manifest != nil && r.load == nil && !r.removing {
			// Complete and no push at work on it, but the pointer is not there
			// to say whether it was ever published: keep it until one is.
			continue
		}
		if r.manifest != nil {
			if listed, err := d.retire(ctx, dataset, r.generation); listed {
				continue
			} else if err != nil {
				return err
			}
		}
		if err := d.remove(ctx, t, dataset, r.generation); err != nil {
			return fmt.Errorf("remove what a push or prune of %s left behind: %w", dataset, err)
		}
	}
	return nil
}

// retire makes sure that a generation that is not listed never will be, before
// it is removed: a push that was taken for dead may be about to publish it. It
// reports whether that has happened.
func (d *Depot) retire(ctx context.Context, dataset string, generation uint64) (listed bool, err error) {
	_, err = d.replace(ctx, dataset, func(p *pointer, err error) (*pointer, error) {
		if p == nil || err != nil {
			return nil, err
		}
		if _, listed = p.find(generation); listed {
			return nil, nil
		}
		p.Last = max(p.Last, generation)
		return p, nil
	})
	return listed, err
}

// mark says that a generation is being removed, so that no push goes on with it.
func (d *Depot) mark(ctx context.Context, t cellstore.Table, dataset string, generation uint64) error {
	return d.patiently(ctx, func() error {
		return t.Apply(ctx, cellstore.Mutation{Row: []byte(generationRow(dataset, generation)),
			Ops: []cellstore.Op{cellstore.Put(familyManifest, columnRemoving, []byte("yes"))}})
	})
}

// remove removes a generation that is not listed: its tables, its files and
// then its row, by which it is found again when this is interrupted.
func (d *Depot) remove(ctx context.Context, t cellstore.Table, dataset string, generation uint64) error {
	if err := d.mark(ctx, t, dataset, generation); err != nil {
		return err
	}
	if err := d.step("marked"); err != nil {
		return err
	}
	s, err := d.opts.Open(ctx, tablePrefix(dataset, generation))
	if err != nil {
		return err
	}
	defer closeRead(s)
	if err := d.dropTables(ctx, s); err != nil {
		return err
	}
	row := generationRow(dataset, generation)
	scan := cellstore.Scan{Ranges: []cellstore.Range{cellstore.Prefix([]byte(row + "/"))}, Selection: cellstore.Selection{Families: []string{familyFile}}, Batch: 2}
	var pieces [][]byte
	for r, err := range t.Scan(ctx, scan) {
		if err != nil {
			return err
		}
		pieces = append(pieces, bytes.Clone(r.Key))
	}
	for _, key := range append(pieces, []byte(row)) {
		err := d.patiently(ctx, func() error {
			return t.Apply(ctx, cellstore.Mutation{Row: key, Ops: []cellstore.Op{cellstore.DeleteRow(cellstore.All)}})
		})
		if err != nil {
			return err
		}
	}
	return d.step("generation removed")
}

// dropTables drops the tables of a generation that is not listed.
func (d *Depot) dropTables(ctx context.Context, s cellstore.Store) error {
	var names []string
	err := d.patiently(ctx, func() (err error) {
		names, err = s.Tables(ctx)
		return err
	})
	if err != nil {
		return err
	}
	for _, name := range names {
		err := d.patiently(ctx, func() error { return s.DropTable(ctx, name) })
		if err != nil && !errors.Is(err, cellstore.ErrTableNotFound) {
			return err
		}
		if err := d.step("table dropped"); err != nil {
			return err
		}
	}
	return nil
}
