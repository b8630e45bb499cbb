package httpapi_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
)

var (
	linkIn = regexp.MustCompile(`(?:href|src)="([^"]*)"`)
	idIn   = regexp.MustCompile(` id="([^"]*)"`)
)

// Every document can be reached from the description of the interface, and every link in the pages
// has a target, even behind a proxy that serves the server below a path.
func TestGuide(t *testing.T) {
	for _, base := range []string{"", "/maps"} {
		f := servertest.New(t, func(c *httpapi.Config) { c.BasePath = base })
		pages, asked := map[string]string{}, map[string]string{} // by address, and who links there
		todo := []string{base + "/docs"}
		for len(todo) > 0 {
			at := todo[0]
			todo = todo[1:]
			res := f.Get(at)
			pages[at] = servertest.Body(t, res)
			if res.StatusCode != http.StatusOK {
				t.Errorf("%s, a link of %s: %d", at, asked[at], res.StatusCode)
			}
			if !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") || at != base+"/docs" && !strings.HasPrefix(at, base+"/docs/") {
				continue
			}
			for _, no := range []string{"<script", ` style="`, "javascript:"} {
				if strings.Contains(pages[at], no) {
					t.Errorf("%s has %q", at, no)
				}
			}
			from, err := url.Parse("http://example.org" + at)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range linkIn.FindAllStringSubmatch(pages[at], -1) {
				to, err := from.Parse(strings.ReplaceAll(m[1], "&amp;", "&"))
				if err != nil {
					t.Errorf("%s: %v", at, err)
					continue
				}
				if to.Host != "example.org" || to.RawQuery != "" || at == base+"/docs" && !strings.HasPrefix(to.Path, base+"/docs") {
					continue // examples of the interface have tests of their own
				}
				if _, known := asked[to.Path]; !known && to.Path != base+"/docs" {
					asked[to.Path] = at
					todo = append(todo, to.Path)
				}
			}
		}
		documents := 0
		for at, page := range pages {
			if !strings.HasPrefix(at, base+"/docs/") || strings.HasSuffix(at, ".png") {
				continue
			}
			documents++
			from, _ := url.Parse("http://example.org" + at)
			for _, m := range linkIn.FindAllStringSubmatch(page, -1) {
				to, err := from.Parse(m[1])
				if err != nil || to.Fragment == "" || to.Host != "example.org" {
					continue
				}
				found := false
				for _, id := range idIn.FindAllStringSubmatch(pages[to.Path], -1) {
					found = found || id[1] == to.Fragment
				}
				if !found {
					t.Errorf("%s: there is no %s", at, m[1])
				}
			}
			if !strings.Contains(page, `href="../docs"`) {
				t.Errorf("%s has no link to the interface", at)
			}
			got, head := f.Get(at), f.Do(http.MethodHead, at)
			text := servertest.Body(t, head)
			policy := got.Header.Get("Content-Security-Policy")
			if head.StatusCode != http.StatusOK || text != "" || head.Header.Get("Content-Length") != got.Header.Get("Content-Length") ||
				!strings.Contains(policy, "default-src 'none'") || got.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: HEAD %d %v, GET %v", at, head.StatusCode, head.Header, got.Header)
			}
			if res := f.Do(http.MethodGet, at, "If-None-Match", got.Header.Get("Etag")); res.StatusCode != http.StatusNotModified {
				t.Errorf("%s again: %d", at, res.StatusCode)
			}
		}
		if documents < 3 {
			t.Errorf("only %d documents can be reached from /docs", documents)
		}
		for _, path := range []string{"/docs/", "/docs/none", "/docs/docs.go", "/docs/points.md", "/docs/decisions",
			"/docs/decisions/store", "/docs/..%2Fgo.mod", "/docs/%2e%2e%2fgo.mod", "/docs/../go.mod",
			"/docs/..", "/docs/.", "/docs/%00", "/docs/points%00", "/docs//points", "/docs/points/", "/docs/C:%5Cx", "/docs/POINTS",
			"/docs/" + strings.Repeat("a", 5000)} {
			if res := f.Get(base + path); res.StatusCode != http.StatusNotFound && res.StatusCode != http.StatusBadRequest {
				t.Errorf("%s: %d", path, res.StatusCode)
			}
		}
	}
}
