package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/internal/toyworld"
)

// authority is a certificate authority for localhost. Its own certificate is in a file for clients.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	file string
	last int64
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{file: filepath.Join(t.TempDir(), "ca.pem"), last: 1}
	var err error
	if a.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1),
		Subject:      pkix.Name{CommonName: "Test authority"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		IsCA:         true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &a.key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	if a.cert, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	writePEM(t, a.file, "CERTIFICATE", der)
	return a
}

// issue writes a new certificate and its key, and returns its serial number.
func (a *authority) issue(t *testing.T, certFile, keyFile string) int64 {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	a.last++
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(a.last),
		Subject:      pkix.Name{CommonName: "localhost"},
		NotBefore:    time.Now().Add(-time.Hour),
		NotAfter:     time.Now().Add(time.Hour),
		DNSNames:     []string{"localhost"},
		IPAddresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage:     x509.KeyUsageDigitalSignature,
		ExtKeyUsage:  []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	writePEM(t, certFile, "CERTIFICATE", der)
	writePEM(t, keyFile, "PRIVATE KEY", secret)
	return a.last
}

// certified returns an authority, and the files of a certificate and a key for the server.
func certified(t *testing.T) (a *authority, cert, key string) {
	t.Helper()
	a = newAuthority(t)
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	a.issue(t, cert, key)
	return a, cert, key
}

func writePEM(t *testing.T, file, typ string, der []byte) {
	t.Helper()
	testfile.Write(t, file, pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der}))
}

func (a *authority) client(h2 bool) *http.Client {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return &http.Client{Transport: &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: pool},
		ForceAttemptHTTP2: h2,
		DisableKeepAlives: true,
	}}
}

// TestTLS tests HTTPS with HTTP/1.1 and HTTP/2, and renewed certificates.
func TestTLS(t *testing.T) {
	a, cert, key := certified(t)
	url, _, stop := start(t, "--data", t.TempDir(), "--tls-cert", cert, "--tls-key", key)
	if !strings.HasPrefix(url, "https://") {
		t.Fatalf("it serves %s", url)
	}
	for _, h2 := range []bool{false, true} {
		res, err := a.client(h2).Get(url + "/healthz")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		res.Body.Close()
		if res.StatusCode != 200 || (res.ProtoMajor == 2) != h2 {
			t.Errorf("HTTP/2 %v: %s %s", h2, res.Proto, res.Status)
		}
	}
	// A request with http instead of https gets an answer and not a hanging connection.
	if res, err := http.Get("http" + strings.TrimPrefix(url, "https") + "/healthz"); err == nil {
		res.Body.Close()
		if res.StatusCode != 400 {
			t.Errorf("http to https: %s", res.Status)
		}
	}
	stop()
	refused(t, "--tls-key", "--data", t.TempDir(), "--listen", "127.0.0.1:0", "--tls-cert", cert, "--tls-key",
		filepath.Join(t.TempDir(), "none.pem"))
	if _, err := parse([]string{"--tls-cert", cert}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), "go together") {
		t.Errorf("a certificate without its key: %v", err)
	}
}

// Files that people write may begin with a byte order mark.
func TestByteOrderMarks(t *testing.T) {
	a := newAuthority(t)
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	a.issue(t, file("cert"), file("key"))
	const hash = "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b" // of "secret"
	for name, text := range map[string]string{
		"keys":   "acme:" + hash + "\n",
		"geoip":  "42:" + hash + "\n",
		"config": "tls-cert: " + file("cert") + "\ntls-key: " + file("key") + "\nkeys: " + file("keys") + "\ngeoip-keys: " + file("geoip") + "\n",
		"cert":   "", "key": "",
	} {
		was, err := os.ReadFile(file(name))
		if err != nil && text == "" {
			t.Fatal(err)
		}
		testfile.Write(t, file(name), "\ufeff"+text+string(was))
	}
	url, _, _ := start(t, "--data", dir, "--config", file("config"))
	for key, status := range map[string]int{"secret": 404, "other": 401} {
		res, err := a.client(false).Get(url + "/places/1?key=" + key)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != status {
			t.Errorf("%s: %s, want %d", key, res.Status, status)
		}
	}
}

func TestTLSReload(t *testing.T) {
	a := newAuthority(t)
	dir := t.TempDir()
	cert, key := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	first := a.issue(t, cert, key)
	var log bytes.Buffer
	r, err := newReloaded(slog.New(slog.NewTextHandler(&log, nil)), "--tls-cert, --tls-key", func() (*tls.Certificate, error) {
		pair, err := tls.LoadX509KeyPair(cert, key)
		return &pair, err
	}, cert, key)
	if err != nil {
		t.Fatal(err)
	}
	r.interval = 0
	r.next.Store(0)
	serial := func() int64 { return r.get().Leaf.SerialNumber.Int64() }
	if n := serial(); n != first {
		t.Errorf("certificate %d, want %d", n, first)
	}
	// If only one file of a pair is replaced, the new file is not used, and this is logged once.
	old := testfile.Read(t, key)
	second := a.issue(t, cert, key)
	fresh := testfile.Read(t, key)
	if err := errors.Join(os.WriteFile(key, append(old, '\n'), 0o600)); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if n := serial(); n != first {
			t.Errorf("certificate %d of half a pair, want %d", n, first)
		}
	}
	if n := strings.Count(log.String(), "cannot be used"); n != 1 {
		t.Errorf("told %d times: %s", n, &log)
	}
	testfile.Write(t, key, append(fresh, '\n', '\n'))
	if n := serial(); n != second {
		t.Errorf("certificate %d of a whole pair, want %d: %s", n, second, &log)
	}
	// Removed files have no effect.
	if err := os.Remove(cert); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if n := serial(); n != second {
			t.Errorf("certificate %d, want %d", n, second)
		}
	}
	if n := strings.Count(log.String(), "cannot be used"); n != 2 {
		t.Errorf("told %d times: %s", n, &log)
	}
	third := a.issue(t, cert, key)
	if n := serial(); n != third {
		t.Errorf("certificate %d, want %d", n, third)
	}
}

// TestProxyProtocol tests the PROXY protocol, versions 1 and 2, from trusted and other peers. The
// client that it names may itself be a trusted proxy.
func TestProxyProtocol(t *testing.T) {
	v2 := func(command byte, family byte, payload string) string {
		b, err := hex.DecodeString(payload)
		if err != nil {
			t.Fatal(err)
		}
		return "\r\n\r\n\x00\r\nQUIT\n" + string([]byte{0x20 | command, family, byte(len(b) >> 8), byte(len(b))}) + string(b)
	}
	const refused = ""
	for _, tt := range []struct {
		name   string
		from   string
		header string
		xff    string
		client string // refused for a connection that is closed
	}{
		{"v1", "127.0.0.0/8", "PROXY TCP4 8.8.8.8 192.0.2.1 5555 80\r\n", "", "8.8.8.8"},
		{"v1, IPv6", "127.0.0.0/8", "PROXY TCP6 2620:fe::fe 2001:db8::1 5555 80\r\n", "", "2620:fe::fe"},
		{"v1, no client", "127.0.0.0/8", "PROXY UNKNOWN\r\n", "", "127.0.0.1"},
		{"v2", "127.0.0.1/32", v2(1, 0x11, "08080808c00002010001"+"0050"), "", "8.8.8.8"},
		{
			"v2, IPv6",
			"127.0.0.1/32",
			v2(1, 0x21, "262000fe0000000000000000000000fe"+"20010db8000000000000000000000001"+"15b30050"),
			"",
			"2620:fe::fe",
		},
		{"v2, more behind", "127.0.0.1/32", v2(1, 0x11, "08080808c00002010001"+"0050"+"0400020000"), "", "8.8.8.8"},
		{"v2, its own connection", "127.0.0.1/32", v2(0, 0x00, ""), "", "127.0.0.1"},
		{"v2, UDP", "127.0.0.1/32", v2(1, 0x12, "08080808c00002010001"+"0050"), "", refused},
		{"forged header behind it", "127.0.0.1/32", "PROXY TCP4 8.8.8.8 192.0.2.1 5555 80\r\n", "1.1.1.1", "8.8.8.8"},
		{"a trusted proxy before it", "127.0.0.1/32", "PROXY TCP4 10.0.0.5 192.0.2.1 5555 80\r\n", "1.1.1.1, 9.9.9.9", "9.9.9.9"},
		{"none, though required", "127.0.0.1/32", "", "", refused},
		{"damaged", "127.0.0.1/32", "PROXY TCP4 8.8.8.8 192.0.2.1 99999 80\r\n", "", refused},
		{"not an address", "127.0.0.1/32", "PROXY TCP4 example.org 192.0.2.1 5555 80\r\n", "", refused},
		{"twice", "127.0.0.1/32", "PROXY TCP4 8.8.8.8 192.0.2.1 1 80\r\nPROXY TCP4 1.1.1.1 192.0.2.1 1 80\r\n", "", refused},
		{"forged by an untrusted peer", "10.0.0.0/8", "PROXY TCP4 8.8.8.8 192.0.2.1 5555 80\r\n", "", refused},
		{"an untrusted peer without one", "10.0.0.0/8", "", "1.1.1.1", "127.0.0.1"},
		{"not configured", "", "PROXY TCP4 8.8.8.8 192.0.2.1 5555 80\r\n", "", refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := []string{"--data", t.TempDir(), "--trusted-proxy", "10.0.0.0/8", "--access-log"}
			if tt.from != "" {
				args = append(args, "--proxy-protocol-from", tt.from)
			}
			url, log, stop := start(t, args...)
			conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := fmt.Fprintf(conn, "%sGET /healthz HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: %s\r\nConnection: close\r\n\r\n",
				tt.header, tt.xff); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
			stop()
			served := err == nil && res.StatusCode == 200
			if served != (tt.client != refused) {
				t.Fatalf("served %v (%v): %s", served, err, log)
			}
			if served && !log.has("client="+tt.client+" ") {
				t.Errorf("client is not %s: %s", tt.client, log)
			}
		})
	}
}

// TestProxyProtocolTLS tests connections on which the PROXY header comes before the TLS handshake.
func TestProxyProtocolTLS(t *testing.T) {
	a, cert, key := certified(t)
	url, log, stop := start(t, "--data", t.TempDir(), "--tls-cert", cert, "--tls-key", key, "--proxy-protocol-from", "127.0.0.1",
		"--access-log")
	client := a.client(true)
	client.Transport.(*http.Transport).DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(ctx, network, addr)
		if err == nil {
			_, err = io.WriteString(conn, "PROXY TCP4 8.8.8.8 192.0.2.1 5555 443\r\n")
		}
		return conn, err
	}
	res, err := client.Get(url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	stop()
	if res.StatusCode != 200 || res.ProtoMajor != 2 || !log.has("client=8.8.8.8 ") {
		t.Errorf("%s %s: %s", res.Proto, res.Status, log)
	}
}

// Client addresses are read from the configured header.
func TestForwardedHeader(t *testing.T) {
	for flag, want := range map[string]string{"x-forwarded-for": "8.8.8.8", "forwarded": "9.9.9.9"} {
		url, log, stop := start(t, "--data", t.TempDir(), "--trusted-proxy", "127.0.0.1", "--forwarded-header", flag, "--access-log")
		req, err := http.NewRequestWithContext(t.Context(), "GET", url+"/healthz", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Forwarded-For", "8.8.8.8")
		req.Header.Set("Forwarded", "for=9.9.9.9")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		stop()
		if !log.has("client=" + want + " ") {
			t.Errorf("%s: client is not %s: %s", flag, want, log)
		}
	}
}

// TestBatchOutlivesTimeouts tests that the timeouts of other requests do not end a batch, neither
// while its body is read nor while its answer is sent.
func TestBatchOutlivesTimeouts(t *testing.T) {
	dir := publish(t, t.TempDir())
	url, _, _ := start(t, "--data", dir, "--read-timeout", "500ms", "--write-timeout", "500ms", "--idle-timeout", "500ms")
	r, w := io.Pipe()
	line := toyworld.Address(0).String() + "\n"
	go func() { _, _ = io.WriteString(w, line) }()
	res, err := http.Post(url+"/ip/batch", "application/x-ndjson", r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	lines := bufio.NewReader(res.Body)
	for i := range 4 {
		if text, err := lines.ReadString('\n'); err != nil || !strings.Contains(text, `"DE"`) {
			t.Fatalf("line %d: %v %s", i, err, text)
		}
		time.Sleep(600 * time.Millisecond)
		if _, err := io.WriteString(w, line); err != nil {
			t.Fatal(err)
		}
	}
	w.Close()
	if rest, err := io.ReadAll(lines); err != nil || strings.Count(string(rest), "\n") != 1 {
		t.Errorf("the last: %v %s", err, rest)
	}
}
