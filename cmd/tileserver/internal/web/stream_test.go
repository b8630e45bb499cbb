package web

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
)

// An error is a status before the first write, and cuts the connection after it. A
// stream that runs out of time is cut too, and further ones are turned away at the limit.
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
		"before": func(context.Context, *Stream) error { return ErrNoRoute },
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
	k := New(&Config{Kinds: append(append([]Kind{}, Kinds...), Interrupted...), MaxConcurrent: 4})
	s := httptest.NewServer(k.Handler([]Route{{Path: "/:fill", Cost: Light, Query: Anything, Handle: func(c echo.Context) error {
		most := time.Hour
		if c.Param("fill") == "timeout" {
			most = time.Millisecond
		}
		return k.Stream(c, most, fills[c.Param("fill")])
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
