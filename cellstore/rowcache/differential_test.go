package rowcache

import (
	"bytes"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"

	"github.com/cockroachdb/pebble/v2/vfs"
	"pgregory.net/rapid"
)

func someKey() *rapid.Generator[[]byte] {
	return rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 'b', 0xFF}), 0, 3)
}

func someSelection() *rapid.Generator[*cellstore.Selection] {
	return rapid.Custom(func(t *rapid.T) *cellstore.Selection {
		family := rapid.SampledFrom([]string{"f", "g"})
		switch rapid.IntRange(0, 6).Draw(t, "selection") {
		case 0, 1:
			return nil
		case 2, 3:
			return &cellstore.Selection{Families: []string{family.Draw(t, "family")}, Versions: rapid.IntRange(-1, 2).Draw(t, "versions")}
		case 4:
			return &cellstore.Selection{Columns: []cellstore.Column{{Family: family.Draw(t, "family"), Qualifier: someKey().Draw(t, "qualifier")}}}
		case 5:
			return &cellstore.Selection{Time: cellstore.Between(1, 3), Versions: 2}
		}
		return &cellstore.Selection{Filter: cellstore.ColumnFilter{From: []byte("a"), Limit: 1, Offset: rapid.IntRange(0, 1).Draw(t, "offset")}}
	})
}

// TestAgainstStore compares the reads of a cached table with those of the table itself.
func TestAgainstStore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := must(pebblestore.Open("store", &pebblestore.Options{FS: vfs.NewMem()}))
		defer s.Close()
		must(0, s.CreateTable(ctx, cellstore.Schema{
			Table:    "t",
			Families: []cellstore.Family{{Name: "g", MaxVersions: 3}, {Name: "f", MaxVersions: 3}},
		}))
		plain := must(s.Table(ctx, "t"))
		for range rapid.IntRange(0, 40).Draw(t, "cells") {
			k := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 'a', 'b', 0xFF}), 1, 3).Draw(t, "row")
			op := cellstore.Put(rapid.SampledFrom([]string{"f", "g"}).Draw(t, "family"), someKey().Draw(t, "qualifier"),
				bytes.Repeat([]byte("v"), rapid.SampledFrom([]int{0, 3, 700, 9000}).Draw(t, "value")))
			op.Timestamp = rapid.Int64Range(0, 4).Draw(t, "timestamp")
			must(0, plain.Apply(ctx, cellstore.Mutation{Row: k, Ops: []cellstore.Op{op}}))
		}
		var front cellstore.Store = s
		if rapid.Bool().Draw(t, "ranges one by one") {
			front = noSnapshots{s}
		}
		cache := NewCache(int64(rapid.SampledFrom([]int{0, 3000, 20 << 10, 1 << 20}).Draw(t, "cache")))
		cached := must(New(front, Options{Cache: cache}).Table(ctx, "t"))
		var got, want cellstore.Row
		for range rapid.IntRange(1, 60).Draw(t, "questions") {
			sel := someSelection().Draw(t, "sel")
			from, to := someKey().Draw(t, "from"), someKey().Draw(t, "to")
			switch rapid.IntRange(0, 5).Draw(t, "form") {
			case 0:
				a, err := cached.Get(ctx, from, sel, &got)
				b, other := plain.Get(ctx, from, sel, &want)
				same(t, fmt.Sprintf("Get(%x)", from), a, b, err, other, &got, &want)
			case 1:
				a, err := cached.Next(ctx, from, to, sel, &got)
				b, other := plain.Next(ctx, from, to, sel, &want)
				same(t, fmt.Sprintf("Next(%x, %x)", from, to), a, b, err, other, &got, &want)
			case 2:
				a, err := cached.Prev(ctx, from, to, sel, &got)
				b, other := plain.Prev(ctx, from, to, sel, &want)
				same(t, fmt.Sprintf("Prev(%x, %x)", from, to), a, b, err, other, &got, &want)
			case 3:
				a, b := make([]cellstore.Row, 3), make([]cellstore.Row, 3)
				families := []string{"f", "g", "f"}[:rapid.IntRange(0, 3).Draw(t, "families")]
				err, other := cached.NextEach(ctx, from, to, families, a), plain.NextEach(ctx, from, to, families, b)
				for i := range a {
					same(t, fmt.Sprintf("NextEach(%x, %x) %d", from, to, i), a[i].Empty(), b[i].Empty(), err, other, &a[i], &b[i])
				}
			case 4:
				keys := rapid.SliceOfN(someKey(), 0, 5).Draw(t, "keys")
				sameAll(t, fmt.Sprintf("MultiGet(%x)", keys), cached.MultiGet(ctx, keys, sel), plain.MultiGet(ctx, keys, sel), 100)
			case 5:
				scan := cellstore.Scan{Reverse: rapid.Bool().Draw(t, "reverse"), Limit: rapid.IntRange(0, 4).Draw(t, "limit")}
				if sel != nil {
					scan.Selection = *sel
				}
				for range rapid.IntRange(0, 2).Draw(t, "ranges") {
					scan.Ranges = append(scan.Ranges, cellstore.Range{
						From:        someKey().Draw(t, "from"),
						To:          someKey().Draw(t, "to"),
						ToInclusive: rapid.Bool().Draw(t, "inclusive"),
					})
				}
				sameAll(t, fmt.Sprintf("Scan %+v", scan), cached.Scan(ctx, scan), plain.Scan(ctx, scan), rapid.IntRange(1, 40).Draw(t, "take"))
			}
		}
		if st := cache.Stats(); st.Bytes > st.Limit {
			t.Fatalf("%+v", st)
		}
	})
}

// noSnapshots is a store whose scans do not show a single moment.
type noSnapshots struct{ cellstore.Store }

func (s noSnapshots) Capabilities() cellstore.Capabilities {
	c := s.Store.Capabilities()
	c.SnapshotScan = false
	return c
}

func same(t *rapid.T, call string, a, b bool, err, other error, got, want *cellstore.Row) {
	t.Helper()
	if a != b || (err == nil) != (other == nil) || !equal(got, want) {
		t.Fatalf("%s:\n got %v %v %+v\nwant %v %v %+v", call, a, err, got, b, other, want)
	}
}

func equal(a, b *cellstore.Row) bool {
	return bytes.Equal(a.Key, b.Key) && slices.EqualFunc(a.Cells, b.Cells, func(c, d cellstore.Cell) bool {
		return c.Family == d.Family && bytes.Equal(c.Qualifier, d.Qualifier) && c.Timestamp == d.Timestamp && bytes.Equal(c.Value, d.Value)
	})
}

func sameAll(t *rapid.T, call string, a, b iter.Seq2[*cellstore.Row, error], take int) {
	t.Helper()
	collect := func(seq iter.Seq2[*cellstore.Row, error]) (rows []*cellstore.Row, failed bool) {
		for row, err := range seq {
			if err != nil {
				return rows, true
			}
			rows = append(rows, row.Clone())
			if len(rows) == take {
				break
			}
		}
		return rows, false
	}
	got, bad := collect(a)
	want, wrong := collect(b)
	if bad != wrong || !slices.EqualFunc(got, want, equal) {
		t.Fatalf("%s:\n got %d %v\nwant %d %v", call, len(got), bad, len(want), wrong)
	}
}

// TestConcurrent reads with many goroutines through a cache that is too small. At the same time
// there is a writer of another table, and a writer of a row that readers only look at.
func TestConcurrent(t *testing.T) {
	const rows = 500
	r := newRemote(t, rows, 100)
	s := New(r, Options{Cache: NewCache(40 << 10)})
	tab := must(s.Table(ctx, "t"))
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(uint64(worker), 1))
			var row cellstore.Row
			each := make([]cellstore.Row, 2)
			for range 500 {
				i := rnd.IntN(2*rows - 2)
				even := (i + 1) / 2 * 2
				switch rnd.IntN(5) {
				case 0:
					if ok := must(tab.Get(ctx, key(i), onlyF, &row)); ok != (i%2 == 0) {
						t.Errorf("get %d: %v", i, ok)
					}
				case 1:
					if !must(tab.Next(ctx, key(i), nil, onlyF, &row)) || !bytes.Equal(row.Key, key(even)) || row.Cells[0].Value[0] != byte(even/2) {
						t.Errorf("next %d: %q", i, row.Key)
					}
				case 2:
					if !must(tab.Prev(ctx, key(i), nil, onlyF, &row)) || !bytes.Equal(row.Key, key(i/2*2)) {
						t.Errorf("prev %d: %q", i, row.Key)
					}
				case 3:
					must(0, tab.NextEach(ctx, key(i), nil, []string{"f", "g"}, each))
					if !bytes.Equal(each[0].Key, key(even)) {
						t.Errorf("next each %d: %q", i, each[0].Key)
					}
				case 4:
					n := 0
					for row, err := range tab.Scan(ctx, cellstore.Scan{Ranges: []cellstore.Range{{From: key(i), To: key(i + 20)}}, Selection: *onlyF}) {
						if err != nil || !bytes.Equal(row.Key, key(even+2*n)) {
							t.Errorf("scan %d: %v", i, err)
						}
						n++
					}
				}
			}
		})
	}
	wg.Go(func() {
		for range 50 {
			must(0, tab.Apply(ctx, cellstore.Mutation{Row: key(2*rows - 2), Ops: []cellstore.Op{cellstore.Put("g", nil, []byte("x"))}}))
		}
	})
	wg.Wait()
}
