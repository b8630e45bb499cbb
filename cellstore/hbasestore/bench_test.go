//go:build unix

package hbasestore

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
)

// These benchmarks compare the driver with a bare client: it makes the same calls on connections of
// its own, one per worker, without pool, plan or rows. Rounds of the two alternate, so that other
// work of the machine affects both. The result is the median of the ratios of all rounds.

const (
	benchRounds = 21
	benchRound  = 200 * time.Millisecond
)

// side does one operation of the driver or of the bare client, as worker w.
type side func(ctx context.Context, w int, rnd *rand.Rand) error

// race runs both sides alternately. It reports the driver's operations per second, and their ratio
// to the bare client's.
func race(b *testing.B, workers int, driver, bare side) {
	b.Helper()
	ctx := context.Background()
	var cpu [2]time.Duration // of this process, for the driver and the bare client
	var done [2]int
	run := func(f side, which int) float64 {
		before := processTime()
		var wg sync.WaitGroup
		counts := make([]int, workers)
		start := time.Now()
		for w := range workers {
			wg.Go(func() {
				rnd := rand.New(rand.NewPCG(uint64(w), uint64(start.UnixNano())))
				for time.Since(start) < benchRound {
					if err := f(ctx, w, rnd); err != nil {
						b.Error(err)
						return
					}
					counts[w]++
				}
			})
		}
		wg.Wait()
		n := 0
		for _, c := range counts {
			n += c
		}
		rate := float64(n) / time.Since(start).Seconds()
		cpu[which] += processTime() - before
		done[which] += n
		return rate
	}
	run(driver, 0)
	run(bare, 1)
	cpu, done = [2]time.Duration{}, [2]int{}
	var ratios, rates []float64
	for i := range benchRounds {
		var d, r float64
		if i%2 == 0 {
			d, r = run(driver, 0), run(bare, 1)
		} else {
			r, d = run(bare, 1), run(driver, 0)
		}
		ratios, rates = append(ratios, d/r), append(rates, d)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(rates), "ops/s")
	b.ReportMetric(median(ratios), "of-bare")
	// The client's own processor time says more than rates if the cluster shares the machine with
	// it and with others.
	for i, name := range []string{"cpu-µs/op", "bare-cpu-µs/op"} {
		b.ReportMetric(float64(cpu[i].Microseconds())/float64(max(done[i], 1)), name)
	}
}

// processTime returns the processor time that this process has used.
func processTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func median(s []float64) float64 {
	slices.Sort(s)
	return s[len(s)/2]
}

// benchStore opens a store for one benchmark, and a bare connection for each worker.
func benchStore(b *testing.B) (*Store, []*thrift2.Conn) {
	addr := os.Getenv("QUADRILLE_HBASE")
	if addr == "" {
		b.Skip("needs HBase: run make test-hbase")
	}
	ctx := context.Background()
	// The store and the connections use one gateway. If they used two and one had warmer caches,
	// equally fast clients would seem to differ.
	first, _, _ := strings.Cut(addr, ",")
	s, err := Open(ctx, Options{
		Gateways:      []string{first},
		Namespace:     "bench",
		Prefix:        fmt.Sprintf("p%d.%d.", os.Getpid(), stores.Add(1)),
		NoCompression: true,
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := s.createNamespace(ctx); err != nil && !strings.Contains(err.Error(), "already exists") {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		names, _ := s.Tables(ctx)
		for _, n := range names {
			_ = s.DropTable(ctx, n)
		}
		s.Close()
	})
	var conns []*thrift2.Conn
	for range 8 {
		c, err := thrift2.Dial(ctx, s.opts.Gateways[0], s.opts.config())
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { c.Close() })
		conns = append(conns, c)
	}
	return s, conns
}

// benchTable makes a table of n rows. value makes the cells of a row.
func benchTable(b *testing.B, s *Store, name string, families []string, n int, row func(i int) cellstore.Mutation) *Table {
	ctx := context.Background()
	schema := cellstore.Schema{Table: name}
	for _, f := range families {
		schema.Families = append(schema.Families, cellstore.Family{Name: f})
	}
	if err := s.CreateTable(ctx, schema); err != nil {
		b.Fatal(err)
	}
	t, err := s.Table(ctx, name)
	if err != nil {
		b.Fatal(err)
	}
	var ms []cellstore.Mutation
	for i := range n {
		if ms = append(ms, row(i)); len(ms) == 1000 || i == n-1 {
			if err := t.Apply(ctx, ms...); err != nil {
				b.Fatal(err)
			}
			ms = ms[:0]
		}
	}
	return t.(*Table)
}

func ipKey(i int) []byte { return fmt.Appendf(nil, "\x04%016d", i) }

// ipTable makes a table like that of package ipgeo: the upper bound of each range, and a record of
// some 200 bytes.
func ipTable(b *testing.B, s *Store, rows int) *Table {
	record := bytes.Repeat([]byte("geo "), 50)
	return benchTable(b, s, "ip", []string{"r"}, rows, func(i int) cellstore.Mutation {
		return cellstore.Mutation{Row: ipKey(10 * i), Ops: []cellstore.Op{cellstore.PutAt("r", []byte("r"), 1, record)}}
	})
}

func BenchmarkAgainstBare(b *testing.B) {
	s, conns := benchStore(b)
	const ips, tiles = 20_000, 400
	ip := ipTable(b, s, ips)
	families := []string{"country", "state", "county", "lake"}
	tile := benchTable(b, s, "tiles", families, tiles, func(i int) cellstore.Mutation {
		m := cellstore.Mutation{Row: fmt.Appendf(nil, "%08d", i)}
		for j, f := range families {
			m.Ops = append(m.Ops, cellstore.PutAt(f, []byte("t"), 1, bytes.Repeat([]byte{byte(i)}, 5000+(i+j)%10*5000)))
		}
		return m
	})
	rows := make([]cellstore.Row, 8)
	each := make([][]cellstore.Row, 8)
	results := make([]thrift2.Result, 8)
	for w := range each {
		each[w] = make([]cellstore.Row, len(families))
	}
	next := func(t *Table, c *thrift2.Conn, ctx context.Context, from []byte, columns ...thrift2.Column) error {
		scan := thrift2.Scan{Start: from, Columns: columns, Limit: 1, Caching: 1, Versions: 1, Read: thrift2.ReadPread}
		_, err := c.ScanResults(ctx, t.state.path, &scan, 1)
		return err
	}
	for _, workers := range []int{1, 8} {
		at := func(name string) string { return fmt.Sprintf("%s/%d", name, workers) }
		b.Run(at("IPLookup"), func(b *testing.B) {
			race(b, workers, func(ctx context.Context, w int, rnd *rand.Rand) error {
				_, err := ip.Next(ctx, ipKey(rnd.IntN(10*ips-10)), nil, nil, &rows[w])
				return err
			}, func(ctx context.Context, w int, rnd *rand.Rand) error {
				return next(ip, conns[w], ctx, ipKey(rnd.IntN(10*ips-10)))
			})
		})
		b.Run(at("TileGet"), func(b *testing.B) {
			sel := &cellstore.Selection{Families: families[:1]}
			race(b, workers, func(ctx context.Context, w int, rnd *rand.Rand) error {
				_, err := tile.Get(ctx, fmt.Appendf(nil, "%08d", rnd.IntN(tiles)), sel, &rows[w])
				return err
			}, func(ctx context.Context, w int, rnd *rand.Rand) error {
				get := thrift2.Get{Row: fmt.Appendf(nil, "%08d", rnd.IntN(tiles)), Columns: []thrift2.Column{{Family: families[0]}}, Versions: 1}
				return conns[w].Get(ctx, tile.state.path, &get, &results[w])
			})
		})
		for k := 1; k <= len(families); k += len(families) - 1 {
			// A bare client has one connection and reads one family after the other.
			b.Run(at(fmt.Sprintf("TileNextEach%d", k)), func(b *testing.B) {
				race(b, workers, func(ctx context.Context, w int, rnd *rand.Rand) error {
					return tile.NextEach(ctx, fmt.Appendf(nil, "%08d", rnd.IntN(tiles)), nil, families[:k], each[w])
				}, func(ctx context.Context, w int, rnd *rand.Rand) error {
					from := fmt.Appendf(nil, "%08d", rnd.IntN(tiles))
					for _, f := range families[:k] {
						if err := next(tile, conns[w], ctx, from, thrift2.Column{Family: f}); err != nil {
							return err
						}
					}
					return nil
				})
			})
		}
		b.Run(at("MultiGet256"), func(b *testing.B) {
			race(b, workers, func(ctx context.Context, w int, rnd *rand.Rand) error {
				keys := make([][]byte, 256)
				for i := range keys {
					keys[i] = ipKey(10 * rnd.IntN(ips))
				}
				for _, err := range ip.MultiGet(ctx, keys, nil) {
					if err != nil {
						return err
					}
				}
				return nil
			}, func(ctx context.Context, w int, rnd *rand.Rand) error {
				gets := make([]thrift2.Get, 256)
				for i := range gets {
					gets[i] = thrift2.Get{Row: ipKey(10 * rnd.IntN(ips)), Versions: 1}
				}
				_, err := conns[w].GetMultiple(ctx, ip.state.path, gets)
				return err
			})
		})
	}
	for _, reverse := range []bool{false, true} {
		name := "Scan10000"
		if reverse {
			name = "ReverseScan10000"
		}
		b.Run(name, func(b *testing.B) {
			race(b, 1, func(ctx context.Context, _ int, _ *rand.Rand) error {
				for _, err := range ip.Scan(ctx, cellstore.Scan{Limit: 10_000, Reverse: reverse, Batch: 1000}) {
					if err != nil {
						return err
					}
				}
				return nil
			}, func(ctx context.Context, _ int, _ *rand.Rand) error {
				var from []byte
				for range 10 {
					scan := thrift2.Scan{Start: from, Versions: 1, Caching: 1000, Limit: 1000, Reversed: reverse, Read: thrift2.ReadStream}
					rs, err := conns[0].ScanResults(ctx, ip.state.path, &scan, 1000)
					if err != nil {
						return err
					}
					from = append(rs[len(rs)-1].Row, 0)
				}
				return nil
			})
		})
	}
}

// BenchmarkLoad puts rows of 200 bytes, 1,000 at a time, from 4 workers.
func BenchmarkLoad(b *testing.B) {
	s, conns := benchStore(b)
	t := ipTable(b, s, 1)
	record := bytes.Repeat([]byte("geo "), 50)
	const batch = 1000
	race(b, 4, func(ctx context.Context, w int, rnd *rand.Rand) error {
		ms := make([]cellstore.Mutation, batch)
		from := rnd.IntN(1 << 20)
		for i := range ms {
			ms[i] = cellstore.Mutation{Row: ipKey(from + i), Ops: []cellstore.Op{cellstore.PutAt("r", []byte("r"), 1, record)}}
		}
		return t.Apply(ctx, ms...)
	}, func(ctx context.Context, w int, rnd *rand.Rand) error {
		puts := make([]thrift2.Put, batch)
		from := rnd.IntN(1 << 20)
		for i := range puts {
			puts[i] = thrift2.Put{Row: ipKey(from + i), Durability: thrift2.SyncWAL,
				Values: []thrift2.Value{{Family: []byte("r"), Qualifier: []byte("r"), Value: record, Timestamp: 1}}}
		}
		return conns[w].PutMultiple(ctx, t.state.path, puts)
	})
}
