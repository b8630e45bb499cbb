package httpapi_test

import (
	"net/http"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/servertest"
)

// Every coding of an answer has its own strong ETag, and Vary names the headers that the answer
// depends on.
func TestCodings(t *testing.T) {
	g := servertest.NewGlobe(t, nil)
	for _, path := range []string{"/places/search?q=zur", "/places/within?bbox=-180,-90,180,90&limit=100"} {
		seen := map[string]string{}
		plain := servertest.Body(t, g.Get(path))
		for _, accept := range []string{"", "gzip", "zstd", "br"} {
			res := g.Get(path, "Accept-Encoding", accept)
			b := servertest.Body(t, res)
			encoding, etag := res.Header.Get("Content-Encoding"), res.Header.Get("Etag")
			if servertest.Unpack(t, encoding, b) != plain {
				t.Errorf("%s as %q: other bytes", path, accept)
			}
			if len(plain) >= 1<<10 && (encoding != accept || !strings.Contains(res.Header.Get("Vary"), "Accept-Encoding")) {
				t.Errorf("%s as %q: %v", path, accept, res.Header)
			}
			if was, ok := seen[etag]; ok || strings.HasPrefix(etag, "W/") {
				t.Errorf("%s: tag %s of %q is that of %q", path, etag, accept, was)
			}
			seen[etag] = accept
			if res := g.Get(path, "Accept-Encoding", accept, "If-None-Match", etag); res.StatusCode != http.StatusNotModified {
				t.Errorf("%s as %q: %d for its own tag", path, accept, res.StatusCode)
			}
		}
	}
}
