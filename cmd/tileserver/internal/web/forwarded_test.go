package web

import (
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// TestClientAddrForwarded tests forged Forwarded headers (RFC 7239). Only elements from trusted
// proxies count, and text to the left of them does not change their meaning.
func TestClientAddrForwarded(t *testing.T) {
	const peer4, peer6 = "203.0.113.9:5555", "[2001:db8::9]:5555"
	one, several := []string{"203.0.113.9/32"}, []string{"203.0.113.0/24", "10.0.0.0/8"}
	for _, tt := range []struct {
		name      string
		trusted   []string
		peer      string
		forwarded []string // header lines
		want      string
	}{
		{"none trusted", nil, peer4, []string{"for=8.8.8.8"}, "203.0.113.9"},
		{"none trusted, IPv6", nil, peer6, []string{`for="[::1]"`}, "2001:db8::9"},
		{"no header", one, peer4, nil, "203.0.113.9"},
		{"empty header", one, peer4, []string{""}, "203.0.113.9"},
		{"its hop", one, peer4, []string{"for=8.8.8.8"}, "8.8.8.8"},
		{"all parameters", one, peer4, []string{"by=203.0.113.43;For=8.8.8.8;proto=https;host=example.org"}, "8.8.8.8"},
		{"with spaces", one, peer4, []string{" for=8.8.8.8 ; proto=http "}, "8.8.8.8"},
		{"quoted with port", one, peer4, []string{`for="8.8.8.8:4711"`}, "8.8.8.8"},
		{"IPv6", one, peer4, []string{`for="[2620:fe::fe]"`}, "2620:fe::fe"},
		{"IPv6 with port", one, peer4, []string{`For="[2620:fe::fe]:4711"`}, "2620:fe::fe"},
		{"IPv6 proxy", []string{"2001:db8::/32"}, peer6, []string{`for="[::ffff:8.8.8.8]"`}, "8.8.8.8"},
		{"forged left", one, peer4, []string{"for=1.1.1.1, for=8.8.8.8"}, "8.8.8.8"},
		{"forged line", one, peer4, []string{"for=1.1.1.1", "for=2.2.2.2,for=8.8.8.8"}, "8.8.8.8"},
		{"claims to be the proxy", one, peer4, []string{"for=203.0.113.9, for=8.8.8.8"}, "8.8.8.8"},
		{"several", several, peer4, []string{"for=1.1.1.1, for=8.8.8.8, for=10.1.2.3", "for=203.0.113.77"}, "8.8.8.8"},
		{"all trusted", several, peer4, []string{"for=10.0.0.1, for=10.0.0.2"}, "10.0.0.1"},

		{"open quote left of it", one, peer4, []string{`for="1.1.1.1, for=8.8.8.8`}, "8.8.8.8"},
		{"comma in quotes left of it", one, peer4, []string{`for="1.1.1.1, for=8.8.8.8", for=9.9.9.9`}, "9.9.9.9"},
		{"quoted comma in it", one, peer4, []string{`for=1.1.1.1, host="a,b";for=8.8.8.8`}, "8.8.8.8"},
		{"escaped quote in it", one, peer4, []string{`for=1.1.1.1, host="a\",for=2.2.2.2,\"b";for=8.8.8.8`}, "8.8.8.8"},
		{"for inside a value", one, peer4, []string{`host="x;for=1.1.1.1";for=8.8.8.8`}, "8.8.8.8"},
		{"twice", one, peer4, []string{"for=1.1.1.1;for=8.8.8.8"}, "203.0.113.9"},
		{"unknown", one, peer4, []string{"for=1.1.1.1, for=unknown"}, "203.0.113.9"},
		{"obfuscated", one, peer4, []string{"for=_hidden"}, "203.0.113.9"},
		{"obfuscated behind a trusted hop", several, peer4, []string{"for=_hidden, for=10.0.0.4"}, "10.0.0.4"},
		{"empty pairs", one, peer4, []string{"; for=8.8.8.8;;proto=https;"}, "8.8.8.8"},
		{"quote in a host", one, peer4, []string{`for=8.8.8.8;host=a"b`}, "8.8.8.8"},
		{"quote inside a pair", one, peer4, []string{`for=8.8.8.8;host=a"b;proto=c"`}, "8.8.8.8"},
		{"no for", one, peer4, []string{"by=8.8.8.8;proto=https"}, "203.0.113.9"},
		{"no value", one, peer4, []string{"for"}, "203.0.113.9"},
		{"text behind quotes", one, peer4, []string{`for="8.8.8.8"x`}, "203.0.113.9"},
		{"open quote in it", one, peer4, []string{`for="8.8.8.8`}, "203.0.113.9"},
		{"trailing comma", one, peer4, []string{"for=8.8.8.8,"}, "8.8.8.8"},
		{"empty elements", several, peer4, []string{"for=8.8.8.8, , for=10.0.0.1", ","}, "8.8.8.8"},
		{"obfuscated port", one, peer4, []string{`for="8.8.8.8:_obf-1.x"`}, "8.8.8.8"},
		{"IPv6 with an obfuscated port", one, peer4, []string{`for="[2001:218::1]:_x"`}, "2001:218::1"},
		{"IPv6 without brackets and an obfuscated port", one, peer4, []string{`for="2001:218::1:_x"`}, "203.0.113.9"},
		{"port that is none", one, peer4, []string{`for="8.8.8.8:_"`}, "203.0.113.9"},
		{"port that is none either", one, peer4, []string{`for="8.8.8.8:_a b"`}, "203.0.113.9"},
		{"too many hops", several, peer4, []string{"for=8.8.8.8" + strings.Repeat(",for=203.0.113.4", maxHops)}, "203.0.113.4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &proxies{forwarded: Forwarded}
			for _, p := range tt.trusted {
				s.trusted = append(s.trusted, netip.MustParsePrefix(p))
			}
			r := httptest.NewRequest("GET", "/ip/me", nil)
			r.RemoteAddr = tt.peer
			for _, v := range tt.forwarded {
				r.Header.Add("Forwarded", v)
			}
			// A header that is not configured is always ignored.
			r.Header.Set("X-Forwarded-For", "9.9.9.10")
			r.Header.Set("X-Real-Ip", "9.9.9.10")
			if got := s.ClientAddr(r).String(); got != tt.want {
				t.Errorf("client %s, want %s", got, tt.want)
			}
		})
	}
}

func TestBaseURLForwarded(t *testing.T) {
	for _, tt := range []struct {
		forwarded string
		trust     bool
		want      string
	}{
		{"for=1.1.1.1;proto=https;host=b.example", true, "https://b.example"},
		{`for=1.1.1.1;proto=https;host="b.example:8443"`, true, "https://b.example:8443"},
		{"proto=http;host=evil.example, for=1.1.1.1;proto=https;host=b.example", true, "https://b.example"},
		{"for=1.1.1.1", true, "http://a.example"},
		{"for=1.1.1.1;proto=https;host=b.example", false, "http://a.example"},
		{"proto=javascript", true, "http://a.example"},
		{`host="a b"`, true, ""},
	} {
		s := &proxies{forwarded: Forwarded}
		if tt.trust {
			s.trusted = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.Host = "a.example"
		r.Header.Set("Forwarded", tt.forwarded)
		r.Header.Set("X-Forwarded-Host", "x.example")
		r.Header.Set("X-Forwarded-Proto", "https")
		if got, err := s.BaseURL(r); got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%s: %q, %v; want %q", tt.forwarded, got, err, tt.want)
		}
	}
}

// One rule applies to all headers of a chain: the values of the outermost trusted proxy are used,
// and the client's values are ignored, however many proxies there are.
func TestBaseURLOfChain(t *testing.T) {
	for _, tt := range []struct {
		name                string
		trusted             string
		addresses, of, want string // of is proto, host and prefix, each with | between
	}{
		{"one", "192.0.2.0/24", "8.8.8.8", "https|a.example|/eu", "https://a.example/eu"},
		{"one, forged", "192.0.2.0/24", "9.9.9.9, 8.8.8.8", "http, https|evil.example, a.example|/evil, /eu", "https://a.example/eu"},
		{"two", "192.0.2.0/24 10.0.0.0/8", "8.8.8.8, 10.0.0.1", "https, http|a.example, inner.local|/eu, /inner", "https://a.example/eu"},
		{
			"two, forged",
			"192.0.2.0/24 10.0.0.0/8",
			"9.9.9.9, 8.8.8.8, 10.0.0.1",
			"http, https, http|evil.example, a.example, inner.local|/evil, /eu, /x",
			"https://a.example/eu",
		},
		{"two, of which one appends", "192.0.2.0/24 10.0.0.0/8", "8.8.8.8, 10.0.0.1", "https|a.example|", "https://a.example"},
		{"two, of which one is trusted", "192.0.2.0/24", "8.8.8.8, 10.0.0.1", "https, http|a.example, inner.local|", "http://inner.local"},
		{"empty elements", "192.0.2.0/24 10.0.0.0/8", "8.8.8.8,, 10.0.0.1,", "https, ,http,|a.example,,inner.local|", "https://a.example"},
		{"no addresses", "192.0.2.0/24", "", "http, https|evil.example, a.example|", "https://a.example"},
		{"client unknown", "192.0.2.0/24", "unknown", "http, https|evil.example, a.example|", "https://a.example"},
		{"nobody trusted", "203.0.113.0/24", "8.8.8.8", "https|a.example|/eu", "http://h.example"},
	} {
		for _, header := range []ForwardedHeader{XForwardedFor, Forwarded} {
			s := &proxies{forwarded: header}
			for p := range strings.FieldsSeq(tt.trusted) {
				s.trusted = append(s.trusted, netip.MustParsePrefix(p))
			}
			r := httptest.NewRequest("GET", "/", nil)
			r.Host = "h.example"
			of, want := strings.Split(tt.of, "|"), tt.want
			if header == XForwardedFor {
				for i, name := range []string{"X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Prefix"} {
					r.Header.Set(name, of[i])
				}
				r.Header.Set("X-Forwarded-For", tt.addresses)
			} else if tt.addresses != "" && strings.Count(of[1], ",") == strings.Count(tt.addresses, ",") {
				var elements []string
				protos, hosts := strings.Split(of[0], ","), strings.Split(of[1], ",")
				for i, address := range strings.Split(tt.addresses, ",") {
					if address = strings.TrimSpace(address); address != "" {
						address = "for=" + address + ";proto=" + strings.TrimSpace(protos[i]) + ";host=" + strings.TrimSpace(hosts[i])
					}
					elements = append(elements, address)
				}
				r.Header.Set("Forwarded", strings.Join(elements, ", "))
				want = strings.TrimSuffix(want, "/eu") // RFC 7239 has no prefix
			} else {
				continue
			}
			if got, err := s.BaseURL(r); got != want || err != nil {
				t.Errorf("%s, %d: %s, %v; want %s", tt.name, header, got, err, want)
			}
		}
	}
}

// The element that a proxy appends is the last one, whatever the header contains before it.
func FuzzForwarded(f *testing.F) {
	for _, seed := range []string{"", "for=1.1.1.1", `for="`, `host="a\`, `"\",`, `for="[::1]:80";by=_x, `, ";;=,=\"\""} {
		f.Add(seed)
	}
	s := &proxies{forwarded: Forwarded, trusted: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}}
	f.Fuzz(func(t *testing.T, claim string) {
		for _, appended := range []string{"for=8.8.8.8", `for="8.8.8.8:80";proto=https`} {
			r := httptest.NewRequest("GET", "/", nil)
			r.Header["Forwarded"] = []string{claim + ", " + appended}
			if got := s.ClientAddr(r).String(); got != "8.8.8.8" {
				t.Fatalf("%q: client %s", claim, got)
			}
			r.Header["Forwarded"] = []string{claim}
			s.ClientAddr(r)
			_, _ = s.BaseURL(r)
		}
	})
}
