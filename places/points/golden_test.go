package points

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/feature"
	"quadrille/internal/must"
)

var updateRows = flag.Bool("update-rows", false, "record the rows of live collections")

// The rows of live collections stay the same: the last release can open the directories of this
// release, and this release can open the directories of the last one. A change of the rows needs a
// new SchemaVersion.
func TestRowsStay(t *testing.T) {
	const golden = "testdata/live.rows"
	got := strings.Join([]string{
		rowsAfter(t, Meta{Title: "Vans"}),
		rowsAfter(t, Meta{
			HistoryRetention: Duration(time.Hour),
			EventRetention:   Duration(2 * time.Hour),
			Schema:           feature.Schema{{Name: "n", Kind: feature.Number}},
		}),
	}, "")
	if *updateRows {
		must.Do(t, os.WriteFile(golden, []byte(got), 0o600))
	}
	want := must.Get(os.ReadFile(golden)).In(t)
	if got == string(want) {
		return
	}
	lines := strings.Split(string(want), "\n")
	for i, line := range strings.Split(got, "\n") {
		if i >= len(lines) || line != lines[i] {
			t.Fatalf("row %d is\n%s\nand was another one", i, line)
		}
	}
	t.Fatal("rows are missing")
}

// rowsAfter returns all rows of a collection after writes of every kind, with all their versions.
func rowsAfter(t *testing.T, meta Meta) string {
	r := newClockRig(t, meta)
	ctx, random := context.Background(), rand.New(rand.NewPCG(3, 4))
	redraws := func(now, next uint64) {
		t.Helper()
		edition := func(n uint64) Edition { return Edition{Number: n, Identity: n} }
		for done := false; !done; {
			done = must.Get(r.c.Redraw(ctx, edition(now), edition(next), between(now, next))).In(t)
		}
	}
	var versions []int64
	some := func() Write {
		w := Write{Kind: Put, ID: fmt.Sprint("p", random.IntN(12)), Lat: float64(random.IntN(50)) / 3, Lon: float64(random.IntN(50)) / 7}
		switch random.IntN(9) {
		case 0:
			w.Kind = Delete
		case 1:
			w.Kind, w.Properties = Patch, fmt.Appendf(nil, `{"n":%d,"b":null}`, random.IntN(9))
		case 2:
			w.Kind, w.Move = Patch, true
		case 3:
			w.Kind, w.MergePatch, w.Properties = Patch, true, []byte(`{"o":{"a":1}}`)
		case 4:
			w.Expires = time.UnixMilli(r.now() + 900_000).UTC()
		case 5:
			w.IfAbsent = true
		case 6:
			w.IfVersions = versions
		case 7:
			w.Lat = 91
		default:
			w.Properties = []byte(` {"n": 7.0, "b": [true], "t":"ä\u00e4"} `)
		}
		return w
	}
	for round := range 40 {
		writes := make([]Write, 1+random.IntN(6))
		for i := range writes {
			writes[i] = some()
		}
		outcomes := make([]Outcome, len(writes))
		must.Do(t, r.c.Write(ctx, writes, outcomes))
		versions = versions[:0]
		for _, o := range outcomes {
			versions = append(versions, o.Version)
		}
		switch round {
		case 10:
			redraws(0, 1)
		case 20:
			redraws(1, 4)
			must.Do(t, r.c.SetNote(ctx, "hook", []byte("7"), cellstore.Sync))
		case 25:
			must.Get(r.c.Describe(ctx, func(m *Meta) error {
				m.Attribution, m.Schema = "Us", feature.Schema{{Name: "t", Kind: feature.Text}}
				return nil
			})).In(t)
		}
		r.pass(time.Duration(random.IntN(30_000)) * time.Millisecond)
	}
	r.pass(time.Hour)
	var again []Write // some of these points have expired
	for i := range 12 {
		again = append(again, Write{Kind: Put, ID: fmt.Sprint("p", i), Lat: 1, Expires: time.UnixMilli(r.now() + int64(i)*1_000_000)})
	}
	must.Do(t, r.c.Write(ctx, again, make([]Outcome, len(again))))
	table := must.Get(r.store.Table(ctx, LiveTable("test"))).In(t)
	var out bytes.Buffer
	for row := range must.All(t, table.Scan(ctx, cellstore.Scan{Selection: cellstore.Selection{Versions: cellstore.Unlimited}})) {
		for _, c := range row.Cells {
			fmt.Fprintf(&out, "%x %s %q %d %q\n", row.Key, c.Family, c.Qualifier, c.Timestamp, c.Value)
		}
	}
	return out.String()
}
