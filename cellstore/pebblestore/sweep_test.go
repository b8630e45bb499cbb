package pebblestore

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// stored counts the stored cells of a table, hidden ones included.
func stored(t *table) int {
	it := must(t.db.NewIter(nil))
	defer it.Close()
	n := 0
	for ok := it.First(); ok; ok = it.Next() {
		n++
	}
	return n
}

func writable(t *testing.T, o *Options, fams ...cellstore.Family) (*Store, *table) {
	if o == nil {
		o = &Options{}
	}
	if o.FS == nil {
		o.FS = vfs.NewMem()
	}
	s := must(Open("s", o))
	t.Cleanup(func() { _ = s.Close() })
	must(0, s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: fams}))
	return s, must(s.Table(ctx, "t")).(*table)
}

func async(row string, ops ...cellstore.Op) cellstore.Mutation {
	return cellstore.Mutation{Row: []byte(row), Ops: ops, Durability: cellstore.Async}
}

// TestSweep tests that a sweep removes all cells of a column except the visible ones.
func TestSweep(t *testing.T) {
	var now atomic.Int64
	now.Store(1_000_000)
	_, tab := writable(t, &Options{Clock: cellstore.ClockOf(now.Load)},
		cellstore.Family{Name: "all", MaxVersions: cellstore.Unlimited},
		cellstore.Family{Name: "min", MaxVersions: 5, MinVersions: 2, TTL: 1e9},
		cellstore.Family{Name: "two", MaxVersions: 2})
	const rows, versions = 100, 7
	for r := range rows {
		for v := range versions {
			ts := now.Load() - int64(v)
			must(0, tab.Apply(ctx, async(fmt.Sprint(r), cellstore.PutAt("all", nil, ts, nil), cellstore.PutAt("two", nil, ts, nil),
				cellstore.PutAt("two", []byte("x"), ts, nil), cellstore.PutAt("min", nil, ts, nil))))
		}
	}
	// This column has too many versions to be deleted cell by cell, and comes before another
	// column.
	for v := range 3 * wide {
		must(0, tab.Apply(ctx, async("wide", cellstore.PutAt("two", []byte("a"), int64(v), nil),
			cellstore.PutAt("two", []byte("a\x00"), int64(v%4), nil))))
	}
	before := must(all(tab, cellstore.Scan{Selection: cellstore.Selection{Versions: cellstore.Unlimited}}))
	must(0, tab.sweepAll(ctx, false))
	if got, want := stored(tab), rows*(versions+5+4)+4; got != want {
		t.Errorf("%d cells are left, want %d", got, want)
	}
	if after := must(all(tab, cellstore.Scan{Selection: cellstore.Selection{Versions: cellstore.Unlimited}})); after != before {
		t.Errorf("a sweep changed the answer:\n%s\nwas\n%s", after, before)
	}
	now.Add(2000)
	must(0, tab.sweepAll(ctx, false))
	if got, want := stored(tab), rows*(versions+2+4)+4; got != want {
		t.Errorf("%d cells are left after they expired, want %d", got, want)
	}
}

// Garbage starts the sweeper automatically.
func TestSweeperWakes(t *testing.T) {
	_, tab := writable(t, nil, cellstore.Family{Name: "f"})
	for i := 0; ; i++ {
		must(0, tab.Apply(ctx, async("r", cellstore.PutAt("f", nil, int64(i), nil))))
		if i > leastGarbage && stored(tab) < leastGarbage {
			return // else the test runs into its time limit
		}
	}
}

// Writers put and delete versions while a sweeper runs without pause. Each step shows the expected
// versions.
func TestSweepBesideWriters(t *testing.T) {
	_, tab := writable(t, nil, cellstore.Family{Name: "f", MaxVersions: 2})
	writes := 1500
	if testing.Short() {
		writes = 300
	}
	var writers, sweeper sync.WaitGroup
	done := make(chan struct{})
	sweeper.Go(func() {
		for {
			select {
			case <-done:
				return
			default:
				if err := tab.sweepAll(ctx, false); err != nil {
					t.Error(err)
					return
				}
			}
		}
	})
	for w := range 4 {
		writers.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(w), 1))
			key := fmt.Sprint("row", w)
			var want []int64 // newest first
			for range writes {
				ts := rng.Int64N(6)
				op := cellstore.PutAt("f", nil, ts, nil)
				if rng.IntN(3) == 0 {
					op = cellstore.DeleteVersion("f", nil, ts)
				}
				must(0, tab.Apply(ctx, async(key, op)))
				want = replay(want, op)
				var row cellstore.Row
				must(tab.Get(ctx, []byte(key), &cellstore.Selection{Versions: cellstore.Unlimited}, &row))
				var got []int64
				for _, c := range row.Cells {
					got = append(got, c.Timestamp)
				}
				if fmt.Sprint(got) != fmt.Sprint(want) {
					t.Errorf("%s after %v: %v, want %v", key, op, got, want)
					return
				}
			}
		})
	}
	writers.Wait()
	close(done)
	sweeper.Wait()
}

// replay applies a put, or the delete of a version, to a column of at most two versions.
func replay(col []int64, op cellstore.Op) []int64 {
	var next []int64
	put := op.Kind == cellstore.OpPut
	for _, ts := range col {
		if put && op.Timestamp > ts {
			next, put = append(next, op.Timestamp), false
		}
		if ts != op.Timestamp {
			next = append(next, ts)
		} else if put {
			next, put = append(next, ts), false
		}
	}
	if put {
		next = append(next, op.Timestamp)
	}
	return next[:min(len(next), 2)]
}

// Compact frees the disk space of hidden cells and of a dropped family.
func TestCompactGivesSpaceBack(t *testing.T) {
	s, tab := writable(t, nil, cellstore.Family{Name: "f"}, cellstore.Family{Name: "g"})
	rng := rand.New(rand.NewPCG(1, 2))
	fill := func(family string, ts int64) {
		for i := range 500 {
			v := make([]byte, 1024)
			for j := range v {
				v[j] = byte(rng.Uint32())
			}
			must(0, tab.Apply(ctx, async(fmt.Sprintf("%04d", i), cellstore.PutAt(family, nil, ts, v))))
		}
	}
	size := func() uint64 {
		must(0, s.Compact(ctx, "t"))
		return must(tab.db.EstimateDiskUsage(firstKey, lastKey))
	}
	fill("f", 1)
	once := size()
	for ts := range int64(5) {
		fill("f", ts)
	}
	if got := size(); got > once+once/10 {
		t.Errorf("hidden versions take space: %d bytes, once %d", got, once)
	}
	fill("g", 1)
	must(0, s.AlterTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "f"}}}))
	if got := size(); got > once+once/10 {
		t.Errorf("a dropped family takes space: %d bytes, once %d", got, once)
	}
	for i := range 500 {
		must(0, tab.Apply(ctx, async(fmt.Sprintf("%04d", i), cellstore.DeleteRow(cellstore.AllVersions))))
	}
	if got := size(); got > once/10 {
		t.Errorf("deleted rows take space: %d bytes, once %d", got, once)
	}
	if got := must(all(tab, cellstore.Scan{})); strings.TrimSpace(got) != "" {
		t.Errorf("left: %s", got)
	}
}
