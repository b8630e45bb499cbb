package hbasestore

import (
	"context"
	"crypto/tls"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/hbasestore/internal/thrift2"
	"quadrille/internal/must"
)

// slow is a store behind a gateway that stops every handshake in the middle until letGo is called.
type slow struct {
	rig
	connecting chan struct{} // gets one from each connection
	letGo      func()
}

func newSlow(t *testing.T, path string, change func(*Options)) *slow {
	t.Helper()
	cert, roots := testCertificate(t)
	s := &slow{connecting: make(chan struct{}, 1<<16)}
	gate := make(chan struct{})
	close(gate) // open, for the rig to be made
	var mu sync.Mutex
	cfg := &tls.Config{GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
		mu.Lock()
		wait := gate
		mu.Unlock()
		s.connecting <- struct{}{}
		<-wait
		return &cert, nil
	}}
	f := newFake(t, thrift2.Config{TLS: cfg, HTTP: path}, newModelHBase(t, "test", nil))
	s.fakes = []*fake{f}
	o := Options{Gateways: []string{f.addr}, Namespace: "test", NoCompression: true, HTTPPath: path,
		TLS: &tls.Config{RootCAs: roots}, TryTimeout: time.Minute, Timeout: time.Minute}
	if change != nil {
		change(&o)
	}
	s.open(t, o)
	f.dropAll()
	for len(s.idle()) > 0 && s.idle()[0].Usable() {
		runtime.Gosched()
	}
	for len(s.connecting) > 0 {
		<-s.connecting
	}
	mu.Lock()
	gate = make(chan struct{})
	mu.Unlock()
	s.letGo = sync.OnceFunc(func() { close(gate) })
	t.Cleanup(s.letGo)
	f.mu.Lock()
	f.dialled = 0
	f.mu.Unlock()
	return s
}

func (s *slow) idle() []idleConn {
	g := s.pool.gateways[0]
	g.mu.Lock()
	defer g.mu.Unlock()
	return append([]idleConn(nil), g.idle...)
}

// blamed reports whether the gateway counts as failing.
func (s *Store) blamed() bool {
	g := s.pool.gateways[0]
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failures > 0 || !g.restUntil.IsZero()
}

func (f *fake) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dialled
}

// eventually waits for an effect of other goroutines.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for range 3000 {
		if is() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("never: %s", what)
}

// TestCancelWhileDialling: very many callers give up while a gateway is slow to accept a
// connection. The gateway does not count as failing, the limit of connections holds, and
// connections that were begun serve other callers.
func TestCancelWhileDialling(t *testing.T) {
	for kind, path := range map[string]string{"bare": "", "http": "/"} {
		for _, how := range []string{"cancel", "deadline"} {
			t.Run(kind+"/"+how, func(t *testing.T) {
				const connections = 8
				s := newSlow(t, path, func(o *Options) { o.Connections = connections })
				before := runtime.NumGoroutine()
				ctx, cancel := context.WithCancel(t.Context())
				want := context.Canceled
				if how == "deadline" {
					cancel()
					ctx, cancel = context.WithTimeout(t.Context(), time.Second)
					want = context.DeadlineExceeded
				}
				defer cancel()
				const callers = 10_000
				errs := make(chan error, callers)
				for i := range callers {
					op := operations[i%len(operations)]
					go func() { errs <- op.run(ctx, s.table) }()
				}
				if how == "cancel" {
					<-s.connecting
					cancel()
				}
				for range callers {
					if err := <-errs; !errors.Is(err, want) || errors.Is(err, cellstore.ErrUnknownOutcome) {
						t.Fatalf("%v, want %v", err, want)
					}
				}
				if s.blamed() {
					t.Error("the gateway is blamed")
				}
				if n := s.fakes[0].connections(); n > connections {
					t.Errorf("%d connections, there may be %d", n, connections)
				}
				// The callers are gone. A connection that is being made takes two goroutines here
				// and three at the gateway.
				eventually(t, "goroutines end", func() bool { return runtime.NumGoroutine() <= before+5*connections+10 })
				s.letGo()
				for _, op := range operations {
					if err := op.run(t.Context(), s.table); err != nil {
						t.Errorf("%s: %v", op.name, err)
					}
				}
				if s.blamed() {
					t.Error("the gateway is blamed afterwards")
				}
				if n := s.fakes[0].connections(); n > connections {
					t.Errorf("%d connections, there may be %d", n, connections)
				}
				eventually(t, "places are given back", func() bool { return len(s.pool.gateways[0].free) == 0 })
				if n := len(s.idle()); n == 0 || n > connections {
					t.Errorf("%d idle connections", n)
				}
			})
		}
	}
}

// TestDialForOthers: one caller begins a connection and gives up. The next caller gets it.
func TestDialForOthers(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/"} {
		s := newSlow(t, path, func(o *Options) { o.Connections = 1 })
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error)
		go func() { first <- operations[0].run(ctx, s.table) }()
		<-s.connecting
		second := make(chan error)
		go func() { second <- operations[0].run(t.Context(), s.table) }()
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		s.letGo()
		if err := <-second; err != nil {
			t.Error(err)
		}
		if n := s.fakes[0].connections(); n != 1 {
			t.Errorf("%d connections", n)
		}
	}
}

// TestDialTimeout tests that the driver avoids a gateway that accepts no connection within the time
// of an attempt. This holds even if the callers gave up long before.
func TestDialTimeout(t *testing.T) {
	t.Parallel()
	s := newSlow(t, "", nil)
	s.Close()
	o := s.opts
	o.TryTimeout = 200 * time.Millisecond
	p := newPool(&o)
	defer p.close()
	ctx, cancel := context.WithCancel(t.Context())
	cancelled := make(chan error)
	go func() {
		_, err := p.take(ctx, nil)
		cancelled <- err
	}()
	<-s.connecting
	cancel()
	if err := <-cancelled; !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	g := p.gateways[0]
	eventually(t, "it is passed over", func() bool {
		g.mu.Lock()
		defer g.mu.Unlock()
		return g.failures == 1
	})
}

// TestCloseWhileDialling tests that a connection for which no caller waits any more does not
// outlive the store.
func TestCloseWhileDialling(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"", "/"} {
		s := newSlow(t, path, nil)
		ctx, cancel := context.WithCancel(t.Context())
		first := make(chan error)
		go func() { first <- operations[0].run(ctx, s.table) }()
		<-s.connecting
		cancel()
		<-first
		s.Close()
		g := s.pool.gateways[0]
		eventually(t, "the connection is given up", func() bool { return len(g.free) == 0 })
		if n := len(s.idle()); n > 0 {
			t.Errorf("%d connections are left", n)
		}
	}
}

// TestGivingUpCostsOne: if a caller gives up, the connection of its call is closed and no other.
// The gateway does not count as failing.
func TestGivingUpCostsOne(t *testing.T) {
	t.Parallel()
	for kind, path := range map[string]string{"bare": "", "http": "/"} {
		for _, how := range []string{"cancel", "deadline"} {
			t.Run(kind+"/"+how, func(t *testing.T) {
				t.Parallel()
				f := newFake(t, thrift2.Config{HTTP: path}, newModelHBase(t, "test", nil))
				r := &rig{fakes: []*fake{f}}
				r.open(t, Options{
					Gateways:      []string{f.addr},
					Namespace:     "test",
					HTTPPath:      path,
					NoCompression: true,
					TryTimeout:    time.Hour,
					Timeout:       time.Hour,
				})
				// Concurrent calls need one connection each.
				const many = 5
				var arrived sync.WaitGroup
				arrived.Add(many)
				f.decide(func(int, call) verdict {
					arrived.Done()
					return late
				})
				errs := make(chan error, many)
				for range many {
					go func() { errs <- operations[0].run(t.Context(), r.table) }()
				}
				arrived.Wait()
				for range many {
					must.Do(t, <-errs)
				}
				had := f.connections()
				for range 3 {
					ctx, cancel := context.WithCancel(t.Context())
					if how == "deadline" {
						cancel()
						ctx, cancel = context.WithTimeout(t.Context(), 50*time.Millisecond)
					}
					f.decide(func(int, call) verdict {
						if how == "cancel" {
							cancel()
						}
						return swallow
					})
					if err := operations[0].run(ctx, r.table); !errors.Is(err, ctx.Err()) {
						t.Error(err)
					}
					cancel()
				}
				if r.blamed() {
					t.Error("the gateway is blamed")
				}
				r.answers()
				if err := operations[0].run(t.Context(), r.table); err != nil {
					t.Error(err)
				}
				if n := f.connections(); n != had {
					t.Errorf("%d connections were made anew", n-had)
				}
			})
		}
	}
}

// TestOneRequestPerConnection tests that a gateway over HTTP closes each connection after an
// answer. Calls succeed nevertheless, and a call that finds its connection closed counts as not
// sent.
func TestOneRequestPerConnection(t *testing.T) {
	t.Parallel()
	f := newFake(t, thrift2.Config{HTTP: "/"}, newModelHBase(t, "test", nil))
	closing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		f.serveHTTP(w, r)
	}))
	defer closing.Close()
	addr := closing.Listener.Addr().String()
	c, err := thrift2.Dial(t.Context(), addr, thrift2.Config{HTTP: "/"})
	must.Do(t, err)
	defer c.Close()
	if _, err := c.ServerType(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, err = c.ServerType(t.Context())
	var te *thrift2.TransportError
	if !errors.As(err, &te) || te.Sent || !c.Ended() {
		t.Errorf("%v", err)
	}
	r := &rig{fakes: []*fake{f}}
	r.open(t, Options{Gateways: []string{addr}, Namespace: "test", HTTPPath: "/", NoCompression: true})
	for range 5 {
		for _, op := range operations {
			if err := op.run(t.Context(), r.table); err != nil {
				t.Errorf("%s: %v", op.name, err)
			}
		}
	}
}
