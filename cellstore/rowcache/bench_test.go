package rowcache

import (
	"math/rand/v2"
	"testing"

	"quadrille/cellstore"
)

// BenchmarkHot reads a wholly cached table, and for comparison its store: pebblestore, with its
// blocks in memory.
func BenchmarkHot(b *testing.B) {
	const rows = 100_000
	r := newRemote(b, rows, 200)
	cached, _ := open(b, r, 256<<20)
	plain := must(r.Store.Table(ctx, "t"))
	keys := make([][]byte, 1<<14)
	for i := range keys {
		keys[i] = key(rand.IntN(2*rows - 2))
	}
	type side struct {
		name string
		t    cellstore.Table
	}
	for _, s := range []side{{"cached", cached}, {"pebblestore", plain}} {
		call := func(name string, f func(k []byte, row *cellstore.Row, each []cellstore.Row)) {
			b.Run(name+"/"+s.name, func(b *testing.B) {
				var row cellstore.Row
				each := make([]cellstore.Row, 2)
				for _, k := range keys { // warm
					f(k, &row, each)
				}
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					f(keys[i%len(keys)], &row, each)
				}
			})
		}
		call("Get", func(k []byte, row *cellstore.Row, _ []cellstore.Row) { must(s.t.Get(ctx, k, onlyF, row)) })
		call("Next", func(k []byte, row *cellstore.Row, _ []cellstore.Row) { must(s.t.Next(ctx, k, nil, onlyF, row)) })
		families := []string{"f", "g"}
		call("NextEach2", func(k []byte, _ *cellstore.Row, each []cellstore.Row) {
			must(0, s.t.NextEach(ctx, k, nil, families, each))
		})
		b.Run("NextParallel/"+s.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				var row cellstore.Row
				for i := rand.IntN(len(keys)); pb.Next(); i++ {
					must(s.t.Next(ctx, keys[i%len(keys)], nil, onlyF, &row))
				}
			})
		})
	}
}
