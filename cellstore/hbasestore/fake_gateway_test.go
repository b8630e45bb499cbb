package hbasestore

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"quadrille/cellstore/hbasestore/internal/thrift2"
	"quadrille/internal/must"
)

// call is a call to a fake gateway.
type call struct {
	method string
	args   object
}

// verdict is the reaction of a fake gateway to a call.
type verdict int

const (
	answer    verdict = iota
	hangUp            // before anything is done
	doHangUp          // it does the call, and hangs up without an answer
	swallow           // no answer, but the connection stands
	doSwallow         // the same, having done it
	tryLater          // an error after which another try may help
	doLater           // the same, having done it
	refuse            // an error for good, before anything is done
	doForbid          // having done it, an error that forbids another try
	unknown           // it does not know the call
	fail              // something breaks in the gateway
	doFail            // the same, having done it
	garbage           // bytes that are no answer
	late              // answers after the time of a try
)

// backend answers calls. The object is the result struct, fields by id.
type backend interface {
	serve(method string, args object) (object, error)
}

// applicationError is sent as a Thrift application exception: one for an unknown call, or one of
// the given kind.
type applicationError struct {
	message string
	kind    int32
}

func (e *applicationError) Error() string { return e.message }

// fake is a fake gateway within this process.
type fake struct {
	t       testing.TB
	cfg     thrift2.Config
	backend backend
	l       net.Listener
	addr    string

	mu       sync.Mutex
	diagnose func(n int, c call) verdict // n counts the calls from 1
	calls    []call
	conns    map[net.Conn]bool
	dialled  int
	wg       sync.WaitGroup
}

// newFake starts a gateway with the transport and protocol of cfg.
func newFake(t testing.TB, cfg thrift2.Config, b backend) *fake {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	f := &fake{t: t, cfg: cfg, backend: b, addr: l.Addr().String(), conns: map[net.Conn]bool{}}
	f.listen(l)
	t.Cleanup(f.stop)
	return f
}

func (f *fake) listen(l net.Listener) {
	f.l = l
	if f.cfg.HTTP != "" {
		s := &http.Server{Handler: http.HandlerFunc(f.serveHTTP), ConnState: f.track, ReadHeaderTimeout: time.Minute}
		if f.cfg.TLS != nil {
			l = tls.NewListener(l, f.cfg.TLS)
		}
		f.wg.Go(func() { _ = s.Serve(l) })
		return
	}
	f.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f.track(c, http.StateNew)
			f.wg.Go(func() {
				defer f.track(c, http.StateClosed)
				f.serveConn(c)
			})
		}
	})
}

func (f *fake) track(c net.Conn, s http.ConnState) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch s {
	case http.StateNew:
		f.conns[c] = true
		f.dialled++
	case http.StateClosed:
		delete(f.conns, c)
	}
}

// stop closes the gateway with all its connections; start opens it again.
func (f *fake) stop() {
	f.l.Close()
	f.dropAll()
	f.wg.Wait()
}

func (f *fake) start() {
	l, err := net.Listen("tcp", f.addr)
	if err != nil {
		f.t.Fatal(err)
	}
	f.listen(l)
}

// dropAll closes all connections.
func (f *fake) dropAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		c.Close()
	}
}

// decide sets the reactions to calls.
func (f *fake) decide(diagnose func(n int, c call) verdict) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.diagnose, f.calls = diagnose, nil
}

// seen returns the calls since the last decision.
func (f *fake) seen(method string) (n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.calls {
		if c.method == method {
			n++
		}
	}
	return n
}

func (f *fake) take(c call) verdict {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, c)
	if f.diagnose == nil {
		return answer
	}
	return f.diagnose(len(f.calls), c)
}

func (f *fake) protocol(trans thrift.TTransport) thrift.TProtocol {
	tc := &thrift.TConfiguration{MaxMessageSize: 1 << 30, MaxFrameSize: 1 << 29}
	if f.cfg.Compact {
		return thrift.NewTCompactProtocolConf(trans, tc)
	}
	return thrift.NewTBinaryProtocolConf(trans, tc)
}

func (f *fake) serveConn(c net.Conn) {
	defer c.Close()
	if f.cfg.TLS != nil {
		c = tls.Server(c, f.cfg.TLS)
	}
	var trans thrift.TTransport = &thrift.StreamTransport{Reader: bufio.NewReader(c), Writer: bufio.NewWriter(c)}
	if f.cfg.Framed {
		trans = thrift.NewTFramedTransportConf(trans, &thrift.TConfiguration{MaxMessageSize: 1 << 30, MaxFrameSize: 1 << 29})
	}
	p := f.protocol(trans)
	for {
		if err := f.serveOne(p, p, c); err != nil {
			return
		}
	}
}

func (f *fake) serveHTTP(w http.ResponseWriter, r *http.Request) {
	for name := range f.cfg.Header {
		if r.Header.Get(name) != f.cfg.Header.Get(name) {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
	}
	if r.URL.Path != f.cfg.HTTP {
		http.NotFound(w, r)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	in, out := thrift.NewTMemoryBuffer(), thrift.NewTMemoryBuffer()
	in.Write(body)
	w.Header().Set("Content-Type", "application/x-thrift")
	if err := f.serveOne(f.protocol(in), f.protocol(out), r.Context()); err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = io.Copy(w, out.Buffer)
}

var errHangUp = errors.New("hang up")

// serveOne reads a call and answers it. A swallowed call waits for the end of wait: a connection
// whose other end closes, or a context.
func (f *fake) serveOne(in, out thrift.TProtocol, wait any) error {
	ctx := context.Background()
	method, _, seq, err := in.ReadMessageBegin(ctx)
	if err != nil {
		return err
	}
	args, err := readObject(in)
	if err != nil {
		return err
	}
	if err := in.ReadMessageEnd(ctx); err != nil {
		return err
	}
	v := f.take(call{method, args})
	var result object
	switch v {
	case answer, doHangUp, doSwallow, doLater, doForbid, doFail, late:
		result, err = f.backend.serve(method, args)
	}
	switch v {
	case hangUp, doHangUp:
		return errHangUp
	case swallow, doSwallow:
		switch w := wait.(type) {
		case context.Context:
			<-w.Done()
		case net.Conn:
			_, _ = w.Read(make([]byte, 1))
		}
		return errHangUp
	case late:
		time.Sleep(400 * time.Millisecond)
	case tryLater, doLater:
		err = &thrift2.IOError{Message: "org.apache.hadoop.hbase.NotServingRegionException: it moves", CanRetry: true}
	case refuse:
		denied := &thrift2.IOError{Message: "org.apache.hadoop.hbase.security.AccessDeniedException: Insufficient permissions"}
		if method == "putMultiple" {
			n := len(items(args, 2))
			denied = &thrift2.IOError{
				Message:  fmt.Sprintf("Failed %d actions: %s: %d times, servers with issues: host,1,2", n, denied.Message, n),
				CanRetry: true,
			}
		}
		err = denied
	case doForbid:
		err = &thrift2.IOError{Message: "org.apache.hadoop.hbase.DoNotRetryIOException: no", CanRetry: false}
	case unknown:
		err = &applicationError{message: "Invalid method name: '" + method + "'"}
	case fail, doFail:
		err = &applicationError{"Internal error processing " + method, thrift.INTERNAL_ERROR}
	case garbage:
		_, _ = out.Transport().Write(bytes.Repeat([]byte("nonsense"), 8))
		_ = out.Flush(ctx)
		return errHangUp
	}
	return reply(out, method, seq, result, err)
}

func reply(p thrift.TProtocol, method string, seq int32, result object, err error) error {
	ctx := context.Background()
	kind := thrift.REPLY
	var io *thrift2.IOError
	var app *applicationError
	switch {
	case errors.As(err, &io):
		result = object{1: object{1: io.Message, 2: io.CanRetry}}
	case errors.As(err, &app) && app.kind != 0:
		kind = thrift.EXCEPTION
		result = object{1: app.message, 2: app.kind}
	case err != nil:
		kind = thrift.EXCEPTION
		result = object{1: err.Error(), 2: int32(thrift.UNKNOWN_METHOD)}
	case result == nil:
		result = object{}
	}
	if err := p.WriteMessageBegin(ctx, method, kind, seq); err != nil {
		return err
	}
	if err := writeObject(p, result); err != nil {
		return err
	}
	if err := p.WriteMessageEnd(ctx); err != nil {
		return err
	}
	return p.Flush(ctx)
}
