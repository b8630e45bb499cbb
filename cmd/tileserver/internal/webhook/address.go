package webhook

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"quadrille/ipgeo"
)

// errForbidden is the error for addresses to which hooks may not send.
var errForbidden = errors.New("the host has an address that is not public: the operator lets hooks go there by --hooks-private")

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	sixToFour     = netip.MustParsePrefix("2002::/16")
)

// isPublic reports whether an address belongs to the public internet. Addresses that IANA reserves
// for special purposes are not public, and neither are IPv6 addresses that embed such IPv4
// addresses.
func isPublic(a netip.Addr) bool {
	a = a.Unmap()
	if _, special := ipgeo.SpecialBlockOf(a); special || a.Zone() != "" {
		return false
	}
	return a.Is4() || globalUnicast.Contains(a) && !sixToFour.Contains(a)
}

// These are bounds of one request.
const (
	requestTimeout = 10 * time.Second
	maxHeader      = 16 << 10
	maxAnswer      = 64 << 10 // bytes of an answer that are read
)

// newClient makes the client that sends events. It checks addresses when it dials them, so that a
// name cannot resolve to another address after the check. It uses no proxy, because a proxy would
// dial itself.
func newClient(cfg *Config) *http.Client {
	dialer := &net.Dialer{Timeout: requestTimeout, Resolver: cfg.Resolver}
	if !cfg.AllowPrivate {
		dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
			to, err := netip.ParseAddrPort(address)
			if err != nil || !isPublic(to.Addr()) {
				return errForbidden
			}
			return nil
		}
	}
	return &http.Client{
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: requestTimeout,
			MaxResponseHeaderBytes: maxHeader, MaxIdleConnsPerHost: 1, IdleConnTimeout: 30 * time.Second, DisableCompression: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}
