package hbasestore

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/rowcache"
	"quadrille/internal/must"
)

// TestCalls counts the gateway calls of each operation, and checks that those of one NextEach
// overlap.
func TestCalls(t *testing.T) {
	addr := os.Getenv("QUADRILLE_HBASE")
	if addr == "" {
		t.Skip("needs HBase: run make test-hbase")
	}
	ctx := context.Background()
	relay := newRelay(t, strings.Split(addr, ",")[0])
	s, err := Open(ctx, Options{
		Gateways:      []string{relay.addr},
		Namespace:     "storetest",
		Prefix:        fmt.Sprintf("calls%d.%d.", os.Getpid(), stores.Add(1)),
		NoCompression: true,
		Timeout:       time.Minute,
		TryTimeout:    time.Minute,
	})
	must.Do(t, err)
	defer s.Close()
	if err := s.createNamespace(ctx); err != nil && !strings.Contains(err.Error(), "already exists") {
		t.Fatal(err)
	}
	families := []string{"a", "b", "c"}
	schema := cellstore.Schema{Table: "t"}
	for _, f := range families {
		schema.Families = append(schema.Families, cellstore.Family{Name: f})
	}
	must.Do(t, s.CreateTable(ctx, schema))
	defer func() { _ = s.DropTable(ctx, "t") }()
	plain, err := s.Table(ctx, "t")
	must.Do(t, err)
	cached, err := rowcache.New(s, rowcache.Options{Cache: rowcache.NewCache(8 << 20)}).Table(ctx, "t")
	must.Do(t, err)
	var ms []cellstore.Mutation
	for i := range 300 {
		m := cellstore.Mutation{Row: fmt.Appendf(nil, "k%04d", i)}
		for _, f := range families {
			m.Ops = append(m.Ops, cellstore.PutAt(f, []byte("q"), 1, bytes.Repeat([]byte("v"), 200)))
		}
		ms = append(ms, m)
	}
	must.Do(t, plain.Apply(ctx, ms...))
	var row cellstore.Row
	rows := make([]cellstore.Row, len(families))
	onlyA := &cellstore.Selection{Families: families[:1]}
	for _, q := range []struct {
		name  string
		calls int64
		ask   func(cellstore.Table) error
	}{
		{"lookup of an address", 1, func(t cellstore.Table) error {
			_, err := t.Next(ctx, []byte("k0100x"), []byte("l"), nil, &row)
			return err
		}},
		{"get", 1, func(t cellstore.Table) error { _, err := t.Get(ctx, []byte("k0007"), nil, &row); return err }},
		{"get of a row that is not there", 1, func(t cellstore.Table) error { _, err := t.Get(ctx, []byte("k0007x"), nil, &row); return err }},
		{"next of three families", 3, func(t cellstore.Table) error { return t.NextEach(ctx, []byte("k0200"), nil, families, rows) }},
		{"scan of 100 rows", 3, func(t cellstore.Table) error {
			n := 0
			scan := cellstore.Scan{Ranges: []cellstore.Range{{From: []byte("k0020"), To: []byte("k0120")}}, Selection: *onlyA}
			for _, err := range t.Scan(ctx, scan) {
				if n++; err != nil {
					return err
				}
			}
			if n != 100 {
				return fmt.Errorf("%d rows", n)
			}
			return nil
		}},
	} {
		for _, c := range []struct {
			name  string
			t     cellstore.Table
			calls int64
		}{{"plain", plain, q.calls}, {"cached, first", cached, q.calls}, {"cached, again", cached, 0}} {
			before := s.Calls()
			if err := q.ask(c.t); err != nil {
				t.Fatal(q.name, err)
			}
			if got := s.Calls() - before; got != c.calls {
				t.Errorf("%s, %s: %d calls, want %d", q.name, c.name, got, c.calls)
			}
		}
	}
	// Answers are held back until the calls of all families have been sent.
	relay.gather(len(families))
	if err := plain.NextEach(ctx, []byte("k0201"), nil, families, rows); err != nil {
		t.Error(err)
	}
}

// relay forwards connections to a gateway.
type relay struct {
	addr   string
	wanted atomic.Int64
	sent   atomic.Int64
	all    chan struct{}
}

// gather makes calls wait until there are n of them. If the calls were sent one after the other,
// none would ever be answered.
func (r *relay) gather(n int) {
	r.all = make(chan struct{})
	r.sent.Store(0)
	r.wanted.Store(int64(n))
}

func newRelay(t *testing.T, to string) *relay {
	r := &relay{}
	r.addr = between(t, to, func(in, out net.Conn) {
		go func() { _, _ = io.Copy(in, out); in.Close() }()
		go r.questions(out, in)
	})
	return r
}

// between listens for connections. For each one it opens a connection to the gateway, and calls
// pass with both.
func between(t *testing.T, to string, pass func(in, out net.Conn)) (addr string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			pass(in, out)
		}
	}()
	return l.Addr().String()
}

func (r *relay) questions(out, in net.Conn) {
	defer out.Close()
	buf := make([]byte, 64<<10)
	for {
		// A call of the test is short, so it arrives in one read.
		n, err := in.Read(buf)
		if err != nil {
			return
		}
		if wanted := r.wanted.Load(); wanted > 0 {
			if r.sent.Add(1) == wanted {
				close(r.all)
			}
			<-r.all
		}
		if _, err := out.Write(buf[:n]); err != nil {
			return
		}
	}
}
