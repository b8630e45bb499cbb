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

// errForbidden is for addresses that hooks may not go to.
var errForbidden = errors.New("the host has an address that is not public: the operator lets hooks go there by --hooks-private")

var (
	globalUnicast = netip.MustParsePrefix("2000::/3")
	sixToFour     = netip.MustParsePrefix("2002::/16")
)

// isPublic reports whether an address is of the public internet. Addresses that IANA
// sets apart are not, nor are IPv6 addresses that lead to such IPv4 addresses.
func isPublic(a netip.Addr) bool {
	a = a.Unmap()
	if _, special := ipgeo.SpecialBlockOf(a); special || a.Zone() != "" {
		return false
	}
	return a.Is4() || globalUnicast.Contains(a) && !sixToFour.Contains(a)
}

// Bounds of one request.
const (
	requestTimeout = 10 * time.Second
	maxHeader      = 16 << 10
	maxAnswer      = 64 << 10 // bytes of an answer that are read
)

// newClient makes the client that sends events. It judges addresses when it dials them, so
// that a name cannot mean another address by then. It uses no proxy, which would dial for
// us.
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
