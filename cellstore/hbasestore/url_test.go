package hbasestore

import (
	"crypto/x509"
	"encoding/pem"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/internal/must"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		url      string
		gateways string
		check    func(Options) bool
	}{
		{"hbase://a:1/ns", "a:1", func(o Options) bool {
			return o.Namespace == "ns" && !o.FramedTransport && !o.CompactProtocol && o.HTTPPath == "" &&
				o.TLS == nil && o.Timeout == 10*time.Second
		}},
		{"hbase://a/ns", "a:9090", nil},
		{"hbase://a,b:7,[::1],[::2]:8/ns", "a:9090 b:7 [::1]:9090 [::2]:8", nil},
		{"hbase://a/ns?transport=framed&protocol=compact", "a:9090",
			func(o Options) bool { return o.FramedTransport && o.CompactProtocol }},
		{"hbase://a/ns?transport=http", "a:9090", func(o Options) bool { return o.HTTPPath == "/" }},
		{"hbase://a/ns?transport=http&path=/x/y", "a:9090", func(o Options) bool { return o.HTTPPath == "/x/y" }},
		{"hbase://a/ns?tls=on&servername=z", "a:9090", func(o Options) bool { return o.TLS != nil && o.TLS.ServerName == "z" }},
		{"hbase://a/ns?timeout=1m&try-timeout=1500ms&tries=9&connections=5&scan-rows=77", "a:9090", func(o Options) bool {
			return o.Timeout == time.Minute && o.TryTimeout == 1500*time.Millisecond && o.Tries == 9 && o.Connections == 5 && o.ScanRows == 77
		}},
		{"hbase://a/ns?fsync=on&compression=off", "a:9090", func(o Options) bool { return o.Fsync && o.NoCompression }},
		{
			"hbase://u:p%40w@a/ns?transport=http&tls=on",
			"a:9090",
			func(o Options) bool { return o.Header.Get("Authorization") == "Basic dTpwQHc=" },
		},
	} {
		o, err := ParseURL(c.url)
		if err != nil {
			t.Errorf("%s: %v", c.url, err)
			continue
		}
		if got := strings.Join(o.Gateways, " "); got != c.gateways {
			t.Errorf("%s: gateways %s", c.url, got)
		}
		if c.check != nil && !c.check(o) {
			t.Errorf("%s: %+v", c.url, o)
		}
	}
}

func TestParseURLRefuses(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"":                                            "hbase://",
		"http://a/ns":                                 "hbase://",
		"hbase:a/ns":                                  "hbase://",
		"hbase://a":                                   "namespace",
		"hbase://a/":                                  "namespace",
		"hbase://a/n-s":                               "namespace",
		"hbase://a/n/s":                               "namespace",
		"hbase:///ns":                                 "host",
		"hbase://a,,b/ns":                             "host",
		"hbase://a/ns?nothing=1":                      "nothing",
		"hbase://a/ns?tls=on&tls=on":                  "times",
		"hbase://a/ns?tls=yes":                        "tls",
		"hbase://a/ns?transport=udp":                  "transport",
		"hbase://a/ns?protocol=json":                  "protocol",
		"hbase://a/ns?path=/x":                        "path",
		"hbase://a/ns?transport=http&path=x":          "path",
		"hbase://a/ns?timeout=5":                      "timeout",
		"hbase://a/ns?timeout=-1s":                    "timeout",
		"hbase://a/ns?tries=0":                        "tries",
		"hbase://a/ns?tries=99999999":                 "tries",
		"hbase://a/ns?ca=/nothing":                    "tls=on",
		"hbase://a/ns?tls=on&ca=/nothing":             "nothing",
		"hbase://a/ns?tls=on&cert=/nothing":           "cert and key",
		"hbase://u:secret@a/ns":                       "credentials",
		"hbase://u:secret@a/ns?transport=http":        "credentials",
		"hbase://a/ns?%zz":                            "options",
		"hbase://u:x/secret@a/ns":                     "%2F",
		"hbase://u#secret@a/ns?transport=http&tls=on": "credentials",
	} {
		_, err := ParseURL(url)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v; want a word on %s", url, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the password is in the error: %v", url, err)
		}
	}
}

// A certificate file may begin with a byte order mark. An earlier release skipped the certificate
// after the mark and trusted only the following ones.
func TestMarkedCertificate(t *testing.T) {
	own, _ := testCertificate(t)
	secret, err := x509.MarshalPKCS8PrivateKey(own.PrivateKey)
	must.Do(t, err)
	file := func(typ string, der []byte) string {
		name := filepath.Join(t.TempDir(), "pem")
		must.Do(t, os.WriteFile(name, append([]byte("\ufeff"), pem.EncodeToMemory(&pem.Block{Type: typ, Bytes: der})...), 0o600))
		return url.QueryEscape(name)
	}
	cert := file("CERTIFICATE", own.Certificate[0])
	o, err := ParseURL("hbase://a/ns?tls=on&ca=" + cert + "&cert=" + cert + "&key=" + file("PRIVATE KEY", secret))
	if err != nil || o.TLS.RootCAs == nil || len(o.TLS.Certificates) != 1 {
		t.Errorf("%+v, %v", o.TLS, err)
	}
}

func FuzzParseURL(f *testing.F) {
	for _, s := range []string{"hbase://a:1,b/ns?tls=on", "hbase://u:p@a/ns?transport=http&tls=on", "hbase://[::1]/n",
		"hbase://a/ns?timeout=3s"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Contains(s, "ca=") || strings.Contains(s, "cert=") {
			return // reads files
		}
		o, err := ParseURL(s)
		if err != nil {
			return
		}
		if len(o.Gateways) == 0 || slices.Contains(o.Gateways, "") || !namespaceOK(o.Namespace) || o.Tries <= 0 || o.Timeout <= 0 ||
			o.TryTimeout <= 0 {
			t.Errorf("%q is taken as %+v", s, o)
		}
		if len(o.Header) > 0 && o.TLS == nil {
			t.Errorf("%q sends credentials in the clear", s)
		}
	})
}
