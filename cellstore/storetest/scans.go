package storetest

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"sync"
	"sync/atomic"

	"quadrille/cellstore"
)

var scanRules = []rule{
	{id: "N7", name: "batch is a hint", run: testBatchHint},
	{id: "N10", name: "stopping early releases everything", run: testStopEarly},
	{id: "N10", name: "nothing follows an error", run: testAfterError},
	{id: "N11", name: "a scan sees what was there and stays", run: testScanBesideWrites},
	{id: "N11", name: "a scan shows the state at open", needs: []need{snapshotScan}, run: testSnapshotScan},
	{id: "N11", name: "point reads see earlier commits", run: testReadYourWrites},
	{id: "N11", name: "reads never go back", run: testReadsNeverGoBack},
}

// testBatchHint tests rule N5.
func testBatchHint(e *env) {
	e.must("create t f g")
	var batch []cellstore.Mutation
	for i := range 300 {
		batch = append(batch, mutate(fmt.Sprintf("%03d", i), cellstore.PutAt("fg"[i%2:i%2+1], []byte{'q'}, 1, []byte{byte(i)})))
	}
	e.ok(e.table("t").Apply(e.ctx, batch...))
	for _, read := range []string{"scan t", "scan t f: reverse", "scan t [1,2) limit=70"} {
		want := e.ask(read)
		for _, n := range []int{1, 2, 7, 1000} {
			if got := e.ask(fmt.Sprintf("%s batch=%d", read, n)); got != want {
				e.Errorf("%s batch=%d\n got %s\nwant %s", read, n, got, want)
			}
		}
	}
}

// fill puts n rows of one cell. Their keys are numbers of four digits.
func (e *env) fill(table, family string, n int) {
	e.Helper()
	var batch []cellstore.Mutation
	for i := range n {
		batch = append(batch, mutate(fmt.Sprintf("%04d", i), cellstore.PutAt(family, []byte("q"), 1, fmt.Append(nil, i))))
	}
	e.ok(e.table(table).Apply(e.ctx, batch...))
}

func testStopEarly(e *env) {
	e.must("create t f g")
	e.fill("t", "f", 200)
	t := e.table("t")
	for i := range 40 {
		for _, err := range t.Scan(e.ctx, cellstore.Scan{Reverse: i%2 == 0}) {
			e.ok(err)
			break
		}
		for _, err := range t.MultiGet(e.ctx, [][]byte{[]byte("0001"), []byte("0002")}, nil) {
			e.ok(err)
			break
		}
		next := t.Scan(e.ctx, cellstore.Scan{Limit: 3})
		for range 2 { // an iterator may be used again
			if n := len(e.keys(next)); n != 3 {
				e.Fatalf("%d rows, want 3", n)
			}
		}
	}
	func() { // a panic in the loop body releases too
		defer func() { _ = recover() }()
		for _, err := range t.Scan(e.ctx, cellstore.Scan{}) {
			e.ok(err)
			panic("out")
		}
	}()
	e.must("put t x f:q=x")
	e.must("compact t")
	e.ok(e.reopen()) // would wait for a scan that is still open
}

func testAfterError(e *env) {
	e.must("create t f")
	e.fill("t", "f", 50)
	t := e.table("t")
	keys := [][]byte{[]byte("0001"), []byte("0002"), []byte("0003")}
	e.wantErr("Scan", e.yieldErr(t.Scan(e.ctx, cellstore.Scan{Limit: -1})), cellstore.ErrBadRange)
	e.wantErr("Scan", e.yieldErr(t.Scan(e.ctx, cellstore.Scan{Selection: cellstore.Selection{Families: []string{"g"}}})),
		cellstore.ErrFamilyNotFound)
	e.wantErr("MultiGet", e.yieldErr(t.MultiGet(e.ctx, append(keys, nil), nil)), cellstore.ErrEmptyRow)

	for name, rows := range map[string]func(context.Context) func(func(*cellstore.Row, error) bool){
		"Scan":     func(ctx context.Context) func(func(*cellstore.Row, error) bool) { return t.Scan(ctx, cellstore.Scan{}) },
		"MultiGet": func(ctx context.Context) func(func(*cellstore.Row, error) bool) { return t.MultiGet(ctx, keys, nil) },
	} {
		ctx, cancel := context.WithCancel(e.ctx)
		n := 0
		var failure error
		for _, err := range rows(ctx) {
			if failure != nil {
				e.Fatalf("%s goes on after %v", name, failure)
			}
			if failure = err; err == nil {
				n++
			}
			cancel()
		}
		cancel()
		if n != 1 {
			e.Errorf("%s yields %d rows, cancelled at the first", name, n)
		}
		e.wantErr(name, failure, context.Canceled)
	}
}

// testScanBesideWrites: the rows that exist all the time are seen once each, in order and complete,
// while other rows are created, changed and deleted.
func testScanBesideWrites(e *env) {
	e.must("create t f g")
	e.fill("t", "f", 100)
	t := e.table("t")
	var stop atomic.Bool
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := 0; !stop.Load(); i++ {
			key := fmt.Sprintf("%04dx", i%100)
			m := mutate(key, cellstore.PutAt("f", []byte("q"), int64(i), []byte("new")), cellstore.PutAt("g", []byte("q"), int64(i), []byte("new")))
			if i%3 == 0 {
				m = mutate(key, cellstore.DeleteRow(cellstore.AllVersions))
			}
			if err := t.Apply(e.ctx, m); err != nil {
				e.Errorf("Apply: %v", err)
				return
			}
		}
	})
	for i := range 20 {
		seen := 0
		last := ""
		for row, err := range t.Scan(e.ctx, cellstore.Scan{Reverse: i%2 == 1}) {
			if err != nil {
				e.Errorf("Scan: %v", err)
				break
			}
			key := string(row.Key)
			if last != "" && (key < last) != (i%2 == 1) || key == last {
				e.Errorf("row %s follows %s", key, last)
			}
			last = key
			switch len(key) {
			case 4:
				seen++
			case 5:
				if len(row.Cells) != 2 || row.Cells[0].Timestamp != row.Cells[1].Timestamp {
					e.Errorf("a torn row: %s", formatRow(row, false))
				}
			}
		}
		if seen != 100 {
			e.Errorf("%d of 100 rows seen", seen)
		}
	}
	stop.Store(true)
	wg.Wait()
}

func testSnapshotScan(e *env) {
	for _, reverse := range []bool{false, true} {
		table := fmt.Sprint("reverse-", reverse)
		e.must("create " + table + " f g")
		e.fill(table, "f", 20)
		t := e.table(table)
		var got []string
		for row, err := range t.Scan(e.ctx, cellstore.Scan{Reverse: reverse}) {
			e.ok(err)
			got = append(got, formatRow(row, false))
			if len(got) == 1 {
				e.must("put " + table + " 0010 f:q@9=changed g:q@9=added")
				e.must("put " + table + " 0011 -*<=all")
				e.must("put " + table + " 0012x f:q@9=added")
				e.must("compact " + table)
				if e.caps.Bulk {
					e.must("bulk " + table + " 0013 f:q@9=loaded")
				}
			}
		}
		if len(got) != 20 {
			e.Errorf("%d rows, want 20", len(got))
		}
		for _, row := range got {
			if len(row) > len("0010 f:q@1=10") {
				e.Errorf("the scan shows a later write: %s", row)
			}
		}
	}
}

func testReadYourWrites(e *env) {
	e.must("create t f")
	t := e.table("t")
	for i := range 50 {
		key := fmt.Sprintf("%04d", i)
		e.must(fmt.Sprintf("put t %s f:q@1=%d", key, i))
		if v, _ := e.value(t, key, "f", "q"); v != fmt.Sprint(i) {
			e.Fatalf("row %s is %q after its put", key, v)
		}
		if got, want := e.ask("next t from="+key), fmt.Sprintf("%s f:q@1=%d", key, i); got != want {
			e.Fatalf("next: %s, want %s", got, want)
		}
		if got, want := e.ask("prev t"), fmt.Sprintf("%s f:q@1=%d", key, i); got != want {
			e.Fatalf("prev: %s, want %s", got, want)
		}
	}
}

// testReadsNeverGoBack checks that reads never go back in time. Data that a read has shown was
// committed, so every later read shows it too, from any goroutine and by any method.
func testReadsNeverGoBack(e *env) {
	e.must("create t f")
	t := e.table("t")
	counter := []byte("counter")
	_, err := t.Increment(e.ctx, cellstore.Increment{
		Row:    counter,
		Deltas: []cellstore.Delta{{Family: "f", Qualifier: []byte("n"), By: 1}},
	}, nil)
	e.ok(err)

	// Increments of one row are serial. Writers of other rows make commits
	// overlap with them.
	var writers, readers sync.WaitGroup
	var stop atomic.Bool
	for w := range workers / 2 {
		row := counter
		if w > 0 {
			row = fmt.Append(nil, "other", w)
		}
		inc := cellstore.Increment{Row: row, Durability: cellstore.Async, Deltas: []cellstore.Delta{{Family: "f", Qualifier: []byte("n"), By: 1}}}
		writers.Go(func() {
			for range 10 * rounds {
				if _, err := t.Increment(e.ctx, inc, nil); err != nil {
					e.Errorf("Increment: %v", err)
					return
				}
			}
		})
	}

	reads := waysToRead(e.ctx, t, counter, "f")
	var shown atomic.Uint64 // the largest count that a read has returned
	for w := range workers / 2 {
		readers.Go(func() {
			var row cellstore.Row
			// Each is read once more after all writes.
			for i, left := w, len(reads); left > 0 && !e.Failed(); i++ {
				if stop.Load() {
					left--
				}
				least := shown.Load()
				found, err := reads[i%len(reads)](&row)
				if err != nil || !found {
					e.Errorf("reader %d: found %v, %v", i%len(reads), found, err)
					return
				}
				n := binary.BigEndian.Uint64(row.Cells[0].Value)
				if n < least {
					e.Errorf("reader %d shows %d, after a read that showed %d", i%len(reads), n, least)
				}
				for least < n && !shown.CompareAndSwap(least, n) {
					least = shown.Load()
				}
			}
		})
	}
	writers.Wait()
	stop.Store(true)
	readers.Wait()
}

// waysToRead returns all kinds of reads that can return a row. The row has cells in only one
// family.
func waysToRead(ctx context.Context, t cellstore.Table, key []byte, family string) []func(*cellstore.Row) (bool, error) {
	end := append(slices.Clone(key), 0)
	return []func(*cellstore.Row) (bool, error){
		func(row *cellstore.Row) (bool, error) { return t.Get(ctx, key, nil, row) },
		func(row *cellstore.Row) (bool, error) { return t.Next(ctx, key, end, nil, row) },
		func(row *cellstore.Row) (bool, error) { return t.Prev(ctx, key, nil, nil, row) },
		func(row *cellstore.Row) (bool, error) {
			rows := make([]cellstore.Row, 1)
			err := t.NextEach(ctx, key, end, []string{family}, rows)
			*row = rows[0]
			return len(row.Cells) > 0, err
		},
		func(row *cellstore.Row) (bool, error) { return firstOf(t.MultiGet(ctx, [][]byte{key}, nil), row) },
		func(row *cellstore.Row) (bool, error) {
			return firstOf(t.Scan(ctx, cellstore.Scan{Ranges: []cellstore.Range{{From: key, To: end}}}), row)
		},
	}
}

// firstOf fills row with the first row of an iteration.
func firstOf(rows iter.Seq2[*cellstore.Row, error], row *cellstore.Row) (bool, error) {
	for r, err := range rows {
		if err != nil {
			return false, err
		}
		*row = *r.Clone()
		return len(row.Cells) > 0, nil
	}
	return false, nil
}
