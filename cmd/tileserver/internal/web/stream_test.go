package web

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// An error gives a status before the first write, and closes the connection after it. A stream that
// exceeds its time is also cut off, and streams beyond the limit are refused.
func TestStream(t *testing.T) {
	fault := errors.New("fault")
	line := bytes.Repeat([]byte("x"), 1000)
	many := func(out *Stream) error {
		for range 100 {
			out.Body = append(out.Body, line...)
			if err := out.Line(); err != nil {
				return err
			}
		}
		return nil
	}
	begun, finish := make(chan bool), make(chan bool)
	fills := map[string]func(ctx context.Context, out *Stream) error{
		"whole":  func(_ context.Context, out *Stream) error { return many(out) },
		"empty":  func(context.Context, *Stream) error { return nil },
		"before": func(context.Context, *Stream) error { return endpoint.ErrNoRoute },
		"after":  func(_ context.Context, out *Stream) error { return errors.Join(many(out), fault) },
		"timeout": func(ctx context.Context, out *Stream) error {
			if err := many(out); err != nil {
				return err
			}
			<-ctx.Done()
			return ctx.Err()
		},
		"waiting": func(context.Context, *Stream) error { begun <- true; <-finish; return nil },
	}
	k := New(&Config{MaxConcurrent: 4})
	s := httptest.NewServer(k.Handler([]endpoint.Endpoint{{Path: "/:fill",
		Cost:          endpoint.Light,
		IgnoresOthers: true,
		Handle: func(c echo.Context, _ *endpoint.Params) error {
			most := time.Hour
			if c.Param("fill") == "timeout" {
				most = time.Millisecond
			}
			return k.Stream(c, Answer{Format: FormatNDJSON}, nil, most, fills[c.Param("fill")])
		}}}))
	t.Cleanup(s.Close)
	get := func(path string) (int, string, error) {
		res, err := http.Get(s.URL + path)
		if err != nil {
			return 0, "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return res.StatusCode, string(text), err
	}
	whole := strings.Repeat(string(line)+"\n", 100)
	if code, text, err := get("/whole"); code != http.StatusOK || text != whole || err != nil {
		t.Errorf("whole: %d, %d bytes, %v", code, len(text), err)
	}
	if code, text, err := get("/empty"); code != http.StatusOK || text != "" || err != nil {
		t.Errorf("empty: %d %q, %v", code, text, err)
	}
	if code, text, err := get("/before"); code != http.StatusNotFound || !strings.Contains(text, `"type":"not-found"`) || err != nil {
		t.Errorf("before: %d %q, %v", code, text, err)
	}
	for _, path := range []string{"/after", "/timeout"} {
		if code, text, err := get(path); code != http.StatusOK || !strings.HasPrefix(whole, text) || err == nil {
			t.Errorf("%s: %d, %d bytes, %v", path, code, len(text), err)
		}
	}
	done := make(chan int)
	go func() {
		code, _, _ := get("/waiting")
		done <- code
	}()
	<-begun
	if code, text, err := get("/whole"); code != http.StatusServiceUnavailable || !strings.Contains(text, `"type":"too-busy"`) || err != nil {
		t.Errorf("beyond the limit: %d %q, %v", code, text, err)
	}
	finish <- true
	if code := <-done; code != http.StatusOK {
		t.Errorf("waiting: %d", code)
	}
}

// wrapped is a wrapped connection like those of the server.
type wrapped struct{ net.Conn }

func (w wrapped) NetConn() net.Conn { return w.Conn }

type wrapping struct{ net.Listener }

func (w wrapping) Accept() (net.Conn, error) {
	c, err := w.Listener.Accept()
	return wrapped{c}, err
}

// With HTTP/1.0 an answer ends when its connection is closed. The connection of an answer that is
// truncated for any reason is reset, in every streamed form. The connection of a complete answer is
// closed normally.
func TestStreamEndsWithConnection(t *testing.T) {
	fault := errors.New("fault")
	release := make(chan bool)
	k := New(&Config{})
	whole := strings.Repeat("a line\n", 3)
	fill := func(how string, out *Stream) error {
		out.Body = append(out.Body, whole...)
		if err := out.Flush(); err != nil || how == "whole" {
			return err
		}
		switch how {
		case "panic":
			panic("fault")
		case "close":
			<-release
		}
		return fault
	}
	stream := func(a Answer) endpoint.Handler {
		return func(c echo.Context, _ *endpoint.Params) error {
			return k.Stream(c, a, []uint64{1}, time.Hour, func(_ context.Context, out *Stream) error { return fill(c.Param("how"), out) })
		}
	}
	batch := func(c echo.Context, _ *endpoint.Params) error {
		b := k.NewBatch(c, BatchLimits{Lines: 10, Bytes: 1000, Timeout: time.Hour})
		defer b.Release()
		b.Answer = func() error {
			if err := fill(c.Param("how"), &b.Stream); err != nil {
				return ErrGone // as one whose client does not read
			}
			return nil
		}
		b.Refuse = func(error) {}
		return b.Run()
	}
	h := k.Handler([]endpoint.Endpoint{
		{Path: "/ndjson/:how", Cost: endpoint.Light, IgnoresOthers: true, Handle: stream(Answer{Format: FormatNDJSON})},
		{Path: "/text/:how", Cost: endpoint.Light, IgnoresOthers: true, Handle: stream(Answer{Format: FormatText})},
		{Path: "/json/:how", Cost: endpoint.Light, IgnoresOthers: true, Handle: stream(Answer{Format: FormatJSON})},
		{Path: "/batch/:how", Methods: []string{http.MethodPost}, Cost: endpoint.Streamed, IgnoresOthers: true, Handle: batch, Body: true},
	})
	for _, scheme := range []string{"http", "https"} {
		s := httptest.NewUnstartedServer(h)
		s.Listener = wrapping{s.Listener}
		s.Config.ConnContext = WithConnection
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		start := map[string]func(){"http": s.Start, "https": s.StartTLS}[scheme]
		start()
		t.Cleanup(s.Close)
		for _, form := range []string{"ndjson", "text", "json", "batch"} {
			for _, how := range []string{"whole", "fault", "panic", "close"} {
				if scheme == "https" && how == "close" {
					continue // TLS says first that all is sent, unless a write waits
				}
				method := "GET"
				if form == "batch" {
					method = "POST"
				}
				conn, err := net.Dial("tcp", s.Listener.Addr().String())
				if err != nil {
					t.Fatal(err)
				}
				if scheme == "https" {
					conn = tls.Client(conn, &tls.Config{InsecureSkipVerify: true}) //nolint:gosec // the test's own server
				}
				fmt.Fprintf(conn, "%s /%s/%s HTTP/1.0\r\nHost: x\r\nContent-Length: 0\r\n\r\n", method, form, how)
				in := bufio.NewReader(conn)
				if how == "close" { // as the end of a drain
					if _, err := in.Peek(1); err != nil {
						t.Fatal(err)
					}
					s.CloseClientConnections()
					release <- true
				}
				text, err := io.ReadAll(in)
				conn.Close()
				if how == "whole" {
					if err != nil || !strings.HasSuffix(string(text), "\r\n\r\n"+whole) {
						t.Errorf("%s %s: %q, %v", scheme, form, text, err)
					}
				} else if !errors.Is(err, syscall.ECONNRESET) {
					t.Errorf("%s %s %s ends like a whole one: %q, %v", scheme, form, how, text, err)
				}
			}
		}
	}
}
