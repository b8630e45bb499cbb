package main

import (
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"slices"

	"github.com/pires/go-proxyproto"

	"quadrille/internal/bom"
)

// behindProxies lets the peers in from say for whom they connect, by the PROXY
// protocol, version 1 or 2. These peers must always say it: a peer that merely
// passed bytes on would let its clients say it. From other peers the protocol is
// not read.
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
			// Without addresses it is a connection of the proxy itself: a check of health.
			if _, _, tcp := h.TCPAddrs(); h.Command.IsLocal() || h.SourceAddr == nil || tcp {
				return nil
			}
			return errProxyAddress
		},
	}
}

var errProxyAddress = errors.New("a PROXY header is for something else than TCP")

// tlsConfig serves the certificate of the configured files, and a renewed one
// as soon as it is there.
func (c *config) tlsConfig(log *slog.Logger) (*tls.Config, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	certificate, err := newReloaded(log, "--tls-cert, --tls-key", func() (*tls.Certificate, error) {
		chain, err := bom.ReadFile(c.TLSCert)
		if err != nil {
			return nil, err
		}
		key, err := bom.ReadFile(c.TLSKey)
		if err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(chain, key)
		return &pair, err
	}, c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, err
	}
	c.reloads = append(c.reloads, certificate.again)
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return certificate.get(), nil },
	}, nil
}
