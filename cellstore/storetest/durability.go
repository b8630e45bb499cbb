package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"quadrille/cellstore"
)

var durabilityRules = []rule{
	{id: "B1", name: "a crash takes a suffix of each row's commits", needs: []need{crash}, run: testAsyncSuffix},
	{id: "B1", name: "an async write is safe after its second", needs: []need{crash}, run: func(e *env) {
		e.must("create t f")
		e.must("put t r f:q@1=x async")
		e.ask("incr t s f:n=1 async")
		time.Sleep(2500 * time.Millisecond) // more than a second, on a busy machine too
		e.ok(e.crash())
		e.script(`
scan t notime
  r f:q=x
  s f:n=#1
`)
	}},
	{id: "B1", name: "a crash beside writers tears no row", needs: []need{crash}, run: testCrashBesideWriters},
	{id: "B1", name: "a full disk", needs: []need{faults}, run: testFullDisk},
	{id: "B5", name: "a refused write", needs: []need{faults}, run: testRefusedWrite},
	{id: "B2", name: "nothing before commit, all after, nothing after abort", needs: []need{bulk}, run: testBulkVisibility},
	{id: "B2", name: "a load is lost in whole or not at all", needs: []need{bulk, crash}, run: testBulkCrash},
	{id: "B2", name: "absent", run: func(e *env) {
		if !e.caps.Bulk {
			e.must("create t f")
			_, err := e.table("t").Bulk(e.ctx)
			e.wantErr("Bulk", err, errors.ErrUnsupported)
		}
	}},
}

// testAsyncSuffix writes numbers to a few rows, and then crashes. Each row has the numbers 1 to k
// for some k, in both families.
func testAsyncSuffix(e *env) {
	e.must("create t f{versions=all} g{versions=all}")
	t := e.table("t")
	const rows, commits = 5, 40
	for i := 1; i <= commits; i++ {
		for r := range rows {
			m := mutate(fmt.Sprint("r", r),
				cellstore.PutAt("f", []byte("q"), int64(i), []byte("x")), cellstore.PutAt("g", []byte("q"), int64(i), []byte("x")))
			if i != 10*r { // one sync commit in rows 1 to 4
				m.Durability = cellstore.Async
			}
			e.ok(t.Apply(e.ctx, m))
		}
	}
	e.ok(e.crash())
	t = e.table("t")
	for r := range rows {
		var row cellstore.Row
		_, err := t.Get(e.ctx, fmt.Append(nil, "r", r), &cellstore.Selection{Versions: cellstore.Unlimited}, &row)
		e.ok(err)
		k := len(row.Cells) / 2
		if k < 10*r {
			e.Errorf("row %d: the sync commit %d is lost, %d survived", r, 10*r, k)
		}
		for i, c := range row.Cells {
			if want := int64(k - i%max(k, 1)); c.Timestamp != want {
				e.Errorf("row %d: version %d of family %s is @%d, want @%d", r, i, c.Family, c.Timestamp, want)
			}
		}
	}
}

// testCrashBesideWriters crashes under load. Writes that were acknowledged before are there, and
// counters that are incremented together agree.
func testCrashBesideWriters(e *env) {
	e.must("create t f g")
	for range 3 {
		t := e.table("t")
		var acked [workers]atomic.Int64
		var over atomic.Bool
		var wg sync.WaitGroup
		for w := range workers {
			if v, _ := e.value(t, fmt.Sprint("r", w), "f", "n"); v != "" {
				acked[w].Store(counterValue(v))
			}
			wg.Go(func() {
				inc := cellstore.Increment{Row: fmt.Append(nil, "r", w), Deltas: []cellstore.Delta{
					{Family: "f", Qualifier: []byte("n"), By: 1}, {Family: "g", Qualifier: []byte("n"), By: 1}}}
				for !over.Load() {
					values, err := t.Increment(e.ctx, inc, nil)
					if err != nil {
						return // the crash
					}
					acked[w].Store(values[0])
				}
			})
		}
		time.Sleep(20 * time.Millisecond)
		var before [workers]int64
		for w := range workers {
			before[w] = acked[w].Load()
		}
		err := e.crash()
		over.Store(true) // ends the goroutines that the crash has not
		wg.Wait()
		e.ok(err)
		t = e.table("t")
		for w := range workers {
			key := fmt.Sprint("r", w)
			f, _ := e.value(t, key, "f", "n")
			g, _ := e.value(t, key, "g", "n")
			if f != g {
				e.Errorf("row %s is torn: counters %q and %q", key, f, g)
			}
			if f == "" && before[w] > 0 || f != "" && counterValue(f) < before[w] {
				e.Errorf("row %s is at %q after %d acknowledged increments", key, f, before[w])
			}
		}
	}
}

// testFullDisk checks that a write on a full disk fails with an error, and that
// earlier acknowledged writes can be read afterwards.
func testFullDisk(e *env) {
	e.must("create t f g")
	e.must("put t r f:q@1=before g:q@1=before")
	full := errors.New("no space left on device")
	e.b.FailWrites(full)
	failed := e.table("t").Apply(e.ctx,
		mutate("r", cellstore.PutAt("f", []byte("q"), 2, []byte("after")), cellstore.PutAt("g", []byte("q"), 2, []byte("after"))))
	e.b.FailWrites(nil)
	if failed == nil {
		e.Error("a write on a full disk succeeded")
	}
	_ = e.close() // may return the same error
	e.ok(e.open(OpenOptions{}))
	got := e.ask("get t r")
	if got != "r f:q@1=before g:q@1=before" && got != "r f:q@2=after g:q@2=after" {
		e.Errorf("after a write on a full disk: %s", got)
	}
	e.must("put t r f:q@3=healed")
	if got, _ := e.value(e.table("t"), "r", "f", "q"); got != "healed" {
		e.Errorf("after the disk has space again: %q", got)
	}
}

// testRefusedWrite: a write that the disk refuses has no effect, or is a batch with unknown
// outcomes. A store that can recover tables does so without being opened again, and then always
// shows the same data.
func testRefusedWrite(e *env) {
	e.must("create t f g")
	e.must("put t r f:q@1=before g:q@1=before")
	t := e.table("t")
	e.b.FailWrites(errors.New("the disk is full"))
	write := func(ts int64) error {
		return t.Apply(e.ctx, mutate("r", cellstore.PutAt("f", []byte("q"), ts, []byte("after")),
			cellstore.PutAt("g", []byte("q"), ts, []byte("after"))))
	}
	err := write(2)
	if err == nil {
		e.Fatal("a write that the disk refuses succeeded")
	}
	var batch *cellstore.BatchError
	if errors.As(err, &batch) != errors.Is(err, cellstore.ErrUnknownOutcome) {
		e.Errorf("a refused write is a BatchError whose outcome is unknown, or neither: %v", err)
	}
	if write(3) == nil {
		e.Error("a second write that the disk refuses succeeded")
	}
	e.b.FailWrites(nil)
	r, ok := e.store.(cellstore.Recoverer)
	if !ok {
		return
	}
	if r.Trouble("t") == nil {
		e.Error("a table that refuses writes has no trouble")
	}
	e.ok(r.Recover(e.ctx, "t"))
	if err := r.Trouble("t"); err != nil {
		e.Errorf("after it was recovered: %v", err)
	}
	if _, err := t.Get(e.ctx, []byte("r"), nil, new(cellstore.Row)); !errors.Is(err, cellstore.ErrClosed) {
		e.Errorf("a table got before it was recovered: %v", err)
	}
	e.wantErr("Recover", r.Recover(e.ctx, "none"), cellstore.ErrTableNotFound)
	t, err = e.store.Table(e.ctx, "t")
	e.ok(err)
	var row cellstore.Row
	_, err = t.Get(e.ctx, []byte("r"), nil, &row)
	e.ok(err)
	shown := formatRow(&row, false)
	if shown != "r f:q@1=before g:q@1=before" && shown != "r f:q@2=after g:q@2=after" {
		e.Errorf("after a refused write: %s", shown)
	}
	e.ok(e.reopen())
	e.prints("get t r", shown)
	e.must("put t r f:q@4=healed")
}

func testBulkVisibility(e *env) {
	e.must("create t f g")
	e.must("put t 0005 f:q@0=old")
	t := e.table("t")
	load := func() cellstore.BulkLoader {
		l, err := t.Bulk(e.ctx)
		e.ok(err)
		for i := range 500 {
			key, q := fmt.Appendf(nil, "%04d", i), []byte("q")
			e.ok(l.Add(key, cellstore.Cell{Family: "f", Qualifier: q, Timestamp: 1, Value: []byte("new")}))
			e.ok(l.Add(key, cellstore.Cell{Family: "g", Qualifier: q, Timestamp: 1, Value: fmt.Append(nil, i)}))
			scribble(key, q)
		}
		return l
	}
	l := load()
	if got := e.all("t"); got != "0005 f:q@0=old" {
		e.Errorf("before commit or abort: %s", got)
	}
	e.ok(l.Abort())
	e.ok(l.Abort())
	if err := l.Commit(e.ctx); err == nil {
		e.Error("a load was committed after its abort")
	}
	if err := l.Add([]byte("x"), cellstore.Cell{Family: "f"}); err == nil {
		e.Error("a cell was added after abort")
	}
	if got := e.all("t"); got != "0005 f:q@0=old" {
		e.Errorf("after abort: %s", got)
	}

	l = load()
	other, err := t.Bulk(e.ctx) // two at once
	e.ok(err)
	e.ok(other.Add([]byte("zzz"), cellstore.Cell{Family: "g", Timestamp: 7}))
	e.must("put t 0006 f:p@9=beside")
	e.ok(l.Commit(e.ctx))
	e.ok(l.Abort()) // does nothing now
	if l.Add([]byte("x"), cellstore.Cell{Family: "f"}) == nil || l.Commit(e.ctx) == nil {
		e.Error("a load went on after its commit")
	}
	if n := len(e.keys(t.Scan(e.ctx, cellstore.Scan{}))); n != 500 {
		e.Errorf("%d rows after commit, want 500", n)
	}
	e.ok(other.Commit(e.ctx))
	e.script(`
get t 0005
  0005 f:q@1=new g:q@1=5
get t 0006
  0006 f:p@9=beside f:q@1=new g:q@1=6
get t zzz
  zzz g:""@7=""
`)
	empty, err := t.Bulk(e.ctx)
	e.ok(err)
	e.ok(empty.Commit(e.ctx))

	// After cells in the wrong order, a load can only be aborted.
	l, err = t.Bulk(e.ctx)
	e.ok(err)
	e.ok(l.Add([]byte("y"), cellstore.Cell{Family: "f"}))
	e.wantErr("Add", l.Add([]byte("x"), cellstore.Cell{Family: "f"}), cellstore.ErrUnsorted)
	e.wantErr("Add", l.Add([]byte("z"), cellstore.Cell{Family: "f"}), cellstore.ErrUnsorted)
	e.wantErr("Commit", l.Commit(e.ctx), cellstore.ErrUnsorted)
	e.ok(l.Abort())
	e.prints("get t y", "none", "after a load out of order")
}

func testBulkCrash(e *env) {
	e.must("create t f")
	e.must("put t a f:q@1=1 async")
	t := e.table("t")
	committed, err := t.Bulk(e.ctx)
	e.ok(err)
	e.ok(committed.Add([]byte("a"), cellstore.Cell{Family: "f", Qualifier: []byte("p"), Timestamp: 2, Value: []byte("2")}))
	e.ok(committed.Add([]byte("b"), cellstore.Cell{Family: "f", Qualifier: []byte("q"), Timestamp: 2, Value: []byte("2")}))
	e.ok(committed.Commit(e.ctx))
	open, err := t.Bulk(e.ctx)
	e.ok(err)
	e.ok(open.Add([]byte("c"), cellstore.Cell{Family: "f", Timestamp: 2}))
	e.ok(e.crash())
	// The load was committed after the async put of its row (rule B1).
	e.script(`
scan t
  a f:p@2=2 f:q@1=1
  b f:q@2=2
`)
	if err := open.Commit(e.ctx); err == nil {
		e.Error("a load outlived its store")
	}
}
