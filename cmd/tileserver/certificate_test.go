package main

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/internal/testfile"
)

// dated makes a certificate and its key. from and until are its validity relative to now.
func dated(t *testing.T, from, until time.Duration) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "localhost"},
		NotBefore: time.Now().Add(from), NotAfter: time.Now().Add(until)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	testfile.Write(t, cert, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	testfile.Write(t, key, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})))
	return cert, key
}

// config check reports a certificate that clients will refuse, and a key that cannot be read. A
// server starts despite such a certificate, and logs why clients refuse it.
func TestCertificateDates(t *testing.T) {
	check := func(args ...string) error {
		return run(t.Context(), append([]string{"config", "check", "--data", t.TempDir()}, args...), io.Discard, io.Discard)
	}
	cert, key := dated(t, -time.Hour, time.Hour)
	if err := check("--tls-cert", cert, "--tls-key", key); err != nil {
		t.Errorf("a good one: %v", err)
	}
	for kind, block := range map[string]*pem.Block{
		"of PKCS #8": {Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")},
		"of old": {
			Type:    "EC PRIVATE KEY",
			Headers: map[string]string{"Proc-Type": "4,ENCRYPTED", "DEK-Info": "AES-256-CBC,00"},
			Bytes:   []byte("x"),
		},
		"behind else": {Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")},
	} {
		text := string(pem.EncodeToMemory(block))
		if kind == "behind else" {
			text = string(pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte("x")})) + text
		}
		file := filepath.Join(t.TempDir(), "key.pem")
		testfile.Write(t, file, text)
		if err := check("--tls-cert", cert, "--tls-key", file); err == nil || !strings.Contains(err.Error(), "is encrypted") ||
			!strings.Contains(err.Error(), "openssl pkey") {
			t.Errorf("an encrypted key %s: %v", kind, err)
		}
	}
	// An error in the rest of the chain does not prevent serving, but it is reported.
	expired, _ := dated(t, -2*time.Hour, -time.Hour)
	rest, err := os.ReadFile(expired)
	if err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	chain := filepath.Join(t.TempDir(), "chain.pem")
	testfile.Write(t, chain, string(first)+string(rest))
	if err := check("--tls-cert", chain, "--tls-key", key); err != nil {
		t.Errorf("a chain that ends expired: %v", err)
	}
	pair, err := (&config{TLSCert: chain, TLSKey: key}).readCertificate()
	if err != nil {
		t.Fatal(err)
	}
	if err := pair.doubtful(time.Now()); err == nil || !strings.Contains(err.Error(), "of the chain is valid from") {
		t.Errorf("of a chain that ends expired: %v", err)
	}
	for want, at := range map[string][2]time.Duration{
		"has expired on":      {-2 * time.Hour, -time.Hour},
		"is not valid before": {time.Hour, 2 * time.Hour},
	} {
		cert, key := dated(t, at[0], at[1])
		if err := check("--tls-cert", cert, "--tls-key", key); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("config check: %v, want %q", err, want)
		}
		_, log, stop := start(t, "--data", t.TempDir(), "--tls-cert", cert, "--tls-key", key, "--admin-listen", "127.0.0.1:0")
		_, text := fetch(t, adminOf(t, log)+"/metrics")
		if !log.has(want) {
			t.Errorf("the start does not say %q: %s", want, log)
		}
		_, text, _ = strings.Cut(text, "\nquadrille_tls_certificate_expiry_seconds ")
		text, _, _ = strings.Cut(text, "\n")
		if got, err := strconv.ParseFloat(text, 64); err != nil || math.Abs(got-float64(time.Now().Add(at[1]).Unix())) > 600 {
			t.Errorf("the metric is %q, expected what is %v from now", text, at[1])
		}
		stop()
	}
}

// With --log-format json each line on both streams is JSON, including errors at the start.
func TestJSONLines(t *testing.T) {
	var out bytes.Buffer
	c := &config{LogFormat: "json"}
	c.sayServing(&out, "http://127.0.0.1:1")
	c.sayLast(&out, errors.New("two\nlines"))
	for line := range strings.Lines(out.String()) {
		if !strings.HasPrefix(line, `{"time":"`) || !strings.HasSuffix(line, "}\n") {
			t.Errorf("%q is not JSON", line)
		}
	}
	file := filepath.Join(t.TempDir(), "c.yaml")
	testfile.Write(t, file, "log-format: json\n")
	for name, args := range map[string][]string{
		"a flag":         {"--log-format=json", "--nonsense"},
		"two words":      {"--log-format", "json", "--cache=x"},
		"the file":       {"--config", file, "--cache=x"},
		"a wrong value":  {"--log-format=json", "--cache-control=max_age=1"},
		"what does work": {"--log-format=json"},
	} {
		if c, _ := parse(args, io.Discard, io.Discard); c == nil || c.LogFormat != "json" {
			t.Errorf("%s: the reason would not be JSON", name)
		}
	}
	if c, _ := parse([]string{"--nonsense", "--config", file, "--log-format=text"}, io.Discard, io.Discard); c.LogFormat != "text" {
		t.Errorf("the command line does not win: %s", c.LogFormat)
	}
}

// Every setting refuses a text that is not an address with a port, with a clear message.
func TestAddresses(t *testing.T) {
	for _, flag := range []string{"--listen", "--admin-listen"} {
		for address, want := range map[string]string{
			"http://127.0.0.1:6060":  "alone, such as 127.0.0.1:6060",
			"https://a.example:443/": "--tls-cert",
			"6060":                   "write :6060",
			"127.0.0.1":              "must be an address and port",
			"127.0.0.1:6060/x":       "has a path", "::1:80": "must be", "http://": "such as 127.0.0.1:8080",
		} {
			if _, err := parse([]string{flag + "=" + address}, io.Discard, io.Discard); err == nil ||
				!strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), flag) {
				t.Errorf("%s=%s: %v, want %q", flag, address, err, want)
			}
		}
		if _, err := parse([]string{flag + "=[::1]:0"}, io.Discard, io.Discard); err != nil {
			t.Errorf("%s: %v", flag, err)
		}
	}
}
