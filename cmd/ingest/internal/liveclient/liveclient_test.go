package liveclient_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/cmd/ingest/internal/liveclient"
	"quadrille/cmd/ingest/internal/serverclient"
	"quadrille/feature"
	"quadrille/places/live"
)

// serve returns a client of a server with the handler fn.
func serve(t *testing.T, fn http.HandlerFunc) (*liveclient.Client, *[]time.Duration) {
	t.Helper()
	s := httptest.NewServer(fn)
	t.Cleanup(s.Close)
	u, err := url.Parse(s.URL + "/base/")
	if err != nil {
		t.Fatal(err)
	}
	pauses := new([]time.Duration)
	return liveclient.New(liveclient.Target{Collection: "shops", Client: serverclient.Client{
		Server: u,
		Key:    "secret",
		Wait: func(_ context.Context, d time.Duration) error {
			*pauses = append(*pauses, d)
			return nil
		},
	}}), pauses
}

func lines(n int) (list []liveclient.Line) {
	for i := range n {
		list = append(list, liveclient.Line{SourcePosition: int64(100 + i), Text: fmt.Appendf(nil, `{"id":"%d"}`, i)})
	}
	return list
}

// problem answers like tileserver.
func problem(w http.ResponseWriter, status int, typ string) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"type":%q,"title":"Title","status":%d,"detail":"Do this."}`, typ, status)
}

// Even if requests fail for a while, for any reason, each line is answered once, in order.
func TestWriteGoesOn(t *testing.T) {
	for name, stop := range map[string]func(w http.ResponseWriter, request, line int) bool{
		"not": func(http.ResponseWriter, int, int) bool { return false },
		"lines": func(w http.ResponseWriter, _, line int) bool {
			if line > 7 {
				fmt.Fprintf(w, `{"line":%d,"status":413,"type":"batch-too-long","detail":"Send fewer."}`+"\n", line)
			}
			return line > 7
		},
		"busy": func(w http.ResponseWriter, request, line int) bool {
			if request == 1 && line == 1 {
				w.Header().Set("Retry-After", "3")
				problem(w, http.StatusServiceUnavailable, "too-busy")
			}
			return request == 1
		},
		"cut": func(_ http.ResponseWriter, request, line int) bool {
			if request < 5 && line == 10 {
				panic(http.ErrAbortHandler)
			}
			return false
		},
		"ended": func(w http.ResponseWriter, request, line int) bool {
			if request < 5 && line == 10 {
				fmt.Fprintln(w, `{"line":10,"status":503,"type":"dataset-unavailable","detail":"Wait."}`)
			}
			return request < 5 && line == 10
		},
	} {
		t.Run(name, func(t *testing.T) {
			request := 0
			var seen []string
			// The answer to the next request may begin before the interrupted one has ended.
			var mu sync.Mutex
			c, pauses := serve(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if r.Method != http.MethodPost || r.URL.Path != "/base/points/shops" || r.Header.Get("X-API-Key") != "secret" {
					t.Errorf("%s %s %v", r.Method, r.URL, r.Header)
				}
				request++
				in := bufio.NewScanner(r.Body)
				var all []string
				for in.Scan() {
					all = append(all, in.Text())
				}
				for i, text := range all {
					if stop(w, request, i+1) {
						return
					}
					seen = append(seen, text)
					if text == `{"id":"33"}` {
						fmt.Fprintf(w, `{"line":%d,"id":"33","status":400,"type":"bad-point","detail":"Correct it."}`+"\n", i+1)
						continue
					}
					fmt.Fprintf(w, `{"line":%d,"id":"x","status":201,"version":1}`+"\n", i+1)
					if err := http.NewResponseController(w).Flush(); err != nil {
						t.Error(err)
					}
				}
			})
			all := lines(100)
			var got []string
			err := c.Write(t.Context(), all, func(l *liveclient.Line, refusal string) error {
				got = append(got, string(l.Text))
				if (refusal == "Correct it.") != (l.SourcePosition == 133) {
					t.Errorf("%s: %q", l.Text, refusal)
				}
				return nil
			})
			var want []string
			for _, l := range all {
				want = append(want, string(l.Text))
			}
			if err != nil || !slices.Equal(got, want) {
				t.Fatal(err, got)
			}
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(seen, want) {
				t.Errorf("the server wrote %q", seen)
			}
			if name == "busy" && !slices.Equal(*pauses, []time.Duration{3 * time.Second}) {
				t.Error(*pauses)
			}
		})
	}
}

// A permanent failure ends at once, a temporary one after some attempts.
func TestRefusals(t *testing.T) {
	for name, tc := range map[string]struct {
		answer   func(w http.ResponseWriter, r *http.Request)
		text     string
		attempts int64
	}{
		"no key":    {func(w http.ResponseWriter, _ *http.Request) { problem(w, 403, "scope-missing") }, "answered 403: Title: Do this", 1},
		"published": {func(w http.ResponseWriter, _ *http.Request) { problem(w, 405, "read-only") }, "answered 405: Title: Do this", 1},
		"redirect": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://example.org/", http.StatusPermanentRedirect)
		}, `redirects to "https://example.org/", where the key is not sent`, 1},
		"too large": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(413) }, "a proxy takes no request as large as one point", 3},
		"other":     {func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) }, "name a tileserver", 1},
		"page":      {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, `{"hello":1}`) }, "is this a tileserver?", 1},
		"always 503": {
			func(w http.ResponseWriter, _ *http.Request) { problem(w, 503, "too-busy") },
			"answered 503: Title: Do this (tried 6 times)",
			6,
		},
		"cut": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "(tried 6 times)", 6},
	} {
		t.Run(name, func(t *testing.T) {
			var requests atomic.Int64
			c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) { requests.Add(1); tc.answer(w, r) })
			err := c.Write(t.Context(), lines(4), func(*liveclient.Line, string) error { return nil })
			if err == nil || !strings.Contains(err.Error(), tc.text) || requests.Load() != tc.attempts {
				t.Error(err, requests.Load())
			}
			if strings.Contains(fmt.Sprint(err), "secret") {
				t.Error("the key is shown")
			}
		})
	}
}

func TestAnsweredEndsWriting(t *testing.T) {
	want := errors.New("enough")
	c, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, `{"line":1,"status":200}`) })
	if err := c.Write(t.Context(), lines(4), func(*liveclient.Line, string) error { return want }); !errors.Is(err, want) {
		t.Error(err)
	}
}

func TestExistsAndCreate(t *testing.T) {
	there := false
	body := ""
	c, _ := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut:
			buf := make([]byte, 1000)
			n, _ := r.Body.Read(buf)
			body, there = string(buf[:n]), true
			w.WriteHeader(http.StatusCreated)
		case !there:
			problem(w, http.StatusNotFound, "collection-not-found")
		}
	})
	if ok, err := c.Exists(t.Context()); ok || err != nil {
		t.Fatal(ok, err)
	}
	err := c.Create(t.Context(), &live.Meta{Title: "Shops", Private: true, Schema: feature.Schema{{Name: "zip", Kind: feature.Text}}})
	if want := `{"title":"Shops","private":true,"schema":{"zip":"text"}}`; err != nil || body != want {
		t.Error(err, body)
	}
	if ok, err := c.Exists(t.Context()); !ok || err != nil {
		t.Error(ok, err)
	}
}

// A request whose lines are all refused also gets an answer in lines, with another status.
func TestWriteOfBadLinesAlone(t *testing.T) {
	c, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-ndjson")
		w.WriteHeader(http.StatusBadRequest)
		for i := range 3 {
			fmt.Fprintf(w, `{"line":%d,"status":400,"type":"bad-point","detail":"Correct it."}`+"\n", i+1)
		}
	})
	refused := 0
	err := c.Write(t.Context(), lines(3), func(_ *liveclient.Line, refusal string) error {
		if refusal == "Correct it." {
			refused++
		}
		return nil
	})
	if err != nil || refused != 3 {
		t.Errorf("%d of 3 lines refused, %v", refused, err)
	}
}
