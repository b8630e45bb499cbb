package pebblestore

import (
	"fmt"
	"strings"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/testrace"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// work returns the work of a call.
func work(s cellstore.StatsReader, call func()) cellstore.IOStats {
	before := s.Stats()
	call()
	after := s.Stats()
	return cellstore.IOStats{
		Seeks:            after.Seeks - before.Seeks,
		BlocksRead:       after.BlocksRead - before.BlocksRead,
		BlockBytes:       after.BlockBytes - before.BlockBytes,
		BlockBytesCached: after.BlockBytesCached - before.BlockBytesCached,
	}
}

func TestOneSeek(t *testing.T) {
	s, tab := fixture(t, "s", &Options{FS: vfs.NewMem()})
	var row cellstore.Row
	each := make([]cellstore.Row, 2)
	for _, tt := range []struct {
		what  string
		seeks int64
		call  func()
	}{
		{"Get of one family", 1, func() { must(tab.Get(ctx, []byte("004"), one, &row)) }},
		{"Get of two", 2, func() { must(tab.Get(ctx, []byte("004"), nil, &row)) }},
		{"Get of a missing row", 1, func() { must(tab.Get(ctx, []byte("nosuch"), one, &row)) }},
		{"Next", 1, func() { must(tab.Next(ctx, []byte("0041"), nil, one, &row)) }},
		{"Next at the end", 1, func() { must(tab.Next(ctx, []byte("z"), nil, one, &row)) }},
		{"NextEach", 2, func() { must(0, tab.NextEach(ctx, []byte("0041"), nil, []string{"b", "a"}, each)) }},
		{"Scan", 1, func() { must(all(tab, cellstore.Scan{Selection: *one})) }},
		{"Scan of no time", 0, func() {
			must(all(tab, cellstore.Scan{Selection: cellstore.Selection{Time: cellstore.Between(3, 3)}}))
		}},
	} {
		for range 2 { // with iterators made and kept
			if got := work(tab, tt.call); got.Seeks != tt.seeks {
				t.Errorf("%s took %d seeks, want %d", tt.what, got.Seeks, tt.seeks)
			}
		}
	}
	if tab.Stats() != s.Stats() {
		t.Errorf("the store counts %+v, its only table %+v", s.Stats(), tab.Stats())
	}
	if by := s.StatsByTable(); len(by) != 1 || by[tab.Schema().Table] != tab.Stats() {
		t.Errorf("by table: %+v", by)
	}
	before := tab.Stats()
	must(0, s.Close())
	if after := tab.Stats(); after != before {
		t.Errorf("closing changed the count from %+v to %+v", before, after)
	}
}

// With a Bloom filter, a Get of an absent row reads no data block. Families that are not selected
// are never read.
func TestBlocksRead(t *testing.T) {
	_, tab := fixture(t, "s", &Options{FS: vfs.NewMem()})
	var row cellstore.Row
	misses := work(tab, func() {
		for i := range 100 {
			must(tab.Get(ctx, fmt.Appendf(nil, "no such row %d", i), one, &row))
		}
	})
	if misses.BlocksRead > 8 {
		t.Errorf("100 misses read %d data blocks", misses.BlocksRead)
	}
	hits := work(tab, func() {
		for i := range 50 {
			must(tab.Get(ctx, fmt.Appendf(nil, "%03d", i), one, &row))
		}
	})
	if hits.BlocksRead == 0 || hits.BlockBytes == 0 {
		t.Errorf("50 hits: %+v", hits)
	}
	last := work(tab, func() {
		if found := must(tab.Next(ctx, []byte("0495"), nil, one, &row)); found {
			t.Error("found", row.Key)
		}
	})
	if last.BlocksRead != 0 {
		t.Errorf("Next behind the last row of a family read %d blocks of another's", last.BlocksRead)
	}
	again := work(tab, func() { must(all(tab, cellstore.Scan{})) })
	if again.BlockBytesCached == 0 || again.BlockBytesCached > again.BlockBytes {
		t.Errorf("a repeated scan: %+v", again)
	}
}

// A scan of a time range skips blocks outside the range. It does not skip blocks of newer versions
// in families that count versions.
func TestTimeRangeSkipsBlocks(t *testing.T) {
	s := must(Open("s", &Options{FS: vfs.NewMem()}))
	defer s.Close()
	must(0, s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{
		{Name: "all", MaxVersions: cellstore.Unlimited, BlockSize: 1 << 10},
		{Name: "one", MaxVersions: 1, BlockSize: 1 << 10},
	}}))
	tab := must(s.Table(ctx, "t")).(*table)
	load := must(tab.Bulk(ctx))
	for i := range 400 {
		for _, f := range []string{"all", "one"} {
			must(0, load.Add(fmt.Appendf(nil, "%03d", i), cell(f, "q", int64(i), strings.Repeat("v", 100))))
		}
	}
	must(0, load.Commit(ctx))
	scan := func(family string, min, max int64) (rows int, w cellstore.IOStats) {
		w = work(tab, func() {
			for _, err := range tab.Scan(ctx, cellstore.Scan{Selection: cellstore.Selection{
				Families: []string{family},
				Time:     cellstore.Between(min, max),
			}}) {
				must(0, err)
				rows++
			}
		})
		return rows, w
	}
	rows, whole := scan("all", 0, 400)
	if rows != 400 || whole.BlocksRead < 30 {
		t.Fatalf("%d rows from %d blocks", rows, whole.BlocksRead)
	}
	for _, tt := range []struct {
		family   string
		min, max int64
		most     int64
	}{
		{"all", 390, 400, 4}, {"one", 390, 400, 4},
		{"all", 0, 10, 4}, {"one", 0, 10, whole.BlocksRead},
		{"all", 200, 210, 5},
	} {
		rows, w := scan(tt.family, tt.min, tt.max)
		if rows != 10 || w.BlocksRead > tt.most {
			t.Errorf("%s [%d,%d): %d rows from %d blocks, want 10 from at most %d", tt.family, tt.min, tt.max, rows, w.BlocksRead, tt.most)
		}
	}
	if n := tab.count.Load(); n != 0 {
		t.Errorf("%d readers are kept", n)
	}
}

// Reads into a used Row allocate nothing.
func TestAllocations(t *testing.T) {
	testrace.SkipUnderRace(t, "its pools lose readers")
	_, tab := fixture(t, "s", &Options{FS: vfs.NewMem()})
	var row cellstore.Row
	each := make([]cellstore.Row, 2)
	names := []string{"a", "b"}
	key, gap := []byte("004"), []byte("0041")
	selections := map[string]*cellstore.Selection{
		"nil":     nil,
		"family":  one,
		"columns": {Columns: []cellstore.Column{{Family: "a", Qualifier: []byte("q")}, {Family: "a", Qualifier: []byte("b")}, {Family: "b"}}},
		"filter":  {Filter: cellstore.ColumnFilter{Prefix: []byte("q"), Limit: 2}, Time: cellstore.AsOf(5), Versions: 3},
	}
	for name, sel := range selections {
		for form, call := range map[string]func(){
			"Get":      func() { must(tab.Get(ctx, key, sel, &row)) },
			"Next":     func() { must(tab.Next(ctx, gap, nil, sel, &row)) },
			"Prev":     func() { must(tab.Prev(ctx, gap, nil, sel, &row)) },
			"miss":     func() { must(tab.Get(ctx, gap, sel, &row)) },
			"NextEach": func() { must(0, tab.NextEach(ctx, gap, nil, names, each)) },
		} {
			call()
			if n := testing.AllocsPerRun(200, call); n >= 1 {
				t.Errorf("%s with selection %s: %v allocations", form, name, n)
			}
		}
	}
}
