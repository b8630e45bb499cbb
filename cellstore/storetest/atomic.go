package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"
)

var atomicRules = []rule{
	{id: "A1", name: "values are appended", run: func(e *env) {
		e.must("create t f")
		inc := cellstore.Increment{Row: []byte("r"), Deltas: []cellstore.Delta{{Family: "f", Qualifier: []byte("q"), By: 2}}}
		values := []int64{7}
		for range 2 {
			var err error
			values, err = e.table("t").Increment(e.ctx, inc, values)
			e.ok(err)
		}
		if !slices.Equal(values, []int64{7, 2, 4}) {
			e.Errorf("values %d, want 7 2 4", values)
		}
		inc.Row = nil
		values, err := e.table("t").Increment(e.ctx, inc, values)
		if err == nil || len(values) != 3 {
			e.Errorf("a failure answers %d, %v", values, err)
		}
	}},
	{id: "A5", name: "concurrent increments all count", run: testConcurrentIncrements},
	{id: "A6", name: "concurrent appends all count", run: testConcurrentAppends},
	{id: "A7", name: "mixed mutations", run: testMixed},
	{id: "A7", name: "readers see all of a mutation or nothing", run: testAtomicRows},
}

// testMixed: a backend without the capabilities refuses such mutations instead of applying them in
// parts.
func testMixed(e *env) {
	e.must("create t f")
	mixed := mutate("r", cellstore.PutAt("f", []byte("a"), 1, []byte("x")), cellstore.DeleteColumn("f", []byte("b"), 1))
	err := e.table("t").Apply(e.ctx, mixed)
	if e.caps.MixedMutation {
		e.ok(err)
	} else {
		e.wantErr("puts with deletes", err, errors.ErrUnsupported)
	}
	several := mutate("s", cellstore.PutAt("f", []byte("a"), 1, []byte("x")), cellstore.PutAt("f", []byte("a"), 2, []byte("x")))
	err = e.table("t").Apply(e.ctx, several)
	if e.caps.CellTimestamps {
		e.ok(err)
	} else {
		e.wantErr("several timestamps", err, errors.ErrUnsupported)
	}
	e.must("put t u")
	e.prints("get t u", "none", "after a mutation without operations")
}

const (
	workers = 8
	rounds  = 50
)

func testConcurrentIncrements(e *env) {
	e.must("create t f g")
	t := e.table("t")
	results := make([][]int64, workers)
	together(workers, func(w int) {
		inc := cellstore.Increment{Row: []byte("r"), Durability: cellstore.Durability(w % 2), Deltas: []cellstore.Delta{
			{Family: "f", Qualifier: []byte("n"), By: 1}, {Family: "g", Qualifier: []byte("n"), By: -1}}}
		var values []int64
		for range rounds {
			var err error
			if values, err = t.Increment(e.ctx, inc, values[:0]); err != nil {
				e.Errorf("Increment: %v", err)
				return
			}
			if values[0] != -values[1] {
				e.Errorf("the two counters are at %d", values)
			}
			results[w] = append(results[w], values[0])
		}
	})
	var all []int64
	for _, r := range results {
		if !slices.IsSorted(r) {
			e.Errorf("one worker saw the counter fall: %d", r)
		}
		all = append(all, r...)
	}
	slices.Sort(all)
	for i, n := range all {
		if n != int64(i+1) {
			e.Fatalf("result %d of %d is %d", i+1, len(all), n)
		}
	}
	want := fmt.Sprintf("r f:n=#%d g:n=#%d", workers*rounds, -workers*rounds)
	e.prints("get t r notime", want)
}

func testConcurrentAppends(e *env) {
	e.must("create t f")
	t := e.table("t")
	together(workers, func(w int) {
		for range rounds {
			whole, err := t.Append(e.ctx, []byte("r"), "f", []byte("q"), []byte{byte('a' + w)}, cellstore.Sync)
			if err != nil || whole[len(whole)-1] != byte('a'+w) {
				e.Errorf("Append: %q, %v", whole, err)
				return
			}
			scribble(whole) // it is the caller's
		}
	})
	got, _ := e.value(t, "r", "f", "q")
	for w := range workers {
		if n := bytes.Count([]byte(got), []byte{byte('a' + w)}); n != rounds {
			e.Errorf("%d of %d appends of worker %d are there", n, rounds, w)
		}
	}
}

// testAtomicRows: writers set two columns of two families to the same value, or delete both; no
// reader finds a difference between them.
func testAtomicRows(e *env) {
	e.must("create t f{versions=3} g{versions=3}")
	t := e.table("t")
	var writers, readers sync.WaitGroup
	var stop atomic.Bool
	for w := range workers / 2 {
		writers.Go(func() {
			for i := range 3 * rounds {
				key := fmt.Sprint("r", i%3)
				v := fmt.Append(nil, w, ".", i)
				m := mutate(key, cellstore.Put("f", []byte("a"), v), cellstore.Put("f", []byte("b"), v), cellstore.Put("g", []byte("a"), v))
				if i%7 == 6 {
					m = mutate(key, cellstore.DeleteRow(cellstore.AllVersions))
				}
				if err := t.Apply(e.ctx, m); err != nil {
					e.Errorf("Apply: %v", err)
					return
				}
			}
		})
	}
	whole := func(row *cellstore.Row) {
		if len(row.Cells)%3 != 0 {
			e.Errorf("a torn row: %s", formatRow(row, false))
			return
		}
		for i := range row.Cells[1:] {
			if len(row.Cells) == 3 && !bytes.Equal(row.Cells[i].Value, row.Cells[i+1].Value) {
				e.Errorf("a torn row: %s", formatRow(row, false))
			}
		}
	}
	for range 2 {
		readers.Go(func() {
			var row cellstore.Row
			for !stop.Load() && !e.Failed() {
				for i := range 3 {
					key := fmt.Append(nil, "r", i)
					if found, err := t.Get(e.ctx, key, nil, &row); err != nil {
						e.Errorf("Get: %v", err)
					} else if found {
						whole(&row)
					}
					if found, err := t.Next(e.ctx, key, nil, &cellstore.Selection{Versions: 3}, &row); err != nil {
						e.Errorf("Next: %v", err)
					} else if found {
						whole(&row)
					}
				}
				for row, err := range t.Scan(e.ctx, cellstore.Scan{}) {
					if err != nil {
						e.Errorf("Scan: %v", err)
						break
					}
					whole(row)
				}
			}
		})
	}
	writers.Wait()
	stop.Store(true)
	readers.Wait()
}
