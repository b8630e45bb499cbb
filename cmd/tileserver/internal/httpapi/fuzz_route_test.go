//go:build !race

package httpapi_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"pgregory.net/rapid"

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/servertest"
)

// hostileRoutes returns all routes of the router by method and path, so that none is missed. It
// omits probe routes with methods that the router does not have.
func hostileRoutes(t testing.TB, h http.Handler) []*echo.Route {
	t.Helper()
	e, ok := h.(*echo.Echo)
	if !ok {
		t.Fatalf("the handler is a %T", h)
	}
	routes := slices.DeleteFunc(e.Routes(), func(r *echo.Route) bool { return r.Method == echo.RouteNotFound || r.Method == "CONNECT" })
	slices.SortFunc(routes, func(a, b *echo.Route) int { return strings.Compare(a.Path+" "+a.Method, b.Path+" "+b.Method) })
	if len(routes) < 100 {
		t.Fatalf("only %d routes", len(routes))
	}
	return routes
}

// hostileValues has values that are tried everywhere: in paths, parameters, headers and bodies.
var hostileValues = []string{
	"", "0", "1", "-1", "1e9", "NaN", "+1", "22", "47.4", "180", "1.2.3.4", "::1%25eth0", "country", "state:us-ks", "all",
	"places.json", "2.mvt", "0@2x.png",
	"1,2,3,4", "170,-90,-170,90", "2026-01-02T03:04:05Z", "de", "true", "geojson", "us", "ZRH", "066600-99999",
	"a\r\nX-Evil: 1", "\x00", "\xff\xfe", "<script>alert(1)</script>", "\u2028", "é", "../../etc/passwd", "%2e%2e%2f",
	strings.Repeat("9", 400), strings.Repeat("a,", 300),
	"gzip", "br, zstd;q=0.5", "*;q=0", "identity;q=0", "W/\"x\"", "*", "bytes=0-1", "bytes=-1,2-", "for=1.2.3.4;proto=https",
	"10.0.0.1, x", "evil.example:80", "[::1]:1",
	"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "application/x-ndjson", "multipart/form-data; boundary=x",
	`{"ip":"1.2.3.4","fields":["city"]}`,
}

var hostileParameters = []string{
	"lat", "lon", "lng", "types", "type", "limit", "cursor", "bbox", "tile", "q", "lang", "fields", "format", "geometry", "snap",
	"radius", "country", "class", "code", "at",
	"from", "to", "id", "pinned", "layers", "callback", "date", "style", "key", "username", "bogus", "geonameId", "maxRows", "startRow",
}

var hostileHeaders = []string{
	"Accept", "Accept-Encoding", "If-None-Match", "If-Modified-Since", "Range", "X-Forwarded-For", "X-Forwarded-Host",
	"X-Forwarded-Proto", "Forwarded", "X-Real-Ip",
	"Traceparent", "X-Request-Id", "Content-Encoding", "Content-Type", "Origin", "Authorization", "X-Api-Key", "X-Geo-City",
	"Cookie", "Access-Control-Request-Headers",
}

// statuses lists all documented statuses.
var statuses = []int{200, 204, 304, 400, 401, 402, 404, 405, 406, 408, 410, 413, 415, 422, 429, 503}

// hostileRequest sends one request for a route and checks the rules that apply to every answer.
func hostileRequest(t *rapid.T, h http.Handler, route *echo.Route) {
	value := rapid.OneOf(rapid.SampledFrom(hostileValues), rapid.StringN(0, 12, 40))
	parts := strings.Split(route.Path, "/")
	for i, p := range parts {
		if strings.HasPrefix(p, ":") || p == "*" {
			parts[i] = url.PathEscape(value.Draw(t, "path"))
		}
	}
	query := url.Values{}
	for range rapid.IntRange(0, 4).Draw(t, "parameters") {
		query.Add(rapid.SampledFrom(hostileParameters).Draw(t, "name"), value.Draw(t, "value"))
	}
	target := strings.Join(parts, "/") + "?" + query.Encode()
	u, err := url.ParseRequestURI(target)
	if err != nil {
		t.Skip(err)
	}
	text := ""
	if route.Method == http.MethodPost {
		text = value.Draw(t, "body") + "\n" + value.Draw(t, "body")
	}
	header := http.Header{}
	for range rapid.IntRange(0, 4).Draw(t, "headers") {
		header.Add(rapid.SampledFrom(hostileHeaders).Draw(t, "header"), value.Draw(t, "value"))
	}
	host := rapid.OneOf(rapid.Just("example.com"), value).Draw(t, "host")
	send := func(method string) (*http.Response, string) {
		target := *u
		r := &http.Request{Method: method, URL: &target, Host: host, RemoteAddr: "192.0.2.1:1", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: header.Clone(), Body: io.NopCloser(strings.NewReader(text)), ContentLength: int64(len(text))}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		b, err := io.ReadAll(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		return w.Result(), string(b)
	}
	res, b := send(route.Method)
	if !slices.Contains(statuses, res.StatusCode) {
		t.Fatalf("%s %s: status %d %s", route.Method, u, res.StatusCode, b)
	}
	for name, values := range res.Header {
		for _, v := range values {
			if strings.ContainsAny(v, "\r\n\x00") || strings.EqualFold(name, "X-Evil") {
				t.Fatalf("%s %s: header %s: %q", route.Method, u, name, v)
			}
		}
	}
	if n := res.Header.Get("Content-Length"); n != "" && route.Method != http.MethodHead && res.StatusCode != 304 &&
		n != strconv.Itoa(len(b)) {
		t.Fatalf("%s %s: Content-Length %s of %d bytes", route.Method, u, n, len(b))
	}
	coding := res.Header.Get("Content-Encoding")
	if coding != "" && !strings.Contains(res.Header.Get("Vary"), "Accept-Encoding") {
		t.Fatalf("%s %s: %s without Vary", route.Method, u, coding)
	}
	ct := res.Header.Get("Content-Type")
	documents := []string{b}
	if ct == "application/x-ndjson" { // one on each line, none where the question is blank
		documents = strings.FieldsFunc(b, func(r rune) bool { return r == '\n' })
	}
	for _, d := range documents {
		if coding == "" && len(b) > 0 && strings.HasSuffix(ct, "json") && !json.Valid([]byte(d)) {
			t.Fatalf("%s %s: not JSON: %s", route.Method, u, d)
		}
	}
	if ct == "application/problem+json" && res.Header.Get("X-Content-Type-Options") != "nosniff" {
		t.Fatalf("%s %s: a problem may be sniffed", route.Method, u)
	}
	if route.Method != http.MethodHead {
		return
	}
	if b != "" {
		t.Fatalf("HEAD %s: body %q", u, b)
	}
	full, _ := send(http.MethodGet)
	if full.StatusCode != res.StatusCode || full.Header.Get("Content-Type") != ct {
		t.Fatalf("HEAD %s: %d %s, GET %d %s", u, res.StatusCode, ct, full.StatusCode, full.Header.Get("Content-Type"))
	}
}

// TestHostileRequests sends hostile paths, parameters, headers and bodies to every registered
// route.
func TestHostileRequests(t *testing.T) {
	fix := servertest.New(t, func(c *httpapi.Config) {
		c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix("192.0.2.0/24"))
	}, servertest.DefaultDatasets...)
	for _, h := range []http.Handler{fix.Handler, servertest.NewGlobe(t, nil).Handler} {
		for _, route := range hostileRoutes(t, h) {
			rapid.Check(t, func(rt *rapid.T) { hostileRequest(rt, h, route) })
		}
	}
}

// FuzzRoute does the same as TestHostileRequests, guided by coverage.
func FuzzRoute(f *testing.F) {
	g := servertest.NewGlobe(f, nil)
	routes := hostileRoutes(f, g.Handler)
	f.Fuzz(rapid.MakeFuzz(func(rt *rapid.T) {
		hostileRequest(rt, g.Handler, rapid.SampledFrom(routes).Draw(rt, "route"))
	}))
}
