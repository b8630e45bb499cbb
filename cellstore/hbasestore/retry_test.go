package hbasestore

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
	"quadrille/internal/must"
)

// rig is a store on fake gateways of one cluster, with a table t of the family
// f.
type rig struct {
	*Store
	table cellstore.Table
	fakes []*fake
}

func newRig(t *testing.T, n int, change func(*Options)) *rig {
	t.Helper()
	h := newModelHBase(t, "test", nil)
	o := Options{Namespace: "test", NoCompression: true, TryTimeout: 250 * time.Millisecond, Timeout: 20 * time.Second}
	r := &rig{}
	for range n {
		f := newFake(t, thrift2.Config{}, h)
		r.fakes = append(r.fakes, f)
		o.Gateways = append(o.Gateways, f.addr)
	}
	if change != nil {
		change(&o)
	}
	r.open(t, o)
	return r
}

func (r *rig) open(t *testing.T, o Options) {
	t.Helper()
	s, err := Open(t.Context(), o)
	must.Do(t, err)
	t.Cleanup(func() { s.Close() })
	if err := s.CreateTable(t.Context(), cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "f"}}}); err != nil &&
		(!o.FramedTransport || !errors.Is(err, errors.ErrUnsupported)) {
		t.Fatal(err)
	}
	r.Store = s
	if r.table, err = s.Table(t.Context(), "t"); err != nil {
		t.Fatal(err)
	}
}

// decide makes each gateway react with v to its next calls of a method, as many as times.
func (r *rig) decide(method string, v verdict, times int) {
	for _, f := range r.fakes {
		left := times
		f.decide(func(_ int, c call) verdict {
			if c.method != method || left == 0 {
				return answer
			}
			left--
			return v
		})
	}
}

// answers makes all gateways answer again.
func (r *rig) answers() { r.decide("", answer, 0) }

func (r *rig) seen(method string) (n int) {
	for _, f := range r.fakes {
		n += f.seen(method)
	}
	return n
}

// operations lists calls with their kinds, which decide whether they may be repeated.
var operations = []struct {
	name, method string
	kind         callKind
	run          func(context.Context, cellstore.Table) error
}{
	{"get", "get", readCall, func(ctx context.Context, t cellstore.Table) error {
		var row cellstore.Row
		_, err := t.Get(ctx, []byte("r"), nil, &row)
		return err
	}},
	{"next", "getScannerResults", readCall, func(ctx context.Context, t cellstore.Table) error {
		var row cellstore.Row
		_, err := t.Next(ctx, []byte("r"), nil, nil, &row)
		return err
	}},
	{"scan", "getScannerResults", readCall, func(ctx context.Context, t cellstore.Table) error {
		for _, err := range t.Scan(ctx, cellstore.Scan{}) {
			if err != nil {
				return err
			}
		}
		return nil
	}},
	{"multiget", "getMultiple", readCall, func(ctx context.Context, t cellstore.Table) error {
		for _, err := range t.MultiGet(ctx, [][]byte{[]byte("r")}, nil) {
			if err != nil {
				return err
			}
		}
		return nil
	}},
	{"put with a time", "put", idempotentCall, func(ctx context.Context, t cellstore.Table) error {
		return t.Apply(ctx, cellstore.Mutation{Row: []byte("r"), Ops: []cellstore.Op{cellstore.PutAt("f", []byte("q"), 1, []byte("v"))}})
	}},
	{"put", "put", oneShotCall, func(ctx context.Context, t cellstore.Table) error {
		return t.Apply(ctx, cellstore.Mutation{Row: []byte("r"), Ops: []cellstore.Op{cellstore.Put("f", []byte("q"), []byte("v"))}})
	}},
	{"delete of the newest", "deleteSingle", oneShotCall, func(ctx context.Context, t cellstore.Table) error {
		return t.Apply(ctx, cellstore.Mutation{Row: []byte("r"), Ops: []cellstore.Op{cellstore.DeleteVersion("f", []byte("q"), cellstore.Now)}})
	}},
	{"increment", "increment", oneShotCall, func(ctx context.Context, t cellstore.Table) error {
		_, err := t.Increment(ctx, cellstore.Increment{
			Row:    []byte("r"),
			Deltas: []cellstore.Delta{{Family: "f", Qualifier: []byte("n"), By: 1}},
		}, nil)
		return err
	}},
	{"append", "append", oneShotCall, func(ctx context.Context, t cellstore.Table) error {
		_, err := t.Append(ctx, []byte("r"), "f", []byte("a"), []byte("x"), cellstore.Sync)
		return err
	}},
	{"check", "checkAndMutate", oneShotCall, func(ctx context.Context, t cellstore.Table) error {
		_, err := t.CheckAndMutate(ctx, cellstore.Check{Family: "f", Qualifier: []byte("c"), Op: cellstore.Absent},
			cellstore.Mutation{Row: []byte("r"), Ops: []cellstore.Op{cellstore.PutAt("f", []byte("c"), 1, []byte("v"))}})
		return err
	}},
	{"puts with a time", "putMultiple", idempotentCall, func(ctx context.Context, t cellstore.Table) error { return putTwo(ctx, t, 1) }},
	{"puts", "putMultiple", oneShotCall, func(ctx context.Context, t cellstore.Table) error { return putTwo(ctx, t, cellstore.Now) }},
}

// putTwo writes two rows by one call.
func putTwo(ctx context.Context, t cellstore.Table, ts int64) error {
	var ms []cellstore.Mutation
	for _, row := range []string{"r", "s"} {
		ms = append(ms, cellstore.Mutation{Row: []byte(row), Ops: []cellstore.Op{cellstore.PutAt("f", []byte("p"), ts, []byte("v"))}})
	}
	return t.Apply(ctx, ms...)
}

// TestRepeats: after a failure that hides the outcome, a repeatable call is sent again. Any other
// is sent once, and its outcome is reported as unknown.
func TestRepeats(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		for _, v := range []struct {
			name string
			verdict
		}{
			{"hang up", hangUp},
			{"do and hang up", doHangUp},
			{"swallow", swallow},
			{"do and swallow", doSwallow},
			{"try later", tryLater},
			{"do and fail", doLater},
		} {
			t.Run(op.name+"/"+v.name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, 1, nil)
				r.decide(op.method, v.verdict, 1)
				err := op.run(t.Context(), r.table)
				sent := r.seen(op.method)
				if op.kind != oneShotCall {
					if err != nil || sent != 2 {
						t.Errorf("%v, sent %d times; want success at the second", err, sent)
					}
					return
				}
				if !errors.Is(err, cellstore.ErrUnknownOutcome) || sent != 1 {
					t.Errorf("%v, sent %d times; want an unknown outcome of one", err, sent)
				}
			})
		}
	}
}

// TestRefusals tests that a call is sent only once if another attempt would have the same result.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		for name, v := range map[string]verdict{"refuse": refuse, "unknown call": unknown} {
			t.Run(op.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, 1, nil)
				r.decide(op.method, v, 100)
				err := op.run(t.Context(), r.table)
				if err == nil || errors.Is(err, cellstore.ErrUnknownOutcome) || r.seen(op.method) != 1 {
					t.Errorf("%v, sent %d times", err, r.seen(op.method))
				}
				if v == unknown && !errors.Is(err, ErrUnavailable) {
					t.Errorf("%v, want ErrUnavailable", err)
				}
			})
		}
	}
}

func TestTriesAreBounded(t *testing.T) {
	t.Parallel()
	for _, tries := range []int{1, 3} {
		t.Run(fmt.Sprint(tries), func(t *testing.T) {
			r := newRig(t, 2, func(o *Options) { o.Tries = tries })
			r.decide("get", tryLater, 1000)
			err := operations[0].run(t.Context(), r.table)
			if !errors.Is(err, ErrUnavailable) || r.seen("get") != tries {
				t.Errorf("%v, sent %d times of %d", err, r.seen("get"), tries)
			}
		})
	}
}

// TestDeadline tests that a caller whose time is over gets the error of its context, and does not
// wait longer.
func TestDeadline(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(o *Options) { o.TryTimeout = time.Hour })
	r.decide("get", swallow, 1000)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := operations[0].run(ctx, r.table); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want the deadline", err)
	}
}

// TestCancel tests that a cancelled call returns, and the gateway does not count as failing.
func TestCancel(t *testing.T) {
	t.Parallel()
	for _, op := range operations {
		t.Run(op.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, 1, func(o *Options) { o.TryTimeout = time.Hour })
			ctx, cancel := context.WithCancel(t.Context())
			r.fakes[0].decide(func(int, call) verdict {
				cancel()
				return swallow
			})
			err := op.run(ctx, r.table)
			if !errors.Is(err, context.Canceled) {
				t.Errorf("%v, want that it was cancelled", err)
			}
			r.answers()
			if err := op.run(t.Context(), r.table); err != nil {
				t.Errorf("the next call: %v", err)
			}
		})
	}
	t.Run("before", func(t *testing.T) {
		r := newRig(t, 1, nil)
		r.answers()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, op := range operations {
			if err := op.run(ctx, r.table); !errors.Is(err, context.Canceled) || r.seen(op.method) != 0 {
				t.Errorf("%s: %v, sent %d times", op.name, err, r.seen(op.method))
			}
		}
	})
}

// TestDeletesBeneath tests that the delete of a version also deletes the older trimmed versions, in
// one call that is not repeated.
func TestDeletesBeneath(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	r.answers()
	must.Do(t, r.CreateTable(t.Context(), cellstore.Schema{Table: "two", Families: []cellstore.Family{{Name: "f", MaxVersions: 2}}}))
	table, err := r.Store.Table(t.Context(), "two")
	must.Do(t, err)
	row, q := []byte("r"), []byte("q")
	for ts := range int64(4) {
		must.Do(t, table.Apply(t.Context(), cellstore.Mutation{Row: row, Ops: []cellstore.Op{cellstore.PutAt("f", q, ts+1, nil)}}))
	}
	newest := cellstore.Mutation{Row: row, Ops: []cellstore.Op{cellstore.DeleteVersion("f", q, cellstore.Now)}}
	r.decide("mutateRow", doHangUp, 1)
	if err := table.Apply(t.Context(), newest); !errors.Is(err, cellstore.ErrUnknownOutcome) || r.seen("mutateRow") != 1 {
		t.Errorf("%v after %d calls, want that the outcome is unknown", err, r.seen("mutateRow"))
	}
	calls := r.fakes[0].calls
	last := child(calls[len(calls)-1].args, 2)
	if want := []any{
		object{2: object{1: "r", 2: []any{object{1: "f", 2: "q"}}, 4: int32(0), 7: int32(3)}},
		object{2: object{1: "r", 2: []any{object{1: "f", 2: "q", 3: int64(2)}}, 4: int32(1), 7: int32(3)}},
	}; !reflect.DeepEqual(last[2], want) {
		t.Errorf("%v\nwant %v", last[2], want)
	}
	var got cellstore.Row
	if _, err := table.Get(t.Context(), row, &cellstore.Selection{Versions: cellstore.Unlimited}, &got); err != nil ||
		len(got.Cells) != 1 || got.Cells[0].Timestamp != 3 {
		t.Errorf("left are %v, %v", got.Cells, err)
	}
}

// TestNextEachFails: the call for one of several families fails. NextEach returns its error without
// waiting for the others.
func TestNextEachFails(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(o *Options) { o.TryTimeout = time.Hour })
	for range 50 {
		r.fakes[0].decide(func(n int, c call) verdict {
			if c.method == "getScannerResults" && n%3 == 0 {
				return refuse
			}
			return swallow
		})
		rows := make([]cellstore.Row, 3)
		err := r.table.NextEach(t.Context(), nil, nil, []string{"f", "f", "f"}, rows)
		var refused *refusedError
		if !errors.As(err, &refused) {
			t.Fatal(err)
		}
	}
}

// TestIdleConnections tests that connections that the gateway has closed are not used again, so
// that even calls that must not be repeated succeed.
func TestIdleConnections(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	for range 20 {
		for _, op := range operations {
			if err := op.run(t.Context(), r.table); err != nil {
				t.Fatalf("%s: %v", op.name, err)
			}
		}
		f := r.fakes[0]
		f.stop() // this also closes all its connections
		f.start()
	}
}

// TestConnectionsAreReused tests that sequential calls share a connection.
func TestConnectionsAreReused(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	for range 100 {
		must.Do(t, operations[0].run(t.Context(), r.table))
	}
	f := r.fakes[0]
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.dialled != 1 {
		t.Errorf("%d connections for calls one after the other", f.dialled)
	}
}

// TestOtherGateway tests that a failing gateway is avoided, and used again once it works.
func TestOtherGateway(t *testing.T) {
	t.Parallel()
	r := newRig(t, 3, nil)
	r.fakes[0].stop()
	r.fakes[1].decide(func(int, call) verdict { return hangUp })
	for range 50 {
		must.Do(t, operations[0].run(t.Context(), r.table))
	}
	// A gateway that closes connections is tried less and less often.
	if n := r.fakes[1].seen("get"); n > 25 {
		t.Errorf("a gateway that hangs up got %d of 50 calls", n)
	}
	r.fakes[2].stop()
	r.fakes[0].start()
	for _, op := range operations {
		if op.kind != oneShotCall {
			if err := op.run(t.Context(), r.table); err != nil {
				t.Errorf("%s, on the gateway that was gone: %v", op.name, err)
			}
		}
	}
}

// TestConnectionLimit tests that a call waits for a connection, at most until its deadline.
func TestConnectionLimit(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(o *Options) { o.Connections, o.TryTimeout = 2, time.Hour })
	ctx, cancel := context.WithCancel(t.Context())
	arrived := make(chan bool, 2)
	r.fakes[0].decide(func(int, call) verdict {
		arrived <- true
		return swallow
	})
	done := make(chan error, 2)
	for range 2 {
		go func() { done <- operations[0].run(ctx, r.table) }()
	}
	<-arrived
	<-arrived
	short, stop := context.WithTimeout(t.Context(), 30*time.Millisecond)
	defer stop()
	if err := operations[0].run(short, r.table); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the third call: %v", err)
	}
	if n := r.seen("get"); n != 2 {
		t.Errorf("%d calls on 2 connections", n)
	}
	cancel()
	for range 2 {
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	r.answers()
	if err := operations[0].run(t.Context(), r.table); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestNoFreeConnection: if no connection becomes free within the time of an attempt, the error is
// the cluster's ErrUnavailable, not the error of the caller's context.
func TestNoFreeConnection(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, func(o *Options) { o.Connections, o.Tries = 1, 2 })
	r.opts.TryTimeout = 20 * time.Millisecond
	free := r.pool.gateways[0].free
	free <- struct{}{}
	r.answers()
	for _, op := range operations {
		err := op.run(t.Context(), r.table)
		if !errors.Is(err, ErrUnavailable) || errors.Is(err, cellstore.ErrUnknownOutcome) || r.seen(op.method) != 0 {
			t.Errorf("%s: %v, sent %d times", op.name, err, r.seen(op.method))
		}
	}
	<-free
	r.opts.TryTimeout = time.Minute
	if err := operations[0].run(t.Context(), r.table); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// TestWrittenOrNot tests that a repeatable put without an answer has an unknown outcome. A put that
// was never sent was certainly not done.
func TestWrittenOrNot(t *testing.T) {
	t.Parallel()
	put := operations[4]
	for name, v := range map[string]verdict{"do and hang up": doHangUp, "do and fail": doLater} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, 1, func(o *Options) { o.Tries = 2 })
			r.decide(put.method, v, 100)
			err := put.run(t.Context(), r.table)
			if !errors.Is(err, cellstore.ErrUnknownOutcome) || !errors.Is(err, ErrUnavailable) || r.seen(put.method) != 2 {
				t.Errorf("%v, sent %d times", err, r.seen(put.method))
			}
		})
	}
	r := newRig(t, 1, func(o *Options) { o.Tries = 2 })
	r.fakes[0].stop()
	if err := put.run(t.Context(), r.table); !errors.Is(err, ErrUnavailable) || errors.Is(err, cellstore.ErrUnknownOutcome) {
		t.Errorf("not sent: %v", err)
	}
}

// TestScannerLost tests that the loss of the gateway's scanner does not end the scan, although
// HBase's error forbids another attempt.
func TestScannerLost(t *testing.T) {
	t.Parallel()
	for _, message := range []string{
		"org.apache.hadoop.hbase.DoNotRetryIOException: Failed after retry of OutOfOrderScannerNextException: was there a " +
			"rpc timeout?\n\tat java",
		"org.apache.hadoop.hbase.UnknownScannerException: Unknown scanner '5'\n\tat java",
	} {
		if f := answered(&thrift2.IOError{Message: message}); !f.retryable {
			t.Errorf("%v", f.err)
		}
	}
	if answered(&thrift2.IOError{Message: "org.apache.hadoop.hbase.DoNotRetryIOException: no\n\tat UnknownScannerException"}).retryable {
		t.Error("a refusal is repeated")
	}
}

// TestMultiGetTwice tests that the same sequence can be iterated twice.
func TestMultiGetTwice(t *testing.T) {
	t.Parallel()
	r := newRig(t, 1, nil)
	rows := r.table.MultiGet(t.Context(), [][]byte{[]byte("a"), []byte("b")}, nil)
	for range 2 {
		n := 0
		for _, err := range rows {
			if n++; err != nil {
				t.Fatal(err)
			}
		}
		if n != 2 {
			t.Errorf("%d of 2 rows", n)
		}
	}
}

// TestCloseHTTP tests that Close also closes all HTTP connections.
func TestCloseHTTP(t *testing.T) {
	t.Parallel()
	cfg := thrift2.Config{HTTP: "/"}
	f := newFake(t, cfg, newModelHBase(t, "test", nil))
	r := &rig{fakes: []*fake{f}}
	r.open(t, Options{Gateways: []string{f.addr}, Namespace: "test", HTTPPath: cfg.HTTP, NoCompression: true})
	must.Do(t, operations[0].run(t.Context(), r.table))
	must.Do(t, r.Close())
	open := func() int {
		f.mu.Lock()
		defer f.mu.Unlock()
		return len(f.conns)
	}
	for range 1000 { // the gateway notices it a little later
		if open() == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d connections are left open", open())
}
