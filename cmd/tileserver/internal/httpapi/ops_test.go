package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/labstack/echo/v4"

	"quadrille/ask"
	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/catalogue"
	"quadrille/cmd/tileserver/internal/ops"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/web"
	"quadrille/feature/layertest"
	"quadrille/internal/testrace"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// A generation that does not open leaves the old one serving; a data set of
// which nothing opens makes the server not ready, and its endpoints fail
// rather than say that it is missing.
func TestReadiness(t *testing.T) {
	var broken error
	f := newFixture(t, nil, catalogue.Places.Name)
	bounds := dataset.NewLive(f.catalog, catalogue.Boundaries.Name, func(*dataset.Generation) (ask.Boundaries, error) {
		if broken != nil {
			return nil, broken
		}
		return &boundBoundaries{&f.bounds, 1}, nil
	})
	defer bounds.Close()
	f.cfg.Boundaries.Close()
	f.cfg.Boundaries = bounds
	f.handler = New(f.cfg)

	state := func() string {
		var doc ops.Status
		if err := json.Unmarshal([]byte(body(t, f.get("/status"))), &doc); err != nil {
			t.Fatal(err)
		}
		return doc.Datasets[0].State
	}
	check := func(when, wantState string, ready bool) {
		t.Helper()
		if got := state(); got != wantState {
			t.Errorf("%s: state %s, want %s", when, got, wantState)
		}
		res := f.get("/readyz")
		if ready && res.StatusCode != 200 {
			t.Errorf("%s: not ready: %s", when, body(t, res))
		}
		if !ready {
			if p := wantProblem(t, res, 503, "not-ready"); !strings.Contains(p.Detail, "boundaries") {
				t.Errorf("%s: %+v", when, p)
			}
		}
	}
	check("nothing published", "missing", true)

	broken = errors.New("secret path of a damaged file")
	f.publish(catalogue.Boundaries.Name)
	if bounds.Poll(context.Background()) == nil {
		t.Fatal("a broken generation was taken into service")
	}
	check("first is broken", "failed", false)
	for _, path := range []string{"/tiles/country/0/0/0.mvt", "/tiles/all/0/0/0.mvt", "/regions/at?lat=1&lon=1"} {
		if p := wantProblem(t, f.get(path), 503, "dataset-unavailable"); strings.Contains(p.Detail, "secret") {
			t.Errorf("internals shown: %+v", p)
		}
	}
	if b := body(t, f.get("/status")); strings.Contains(b, "secret") {
		t.Errorf("internals shown: %s", b)
	}

	broken = nil
	if err := bounds.Poll(context.Background()); err != nil {
		t.Fatal(err)
	}
	check("mended", "serving", true)

	broken = errors.New("again")
	f.publish(catalogue.Boundaries.Name)
	_ = bounds.Poll(context.Background())
	check("second is broken", "stale", true)
	if res := f.get("/tiles/country/0/0/0.mvt"); res.StatusCode != 200 {
		t.Errorf("the old generation does not serve: %d", res.StatusCode)
	}

	bounds.Close()
	wantProblem(t, f.get("/tiles/country/0/0/0.mvt"), 503, "dataset-unavailable")
}

// Damage met while serving shows in /readyz and /status, and goes when another
// generation is published. What is whole is answered all the while.
func TestDamaged(t *testing.T) {
	f := newFixture(t, measured, catalogue.Places.Name, catalogue.Boundaries.Name)
	var serving *dataset.Generation
	finder := dataset.NewLive(f.catalog, catalogue.Places.Name, func(g *dataset.Generation) (ask.Places, error) {
		serving = g
		return &boundPlaces{&layertest.Memory{}, &f.places, g.Manifest.Generation}, nil
	})
	f.cfg.Places.Close()
	f.cfg.Places = finder // which the fixture closes
	f.poll()
	f.handler = New(f.cfg)
	dirs, err := filepath.Glob(filepath.Join(f.catalog.Dir(), catalogue.Places.Name, "g*"))
	if err != nil || len(dirs) != 1 {
		t.Fatal(dirs, err)
	}
	if err := os.WriteFile(filepath.Join(dirs[0], "rows"), []byte("others"), 0o600); err != nil { // which Verify finds
		t.Fatal(err)
	}
	serving.Suspect(errors.New("input/output error"))
	if res := f.get("/readyz"); res.StatusCode != 200 {
		t.Errorf("one read that failed makes the server not ready: %s", body(t, res))
	}
	_ = f.cfg.Places.Poll(t.Context())
	res := f.get("/readyz")
	if res.Header.Get("Retry-After") == "" {
		t.Error("no Retry-After")
	}
	if p := wantProblem(t, res, 503, "data-damaged"); !strings.Contains(p.Detail, "places") || strings.Contains(p.Detail, "boundaries") || !strings.Contains(p.Detail, "ingest rollback") {
		t.Errorf("%+v", p)
	}
	if b := body(t, f.get("/status")); !strings.Contains(b, `"name":"places","state":"damaged","generation":1`) || strings.Contains(b, dirs[0]) {
		t.Errorf("%s", b)
	}
	if m := f.scrape(); m["quadrille_dataset_damaged{dataset=places}"] != 1 || m["quadrille_dataset_damaged{dataset=boundaries}"] != 0 ||
		m["quadrille_dataset_read_failures_total{dataset=places}"] != 1 {
		t.Errorf("%v", m)
	}
	if res := f.get("/places/7"); res.StatusCode >= 500 {
		t.Errorf("what is whole is refused: %s", body(t, res))
	}
	f.publish(catalogue.Places.Name)
	f.poll()
	if res := f.get("/readyz"); res.StatusCode != 200 {
		t.Errorf("not ready after another generation: %s", body(t, res))
	}
}

func TestBusy(t *testing.T) {
	f := newFixture(t, func(c *Config) { c.MaxConcurrent = 2 }, catalogue.Boundaries.Name)
	enter, leave := make(chan struct{}), make(chan struct{})
	f.bounds.tile = func(context.Context, uint64, quadkey.Tile, []tiles.Selector) ([]byte, error) {
		enter <- struct{}{}
		<-leave
		return nil, nil
	}
	done := make(chan int)
	for i := range 2 {
		go func() {
			w, r := httptest.NewRecorder(), httptest.NewRequest("GET", fmt.Sprintf("/tiles/country/4/%d/0.mvt", i), nil)
			r.RemoteAddr = fmt.Sprintf("192.0.2.%d:1", i) // one client may not take all places
			f.handler.ServeHTTP(w, r)
			done <- w.Code
		}()
		<-enter
	}
	res := f.get("/regions/at?lat=1&lon=1")
	wantProblem(t, res, 503, "too-busy")
	if res.Header.Get("Retry-After") != "1" {
		t.Errorf("no Retry-After: %v", res.Header)
	}
	for _, path := range []string{"/healthz", "/readyz", "/status"} {
		if res := f.get(path); res.StatusCode != 200 {
			t.Errorf("%s: %d at the limit", path, res.StatusCode)
		}
	}
	close(leave)
	for range 2 {
		if code := <-done; code != 204 {
			t.Errorf("%d", code)
		}
	}
	if res := f.get("/regions/at?lat=1&lon=1"); res.StatusCode != 200 {
		t.Errorf("still busy: %d", res.StatusCode)
	}
}

func TestPanic(t *testing.T) {
	var log bytes.Buffer
	f := newFixture(t, func(c *Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)); c.MaxConcurrent = 1 }, catalogue.Boundaries.Name)
	f.bounds.tile = func(context.Context, uint64, quadkey.Tile, []tiles.Selector) ([]byte, error) { panic("secret") }
	for range 3 { // the place among the running ones is given back
		if p := wantProblem(t, f.get("/tiles/country/0/0/0.mvt"), 500, "internal"); strings.Contains(p.Detail, "secret") {
			t.Errorf("internals shown: %+v", p)
		}
	}
	if !strings.Contains(log.String(), "secret") || !strings.Contains(log.String(), "ops_test.go") {
		t.Errorf("the panic and where it happened are not logged: %s", log.String())
	}
}

func TestLimitsAndMethods(t *testing.T) {
	f := newFixture(t, nil, all...)
	r := httptest.NewRequest("GET", "/healthz", nil)
	r.ContentLength = 64<<10 + 1
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	wantProblem(t, w.Result(), 413, "body-too-large")

	for _, path := range []string{"/", "/tiles/country/0/0/0.mvt", "/regions/at", "/ip/me", "/status"} {
		for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "TRACE", "BREW"} {
			res := f.do(method, path)
			wantProblem(t, res, 405, "method-not-allowed")
			if allow := res.Header.Get("Allow"); !strings.Contains(allow, "GET") || !strings.Contains(allow, "HEAD") {
				t.Errorf("%s %s: Allow %q", method, path, allow)
			}
		}
		if res := f.do("OPTIONS", path); res.StatusCode != 204 || res.Header.Get("Access-Control-Allow-Origin") != "*" {
			t.Errorf("OPTIONS %s: %d %v", path, res.StatusCode, res.Header)
		}
	}
}

// OPTIONS and refusals of a method that has no route tell the same methods, those that the
// routes of the path are for.
func TestAllowedMethods(t *testing.T) {
	f := newFixture(t, guarded(t, true, quota.Limits{}), all...)
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
		res := f.do("OPTIONS", path, "Origin", "https://a.example")
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
			res := f.do(method, path)
			if got := res.Header.Get("Allow"); res.StatusCode != 405 || got != allow {
				t.Errorf("%s %s: %d, Allow %q and not %q", method, path, res.StatusCode, got, allow)
			}
		}
	}
	if res := f.do("HEAD", "/metrics"); res.StatusCode != 200 {
		t.Errorf("HEAD /metrics: %d", res.StatusCode)
	}
}

// What the operator requires must be served, and while the data directory is missing
// nothing is ready that serves nothing.
func TestRequired(t *testing.T) {
	var missing error
	f := newFixture(t, func(c *Config) {
		c.Require = []string{catalogue.Boundaries.Name, catalogue.Places.Name}
		c.NoData = func() error { return missing }
	})
	ready := func(want string) {
		t.Helper()
		res := f.get("/readyz")
		if want == "" {
			if res.StatusCode != 200 {
				t.Errorf("%d: %s", res.StatusCode, body(t, res))
			}
			return
		}
		if p := wantProblem(t, res, 503, "not-ready"); !strings.Contains(p.Detail, want) || strings.Contains(p.Detail, "secret") {
			t.Errorf("%+v does not say %s", p, want)
		}
	}
	ready("boundaries, places")
	f.publish(catalogue.Places.Name)
	f.poll()
	ready("by ingest: boundaries;")
	f.publish(catalogue.Boundaries.Name)
	f.poll()
	ready("")
	missing = errors.New("stat /secret/path: no such file or directory")
	ready("") // open files go on being served

	f = newFixture(t, func(c *Config) { c.NoData = func() error { return missing } })
	ready("data directory")
	missing = nil
	ready("")
}

func TestCORSOrigin(t *testing.T) {
	for _, tt := range []struct{ cfg, want string }{{"", "*"}, {"*", "*"}, {"none", ""}, {"https://a.example", "https://a.example"}} {
		f := newFixture(t, func(c *Config) { c.CORSOrigin = tt.cfg }, all...)
		for _, path := range []string{"/tiles/country/0/0/0.mvt", "/ip/1.2.3.4", "/ip/x", "/status"} {
			if got := f.get(path).Header.Get("Access-Control-Allow-Origin"); got != tt.want {
				t.Errorf("%q %s: %q, want %q", tt.cfg, path, got, tt.want)
			}
		}
		if got := f.do("OPTIONS", "/").Header.Get("Access-Control-Allow-Origin"); got != tt.want {
			t.Errorf("%q preflight: %q, want %q", tt.cfg, got, tt.want)
		}
	}
}

// With a list of origins the one that asks is named, and what caches keep says that it
// depends on who asks, whatever else it depends on, and whoever it was for.
func TestCORSOrigins(t *testing.T) {
	testrace.Plain(t, "one request after the other, which TestEverythingAtOnce sends at once")
	const a, b = "https://a.example", "http://b.example:8080"
	f := newFixture(t, func(c *Config) { c.CORSOrigin = a + "," + b }, all...)
	for _, path := range []string{
		"/tiles/country/3/4/2.mvt", "/tiles/country/3/4/2.mvt", "/ip/1.2.3.4", "/ip/x", "/nowhere", "/status", "/openapi.json", "/docs", "/", "/ip/headers", "/ip/ranges?country=FR",
	} {
		for origin, want := range map[string]string{a: a, b: b, "": "", "https://c.example": "", "https://A.example": "", a + "," + b: "", "null": ""} {
			for _, encoding := range []string{"gzip", "identity"} {
				headers := []string{"Accept-Encoding", encoding}
				if origin != "" {
					headers = append(headers, "Origin", origin)
				}
				res := f.get(path, headers...)
				vary := strings.Join(res.Header.Values("Vary"), ", ")
				if got := res.Header.Get("Access-Control-Allow-Origin"); got != want || !strings.HasSuffix(vary, "Origin") {
					t.Errorf("%s of %q: %q and Vary: %s", path, origin, got, vary)
				}
				if tag := res.Header.Get("Etag"); tag != "" {
					if again := f.get(path, append(headers, "If-None-Match", tag)...); again.StatusCode != 304 || !strings.HasSuffix(strings.Join(again.Header.Values("Vary"), ", "), "Origin") {
						t.Errorf("%s of %q: 304 is %d with Vary: %s", path, origin, again.StatusCode, again.Header.Values("Vary"))
					}
				}
			}
		}
	}
	res := f.do("OPTIONS", "/ip/batch", "Origin", b)
	if got := res.Header.Get("Access-Control-Allow-Origin"); got != b || res.Header.Get("Access-Control-Allow-Methods") == "" {
		t.Errorf("preflight: %v", res.Header)
	}
}

func TestLogs(t *testing.T) {
	var access, failures bytes.Buffer
	f := newFixture(t, func(c *Config) {
		c.AccessLog = slog.New(slog.NewJSONHandler(&access, nil))
		c.Log = slog.New(slog.NewJSONHandler(&failures, nil))
		c.TrustedProxies = append(c.TrustedProxies, mustPrefix("198.51.100.0/24"))
	}, all...)
	f.get("/tiles/country/1/0/0.mvt?_=b%0Ac", "X-Forwarded-For", "1.2.3.4")
	f.get("/nowhere\"x")
	f.do("POST", "/")
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
		`{Client:1.2.3.4 Method:GET Path:/tiles/country/1/0/0.mvt Query:_=b%0Ac Status:200 Bytes:22}`,
		`{Client:198.51.100.7 Method:GET Path:/nowhere"x Query: Status:404 Bytes:135}`,
		`{Client:198.51.100.7 Method:POST Path:/ Query: Status:405 Bytes:141}`,
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("access log\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if failures.Len() != 0 {
		t.Errorf("refusals are logged as failures: %s", failures.String())
	}
	f.bounds.err = errors.New("disk on fire")
	f.get("/regions/at?lat=1&lon=1")
	if !strings.Contains(failures.String(), "disk on fire") {
		t.Errorf("the cause is not logged: %s", failures.String())
	}
}

func TestPage(t *testing.T) {
	script := strings.Repeat("alert(1);", 500)
	page := fstest.MapFS{
		"index.html":                   {Data: []byte("<!doctype html><script type=module src=assets/map-ABCD2345.js></script>")},
		"embed.html":                   {Data: []byte("<!doctype html><title>embedded</title>")},
		"assets/map-ABCD2345.js":       {Data: []byte(script)},
		"assets/map-ABCD2345.css":      {Data: []byte("a{}")},
		"assets/main-component.js":     {Data: []byte("1")},
		"assets/icon-ZZZZ2345.svg":     {Data: []byte("<svg/>")},
		"licenses.txt":                 {Data: []byte("MIT")},
		"README.md":                    {Data: []byte("not for visitors")},
		"secret":                       {Data: []byte("no type")},
		"assets/nested/deep/x-23.wasm": {Data: []byte("no type")},
	}
	f := newFixture(t, func(c *Config) { c.Page = page })
	for _, tt := range []struct{ path, contentType, cache, body string }{
		{"/", "text/html; charset=utf-8", "no-cache", string(page["index.html"].Data)},
		{"/index.html", "text/html; charset=utf-8", "no-cache", string(page["index.html"].Data)},
		{"/embed", "text/html; charset=utf-8", "no-cache", string(page["embed.html"].Data)},
		{"/embed?center=x&zoom=99", "text/html; charset=utf-8", "no-cache", string(page["embed.html"].Data)},
		{"/assets/map-ABCD2345.js", "text/javascript; charset=utf-8", "public, max-age=31536000, immutable", script},
		{"/assets/map-ABCD2345.css", "text/css; charset=utf-8", "public, max-age=31536000, immutable", "a{}"},
		{"/assets/icon-ZZZZ2345.svg", "image/svg+xml", "public, max-age=31536000, immutable", "<svg/>"},
		{"/assets/main-component.js", "text/javascript; charset=utf-8", "no-cache", "1"},
		{"/licenses.txt", "text/plain; charset=utf-8", "no-cache", "MIT"},
	} {
		res := f.get(tt.path)
		h := res.Header
		if b := body(t, res); res.StatusCode != 200 || b != tt.body || h.Get("Content-Type") != tt.contentType || h.Get("Cache-Control") != tt.cache {
			t.Errorf("%s: %d %v %q", tt.path, res.StatusCode, h, b)
		}
		if csp := h.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") ||
			strings.HasSuffix(csp, "; frame-ancestors *") != strings.HasPrefix(tt.path, "/embed") || strings.HasSuffix(csp, "; frame-ancestors 'none'") == strings.HasPrefix(tt.path, "/embed") {
			t.Errorf("%s: policy %q", tt.path, csp)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") == "" {
			t.Errorf("%s: %v", tt.path, h)
		}
		if res := f.get(tt.path, "If-None-Match", h.Get("Etag")); res.StatusCode != 304 || body(t, res) != "" {
			t.Errorf("%s: %d with its tag", tt.path, res.StatusCode)
		}
		if res := f.do("HEAD", tt.path); res.StatusCode != 200 || body(t, res) != "" || res.Header.Get("Content-Length") != fmt.Sprint(len(tt.body)) {
			t.Errorf("HEAD %s: %d %v", tt.path, res.StatusCode, res.Header)
		}
	}
	res := f.get("/assets/map-ABCD2345.js", "Accept-Encoding", "gzip")
	if b := body(t, res); res.Header.Get("Content-Encoding") != "gzip" || len(b) >= len(script) || res.Header.Get("Content-Length") != fmt.Sprint(len(b)) {
		t.Errorf("script is not compressed: %v", res.Header)
	}
	for _, path := range []string{"/README.md", "/embed.html", "/embed/", "/secret", "/assets/nested/deep/x-23.wasm", "/assets/", "/assets", "//index.html", "/./index.html",
		"/assets/../index.html", "/..%2findex.html", "/%2e%2e/index.html", "/assets%2Fmap-ABCD2345.css%00", "/index.html/", "/assets/..%5cindex.html"} {
		if res := f.get(path); res.StatusCode != 404 {
			t.Errorf("%s: %d, want 404", path, res.StatusCode)
		}
	}
}

// A page whose files cannot be read must not keep the service down.
type brokenFS struct{}

func (brokenFS) Open(string) (fs.File, error) { return nil, fs.ErrPermission }

// HEAD of what a browser would be shown is told as GET of it is, without the page.
func TestHeadOfPages(t *testing.T) {
	f := newFixture(t, nil, all...)
	for path, status := range map[string]int{"/": 200, "/status": 200, "/docs": 200, "/nowhere": 404, "/regions/at?lat=x&lon=1": 400} {
		page := f.get(path, "Accept", "text/html,*/*;q=0.8")
		if b := body(t, page); page.StatusCode != status || !strings.HasPrefix(b, "<!doctype html>") {
			t.Errorf("%s: %d %s", path, page.StatusCode, b)
		}
		head := f.do(http.MethodHead, path, "Accept", "text/html,*/*;q=0.8")
		if b := body(t, head); head.StatusCode != status || b != "" {
			t.Errorf("HEAD %s: %d %q", path, head.StatusCode, b)
		}
		for name := range page.Header {
			if got, want := head.Header.Get(name), page.Header.Get(name); got != want && name != "Date" && name != "X-Request-Id" {
				t.Errorf("HEAD %s: %s is %q, and %q for GET", path, name, got, want)
			}
		}
		if !strings.HasPrefix(head.Header.Get("Content-Type"), "text/html") {
			t.Errorf("HEAD %s: %v", path, head.Header)
		}
	}
}

func TestPageAbsent(t *testing.T) {
	for _, fsys := range []fs.FS{nil, fstest.MapFS{}, brokenFS{}} {
		f := newFixture(t, func(c *Config) { c.Page = fsys })
		res := f.get("/")
		if b := body(t, res); res.StatusCode != 200 || !strings.Contains(b, "make page build") || res.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%T: %d %s", fsys, res.StatusCode, b)
		}
	}
}

// What a server may have and this one has not says how to have it.
func TestSwitchedOff(t *testing.T) {
	f := newFixture(t, nil)
	for path, want := range map[string]string{"/usage": "--keys", "/usage/top": "--admin-listen", "/metrics": "--public-metrics", "/nowhere": "/docs"} {
		if p := wantProblem(t, f.get(path), http.StatusNotFound, "not-found"); !strings.Contains(p.Detail, want) {
			t.Errorf("%s: %q does not name %s", path, p.Detail, want)
		}
	}
}

// Only a client that has gone away is answered as one.
func TestCancelled(t *testing.T) {
	gone, leave := context.WithCancel(t.Context())
	leave()
	for _, test := range []struct {
		client context.Context
		want   int
	}{{gone, 499}, {t.Context(), http.StatusInternalServerError}} {
		s := newServer(&Config{})
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(test.client, http.MethodGet, "/", nil)
		s.Fail(fmt.Errorf("x: %w", context.Canceled), echo.New().NewContext(r, w))
		if w.Code != test.want {
			t.Errorf("%d, want %d: %s", w.Code, test.want, w.Body)
		}
	}
}

// Each type stands for one status, and each row explains itself.
func TestKinds(t *testing.T) {
	status := map[string]int{}
	s := newServer(&Config{})
	for _, k := range append(slices.Clone(s.Kinds), web.Internal) {
		if was, ok := status[k.Type]; ok && was != k.Status {
			t.Errorf("%s is both %d and %d", k.Type, was, k.Status)
		}
		status[k.Type] = k.Status
		if k.Title == "" || !strings.HasSuffix(k.Detail, ".") || strings.HasSuffix(k.Title, ".") {
			t.Errorf("%s: title %q, detail %q: end the detail with a full stop, the title without one", k.Type, k.Title, k.Detail)
		}
		// A disk that is full has room again, as a server that is busy has.
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

func mustPrefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }
