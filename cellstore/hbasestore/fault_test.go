package hbasestore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/hbasetest"
	"quadrille/internal/must"
)

// The tests of this file break a cluster of their own while it is used. They judge only answers,
// and not times. The longest time without an answer is just reported.

const faultNamespace = "faults"

// load reads and writes all the time. It knows every right answer, because a row has its number as
// key and as content.
type load struct {
	t     *testing.T
	table cellstore.Table
	stop  context.CancelFunc
	wg    sync.WaitGroup

	mu       sync.Mutex
	good     int
	failed   int
	kinds    map[string]int
	last     time.Time     // of a good answer
	longest  time.Duration // without one
	counters map[string]*counted1
}

// counted1 is the expected state of a counter: sure is the sum of acknowledged increments, and
// unknown the sum of those with an unknown outcome.
type counted1 struct{ sure, unknown int64 }

const loadRows = 400

// callTime is the deadline of calls under load.
const callTime = 4 * time.Second

func rowKey(i int) []byte { return fmt.Appendf(nil, "row%04d", i) }

func rowValue(i int) []byte { return bytes.Repeat(fmt.Appendf(nil, "%d,", i), 20) }

func startLoad(t *testing.T, table cellstore.Table) *load {
	ctx, cancel := context.WithCancel(context.Background())
	l := &load{t: t, table: table, stop: cancel, kinds: map[string]int{}, counters: map[string]*counted1{}, last: time.Now()}
	var ms []cellstore.Mutation
	for i := range loadRows {
		ms = append(ms, cellstore.Mutation{Row: rowKey(i), Ops: []cellstore.Op{cellstore.PutAt("f", []byte("v"), 1, rowValue(i))}})
	}
	if err := table.Apply(ctx, ms...); err != nil {
		cancel()
		t.Fatal(err)
	}
	for n, work := range []func(context.Context, int) error{l.get, l.get, l.next, l.scan, l.put, l.increment, l.multiGet} {
		l.wg.Go(func() {
			for i := n; ctx.Err() == nil; i++ {
				l.one(ctx, func(ctx context.Context) error { return work(ctx, (i*37+n)%loadRows) })
			}
		})
	}
	t.Cleanup(l.end)
	return l
}

func (l *load) end() {
	l.stop()
	l.wg.Wait()
}

var errWrong = errors.New("wrong answer")

// one runs one call and checks its result and duration.
func (l *load) one(ctx context.Context, call func(context.Context) error) {
	if ctx.Err() != nil {
		return
	}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	err := call(ctx)
	took := time.Since(began)
	l.mu.Lock()
	defer l.mu.Unlock()
	if took > callTime+5*time.Second { // the machine may be slow too
		l.t.Errorf("a call with %v took %v: %v", callTime, took, err)
	}
	switch {
	case err == nil:
		l.good++
		now := time.Now()
		l.longest = max(l.longest, now.Sub(l.last))
		l.last = now
		return
	case errors.Is(err, errWrong):
		l.t.Error(err)
	case errors.Is(err, ErrUnavailable):
		l.kinds["unavailable"]++
	case errors.Is(err, cellstore.ErrUnknownOutcome):
		l.kinds["unknown outcome"]++
	case errors.Is(err, context.DeadlineExceeded):
		l.kinds["deadline"]++
	case errors.Is(err, context.Canceled):
		return // the end of the load
	default:
		l.kinds["other"]++
		if l.kinds["other"] <= 5 {
			l.t.Errorf("an error of no kind promised: %v", err)
		}
	}
	l.failed++
}

func (l *load) check(i int, row *cellstore.Row) error {
	v, ok := row.Value("f", []byte("v"))
	if !ok || !bytes.Equal(v, rowValue(i)) {
		return fmt.Errorf("%w: row %d holds %q", errWrong, i, v)
	}
	return nil
}

func (l *load) get(ctx context.Context, i int) error {
	var row cellstore.Row
	if found, err := l.table.Get(ctx, rowKey(i), nil, &row); err != nil || !found {
		if err == nil {
			err = fmt.Errorf("%w: row %d is not found", errWrong, i)
		}
		return err
	}
	return l.check(i, &row)
}

func (l *load) multiGet(ctx context.Context, i int) error {
	keys := [][]byte{rowKey(i), rowKey((i + 200) % loadRows), []byte("none")}
	n := 0
	for row, err := range l.table.MultiGet(ctx, keys, nil) {
		if err != nil {
			return err
		}
		if n == 2 {
			if !row.Empty() {
				return fmt.Errorf("%w: a row that is not there has cells", errWrong)
			}
		} else if err := l.check((i+200*n)%loadRows, row); err != nil {
			return err
		}
		n++
	}
	if n != 3 {
		return fmt.Errorf("%w: %d of 3 rows", errWrong, n)
	}
	return nil
}

func (l *load) next(ctx context.Context, i int) error {
	var row cellstore.Row
	found, err := l.table.Next(ctx, append(rowKey(i), 0), nil, &cellstore.Selection{Families: []string{"f"}}, &row)
	switch {
	case err != nil:
		return err
	case i == loadRows-1:
		if found && bytes.HasPrefix(row.Key, []byte("row")) {
			return fmt.Errorf("%w: %q follows the last row", errWrong, row.Key)
		}
		return nil
	case !found || !bytes.Equal(row.Key, rowKey(i+1)):
		return fmt.Errorf("%w: %q follows row %d", errWrong, row.Key, i)
	}
	return l.check(i+1, &row)
}

func (l *load) scan(ctx context.Context, i int) error {
	from, n := i, 0
	for row, err := range l.table.Scan(ctx, cellstore.Scan{Ranges: []cellstore.Range{{From: rowKey(i), To: []byte("rowz")}}, Batch: 50}) {
		if err != nil {
			return err
		}
		if !bytes.Equal(row.Key, rowKey(from+n)) {
			return fmt.Errorf("%w: %q is row %d of a scan from %d", errWrong, row.Key, n, from)
		}
		if err := l.check(from+n, row); err != nil {
			return err
		}
		n++
	}
	if n != loadRows-from {
		return fmt.Errorf("%w: a scan from %d has %d rows", errWrong, from, n)
	}
	return nil
}

// put writes the value that the row already has. Such a put may be repeated, so it must not fail
// except by a timeout.
func (l *load) put(ctx context.Context, i int) error {
	return l.table.Apply(ctx, cellstore.Mutation{Row: rowKey(i), Ops: []cellstore.Op{cellstore.PutAt("f", []byte("v"), 1, rowValue(i))}})
}

func (l *load) increment(ctx context.Context, i int) error {
	key := fmt.Sprintf("counter%d", i%7)
	now, err := l.table.Increment(ctx, cellstore.Increment{
		Row:    []byte(key),
		Deltas: []cellstore.Delta{{Family: "n", Qualifier: []byte("n"), By: 1}},
	}, nil)
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.counters[key]
	if c == nil {
		c = &counted1{}
		l.counters[key] = c
	}
	if err != nil {
		// A call that was cancelled or timed out may have arrived, too.
		if !errors.Is(err, ErrUnavailable) || errors.Is(err, cellstore.ErrUnknownOutcome) || ctx.Err() != nil {
			c.unknown++
		}
		return err
	}
	c.sure++
	if now[0] < c.sure || now[0] > c.sure+c.unknown {
		return fmt.Errorf("%w: %s is %d after %d increments and %d of unknown outcome", errWrong, key, now[0], c.sure, c.unknown)
	}
	return nil
}

// recovered waits until calls of each kind are answered again. It reports the longest time without
// an answer since the last call of recovered.
func (l *load) recovered(t *testing.T, event string) {
	t.Helper()
	deadline := time.Now().Add(3 * time.Minute)
	for i := 0; ; {
		ctx, cancel := context.WithTimeout(context.Background(), callTime)
		err := errors.Join(l.get(ctx, i), l.put(ctx, i), l.scan(ctx, i))
		cancel()
		if errors.Is(err, errWrong) {
			t.Fatal(err)
		}
		if err == nil {
			if i += 13; i >= loadRows {
				break
			}
			continue
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s: no recovery: %v", event, err)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	t.Logf("%s: %d answers, %d errors %v, at most %v without an answer", event, l.good, l.failed, l.kinds, l.longest.Round(time.Millisecond))
	l.good, l.failed, l.longest, l.last = 0, 0, 0, time.Now()
	clear(l.kinds)
}

// settle ends the load and compares the counters.
func (l *load) settle(t *testing.T) {
	l.end()
	for key, c := range l.counters {
		var row cellstore.Row
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		now, err := l.table.Increment(ctx, cellstore.Increment{
			Row:    []byte(key),
			Deltas: []cellstore.Delta{{Family: "n", Qualifier: []byte("n"), By: 0}},
		}, nil)
		cancel()
		if err != nil {
			t.Errorf("%s: %v", key, err)
			continue
		}
		t.Logf("%s: %d, %d reported and %d of unknown outcome", key, now[0], c.sure, c.unknown)
		if now[0] < c.sure || now[0] > c.sure+c.unknown {
			t.Errorf("%s is %d after %d increments and %d of unknown outcome, row %v", key, now[0], c.sure, c.unknown, row.Cells)
		}
	}
}

func openFaulty(t *testing.T, gateways []string) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{Gateways: gateways, Namespace: faultNamespace, NoCompression: true})
	must.Do(t, err)
	t.Cleanup(func() { s.Close() })
	return s
}

// makeTable makes and opens the table t of the families f and n. A cluster that
// has just started may take longer than its gateways wait.
func makeTable(t *testing.T, s *Store, splits ...[]byte) cellstore.Table {
	t.Helper()
	schema := cellstore.Schema{Table: "t", Families: []cellstore.Family{{Name: "f"}, {Name: "n"}}}
	for deadline := time.Now().Add(2 * time.Minute); ; {
		err := s.CreateSplitTable(t.Context(), schema, splits)
		if err == nil || errors.Is(err, cellstore.ErrTableExists) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	table, err := s.Table(t.Context(), "t")
	must.Do(t, err)
	return table
}

// TestFaults breaks each part of a cluster in turn, under one store that stays open.
func TestFaults(t *testing.T) {
	c := hbasetest.ForFaults(t)
	proxy := newProxy(t, c.GatewayAddrs()[1])
	s := openFaulty(t, []string{c.GatewayAddrs()[0], proxy.addr})
	ctx := context.Background()
	table := makeTable(t, s, rowKey(100), rowKey(200), rowKey(300))
	l := startLoad(t, table)
	l.recovered(t, "nothing")
	path := faultNamespace + ":t"
	do := func(what string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	ask := func(words ...string) {
		t.Helper()
		_, err := c.Control(ctx, words...)
		do(strings.Join(words, " "), err)
	}

	t.Run("gateway killed", func(t *testing.T) {
		g := c.Gateways()[0]
		do("kill", g.Kill())
		l.recovered(t, "gateway killed")
		do("start", g.Start())
		do("await", c.Await(ctx, g))
		l.recovered(t, "gateway started again")
	})
	t.Run("half-open connections", func(t *testing.T) {
		proxy.swallow(true)
		l.recovered(t, "connections half open")
		proxy.swallow(false)
		l.recovered(t, "connections whole")
	})
	t.Run("region moved and split", func(t *testing.T) {
		regions, err := c.Regions(ctx, path)
		do("regions", err)
		for _, r := range regions {
			ask("move", r.Name)
		}
		l.recovered(t, "regions moved")
		ask("split", regions[0].Name, fmt.Sprintf("%x", rowKey(50)))
		l.recovered(t, "region split")
	})
	t.Run("region server halted", func(t *testing.T) {
		p := holder(t, c, path)
		do("stop", p.Stop())
		time.Sleep(3 * time.Second)
		do("continue", p.Continue())
		l.recovered(t, "region server halted for 3 s")
	})
	t.Run("region server killed", func(t *testing.T) {
		do("whole", c.RestartServers(ctx))
		p := holder(t, c, path)
		do("kill", p.Kill())
		l.recovered(t, "region server killed")
		do("start", p.Start())
		do("await", c.Await(ctx, p))
		l.recovered(t, "region server started again")
	})
	l.settle(t)
}

// holder returns the process of a region server that has regions of a table.
func holder(t *testing.T, c *hbasetest.Cluster, table string) *hbasetest.Process {
	t.Helper()
	regions, err := c.Regions(t.Context(), table)
	if err != nil || len(regions) == 0 {
		t.Fatalf("regions of %s: %v, %v", table, regions, err)
	}
	p := c.ServerOf(regions[len(regions)-1].Server)
	if p == nil {
		t.Fatalf("no process is server %s", regions[len(regions)-1].Server)
	}
	return p
}

// TestFaultsWrongGateway tests that the error names the older Thrift service.
func TestFaultsWrongGateway(t *testing.T) {
	c := hbasetest.ForFaults(t)
	g, err := c.StartGateway(t.Context(), hbasetest.Gateway{Older: true})
	must.Do(t, err)
	_, err = Open(t.Context(), Options{Gateways: []string{g.Addr}, Namespace: "x"})
	if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "thrift2") {
		t.Errorf("the older service: %v", err)
	}
	for _, g := range []hbasetest.Gateway{{Framed: true}, {Compact: true}, {HTTP: true}} {
		p, err := c.StartGateway(t.Context(), g)
		must.Do(t, err)
		o := Options{Gateways: []string{p.Addr}, Namespace: "x", FramedTransport: g.Framed, CompactProtocol: g.Compact}
		if g.HTTP {
			o.HTTPPath = "/"
		}
		s, err := Open(t.Context(), o)
		if err != nil {
			t.Errorf("%+v: %v", g, err)
			continue
		}
		if _, err := s.Tables(t.Context()); err != nil {
			t.Errorf("%+v: %v", g, err)
		}
		s.Close()
	}
}

// proxy forwards bytes. While swallows is set, it reads bytes and forwards nothing.
type proxy struct {
	addr     string
	mu       sync.Mutex
	swallows bool
	conns    []net.Conn
}

func newProxy(t *testing.T, to string) *proxy {
	p := &proxy{}
	t.Cleanup(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		for _, c := range p.conns {
			c.Close()
		}
	})
	p.addr = between(t, to, func(in, out net.Conn) {
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		go p.pass(in, out)
		go p.pass(out, in)
	})
	return p
}

func (p *proxy) pass(from, to net.Conn) {
	defer to.Close()
	b := make([]byte, 32<<10)
	for {
		n, err := from.Read(b)
		if err != nil {
			return
		}
		p.mu.Lock()
		lost := p.swallows
		p.mu.Unlock()
		if lost {
			continue
		}
		if _, err := to.Write(b[:n]); err != nil {
			return
		}
	}
}

// swallow makes the relay begin or stop to swallow bytes. When it stops, connections that have lost
// bytes are closed, as when a network recovers.
func (p *proxy) swallow(on bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.swallows = on
	if !on {
		for _, c := range slices.Clone(p.conns) {
			c.Close()
		}
		p.conns = nil
	}
}
