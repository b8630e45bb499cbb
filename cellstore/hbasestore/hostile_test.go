package hbasestore

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
	"quadrille/internal/must"
)

// serveBytes starts a server that is no gateway.
func serveBytes(t testing.TB, serve func(net.Conn)) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}

// hugeAnswers returns answers that claim huge sizes.
func hugeAnswers() map[string][]byte {
	be := binary.BigEndian
	head := func(method string, seq uint32) []byte {
		b := be.AppendUint32(nil, 0x80010002)
		b = be.AppendUint32(b, uint32(len(method)))
		return be.AppendUint32(append(b, method...), seq)
	}
	kind := head("getThriftServerType", 1)
	with := func(more ...byte) []byte { return append(append([]byte{}, kind...), more...) }
	return map[string][]byte{
		"frame":      {0x7F, 0xFF, 0xFF, 0xFF, 0x80, 1, 0, 2},
		"name":       append(be.AppendUint32(nil, 0x80010002), 0x7F, 0xFF, 0xFF, 0xFF, 'x'),
		"text":       with(11, 0, 0, 0x7F, 0xFF, 0xFF, 0xFF),
		"list":       with(15, 0, 0, 12, 0x7F, 0xFF, 0xFF, 0xFF),
		"negative":   with(15, 0, 0, 12, 0xFF, 0xFF, 0xFF, 0xFF),
		"map":        with(13, 0, 0, 11, 11, 0x7F, 0xFF, 0xFF, 0xFF),
		"deep":       with([]byte(strings.Repeat("\x0C\x00\x01", 1<<16))...),
		"other call": head("get", 1),
		"other turn": head("getThriftServerType", 7),
		"no result":  with(0),
		"wrong type": with(11, 0, 0, 0, 0, 0, 1, 'x', 0),
	}
}

// TestNoGateway: with a server that is not a gateway, an error soon says so, and no memory is
// wasted.
func TestNoGateway(t *testing.T) {
	t.Parallel()
	addrs := map[string]string{
		"closes at once": serveBytes(t, func(net.Conn) {}),
		"says nothing":   serveBytes(t, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) }),
		"echoes":         serveBytes(t, func(c net.Conn) { _, _ = io.Copy(c, c) }),
		"random bytes": serveBytes(t, func(c net.Conn) {
			_, _ = c.Write([]byte(strings.Repeat("\x00\xff\x17nonsense\x80", 1000)))
			_, _ = io.Copy(io.Discard, c)
		}),
		"SSH": serveBytes(t, func(c net.Conn) {
			_, _ = c.Write([]byte("SSH-2.0-OpenSSH_9.2\r\n"))
			_, _ = io.Copy(io.Discard, c)
		}),
	}
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<html>Hello</html>")
	}))
	t.Cleanup(web.Close)
	addrs["a web server"] = web.Listener.Addr().String()
	away := httptest.NewServer(http.RedirectHandler("http://127.0.0.1:1/", http.StatusFound))
	t.Cleanup(away.Close)
	addrs["a redirect"] = away.Listener.Addr().String()
	for name, b := range hugeAnswers() {
		addrs["huge "+name] = serveBytes(t, func(c net.Conn) {
			_, _ = c.Read(make([]byte, 4096))
			_, _ = c.Write(b)
			_, _ = io.Copy(io.Discard, c)
		})
	}
	for name, addr := range addrs {
		for how, o := range map[string]Options{"binary": {}, "compact": {CompactProtocol: true}, "framed": {FramedTransport: true},
			"http": {HTTPPath: "/"}} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				o.Gateways, o.Namespace, o.Timeout, o.TryTimeout, o.Tries = []string{addr}, "x", 5*time.Second, 200*time.Millisecond, 2
				s, err := Open(t.Context(), o)
				if err == nil {
					s.Close()
					t.Fatal("it was taken for a gateway")
				}
				if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), addr) {
					t.Errorf("%v; want ErrUnavailable and the address", err)
				}
			})
		}
	}
	t.Run("nothing listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		must.Do(t, err)
		l.Close()
		_, err = Open(t.Context(), Options{Gateways: []string{l.Addr().String()}, Namespace: "x", Tries: 2})
		if !errors.Is(err, ErrUnavailable) {
			t.Error(err)
		}
	})
}

// otherService answers as the older Thrift service does.
type otherService struct{ kind int32 }

func (o otherService) serve(method string, _ object) (object, error) {
	if method == "getThriftServerType" && o.kind > 0 {
		return object{0: o.kind}, nil
	}
	return nil, &applicationError{message: "Invalid method name: '" + method + "'"}
}

func TestOlderService(t *testing.T) {
	t.Parallel()
	for _, kind := range []int32{0, 1} {
		f := newFake(t, thrift2.Config{}, otherService{kind})
		_, err := Open(t.Context(), Options{Gateways: []string{f.addr}, Namespace: "x"})
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "Thrift2") && !strings.Contains(err.Error(), "thrift2") {
			t.Errorf("%v", err)
		}
		if n := f.seen("getThriftServerType"); n != 0 && n != 1 {
			t.Errorf("it was asked %d times", n)
		}
	}
}

// TestGarbageUnderLoad tests that an answer that breaks off in the middle never gives a wrong
// result.
func TestGarbageUnderLoad(t *testing.T) {
	t.Parallel()
	r := newRig(t, 2, nil)
	for _, op := range operations {
		r.decide(op.method, garbage, 1)
		err := op.run(t.Context(), r.table)
		if op.kind == oneShotCall && !errors.Is(err, cellstore.ErrUnknownOutcome) {
			t.Errorf("%s: %v", op.name, err)
		}
		if op.kind != oneShotCall && err != nil {
			t.Errorf("%s: %v", op.name, err)
		}
	}
}

// FuzzAnswer sends invalid and nearly valid answers to every kind of call.
func FuzzAnswer(f *testing.F) {
	for _, b := range hugeAnswers() {
		f.Add(b, false)
	}
	f.Add([]byte{0x82, 0x41, 1, 3, 'g', 'e', 't', 0}, true)
	answers := make(chan []byte, 1)
	addr := serveBytes(f, func(c net.Conn) {
		_, _ = c.Read(make([]byte, 1<<14))
		_, _ = c.Write(<-answers)
	})
	calls := []func(context.Context, *thrift2.Conn) error{
		func(ctx context.Context, c *thrift2.Conn) error {
			var r thrift2.Result
			return c.Get(ctx, "t", &thrift2.Get{}, &r)
		},
		func(ctx context.Context, c *thrift2.Conn) error {
			_, err := c.ScanResults(ctx, "t", &thrift2.Scan{}, 1)
			return err
		},
		func(ctx context.Context, c *thrift2.Conn) error {
			_, err := c.Describe(ctx, thrift2.TableName{})
			return err
		},
		func(ctx context.Context, c *thrift2.Conn) error {
			_, err := c.Regions(ctx, "t")
			return err
		},
	}
	names := []string{"get", "getScannerResults", "getTableDescriptor", "getAllRegionLocations"}
	f.Fuzz(func(t *testing.T, b []byte, compact bool) {
		for i, run := range calls {
			ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			c, err := thrift2.Dial(ctx, addr, thrift2.Config{Compact: compact, MaxMessage: 1 << 20})
			if err != nil {
				cancel()
				t.Skip(err)
			}
			// After a valid beginning, the rest is read as a result.
			whole := b
			if !compact {
				whole = binary.BigEndian.AppendUint32(nil, 0x80010002)
				whole = binary.BigEndian.AppendUint32(whole, uint32(len(names[i])))
				whole = append(whole, names[i]...)
				whole = append(append(whole, 0, 0, 0, 1), b...)
			}
			answers <- whole
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			err = run(ctx, c)
			runtime.ReadMemStats(&after)
			if errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("%s does not end: %v", names[i], err)
			}
			if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
				t.Errorf("%s takes %d bytes of memory for %d", names[i], n, len(whole))
			}
			c.Close()
			cancel()
		}
	})
}

// standing answers every scan with the same rows.
type standing struct{ *modelHBase }

func (s standing) serve(method string, args object) (object, error) {
	if method != "getScannerResults" {
		return s.modelHBase.serve(method, args)
	}
	list := []any{}
	for range number(args, 3, 1) {
		list = append(list, object{1: "row", 2: []any{object{1: "f", 2: "q", 3: "v", 4: int64(1)}}})
	}
	return object{0: list}, nil
}

// TestStandingScan tests that a gateway that repeats the same rows does not keep a scan going for
// ever.
func TestStandingScan(t *testing.T) {
	t.Parallel()
	f := newFake(t, thrift2.Config{}, standing{newModelHBase(t, "test", nil)})
	r := &rig{fakes: []*fake{f}}
	r.open(t, Options{Gateways: []string{f.addr}, Namespace: "test", NoCompression: true})
	nothing := cellstore.Selection{Time: cellstore.Between(5, 6)}
	for _, reverse := range []bool{false, true} {
		n := 0
		var last error
		for _, err := range r.table.Scan(t.Context(), cellstore.Scan{Reverse: reverse, Batch: 1}) {
			if n++; n > 10 {
				break
			}
			last = err
		}
		if n > 10 || !errors.Is(last, ErrUnavailable) {
			t.Errorf("reverse %v: %d rows, then %v", reverse, n, last)
		}
	}
	var row cellstore.Row
	if _, err := r.table.Next(t.Context(), nil, nil, &nothing, &row); !errors.Is(err, ErrUnavailable) {
		t.Errorf("next: %v", err)
	}
	if _, err := r.table.Prev(t.Context(), nil, nil, &nothing, &row); !errors.Is(err, ErrUnavailable) {
		t.Errorf("prev: %v", err)
	}
}

// replicated lists regions several times, in no order.
type replicated struct{ *modelHBase }

func (h replicated) serve(method string, args object) (object, error) {
	if method != "getAllRegionLocations" {
		return h.modelHBase.serve(method, args)
	}
	list := []any{}
	for _, start := range []string{"", "", "m", "c", "m", "", "c"} {
		list = append(list, object{1: object{1: "host", 2: int32(1)}, 2: object{3: start, 4: "x"}})
	}
	return object{0: list}, nil
}

// TestSplitsOfReplicas tests that a region counts once, however often it is listed.
func TestSplitsOfReplicas(t *testing.T) {
	t.Parallel()
	f := newFake(t, thrift2.Config{}, replicated{newModelHBase(t, "test", nil)})
	r := &rig{fakes: []*fake{f}}
	r.open(t, Options{Gateways: []string{f.addr}, Namespace: "test", NoCompression: true})
	for n, want := range map[int]string{1: "[ )", 2: "[ c)[c )", 3: "[ c)[c m)[m )", 9: "[ c)[c m)[m )"} {
		parts, err := r.table.Splits(t.Context(), n)
		must.Do(t, err)
		var got strings.Builder
		for _, p := range parts {
			got.WriteString("[" + string(p.From) + " " + string(p.To) + ")")
		}
		if got.String() != want {
			t.Errorf("%d parts: %s, want %s", n, got.String(), want)
		}
	}
}
