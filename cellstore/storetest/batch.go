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
	{id: "A9", name: "mutations of one row in order", script: `
create t f{versions=all}
batch t r f:q@1=a ; s f:q@1=a ; r f:q@1=b ; r -f:q@1 ; s f:q@2=b
get t r
  none
get t s versions=all
  s f:q@2=b f:q@1=a
batch t r -f:q<=9 ; r f:p@1=1 ; r -f<=0 ; r f:p@1=2
get t r
  r f:p@1=2
`},
	{id: "A9", name: "the rest is applied", script: `
create t f
batch t a f:q@1=x ; "" f:q@1=x ; b g:q@1=x ; c f:q@1=x ; d f:q@-7=x ; e f:q@1=x
  error: 1=ErrEmptyRow 2=ErrFamilyNotFound 4=ErrBadTimestamp
scan t
  a f:q@1=x
  c f:q@1=x
  e f:q@1=x
`},
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
	{id: "A11", name: "what has its own timestamps may be repeated", script: `
create t f{versions=2} g
put t r f:q@1=1 f:q@2=2 f:q@3=3 g:q@1=x
put t r -g:q@1 f:q@3=3
put t r -g:q@1 f:q@3=3
get t r versions=all
  r f:q@3=3 f:q@2=2
batch t r f:q@2=2 ; s f:q@5=s
batch t r f:q@2=2 ; s f:q@5=s
scan t versions=all
  r f:q@3=3 f:q@2=2
  s f:q@5=s
`},
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
	big.Ops[0].Value = make([]byte, e.store.Limits().Value+1)
	err = t.Apply(e.ctx, put("a", "f", "q", "x"), big, put("", "f", "q", "x"), put("b", "f", "q", "x"))
	if !errors.As(err, &batch) || len(batch.Errs) != 2 || !errors.Is(batch.Errs[1], cellstore.ErrTooLarge) || !errors.Is(batch.Errs[2], cellstore.ErrEmptyRow) {
		e.Errorf("two failures of four: %v", err)
	}
	if got := e.ask("scan t notime"); got != lines("a f:q=x", "b f:q=x") {
		e.Errorf("beside two failures: %s", got)
	}

	ctx, cancel := context.WithCancel(e.ctx)
	cancel()
	err = t.Apply(ctx, put("c", "f", "q", "x"))
	e.wantErr("Apply after its context", err, context.Canceled)
	if got := e.ask("get t c"); got != "none" {
		e.Errorf("a cancelled mutation wrote %s", got)
	}
}

// testAtomicBatch writes two rows together; no scan finds them different.
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
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := range rounds {
				own := mutate(fmt.Sprint("own", w), cellstore.PutAt("f", []byte("q"), int64(i), fmt.Append(nil, i)))
				shared := mutate(fmt.Sprint("shared", i), cellstore.PutAt("f", fmt.Append(nil, w), int64(w), []byte("x")))
				if err := t.Apply(e.ctx, own, shared); err != nil {
					e.Errorf("Apply: %v", err)
					return
				}
			}
		})
	}
	wg.Wait()
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
