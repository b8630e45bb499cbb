package web

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"
)

// beneath serves everything beneath a path, for a server that shares its host
// with others. Requests are seen as without it, so what is kept and tagged does
// not depend on it.
type beneath struct {
	s    *Kit
	e    *echo.Echo
	base string // "/maps"
}

func (b *beneath) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	rest, ok := cutBase(r.URL.Path, b.base)
	raw, rawOK := rest, true
	if r.URL.RawPath != "" {
		raw, rawOK = cutBase(r.URL.RawPath, b.base)
	}
	switch {
	case !ok || !rawOK:
		c := b.e.AcquireContext()
		defer b.e.ReleaseContext(c)
		c.Reset(r, w)
		b.e.HTTPErrorHandler(echo.ErrNotFound, c)
	case rest == "":
		target := b.s.RootPath(r) + "/"
		if r.URL.RawQuery != "" {
			target += "?" + r.URL.RawQuery
		}
		w.Header()["Location"] = []string{target}
		w.WriteHeader(http.StatusPermanentRedirect)
	default:
		// The address of a request is nobody else's, so no copy of it is needed.
		if r.URL.Path = rest; r.URL.RawPath != "" {
			r.URL.RawPath = raw
		}
		b.e.ServeHTTP(w, r)
	}
}

// cutBase removes the base from a path. What is left is empty or begins with a
// slash.
func cutBase(path, base string) (string, bool) {
	rest, ok := strings.CutPrefix(path, base)
	return rest, ok && (rest == "" || rest[0] == '/')
}

// ValidBasePath reports whether p can be a base path: "", or segments of letters,
// digits and -._~, each after a slash.
func ValidBasePath(p string) bool {
	if p == "" {
		return true
	}
	if p[0] != '/' || len(p) > 256 {
		return false
	}
	for segment := range strings.SplitSeq(p[1:], "/") {
		if segment == "" || segment == "." || segment == ".." || url.PathEscape(segment) != segment || strings.ContainsAny(segment, "$&+=:@") {
			return false
		}
	}
	return true
}

// RootPath is the path under which the client reached the server, without a final slash.
func (s *Kit) RootPath(r *http.Request) string { return s.forwardedPrefix(r) + s.basePath }

// forwardedPrefix is the path that trusted proxies have removed before they handed a
// request on. RFC 7239 has none.
func (s *Kit) forwardedPrefix(r *http.Request) string {
	prefix := strings.TrimRight(s.told(r, "prefix"), "/")
	if !ValidBasePath(prefix) {
		return ""
	}
	return prefix
}
