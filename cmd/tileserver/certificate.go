package main

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"quadrille/internal/bom"
)

const certificateFlags = "--tls-cert, --tls-key"

// tlsConfig serves the certificate of the configured files, and a renewed one
// as soon as it is there. When it expires is a metric.
func (c *config) tlsConfig(log *slog.Logger, metrics prometheus.Registerer) (*tls.Config, error) {
	if c.TLSCert == "" {
		return nil, nil
	}
	certificate, err := newReloaded(log, certificateFlags, func() (*certificate, error) {
		pair, err := c.readCertificate()
		if err == nil {
			if err := pair.usable(time.Now()); err != nil {
				log.Warn("clients will refuse the certificate", "flag", certificateFlags, "error", err)
			}
		}
		return pair, err
	}, c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, err
	}
	metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quadrille_tls_certificate_expiry_seconds", Help: "When the certificate of --tls-cert, or one of its chain, expires, in seconds since 1970.",
	}, func() float64 { return float64(certificate.get().until.Unix()) }))
	c.reloads = append(c.reloads, certificate.again)
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate.get().Certificate, nil },
	}, nil
}

// checkCertificate says why clients could not be served by TLS.
func (c *config) checkCertificate() error {
	if c.TLSCert == "" {
		return nil
	}
	pair, err := c.readCertificate()
	if err == nil {
		err = pair.usable(time.Now())
	}
	if err != nil {
		return fmt.Errorf("%s: %w", certificateFlags, err)
	}
	return nil
}

// certificate is a chain and its key. All of the chain is valid from one time until another.
type certificate struct {
	tls.Certificate
	from, until time.Time
}

func (c *config) readCertificate() (*certificate, error) {
	chain, err := bom.ReadFile(c.TLSCert)
	if err != nil {
		return nil, err
	}
	key, err := bom.ReadFile(c.TLSKey)
	if err != nil {
		return nil, err
	}
	if encrypted(key) {
		return nil, fmt.Errorf("the key in %s is encrypted, and nobody can be asked for its password: write it without by openssl pkey -in %[1]s -out NEWFILE, readable by the server alone", c.TLSKey)
	}
	pair := &certificate{}
	if pair.Certificate, err = tls.X509KeyPair(chain, key); err != nil {
		return nil, err
	}
	for _, der := range pair.Certificate.Certificate {
		one, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, fmt.Errorf("%s: a certificate of the chain cannot be read: %w", c.TLSCert, err)
		}
		if one.NotBefore.After(pair.from) {
			pair.from = one.NotBefore
		}
		if pair.until.IsZero() || one.NotAfter.Before(pair.until) {
			pair.until = one.NotAfter
		}
	}
	return pair, nil
}

// usable says why clients would refuse the certificate at a time.
func (p *certificate) usable(now time.Time) error {
	switch {
	case now.After(p.until):
		return fmt.Errorf("the certificate, or one of its chain, has expired on %s: renew it", p.until.UTC().Format(time.RFC3339))
	case now.Before(p.from):
		return errors.New("the certificate, or one of its chain, is not valid before " + p.from.UTC().Format(time.RFC3339) + ": wait, or set the clock of this machine if it is wrong")
	}
	return nil
}

// encrypted reports whether a file of keys has one that needs a password, by PKCS #8 or in
// the old form of OpenSSL.
func encrypted(key []byte) bool {
	for {
		block, rest := pem.Decode(key)
		if block == nil {
			return false
		}
		if block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED") {
			return true
		}
		key = rest
	}
}
