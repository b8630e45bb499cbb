package live_test

import (
	"context"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/places/live"
)

// elsewhere is a log in a different table than its collection.
type elsewhere struct {
	live.Log
	rows cellstore.Table
}

func (l elsewhere) Append(ctx context.Context, s *live.LogStep) error {
	if err := l.rows.Apply(ctx, s.Rows...); err != nil {
		return err
	}
	alone := *s
	alone.Rows = nil
	return l.Log.Append(ctx, &alone)
}

// TestExpiryOfAnotherLog tests that the rows for expiry are in the table of the collection, even if
// its log is elsewhere.
func TestExpiryOfAnotherLog(t *testing.T) {
	store := buildtest.NewStore(t)
	must.Do(t, store.CreateTable(t.Context(), toys.Schema(&live.Meta{Name: "log"})))
	log := live.NewTableLog(must.Get(store.Table(t.Context(), toys.Table("log"))).In(t), true)
	kind := *toys
	kind.Prefix, kind.NewLog = "others_", func(table cellstore.Table) live.Log { return elsewhere{log, table} }
	all := must.Get(live.Open(t.Context(), store, &kind)).In(t)
	t.Cleanup(func() { must.Do(t, all.Close()) })
	c := must.Get(all.Create(t.Context(), live.Meta{Name: "test"})).In(t)
	expires := time.Now().Add(time.Hour)
	for _, step := range []struct {
		write live.Write
		want  int
	}{
		{live.Write{ID: "a", Expires: expires}, 1}, {live.Write{ID: "b", Expires: expires}, 2},
		{live.Write{ID: "a", Kind: live.Patch, SetExpires: true, Expires: expires.Add(time.Hour)}, 2},
		{live.Write{ID: "a"}, 1}, {live.Write{ID: "b", Kind: live.Delete}, 0},
	} {
		outcomes := make([]live.Outcome, 1)
		must.Do(t, c.Write(t.Context(), []live.Write{step.write}, outcomes))
		must.Do(t, outcomes[0].Err)
		table, rows := must.Get(store.Table(t.Context(), kind.Table("test"))).In(t), 0
		for range must.All(t, table.Scan(t.Context(), cellstore.Scan{Selection: cellstore.Selection{Families: []string{"end"}}})) {
			rows++
		}
		if rows != step.want {
			t.Errorf("%+v: %d rows of what expires, want %d", step.write, rows, step.want)
		}
	}
}
