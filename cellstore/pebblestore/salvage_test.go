package pebblestore

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/testrace"
	"quadrille/internal/testseed"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// salvaged returns the rows that Salvage finds, by key.
func salvaged(t *testing.T, mem *vfs.MemFS) (map[string]string, []string) {
	t.Helper()
	rows := map[string]string{}
	schema := cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "b"}, {Name: "a"}}}
	lost, err := Salvage(ctx, "s", schema, &Options{FS: mem}, func(row *cellstore.Row) error {
		rows[string(row.Key)] = format([]cellstore.Row{*row.Clone()})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows, lost
}

// fixtureRows makes a store of rows in sorted files and in its log, with deletes in both.
func fixtureRows(t *testing.T, mem vfs.FS) (map[string]string, func()) {
	t.Helper()
	s := must(Open("s", &Options{FS: mem}))
	must(0, s.CreateTable(ctx, cellstore.Schema{
		Table:    "t",
		Families: []cellstore.Family{{Name: "b", BlockSize: 1 << 10, Compression: cellstore.CompressionNone}, {Name: "a"}},
	}))
	tab := must(s.Table(ctx, "t")).(*table)
	put := func(i int) {
		must(0, tab.Apply(ctx, cellstore.Mutation{Row: fmt.Appendf(nil, "%04d", i), Ops: []cellstore.Op{
			cellstore.PutAt("a", []byte("q"), 1, fmt.Append(nil, i)), cellstore.PutAt("b", []byte("q"), 1, []byte(strings.Repeat("x", 100)))}}))
	}
	remove := func(i int) {
		must(0, tab.Apply(ctx, cellstore.Mutation{Row: fmt.Appendf(nil, "%04d", i),
			Ops: []cellstore.Op{cellstore.DeleteRow(cellstore.AllVersions)}}))
	}
	for i := range 300 {
		put(i)
	}
	must(0, tab.db.Flush())
	for i := range 100 {
		remove(3 * i)
	}
	must(0, tab.db.Flush())
	for i := range 500 {
		put(1000 + i)
	}
	remove(1)
	rows := map[string]string{}
	for row, err := range tab.Scan(ctx, cellstore.Scan{}) {
		must(0, err)
		rows[string(row.Key)] = format([]cellstore.Row{*row.Clone()})
	}
	return rows, func() { must(0, s.Close()) }
}

// TestSalvage damages each file of a store. Salvage finds most of the rows and no others, and
// reports the loss.
func TestSalvage(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine damages, opens and reads again and again")
	rnd := testseed.Rand(t)
	mem := vfs.NewMem()
	want, done := fixtureRows(t, mem)
	killed := imageOf(mem)
	done()
	if got, lost := salvaged(t, must(killed.Mount(killed))); !maps.Equal(got, want) || len(lost) > 0 {
		t.Fatalf("%d of %d rows of a whole store, %v", len(got), len(want), lost)
	}
	for _, name := range slices.Sorted(maps.Keys(killed)) {
		data := killed[name]
		try := func(what string, changed []byte) {
			m := maps.Clone(killed)
			if m[name] = changed; changed == nil {
				delete(m, name)
			}
			mounted := must(m.Mount(killed))
			got, lost := salvaged(t, mounted)
			whole := len(got) >= len(want)
			for key, row := range got {
				switch {
				case want[key] == row:
				case want[key] != "" && len(lost) > 0 && len(row) < len(want[key]):
					whole = false // a row of which a family was lost
				case want[key] != "" || len(lost) == 0:
					t.Errorf("%s: row %q is %s, was %q: %v", what, key, row, want[key], lost)
				}
			}
			if !whole && len(lost) == 0 {
				t.Errorf("%s: %d of %d rows, and nothing is told", what, len(got), len(want))
			}
			if changed != nil && len(changed) == len(data) && len(got) < len(want)/3 {
				t.Errorf("%s: only %d of %d rows were saved: %v", what, len(got), len(want), lost)
			}
			if left := imageOf(mounted); len(left) != len(m) {
				t.Errorf("%s: %d files are left of %d", what, len(left), len(m))
			}
		}
		for range 20 {
			if len(data) == 0 {
				break
			}
			at := rnd.IntN(len(data))
			flipped := slices.Clone(data)
			flipped[at] ^= 1 << rnd.IntN(8)
			try(fmt.Sprintf("%s with byte %d of %d flipped", name, at, len(data)), flipped)
		}
		if !strings.HasPrefix(path.Base(name), "marker.format") {
			try("without "+name, nil)
		}
	}
}

// TestSalvageTellsInBounds tests that the report is bounded for any amount of damage.
func TestSalvageTellsInBounds(t *testing.T) {
	var v salvage
	for i := range mostLost + 2 {
		v.lost("%d.", i)
	}
	if got := v.report(); len(got) != mostLost+1 || got[mostLost] != "So it is in 2 more places." {
		t.Errorf("%d sentences, %q at last", len(got), got[len(got)-1])
	}
}
