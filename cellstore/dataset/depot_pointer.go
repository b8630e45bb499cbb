package dataset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"quadrille/cellstore"
)

func (d *Depot) datasets(ctx context.Context) ([]storedPointer, error) {
	t, err := d.table(ctx)
	if t == nil || err != nil {
		return nil, err
	}
	var list []storedPointer
	scan := cellstore.Scan{Selection: cellstore.Selection{Columns: []cellstore.Column{{Family: familyPointer, Qualifier: columnCurrent}}}}
	for row, err := range t.Scan(ctx, scan) {
		if err != nil {
			return nil, err
		}
		name := string(row.Key)
		if b, ok := row.Value(familyPointer, columnCurrent); ok && checkName(name) == nil {
			list = append(list, storedPointer{name, bytes.Clone(b)})
		}
	}
	return list, nil
}

// present distinguishes a lost table from a table that lacks a row.
func (d *Depot) present(ctx context.Context, _ *Generation) error {
	t, err := d.table(ctx)
	if err == nil && t == nil {
		err = fmt.Errorf("table %s of %s is gone, restore it or push again: %w", depotTable, d.opts.Name, cellstore.ErrTableNotFound)
	}
	return err
}

func (d *Depot) manifest(ctx context.Context, dataset string, e entry) (Manifest, error) {
	m, _, err := d.manifestBytes(ctx, dataset, e)
	if err != nil {
		return Manifest{}, err
	}
	return *m, nil
}

func (d *Depot) manifestBytes(ctx context.Context, dataset string, e entry) (*Manifest, []byte, error) {
	b, err := d.get(ctx, generationRow(dataset, e.Generation), familyManifest, columnManifest)
	if err != nil {
		return nil, nil, err
	}
	if b == nil {
		return nil, nil, corrupt(dataset, e.Generation, "it is listed but gone from %s: roll back, or push again", d.opts.Name)
	}
	m, err := decodePinned(dataset, e, b)
	return m, b, err
}

// servable checks that a generation has its tables.
func (d *Depot) servable(ctx context.Context, dataset string, e entry) (Manifest, error) {
	m, err := d.manifest(ctx, dataset, e)
	if err != nil {
		return Manifest{}, err
	}
	s, err := d.opts.Open(ctx, tablePrefix(dataset, e.Generation))
	if err != nil {
		return Manifest{}, err
	}
	defer closeRead(s)
	for _, t := range m.Tables {
		if _, err := s.Table(ctx, t.Name); err != nil {
			return Manifest{}, fmt.Errorf("generation %d of %s: %w", e.Generation, dataset, err)
		}
	}
	return m, nil
}

// stored returns the rows of generations.
func (d *Depot) stored(ctx context.Context, dataset string) ([]storedGeneration, error) {
	t, err := d.table(ctx)
	if t == nil || err != nil {
		return nil, err
	}
	var list []storedGeneration
	scan := cellstore.Scan{Ranges: []cellstore.Range{cellstore.Prefix([]byte(dataset + "/"))}, Batch: 16,
		Selection: cellstore.Selection{Columns: []cellstore.Column{
			{Family: familyManifest, Qualifier: columnManifest}, {Family: familyManifest,
				Qualifier: columnLoad}, {Family: familyManifest, Qualifier: columnRemoving},
		}}}
	for row, err := range t.Scan(ctx, scan) {
		if err != nil {
			return nil, err
		}
		n, ok := parseGeneration(strings.TrimPrefix(string(row.Key), dataset+"/"))
		if !ok {
			continue
		}
		r := storedGeneration{number: n}
		for i := range row.Cells {
			switch c := &row.Cells[i]; {
			case bytes.Equal(c.Qualifier, columnManifest):
				r.manifest = bytes.Clone(c.Value)
			case bytes.Equal(c.Qualifier, columnLoad):
				r.load = bytes.Clone(c.Value)
			default:
				r.removing = true
			}
		}
		list = append(list, r)
	}
	return list, nil
}

// readPointer returns nil also when the Depot has no table yet.
func (d *Depot) readPointer(ctx context.Context, dataset string) ([]byte, error) {
	return d.get(ctx, dataset, familyPointer, columnCurrent)
}

// swapPointer replaces the whole pointer with a check-and-put.
func (d *Depot) swapPointer(ctx context.Context, dataset string, before, after []byte) (swapped bool, err error) {
	if bytes.Equal(before, after) {
		return true, nil
	}
	t, err := d.create(ctx)
	if err != nil {
		return false, err
	}
	return checkAndPut(ctx, t, dataset, columnCurrent, before, after)
}

func (d *Depot) removePointer(ctx context.Context, dataset string, before []byte) error {
	t, err := d.table(ctx)
	if t == nil || err != nil {
		return err
	}
	_, err = t.CheckAndMutate(ctx, cellstore.Check{Family: familyPointer, Qualifier: columnCurrent, Op: cellstore.Equal, Value: before},
		cellstore.Mutation{Row: []byte(dataset), Ops: []cellstore.Op{cellstore.DeleteColumn(familyPointer, columnCurrent,
			cellstore.AllVersions)}})
	return err
}

// checkAndPut replaces a column of a data set's row if its value is still
// before. A before of nil means that the column must be absent.
func checkAndPut(ctx context.Context, t cellstore.Table, dataset string, column, before, after []byte) (bool, error) {
	check := cellstore.Check{Family: familyPointer, Qualifier: column}
	if before != nil {
		check.Op, check.Value = cellstore.Equal, before
	}
	return t.CheckAndMutate(ctx, check, cellstore.Mutation{
		Row: []byte(dataset),
		Ops: []cellstore.Op{cellstore.Put(familyPointer, column, after)},
	})
}

// watched returns nothing, because a remote store does not notify of changes. Therefore the pointer
// is polled.
func (d *Depot) watched(string) []string { return nil }

// withhold does nothing, because the readers are unknown. The time of grace of Prune protects
// readers from a removal.
func (d *Depot) withhold(string, uint64) (release func(), err error) { return func() {}, nil }

func (d *Depot) claim(ctx context.Context, dataset string) (context.Context, func(), error) {
	t, err := d.create(ctx)
	if err != nil {
		return nil, nil, err
	}
	leased, l, err := d.lease(ctx, t, dataset, owner())
	if err != nil {
		return nil, nil, err
	}
	return leased, func() { l.release(ctx) }, nil
}

// verify compares the rows of the tables with the counts and checksums in the
// manifest.
func (d *Depot) verify(ctx context.Context, dataset string, e entry, progress func(PushProgress)) error {
	m, err := d.manifest(ctx, dataset, e)
	if err != nil {
		return err
	}
	s, err := d.opts.Open(ctx, tablePrefix(dataset, e.Generation))
	if err != nil {
		return err
	}
	defer closeRead(s)
	var counter meter
	counter.stage("checking", progress)
	var errs []error
	for _, want := range m.Tables {
		got, err := d.sumRemote(ctx, s, want.Name, PushOptions{}.withDefaults().Workers, counter.add)
		switch {
		case errors.Is(err, cellstore.ErrTableNotFound):
			errs = append(errs, fmt.Errorf("%w: table %s is gone: push it again", cellstore.ErrCorrupt, want.Name))
		case err != nil:
			return err
		case got != want:
			errs = append(errs, differ(want, got))
		}
	}
	return errors.Join(errs...)
}
