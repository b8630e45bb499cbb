package httpapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/internal/testrace"
)

// /readyz and /status report damage that was found while serving, until another generation is
// published. Undamaged data is served meanwhile.
func TestDamaged(t *testing.T) {
	f := servertest.New(t, servertest.WithMetrics, ask.Places.Name, ask.Boundaries.Name)
	dirs, err := filepath.Glob(filepath.Join(f.Catalog.Dir(), ask.Places.Name, "g*"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	if err := os.WriteFile(filepath.Join(dirs[0], "rows"), []byte("others"), 0o600); err != nil { // which Verify finds
		t.Fatal(err)
	}
	f.Places.Report(errors.New("input/output error"))
	if res := f.Get("/readyz"); res.StatusCode != 200 {
		t.Errorf("one read that failed makes the server not ready: %s", servertest.Body(t, res))
	}
	_ = f.Config.Places.Poll(t.Context())
	res := f.Get("/readyz")
	if res.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if p := servertest.WantProblem(t, res, 503, "data-damaged"); !strings.Contains(p.Detail, "places") ||
		strings.Contains(p.Detail, "boundaries") || !strings.Contains(p.Detail, "ingest rollback") {
		t.Errorf("%+v", p)
	}
	if b := servertest.Body(t, f.Get("/status")); !strings.Contains(b, `"name":"places","state":"damaged","generation":1`) ||
		strings.Contains(b, dirs[0]) {
		t.Errorf("%s", b)
	}
	if m := f.Scrape(); m["quadrille_dataset_damaged{dataset=places}"] != 1 || m["quadrille_dataset_damaged{dataset=boundaries}"] != 0 ||
		m["quadrille_dataset_read_failures_total{dataset=places}"] != 1 {
		t.Errorf("%v", m)
	}
	if res := f.Get("/places/7"); res.StatusCode >= 500 {
		t.Errorf("what is whole is refused: %s", servertest.Body(t, res))
	}
	f.Publish(ask.Places.Name)
	f.Poll()
	if res := f.Get("/readyz"); res.StatusCode != 200 {
		t.Errorf("not ready after another generation: %s", servertest.Body(t, res))
	}
}

func TestBusy(t *testing.T) {
	f := servertest.New(t, func(c *httpapi.Config) { c.MaxConcurrent = 2 }, ask.Boundaries.Name)
	enter, leave := make(chan struct{}), make(chan struct{})
	var held atomic.Int64
	f.Boundaries.BeforeRead = func(context.Context, string, []byte) error {
		if held.Add(1) <= 2 {
			enter <- struct{}{}
			<-leave
		}
		return nil
	}
	done := make(chan int)
	for i := range 2 {
		go func() {
			w, r := httptest.NewRecorder(), httptest.NewRequest("GET", fmt.Sprintf("/tiles/country/4/%d/0.mvt", i), nil)
			r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", i) // one client may not take all places
			f.Handler.ServeHTTP(w, r)
			done <- w.Code
		}()
		<-enter
	}
	res := f.Get("/regions/at?lat=1&lon=1")
	servertest.WantProblem(t, res, 503, "too-busy")
	if res.Header.Get("Retry-After") != "1" {
		t.Errorf("no Retry-After: %v", res.Header)
	}
	for _, path := range []string{"/healthz", "/readyz", "/status"} {
		if res := f.Get(path); res.StatusCode != 200 {
			t.Errorf("%s: %d at the limit", path, res.StatusCode)
		}
	}
	close(leave)
	for range 2 {
		if code := <-done; code != 204 {
			t.Errorf("%d", code)
		}
	}
	if res := f.Get("/regions/at?lat=1&lon=1"); res.StatusCode != 200 {
		t.Errorf("still busy: %d", res.StatusCode)
	}
}

func TestPanic(t *testing.T) {
	var log bytes.Buffer
	f := servertest.New(t, func(c *httpapi.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)); c.MaxConcurrent = 1 },
		ask.Boundaries.Name)
	f.Boundaries.BeforeRead = func(context.Context, string, []byte) error { panic("secret") }
	for range 3 { // the place among the running ones is given back
		if p := servertest.WantProblem(t, f.Get("/tiles/country/0/0/0.mvt"), 500, "internal"); strings.Contains(p.Detail, "secret") {
			t.Errorf("internals shown: %+v", p)
		}
	}
	if !strings.Contains(log.String(), "secret") || !strings.Contains(log.String(), "ops_test.go") {
		t.Errorf("the panic and where it happened are not logged: %s", log.String())
	}
}

func TestLimitsAndMethods(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	r := httptest.NewRequest("GET", "/healthz", nil)
	r.ContentLength = 64<<10 + 1
	w := httptest.NewRecorder()
	f.Handler.ServeHTTP(w, r)
	servertest.WantProblem(t, w.Result(), 413, "body-too-large")

	for _, path := range []string{"/", "/tiles/country/0/0/0.mvt", "/regions/at", "/ip/me", "/status"} {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW"} {
			res := f.Do(method, path)
			servertest.WantProblem(t, res, 405, "method-not-allowed")
			if allow := res.Header.Get("Allow"); !strings.Contains(allow, "GET") || !strings.Contains(allow, "HEAD") {
				t.Errorf("%s %s: Allow %q", method, path, allow)
			}
		}
		if res := f.Do("OPTIONS", path); res.StatusCode != 204 || res.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("OPTIONS %s: %d %v", path, res.StatusCode, res.Header)
		}
	}
}

// OPTIONS and the refusal of a method list the same methods: those of the path's routes.
func TestAllowedMethods(t *testing.T) {
	f := servertest.New(t, servertest.NewGuarded(t, true, quota.Limits{}), servertest.DefaultDatasets...)
	const reads = "GET, HEAD, OPTIONS"
	for path, allow := range map[string]string{
		"/":                             reads,
		"/nowhere":                      reads,
		"/metrics":                      reads,
		"/status":                       reads,
		"/tiles/country/0/0/0.mvt":      reads,
		"/ip/1.2.3.4":                   reads,
		"/at":                           "GET, HEAD, POST, OPTIONS",
		"/geocode":                      "GET, HEAD, POST, OPTIONS",
		"/geocode/reverse":              "GET, HEAD, POST, OPTIONS",
		"/reverse":                      "GET, HEAD, POST, OPTIONS",
		"/ip/batch":                     "POST, OPTIONS",
		"/points/shops":                 "GET, HEAD, PUT, POST, PATCH, DELETE, OPTIONS",
		"/points/shops/12":              "GET, HEAD, PUT, PATCH, DELETE, OPTIONS",
		"/points/shops/hooks/mine":      "GET, HEAD, PUT, DELETE, OPTIONS",
		"/points/shops/hooks":           reads,
		"/ogc/collections/places/items": reads,
	} {
		res := f.Do("OPTIONS", path, "Origin", "https://a.example")
		if got := res.Header.Get("Allow"); res.StatusCode != 204 || got != allow || res.Header.Get("Access-Control-Allow-Methods") != allow {
			t.Errorf("OPTIONS %s: %d, Allow %q and not %q", path, res.StatusCode, got, allow)
		}
		for _, method := range []string{"GET", "HEAD", "PUT", "POST", "PATCH", "DELETE", "TRACE", "BREW"} {
			if slices.Contains(strings.Split(allow, ", "), method) {
				continue
			}
			if path == "/points/shops/hooks" && method != "HEAD" && method != "BREW" && method != "TRACE" && method != "POST" {
				continue // they are of a point with this name, and say so
			}
			res := f.Do(method, path)
			if got := res.Header.Get("Allow"); res.StatusCode != 405 || got != allow {
				t.Errorf("%s %s: %d, Allow %q and not %q", method, path, res.StatusCode, got, allow)
			}
		}
	}
	if res := f.Do("HEAD", "/metrics"); res.StatusCode != 200 {
		t.Errorf("HEAD /metrics: %d", res.StatusCode)
	}
}

func TestCORSOrigin(t *testing.T) {
	for _, tt := range []struct{ cfg, want string }{{"", "*"}, {"*", "*"}, {"none", ""}, {"https://a.example", "https://a.example"}} {
		f := servertest.New(t, func(c *httpapi.Config) { c.CORSOrigin = tt.cfg }, servertest.DefaultDatasets...)
		for _, path := range []string{"/tiles/country/0/0/0.mvt", "/ip/1.2.3.4", "/ip/x", "/status"} {
			if got := f.Get(path).Header.Get("Access-Control-Allow-Origin"); got != tt.want {
				t.Errorf("%q %s: %q, want %q", tt.cfg, path, got, tt.want)
			}
		}
		if got := f.Do("OPTIONS", "/").Header.Get("Access-Control-Allow-Origin"); got != tt.want {
			t.Errorf("%q preflight: %q, want %q", tt.cfg, got, tt.want)
		}
	}
}

// With a list of origins, the answer gives the requesting origin. Every cacheable answer has Vary:
// Origin, whatever else it depends on, and whatever client it is for.
func TestCORSOrigins(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	const a, b = "https://a.example", "http://b.example:8080"
	f := servertest.New(t, func(c *httpapi.Config) { c.CORSOrigin = a + "," + b }, servertest.DefaultDatasets...)
	for _, path := range []string{
		"/tiles/country/3/4/2.mvt", "/tiles/country/3/4/2.mvt", "/ip/1.2.3.4", "/ip/x", "/nowhere", "/status", "/openapi.json",
		"/docs", "/", "/ip/headers", "/ip/ranges?country=FR",
	} {
		for origin, want := range map[string]string{
			a:                   a,
			b:                   b,
			"":                  "",
			"https://c.example": "",
			"https://A.example": "",
			a + "," + b:         "",
			"null":              "",
		} {
			for _, encoding := range []string{"gzip", "identity"} {
				headers := []string{"Accept-Encoding", encoding}
				if origin != "" {
					headers = append(headers, "Origin", origin)
				}
				res := f.Get(path, headers...)
				vary := strings.Join(res.Header.Values("Vary"), ", ")
				if got := res.Header.Get("Access-Control-Allow-Origin"); got != want || !strings.HasSuffix(vary, "Origin") {
					t.Errorf("%s of %q: %q and Vary: %s", path, origin, got, vary)
				}
				if tag := res.Header.Get("Etag"); tag != "" {
					if again := f.Get(path, append(headers, "If-None-Match", tag)...); again.StatusCode != 304 ||
						!strings.HasSuffix(strings.Join(again.Header.Values("Vary"), ", "), "Origin") {
						t.Errorf("%s of %q: 304 is %d with Vary: %s", path, origin, again.StatusCode, again.Header.Values("Vary"))
					}
				}
			}
		}
	}
	res := f.Do("OPTIONS", "/ip/batch", "Origin", b)
	if got := res.Header.Get("Access-Control-Allow-Origin"); got != b || res.Header.Get("Access-Control-Allow-Methods") == "" {
		t.Errorf("preflight: %v", res.Header)
	}
}

func TestLogs(t *testing.T) {
	var access, failures bytes.Buffer
	f := servertest.New(t, func(c *httpapi.Config) {
		c.AccessLog = slog.New(slog.NewJSONHandler(&access, nil))
		c.Log = slog.New(slog.NewJSONHandler(&failures, nil))
		c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix("1.2.0.0/24"))
	}, servertest.DefaultDatasets...)
	f.Get("/tiles/country/1/0/0.mvt?_=b%0Ac", "X-Forwarded-For", "1.2.3.4")
	f.Get("/nowhere\"x")
	f.Do("POST", "/")
	var got []string
	for line := range strings.Lines(access.String()) {
		var e struct {
			Client, Method, Path, Query string
			Status, Bytes               int
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%+v", e))
	}
	want := []string{
		`{Client:1.2.3.4 Method:GET Path:/tiles/country/1/0/0.mvt Query:_=b%0Ac Status:200 Bytes:457}`,
		`{Client:1.2.0.7 Method:GET Path:/nowhere"x Query: Status:404 Bytes:135}`,
		`{Client:1.2.0.7 Method:POST Path:/ Query: Status:405 Bytes:141}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("access log\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if failures.Len() != 0 {
		t.Errorf("refusals are logged as failures: %s", failures.String())
	}
	f.Boundaries.ReadErr = errors.New("disk on fire")
	f.Get("/regions/at?lat=1&lon=1")
	if !strings.Contains(failures.String(), "disk on fire") {
		t.Errorf("the cause is not logged: %s", failures.String())
	}
}

// The refusal of a feature that is switched off says how to switch it on.
func TestSwitchedOff(t *testing.T) {
	f := servertest.New(t, nil)
	for path, want := range map[string]string{
		"/usage":     "--keys",
		"/usage/top": "--admin-listen",
		"/metrics":   "--public-metrics",
		"/nowhere":   "/docs",
	} {
		if p := servertest.WantProblem(t, f.Get(path), http.StatusNotFound, "not-found"); !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %q does not name %s", path, p.Detail, want)
		}
	}
}

// TestCancelled tests that only a request whose client has disconnected gets the status for this
// case.
func TestCancelled(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, test := range []struct {
		client context.Context
		want   int
	}{{gone, 499}, {t.Context(), http.StatusInternalServerError}} {
		s := httpapi.Compose(&httpapi.Config{}, httpapi.Faces())
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(test.client, http.MethodGet, "/", nil)
		s.Fail(fmt.Errorf("x: %w", context.Canceled), echo.New().NewContext(r, w))
		if w.Code != test.want {
			t.Errorf("%d, want %d: %s", w.Code, test.want, w.Body)
		}
	}
}

// TestKinds tests that each type of problem has one status, and that each entry of Kinds has an
// explanation.
func TestKinds(t *testing.T) {
	status := map[string]int{}
	s := httpapi.Compose(&httpapi.Config{}, httpapi.Faces())
	for _, k := range append(slices.Clone(s.Kinds), web.InternalProblem) {
		if was, ok := status[k.Type]; ok && was != k.Status {
			t.Errorf("%s is both %d and %d", k.Type, was, k.Status)
		}
		status[k.Type] = k.Status
		if k.Title == "" || !strings.HasSuffix(k.Detail, ".") || strings.HasSuffix(k.Title, ".") {
			t.Errorf("%s: title %q, detail %q: end the detail with a full stop, the title without one", k.Type, k.Title, k.Detail)
		}
		// A full disk, like a busy server, may have capacity again later.
		if k.Retry && k.Status != http.StatusServiceUnavailable && k.Status != http.StatusInsufficientStorage {
			t.Errorf("%s: retry with %d", k.Type, k.Status)
		}
		if k.Err != nil {
			if got, _ := s.Classify(fmt.Errorf("x: %w", k.Err)); got.Type != k.Type {
				t.Errorf("%v answers as %s, want %s", k.Err, got.Type, k.Type)
			}
		}
	}
}
