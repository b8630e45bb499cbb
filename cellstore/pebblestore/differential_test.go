package pebblestore

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/testrace"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

// TestAgainstModel asks random questions of random tables and compares every
// answer with the model's.
func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx := context.Background()
		m := &model{schema: someSchema(t), now: 1000}
		fs := vfs.NewMem()
		opts := &Options{
			FS:        fs,
			FileBytes: rapid.SampledFrom([]int64{0, 1, 200}).Draw(t, "file bytes"),
			Clock:     cellstore.ClockOf(func() int64 { return m.now }),
		}
		s := must(Open("store", opts))
		defer func() { s.Close() }()
		if err := s.CreateTable(ctx, m.schema); err != nil {
			t.Fatal(err)
		}
		tab := must(s.Table(ctx, m.schema.Table))
		rows := rapid.SliceOfNDistinct(someBytes(1, 4), 1, 12, func(b []byte) string { return string(b) }).Draw(t, "rows")
		quals := rapid.SliceOfNDistinct(someBytes(0, 3), 1, 6, func(b []byte) string { return string(b) }).Draw(t, "qualifiers")
		if rapid.Bool().Draw(t, "long qualifier") {
			quals = append(quals, bytes.Repeat([]byte("q"), 250))
		}
		if rapid.IntRange(0, 3).Draw(t, "tall") == 0 { // many versions of few columns
			rows, quals = rows[:1], quals[:min(2, len(quals))]
		}
		for range rapid.IntRange(1, 3).Draw(t, "loads") {
			load(t, tab, m, rows, quals)
			ask(t, tab, m, rows, quals, 4)
		}
		if rapid.Bool().Draw(t, "reopen") {
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			opts.ReadOnly = rapid.Bool().Draw(t, "read-only")
			s = must(Open("store", opts))
			tab = must(s.Table(ctx, m.schema.Table))
		}
		ask(t, tab, m, rows, quals, 12)
	})
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func someSchema(t *rapid.T) cellstore.Schema {
	s := cellstore.Schema{Table: "t"}
	for _, name := range []string{"b", "a", "a.b", "Z"}[:rapid.IntRange(1, 4).Draw(t, "families")] {
		f := cellstore.Family{
			Name:        name,
			MaxVersions: rapid.SampledFrom([]int{1, 1, 2, 3, 9, cellstore.Unlimited}).Draw(t, "max versions"),
			Bloom:       rapid.SampledFrom([]cellstore.Bloom{cellstore.BloomRow, cellstore.BloomNone, cellstore.BloomRowCol}).Draw(t, "bloom"),
			Compression: rapid.SampledFrom([]cellstore.Compression{cellstore.CompressionSnappy, cellstore.CompressionNone, cellstore.CompressionZstd}).Draw(t, "compression"),
			BlockSize:   1 << 10,
		}
		if rapid.IntRange(0, 3).Draw(t, "ttl") == 0 {
			f.TTL = 990 * time.Millisecond
			f.MinVersions = rapid.IntRange(0, max(f.MaxVersions, 1)).Draw(t, "min versions")
			if f.MaxVersions == cellstore.Unlimited {
				f.MinVersions = 2
			}
		}
		s.Families = append(s.Families, f)
	}
	return must(s.Normalize())
}

// load puts random cells into the table and the model, or none of them.
func load(t *rapid.T, tab cellstore.Table, m *model, rows, quals [][]byte) {
	var cells []modelCell
	n := rapid.IntRange(0, 60).Draw(t, "cells")
	for range n {
		cells = append(cells, modelCell{
			row: rapid.SampledFrom(rows).Draw(t, "row"),
			Cell: cellstore.Cell{
				Family:    rapid.SampledFrom(m.schema.Families).Draw(t, "family").Name,
				Qualifier: rapid.SampledFrom(quals).Draw(t, "qualifier"),
				Timestamp: rapid.Int64Range(0, 20).Draw(t, "timestamp"),
				Value:     someBytes(0, 40).Draw(t, "value"),
			},
		})
	}
	slices.SortStableFunc(cells, modelCell.compare)
	cells = slices.CompactFunc(cells, func(a, b modelCell) bool { return a.compare(b) == 0 })
	b := must(tab.Bulk(context.Background()))
	for _, c := range cells {
		if err := b.Add(c.row, c.Cell); err != nil {
			t.Fatal(err)
		}
	}
	if rapid.IntRange(0, 4).Draw(t, "abort") == 0 {
		if err := b.Abort(); err != nil {
			t.Fatal(err)
		}
		return
	}
	if err := b.Commit(context.Background()); err != nil {
		t.Fatal(err)
	}
	m.load(cells)
}

func someSelection(t *rapid.T, m *model, quals [][]byte) *cellstore.Selection {
	if rapid.IntRange(0, 3).Draw(t, "default selection") == 0 {
		return nil
	}
	sel := &cellstore.Selection{Versions: rapid.SampledFrom([]int{0, 1, 2, 3, cellstore.Unlimited}).Draw(t, "versions")}
	family := rapid.Custom(func(t *rapid.T) string { return rapid.SampledFrom(m.schema.Families).Draw(t, "family").Name })
	sel.Families = rapid.SliceOfN(family, 0, 3).Draw(t, "families")
	for range rapid.IntRange(0, 4).Draw(t, "columns") {
		sel.Columns = append(sel.Columns, cellstore.Column{
			Family:    family.Draw(t, "family"),
			Qualifier: rapid.OneOf(rapid.SampledFrom(quals), someBytes(0, 3)).Draw(t, "qualifier"),
		})
	}
	if rapid.Bool().Draw(t, "filtered") {
		sel.Filter.Limit = rapid.IntRange(0, 3).Draw(t, "column limit")
		sel.Filter.Offset = rapid.IntRange(0, 2).Draw(t, "column offset")
		end := rapid.OneOf(rapid.SampledFrom(quals), someBytes(0, 2))
		if rapid.Bool().Draw(t, "by prefix") {
			sel.Filter.Prefix = end.Draw(t, "prefix")
		}
		if rapid.Bool().Draw(t, "by range") {
			sel.Filter.From, sel.Filter.To = end.Draw(t, "from column"), end.Draw(t, "to column")
		}
	}
	switch rapid.IntRange(0, 3).Draw(t, "time") {
	case 0:
		sel.Time = cellstore.AsOf(rapid.Int64Range(0, 21).Draw(t, "as of"))
	case 1:
		min := rapid.Int64Range(-1, 21).Draw(t, "min")
		sel.Time = cellstore.Between(min, min+rapid.Int64Range(0, 10).Draw(t, "span"))
	}
	return sel
}

// ask compares answers of all read forms.
func ask(t *rapid.T, tab cellstore.Table, m *model, rows, quals [][]byte, n int) {
	ctx := context.Background()
	key := rapid.OneOf(rapid.SampledFrom(rows), someBytes(1, 4))
	end := rapid.OneOf(rapid.SampledFrom(rows), someBytes(0, 4))
	var row cellstore.Row
	for range n {
		sel := someSelection(t, m, quals)
		want := m.rows(sel)
		switch rapid.IntRange(0, 4).Draw(t, "form") {
		case 0:
			k := key.Draw(t, "key")
			found, err := tab.Get(ctx, k, sel, &row)
			compare(t, fmt.Sprintf("Get(%x)", k), sel, found, err, &row, within(want, cellstore.Range{From: k, To: k, ToInclusive: true}))
		case 1:
			from, to := end.Draw(t, "from"), end.Draw(t, "to")
			found, err := tab.Next(ctx, from, to, sel, &row)
			compare(t, fmt.Sprintf("Next(%x, %x)", from, to), sel, found, err, &row, within(want, cellstore.Range{From: from, To: to}))
		case 2:
			from, to := end.Draw(t, "from"), end.Draw(t, "to")
			found, err := tab.Prev(ctx, from, to, sel, &row)
			compare(t, fmt.Sprintf("Prev(%x, %x)", from, to), sel, found, err, &row, downFrom(want, cellstore.Range{From: from, To: to}))
		case 3:
			from, to := end.Draw(t, "from"), end.Draw(t, "to")
			var names []string
			for range rapid.IntRange(1, 5).Draw(t, "each") {
				names = append(names, rapid.SampledFrom(m.schema.Families).Draw(t, "family").Name)
			}
			each := make([]cellstore.Row, len(names))
			err := tab.NextEach(ctx, from, to, names, each)
			for i, name := range names {
				own := m.rows(&cellstore.Selection{Families: []string{name}})
				compare(t, fmt.Sprintf("NextEach(%x, %x) of %s", from, to, name), nil, !each[i].Empty(), err, &each[i], within(own, cellstore.Range{From: from, To: to}))
			}
		case 4:
			scan := cellstore.Scan{
				Limit:   rapid.IntRange(0, 5).Draw(t, "limit"),
				Batch:   rapid.IntRange(0, 3).Draw(t, "batch"),
				Reverse: rapid.Bool().Draw(t, "reverse"),
			}
			if sel != nil {
				scan.Selection = *sel
			}
			for range rapid.IntRange(0, 2).Draw(t, "ranges") {
				r := cellstore.Range{From: end.Draw(t, "from"), To: end.Draw(t, "to"), ToInclusive: rapid.Bool().Draw(t, "inclusive")}
				if rapid.Bool().Draw(t, "prefix") {
					r = cellstore.Prefix(end.Draw(t, "row prefix"))
				}
				scan.Ranges = append(scan.Ranges, r)
			}
			var got []cellstore.Row
			for row, err := range tab.Scan(ctx, scan) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, *row.Clone())
			}
			if want := m.scan(scan); !equalRows(got, want) {
				t.Fatalf("Scan %+v\n got %s\nwant %s", scan, format(got), format(want))
			}
		}
	}
}

// compare checks a call that answers one row or none against all that could
// be answered, the nearest first.
func compare(t *rapid.T, call string, sel *cellstore.Selection, found bool, err error, got *cellstore.Row, want []cellstore.Row) {
	if err != nil {
		t.Fatalf("%s: %v", call, err)
	}
	if len(want) > 1 {
		want = want[:1]
	}
	var have []cellstore.Row
	if found {
		have = []cellstore.Row{*got}
	}
	if found == got.Empty() || !equalRows(have, want) {
		t.Fatalf("%s of %+v\n got %s\nwant %s", call, sel, format(have), format(want))
	}
}

func equalRows(a, b []cellstore.Row) bool {
	return slices.EqualFunc(a, b, func(x, y cellstore.Row) bool {
		return bytes.Equal(x.Key, y.Key) && slices.EqualFunc(x.Cells, y.Cells, func(c, d cellstore.Cell) bool {
			return c.Family == d.Family && bytes.Equal(c.Qualifier, d.Qualifier) && c.Timestamp == d.Timestamp && bytes.Equal(c.Value, d.Value)
		})
	})
}

func format(rows []cellstore.Row) string {
	var b bytes.Buffer
	for _, r := range rows {
		fmt.Fprintf(&b, "[%x:", r.Key)
		for _, c := range r.Cells {
			fmt.Fprintf(&b, " %s:%x@%d=%x", c.Family, c.Qualifier, c.Timestamp, c.Value)
		}
		b.WriteString("] ")
	}
	return b.String()
}

// TestEveryTimeRange reads a column of twenty versions in every time range:
// a range never brings back what MaxVersions or TTL hides.
func TestEveryTimeRange(t *testing.T) {
	testrace.Plain(t, "one goroutine reads again and again")
	s := must(Open("store", &Options{FS: vfs.NewMem(), Clock: cellstore.ClockOf(func() int64 { return 1010 })}))
	defer s.Close()
	for i, f := range []cellstore.Family{
		{MaxVersions: 1}, {MaxVersions: 9}, {MaxVersions: cellstore.Unlimited},
		{MaxVersions: 9, TTL: time.Second}, {MaxVersions: cellstore.Unlimited, TTL: time.Second},
		{MaxVersions: cellstore.Unlimited, TTL: time.Second, MinVersions: 14},
	} {
		f.Name = "f"
		m := &model{schema: must(cellstore.Schema{Table: fmt.Sprint("t", i), Families: []cellstore.Family{f}}.Normalize()), now: 1010}
		must(0, s.CreateTable(ctx, m.schema))
		tab := must(s.Table(ctx, m.schema.Table))
		load := must(tab.Bulk(ctx))
		var cells []modelCell
		for _, q := range []string{"p", "q", "r"} {
			for ts := int64(20); ts > 0; ts-- {
				cells = append(cells, modelCell{[]byte("row"), cell("f", q, ts, fmt.Sprint(ts))})
				must(0, load.Add([]byte("row"), cells[len(cells)-1].Cell))
			}
		}
		must(0, load.Commit(ctx))
		m.load(cells)
		var row cellstore.Row
		for min := range int64(23) {
			for max := min; max < 23; max++ {
				for _, versions := range []int{1, 8, cellstore.Unlimited} {
					sel := cellstore.Selection{Time: cellstore.Between(min, max), Versions: versions}
					want := format(m.rows(&sel))
					if got := must(all(tab, cellstore.Scan{Selection: sel})); got != want {
						t.Fatalf("%+v: Scan [%d,%d) %d versions:\n got %s\nwant %s", f, min, max, versions, got, want)
					}
					sel.Columns = []cellstore.Column{{Family: "f", Qualifier: []byte("q")}}
					want = format(m.rows(&sel))
					got := ""
					if must(tab.Get(ctx, []byte("row"), &sel, &row)) {
						got = format([]cellstore.Row{row})
					}
					if got != want {
						t.Fatalf("%+v: Get of f:q [%d,%d) %d versions:\n got %s\nwant %s", f, min, max, versions, got, want)
					}
				}
			}
		}
	}
}
