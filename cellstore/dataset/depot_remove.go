package dataset

import (
	"bytes"
	"context"
	"errors"

	"quadrille/cellstore"
)

// retire ensures, before the removal of an unlisted generation, that it is never listed. A push
// that seemed dead may be about to publish it. listed is set if the push has published it.
func (d *Depot) retire(ctx context.Context, dataset string, generation uint64) (listed bool, err error) {
	_, err = d.update(ctx, dataset, func(p *pointer, err error) (*pointer, error) {
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

// mark records that a generation is being removed, so that no push resumes it.
func (d *Depot) mark(ctx context.Context, t cellstore.Table, dataset string, generation uint64) error {
	return d.patiently(ctx, func() error {
		return t.Apply(ctx, cellstore.Mutation{Row: []byte(generationRow(dataset, generation)),
			Ops: []cellstore.Op{cellstore.Put(familyManifest, columnRemoving, []byte("yes"))}})
	})
}

// remove removes a generation: its tables, its files, and last its row. By the row, a later call
// can find an interrupted removal.
func (d *Depot) remove(ctx context.Context, dataset string, s storedGeneration) error {
	if s.manifest != nil {
		if listed, err := d.retire(ctx, dataset, s.number); listed || err != nil {
			return err
		}
	}
	t, err := d.create(ctx)
	if err != nil {
		return err
	}
	if err := d.mark(ctx, t, dataset, s.number); err != nil {
		return err
	}
	if err := d.step("marked"); err != nil {
		return err
	}
	store, err := d.opts.Open(ctx, tablePrefix(dataset, s.number))
	if err != nil {
		return err
	}
	defer closeRead(store)
	if err := d.dropTables(ctx, store); err != nil {
		return err
	}
	row := generationRow(dataset, s.number)
	scan := cellstore.Scan{
		Ranges:    []cellstore.Range{cellstore.Prefix([]byte(row + "/"))},
		Selection: cellstore.Selection{Families: []string{familyFile}},
		Batch:     2,
	}
	var pieces [][]byte
	for r, err := range t.Scan(ctx, scan) {
		if err != nil {
			return err
		}
		pieces = append(pieces, bytes.Clone(r.Key))
	}
	for _, key := range append(pieces, []byte(row)) {
		err := d.patiently(ctx, func() error {
			return t.Apply(ctx, cellstore.Mutation{Row: key, Ops: []cellstore.Op{cellstore.DeleteRow(cellstore.AllVersions)}})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropTables drops the tables of an unlisted generation.
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
