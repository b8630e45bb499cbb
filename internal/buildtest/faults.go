package buildtest

import (
	"context"
	"iter"
	"sync/atomic"

	"quadrille/cellstore"
)

// Faults inject errors into a reader's reads of its store. The zero value passes every read, and
// counts it. Set the fields only while no reads run.
type Faults struct {
	// OpenErr, if set, is the error of opening the store.
	OpenErr error
	// ReadErr, if set, is the error of every read.
	ReadErr error
	// BeforeRead, if set, is called before every read, with the table and the first key. It may wait or
	// panic; if it returns an error, the read fails with that.
	BeforeRead func(ctx context.Context, table string, key []byte) error
	// ChangeRow, if set, changes rows that have been read.
	ChangeRow func(table string, row *cellstore.Row)
	// Reads counts the reads. Each key of a MultiGet counts as one read.
	Reads atomic.Int64
	// Report is the callback for a file that cannot be read. The code that opened the store may set
	// it with OnReadFailure.
	Report func(error)
}

// Store opens a store that is read through the faults. Closing it leaves s open.
func (f *Faults) Store(s cellstore.Store) (cellstore.Store, error) {
	return &faultyStore{s, f}, f.OpenErr
}

func (f *Faults) before(ctx context.Context, t cellstore.Table, key []byte) error {
	f.Reads.Add(1)
	if f.BeforeRead != nil {
		if err := f.BeforeRead(ctx, t.Schema().Table, key); err != nil {
			return err
		}
	}
	return f.ReadErr
}

func (f *Faults) after(t cellstore.Table, rows ...*cellstore.Row) {
	for _, row := range rows {
		if f.ChangeRow != nil && !row.Empty() {
			f.ChangeRow(t.Schema().Table, row)
		}
	}
}

type faultyStore struct {
	cellstore.Store
	f *Faults
}

func (*faultyStore) Close() error { return nil }

func (s *faultyStore) OnReadFailure(report func(error)) { s.f.Report = report }

func (s *faultyStore) Table(ctx context.Context, name string) (cellstore.Table, error) {
	t, err := s.Store.Table(ctx, name)
	if err != nil {
		return nil, err
	}
	return &faultyTable{t, s.f}, nil
}

type faultyTable struct {
	cellstore.Table
	f *Faults
}

func (t *faultyTable) one(ctx context.Context, key []byte, row *cellstore.Row, read func() (bool, error)) (bool, error) {
	if err := t.f.before(ctx, t.Table, key); err != nil {
		return false, err
	}
	found, err := read()
	if found {
		t.f.after(t.Table, row)
	}
	return found, err
}

func (t *faultyTable) Get(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	return t.one(ctx, key, row, func() (bool, error) { return t.Table.Get(ctx, key, sel, row) })
}

func (t *faultyTable) Next(ctx context.Context, from, to []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	return t.one(ctx, from, row, func() (bool, error) { return t.Table.Next(ctx, from, to, sel, row) })
}

func (t *faultyTable) Prev(ctx context.Context, from, downTo []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	return t.one(ctx, from, row, func() (bool, error) { return t.Table.Prev(ctx, from, downTo, sel, row) })
}

func (t *faultyTable) NextEach(ctx context.Context, from, to []byte, families []string, rows []cellstore.Row) error {
	if err := t.f.before(ctx, t.Table, from); err != nil {
		return err
	}
	if err := t.Table.NextEach(ctx, from, to, families, rows); err != nil {
		return err
	}
	for i := range rows {
		t.f.after(t.Table, &rows[i])
	}
	return nil
}

func (t *faultyTable) MultiGet(ctx context.Context, keys [][]byte, sel *cellstore.Selection) iter.Seq2[*cellstore.Row, error] {
	return t.many(ctx, keys, t.Table.MultiGet(ctx, keys, sel))
}

func (t *faultyTable) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	var first []byte
	if len(scan.Ranges) > 0 {
		first = scan.Ranges[0].From
	}
	return t.many(ctx, [][]byte{first}, t.Table.Scan(ctx, scan))
}

func (t *faultyTable) many(ctx context.Context, keys [][]byte, read iter.Seq2[*cellstore.Row, error]) iter.Seq2[*cellstore.Row, error] {
	return func(yield func(*cellstore.Row, error) bool) {
		for _, key := range keys {
			if err := t.f.before(ctx, t.Table, key); err != nil {
				yield(nil, err)
				return
			}
		}
		for row, err := range read {
			if err == nil {
				t.f.after(t.Table, row)
			}
			if !yield(row, err) {
				return
			}
		}
	}
}
