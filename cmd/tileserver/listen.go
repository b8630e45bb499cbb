package main

import (
	"errors"
	"net"
	"net/netip"
	"slices"

	"github.com/pires/go-proxyproto"
)

// behindProxies reads the PROXY protocol, version 1 or 2, from the peers in from. It contains the
// address of the client for which they connect. These peers must always send it; otherwise the
// clients of a peer that only forwards bytes could forge it. It is not read from other peers.
func behindProxies(l net.Listener, from []prefix, cfg *config) net.Listener {
	if len(from) == 0 {
		return l
	}
	return &proxyproto.Listener{
		Listener:          l,
		ReadHeaderTimeout: cfg.ReadTimeout,
		ConnPolicy: func(o proxyproto.ConnPolicyOptions) (proxyproto.Policy, error) {
			addr, err := netip.ParseAddrPort(o.Upstream.String())
			if err == nil && slices.ContainsFunc(from, func(p prefix) bool {
				return netip.Prefix(p).Contains(addr.Addr().Unmap().WithZone(""))
			}) {
				return proxyproto.REQUIRE, nil
			}
			return proxyproto.SKIP, nil
		},
		ValidateHeader: func(h *proxyproto.Header) error {
			// A header without addresses means a connection of the proxy itself, such as a health
			// check.
			if _, _, tcp := h.TCPAddrs(); h.Command.IsLocal() || h.SourceAddr == nil || tcp {
				return nil
			}
			return errProxyAddress
		},
	}
}

var errProxyAddress = errors.New("a PROXY header is for something else than TCP")
