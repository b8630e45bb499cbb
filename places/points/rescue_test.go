package points

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/internal/testrace"
)

// Some rows are lost, damaged or old. A collection rescued from them is consistent: it has every
// remaining point, in its last or an earlier state, with the right id.
func TestRescue(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine damages, opens and reads again and again")
	ctx := t.Context()
	for _, history := range []Duration{0, Duration(time.Hour)} {
		for _, lose := range []int{0, 3, 30, 100} { // percent
			t.Run(fmt.Sprint(time.Duration(history), "/", lose), func(t *testing.T) {
				store := buildtest.NewStore(t)
				l, _ := openOn(t, store)
				c := must.Get(l.Create(ctx, Meta{Name: "test", Title: "Test", HistoryRetention: history})).In(t)
				r := rand.New(rand.NewPCG(uint64(history), uint64(lose)))
				var earlier map[string]*cellstore.Row
				for n := range 400 {
					w := putNumber(r.IntN(100))
					w.Lat += r.Float64()
					switch r.IntN(5) {
					case 0:
						w = Write{Kind: Delete, ID: w.ID}
					case 1:
						w.Expires = time.Now().Add(time.Hour)
					}
					_ = writeOne(t, c, w) // the point may not exist
					if n == 300 {
						earlier = rowsOf(t, c)
					}
				}
				want := countOf(t, c)
				if report := must.Get(VerifyLive(ctx, store, "test")).In(t); report.Points != want || report.FaultyRows != 0 {
					t.Fatalf("before: %+v", report)
				}
				to := buildtest.NewStore(t)
				rescuer := must.Get(NewRescuer(ctx, to, "test")).In(t)
				rows := rowsOf(t, c)
				if lose%100 == 0 {
					earlier = nil
				}
				all := maps.Clone(rows)
				maps.Copy(all, earlier)
				for _, key := range slices.Sorted(maps.Keys(all)) {
					row := rows[key]
					switch old := earlier[key]; {
					case row != nil && r.IntN(100) >= lose:
					case old != nil && r.IntN(2) == 0:
						row = old
					case old != nil && r.IntN(2) == 0:
						row = old
						row.Cells[0].Value = []byte("spoiled")
					default:
						continue
					}
					must.Do(t, rescuer.Add(ctx, row))
				}
				report := must.Get(rescuer.Finish(ctx)).In(t)
				found := must.Get(VerifyLive(ctx, to, "test")).In(t)
				if found.Points != report.Points || found.FaultyRows != 0 {
					t.Fatalf("%+v, verified %+v", report, found)
				}
				if lose == 0 && (report.Points != want || report != RescueReport{Points: want}) ||
					lose == 100 && (report.Points != 0 || !report.Description) {
					t.Fatalf("%+v of %d points", report, want)
				}
				again, _ := openOn(t, to)
				c = again.Collection("test")
				if n := countOf(t, c); n != report.Points || c.Meta().Private != report.Description {
					t.Fatalf("%d points, %+v", n, c.Meta())
				}
				mustWrite(t, c, putNumber(1))
			})
		}
	}
}

// rowsOf reads all rows of a collection, by their keys.
func rowsOf(t *testing.T, c *LiveCollection) map[string]*cellstore.Row {
	t.Helper()
	rows := map[string]*cellstore.Row{}
	for row := range must.All(t,
		c.Collection().table.Scan(t.Context(), cellstore.Scan{Selection: cellstore.Selection{Versions: cellstore.Unlimited}})) {
		rows[string(row.Key)] = row.Clone()
	}
	return rows
}

// TestVerifyLive tests that Verify finds faults of every kind, in rows with any number of versions.
func TestVerifyLive(t *testing.T) {
	for name, damage := range map[string]func(ctx context.Context, t *testing.T, table cellstore.Table){
		"old version": func(ctx context.Context, t *testing.T, table cellstore.Table) {
			m := cellstore.Mutation{Row: appendIDKey(nil, "1")}
			for at := range int64(2*maxVersions + 1) {
				m.Ops = append(m.Ops, cellstore.PutAt(famID, nil, at, (&record{}).appendIDValue(nil)[:idValue-max(1-int(at), 0)]))
			}
			must.Do(t, table.Apply(ctx, m))
		},
		"id": func(ctx context.Context, t *testing.T, table cellstore.Table) {
			drop(ctx, t, table, appendIDKey(nil, "1"), famID)
		},
		"point": func(ctx context.Context, t *testing.T, table cellstore.Table) {
			for row := range table.Scan(ctx, cellstore.Scan{Selection: *selectPoint}) {
				drop(ctx, t, table, append([]byte(nil), row.Key...), famPoint)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			store := buildtest.NewStore(t)
			l, _ := openOn(t, store)
			c := must.Get(l.Create(t.Context(), Meta{Name: "test", HistoryRetention: maxHistory})).In(t)
			mustWrite(t, c, putNumber(1))
			damage(t.Context(), t, c.index().table)
			if report := must.Get(VerifyLive(t.Context(), store, "test")).In(t); report.FaultyRows == 0 {
				t.Fatalf("%+v", report)
			}
		})
	}
}

func drop(ctx context.Context, t *testing.T, table cellstore.Table, key []byte, family string) {
	t.Helper()
	must.Do(t, table.Apply(ctx, removal(family, key)))
}
