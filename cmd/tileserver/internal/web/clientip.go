package web

import (
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// proxies has the settings for proxies in front of the server, and for the address by which clients
// reach the server through them.
type proxies struct {
	PublicURL string
	basePath  string
	trusted   []netip.Prefix
	forwarded ForwardedHeader
}

// ClientAddr returns the address of the client of a request: the peer of the connection, unless
// this is a trusted proxy. Then it is the right-most hop of the forwarding header that is not
// trusted: each proxy appends the address of its caller, so everything to the left of this hop is
// only a claim of the client. An entry that is not an address ends the search, because its writer
// is unknown; the result is then the last valid hop. Behind a proxy with the PROXY protocol the
// peer is the client that this proxy names.
//
// Answers about the caller, limits and logs use this address. The zero Addr means that the peer
// itself is unknown.
func (s *proxies) ClientAddr(r *http.Request) netip.Addr {
	addr, _ := s.chain(r)
	return addr
}

// chain returns the client's address, and how many elements of a forwarding header trusted proxies
// have appended. The same number of elements is trusted in every such header. It is 0 if the peer
// is not trusted. It is 1 if the header has no address, because the peer may have appended an
// element without an address.
func (s *proxies) chain(r *http.Request) (addr netip.Addr, trusted int) {
	if addr = peerAddr(r); !s.trusts(addr) {
		return addr, 0
	}
	for element := range s.forwarded.elements(r.Header[s.forwarded.header("for")]) {
		trusted++
		hop, _ := s.forwarded.parameter(element, "for") // an absent "for" is no address
		next, ok := parseHop(hop)
		if !ok {
			return addr, trusted
		}
		if addr = next; !s.trusts(addr) {
			return addr, trusted
		}
	}
	return addr, max(trusted, 1)
}

// told returns the value that the outermost trusted proxy gives to a parameter in its element, or
// "" if there is none. This is the value of the client's request; the element of a nearer proxy has
// the value of a request between proxies. If a proxy forwards a header unchanged, there are fewer
// elements. Then the last of them is from the outermost proxy.
func (s *proxies) told(r *http.Request, parameter string) (value string) {
	lines := r.Header[s.forwarded.header(parameter)]
	if len(lines) == 0 {
		return ""
	}
	_, trusted := s.chain(r)
	for element := range s.forwarded.elements(lines) {
		if trusted--; trusted < 0 {
			break
		}
		if v, ok := s.forwarded.parameter(element, parameter); ok {
			value = v
		}
	}
	return value
}

// UntrustedPeer returns the address of an untrusted peer on this machine that names a client. It is
// probably a proxy that the operator forgot to configure.
func (s *proxies) UntrustedPeer(r *http.Request) (peer netip.Addr, header string, ok bool) {
	peer = peerAddr(r)
	for _, header = range []string{"X-Forwarded-For", "Forwarded"} {
		if len(r.Header[header]) > 0 && peer.IsLoopback() && !s.trusts(peer) {
			return peer, header, true
		}
	}
	return peer, "", false
}

// peerAddr returns the address of the other end of the connection.
func peerAddr(r *http.Request) netip.Addr {
	ap, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return netip.Addr{}
	}
	return plain(ap.Addr())
}

// trusts reports whether addr is one of the configured proxies.
func (s *proxies) trusts(addr netip.Addr) bool {
	for _, p := range s.trusted {
		if p.Contains(addr) {
			return true
		}
	}
	return false
}

// parseHop reads one entry of a forwarding header. Proxies write bare
// addresses, addresses with a port, which may be obfuscated (RFC 7239, 6.3), and IPv6
// addresses in brackets.
func parseHop(s string) (netip.Addr, bool) {
	s = strings.TrimSpace(s)
	if len(s) > 64 {
		return netip.Addr{}, false
	}
	if addr, err := netip.ParseAddr(s); err == nil {
		return plain(addr), true
	}
	if host, port, _ := strings.Cut(s, ":_"); isName(port) {
		s = host + ":0"
	} else if strings.HasSuffix(s, "]") {
		s += ":0"
	}
	ap, err := netip.ParseAddrPort(s) // IPv6 in brackets, and nothing else in them
	return plain(ap.Addr()), err == nil
}

// plain drops the zone, and the IPv6 wrapping of an IPv4 address, so that equal addresses compare
// equal.
func plain(a netip.Addr) netip.Addr { return a.Unmap().WithZone("") }

// BaseURL returns the address by which the client reached the server, without a final slash. A
// configured public URL takes precedence. Forwarding headers are used only from trusted proxies; of
// several values, that of the outermost proxy is used.
func (s *proxies) BaseURL(r *http.Request) (string, error) {
	if s.PublicURL != "" {
		return s.PublicURL, nil
	}
	host := r.Host
	if h := s.told(r, "host"); h != "" {
		host = h
	}
	if !validHost(host) {
		return "", endpoint.Refuse(errHost, "",
			"Send a Host header holding a host name or address with an optional port, or set the server's --public-url.")
	}
	return s.scheme(r) + "://" + host + s.RootPath(r), nil
}

// scheme returns the scheme of a request. The value of a trusted proxy takes precedence.
func (s *proxies) scheme(r *http.Request) string {
	switch proto := s.told(r, "proto"); {
	case strings.EqualFold(proto, "https"):
		return "https"
	case strings.EqualFold(proto, "http"):
		return "http"
	}
	if r.TLS != nil {
		return "https"
	}
	return "http"
}

// validHost reports whether a text is allowed as the authority of a URL in our answers: letters,
// digits, dots, hyphens, underscores, an optional port, and IPv6 addresses in brackets.
func validHost(h string) bool {
	name, port := h, "0"
	if at := strings.LastIndexByte(h, ':'); at > strings.LastIndexByte(h, ']') {
		name, port = h[:at], h[at+1:]
	}
	if len(h) > 255 || len(port) > 5 || port == "" || strings.Trim(port, "0123456789") != "" {
		return false
	}
	if inside, ok := strings.CutPrefix(name, "["); ok {
		inside, ok = strings.CutSuffix(inside, "]")
		a, err := netip.ParseAddr(inside)
		return ok && err == nil && a.Is6() && a.Zone() == ""
	}
	return isName(name)
}

// isName reports whether s is not empty and has only letters, digits, dots, hyphens and
// underscores.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != '_' {
			return false
		}
	}
	return s != ""
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

// RootPath returns the path by which the client reached the server, without a final slash.
func (s *proxies) RootPath(r *http.Request) string { return s.forwardedPrefix(r) + s.basePath }

// forwardedPrefix returns the path that trusted proxies removed before they forwarded a request.
// RFC 7239 has no parameter for it.
func (s *proxies) forwardedPrefix(r *http.Request) string {
	prefix := strings.TrimRight(s.told(r, "prefix"), "/")
	if !ValidBasePath(prefix) {
		return ""
	}
	return prefix
}

// CheckOrigins returns an error if a list of origins is invalid. Browsers compare an entry with
// their own origin byte by byte. "*" and "none" must be the only entry.
func CheckOrigins(list string) error {
	if list == "" || list == "*" || list == "none" {
		return nil
	}
	for o := range strings.SplitSeq(list, ",") {
		scheme, host, _ := strings.Cut(o, "://")
		port := host[strings.LastIndexByte(host, ':')+1:]
		standard := scheme == "https" && port == "443" || scheme == "http" && port == "80"
		if o == "null" || scheme != "" && validHost(host) && !standard && strings.ToLower(o) == o && !strings.ContainsAny(scheme, " /:") {
			continue
		}
		return fmt.Errorf("%.200q is no origin as browsers send it: write a scheme and a host in small letters, and the "+
			"port if it is not the scheme's own, "+
			"such as https://a.example,http://localhost:3000, with nothing behind them; or * for all, or none", o)
	}
	return nil
}
