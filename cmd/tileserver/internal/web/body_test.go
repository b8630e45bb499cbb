package web

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// Many clients read the answer only after they have sent the whole body. They get the answer
// however early the request was refused.
func TestAnswerBeforeTheBodyEnds(t *testing.T) {
	k := New(&Config{})
	errLong := errors.New("too long")
	k.Kinds = tableOf([]ProblemKind{{Err: errLong, Status: http.StatusRequestEntityTooLarge, Type: "long", Title: "Long",
		Detail: "Shorten it."}})
	var lines int
	h := k.Handler([]endpoint.Endpoint{
		{Path: "/lines",
			Methods:       []string{http.MethodPost},
			Cost:          endpoint.Streamed,
			IgnoresOthers: true,
			Body:          true,
			Handle: func(c echo.Context, _ *endpoint.Params) error {
				lines = 0
				b := k.NewBatch(c, BatchLimits{Lines: 1 << 30, Bytes: 1000, Timeout: time.Hour})
				defer b.Release()
				b.Answer = func() error {
					return b.Each(errLong, func([]byte, error) error {
						lines++
						b.Body = append(b.Body, "{}\n"...)
						return b.WriteIfFull()
					})
				}
				b.Refuse = func(err error) { b.RefuseLine("", "", err) }
				return b.Run()
			}},
		{Path: "/one",
			Methods:       []string{http.MethodPut},
			Cost:          endpoint.Light,
			IgnoresOthers: true,
			Body:          true,
			Handle: func(c echo.Context, _ *endpoint.Params) error {
				_, _, err := ReadBody(c, 1000, errLong)
				return err
			}},
		{Path: "/refused",
			Methods:       []string{http.MethodPost},
			Cost:          endpoint.Light,
			IgnoresOthers: true,
			Body:          true,
			Handle: func(echo.Context, *endpoint.Params) error {
				return ErrKeyMissing
			}},
		{Path: "/none", Cost: endpoint.Light, IgnoresOthers: true, Handle: func(echo.Context, *endpoint.Params) error { return nil }},
	})
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	line := `{"n":1}` + strings.Repeat(" ", 92) + "\n"
	const many = 160_000 // more than the buffers of two sockets hold
	for _, tt := range []struct {
		name, request, told string
		status              int
		last                string
		lines               int
	}{
		{"batch", "POST /lines", "", 200, "batch-too-long", 10},
		{"batch whose length is told", "POST /lines", "told", 413, "batch-too-long", 0},
		{"one", "PUT /one", "", 413, "long", 0},
		{"one whose length is told", "PUT /one", "told", 413, "long", 0},
		{"refused", "POST /refused", "", 401, "key-missing", 0},
		{"refused with a length", "POST /refused", "told", 401, "key-missing", 0},
		{"no body wanted", "GET /none", "told", 413, "body-too-large", 0},
		{"no such path", "POST /nowhere", "told", 404, "not-found", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines = 0
			conn, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			out := bufio.NewWriter(conn)
			size := "Transfer-Encoding: chunked"
			if tt.told != "" {
				size = fmt.Sprint("Content-Length: ", many*len(line))
			}
			fmt.Fprintf(out, "%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n%s\r\n\r\n", tt.request, size)
			for range many {
				if tt.told == "" {
					fmt.Fprintf(out, "%x\r\n%s\r\n", len(line), line)
				} else {
					_, _ = out.WriteString(line)
				}
			}
			if tt.told == "" {
				_, _ = out.WriteString("0\r\n\r\n")
			}
			if err := out.Flush(); err != nil {
				t.Fatalf("the body cannot be sent: %v", err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			text, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != tt.status || !strings.Contains(string(text), `"`+tt.last+`"`) || lines != tt.lines {
				t.Errorf("%d %s, %v, %d lines, want %d %s %d", res.StatusCode, text, err, lines, tt.status, tt.last, tt.lines)
			}
		})
	}
}

// watchedBody is a body of several lines that examines the server once the server has answered.
type watchedBody struct {
	*strings.Reader
	to   *httptest.ResponseRecorder
	look func()
}

func (b *watchedBody) Read(p []byte) (int, error) {
	if b.to.Flushed {
		b.look()
	}
	return b.Reader.Read(p[:min(len(p), 2000)])
}

func (b *watchedBody) Close() error { return nil }

// While the rest of a refused body is read, the request has already ended: it takes no place, and
// its duration has been counted.
func TestNoPlaceForTheRest(t *testing.T) {
	k := New(&Config{Metrics: NewMetrics()})
	h := k.Handler([]endpoint.Endpoint{
		{Path: "/lines",
			Methods:       []string{http.MethodPost},
			Cost:          endpoint.Streamed,
			IgnoresOthers: true,
			Body:          true,
			Handle: func(c echo.Context, _ *endpoint.Params) error {
				b := k.NewBatch(c, BatchLimits{Lines: 2, Bytes: 1 << 20, Timeout: time.Hour})
				defer b.Release()
				b.Wait = func() error { return nil }
				b.Text, b.Refuse = true, func(err error) { b.RefuseLine("", "", err) }
				b.Answer = func() error {
					return b.Each(errBodyCorrupt, func([]byte, error) error {
						b.Body = append(b.Body, "{}\n"...)
						return nil
					})
				}
				return b.Run()
			}},
		{Path: "/refused",
			Methods:       []string{http.MethodPost},
			Cost:          endpoint.Light,
			IgnoresOthers: true,
			Body:          true,
			Handle: func(echo.Context, *endpoint.Params) error {
				return ErrKeyMissing
			}},
	})
	for path, status := range map[string]int{"/lines": 200, "/refused": 401} {
		w := httptest.NewRecorder()
		looked := false
		r := httptest.NewRequest(http.MethodPost, path, nil)
		r.Body = &watchedBody{strings.NewReader(strings.Repeat(strings.Repeat("x", 99)+"\n", 5000)), w, func() {
			looked = true
			if n, m := k.running.Taken(), k.streams.Taken(); n != 0 || m != 0 {
				t.Fatalf("%s: it takes %d places and %d of streams", path, n, m)
			}
			var ended int64
			for i := range stripes {
				ended += k.metrics.route(path).stripes[i].classes[status/100-1].Load()
			}
			if ended != 1 {
				t.Fatalf("%s: %d such requests have ended", path, ended)
			}
		}}
		h.ServeHTTP(w, r)
		if w.Code != status || !looked {
			t.Errorf("%s: %d, the rest was read: %v", path, w.Code, looked)
		}
	}
}
