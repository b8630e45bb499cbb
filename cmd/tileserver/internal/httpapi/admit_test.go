package httpapi_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"quadrille/ask"
	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/ops"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/servertest"
	"quadrille/internal/testrace"
)

func TestKeyNeeded(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	f := servertest.New(t, servertest.NewGuarded(t, false, quota.Limits{}), servertest.DefaultDatasets...)
	const path = "/regions/at?lat=1&lon=2"
	for name, headers := range map[string][]string{
		"none":          nil,
		"empty":         {"X-API-Key", ""},
		"another":       {"Authorization", "Digest " + servertest.TestKey},
		"empty bearer":  {"Authorization", "Bearer "},
		"forged client": {"X-Forwarded-For", "127.0.0.1"},
	} {
		res := f.Get(path, headers...)
		servertest.WantProblem(t, res, http.StatusUnauthorized, "key-missing")
		if !strings.HasPrefix(res.Header.Get("WWW-Authenticate"), "Bearer ") {
			t.Errorf("%s: WWW-Authenticate is %q", name, res.Header.Get("WWW-Authenticate"))
		}
	}
	basic := httptest.NewRequest(http.MethodGet, "/", nil)
	basic.SetBasicAuth("42", servertest.TestKey)
	for name, headers := range map[string][]string{
		"header": {"X-API-Key", servertest.TestKey},
		"bearer": {"Authorization", "bearer " + servertest.TestKey},
		"basic":  {"Authorization", basic.Header.Get("Authorization")},
	} {
		if res := f.Get(path, headers...); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", name, res.StatusCode, servertest.Body(t, res))
		}
		headers[1] += "x"
		if strings.HasPrefix(headers[1], "Basic") {
			continue
		}
		servertest.WantProblem(t, f.Get(path, headers...), http.StatusUnauthorized, "key-unknown")
	}
	for _, p := range []string{"/healthz", "/readyz", "/status", "/metrics", "/openapi.json", "/docs", "/docs.css", "/embed", "/"} {
		if res := f.Get(p); res.StatusCode != http.StatusOK {
			t.Errorf("%s without a key: %d", p, res.StatusCode)
		}
	}
	got := f.Scrape()
	if a, b := got["quadrille_http_refused_total{reason=no_key}"], got["quadrille_http_refused_total{reason=wrong_key}"]; a != 5 || b != 2 {
		t.Errorf("counted %v without and %v with a wrong key", a, b)
	}
}

// A key in the request's address appears in the addresses of the answer, but neither in its ETag
// nor in the log. Shared caches do not store the answer.
func TestKeyInAddress(t *testing.T) {
	var log strings.Builder
	f := servertest.New(t, func(c *httpapi.Config) {
		servertest.NewGuarded(t, false, quota.Limits{})(c)
		c.AccessLog = slog.New(slog.NewTextHandler(&log, nil))
	}, servertest.DefaultDatasets...)
	for _, path := range []string{"/tiles/country/3/1/2.mvt", "/tiles/country.json", "/regions/at?lat=1&lon=2", "/ip/1.2.3.4"} {
		join := "?"
		if strings.Contains(path, "?") {
			join = "&"
		}
		a, b := f.Get(path, "X-API-Key", servertest.TestKey), f.Get(path+join+"key="+url.QueryEscape(servertest.TestKey))
		if a.StatusCode/100 != 2 || a.StatusCode != b.StatusCode || a.Header.Get("Etag") != b.Header.Get("Etag") {
			t.Errorf("%s: %d %s by header, %d %s by address", path, a.StatusCode, a.Header.Get("Etag"), b.StatusCode, b.Header.Get("Etag"))
		}
		if cc := b.Header.Get("Cache-Control"); strings.Contains(cc, "public") {
			t.Errorf("%s: Cache-Control is %s", path, cc)
		}
		// Only documents for clients that cannot set headers contain the key.
		if text := servertest.Body(t, b); strings.Contains(text, servertest.TestKey) != strings.HasSuffix(path, ".json") ||
			strings.Contains(servertest.Body(t, a), servertest.TestKey) {
			t.Errorf("%s: the key in the answer: %s", path, text)
		}
	}
	f.Get("/?key=" + servertest.TestKey)
	f.Get("/regions/at?lat=1&lon=2&key=" + servertest.TestKey + "x")
	f.Get("/nowhere?username=" + servertest.TestKey)
	f.Get("/regions/at?lat=1&lon=2&k%65y=" + servertest.TestKey)
	names := []string{"KEY", "access_token", "apikey", "api-key", "subscription-key", "Ocp-Apim-Subscription-Key", "token", "jwt",
		"client_secret", "X-Amz-Signature", "password", "%zz"}
	for _, name := range names {
		f.Get("/regions/at?lat=1&lon=2&" + name + "=" + servertest.TestKey)
		f.Get("/regions/at?lat=1;" + name + "=" + servertest.TestKey + ";lon=2")
		f.Get("/nowhere?" + name + "=" + servertest.TestKey + "&quadkey=0123&monkey=")
	}
	if strings.Count(log.String(), "quadkey=0123&monkey=") != len(names) {
		t.Errorf("the log hides what is no secret:\n%s", log.String())
	}
	if strings.Contains(log.String(), servertest.TestKey) {
		t.Errorf("the log holds a key:\n%s", log.String())
	}
	if strings.Count(log.String(), "key=acme") != 8 {
		t.Errorf("the log does not name the client:\n%s", log.String())
	}
}

var ownAddress = regexp.MustCompile(`"http://example\.com(/[^"]*)"`)

// A client that cannot set headers follows the addresses in documents. Therefore all these
// addresses contain the key, wherever they lead. Otherwise the documents do not change.
func TestKeyInLinks(t *testing.T) {
	testrace.SkipUnderRace(t, "one request after the other, which TestEverythingAtOnce sends at once")
	f := servertest.New(t, servertest.NewGuarded(t, true, quota.Limits{1}), servertest.DefaultDatasets...)
	with := "key=" + url.QueryEscape(servertest.TestKey)
	seen, queue := map[string]bool{}, []string{"/style.json", "/style.json?encoding=mlt", "/tiles/country.png.json?theme=dark",
		"/tiles/country.mlt.json?pinned=true", "/ogc", "/ogc?f=html"}
	for ; len(queue) > 0; queue = queue[1:] {
		path, _, _ := strings.Cut(queue[0], "#")
		path = strings.NewReplacer("{z}", "0", "{x}", "0", "{y}", "0", "{tileMatrix}", "0", "{tileRow}", "0", "{tileCol}", "0",
			`\u0026`, "&", "&amp;", "&").Replace(path)
		bare := strings.TrimRight(strings.Replace(path, with, "", 1), "?&")
		if seen[bare] || strings.Contains(path, "{") {
			continue
		}
		seen[bare] = true
		if path == bare {
			if len(seen) > 6 {
				t.Errorf("%s has no key", path)
			}
			path += map[bool]string{false: "?", true: "&"}[strings.Contains(path, "?")] + with
		}
		keyed, header := f.Get(path), f.Get(bare, "X-API-Key", servertest.TestKey)
		if keyed.StatusCode != header.StatusCode || keyed.StatusCode == http.StatusUnauthorized ||
			keyed.StatusCode == http.StatusTooManyRequests {
			t.Errorf("%s: %d, by header %d", path, keyed.StatusCode, header.StatusCode)
		}
		if !strings.Contains(keyed.Header.Get("Content-Type"), "json") && !strings.Contains(keyed.Header.Get("Content-Type"), "html") {
			continue
		}
		text := servertest.Body(t, keyed)
		if lines := strings.Contains(keyed.Header.Get("Content-Type"),
			"ndjson"); !lines && !strings.Contains(keyed.Header.Get("Content-Type"), "html") && keyed.StatusCode == 200 &&
			!json.Valid([]byte(text)) {
			t.Errorf("%s is no JSON: %s", path, text)
		}
		if strings.HasPrefix(path, "/ogc/api") {
			continue // the address of the server is none to follow
		}
		links := ownAddress.FindAllStringSubmatch(text, -1)
		if cc := keyed.Header.Get("Cache-Control"); len(links) > 0 && strings.Contains(cc, "public") {
			t.Errorf("%s: %s", path, cc)
		}
		if tag := keyed.Header.Get("Etag"); tag != "" && len(links) > 0 {
			if again := f.Get(path, "If-None-Match", tag); again.StatusCode != 304 || strings.Contains(again.Header.Get("Cache-Control"), "public") {
				t.Errorf("%s again: %d %s", path, again.StatusCode, again.Header.Get("Cache-Control"))
			}
		}
		if strings.Contains(servertest.Body(t, header), servertest.TestKey) {
			t.Errorf("%s holds a key of a header", bare)
		}
		for _, link := range links {
			queue = append(queue, link[1])
		}
	}
	for _, path := range []string{"/places/within?bbox=-180,-90,180,90&limit=1&format=csv",
		"/regions/within?bbox=-180,-90,180,90&limit=1&format=ndjson", "/ogc/collections/places/items?limit=1&f=csv"} {
		keyed, header := f.Get(path+"&"+with), f.Get(path, "X-API-Key", servertest.TestKey)
		if link, cc := keyed.Header.Get("Link"), keyed.Header.Get("Cache-Control"); !strings.Contains(link, with) ||
			strings.Contains(cc, "public") {
			t.Errorf("%s: Link %q, %s", path, link, cc)
		}
		if again := f.Get(path+"&"+with, "If-None-Match", keyed.Header.Get("Etag")); again.StatusCode != 304 ||
			strings.Contains(again.Header.Get("Cache-Control"), "public") {
			t.Errorf("%s again: %d %s", path, again.StatusCode, again.Header.Get("Cache-Control"))
		}
		if link := header.Header.Get("Link"); link == "" || strings.Contains(link, servertest.TestKey) {
			t.Errorf("%s: Link %q", path, link)
		}
	}
	if len(seen) < 40 {
		t.Errorf("followed %d addresses alone", len(seen))
	}
}

func TestLimits(t *testing.T) {
	f := servertest.New(t, servertest.NewGuarded(t, true, quota.Limits{2}, quota.Limit{Requests: 3}), servertest.DefaultDatasets...)
	const path = "/regions/at?lat=1&lon=2"
	ask := func(n int, headers ...string) *http.Response {
		for i := range n {
			res := f.Get(path, headers...)
			if want := fmt.Sprint(n - 1 - i); res.StatusCode != http.StatusOK || res.Header.Get("RateLimit-Remaining") != want ||
				res.Header.Get("RateLimit-Limit") != fmt.Sprint(n) {
				t.Fatalf("request %d: %d, %v", i, res.StatusCode, res.Header)
			}
		}
		return f.Get(path, headers...)
	}
	for _, headers := range [][]string{nil, {"X-API-Key", servertest.TestKey}} {
		res := ask(2+len(headers)/2, headers...)
		if res.Header.Get("Retry-After") != "30" || res.Header.Get("RateLimit-Reset") != "30" || res.Header.Get("RateLimit-Remaining") != "0" {
			t.Errorf("headers: %v", res.Header)
		}
		if p := servertest.WantProblem(t, res, http.StatusTooManyRequests, "rate-limited"); !strings.Contains(p.Detail, "30 seconds") {
			t.Errorf("detail: %s", p.Detail)
		}
	}
	// Imitated services return the error in their own format.
	if text := servertest.Body(t,
		f.Get("/timezoneJSON?lat=1&lng=2&callback=f&username="+servertest.TestKey)); !strings.HasPrefix(text, "/**/f(") ||
		!strings.Contains(text, `"value":19`) {
		t.Errorf("GeoNames: %s", text)
	}
	basic := httptest.NewRequest(http.MethodGet, "/", nil)
	basic.SetBasicAuth("42", servertest.TestKey)
	res := f.Get("/geoip/v2.1/country/1.2.3.4", "Authorization", basic.Header.Get("Authorization"))
	if text := servertest.Body(t, res); res.StatusCode != http.StatusPaymentRequired || !strings.Contains(text, "OUT_OF_QUERIES") {
		t.Errorf("GeoIP2: %d %s", res.StatusCode, text)
	}
	var doc ops.Usage
	if err := json.Unmarshal([]byte(servertest.Body(t, f.Get("/usage", "X-API-Key", servertest.TestKey))), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Name != "acme" || len(doc.Limits) != 1 ||
		doc.Limits[0] != (ops.UsageLimit{Requests: 3, Window: 60, Remaining: 0, Reset: 30}) || len(doc.Hours) != 1 ||
		doc.Hours[0].Requests != 3 || doc.Hours[0].Refused != 3 {
		t.Errorf("usage: %+v", doc)
	}
	servertest.WantProblem(t, f.Get("/usage"), http.StatusUnauthorized, "key-missing")
	servertest.WantProblem(t, f.Get("/usage?key=x"), http.StatusUnauthorized, "key-unknown")
}

// Each line of a batch counts as a request.
func TestBatchIsCharged(t *testing.T) {
	for _, headers := range [][]string{{"X-API-Key", servertest.TestKey}, nil} {
		f := servertest.New(t, servertest.NewGuarded(t, true, quota.Limits{5}, quota.Limit{Requests: 5}), servertest.DefaultDatasets...)
		res := f.Post("/ip/batch", strings.NewReader("1.2.3.4\n1.2.3.5\n1.2.3.6\n1.2.3.7\n1.2.3.8\n1.2.3.9\n"), headers...)
		if text := servertest.Body(t, res); res.StatusCode != http.StatusOK || strings.Count(text, "\n") != 6 {
			t.Fatalf("%d %s", res.StatusCode, text)
		}
		servertest.WantProblem(t, f.Post("/ip/batch", strings.NewReader("1.2.3.4\n"), headers...), http.StatusTooManyRequests, "rate-limited")
	}
}

func TestAccessLogSampling(t *testing.T) {
	var log strings.Builder
	f := servertest.New(t, func(c *httpapi.Config) {
		c.AccessLog = slog.New(slog.NewTextHandler(&log, nil))
		c.AccessLogSample = 10
	}, ask.Places.Name)
	for range 100 {
		f.Get("/healthz")
	}
	if n := strings.Count(log.String(), "stands_for=10"); n != 10 {
		t.Errorf("%d of 100 requests were logged:\n%s", n, log.String())
	}
}

// The log and the answer have the same id of a refused request. Pages of other origins can read
// Retry-After.
func TestRefusalIsNamed(t *testing.T) {
	var log strings.Builder
	f := servertest.New(t, func(c *httpapi.Config) {
		servertest.NewGuarded(t, false, quota.Limits{})(c)
		c.AccessLog = slog.New(slog.NewTextHandler(&log, nil))
	}, servertest.DefaultDatasets...)
	res := f.Get("/ip/1.2.3.4", "Origin", "https://example.org")
	servertest.WantProblem(t, res, http.StatusUnauthorized, "key-missing")
	if id := res.Header.Get("X-Request-Id"); id == "" || strings.Count(log.String(), "request_id="+id) != 1 {
		t.Errorf("the answer is named %q, and the log has\n%s", id, log.String())
	}
	if h := res.Header.Get("Access-Control-Expose-Headers"); h != "*" {
		t.Errorf("pages may read %q", h)
	}
}

// No request can insert a line into the log.
func TestLogInjection(t *testing.T) {
	for _, handler := range []string{"text", "json"} {
		var log strings.Builder
		f := servertest.New(t, func(c *httpapi.Config) {
			c.AccessLog = slog.New(slog.NewTextHandler(&log, nil))
			if handler == "json" {
				c.AccessLog = slog.New(slog.NewJSONHandler(&log, nil))
			}
		}, servertest.DefaultDatasets...)
		f.Get("/places/x%0Alevel=ERROR%20msg=forged?q=%0d%0a%7f", "X-Request-Id", "a\nb")
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%s: one request made %d lines:\n%s", handler, n, log.String())
		}
	}
}
