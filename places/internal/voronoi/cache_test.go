package voronoi

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"quadrille/cellstore"
	"quadrille/internal/must"
)

// counted counts the rows that are read.
type counted struct {
	cellstore.Table
	reads atomic.Int64
}

func (c *counted) Next(ctx context.Context, from, to []byte, sel *cellstore.Selection, row *cellstore.Row) (bool, error) {
	c.reads.Add(1)
	return c.Table.Next(ctx, from, to, sel, row)
}

// TestCache tests that several goroutines get right answers from two tables that share the memory,
// whether all leaves fit, some, or none, and that leaves which fit are read once.
func TestCache(t *testing.T) {
	t.Cleanup(func() { SetCacheBytes(DefaultCacheBytes) })
	var lists [2][]Position
	var tables [2]*counted
	for i := range lists {
		lists[i] = draw(rand.New(rand.NewPCG(uint64(i), 3)), 300, shapes["towns"])
		table, _, err := written(t, lists[i], true)
		must.Do(t, err)
		tables[i] = &counted{Table: table}
	}
	for _, bytes := range []int64{0, 40_000, DefaultCacheBytes} {
		SetCacheBytes(bytes)
		open := [2]*Table{layout.Open(tables[0]), layout.Open(tables[1])}
		ask := func(seed uint64) {
			rng := rand.New(rand.NewPCG(seed, 5))
			for i := range 600 {
				lat, lon := question(rng, lists[i%2])
				checkNearest(t, open[i%2], lists[i%2], lat, lon)
			}
		}
		var wait sync.WaitGroup
		for range 3 {
			wait.Go(func() { ask(11) })
		}
		wait.Wait()
		before := tables[0].reads.Load() + tables[1].reads.Load()
		ask(11)
		if reads := tables[0].reads.Load() + tables[1].reads.Load() - before; (reads == 0) != (bytes == DefaultCacheBytes) {
			t.Errorf("%d bytes: %d rows are read again", bytes, reads)
		}
	}
}

type text struct{ string }

func (x *text) Bytes() int64 { return int64(len(x.string)) }

// TestRecords tests that records are those of their table and id.
func TestRecords(t *testing.T) {
	a, b := layout.Open(nil), layout.Open(nil)
	a.CacheRecord([]byte("123456789"), &text{"of a"})
	b.CacheRecord([]byte("123456789"), &text{"of b"})
	a.CacheRecord([]byte("12345678"), &text{"shorter"})
	for _, c := range []struct {
		of       *Table
		id, want string
	}{{a, "123456789", "of a"}, {b, "123456789", "of b"}, {a, "12345678", "shorter"}} {
		if r, ok := c.of.Record([]byte(c.id)).(*text); !ok || r.string != c.want {
			t.Errorf("%s: %v, want %s", c.id, r, c.want)
		}
	}
	if r := b.Record([]byte("12345678")); r != nil {
		t.Errorf("%v", r)
	}
}
