package storetest

import (
	"context"
	"iter"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/recipes"
)

// runRecipes runs every recipe twice, on stores that hold all of them: as the
// cells lie, and with all that is hidden removed before each read.
func (s *suite) runRecipes(t *testing.T) {
	for _, variant := range []string{"plain", "compacted"} {
		t.Run(variant, func(t *testing.T) {
			s.check(t, []need{clock})
			const noon = 1_292_155_200_000 // 2010-12-12 12:00 UTC
			now := recipes.NewClock(noon)
			store, err := s.open(t).Open(OpenOptions{Clock: now.Now})
			if err != nil {
				t.Fatalf("open: %v", err)
			}
			defer func() {
				if err := store.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			}()
			if variant == "compacted" {
				store = compactedStore{store}
			}
			for _, r := range recipes.All() {
				t.Run(r.Name, func(t *testing.T) {
					if err := r.Run(t.Context(), store, now); err != nil {
						t.Error(err)
					}
				})
			}
		})
	}
}

// compactedStore compacts a table before every read of it.
type compactedStore struct{ cellstore.Store }

func (s compactedStore) Table(ctx context.Context, name string) (cellstore.Table, error) {
	t, err := s.Store.Table(ctx, name)
	if err != nil {
		return nil, err
	}
	return compactedTable{t, s.Store}, nil
}

type compactedTable struct {
	cellstore.Table
	store cellstore.Store
}

func (t compactedTable) compact(ctx context.Context) error {
	return t.store.Compact(ctx, t.Schema().Table)
}

func (t compactedTable) Get(ctx context.Context, key []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	if err := t.compact(ctx); err != nil {
		return false, err
	}
	return t.Table.Get(ctx, key, sel, row)
}

func (t compactedTable) Next(ctx context.Context, from, to []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	if err := t.compact(ctx); err != nil {
		return false, err
	}
	return t.Table.Next(ctx, from, to, sel, row)
}

func (t compactedTable) Prev(ctx context.Context, from, downTo []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	if err := t.compact(ctx); err != nil {
		return false, err
	}
	return t.Table.Prev(ctx, from, downTo, sel, row)
}

func (t compactedTable) NextEach(ctx context.Context, from, to []byte, families []string, rows []cellstore.Row) error {
	if err := t.compact(ctx); err != nil {
		return err
	}
	return t.Table.NextEach(ctx, from, to, families, rows)
}

func (t compactedTable) MultiGet(ctx context.Context, keys [][]byte, sel *cellstore.Selection) iter.Seq2[*cellstore.Row, error] {
	return t.compacted(ctx, t.Table.MultiGet(ctx, keys, sel))
}

func (t compactedTable) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	return t.compacted(ctx, t.Table.Scan(ctx, scan))
}

func (t compactedTable) compacted(ctx context.Context, rows iter.Seq2[*cellstore.Row, error]) iter.Seq2[*cellstore.Row, error] {
	return func(yield func(*cellstore.Row, error) bool) {
		if err := t.compact(ctx); err != nil {
			yield(nil, err)
			return
		}
		rows(yield)
	}
}
