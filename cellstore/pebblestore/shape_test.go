package pebblestore

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"
)

func BenchmarkShape(b *testing.B) {
	for _, sh := range []struct{ cells, size int }{{1, 20}, {1, 150}, {1, 1000}, {8, 150}, {8, 20}, {64, 20}} {
		b.Run(fmt.Sprintf("cells=%d/value=%d", sh.cells, sh.size), func(b *testing.B) {
			ctx := context.Background()
			s := must(Open("bench", &Options{FS: vfs.NewMem(), CacheBytes: 1 << 30}))
			defer s.Close()
			must(0, s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "a"}}}))
			t := must(s.Table(ctx, "t")).(*table)
			load := must(t.Bulk(ctx))
			const rows = 1000
			for i := range rows {
				for j := range sh.cells {
					v := bytes.Repeat([]byte{byte(i), byte(j)}, sh.size/2)
					must(0, load.Add(benchKey(nil, i), cellstore.Cell{Family: "a", Qualifier: fmt.Appendf(nil, "q%03d", j), Timestamp: 5, Value: v}))
				}
			}
			must(0, load.Commit(ctx))
			it := must(t.db.NewIter(&pebble.IterOptions{LowerBound: t.fams[0].lower, UpperBound: t.fams[0].upper}))
			defer it.Close()
			var buf []byte
			paired(b, 1, func(int) {
				for row, err := range t.Scan(ctx, cellstore.Scan{}) {
					must(0, err)
					benchSink += len(row.Cells)
				}
			}, func(int) {
				for ok := it.First(); ok; ok = it.Next() {
					buf = append(buf[:0], it.Key()...)
					buf = append(buf, must(it.ValueAndErr())...)
					benchSink += len(buf)
				}
			})
		})
	}
}
