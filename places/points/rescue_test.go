package points

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
)

// A collection of rows some of which are lost is whole: every point that is left is in it,
// as it was or as it was before, with what had its id.
func TestRescue(t *testing.T) {
	ctx := t.Context()
	for _, history := range []Duration{0, Duration(time.Hour)} {
		for _, lose := range []int{0, 3, 30, 100} { // percent
			t.Run(fmt.Sprint(time.Duration(history), "/", lose), func(t *testing.T) {
				store := must[*pebblestore.Store](t)(pebblestore.Open(t.TempDir(), nil))
				defer store.Close()
				l, _ := openOn(t, store)
				c := must[*LiveCollection](t)(l.Create(ctx, Meta{Name: "test", Title: "Test", History: history}))
				r := rand.New(rand.NewPCG(uint64(history), uint64(lose)))
				for range 400 {
					w := putNumber(r.IntN(100))
					w.Lat += r.Float64()
					switch r.IntN(5) {
					case 0:
						w = Write{Kind: Delete, ID: w.ID}
					case 1:
						w.Expires = time.Now().Add(time.Hour)
					}
					_ = writeOne(t, c, w) // there may be none to delete
				}
				want := countOf(t, c)
				if report := must[LiveReport](t)(VerifyLive(ctx, store, "test")); report.Points != want || report.Faulty != 0 {
					t.Fatalf("before: %+v", report)
				}
				to := must[*pebblestore.Store](t)(pebblestore.Open(t.TempDir(), nil))
				defer to.Close()
				rescuer := must[*Rescuer](t)(NewRescuer(ctx, to, "test"))
				for row, err := range c.table.Scan(ctx, allVersions) {
					if err != nil {
						t.Fatal(err)
					}
					if r.IntN(100) >= lose {
						if err := rescuer.Add(ctx, row); err != nil {
							t.Fatal(err)
						}
					}
				}
				report := must[RescueReport](t)(rescuer.Finish(ctx))
				found := must[LiveReport](t)(VerifyLive(ctx, to, "test"))
				if found.Points != report.Points || found.Faulty != 0 {
					t.Fatalf("%+v, verified %+v", report, found)
				}
				if lose == 0 && (report.Points != want || report != RescueReport{Points: want}) || lose == 100 && (report.Points != 0 || !report.Description) {
					t.Fatalf("%+v of %d points", report, want)
				}
				again, _ := openOn(t, to)
				c = again.Collection("test")
				if n := countOf(t, c); n != report.Points || c.Meta().Private != report.Description {
					t.Fatalf("%d points, %+v", n, c.Meta())
				}
				if err := writeOne(t, c, putNumber(1)); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// Faults are found, each kind.
func TestVerifyLive(t *testing.T) {
	for name, damage := range map[string]func(ctx context.Context, t *testing.T, table cellstore.Table){
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
			store := must[*pebblestore.Store](t)(pebblestore.Open(t.TempDir(), nil))
			defer store.Close()
			l, _ := openOn(t, store)
			c := must[*LiveCollection](t)(l.Create(t.Context(), Meta{Name: "test"}))
			if err := writeOne(t, c, putNumber(1)); err != nil {
				t.Fatal(err)
			}
			damage(t.Context(), t, c.table)
			if report := must[LiveReport](t)(VerifyLive(t.Context(), store, "test")); report.Faulty == 0 {
				t.Fatalf("%+v", report)
			}
		})
	}
}

func drop(ctx context.Context, t *testing.T, table cellstore.Table, key []byte, family string) {
	t.Helper()
	if err := table.Apply(ctx, cellstore.Mutation{Row: key, Ops: []cellstore.Op{cellstore.DeleteColumn(family, nil, cellstore.All)}}); err != nil {
		t.Fatal(err)
	}
}
