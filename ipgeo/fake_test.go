package ipgeo

import (
	"bytes"
	"context"
	"errors"
	"iter"
	"slices"
	"sort"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/must"
)

// fakeStore is a store of one table in a sorted slice. It suffices for Build and Lookup, is quick
// to create by the thousand, and tests can damage its rows.
type fakeStore struct {
	cellstore.Store // the methods not used here
	schema          cellstore.Schema
	keys, values    [][]byte
	timestamps      []int64
	nexts           int
	fail            error // of every call that touches rows
}

func (f *fakeStore) CreateTable(_ context.Context, s cellstore.Schema) error {
	if f.schema.Table != "" {
		return cellstore.ErrTableExists
	}
	s, err := s.Normalize()
	f.schema = s
	return err
}

func (f *fakeStore) Table(_ context.Context, name string) (cellstore.Table, error) {
	if name != f.schema.Table {
		return nil, cellstore.ErrTableNotFound
	}
	return &fakeTable{f: f}, nil
}

type fakeTable struct {
	cellstore.Table
	f *fakeStore
}

func (t *fakeTable) Next(_ context.Context, from, to []byte, _ *cellstore.Selection, row *cellstore.Row) (bool, error) {
	row.Reset()
	t.f.nexts++
	if t.f.fail != nil {
		return false, t.f.fail
	}
	i := sort.Search(len(t.f.keys), func(i int) bool { return bytes.Compare(t.f.keys[i], from) >= 0 })
	if i == len(t.f.keys) || bytes.Compare(t.f.keys[i], to) >= 0 {
		return false, nil
	}
	row.SetKey(t.f.keys[i])
	row.AppendCell(t.f.schema.Families[0].Name, nil, t.f.timestamps[i], t.f.values[i])
	return true, nil
}

func (t *fakeTable) Prev(_ context.Context, from, downTo []byte, _ *cellstore.Selection, row *cellstore.Row) (bool, error) {
	row.Reset()
	if t.f.fail != nil {
		return false, t.f.fail
	}
	i := sort.Search(len(t.f.keys), func(i int) bool { return bytes.Compare(t.f.keys[i], from) > 0 }) - 1
	if i < 0 || bytes.Compare(t.f.keys[i], downTo) <= 0 {
		return false, nil
	}
	row.SetKey(t.f.keys[i])
	row.AppendCell(t.f.schema.Families[0].Name, nil, t.f.timestamps[i], t.f.values[i])
	return true, nil
}

func (t *fakeTable) Scan(_ context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	return func(yield func(*cellstore.Row, error) bool) {
		var row cellstore.Row
		in := scan.Ranges[0]
		for i, k := range t.f.keys {
			if t.f.fail != nil {
				yield(nil, t.f.fail)
				return
			}
			if bytes.Compare(k, in.From) < 0 || len(in.To) > 0 && bytes.Compare(k, in.To) >= 0 {
				continue
			}
			row.Reset()
			row.SetKey(k)
			row.AppendCell(t.f.schema.Families[0].Name, nil, t.f.timestamps[i], t.f.values[i])
			if !yield(&row, nil) {
				return
			}
		}
	}
}

func (t *fakeTable) Bulk(context.Context) (cellstore.BulkLoader, error) {
	return &fakeLoad{f: t.f}, nil
}

type fakeLoad struct {
	f            *fakeStore
	keys, values [][]byte
	timestamps   []int64
	done         bool
}

func (l *fakeLoad) Add(key []byte, c cellstore.Cell) error {
	if l.f.fail != nil {
		return l.f.fail
	}
	if n := len(l.keys); n > 0 && bytes.Compare(l.keys[n-1], key) >= 0 {
		return cellstore.ErrUnsorted
	}
	if c.Family != l.f.schema.Families[0].Name || len(c.Qualifier) != 0 {
		return cellstore.ErrFamilyNotFound
	}
	l.keys = append(l.keys, slices.Clone(key))
	l.values = append(l.values, slices.Clone(c.Value))
	l.timestamps = append(l.timestamps, c.Timestamp)
	return nil
}

func (l *fakeLoad) Commit(context.Context) error {
	if l.done {
		return errors.New("load is over")
	}
	l.done = true
	l.f.keys, l.f.values, l.f.timestamps = l.keys, l.values, l.timestamps
	return nil
}

func (l *fakeLoad) Abort() error { l.done = true; return nil }

// seqOf yields ranges without an error.
func seqOf(ranges []Range) iter.Seq2[Range, error] {
	return func(yield func(Range, error) bool) {
		for _, r := range ranges {
			if !yield(r, nil) {
				return
			}
		}
	}
}

// built builds ranges in a fakeStore and opens them.
func built(t testing.TB, ranges []Range, opts BuildOptions) (*fakeStore, *Reader, Meta, Stats) {
	t.Helper()
	f := &fakeStore{}
	meta, stats, err := Build(t.Context(), f, seqOf(ranges), opts)
	must.Do(t, err)
	r, err := Open(t.Context(), f, meta)
	must.Do(t, err)
	if got, want := meta.Rows4+meta.Rows6, len(rows(t, f)); got != int64(want) {
		t.Fatalf("meta says %d ranges, there are %d", got, want)
	}
	return f, r, meta, stats
}
