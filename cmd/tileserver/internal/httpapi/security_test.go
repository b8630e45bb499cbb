//go:build !race

package httpapi_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/ipgeo"
)

// A header that a client has forged is never returned, whatever its name or spelling, because a
// proxy could copy it into the request that it forwards.
func TestForgedGeoHeaders(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	const forged = "forged-by-the-client"
	for _, ip := range []string{servertest.CityIP, servertest.GapIP, "10.1.2.3"} {
		for _, path := range []string{"/ip/headers", "/ip/headers/x", "/ip/me", "/ip/" + ip} {
			r := httptest.NewRequest(http.MethodGet, path, nil)
			r.RemoteAddr = ip + ":1"
			for _, name := range []string{"X-Geo-City", "X-Geo-Country", "X-Geo-Ip", "X-Geo-Status", "X-Geo-Database", "X-Geo-Other",
				"x-geo-asn", "X_Geo_City"} {
				r.Header[name] = []string{forged, forged}
			}
			w := httptest.NewRecorder()
			f.Handler.ServeHTTP(w, r)
			for name, values := range w.Result().Header {
				if len(values) != 1 || strings.Contains(values[0], forged) || name == "X-Geo-Other" || name == "X_Geo_City" {
					t.Errorf("%s of %s: %s: %q", path, ip, name, values)
				}
			}
			if strings.Contains(w.Body.String(), forged) {
				t.Errorf("%s of %s: %s", path, ip, w.Body)
			}
		}
	}
}

// Whatever names the data has, a header stays one line of ASCII. The test examines it on the wire,
// after net/http.
func TestHeadersOfHostileNames(t *testing.T) {
	const evil = "Zürich\r\nX-Evil: 1\r\n\r\n<script>\u2028\x00\x7f%0d%0a"
	record := ipgeo.Record{
		City:         ipgeo.City{Names: ipgeo.Names{"en": evil}},
		Country:      ipgeo.Country{ISOCode: "CH"}, // others are refused when the data is built
		Subdivisions: []ipgeo.Subdivision{{ISOCode: "Z\nX-Evil: 1"}},
		Location:     ipgeo.Location{TimeZone: "Europe/Zürich\r\nX-Evil: 1"},
	}
	f := servertest.NewAddresses(t, func(c *httpapi.Config) {
		c.TrustedProxies = append(c.TrustedProxies, netip.MustParsePrefix("127.0.0.0/8"))
	})
	servertest.PublishIP(t, f.Catalog, false, servertest.IPRange("81.2.69.0/24", record))
	if err := f.Config.Addresses.Poll(t.Context()); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(f.Handler)
	defer server.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/ip/headers", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-Forwarded-For", servertest.CityIP)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if got, want := res.Header.Get("X-Geo-City"), "Z%C3%BCrich%0D%0AX-Evil: 1%0D%0A%0D%0A<script>%E2%80%A8%00%7F%250d%250a"; got != want {
		t.Errorf("X-Geo-City %q, want %q", got, want)
	}
	if got := res.Header.Get("X-Geo-Subdivision"); got != "Z%0AX-Evil: 1" {
		t.Errorf("X-Geo-Subdivision %q", got)
	}
	for name, values := range res.Header {
		for _, v := range values {
			if name == "X-Evil" || strings.IndexFunc(v, func(r rune) bool { return r < 0x20 || r >= 0x7f }) >= 0 {
				t.Errorf("%s: %q", name, v)
			}
		}
	}
	if b, err := io.ReadAll(res.Body); err != nil || len(b) != 0 {
		t.Errorf("body %q, %v", b, err)
	}
}

// An error document repeats text of a client. No browser may interpret this text as a page, or run
// it.
func TestProblemsAreNoPages(t *testing.T) {
	f := servertest.New(t, nil, servertest.DefaultDatasets...)
	const markup = "%3Cscript%3Ealert(1)%3C%2Fscript%3E%26%E2%80%A8%E2%80%A9%22%0A"
	for _, path := range []string{
		"/nowhere/" + markup, "/ip/" + markup, "/places/" + markup, "/regions/" + markup + "/" + markup,
		"/tiles/" + markup + "/1/0/0.mvt", "/tiles/" + markup + ".json",
		"/places/nearby?lat=" + markup + "&lon=1", "/places/nearby?" + markup + "=1", "/places/search?q=x&lang=" + markup,
		"/airports/" + markup, "/ip/1.2.3.4?fields=" + markup,
	} {
		page := f.Get(path, "Accept", "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8")
		if b := servertest.Body(t,
			page); page.StatusCode < 400 || !strings.HasPrefix(page.Header.Get("Content-Type"), "text/html") ||
			page.Header.Get("Vary") != "Accept" ||
			!strings.Contains(page.Header.Get("Content-Security-Policy"), "default-src 'none'") || page.Header.Get("Cache-Control") != "no-store" ||
			strings.Contains(b, "<script") || strings.Contains(b, "alert(1)<") || !strings.Contains(b, "<h1>") {
			t.Errorf("%s: %d %v %s", path, page.StatusCode, page.Header, b)
		}
		for _, accept := range []string{"*/*", "application/json", "text/html;q=0.5, application/json", "text/html;q=0", "text/*"} {
			res := f.Get(path, "Accept", accept)
			b := servertest.Body(t, res)
			if res.StatusCode < 400 || res.Header.Get("Content-Type") != "application/problem+json" ||
				res.Header.Get("X-Content-Type-Options") != "nosniff" {
				t.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
			}
			if strings.ContainsAny(b, "<>&\u2028\u2029\n") || !json.Valid([]byte(b)) {
				t.Errorf("%s: %s", path, b)
			}
		}
	}
	// This endpoint repeats text of the client.
	s := httpapi.Compose(&httpapi.Config{}, httpapi.Faces())
	w := httptest.NewRecorder()
	s.Fail(endpoint.Refuse(endpoint.ErrParameter, "<a>&\u2028", "</script>\u2029"),
		echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/", nil), w))
	if b := w.Body.String(); strings.ContainsAny(b, "<>&\u2028\u2029") || !strings.Contains(b, `\u003c/script\u003e\u2029`) ||
		w.Header().Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("%v %s", w.Header(), b)
	}
}

// Bodies in a coding that is not offered are not unpacked at all, however many headers name the
// coding.
func TestBatchCodingsNotOffered(t *testing.T) {
	f := servertest.NewAddresses(t, nil)
	gz := servertest.Gzip(t, servertest.CityIP+"\n")
	var zs bytes.Buffer
	z, err := zstd.NewWriter(&zs)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write(bytes.Repeat([]byte(servertest.CityIP+"\n"), 1<<16)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		body   []byte
		coding []string
	}{
		{zs.Bytes(), []string{"zstd"}}, {[]byte("x"), []string{"br"}}, {gz, []string{"deflate"}}, {gz, []string{"gzip", "br"}}, {gz,
			[]string{"br", "gzip"}},
		{gz, []string{"gzip", "gzip"}}, {gz, []string{"gzip, zstd"}}, {gz, []string{"gzip;q=1"}},
	} {
		r := httptest.NewRequest(http.MethodPost, "/ip/batch", bytes.NewReader(c.body))
		r.Header["Content-Encoding"] = c.coding
		w := httptest.NewRecorder()
		f.Handler.ServeHTTP(w, r)
		servertest.WantProblem(t, w.Result(), http.StatusUnsupportedMediaType, "unsupported-coding")
	}
}

// Shared caches do not store a caller's remaining limit. Tiles for shared caches are stored there,
// without these headers.
func TestLimitsAreNotShared(t *testing.T) {
	f := servertest.New(t, servertest.NewGuarded(t, true, quota.Limits{1000}, quota.Limit{Requests: 1000}), servertest.DefaultDatasets...)
	var doc struct{ Tiles []string }
	if err := json.Unmarshal([]byte(servertest.Body(t, f.Get("/tiles/country.json?pinned=true"))), &doc); err != nil || len(doc.Tiles) != 1 {
		t.Fatal(doc, err)
	}
	_, pinned, _ := strings.Cut(doc.Tiles[0], "/g/")
	pinned = "/g/" + strings.NewReplacer("{z}", "3", "{x}", "4", "{y}", "2").Replace(pinned)
	for _, headers := range [][]string{nil, {"X-API-Key", servertest.TestKey}} {
		for _, path := range []string{
			"/tiles/country/3/4/2.mvt", "/tiles/country.json", "/regions/at?lat=1&lon=2", "/ip/1.2.3.4", "/ip/1.2.3.4", "/ip/1.2.3.4",
			"/ip/me", "/places/search?q=a",
			"/places/nearby?lat=1&lon=2", "/timezoneJSON?lat=1&lng=2", "/geoip/v2.1/country/1.2.3.4", "/style.json", "/ip/headers",
			"/nowhere", "/places/x", pinned,
		} {
			res := f.Get(path, headers...)
			again := f.Get(path, append([]string{"If-None-Match", res.Header.Get("Etag")}, headers...)...)
			for _, res := range []*http.Response{res, again} {
				cache, hasLimit := res.Header.Get("Cache-Control"), res.Header.Get("RateLimit-Remaining") != ""
				if kept := !strings.Contains(cache, "private") && !strings.Contains(cache, "no-store"); kept && hasLimit ||
					path == pinned && hasLimit == kept {
					t.Errorf("%s %v: %d, Cache-Control %s, told what is left: %v", path, headers, res.StatusCode, cache, hasLimit)
				}
			}
			if path == pinned && (res.StatusCode/100 != 2 || !strings.Contains(res.Header.Get("Cache-Control"), "public")) {
				t.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
			}
		}
	}
	// Without limits the header does not change.
	f = servertest.New(t, servertest.NewGuarded(t, true, quota.Limits{}), servertest.DefaultDatasets...)
	if res := f.Get("/regions/at?lat=1&lon=2"); res.Header.Get("Cache-Control") != "public, max-age=300" {
		t.Errorf("without limits: %v", res.Header)
	}
}
