package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"quadrille/cellstore"
)

// viewRules are the rules B3 and N16, about Splits and ParallelScan.
var viewRules = []rule{
	{id: "B3", name: "a snapshot beside writers", needs: []need{snapshot}, run: testSnapshotBesideWriters},
	{id: "B3", name: "a checkpoint opens on its own", needs: []need{checkpoint}, run: testCheckpoint},
	{id: "B3", name: "absent", run: func(e *env) {
		e.must("create t f")
		if !e.caps.Snapshot {
			_, err := e.table("t").Snapshot(e.ctx)
			e.wantErr("Snapshot", err, errors.ErrUnsupported)
		}
		if !e.caps.Checkpoint {
			e.wantErr("Checkpoint", e.store.Checkpoint(e.ctx, "copy"), errors.ErrUnsupported)
		}
	}},
	{id: "N16", name: "parts cover the table", run: testSplits},
	{id: "N16", name: "parts are similar", run: testSplitSizes},
	{id: "N16", name: "a parallel scan sees every row once", run: testParallelScan},
	{id: "N16", name: "a parallel scan stops at an error", run: testParallelScanStops},
}

func testSnapshotBesideWriters(e *env) {
	e.must("create t f g")
	e.fill("t", "f", 50)
	t := e.table("t")
	s, err := t.Snapshot(e.ctx)
	e.ok(err)
	want := e.ask("scan t")
	var wg sync.WaitGroup
	for w := range 2 {
		wg.Go(func() {
			for i := range 100 {
				key := fmt.Sprintf("%04d", i%60)
				m := mutate(key, cellstore.PutAt("g", []byte("q"), int64(i), []byte("x")), cellstore.PutAt("f", []byte("q"), 2, []byte("y")))
				if (i+w)%4 == 0 {
					m = mutate(key, cellstore.DeleteRow(cellstore.AllVersions))
				}
				if err := t.Apply(e.ctx, m); err != nil {
					e.Errorf("Apply: %v", err)
				}
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for range 20 {
				got, err := collect(s.Scan(e.ctx, cellstore.Scan{}), &readOptions{})
				if err != nil || got != want {
					e.Errorf("the snapshot changed: %v\n%s\nwant\n%s", err, got, want)
					return
				}
			}
		})
	}
	wg.Wait()
	e.must("compact t")
	if got, err := collect(s.Scan(e.ctx, cellstore.Scan{}), &readOptions{}); err != nil || got != want {
		e.Errorf("compaction changed the snapshot: %v\n%s\nwant\n%s", err, got, want)
	}
	e.ok(s.Close())
	e.ok(s.Close())
	e.wantErr("Scan", e.yieldErr(s.Scan(e.ctx, cellstore.Scan{})), cellstore.ErrClosed)

	// A snapshot that is open when the store closes returns ErrClosed too.
	s, err = t.Snapshot(e.ctx)
	e.ok(err)
	e.ok(e.store.Close())
	var row cellstore.Row
	_, err = s.Get(e.ctx, []byte("0001"), nil, &row)
	e.wantErr("Get", err, cellstore.ErrClosed)
	e.ok(s.Close())
}

func testCheckpoint(e *env) {
	if e.b.CheckpointDir == "" || e.b.OpenCheckpoint == nil {
		e.Fatal("a backend with Checkpoint needs CheckpointDir and OpenCheckpoint")
	}
	e.must("create t f{versions=2} g")
	e.must("create u h")
	e.must("put t r f:q@1=1 f:q@2=2 g:q@1=g")
	e.must("put t s f:q@1=1 async")
	e.must("put t s -f:q")
	e.must("put u r h:q@1=h")
	want := e.all("t") + e.all("u")
	e.ok(e.store.Checkpoint(e.ctx, e.b.CheckpointDir))
	if err := e.store.Checkpoint(e.ctx, e.b.CheckpointDir); err == nil {
		e.Error("a checkpoint overwrote another")
	}
	e.must("put t r -*<=all")
	e.must("put u r h:q@2=later")
	e.must("drop u")

	// Both stores are open, and they are independent of each other.
	s, err := e.b.OpenCheckpoint(e.b.CheckpointDir, OpenOptions{Clock: e.clock})
	e.ok(err)
	duplicate := &env{T: e.T, machine: &machine{b: e.b, caps: e.caps, store: s, tables: map[string]cellstore.Table{}}, ctx: e.ctx}
	duplicate.now.Store(e.now.Load())
	if got := duplicate.all("t") + duplicate.all("u"); got != want {
		e.Errorf("the checkpoint has\n%s\nwant\n%s", got, want)
	}
	duplicate.must("put t new f:q@1=x")
	e.prints("scan t", "none", "after a write to the checkpoint")
	e.ok(s.Close())
	s, err = e.b.OpenCheckpoint(e.b.CheckpointDir, OpenOptions{Clock: e.clock})
	e.ok(err)
	duplicate.store, duplicate.tables = s, map[string]cellstore.Table{}
	if got := duplicate.ask("get t new"); got != "new f:q@1=x" {
		e.Errorf("a write to the checkpoint: %s", got)
	}
	e.ok(s.Close())
}

// checkParts checks that ranges cover a table from end to end.
func (e *env) checkParts(parts []cellstore.Range, n int) {
	e.Helper()
	if len(parts) < 1 || len(parts) > n {
		e.Fatalf("%d parts, want 1 to %d", len(parts), n)
	}
	if len(parts[0].From) != 0 || len(parts[len(parts)-1].To) != 0 {
		e.Errorf("the ends are %q and %q", parts[0].From, parts[len(parts)-1].To)
	}
	for i, p := range parts {
		if p.ToInclusive {
			e.Errorf("part %d is closed", i)
		}
		if i > 0 && (len(p.From) == 0 || !bytes.Equal(p.From, parts[i-1].To)) {
			e.Errorf("part %d begins at %q, the one before ends at %q", i, p.From, parts[i-1].To)
		}
		if len(p.To) > 0 && bytes.Compare(p.From, p.To) >= 0 {
			e.Errorf("part %d runs from %q to %q", i, p.From, p.To)
		}
	}
}

func testSplits(e *env) {
	e.must("create t f g")
	t := e.table("t")
	for _, rows := range []int{0, 1, 3, 300} {
		if rows > 0 {
			e.fill("t", "fg"[rows%2:rows%2+1], rows)
		}
		for _, n := range []int{1, 2, 7, 200} {
			parts, err := t.Splits(e.ctx, n)
			e.ok(err)
			e.checkParts(parts, n)
			var got []string
			for _, p := range parts {
				got = append(got, e.keys(t.Scan(e.ctx, cellstore.Scan{Ranges: []cellstore.Range{p}}))...)
			}
			if want := e.keys(t.Scan(e.ctx, cellstore.Scan{})); !slices.Equal(got, want) {
				e.Errorf("%d parts of %d rows hold %d", len(parts), len(want), len(got))
			}
		}
		e.must("compact t")
	}
	for _, n := range []int{0, -1} {
		_, err := t.Splits(e.ctx, n)
		e.wantErr("Splits", err, cellstore.ErrBadRange)
	}
}

// testSplitSizes fills a table with rows of equal size and very uneven keys, and compares the
// parts.
func testSplitSizes(e *env) {
	e.must("create t f{block=4096,compression=none}")
	const rows = 4000
	var batch []cellstore.Mutation
	for i := range rows {
		key := fmt.Sprintf("crowded/%05d", i)
		if i%100 == 0 {
			key = fmt.Sprintf("%c/%05d", 'a'+i/100%26, i)
		}
		batch = append(batch, mutate(key, cellstore.PutAt("f", []byte("q"), 1, noise(256))))
	}
	t := e.table("t")
	e.ok(t.Apply(e.ctx, batch...))
	e.must("compact t")
	const n = 4
	parts, err := t.Splits(e.ctx, n)
	e.ok(err)
	e.checkParts(parts, n)
	e.Logf("1 MiB in %d parts", len(parts))
	for i, p := range parts {
		if len(parts) == 1 {
			break // a backend may be unable to divide so little
		}
		if got := len(e.keys(t.Scan(e.ctx, cellstore.Scan{Ranges: []cellstore.Range{p}}))); got > rows*3/4 {
			e.Errorf("part %d of %d has %d of %d rows", i, len(parts), got, rows)
		}
	}
}

func testParallelScan(e *env) {
	e.must("create t f g")
	e.fill("t", "f", 300)
	e.fill("t", "g", 200)
	e.must("compact t")
	t := e.table("t")
	key := func(s string) []byte { return []byte(s) }
	for _, scan := range []cellstore.Scan{
		{},
		{Selection: cellstore.Selection{Families: []string{"g"}}},
		{Reverse: true},
		{Ranges: []cellstore.Range{{From: key("0100"), To: key("0200")}, {From: key("0250")}, {To: key("0010"), ToInclusive: true}}},
		{
			Ranges: []cellstore.Range{
				{From: key("0250"), To: key("0100")},
				{From: key("0099"), To: key("0099"), ToInclusive: true},
				{To: key("0260")},
			},
			Reverse: true,
		},
		{Ranges: []cellstore.Range{{From: key("x"), To: key("a")}}},
	} {
		want := e.keys(t.Scan(e.ctx, scan))
		for _, workers := range []int{0, 1, 3, 20} {
			var mu sync.Mutex
			parts := map[int][]string{}
			err := cellstore.ParallelScan(e.ctx, t, workers, scan, func(_ context.Context, part int, row *cellstore.Row) error {
				mu.Lock()
				defer mu.Unlock()
				if workers > 0 && (part < 0 || part >= workers) {
					e.Errorf("part %d of %d workers", part, workers)
				}
				parts[part] = append(parts[part], string(row.Key))
				return nil
			})
			e.ok(err)
			var got []string
			for _, rows := range parts {
				got = append(got, rows...)
			}
			if !slices.Equal(sorted(got), sorted(want)) {
				e.Errorf("%d workers see %d rows, one scan %d", workers, len(got), len(want))
			}
			if len(scan.Ranges) <= 1 {
				for part, rows := range parts {
					if scan.Reverse {
						slices.Reverse(rows)
					}
					if !slices.IsSorted(rows) {
						e.Errorf("part %d is out of order", part)
					}
				}
			}
		}
	}
}

func testParallelScanStops(e *env) {
	e.must("create t f")
	e.fill("t", "f", 300)
	e.must("compact t")
	t := e.table("t")
	stop := errors.New("seen enough")
	err := cellstore.ParallelScan(e.ctx, t, 4, cellstore.Scan{}, func(context.Context, int, *cellstore.Row) error { return stop })
	if !errors.Is(err, stop) || err.Error() != stop.Error() {
		e.Errorf("an error of fn: %v, want %v", err, stop)
	}
	err = cellstore.ParallelScan(e.ctx, t, 4, cellstore.Scan{Limit: 1}, nil)
	e.wantErr("a limit", err, cellstore.ErrBadRange)
	err = cellstore.ParallelScan(e.ctx, t, 4, cellstore.Scan{Selection: cellstore.Selection{Families: []string{"x"}}}, nil)
	e.wantErr("an unknown family", err, cellstore.ErrFamilyNotFound)
	ctx, cancel := context.WithCancel(e.ctx)
	err = cellstore.ParallelScan(ctx, t, 4, cellstore.Scan{}, func(context.Context, int, *cellstore.Row) error {
		cancel()
		return nil
	})
	e.wantErr("a cancelled context", err, context.Canceled)
	cancel()
}
