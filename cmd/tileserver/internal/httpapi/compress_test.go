package httpapi

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// unpacked is a body without its content coding.
func unpacked(t testing.TB, encoding, body string) string {
	t.Helper()
	var r io.Reader = strings.NewReader(body)
	var err error
	switch encoding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "br":
		r = brotli.NewReader(r)
	case "zstd":
		r, err = zstd.NewReader(r)
	case "":
	default:
		t.Fatalf("coding %q", encoding)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// Every answer has another strong tag in every coding, and says what it varies
// with.
func TestCodings(t *testing.T) {
	g := newGlobe(t, nil)
	for _, path := range []string{"/places/search?q=zur", "/places/within?bbox=-180,-90,180,90&limit=100"} {
		seen := map[string]string{}
		plain := body(t, g.get(path))
		for _, accept := range []string{"", "gzip", "zstd", "br"} {
			res := g.get(path, "Accept-Encoding", accept)
			b := body(t, res)
			encoding, etag := res.Header.Get("Content-Encoding"), res.Header.Get("Etag")
			if unpacked(t, encoding, b) != plain {
				t.Errorf("%s as %q: other bytes", path, accept)
			}
			if len(plain) >= 1<<10 && (encoding != accept || !strings.Contains(res.Header.Get("Vary"), "Accept-Encoding")) {
				t.Errorf("%s as %q: %v", path, accept, res.Header)
			}
			if was, ok := seen[etag]; ok || strings.HasPrefix(etag, "W/") {
				t.Errorf("%s: tag %s of %q is that of %q", path, etag, accept, was)
			}
			seen[etag] = accept
			if res := g.get(path, "Accept-Encoding", accept, "If-None-Match", etag); res.StatusCode != http.StatusNotModified {
				t.Errorf("%s as %q: %d for its own tag", path, accept, res.StatusCode)
			}
		}
	}
}
