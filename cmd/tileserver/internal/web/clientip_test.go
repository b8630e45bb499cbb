package web

import (
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

// TestClientAddr tests forged forwarding headers. Only hops from trusted proxies count.
func TestClientAddr(t *testing.T) {
	const peer4, peer6 = "203.0.113.9:5555", "[2001:db8::9]:5555"
	for _, tt := range []struct {
		name    string
		trusted []string
		peer    string
		xff     []string // header lines
		want    string
	}{
		{"none, no header", nil, peer4, nil, "203.0.113.9"},
		{"none, forged", nil, peer4, []string{"8.8.8.8"}, "203.0.113.9"},
		{"none, forged private", nil, "127.0.0.1:1", []string{"8.8.8.8"}, "127.0.0.1"},
		{"none, forged, IPv6", nil, peer6, []string{"::1"}, "2001:db8::9"},

		{"one, its hop", []string{"203.0.113.9/32"}, peer4, []string{"8.8.8.8"}, "8.8.8.8"},
		{"one, forged left", []string{"203.0.113.9/32"}, peer4, []string{"1.1.1.1, 8.8.8.8"}, "8.8.8.8"},
		{"one, forged lines", []string{"203.0.113.9/32"}, peer4, []string{"1.1.1.1", "2.2.2.2, 8.8.8.8"}, "8.8.8.8"},
		{"one, client claims to be the proxy", []string{"203.0.113.9/32"}, peer4, []string{"203.0.113.9, 8.8.8.8"}, "8.8.8.8"},
		{"one, not the peer", []string{"203.0.113.1/32"}, peer4, []string{"8.8.8.8"}, "203.0.113.9"},
		{"one, no header", []string{"203.0.113.9/32"}, peer4, nil, "203.0.113.9"},
		{"one, empty header", []string{"203.0.113.9/32"}, peer4, []string{""}, "203.0.113.9"},

		{"several", []string{"203.0.113.0/24", "10.0.0.0/8"}, peer4, []string{"1.1.1.1, 8.8.8.8, 10.1.2.3, 203.0.113.77"}, "8.8.8.8"},
		{"several, all trusted", []string{"203.0.113.0/24", "10.0.0.0/8"}, peer4, []string{"10.0.0.1, 10.0.0.2"}, "10.0.0.1"},
		{"several, across lines", []string{"203.0.113.0/24", "10.0.0.0/8"}, peer4, []string{"1.1.1.1,8.8.8.8", "10.0.0.1"}, "8.8.8.8"},

		{"IPv6 proxy", []string{"2001:db8::/32"}, peer6, []string{"2620:fe::fe"}, "2620:fe::fe"},
		{"IPv6 client with port", []string{"2001:db8::/32"}, peer6, []string{"[2620:fe::fe]:443"}, "2620:fe::fe"},
		{"IPv6 client in brackets", []string{"2001:db8::/32"}, peer6, []string{"[2620:fe::fe]"}, "2620:fe::fe"},
		{"IPv4 client of an IPv6 proxy", []string{"2001:db8::/32"}, peer6, []string{"1.1.1.1, ::ffff:8.8.8.8"}, "8.8.8.8"},
		{"mapped peer", []string{"203.0.113.0/24"}, "[::ffff:203.0.113.9]:1", []string{"8.8.8.8"}, "8.8.8.8"},
		{"zone dropped", []string{"fe80::/10"}, "[fe80::1%eth0]:1", []string{"fe80::2%lo, 8.8.8.8"}, "8.8.8.8"},
		{"IPv4 with port", []string{"203.0.113.0/24"}, peer4, []string{"8.8.8.8:1234"}, "8.8.8.8"},

		{"malformed right", []string{"203.0.113.0/24"}, peer4, []string{"8.8.8.8, unknown"}, "203.0.113.9"},
		{"malformed behind a trusted hop", []string{"203.0.113.0/24"}, peer4, []string{"8.8.8.8, \"x\", 203.0.113.5"}, "203.0.113.5"},
		{"malformed left of the answer", []string{"203.0.113.0/24"}, peer4, []string{"<script>, 8.8.8.8"}, "8.8.8.8"},
		{"octal", []string{"203.0.113.0/24"}, peer4, []string{"010.0.0.1"}, "203.0.113.9"},
		{"empty entry", []string{"203.0.113.0/24"}, peer4, []string{"8.8.8.8,"}, "8.8.8.8"},
		{"empty entries", []string{"203.0.113.0/24"}, peer4, []string{"1.1.1.1,,8.8.8.8", " , 203.0.113.5 ,,"}, "8.8.8.8"},
		{"empty entries alone", []string{"203.0.113.0/24"}, peer4, []string{" , ,", ""}, "203.0.113.9"},
		{"too many empty entries", []string{"203.0.113.0/24"}, peer4, []string{"8.8.8.8" + strings.Repeat(",", maxHops)}, "203.0.113.9"},
		{"obfuscated port", []string{"203.0.113.0/24"}, peer4, []string{"8.8.8.8:_x"}, "8.8.8.8"},
		{"every header twice", []string{"203.0.113.0/24"}, peer4, []string{"1.1.1.1, 8.8.8.8", "1.1.1.1, 8.8.8.8"}, "8.8.8.8"},
		{"too long an entry", []string{"203.0.113.0/24"}, peer4, []string{strings.Repeat("1", 200)}, "203.0.113.9"},
		{"too many hops", []string{"203.0.113.0/24"}, peer4, []string{"8.8.8.8" + strings.Repeat(",203.0.113.4", maxHops)}, "203.0.113.4"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &proxies{}
			for _, p := range tt.trusted {
				s.trusted = append(s.trusted, netip.MustParsePrefix(p))
			}
			r := httptest.NewRequest("GET", "/ip/me", nil)
			r.RemoteAddr = tt.peer
			for _, v := range tt.xff {
				r.Header.Add("X-Forwarded-For", v)
			}
			// Other headers, which some frameworks trust, are always ignored.
			r.Header.Set("X-Real-Ip", "9.9.9.9")
			r.Header.Set("Forwarded", "for=9.9.9.9")
			r.Header.Set("True-Client-Ip", "9.9.9.9")
			if got := s.ClientAddr(r).String(); got != tt.want {
				t.Errorf("client %s, want %s", got, tt.want)
			}
		})
	}
}

func TestClientAddrUnknownPeer(t *testing.T) {
	s := &proxies{trusted: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}}
	r := httptest.NewRequest("GET", "/", nil)
	r.RemoteAddr = "@"
	r.Header.Set("X-Forwarded-For", "8.8.8.8")
	if got := s.ClientAddr(r); got.IsValid() {
		t.Errorf("client %s of an unknown peer, want none", got)
	}
}

func TestBaseURL(t *testing.T) {
	for _, tt := range []struct {
		name, public, host, proto, fwdHost string
		trust                              bool
		want                               string // "" for a refusal
	}{
		{"plain", "", "tiles.example:8080", "", "", false, "http://tiles.example:8080"},
		{"IPv6", "", "[2001:db8::1]:8080", "", "", false, "http://[2001:db8::1]:8080"},
		{"public wins", "https://a.example/maps", "evil.example", "http", "evil.example", true, "https://a.example/maps"},
		{"untrusted headers", "", "a.example", "https", "evil.example", false, "http://a.example"},
		{"trusted headers", "", "a.example", "https", "b.example", true, "https://b.example"},
		{"nearest value", "", "a.example", "http, https", "evil.example, b.example", true, "https://b.example"},
		{"unknown scheme", "", "a.example", "javascript", "", true, "http://a.example"},
		{"host with path", "", "a.example/x", "", "", false, ""},
		{"host with quote", "", `a"b`, "", "", false, ""},
		{"host with user", "", "u@a.example", "", "", false, ""},
		{"bad port", "", "a.example:80x", "", "", false, ""},
		{"bad IPv6", "", "[::1", "", "", false, ""},
		{"IPv6 with a zone", "", "[fe80::1%eth0]", "", "", false, ""},
		{"IPv6 with a zone, escaped", "", "[fe80::1%25eth0]", "", "", false, ""},
		{"trusted but bad", "", "a.example", "", "a b", true, ""},
		{"empty", "", "", "", "", false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := &proxies{PublicURL: tt.public}
			r := httptest.NewRequest("GET", "/", nil)
			r.Host = tt.host
			if tt.trust {
				s.trusted = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
			}
			if tt.proto != "" {
				r.Header.Set("X-Forwarded-Proto", tt.proto)
			}
			if tt.fwdHost != "" {
				r.Header.Set("X-Forwarded-Host", tt.fwdHost)
			}
			got, err := s.BaseURL(r)
			if (err == nil) != (tt.want != "") || got != tt.want {
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			}
		})
	}
}
