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

// tlsConfig returns a configuration that serves the certificate of the configured files, and
// follows renewals of the files. A metric reports the time of expiry.
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
			if err := pair.doubtful(time.Now()); err != nil {
				log.Warn("some clients may refuse the certificate", "flag", certificateFlags, "error", err)
			}
		}
		return pair, err
	}, c.TLSCert, c.TLSKey)
	if err != nil {
		return nil, err
	}
	metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "quadrille_tls_certificate_expiry_seconds", Help: "When the certificate of --tls-cert expires, in seconds since 1970.",
	}, func() float64 { return float64(certificate.get().chain[0].NotAfter.Unix()) }))
	c.reloads = append(c.reloads, certificate.again)
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate.get().Certificate, nil },
	}, nil
}

// checkCertificate returns an error if clients could not be served by TLS.
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

// certificate is a chain and its key. The first of the chain is the server's own.
type certificate struct {
	tls.Certificate
	chain []*x509.Certificate
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
		return nil, fmt.Errorf("the key in %s is encrypted, and nobody can be asked for its password: write it without by "+
			"openssl pkey -in %[1]s -out NEWFILE, readable by the server alone", c.TLSKey)
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
		pair.chain = append(pair.chain, one)
	}
	return pair, nil
}

// usable returns an error if clients would refuse the server's own certificate at the time now.
func (p *certificate) usable(now time.Time) error {
	switch own := p.chain[0]; {
	case now.After(own.NotAfter):
		return fmt.Errorf("the certificate has expired on %s: renew it", own.NotAfter.UTC().Format(time.RFC3339))
	case now.Before(own.NotBefore):
		return errors.New("the certificate is not valid before " + own.NotBefore.UTC().Format(time.RFC3339) +
			": wait, or set the clock of this machine if it is wrong")
	}
	return nil
}

// doubtful returns an error if another certificate of the chain has expired or is not valid yet.
// Clients may still find another path to a trusted root, for example if two authorities have signed
// a certificate.
func (p *certificate) doubtful(now time.Time) error {
	for _, one := range p.chain[1:] {
		if now.After(one.NotAfter) || now.Before(one.NotBefore) {
			return fmt.Errorf("%.60q of the chain is valid from %s to %s only: fetch the chain anew, or leave it out",
				one.Subject.CommonName, one.NotBefore.UTC().Format(time.RFC3339), one.NotAfter.UTC().Format(time.RFC3339))
		}
	}
	return nil
}

// encrypted reports whether a file of keys has a key that needs a password, in PKCS #8 or in the
// old format of OpenSSL.
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
