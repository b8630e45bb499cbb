package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
)

// stateRules test B4, L3 and L4: the effects of the state of a store, of its context and of its
// disk on calls.
var stateRules = []rule{
	{id: "B4", name: "a second opener", needs: []need{exclusive}, run: func(e *env) {
		e.must("create t f")
		_, err := e.b.Open(OpenOptions{})
		e.wantErr("Open", err, cellstore.ErrLocked)
		e.must("put t r f:q@1=x") // the first still works
		e.ok(e.reopen())
		e.prints("get t r", "r f:q@1=x")
	}},
	{id: "L3", name: "a context that is over", run: testContextOver},
	{id: "L3", name: "damage is reported as damage", needs: []need{damage}, run: testDamage},
	{id: "B5", name: "a missing part", needs: []need{removal}, run: testLost(func(e *env) error { return e.b.RemovePart() })},
	{id: "B5", name: "a damaged log", needs: []need{logDamage}, run: testLost(func(e *env) error { return e.b.DamageLog() })},
	{id: "L4", name: "a closed store", run: testClosed},
	{id: "L4", name: "iterators of a closed store", run: testClosedIterators},
	{id: "L4", name: "close waits for running calls", run: testCloseWaits},
}

// everyCall makes each call on a store and a table with valid arguments.
func (e *env) everyCall(s cellstore.Store, t cellstore.Table, report func(ctx context.Context, call string, err error),
	ctxs ...context.Context) {
	var row cellstore.Row
	r := []byte("r")
	for _, ctx := range ctxs {
		report(ctx, "CreateTable", s.CreateTable(ctx, cellstore.Schema{Table: "new", Families: []cellstore.Family{{Name: "f"}}}))
		report(ctx, "AlterTable", s.AlterTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "g"}}}))
		report(ctx, "DropTable", s.DropTable(ctx, "t"))
		_, err := s.Tables(ctx)
		report(ctx, "Tables", err)
		_, err = s.Table(ctx, "t")
		report(ctx, "Table", err)
		report(ctx, "Compact", s.Compact(ctx, "t"))
		_, err = t.Get(ctx, r, nil, &row)
		report(ctx, "Get", err)
		_, err = t.Next(ctx, nil, nil, nil, &row)
		report(ctx, "Next", err)
		_, err = t.Prev(ctx, nil, nil, nil, &row)
		report(ctx, "Prev", err)
		report(ctx, "NextEach", t.NextEach(ctx, nil, nil, []string{"f"}, make([]cellstore.Row, 1)))
		report(ctx, "MultiGet", e.yieldErr(t.MultiGet(ctx, [][]byte{r}, nil)))
		report(ctx, "Scan", e.yieldErr(t.Scan(ctx, cellstore.Scan{})))
		report(ctx, "Scan of a time", e.yieldErr(t.Scan(ctx, cellstore.Scan{Selection: cellstore.Selection{Time: cellstore.AsOf(1)}})))
		report(ctx, "Apply", t.Apply(ctx, put("r", "f", "q", "x")))
		_, err = t.CheckAndMutate(ctx, cellstore.Check{Family: "f"}, put("r", "f", "q", "x"))
		report(ctx, "CheckAndMutate", err)
		_, err = t.Increment(ctx, cellstore.Increment{Row: r, Deltas: []cellstore.Delta{{Family: "f", By: 1}}}, nil)
		report(ctx, "Increment", err)
		_, err = t.Append(ctx, r, "f", nil, r, cellstore.Sync)
		report(ctx, "Append", err)
		_, err = t.Splits(ctx, 2)
		report(ctx, "Splits", err)
		if e.caps.Bulk {
			_, err = t.Bulk(ctx)
			report(ctx, "Bulk", err)
		}
		if e.caps.Snapshot {
			_, err = t.Snapshot(ctx)
			report(ctx, "Snapshot", err)
		}
		if e.caps.Checkpoint {
			report(ctx, "Checkpoint", s.Checkpoint(ctx, e.b.CheckpointDir))
		}
	}
}

func testContextOver(e *env) {
	e.must("create t f")
	e.must("put t s f:q@1=x")
	cancelled, cancel := context.WithCancel(e.ctx)
	cancel()
	expired, cancelExpired := context.WithDeadline(e.ctx, time.Unix(0, 0))
	defer cancelExpired()
	e.everyCall(e.store, e.table("t"), func(ctx context.Context, call string, err error) { e.wantErr(call, err, ctx.Err()) },
		cancelled, expired)
	e.prints("scan t", "s f:q@1=x", "after calls whose context was over")
	e.prints("tables", "t", "after calls whose context was over")
	if e.caps.Bulk { // a commit that was refused may be tried again
		load, err := e.table("t").Bulk(e.ctx)
		e.ok(err)
		e.ok(load.Add([]byte("t"), cellstore.Cell{Family: "f"}))
		e.wantErr("Commit", load.Commit(cancelled), context.Canceled)
		e.ok(load.Commit(e.ctx))
	}
}

func testClosed(e *env) {
	e.must("create t f")
	e.must("put t r f:q@1=x")
	t := e.table("t")
	var load cellstore.BulkLoader
	if e.caps.Bulk {
		var err error
		load, err = t.Bulk(e.ctx)
		e.ok(err)
		e.ok(load.Add([]byte("x"), cellstore.Cell{Family: "f"}))
	}
	e.ok(e.store.Close())
	e.everyCall(e.store, t, func(_ context.Context, call string, err error) { e.wantErr(call, err, cellstore.ErrClosed) }, e.ctx)
	if load != nil {
		e.wantErr("Add", load.Add([]byte("y"), cellstore.Cell{Family: "f"}), cellstore.ErrClosed)
		e.wantErr("Commit", load.Commit(e.ctx), cellstore.ErrClosed)
		e.ok(load.Abort())
	}
	e.ok(e.store.Close())
	e.ok(e.reopen())
	e.script(`
tables
  t
scan t
  r f:q@1=x
`)
}

func testClosedIterators(e *env) {
	e.must("create t f")
	e.fill("t", "f", 10)
	t := e.table("t")
	unused := t.Scan(e.ctx, cellstore.Scan{})
	n := 0
	var failure error
	for _, err := range t.Scan(e.ctx, cellstore.Scan{}) {
		if failure = err; err != nil {
			continue
		}
		n++
		e.ok(e.store.Close()) // it does not wait for loop bodies
	}
	if n != 1 {
		e.Errorf("%d rows after the store was closed at the first", n)
	}
	e.wantErr("the scan going on", failure, cellstore.ErrClosed)
	e.wantErr("the scan that had not begun", e.yieldErr(unused), cellstore.ErrClosed)
}

// testCloseWaits closes a store while calls of all kinds run. Each call succeeds or returns
// ErrClosed, and successful writes are there afterwards.
func testCloseWaits(e *env) {
	e.must("create t f{versions=3} g")
	e.fill("t", "f", 50)
	t := e.table("t")
	var wg sync.WaitGroup
	check := func(call string, err error) bool {
		if err != nil && !errors.Is(err, cellstore.ErrClosed) {
			e.Errorf("%s beside Close: %v", call, err)
		}
		return err == nil
	}
	written := make([]int, workers)
	var closed atomic.Bool
	running := make(chan bool, 2*workers)
	for w := range workers {
		wg.Go(func() {
			for i := 1; !closed.Load(); i++ {
				if !check("Apply", t.Apply(e.ctx,
					mutate(fmt.Sprint("w", w), cellstore.PutAt("f", []byte("q"), int64(i), nil), cellstore.PutAt("g", []byte("q"), int64(i), nil)))) {
					return
				}
				if written[w] = i; i == 1 {
					running <- true
				}
			}
		})
		wg.Go(func() {
			var row cellstore.Row
			for i := 0; !closed.Load(); i++ {
				_, err := t.Get(e.ctx, []byte("0001"), nil, &row)
				ok := check("Get", err)
				for _, err := range t.Scan(e.ctx, cellstore.Scan{Limit: 5}) {
					ok = check("Scan", err) && ok
				}
				if !ok {
					return
				}
				if i == 0 {
					running <- true
				}
			}
		})
	}
	for range 2 * workers {
		<-running
	}
	e.ok(e.store.Close())
	e.wantErr("Apply after Close", t.Apply(e.ctx, put("late", "f", "q", "x")), cellstore.ErrClosed)
	closed.Store(true) // ends the goroutines that Close has not
	wg.Wait()
	e.ok(e.reopen())
	for w, n := range written {
		want := fmt.Sprintf("w%d f:q@%d=\"\" g:q@%d=\"\"", w, n, n)
		e.prints(fmt.Sprint("get t w", w), want)
	}
}

// testDamage reads a damaged store: every row is right, or the read says that
// the data is corrupt.
func testDamage(e *env) {
	e.must("create t f{block=1024} g")
	e.fill("t", "f", 1000)
	e.must("compact t")
	e.ok(e.close())
	e.ok(e.b.Corrupt())
	if e.readDamaged(OpenOptions{}, 1000) {
		e.Error("damage went unseen")
	}
}

// testLost opens a store that has lost something, for reading and for writing. It must
// have all rows, or say that they are damaged. It must not appear as an empty or shorter
// store.
func testLost(lose func(e *env) error) func(e *env) {
	return func(e *env) {
		e.must("create t f g")
		e.fill("t", "f", 100)
		e.ok(e.close())
		e.ok(lose(e))
		if e.b.ReadOnly {
			e.readDamaged(OpenOptions{ReadOnly: true}, 100)
			e.ok(e.close())
		}
		for range 2 { // nothing is mended by being opened
			e.readDamaged(OpenOptions{}, 100)
			e.ok(e.close())
		}
	}
}

// readDamaged opens a store and reads the rows that fill made. It reports whether all of them are
// there. Otherwise some call must say that the data is corrupt.
func (e *env) readDamaged(o OpenOptions, rows int) bool {
	if err := e.open(o); err != nil {
		e.wantErr("Open", err, cellstore.ErrCorrupt)
		return false
	}
	t, err := e.machine.table(e.ctx, "t")
	if err != nil {
		e.wantErr("Table", err, cellstore.ErrCorrupt)
		return false
	}
	n := 0
	for row, err := range t.Scan(e.ctx, cellstore.Scan{}) {
		if err != nil {
			e.wantErr("Scan", err, cellstore.ErrCorrupt)
			return false
		}
		if want := fmt.Sprintf("%04d f:q@1=%d", n, n); formatRow(row, false) != want {
			e.Fatalf("damage went unseen: %s, want %s", formatRow(row, false), want)
		}
		n++
	}
	if n != rows {
		e.Errorf("damage went unseen: %d rows of %d", n, rows)
	}
	return true
}
