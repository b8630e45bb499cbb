package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"
)

var batchRules = []rule{
	{id: "A9", name: "errors of a batch", run: testBatchErrors},
	{id: "A9", name: "a large batch", run: func(e *env) {
		e.must("create t f g")
		e.fill("t", "f", 2000)
		e.fill("t", "g", 1000)
		if n := len(e.keys(e.table("t").Scan(e.ctx, cellstore.Scan{}))); n != 2000 {
			e.Errorf("%d rows, want 2000", n)
		}
		e.script(`
get t 1234
  1234 f:q@1=1234
get t 0999
  0999 f:q@1=999 g:q@1=999
`)
	}},
	{id: "A9", name: "a batch is seen in whole", needs: []need{atomicBatch, snapshotScan}, run: testAtomicBatch},
	{id: "A10", name: "rows commit on their own", run: testIndependentRows},
}

func testBatchErrors(e *env) {
	e.must("create t f")
	t := e.table("t")
	e.ok(t.Apply(e.ctx))
	err := t.Apply(e.ctx, put("r", "nothing", "q", "x"))
	var batch *cellstore.BatchError
	if !errors.As(err, &batch) || len(batch.Errs) != 1 || !errors.Is(batch.Errs[0], cellstore.ErrFamilyNotFound) {
		e.Errorf("a single failure: %v", err)
	}
	big := put("r", "f", "q", "x")
	big.Ops[0].Value = make([]byte, e.store.Limits().ValueBytes+1)
	err = t.Apply(e.ctx, put("a", "f", "q", "x"), big, put("", "f", "q", "x"), put("b", "f", "q", "x"))
	if !errors.As(err, &batch) || len(batch.Errs) != 2 || !errors.Is(batch.Errs[1], cellstore.ErrTooLarge) ||
		!errors.Is(batch.Errs[2], cellstore.ErrEmptyRow) {
		e.Errorf("two failures of four: %v", err)
	}
	e.prints("scan t notime", lines("a f:q=x", "b f:q=x"), "beside two failures")

	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	err = t.Apply(ctx, put("c", "f", "q", "x"))
	e.wantErr("Apply after its context", err, context.Canceled)
	e.prints("get t c", "none", "after a cancelled mutation")
}

// testAtomicBatch writes two rows together. No scan finds a difference between them.
func testAtomicBatch(e *env) {
	e.must("create t f g")
	t := e.table("t")
	var wg sync.WaitGroup
	var done atomic.Bool
	wg.Go(func() {
		defer done.Store(true)
		for i := range 4 * rounds {
			if err := t.Apply(e.ctx, put("a", "f", "q", fmt.Sprint(i)), put("z", "g", "q", fmt.Sprint(i))); err != nil {
				e.Errorf("Apply: %v", err)
				return
			}
		}
	})
	for !done.Load() {
		var values []string
		for row, err := range t.Scan(e.ctx, cellstore.Scan{}) {
			e.ok(err)
			values = append(values, string(row.Cells[0].Value))
		}
		if len(values) == 1 || len(values) == 2 && values[0] != values[1] {
			e.Errorf("half a batch: %q", values)
		}
	}
	wg.Wait()
}

// testIndependentRows writes many rows at once, each by its own goroutine and
// some by several.
func testIndependentRows(e *env) {
	e.must("create t f{versions=all} g")
	t := e.table("t")
	together(workers, func(w int) {
		for i := range rounds {
			own := mutate(fmt.Sprint("own", w), cellstore.PutAt("f", []byte("q"), int64(i), fmt.Append(nil, i)))
			shared := mutate(fmt.Sprint("shared", i), cellstore.PutAt("f", fmt.Append(nil, w), int64(w), []byte("x")))
			if err := t.Apply(e.ctx, own, shared); err != nil {
				e.Errorf("Apply: %v", err)
				return
			}
		}
	})
	for row, err := range t.Scan(e.ctx, cellstore.Scan{Selection: cellstore.Selection{Versions: cellstore.Unlimited}}) {
		e.ok(err)
		want := workers
		if string(row.Key[:3]) == "own" {
			want = rounds
		}
		if len(row.Cells) != want {
			e.Errorf("row %s has %d cells, want %d", row.Key, len(row.Cells), want)
		}
	}
	if n := len(e.keys(t.Scan(e.ctx, cellstore.Scan{}))); n != workers+rounds {
		e.Errorf("%d rows, want %d", n, workers+rounds)
	}
}
