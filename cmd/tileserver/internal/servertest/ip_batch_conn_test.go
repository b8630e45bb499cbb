package servertest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/ipgeo"
)

// answersOf returns all answers on a connection until the server closes it.
func answersOf(t *testing.T, conn net.Conn) (status []int, bodies []string) {
	t.Helper()
	for r := bufio.NewReader(conn); ; {
		if _, err := r.Peek(1); err != nil {
			return status, bodies // however it was closed
		}
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		status, bodies = append(status, res.StatusCode), append(bodies, string(b))
	}
}

func dial(t *testing.T, server *httptest.Server) *net.TCPConn {
	t.Helper()
	conn, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

// The rest of an abandoned body is never interpreted as a request.
func TestBatchRestIsNoRequest(t *testing.T) {
	f := servertest.NewAddresses(t, func(c *httpapi.Config) { c.BatchTimeout, c.BatchLines = 100*time.Millisecond, 3 })
	server := httptest.NewServer(f.Handler)
	t.Cleanup(server.Close)
	const length, chunked = "Content-Length: 5000\r\n", "Transfer-Encoding: chunked\r\n"
	for _, tt := range []struct {
		name, headers, body string
		status              int
		typ                 string
	}{
		{"stalled", length, servertest.CityIP + "\n81.2", 200, "batch-timeout"},
		{"stalled at once", length, "", 408, "batch-timeout"},
		{"stalled between chunks", chunked, "c\r\n" + servertest.CityIP + "\n\r\n", 200, "batch-timeout"},
		{"too many lines", length, strings.Repeat(servertest.CityIP+"\n", 4), 200, "batch-too-long"},
		{"bad chunk", chunked, "c\r\n" + servertest.CityIP + "\n\r\nzz\r\n", 200, "bad-body"},
		{"not gzip", length + "Content-Encoding: gzip\r\n", "nothing packed", 400, "bad-body"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			conn := dial(t, server)
			fmt.Fprintf(conn, "POST /ip/batch HTTP/1.1\r\nHost: x\r\n%s\r\n%s", tt.headers, tt.body)
			// The rest arrives after the answer, and looks like a request.
			first := make([]byte, 1)
			if _, err := io.ReadFull(conn, first); err != nil {
				t.Fatal(err)
			}
			time.Sleep(150 * time.Millisecond)
			fmt.Fprintf(conn, "\r\nGET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
			status, bodies := answersOf(t, &rejoined{conn, io.MultiReader(bytes.NewReader(first), conn)})
			if len(status) != 1 || status[0] != tt.status || !strings.Contains(bodies[0], tt.typ) {
				t.Errorf("%d %q, want %d %s alone", status, bodies, tt.status, tt.typ)
			}
		})
	}
	// A body that is read to its end leaves the connection open.
	conn := dial(t, server)
	for range 2 {
		fmt.Fprintf(conn, "POST /ip/batch HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s\n", len(servertest.CityIP)+1, servertest.CityIP)
	}
	fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
	if status, bodies := answersOf(t, conn); len(status) != 3 || strings.Contains(strings.Join(bodies, ""), `"error"`) {
		t.Errorf("%d %q", status, bodies)
	}
}

// rejoined is a connection whose first bytes have already been read.
type rejoined struct {
	net.Conn
	r io.Reader
}

func (c *rejoined) Read(p []byte) (int, error) { return c.r.Read(p) }

// A client may close its half of the connection after sending the whole body.
func TestBatchHalfClosed(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	servertest.PublishIP(t, f.Catalog, false, servertest.IPRange("81.2.69.0/24", ipgeo.Record{Country: ipgeo.Country{ISOCode: "NZ"}}))
	if err := f.Config.Addresses.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(f.Handler)
	defer server.Close()
	const lines = 5000
	text := strings.Repeat(servertest.CityIP+"\n", lines)
	conn := dial(t, server)
	go func() {
		fmt.Fprintf(conn, "POST /ip/batch HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
		_ = conn.CloseWrite() // the answers show whether the server has come that far
	}()
	status, bodies := answersOf(t, conn)
	if len(status) != 1 || status[0] != 200 {
		t.Fatalf("%d %q", status, bodies)
	}
	if got := servertest.BatchLines(t, bodies[0]); len(got) != lines || strings.Contains(bodies[0], `"error"`) {
		t.Errorf("%d lines, the last %s", len(got), got[len(got)-1])
	}
}

// A client that reads its answers slowly keeps its place no longer than a client that sends slowly,
// even if its whole body arrived at once.
func TestBatchSlowReader(t *testing.T) {
	f := servertest.NewAddresses(t, func(c *httpapi.Config) { c.BatchTimeout = 500 * time.Millisecond })
	const lines = 50_000
	req := httptest.NewRequest("POST", "/ip/batch", bytes.NewReader(servertest.Gzip(t, strings.Repeat(servertest.CityIP+"\n", lines))))
	req.Header.Set("Content-Encoding", "gzip")
	w := &slowTaker{ResponseRecorder: httptest.NewRecorder(), wait: 600 * time.Millisecond}
	f.Handler.ServeHTTP(w, req)
	got := servertest.BatchLines(t, w.Body.String())
	if n := len(got); n >= lines || !strings.Contains(got[n-1], `"batch-timeout"`) {
		t.Errorf("%d lines, the last %s", n, got[n-1])
	}
}

// slowTaker is a client that reads the first piece of an answer slowly.
type slowTaker struct {
	*httptest.ResponseRecorder
	wait time.Duration
}

func (s *slowTaker) Write(p []byte) (int, error) {
	time.Sleep(s.wait)
	s.wait = 0
	return s.ResponseRecorder.Write(p)
}
