package thrift2

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/apache/thrift/lib/go/thrift"
)

// Config is the transport and protocol of a gateway. It must agree with the gateway's settings.
type Config struct {
	Framed  bool // Thrift's framed transport, for nonblocking gateways
	Compact bool // the compact protocol instead of the binary one
	// HTTP, if set, is the path to which calls are sent as HTTP requests, each with Header, instead
	// of over a bare connection.
	HTTP   string
	Header http.Header
	TLS    *tls.Config // nil for none
	// MaxMessage bounds a field and a frame of an answer in bytes; 0 means
	// 256 MiB. A whole answer may take four times as much memory.
	MaxMessage int32
}

// maxMessage bounds a message in bytes. It is enough for a batch of the largest values.
const maxMessage = 256 << 20

// Conn is a connection to a gateway. It belongs to one goroutine at a time.
type Conn struct {
	conn  net.Conn
	trans thrift.TTransport
	p     thrift.TProtocol
	raw   io.Reader // of the binary protocol's bytes, nil for the compact one
	max   int       // bytes of a field
	http  bool      // HTTP sets its deadlines otherwise
	seq   int32
	dead  bool
}

// Dial connects. No call connects again: a call uses this connection or fails, over HTTP too.
func Dial(ctx context.Context, addr string, cfg Config) (*Conn, error) {
	size := cfg.MaxMessage
	if size <= 0 {
		size = maxMessage
	}
	tc := &thrift.TConfiguration{MaxMessageSize: size, MaxFrameSize: size}
	conn, err := connect(ctx, addr, cfg.TLS)
	if err != nil {
		return nil, &TransportError{Err: err}
	}
	c := &Conn{conn: conn, max: int(size), http: cfg.HTTP != ""}
	if c.http {
		if c.trans, err = overHTTP(conn, addr, cfg); err != nil {
			_ = conn.Close() // nothing was sent
			return nil, err
		}
	} else {
		c.trans = &thrift.StreamTransport{
			Reader: bufio.NewReaderSize(conn, 16<<10),
			Writer: bufio.NewWriterSize(conn, 16<<10),
		}
		if cfg.Framed {
			c.trans = thrift.NewTFramedTransportConf(c.trans, tc)
		}
	}
	if cfg.Compact {
		c.p = thrift.NewTCompactProtocolConf(c.trans, tc)
	} else {
		c.p = thrift.NewTBinaryProtocolConf(c.trans, tc)
		c.raw = c.trans
	}
	return c, nil
}

func connect(ctx context.Context, addr string, cfg *tls.Config) (net.Conn, error) {
	dialer := net.Dialer{KeepAlive: 15 * time.Second}
	conn, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil || cfg == nil {
		return conn, err
	}
	t := tls.Client(conn, tlsFor(cfg, addr))
	if err := t.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // the error of the handshake is returned
		return nil, err
	}
	return t, nil
}

func tlsFor(cfg *tls.Config, addr string) *tls.Config {
	if cfg.ServerName != "" {
		return cfg
	}
	cfg = cfg.Clone()
	cfg.ServerName, _, _ = net.SplitHostPort(addr)
	return cfg
}

// errHungUp is the error of a call over HTTP whose connection was closed before the call was sent.
var errHungUp = errors.New("the gateway has closed the connection")

// overHTTP sends calls as requests on one connection.
func overHTTP(conn net.Conn, addr string, cfg Config) (thrift.TTransport, error) {
	var used atomic.Bool
	once := func(context.Context, string, string) (net.Conn, error) {
		if used.Swap(true) {
			return nil, errHungUp
		}
		return conn, nil
	}
	scheme := "http://"
	t := &http.Transport{MaxIdleConns: 1, MaxConnsPerHost: 1, DialContext: once, DialTLSContext: once}
	if cfg.TLS != nil {
		scheme = "https://"
	}
	// A redirect would send the calls, with their header, to a host outside the configuration.
	client := &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	trans, err := thrift.NewTHttpClientWithOptions(scheme+addr+cfg.HTTP, thrift.THttpClientOptions{Client: client})
	if err != nil {
		return nil, err
	}
	for name, values := range cfg.Header {
		for _, v := range values {
			trans.(*thrift.THttpClient).SetHeader(name, v)
		}
	}
	return trans, nil
}

// Close closes the connection.
func (c *Conn) Close() error {
	c.dead = true
	return c.conn.Close()
}

// Usable reports whether another call may be sent: the last one ended cleanly
// and the gateway has not hung up since, as far as the socket shows.
func (c *Conn) Usable() bool {
	return !c.dead && open(c.conn)
}

// Ended reports whether the last call showed that the connection cannot be used
// again. It costs nothing; Usable asks the system.
func (c *Conn) Ended() bool { return c.dead }

// call sends a call and reads its answer. success reads field 0 of the result, and is noResult if
// there is none. After a TransportError the connection cannot be used again.
func (c *Conn) call(ctx context.Context, method string, args func(*encoder), success fieldReader) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	sent := false
	defer func() {
		var te *TransportError
		if errors.As(err, &te) {
			c.dead = true
		}
	}()
	if !c.http {
		deadline, _ := ctx.Deadline()
		if err := c.conn.SetDeadline(deadline); err != nil {
			return &TransportError{Err: err}
		}
		// A call without a deadline may still be cancelled.
		stop := context.AfterFunc(ctx, func() { _ = c.conn.SetDeadline(time.Unix(1, 0)) })
		defer func() {
			if !stop() {
				c.dead = true // its deadline has passed for good
			}
		}()
	}
	fail := func(err error) error {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", context.Cause(ctx), err)
		}
		return &TransportError{Sent: sent && !errors.Is(err, errHungUp), Err: fmt.Errorf("%s: %w", method, err)}
	}
	c.seq++
	e := &encoder{ctx: ctx, p: c.p}
	// The buffer of a long call may be written out before Flush.
	sent = true
	e.keep(c.p.WriteMessageBegin(ctx, method, thrift.CALL, c.seq))
	e.value(func() { args(e) })
	if e.err == nil {
		e.keep(c.p.WriteMessageEnd(ctx))
	}
	if e.err == nil {
		e.keep(c.p.Flush(ctx))
	}
	if e.err != nil {
		return fail(e.err)
	}
	return c.answer(ctx, method, success, fail)
}

func (c *Conn) answer(ctx context.Context, method string, success fieldReader, fail func(error) error) error {
	name, kind, seq, err := c.p.ReadMessageBegin(ctx)
	if err != nil {
		return fail(err)
	}
	if kind == thrift.EXCEPTION {
		x := thrift.NewTApplicationException(thrift.UNKNOWN_APPLICATION_EXCEPTION, "")
		if err := x.Read(ctx, c.p); err != nil {
			return fail(err)
		}
		if err := c.p.ReadMessageEnd(ctx); err != nil {
			return fail(err)
		}
		return &ProtocolError{Method: method, Unread: unread(x.TypeId()), Message: x.Error()}
	}
	if kind != thrift.REPLY || name != method || seq != c.seq {
		return fail(fmt.Errorf("the answer is message %q of type %d and number %d, want %d", name, kind, seq, c.seq))
	}
	d := &decoder{ctx: ctx, p: c.p, raw: c.raw, max: c.max, most: 4 * c.max}
	found := success.read == nil
	var failure error
	d.object(func(id int16, t thrift.TType) bool {
		switch {
		case id == 0 && success.read != nil && t == success.kind:
			success.read(d)
			found = true
			return true
		case id > 0 && t == thrift.STRUCT:
			failure = readFailure(d, id > 1)
			return true
		}
		return false
	})
	if d.err == nil {
		d.keep(c.p.ReadMessageEnd(ctx))
	}
	switch {
	case d.err != nil:
		return fail(d.err)
	case failure != nil:
		return failure
	case !found:
		return fail(errors.New("the answer has no result: is this a Thrift2 gateway?"))
	}
	return nil
}

// readFailure reads a TIOError or a TIllegalArgument. The latter is the second exception of those
// calls that have it.
func readFailure(d *decoder, argument bool) error {
	e := &IOError{Argument: argument}
	d.fields(into(1, thrift.STRING, &e.Message, (*decoder).text), into(2, thrift.BOOL, &e.CanRetry, (*decoder).boolean))
	return e
}
