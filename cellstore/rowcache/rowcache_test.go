package rowcache

import (
	"bytes"
	"context"
	"errors"
	"sync"
	"testing"

	"quadrille/cellstore"
)

// open returns a cached table of a remote store.
func open(tb testing.TB, r *remote, bytes int64) (cellstore.Table, *Cache) {
	tb.Helper()
	c := NewCache(bytes)
	return must(New(r, Options{Cache: c}).Table(ctx, "t")), c
}

// costs checks the number of store calls that f makes.
func costs(t *testing.T, r *remote, want int64, what string, f func()) {
	t.Helper()
	before := r.calls.Load()
	f()
	if got := r.calls.Load() - before; got != want {
		t.Errorf("%s: %d calls, want %d", what, got, want)
	}
}

func TestCalls(t *testing.T) {
	r := newRemote(t, 1000, 100)
	tab, _ := open(t, r, 1<<20)
	var row cellstore.Row
	rows := make([]cellstore.Row, 2)
	get := func(i int, sel *cellstore.Selection, want bool) func() {
		return func() {
			if ok := must(tab.Get(ctx, key(i), sel, &row)); ok != want || ok && !bytes.Equal(row.Key, key(i)) || !ok && !row.Empty() {
				t.Errorf("get %d: %v %q", i, ok, row.Key)
			}
		}
	}
	next := func(i, want int) func() {
		return func() {
			if ok := must(tab.Next(ctx, key(i), nil, onlyF, &row)); !ok || !bytes.Equal(row.Key, key(want)) {
				t.Errorf("next %d: %v %q", i, ok, row.Key)
			}
		}
	}
	costs(t, r, 1, "a get", get(10, nil, true))
	costs(t, r, 0, "the same again", get(10, nil, true))
	costs(t, r, 1, "a get that misses", get(11, nil, false))
	costs(t, r, 0, "the same again", get(11, nil, false))
	costs(t, r, 1, "another selection", get(10, onlyF, true))
	costs(t, r, 1, "a next", next(20, 20))
	for i := 21; i < 20+2*31; i++ {
		costs(t, r, 0, "a next in the block", next(i, (i+1)/2*2))
	}
	costs(t, r, 0, "a get in the block", get(24, onlyF, true))
	costs(t, r, 0, "a get that misses in the block", get(25, onlyF, false))
	each := func() {
		must(0, tab.NextEach(ctx, key(801), nil, []string{"f", "g"}, rows))
		if string(rows[0].Key) != string(key(802)) || string(rows[1].Key) != string(key(804)) {
			t.Errorf("next each: %q %q", rows[0].Key, rows[1].Key)
		}
	}
	costs(t, r, 2, "a next each of two", each)
	costs(t, r, 0, "the same again", each)
	beyond := func() {
		if must(tab.Next(ctx, key(5000), nil, nil, &row)) || !row.Empty() {
			t.Error("a row beyond the last")
		}
	}
	costs(t, r, 1, "a next beyond the last", beyond)
	costs(t, r, 0, "the same again", beyond)
	scan := func(reverse bool) func() {
		return func() {
			rg := cellstore.Range{From: key(1001), To: key(1201)}
			if reverse {
				rg.From, rg.To = key(1200), key(1001)
			}
			n := 0
			for row, err := range tab.Scan(ctx, cellstore.Scan{Ranges: []cellstore.Range{rg}, Selection: *onlyF, Reverse: reverse}) {
				if n++; err != nil || row.Empty() {
					t.Fatal(row, err)
				}
			}
			if n != 100 {
				t.Errorf("%d rows", n)
			}
		}
	}
	costs(t, r, 1, "a scan of 100 rows", scan(false))
	costs(t, r, 0, "the same again", scan(false))
	costs(t, r, 1, "the same backward", scan(true))
	costs(t, r, 0, "a next in it", next(1101, 1102))
	var keys [][]byte
	for i := range 50 {
		keys = append(keys, key(1500+i))
	}
	many := func() {
		i := 0
		for row, err := range tab.MultiGet(ctx, keys, onlyF) {
			if err != nil || !bytes.Equal(row.Key, keys[i]) || row.Empty() != (i%2 == 1) {
				t.Fatalf("%d: %q %v", i, row.Key, err)
			}
			i++
		}
	}
	costs(t, r, 1, "a multi-get", many)
}

// TestBlobs tests that every kind of read reads large rows one by one.
func TestBlobs(t *testing.T) {
	r := newRemote(t, 50, 100<<10)
	tab, c := open(t, r, 64<<20)
	var row cellstore.Row
	for i := range 10 {
		must(tab.Next(ctx, key(4*i), nil, onlyF, &row))
	}
	if n := c.Stats().Bytes; n > 12*100<<10 {
		t.Errorf("10 rows of 100 KiB take %d bytes", n)
	}
}

func TestBounded(t *testing.T) {
	const limit = 100 << 10
	r := newRemote(t, 5000, 100)
	tab, c := open(t, r, limit)
	var row cellstore.Row
	for i := range 5000 {
		must(tab.Get(ctx, key(i), nil, &row))
		must(tab.Next(ctx, key(2*i%10000), nil, onlyF, &row))
	}
	for range tab.Scan(ctx, cellstore.Scan{}) {
	}
	s := c.Stats()
	if s.Bytes > limit || s.Bytes < limit/2 || s.Evicted == 0 {
		t.Errorf("%+v", s)
	}
	indexed := 0
	known := tab.(*table).shared.known.Load()
	for _, v := range *known.views.Load() {
		indexed += len(v.index.all())
	}
	if int64(indexed) != s.Blocks {
		t.Errorf("%d blocks are known, %d in the cache", indexed, s.Blocks)
	}
}

// TestViewsBounded tests that callers that pass a different Selection each time do not make the
// cache grow without bound.
func TestViewsBounded(t *testing.T) {
	r := newRemote(t, 10, 10)
	tab, c := open(t, r, 1<<20)
	var row cellstore.Row
	for i := range 1000 {
		must(tab.Get(ctx, key(2), &cellstore.Selection{Columns: []cellstore.Column{{Family: "f", Qualifier: key(i)}}}, &row))
	}
	known := tab.(*table).shared.known.Load()
	if n := len(*known.views.Load()); n > maxViews {
		t.Errorf("%d views", n)
	}
	if n := c.Stats().Blocks; n > maxViews {
		t.Errorf("%d blocks", n)
	}
}

// TestDown tests that reads of cached rows succeed while the store is down, and failures are not
// cached.
func TestDown(t *testing.T) {
	r := newRemote(t, 100, 100)
	tab, _ := open(t, r, 1<<20)
	var row cellstore.Row
	must(tab.Get(ctx, key(10), nil, &row))
	must(tab.Next(ctx, key(20), nil, nil, &row))
	r.fail(errDown)
	if !must(tab.Get(ctx, key(10), nil, &row)) || !must(tab.Next(ctx, key(20), nil, nil, &row)) {
		t.Error("not found")
	}
	if _, err := tab.Get(ctx, key(12), nil, &row); !errors.Is(err, errDown) {
		t.Errorf("get: %v", err)
	}
	for _, err := range tab.Scan(ctx, cellstore.Scan{}) {
		if !errors.Is(err, errDown) {
			t.Errorf("scan: %v", err)
		}
	}
	r.fail(nil)
	if !must(tab.Get(ctx, key(12), nil, &row)) {
		t.Error("the failure was kept")
	}
}

// TestJoined tests that many callers of the same read cost one call, and a caller that gives up
// does not affect the others.
func TestJoined(t *testing.T) {
	r := newRemote(t, 100, 100)
	tab, _ := open(t, r, 1<<20)
	waiting, release := r.hold()
	first, cancel := context.WithCancel(ctx)
	gaveUp := make(chan error)
	go func() {
		var row cellstore.Row
		_, err := tab.Get(first, key(10), nil, &row)
		gaveUp <- err
	}()
	<-waiting
	view := tab.(*table).view(ctx, nil)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			var row cellstore.Row
			if ok, err := tab.Get(ctx, key(10), nil, &row); !ok || err != nil {
				t.Error(ok, err)
			}
		})
	}
	for joined := 0; joined < 21; {
		view.mu.Lock()
		for _, f := range view.flights {
			joined = f.waiters
		}
		view.mu.Unlock()
	}
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	release()
	wg.Wait()
	if n := r.calls.Load(); n != 1 {
		t.Errorf("%d calls", n)
	}
}

// TestNextEachFails: if the call for one of several families fails, its error is returned.
func TestNextEachFails(t *testing.T) {
	for n := range int64(50) {
		r := newRemote(t, 10, 10)
		tab, _ := open(t, r, 1<<20)
		_, release := r.hold()
		r.broken.Store(1 + n%2)
		rows := make([]cellstore.Row, 2)
		if err := tab.NextEach(ctx, nil, nil, []string{"f", "g"}, rows); !errors.Is(err, errDown) {
			t.Fatal(err)
		}
		release()
	}
}

// TestAbandoned tests that a call is cancelled when no caller waits for it any more.
func TestAbandoned(t *testing.T) {
	r := newRemote(t, 100, 100)
	tab, _ := open(t, r, 1<<20)
	waiting, release := r.hold()
	own, cancel := context.WithCancel(ctx)
	gaveUp := make(chan error)
	go func() {
		var row cellstore.Row
		_, err := tab.Next(own, key(10), nil, nil, &row)
		gaveUp <- err
	}()
	<-waiting
	cancel()
	if err := <-gaveUp; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	release()
	var row cellstore.Row
	if !must(tab.Next(ctx, key(10), nil, nil, &row)) {
		t.Error("not found")
	}
}

// TestWriteDuringRead tests that a read that began before a write leaves nothing in the cache.
func TestWriteDuringRead(t *testing.T) {
	r := newRemote(t, 100, 100)
	tab, c := open(t, r, 1<<20)
	waiting, release := r.hold()
	done := make(chan struct{})
	go func() {
		defer close(done)
		var row cellstore.Row
		must(tab.Get(ctx, key(10), nil, &row))
	}()
	<-waiting
	must(0, tab.Apply(ctx, cellstore.Mutation{Row: key(10), Ops: []cellstore.Op{cellstore.Put("f", []byte("new"), nil)}}))
	release()
	<-done
	if n := c.Stats().Blocks; n != 0 {
		t.Errorf("%d blocks", n)
	}
}

// TestOwnBytes tests that a caller may change the returned rows.
func TestOwnBytes(t *testing.T) {
	r := newRemote(t, 100, 100)
	tab, _ := open(t, r, 1<<20)
	var row cellstore.Row
	for range 3 {
		must(tab.Get(ctx, key(10), onlyF, &row))
		if !bytes.Equal(row.Key, key(10)) || row.Cells[0].Value[50] != 5 {
			t.Fatalf("%q %v", row.Key, row.Cells)
		}
		for _, b := range [][]byte{row.Key, row.Cells[0].Qualifier, row.Cells[0].Value} {
			for i := range b {
				b[i] = '!'
			}
		}
	}
}

// TestNoAllocations leaves out Prev, which goes to the store.
func TestNoAllocations(t *testing.T) {
	r := newRemote(t, 1000, 100)
	tab, _ := open(t, r, 1<<20)
	var row cellstore.Row
	rows := make([]cellstore.Row, 2)
	families := []string{"f", "g"}
	from, absent := key(10), key(11)
	cancelled, cancel := context.WithCancel(ctx)
	defer cancel()
	if n := testing.AllocsPerRun(100, func() {
		must(tab.Get(cancelled, from, onlyF, &row))
		must(tab.Get(cancelled, absent, nil, &row))
		must(tab.Next(cancelled, absent, nil, nil, &row))
		must(0, tab.NextEach(cancelled, absent, nil, families, rows))
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestClosed(t *testing.T) {
	r := newRemote(t, 10, 10)
	c := NewCache(1 << 20)
	s := New(r, Options{Cache: c})
	tab := must(s.Table(ctx, "t"))
	var row cellstore.Row
	must(tab.Get(ctx, key(2), nil, &row))
	must(0, s.Close())
	if _, err := tab.Get(ctx, key(2), nil, &row); !errors.Is(err, cellstore.ErrClosed) {
		t.Error(err)
	}
	if n := c.Stats().Blocks; n != 0 {
		t.Errorf("%d blocks are left", n)
	}
}

// TestNoRanges tests that a scan without ranges is of the whole table, in every notation.
func TestNoRanges(t *testing.T) {
	r := newRemote(t, 10, 10)
	tab, _ := open(t, r, 1<<20)
	for _, ranges := range [][]cellstore.Range{nil, {}} {
		n := 0
		for row := range tab.Scan(ctx, cellstore.Scan{Ranges: ranges}) {
			if row != nil {
				n++
			}
		}
		if n != 10 {
			t.Errorf("%#v: %d of 10 rows", ranges, n)
		}
	}
}

// losing is a store that applies writes late, and answers that their outcome is unknown.
type losing struct {
	*remote
	late func()
}

func (l *losing) Table(ctx context.Context, name string) (cellstore.Table, error) {
	t, err := l.remote.Table(ctx, name)
	return &losingTable{t, l}, err
}

type losingTable struct {
	cellstore.Table
	l *losing
}

func (t *losingTable) Apply(ctx context.Context, ms ...cellstore.Mutation) error {
	t.l.late = func() { must(0, t.Table.Apply(ctx, ms...)) }
	return &cellstore.BatchError{Errs: map[int]error{0: cellstore.ErrUnknownOutcome}}
}

// TestLateWrite: a write is done after its call has returned an unknown outcome. Reads then show
// it, although an earlier read did not.
func TestLateWrite(t *testing.T) {
	l := &losing{remote: newRemote(t, 10, 10)}
	tab := must(New(l, Options{}).Table(ctx, "t"))
	late := key(3)
	if err := tab.Apply(ctx, cellstore.Mutation{
		Row: late,
		Ops: []cellstore.Op{cellstore.Put("f", nil, nil)},
	}); !errors.Is(err, cellstore.ErrUnknownOutcome) {
		t.Fatal(err)
	}
	var row cellstore.Row
	if must(tab.Get(ctx, late, nil, &row)) {
		t.Fatal("it is there already")
	}
	l.late()
	if !must(tab.Get(ctx, late, nil, &row)) {
		t.Error("it is not seen")
	}
}

// busy is a store whose tables are opened while they are dropped or altered.
type busy struct {
	*remote
	before func()
}

func (b *busy) DropTable(ctx context.Context, name string) error {
	b.before()
	return b.remote.DropTable(ctx, name)
}

func (b *busy) AlterTable(ctx context.Context, schema cellstore.Schema) error {
	b.before()
	return b.remote.AlterTable(ctx, schema)
}

// TestOpenedDuringChange: a table is opened during a change of it. Its reads are not cached.
func TestOpenedDuringChange(t *testing.T) {
	b := &busy{remote: newRemote(t, 10, 10)}
	s := New(b, Options{})
	var tab cellstore.Table
	var row cellstore.Row
	b.before = func() {
		tab = must(s.Table(ctx, "t"))
		if !must(tab.Get(ctx, key(4), nil, &row)) || len(row.Cells) != 2 {
			t.Fatalf("%d cells", len(row.Cells))
		}
	}
	must(0, s.AlterTable(ctx, cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "f"}}}))
	if !must(tab.Get(ctx, key(4), nil, &row)) || len(row.Cells) != 1 {
		t.Errorf("%d cells after a family was dropped", len(row.Cells))
	}
	b = &busy{remote: newRemote(t, 10, 10), before: b.before}
	s = New(b, Options{})
	must(0, s.DropTable(ctx, "t"))
	if _, err := tab.Get(ctx, key(4), nil, &row); !errors.Is(err, cellstore.ErrTableNotFound) {
		t.Errorf("after the table was dropped: %v", err)
	}
}
