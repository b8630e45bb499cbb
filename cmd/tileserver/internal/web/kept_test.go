package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// textKey is a cache key that consists of a text.
type textKey string

func (k textKey) Hash() uint64    { return uint64(HashStart.Bytes(string(k))) }
func (k textKey) ExtraBytes() int { return len(k) }

// keptServer answers every request with its path without the slash, through ResponseCache, and counts how
// often an answer is made.
func keptServer(total bool, empty int) (h http.Handler, made *atomic.Int64) {
	k := New(&Config{})
	kept := NewResponseCache[textKey](k, "test", 1<<20)
	kept.Total = total
	made = new(atomic.Int64)
	return k.Handler([]endpoint.Endpoint{{Path: "/:text",
		Cost:          endpoint.Light,
		IgnoresOthers: true,
		Handle: func(c echo.Context, _ *endpoint.Params) error {
			text := strings.Trim(c.Request().URL.Path, "/-")
			a := Answer{Format: FormatText, Tag: HashStart.Bytes(text).Tag(), CacheControl: k.CacheControl, EmptyStatus: empty}
			return kept.Send(c, textKey(text), &a, nil, func(_ context.Context, out *Scratch) (*CachedResponse, error) {
				made.Add(1)
				out.Body = append(out.Body, text...)
				return NewCachedResponse(&a, out.Body), nil
			})
		}}}), made
}

func TestKept(t *testing.T) {
	tag := func(text string) string {
		t := HashStart.Bytes(text).Tag()
		return t.header()[0]
	}
	for _, tt := range []struct {
		path, match  string
		total        bool
		empty        int
		status, made int
	}{
		{"/a", "", false, 0, 200, 1},
		{"/a", tag("b"), false, 0, 200, 1},
		{"/a", tag("a"), false, 0, 304, 0},
		{"/a", "W/" + tag("a"), false, 0, 304, 0},
		{"/a", "*", false, 0, 304, 1}, // there might have been none
		{"/a", "*", true, 0, 304, 0},
		{"/a", "*", true, 404, 304, 1},
		{"/-", "", false, 0, 204, 1},
		{"/-", "", false, 200, 200, 1},
		{"/-", "", false, 404, 404, 1},
		{"/-", "*", false, 404, 404, 1},
		{"/-", "*", true, 404, 404, 1},
		{"/-", "*", false, 204, 304, 1},
	} {
		h, made := keptServer(tt.total, tt.empty)
		for range 2 {
			r := httptest.NewRequest("GET", tt.path, nil)
			if tt.match != "" {
				r.Header.Set("If-None-Match", tt.match)
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tt.status || made.Load() != int64(tt.made) {
				t.Errorf("%+v: %d, made %d times", tt, w.Code, made.Load())
			}
			if want := strings.Trim(tt.path, "/-"); w.Code == 200 && w.Body.String() != want {
				t.Errorf("%+v: %q", tt, w.Body)
			}
		}
	}
}

func TestKeptIsMadeOnce(t *testing.T) {
	h, made := keptServer(false, 0)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() { h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/a", nil)) })
	}
	if all.Wait(); made.Load() != 1 {
		t.Errorf("made %d times", made.Load())
	}
}
