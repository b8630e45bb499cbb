package web

import (
	"errors"
	"net/http"
	"net/netip"
	"strings"
)

// maxHops bounds how much of a forwarding header is looked at; no honest chain
// of proxies is longer.
const maxHops = 32

// ClientAddr returns the address of the client a request came from: the peer
// of the connection, unless that is a trusted proxy. Then it is the right-most
// hop of the forwarding header that is not itself trusted: each proxy appends
// the address it was called from, so everything left of that hop is the
// client's own claim. An entry that is not an address ends the walk, since
// whoever wrote it cannot be vouched for; the answer is then the last hop that
// could. Behind a proxy that speaks the PROXY protocol the peer is the client
// that proxy names.
//
// It is what everything that wants to know the caller asks: answers about the
// caller, limits and logs. The zero Addr means that the peer itself is unknown.
func (s *Kit) ClientAddr(r *http.Request) netip.Addr {
	addr := peerAddr(r)
	if !s.trusts(addr) {
		return addr
	}
	values := s.forwarded.hops(r.Header)
	hops := 0
	for i := len(values) - 1; i >= 0; i-- {
		rest := values[i]
		for more := true; more; {
			var hop string
			rest, hop, more = s.forwarded.lastHop(rest)
			if hops++; hops > maxHops {
				return addr
			}
			next, ok := parseHop(hop)
			if !ok {
				return addr
			}
			addr = next
			if !s.trusts(addr) {
				return addr
			}
		}
	}
	return addr
}

// peerAddr is the other end of the connection.
func peerAddr(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return plain(ap.Addr())
}

// trusts reports whether addr is one of the configured proxies.
func (s *Kit) trusts(addr netip.Addr) bool {
	for _, p := range s.trusted {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// parseHop reads one entry of a forwarding header. Proxies write bare
// addresses, addresses with a port and IPv6 addresses in brackets.
func parseHop(s string) (netip.Addr, bool) {
	s = strings.TrimSpace(s)
	if len(s) > 64 {
		return netip.Addr{}, false
	}
	if addr, err := netip.ParseAddr(s); err == nil {
		return plain(addr), true
	}
	if ap, err := netip.ParseAddrPort(s); err == nil {
		return plain(ap.Addr()), true
	}
	if n := len(s); n > 2 && s[0] == '[' && s[n-1] == ']' {
		if addr, err := netip.ParseAddr(s[1 : n-1]); err == nil && addr.Is6() {
			return plain(addr), true
		}
	}
	return netip.Addr{}, false
}

// plain drops what would keep equal addresses from comparing equal: the zone,
// and the IPv6 wrapping of an IPv4 address.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// BaseURL is the address under which the client reached the server, without a
// final slash. A configured public URL wins; forwarding
// headers count only from a trusted proxy, and of several values the one the
// nearest proxy wrote last.
func (s *Kit) BaseURL(r *http.Request) (string, error) {
	if s.PublicURL != "" {
		return s.PublicURL, nil
	}
	host := r.Host
	if s.trusts(peerAddr(r)) {
		if _, h := s.forwarded.origin(r.Header); h != "" {
			host = h
		}
	}
	if !validHost(host) {
		return "", Refuse(errHost, "", "Send a Host header holding a host name or address with an optional port, or set the server's --public-url.")
	}
	return s.scheme(r) + "://" + host + s.RootPath(r), nil
}

// scheme is the one a request was made with, which a trusted proxy may know
// better.
func (s *Kit) scheme(r *http.Request) string {
	if s.trusts(peerAddr(r)) {
		proto, _ := s.forwarded.origin(r.Header)
		switch {
		case strings.EqualFold(proto, "https"):
			return "https"
		case strings.EqualFold(proto, "http"):
			return "http"
		}
	}
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

func lastValue(values []string) string {
	if len(values) == 0 {
		return ""
	}
	v := values[len(values)-1]
	return strings.TrimSpace(v[strings.LastIndexByte(v, ',')+1:])
}

// validHost accepts what may stand in the authority of a URL we hand out:
// letters, digits, dots, hyphens, underscores, an optional port, and IPv6
// addresses in brackets.
func validHost(h string) bool {
	if h == "" || len(h) > 255 {
		return false
	}
	name := h
	if h[0] == '[' {
		end := strings.IndexByte(h, ']')
		if end < 0 {
			return false
		}
		if a, err := netip.ParseAddr(h[1:end]); err != nil || !a.Is6() || a.Zone() != "" {
			return false
		}
		rest := h[end+1:]
		if rest == "" {
			return true
		}
		if rest[0] != ':' {
			return false
		}
		return validPort(rest[1:])
	}
	if i := strings.IndexByte(h, ':'); i >= 0 {
		name = h[:i]
		if !validPort(h[i+1:]) {
			return false
		}
	}
	if name == "" {
		return false
	}
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return true
}

func validPort(p string) bool {
	if p == "" || len(p) > 5 {
		return false
	}
	for i := range len(p) {
		if p[i] < '0' || p[i] > '9' {
			return false
		}
	}
	return true
}

// ErrNoPeer says that a request has no ClientAddr.
var ErrNoPeer = errors.New("the connection has no peer address")
