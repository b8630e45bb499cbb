//go:build !race

package servertest_test

import (
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"testing"
	"testing/fstest"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
)

func TestPage(t *testing.T) {
	script := strings.Repeat("alert(1);", 500)
	page := fstest.MapFS{
		"index.html":                   {Data: []byte("<!doctype html><script type=module src=assets/map-ABCD2345.js></script>")},
		"embed.html":                   {Data: []byte("<!doctype html><title>embedded</title>")},
		"assets/map-ABCD2345.js":       {Data: []byte(script)},
		"assets/map-ABCD2345.js.br":    {Data: []byte("packed at build time")},
		"assets/map-ABCD2345.css":      {Data: []byte("a{}")},
		"assets/main-component.js":     {Data: []byte("1")},
		"assets/icon-ZZZZ2345.svg":     {Data: []byte("<svg/>")},
		"licenses.txt":                 {Data: []byte("MIT")},
		"README.md":                    {Data: []byte("not for visitors")},
		"secret":                       {Data: []byte("no type")},
		"assets/nested/deep/x-23.wasm": {Data: []byte("no type")},
	}
	f := servertest.New(t, func(c *httpapi.Config) { c.PageFiles = page })
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
		res := f.Get(tt.path)
		h := res.Header
		if b := servertest.Body(t, res); res.StatusCode != 200 || b != tt.body || h.Get("Content-Type") != tt.contentType ||
			h.Get("Cache-Control") != tt.cache {
			t.Errorf("%s: %d %v %q", tt.path, res.StatusCode, h, b)
		}
		if csp := h.Get("Content-Security-Policy"); !strings.HasPrefix(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") ||
			strings.HasSuffix(csp, "; frame-ancestors *") != strings.HasPrefix(tt.path, "/embed") ||
			strings.HasSuffix(csp, "; frame-ancestors 'none'") == strings.HasPrefix(tt.path, "/embed") {
			t.Errorf("%s: policy %q", tt.path, csp)
		}
		if h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") == "" {
			t.Errorf("%s: %v", tt.path, h)
		}
		if res := f.Get(tt.path, "If-None-Match", h.Get("Etag")); res.StatusCode != 304 || servertest.Body(t, res) != "" {
			t.Errorf("%s: %d with its tag", tt.path, res.StatusCode)
		}
		if res := f.Do("HEAD", tt.path); res.StatusCode != 200 || servertest.Body(t, res) != "" ||
			res.Header.Get("Content-Length") != fmt.Sprint(len(tt.body)) {
			t.Errorf("HEAD %s: %d %v", tt.path, res.StatusCode, res.Header)
		}
	}
	res := f.Get("/assets/map-ABCD2345.js", "Accept-Encoding", "gzip")
	if b := servertest.Body(t, res); res.Header.Get("Content-Encoding") != "gzip" || len(b) >= len(script) ||
		res.Header.Get("Content-Length") != fmt.Sprint(len(b)) {
		t.Errorf("script is not compressed: %v", res.Header)
	}
	res = f.Get("/assets/map-ABCD2345.js", "Accept-Encoding", "br")
	if b := servertest.Body(t, res); res.Header.Get("Content-Encoding") != "br" || b != "packed at build time" ||
		res.Header.Get("Content-Length") != fmt.Sprint(len(b)) {
		t.Errorf("script is not sent as it was packed: %v %q", res.Header, b)
	}
	if res := f.Get("/assets/map-ABCD2345.js", "Accept-Encoding", "br", "If-None-Match", res.Header.Get("Etag")); res.StatusCode != 304 {
		t.Errorf("packed script: %d with its tag, want 304", res.StatusCode)
	}
	for _, path := range []string{"/README.md", "/assets/map-ABCD2345.js.br", "/embed.html", "/embed/", "/secret",
		"/assets/nested/deep/x-23.wasm", "/assets/", "/assets", "//index.html", "/./index.html",
		"/assets/../index.html", "/..%2findex.html", "/%2e%2e/index.html", "/assets%2Fmap-ABCD2345.css%00", "/index.html/",
		"/assets/..%5cindex.html"} {
		if res := f.Get(path); res.StatusCode != 404 {
			t.Errorf("%s: %d, want 404", path, res.StatusCode)
		}
	}
}

// TestPopupOfFiltered tests that a layer with a filter has its columns in popups.
func TestPopupOfFiltered(t *testing.T) {
	f, _ := servertest.NewCollections(t)
	const layers = "/embed?layers=country,points:shops.stars=4&popup="
	if res := f.Get(layers + "stars"); res.StatusCode != 200 {
		t.Errorf("a column of the collection: %d %s", res.StatusCode, servertest.Body(t, res))
	}
	servertest.WantProblem(t, f.Get(layers+"stairs"), 400, "bad-parameter")
}

// TestPopup tests that a popup with a column that no layer has is refused, in a page that a frame can show.
func TestPopup(t *testing.T) {
	f := servertest.New(t, func(c *httpapi.Config) {
		c.PageFiles = fstest.MapFS{"embed.html": {Data: []byte(`<meta name="quadrille-hosts" content="">`)}}
		c.CORSOrigin = `https://a.example,https://b.example`
	}, servertest.DefaultDatasets...)
	for _, query := range []string{
		"", "popup=", "popup=name,%20id", "popup={name}:%20{id}%20{", "layers=country&popup=name,map_color", "layers=nothing&popup=name,population",
		"layers=country&color=places.x&popup={population}", "layers=country&popup=,,", "layers=points:nothing&popup=name",
		"layers=places&popup={map_population}",
	} {
		res := f.Get("/embed?" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(query))
		if b := servertest.Body(t, res); res.StatusCode != 200 || b != `<meta name="quadrille-hosts" content="https://a.example https://b.example">` {
			t.Errorf("%s: %d %s", query, res.StatusCode, b)
		}
	}
	for query, want := range map[string]string{
		"layers=country&popup=name,populaton":          "a column populaton: use one of ",
		"layers=country&popup=%7Bpopulation%7D":        "a column population: use one of ",
		"popup=%3Cimg%20src=x%20onerror=alert(1)%3E":   "a column \"<img src=x onerror=alert(1)>\": use one of ",
		"popup=%7B" + strings.Repeat("n", 500) + "%7D": "use one of ",
		"popup=%7B%7Dname":                             "a column {}name: use one of ",
		"popup=%7Ba%0Ab%7D":                            "use one of ",
		"popup=" + strings.Repeat("n", 1001):           "use one of ",
	} {
		p := servertest.WantProblem(t, f.Get("/embed?"+query), 400, "bad-parameter")
		if !strings.Contains(p.Detail, want) || p.Parameter != "popup" || len(p.Detail) > 1500 {
			t.Errorf("%s: %s", query, p.Detail)
		}
	}
	res := f.Get("/embed?popup=nothing", "Accept", "text/html")
	if b := servertest.Body(t, res); res.StatusCode != 400 || !strings.Contains(b, "No layer of this map has a column nothing") ||
		!strings.HasSuffix(res.Header.Get("Content-Security-Policy"), "frame-ancestors *") {
		t.Errorf("%d %v %s", res.StatusCode, res.Header, b)
	}
}

// A page whose files cannot be read must not prevent the start of the service.
type brokenFS struct{}

func (brokenFS) Open(string) (fs.File, error) { return nil, fs.ErrPermission }

// TestHeadOfPages tests that the answer to HEAD of a page has the headers of its GET, without the
// page.
func TestHeadOfPages(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	for path, status := range map[string]int{"/": 200, "/status": 200, "/docs": 200, "/nowhere": 404, "/regions/at?lat=x&lon=1": 400} {
		page := f.Get(path, "Accept", "text/html,*/*;q=0.8")
		if b := servertest.Body(t, page); page.StatusCode != status || !strings.HasPrefix(b, "<!doctype html>") {
			t.Errorf("%s: %d %s", path, page.StatusCode, b)
		}
		head := f.Do(http.MethodHead, path, "Accept", "text/html,*/*;q=0.8")
		if b := servertest.Body(t, head); head.StatusCode != status || b != "" {
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
		f := servertest.New(t, func(c *httpapi.Config) { c.PageFiles = fsys })
		res := f.Get("/")
		if b := servertest.Body(t, res); res.StatusCode != 200 || !strings.Contains(b, "make page build") ||
			res.Header.Get("Cache-Control") != "no-cache" {
			t.Errorf("%T: %d %s", fsys, res.StatusCode, b)
		}
	}
}
