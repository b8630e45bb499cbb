package pebblestore

import (
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
)

const benchWriters = 32

// writeBench returns a writable store on the real file system, and a table of it.
func writeBench(b *testing.B, fams ...cellstore.Family) (*Store, *table) {
	s := must(Open(b.TempDir(), nil))
	b.Cleanup(func() { must(0, s.Close()) })
	must(0, s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: fams}))
	return s, must(s.Table(ctx, "t")).(*table)
}

// concurrently divides b.N operations among writers.
func concurrently(b *testing.B, writers int, op func(w, i int)) {
	b.ReportAllocs()
	b.ResetTimer()
	var next atomic.Int64
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := int(next.Add(1)); i <= b.N; i = int(next.Add(1)) {
				op(w, i)
			}
		})
	}
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
}

// BenchmarkIncrement counts with 32 writers in 1,000 rows, each increment
// durable when it returns.
func BenchmarkIncrement(b *testing.B) {
	const rows = 1000
	key := func(i int) []byte { return fmt.Appendf(nil, "counter/%04d", i%rows) }
	for _, d := range []cellstore.Durability{cellstore.Sync, cellstore.Async} {
		name := []string{"sync", "async"}[d]
		b.Run(name+"/cellstore", func(b *testing.B) {
			_, tab := writeBench(b, cellstore.Family{Name: "f"})
			values := make([][]int64, benchWriters)
			concurrently(b, benchWriters, func(w, i int) {
				inc := cellstore.Increment{Row: key(i), Deltas: []cellstore.Delta{{Family: "f", Qualifier: []byte("n"), By: 1}}, Durability: d}
				values[w] = must(tab.Increment(ctx, inc, values[w][:0]))
			})
		})
		// This part does the same reads and writes, with a lock per row.
		b.Run(name+"/pebble", func(b *testing.B) {
			_, tab := writeBench(b, cellstore.Family{Name: "f"})
			db, f := tab.db, tab.lay.Load().fams[0]
			var locks [rows]sync.Mutex
			concurrently(b, benchWriters, func(w, i int) {
				batch := db.NewBatch()
				prefix := appendPrefix(nil, f.byte, key(i))
				locks[i%rows].Lock()
				it := must(db.NewIter(&pebble.IterOptions{LowerBound: f.lower, UpperBound: f.upper}))
				var n uint64
				if it.SeekPrefixGE(prefix) {
					n = binary.BigEndian.Uint64(it.Value())
				}
				must(0, it.Close())
				must(0, batch.Set(appendSuffix(prefix, []byte("n"), invert(tab.clock())), binary.BigEndian.AppendUint64(nil, n+1), nil))
				if d == cellstore.Sync {
					must(0, db.ApplyNoSyncWait(batch, pebble.Sync))
					locks[i%rows].Unlock()
					must(0, batch.SyncWait())
				} else {
					must(0, db.Apply(batch, pebble.NoSync))
					locks[i%rows].Unlock()
				}
				must(0, batch.Close())
			})
		})
	}
}

// BenchmarkPut writes rows of four columns of 100 bytes.
func BenchmarkPut(b *testing.B) {
	key := func(i int) []byte { return fmt.Appendf(nil, "%08x/row", uint32(i)*2654435761) }
	value := make([]byte, 100)
	cols := [][]byte{[]byte("name"), []byte("population"), []byte("time zone"), []byte("where")}
	for _, d := range []cellstore.Durability{cellstore.Sync, cellstore.Async} {
		name := []string{"sync", "async"}[d]
		b.Run(name+"/cellstore", func(b *testing.B) {
			_, tab := writeBench(b, cellstore.Family{Name: "f"})
			concurrently(b, benchWriters, func(w, i int) {
				ops := make([]cellstore.Op, len(cols))
				for j, q := range cols {
					ops[j] = cellstore.PutAt("f", q, int64(i), value)
				}
				must(0, tab.Apply(ctx, cellstore.Mutation{Row: key(i), Ops: ops, Durability: d}))
			})
		})
		b.Run(name+"/pebble", func(b *testing.B) {
			_, tab := writeBench(b, cellstore.Family{Name: "f"})
			db, f := tab.db, tab.lay.Load().fams[0]
			o := pebble.NoSync
			if d == cellstore.Sync {
				o = pebble.Sync
			}
			concurrently(b, benchWriters, func(w, i int) {
				batch := db.NewBatch()
				var k []byte
				for _, q := range cols {
					k = appendSuffix(appendPrefix(k[:0], f.byte, key(i)), q, invert(int64(i)))
					must(0, batch.Set(k, value, nil))
				}
				must(0, db.Apply(batch, o))
				must(0, batch.Close())
			})
		})
	}
}

// BenchmarkDelete deletes one of two columns of a row.
func BenchmarkDelete(b *testing.B) {
	_, tab := writeBench(b, cellstore.Family{Name: "f"})
	key := func(i int) []byte { return fmt.Appendf(nil, "%08d", i) }
	for i := range b.N {
		must(0, tab.Apply(ctx, cellstore.Mutation{Row: key(i), Durability: cellstore.Async, Ops: []cellstore.Op{
			cellstore.PutAt("f", []byte("a"), 1, []byte("value")), cellstore.PutAt("f", []byte("b"), 1, []byte("value"))}}))
	}
	concurrently(b, 1, func(_, i int) {
		must(0, tab.Apply(ctx, cellstore.Mutation{Row: key(i - 1), Durability: cellstore.Async, Ops: []cellstore.Op{
			cellstore.DeleteColumn("f", []byte("a"), cellstore.AllVersions)}}))
	})
}

// BenchmarkSweep removes three of four versions of every column; an operation is the examination of
// one cell.
func BenchmarkSweep(b *testing.B) {
	_, tab := writeBench(b, cellstore.Family{Name: "f"})
	tab.upkeep.threshold.Store(1 << 60)
	value := make([]byte, 100)
	for i := range b.N {
		must(0, tab.Apply(ctx, cellstore.Mutation{Row: fmt.Appendf(nil, "%08d", i/4), Durability: cellstore.Async, Ops: []cellstore.Op{
			cellstore.PutAt("f", []byte("q"), int64(i%4), value)}}))
	}
	b.ReportAllocs()
	b.ResetTimer()
	must(0, tab.sweepAll(ctx, false))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "cells/s")
}
