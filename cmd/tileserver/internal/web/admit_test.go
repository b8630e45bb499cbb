package web

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/quota"
)

// TestAdmission tests that a key is accepted wherever the client sends it, and each key has a
// limit. A request with a wrong key counts against the limit of its IP address.
func TestAdmission(t *testing.T) {
	keys, err := quota.ReadKeys(strings.NewReader(quota.FormatLine("a", quota.HashOf("secret"),
		[]quota.Limit{{Requests: 2, Window: quota.Hour}})))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name, query, header, value string
		rule                       endpoint.KeyRule
		anonymous                  bool
		want                       string // statuses of three requests
	}{
		{"header", "", "X-Api-Key", "secret", endpoint.KeysRequired, false, "200 200 429"},
		{"bearer", "", "Authorization", "bearer secret", endpoint.KeysRequired, false, "200 200 429"},
		{"password", "", "Authorization", "Basic eDpzZWNyZXQ=", endpoint.KeysRequired, false, "200 200 429"},
		{"parameter", "?key=secret", "", "", endpoint.KeysRequired, false, "200 200 429"},
		{"header before parameter", "?key=secret", "X-Api-Key", "wrong", endpoint.KeysRequired, false, "401 401 401"},
		{"name of GeoNames", "?username=secret", "", "", endpoint.KeysByUsername, false, "200 200 429"},
		{"another name of GeoNames", "?username=demo", "", "", endpoint.KeysByUsername, true, "200 200 200"},
		{"parameter behind a proxy", "?key=secret", "", "", endpoint.KeysOfProxy, false, "401 401 401"},
		{"none", "", "", "", endpoint.KeysRequired, false, "401 401 401"},
		{"none, which may pass", "", "", "", endpoint.KeysRequired, true, "200 200 200"},
		{"wrong", "", "X-Api-Key", "wrong", endpoint.KeysRequired, true, "401 401 401"},
		{"keys of others", "", "X-Api-Key", "wrong", endpoint.KeysOfOthers, false, "200 200 200"},
		{"not asked", "", "", "", endpoint.KeysIgnored, false, "200 200 200"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			meter, err := quota.Open(t.Context(), quota.Options{Now: func() time.Time { return time.Date(2026, 3, 1, 12, 0, 30, 0, time.UTC) }})
			if err != nil {
				t.Fatal(err)
			}
			s := New(&Config{Guard: &Guard{Meter: meter, Keys: func() *quota.Keys { return keys }, Anonymous: tt.anonymous}})
			handle := func(c echo.Context, _ *endpoint.Params) error { return c.NoContent(http.StatusOK) }
			h := s.Handler([]endpoint.Endpoint{{Path: "/", Cost: endpoint.Light, Keys: tt.rule, IgnoresOthers: true, Handle: handle}})
			var got []string
			for range 3 {
				r, w := httptest.NewRequest(http.MethodGet, "/"+tt.query, nil), httptest.NewRecorder()
				if tt.header != "" {
					r.Header.Set(tt.header, tt.value)
				}
				h.ServeHTTP(w, r)
				got = append(got, fmt.Sprint(w.Code))
				left := w.Header().Get("Ratelimit-Remaining")
				if last := len(got) == 2 && left != ""; (left == "0") != (last || w.Code == http.StatusTooManyRequests) {
					t.Errorf("%d with %q left", w.Code, left)
				}
				if again := w.Header().Get("Retry-After"); (again != "") != (w.Code == http.StatusTooManyRequests) {
					t.Errorf("%d with Retry-After %q", w.Code, again)
				}
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("answered %s, want %s", got, tt.want)
			}
		})
	}
}

// TestDisbelieved tests when a peer counts as a proxy that the operator forgot to configure: it is
// on this machine, sends the address of a client, and is not trusted.
func TestDisbelieved(t *testing.T) {
	for _, tt := range []struct {
		peer, header string
		trusted      bool
		want         bool
	}{
		{"127.0.0.1:1", "X-Forwarded-For", false, true},
		{"127.0.0.1:1", "Forwarded", false, true},
		{"127.0.0.1:1", "X-Forwarded-For", true, false},
		{"192.0.2.1:1", "X-Forwarded-For", false, false},
		{"127.0.0.1:1", "X-Real-Ip", false, false},
	} {
		s := &proxies{}
		if tt.trusted {
			s.trusted = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		}
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = tt.peer
		r.Header.Set(tt.header, "8.8.8.8")
		if _, header, ok := s.UntrustedPeer(r); ok != tt.want || ok && header != tt.header {
			t.Errorf("%s of %s: %q, %v", tt.header, tt.peer, header, ok)
		}
	}
}

func TestCutParameter(t *testing.T) {
	for query, want := range map[string][2]string{
		"": {"", ""}, "key=a": {"a", ""}, "lat=1&key=a%2Bb&lon=2": {"a+b", "lat=1&lon=2"}, "key=a&key=b&x": {"a", "x"},
		"monkey=1": {"", "monkey=1"}, "key=%zz&a=1": {"", "a=1"}, "key=": {"", ""}, "&key=a&": {"a", "&"}, "a=key=b": {"", "a=key=b"},
	} {
		u := &url.URL{RawQuery: query}
		if got := cutParameter(u, "key"); got != want[0] || strings.Trim(u.RawQuery, "&") != strings.Trim(want[1], "&") {
			t.Errorf("%q: %q and %q are left, want %q", query, got, u.RawQuery, want)
		}
	}
}

func TestPrivately(t *testing.T) {
	for in, want := range map[string]string{
		"public, max-age=300":           "private, max-age=300",
		"no-store":                      "private, no-store",
		"Public,s-maxage=9 , immutable": "private, immutable",
		"":                              "private",
	} {
		if got := privately(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestSampling(t *testing.T) {
	s := sampling{every: 1000, slow: time.Second}
	for _, c := range []struct {
		status int
		took   time.Duration
		ok     bool
	}{
		{200, 0, true},
		{200, 0, false},
		{404, 0, false},
		{500, 0, true},
		{503, 0, true},
		{200, time.Second, true},
		{200, time.Second - 1, false},
	} {
		if _, ok := s.pick(c.status, c.took); ok != c.ok {
			t.Errorf("%d after %v: logged %v", c.status, c.took, ok)
		}
	}
}
