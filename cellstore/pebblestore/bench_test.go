package pebblestore

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"quadrille/cellstore"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"
)

// Each benchmark does the same physical work through the store and directly on its Pebble database,
// with one iterator kept open, in turns of a few hundred operations, and reports the median of the
// ratios of their times as "x-raw". Because the two alternate, the ratio is valid even on a busy
// machine. Only ns/raw and ns/store are times of one operation; ns/op is that of a turn.

// benchSizes are the rows of the tables. The largest takes twelve gigabytes of memory and a minute
// to load, so it needs QUADRILLE_FULL.
var benchSizes = func() []int {
	sizes := []int{1_000, 10_000, 100_000, 1_000_000}
	if os.Getenv("QUADRILLE_FULL") != "" {
		sizes = append(sizes, 10_000_000)
	}
	return sizes
}()

// benchValue returns a value of about the size of an IP or place record: 60 to 250 bytes, half of
// it repeating.
func benchValue(r *rand.Rand, i int) []byte {
	v := fmt.Appendf(nil, `{"id":%d,"name":"%x","country":{"iso_code":"%c%c"},"location":{"time_zone":"Europe/`, i, r.Uint64(),
		'A'+r.IntN(26), 'A'+r.IntN(26))
	for range r.IntN(20) {
		v = binary.LittleEndian.AppendUint64(v, r.Uint64())
	}
	return v
}

// benchKey returns the key of the i-th row: an even number in five bytes. gapKey returns a key just
// before it that no row has.
func benchKey(dst []byte, i int) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0x04), uint32(i)*2+2)
}

func gapKey(dst []byte, i int) []byte {
	return binary.BigEndian.AppendUint32(append(dst, 0x04), uint32(i)*2+1)
}

// rawPrefix returns the raw side's prefix of a row.
func rawPrefix(dst []byte, family byte, key func([]byte, int) []byte, i int) []byte {
	return append(key(append(dst, family), i), 0)
}

type benchTable struct {
	table *table
	it    *pebble.Iterator // the raw side's
}

var (
	benchMu     sync.Mutex
	benchTables = map[int]*benchTable{}
)

// openBench returns a table of four families with n rows in each, read-only
// and wholly in cache.
func openBench(b *testing.B, n int) *benchTable {
	benchMu.Lock()
	defer benchMu.Unlock()
	if t := benchTables[n]; t != nil {
		return t
	}
	ctx := context.Background()
	mem := vfs.NewMem()
	s := must(Open("bench", &Options{FS: mem}))
	must(0, s.CreateTable(ctx, benchSchema()))
	load := must(must(s.Table(ctx, "t")).Bulk(ctx))
	r := rand.New(rand.NewPCG(1, 2))
	for i := range n {
		key := benchKey(nil, i)
		for _, f := range benchFamilies {
			must(0, load.Add(key, cellstore.Cell{Family: f, Timestamp: 1700000000000, Value: benchValue(r, i)}))
		}
	}
	must(0, load.Commit(ctx))
	must(0, s.Close())
	s = must(Open("bench", &Options{FS: mem, ReadOnly: true, CacheBytes: int64(1<<30 + n*800)}))
	t := must(s.Table(ctx, "t")).(*table)
	for _, err := range t.Scan(ctx, cellstore.Scan{}) { // warms the cache
		must(0, err)
	}
	f := t.lay.Load().fams[0]
	it := must(t.db.NewIter(&pebble.IterOptions{LowerBound: f.lower, UpperBound: f.upper, UseL6Filters: true}))
	benchTables[n] = &benchTable{t, it}
	return benchTables[n]
}

var benchFamilies = []string{"a", "b", "c", "d"}

func benchSchema() cellstore.Schema {
	s := cellstore.Schema{Table: "t"}
	for _, f := range benchFamilies {
		s.Families = append(s.Families, cellstore.Family{Name: f})
	}
	return s
}

// paired runs turns of both sides.
func paired(b *testing.B, turn int, store, raw func(i int)) {
	b.ReportAllocs()
	var ratios []float64
	var storeTime, rawTime time.Duration
	for i := range 64 { // lets buffers grow
		store(i)
		raw(i)
	}
	n := 0
	for b.Loop() {
		start := time.Now()
		for i := range turn {
			store(n + i)
		}
		middle := time.Now()
		for i := range turn {
			raw(n + i)
		}
		end := time.Now()
		n += turn
		storeTime += middle.Sub(start)
		rawTime += end.Sub(middle)
		ratios = append(ratios, float64(middle.Sub(start))/float64(end.Sub(middle)))
		if len(ratios) == cap(ratios) {
			ratios = slices.Grow(ratios, len(ratios))
		}
	}
	slices.Sort(ratios)
	b.ReportMetric(ratios[len(ratios)/2], "x-raw")
	b.ReportMetric(float64(storeTime.Nanoseconds())/float64(n), "ns/store")
	b.ReportMetric(float64(rawTime.Nanoseconds())/float64(n), "ns/raw")
}

// order returns a fixed random sequence of rows. Both sides need their own: otherwise the second
// side would find the rows of the first in the processor's cache.
func order(n int, seed uint64) func(i int) int {
	r := rand.New(rand.NewPCG(seed, 4))
	out := make([]int, 1<<16)
	for i := range out {
		out[i] = r.IntN(n)
	}
	return func(i int) int { return out[i%len(out)] }
}

var benchSink int

func eachSize(b *testing.B, run func(b *testing.B, t *benchTable, n int)) {
	for _, n := range benchSizes {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			t := openBench(b, n)
			run(b, t, n)
		})
	}
}

var one = &cellstore.Selection{Families: []string{"a"}}

// rawCell reads the cell at the raw iterator, like a program that knows that there is only one.
func (t *benchTable) rawCell(buf []byte) []byte {
	buf = append(buf[:0], must(t.it.ValueAndErr())...)
	benchSink += len(buf)
	return buf
}

// rawRow reads all cells of the row at the raw iterator.
func (t *benchTable) rawRow(buf []byte) []byte {
	buf = append(buf[:0], t.it.Key()...)
	n := splitKey(buf)
	for {
		buf = append(buf, must(t.it.ValueAndErr())...)
		if !t.it.Next() {
			break
		}
		k := t.it.Key()
		if m := splitKey(k); !bytes.Equal(k[:m], buf[:n]) {
			break
		}
	}
	benchSink += len(buf)
	return buf
}

func BenchmarkGet(b *testing.B) {
	eachSize(b, func(b *testing.B, t *benchTable, n int) {
		ask, other := order(n, 1), order(n, 2)
		ctx := context.Background()
		var row cellstore.Row
		var key, buf []byte
		column := &cellstore.Selection{Columns: []cellstore.Column{{Family: "a"}}}
		get := func(sel *cellstore.Selection) func(i int) {
			return func(i int) {
				key = benchKey(key[:0], ask(i))
				found, err := t.table.Get(ctx, key, sel, &row)
				if !found || err != nil {
					b.Fatal(found, err)
				}
				benchSink += len(row.Cells[0].Value)
			}
		}
		f := t.table.lay.Load().fams[0].byte
		b.Run("column", func(b *testing.B) {
			paired(b, 16, get(column), func(i int) {
				key = rawPrefix(key[:0], f, benchKey, other(i))
				key = appendSuffix(key, nil, newestFirst)
				t.it.SeekPrefixGE(key)
				buf = t.rawCell(buf)
			})
		})
		b.Run("row", func(b *testing.B) {
			paired(b, 16, get(one), func(i int) {
				key = rawPrefix(key[:0], f, benchKey, other(i))
				t.it.SeekPrefixGE(key)
				buf = t.rawRow(buf)
			})
		})
	})
}

func BenchmarkGetMiss(b *testing.B) {
	eachSize(b, func(b *testing.B, t *benchTable, n int) {
		ask, other := order(n, 1), order(n, 2)
		ctx := context.Background()
		var row cellstore.Row
		var key []byte
		// Here the raw side is a hit through the store, and x-raw is the cost of a miss relative to
		// a hit.
		paired(b, 16, func(i int) {
			key = gapKey(key[:0], ask(i))
			if found, err := t.table.Get(ctx, key, one, &row); found || err != nil {
				b.Fatal(found, err)
			}
		}, func(i int) {
			key = benchKey(key[:0], other(i))
			if found, err := t.table.Get(ctx, key, one, &row); !found || err != nil {
				b.Fatal(found, err)
			}
		})
	})
}

func BenchmarkNext(b *testing.B) {
	eachSize(b, func(b *testing.B, t *benchTable, n int) {
		ask, other := order(n, 1), order(n, 2)
		ctx := context.Background()
		var row cellstore.Row
		var key, buf []byte
		paired(b, 16, func(i int) {
			key = gapKey(key[:0], ask(i))
			found, err := t.table.Next(ctx, key, nil, one, &row)
			if !found || err != nil {
				b.Fatal(found, err)
			}
			benchSink += len(row.Cells[0].Value)
		}, func(i int) {
			key = rawPrefix(key[:0], t.table.lay.Load().fams[0].byte, gapKey, other(i))
			t.it.SeekGE(key)
			buf = t.rawRow(buf)
		})
	})
}

func BenchmarkNextEach(b *testing.B) {
	eachSize(b, func(b *testing.B, t *benchTable, n int) {
		ask, other := order(n, 1), order(n, 2)
		ctx := context.Background()
		rows := make([]cellstore.Row, len(benchFamilies))
		var its []*pebble.Iterator
		for _, f := range t.table.lay.Load().fams {
			it := must(t.table.db.NewIter(&pebble.IterOptions{LowerBound: f.lower, UpperBound: f.upper, UseL6Filters: true}))
			defer it.Close()
			its = append(its, it)
		}
		var key, buf []byte
		paired(b, 8, func(i int) {
			key = gapKey(key[:0], ask(i))
			if err := t.table.NextEach(ctx, key, nil, benchFamilies, rows); err != nil {
				b.Fatal(err)
			}
			benchSink += len(rows[3].Cells[0].Value)
		}, func(i int) {
			for j, it := range its {
				key = rawPrefix(key[:0], t.table.lay.Load().fams[j].byte, gapKey, other(i))
				it.SeekGE(key)
				buf = (&benchTable{it: it}).rawRow(buf)
			}
		})
	})
}

func BenchmarkScan(b *testing.B) {
	eachSize(b, func(b *testing.B, t *benchTable, n int) {
		ctx := context.Background()
		const rows = 1000
		var buf []byte
		paired(b, 1, func(i int) {
			from := benchKey(nil, i*rows%n)
			got := 0
			for row, err := range t.table.Scan(ctx, cellstore.Scan{
				Ranges: []cellstore.Range{{From: from}}, Limit: rows, Selection: *one,
			}) {
				if err != nil {
					b.Fatal(err)
				}
				benchSink += len(row.Cells[0].Value)
				got++
			}
			if got != rows {
				b.Fatal(got)
			}
		}, func(i int) {
			from := rawPrefix(nil, t.table.lay.Load().fams[0].byte, benchKey, (i*rows+n/2/rows*rows)%n) // elsewhere, see order
			t.it.SeekGE(from)
			for range rows {
				buf = append(buf[:0], t.it.Key()...)
				buf = append(buf, must(t.it.ValueAndErr())...)
				benchSink += len(buf)
				t.it.Next()
			}
		})
	})
}

// BenchmarkScanCells scans 2,000 rows of several cells and sizes.
func BenchmarkScanCells(b *testing.B) {
	for _, shape := range []struct{ cells, size int }{{1, 1000}, {8, 20}, {8, 150}, {64, 20}} {
		b.Run(fmt.Sprintf("cells=%d/value=%d", shape.cells, shape.size), func(b *testing.B) {
			ctx := context.Background()
			s := must(Open("bench", &Options{FS: vfs.NewMem()}))
			defer s.Close()
			must(0, s.CreateTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "a"}}}))
			t := must(s.Table(ctx, "t")).(*table)
			load := must(t.Bulk(ctx))
			for i := range 2000 {
				for j := range shape.cells {
					must(0, load.Add(benchKey(nil, i), cellstore.Cell{
						Family: "a", Qualifier: fmt.Appendf(nil, "P.PPL%03d", j), Timestamp: 1700000000000,
						Value: bytes.Repeat([]byte{byte(i), byte(j)}, shape.size/2),
					}))
				}
			}
			must(0, load.Commit(ctx))
			it := must(t.db.NewIter(&pebble.IterOptions{LowerBound: t.lay.Load().fams[0].lower, UpperBound: t.lay.Load().fams[0].upper}))
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

// BenchmarkBulk loads four families. The raw side writes the same cells with four sorted table
// writers and ingests the files.
func BenchmarkBulk(b *testing.B) {
	const rows = 100_000
	r := rand.New(rand.NewPCG(1, 2))
	values := make([][]byte, 1000)
	for i := range values {
		values[i] = benchValue(r, i)
	}
	ctx := context.Background()
	s := must(Open(b.TempDir(), nil))
	defer s.Close()
	must(0, s.CreateTable(ctx, benchSchema()))
	t := must(s.Table(ctx, "t")).(*table)
	var key []byte
	n := 0
	dir := b.TempDir()
	paired(b, 1, func(int) {
		load := must(t.Bulk(ctx))
		for i := range rows {
			key = benchKey(key[:0], i)
			for j, f := range benchFamilies {
				must(0, load.Add(key, cellstore.Cell{Family: f, Timestamp: 1700000000000, Value: values[(i+j)%len(values)]}))
			}
		}
		must(0, load.Commit(ctx))
	}, func(int) {
		var paths []string
		var writers []*sstable.Writer
		for range benchFamilies {
			n++
			paths = append(paths, fmt.Sprintf("%s/%d.sst", dir, n))
			f := must(vfs.Default.Create(paths[len(paths)-1], vfs.WriteCategoryUnspecified))
			o := t.dbOpts.MakeWriterOptions(6, t.db.TableFormat())
			o.DisableValueBlocks = true
			writers = append(writers, sstable.NewWriter(objstorageprovider.NewFileWritable(f), o))
		}
		for i := range rows {
			for j := range benchFamilies {
				key = rawPrefix(key[:0], t.lay.Load().fams[j].byte, benchKey, i)
				key = appendSuffix(key, nil, invert(1700000000000))
				must(0, writers[j].Set(key, values[(i+j)%len(values)]))
			}
		}
		for _, w := range writers {
			must(0, w.Close())
		}
		must(0, t.db.Ingest(ctx, paths))
	})
}
