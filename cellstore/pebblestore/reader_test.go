package pebblestore

import (
	"slices"
	"testing"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Up to a limit, readers are kept for the next call: after a break of a scan, after a panic in its
// loop, and after many scans at once. A reader that was in use during a commit shows the commit
// when it is used again.
func TestReadersAreKept(t *testing.T) {
	_, tab := fixture(t, "s", &Options{FS: vfs.NewMem()})
	func() {
		defer func() { recover() }()
		for range tab.Scan(ctx, cellstore.Scan{}) {
			panic("in the loop")
		}
	}()
	for range tab.Scan(ctx, cellstore.Scan{}) {
		fill(t, tab, 2, "new ")
		break
	}
	if n := tab.count.Load(); n != 1 {
		t.Errorf("%d readers are kept of one that was used, want 1", n)
	}
	var row cellstore.Row
	if _, err := tab.Get(ctx, []byte("007"), nil, &row); err != nil || string(row.Cells[0].Value) != "new 007" {
		t.Error(err, format([]cellstore.Row{row}))
	}
	nested(t, tab, 3*int(maxReaders))
	if n := tab.count.Load(); n > maxReaders {
		t.Errorf("%d readers are kept, want at most %d", n, maxReaders)
	}
}

// nested reads row r with n readers at once. Each reads within the scan of the previous one, so
// that no reader is used twice.
func nested(t *testing.T, tab *table, n int) (values []string) {
	t.Helper()
	for row, err := range tab.Scan(ctx, cellstore.Scan{Limit: 1}) {
		if err != nil {
			t.Fatal(err)
		}
		values = append(values, string(row.Cells[0].Value))
		if n > 1 {
			values = append(values, nested(t, tab, n-1)...)
		}
	}
	return values
}

// TestReadsNeverGoBack tests the moment between a commit and the return of the writing call. Once a
// read shows the commit, every later read must show it, whether its iterator is older than the
// commit, was made during it, or was made during another commit.
func TestReadsNeverGoBack(t *testing.T) {
	_, tab := writable(t, nil, cellstore.Family{Name: "a"})
	put := func(value string) {
		t.Helper()
		w := tab.writer(tab.lay.Load(), false)
		defer w.drop()
		m := async("r", cellstore.PutAt("a", []byte("q"), 1, []byte(value)))
		if err := w.mutate(&m); err != nil {
			t.Fatal(err)
		}
		if err := tab.db.Apply(w.b, pebble.NoSync); err != nil {
			t.Fatal(err)
		}
	}
	change := func(commit func()) {
		t.Helper()
		if err := tab.change(func() error { commit(); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	readers := 0
	look := func(when, value string) {
		t.Helper()
		readers++ // one more than exist, so that a new one is made
		nested(t, tab, readers)
		if got := nested(t, tab, readers); slices.ContainsFunc(got, func(v string) bool { return v != value }) {
			t.Errorf("%s: after a read that showed %q others show %q", when, value, got)
		}
	}

	change(func() { put("1") })
	look("before", "1")
	change(func() {
		look("on its way", "1")
		put("2")
		look("committed", "2")
	})
	look("after", "2")
	change(func() {
		change(func() {
			look("two on their way", "2")
			put("3")
			look("the inner committed", "3")
		})
		look("the inner ended", "3")
		put("4")
		look("the outer committed", "4")
	})
	look("after both", "4")
}
