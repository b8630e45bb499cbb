package hbasestore

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"quadrille/cellstore/hbasestore/internal/thrift2"
)

// Options describe a store and the way to reach it. The zero value of every field but Gateways and
// Namespace is a useful default.
type Options struct {
	// Gateways are the addresses, host:port, of Thrift2 gateways of one
	// cluster. Calls are spread over those that answer.
	Gateways []string
	// Namespace holds the store's tables. It is created together with the first table.
	Namespace string
	// Prefix begins the names of the store's tables in HBase, so that several stores can share a
	// namespace.
	Prefix string

	FramedTransport bool        // framed transport, for nonblocking gateways
	CompactProtocol bool        // compact protocol instead of binary
	HTTPPath        string      // path of an HTTP gateway, "" for a bare connection
	Header          http.Header // sent with every call over HTTP
	TLS             *tls.Config // nil for none

	// Timeout bounds the total time of all attempts of a call whose context has no deadline. The
	// default is 10 s. Changes of schema get six times as much.
	Timeout time.Duration
	// TryTimeout bounds one attempt of a call; the default is 3 s.
	TryTimeout time.Duration
	// Tries bounds the number of attempts of a call; the default is 6.
	Tries int
	// Connections bounds the connections to one gateway; 64 by default. A
	// call waits for a free one.
	Connections int
	// ScanRows is the number of rows that a scan fetches at once unless its Batch is set; 512 by
	// default.
	ScanRows int
	// Fsync makes durable writes wait for the disks of the data nodes rather
	// than for their memory.
	Fsync bool
	// NoCompression makes tables without compression, for clusters without the codecs of a schema.
	NoCompression bool
	// ReadOnly refuses every write with ErrReadOnly.
	ReadOnly bool
	// CompactTable is called by Store.Compact, since the gateway has no such call. It returns when
	// the compaction is done, and must not call the Store. Without it Compact returns
	// errors.ErrUnsupported.
	CompactTable func(ctx context.Context, namespace, table string) error
}

// maxTableName is the contract's limit of the length of a table's name.
const maxTableName = 64

func (o Options) withDefaults() (Options, error) {
	if len(o.Gateways) == 0 {
		return o, errors.New("no gateway is named: give the address of an HBase Thrift2 gateway as host:port")
	}
	for _, g := range o.Gateways {
		if host, port, err := net.SplitHostPort(g); err != nil || host == "" || port == "" {
			return o, fmt.Errorf("gateway %q is not an address: write host:port", g)
		}
	}
	if !namespaceOK(o.Namespace) {
		return o, fmt.Errorf("namespace %q must be of letters, digits and _", o.Namespace)
	}
	if n := len(o.Namespace) + len(o.Prefix) + 1 + maxTableName; n > maxTablePath {
		return o, fmt.Errorf("namespace and prefix are too long by %d bytes", n-maxTablePath)
	}
	if o.HTTPPath != "" && !strings.HasPrefix(o.HTTPPath, "/") {
		return o, fmt.Errorf("path %q of the HTTP gateway must begin with /", o.HTTPPath)
	}
	fill := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	fill(&o.Timeout, 10*time.Second)
	fill(&o.TryTimeout, 3*time.Second)
	count := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	count(&o.Tries, 6)
	count(&o.Connections, 64)
	count(&o.ScanRows, 512)
	return o, nil
}

func (o *Options) config() thrift2.Config {
	return thrift2.Config{Framed: o.FramedTransport, Compact: o.CompactProtocol, HTTP: o.HTTPPath, Header: o.Header, TLS: o.TLS}
}

func namespaceOK(s string) bool {
	return s != "" && len(s) <= 64 && strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) < 0
}

// Scheme is the scheme of the URLs that ParseURL reads.
const Scheme = "hbase"

// ParseURL reads the address of a store:
//
//	hbase://host:port[,host:port…]/namespace[?option=value&…]
//
// The port is 9090 when it is left out. Options: transport (buffered, framed or
// http), protocol (binary or compact), path (of an HTTP gateway), tls (on), ca
// (file of certificates to trust), cert and key (files of the client's own),
// servername, timeout, try-timeout (durations such as 3s), tries, connections,
// scan-rows, fsync (on), compression (on or off).
//
// Credentials of an HTTP gateway, user:password@ before the hosts, are sent as
// basic authentication, and only over TLS.
func ParseURL(s string) (Options, error) {
	bad := func(format string, args ...any) (Options, error) {
		return Options{}, fmt.Errorf("store address: %s: write hbase://host:port/namespace", fmt.Sprintf(format, args...))
	}
	rest, ok := strings.CutPrefix(s, Scheme+"://")
	if !ok {
		return bad("it does not begin with %s://", Scheme)
	}
	// net/url refuses several hosts with ports, so they are cut out first.
	hosts, rest, ok := strings.Cut(rest, "/")
	if !ok {
		return bad("the namespace is missing")
	}
	u, err := url.Parse("/" + rest)
	if err != nil {
		return bad("what follows the hosts is not valid")
	}
	if strings.Contains(u.Path, "@") { // a part of the credentials, not to be shown
		return bad("credentials must have %%2F instead of /")
	}
	var o Options
	credentials, list, ok := cutLast(hosts, "@")
	if !ok {
		credentials, list = "", hosts
	}
	for h := range strings.SplitSeq(list, ",") {
		if _, _, err := net.SplitHostPort(h); err != nil {
			h = net.JoinHostPort(strings.Trim(h, "[]"), "9090")
		}
		o.Gateways = append(o.Gateways, h)
	}
	o.Namespace = strings.TrimPrefix(u.Path, "/")
	q, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return bad("its options are not valid")
	}
	if err := o.parse(q); err != nil {
		return bad("%v", err)
	}
	if credentials != "" {
		if o.HTTPPath == "" || o.TLS == nil {
			return bad("credentials are sent over transport=http with tls=on only")
		}
		user, err := url.Parse("http://" + credentials + "@host")
		if err != nil || user.User == nil {
			return bad("the credentials are not valid")
		}
		password, _ := user.User.Password()
		r := &http.Request{Header: http.Header{}}
		r.SetBasicAuth(user.User.Username(), password)
		o.Header = r.Header
	}
	return o.withDefaults()
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return "", s, false
}

func (o *Options) parse(q url.Values) (err error) {
	known := []string{"transport", "protocol", "path", "tls", "ca", "cert", "key", "servername", "timeout", "try-timeout",
		"tries", "connections", "scan-rows", "fsync", "compression"}
	for name, values := range q {
		if !slices.Contains(known, name) {
			return fmt.Errorf("there is no option %q, there are %s", name, strings.Join(known, ", "))
		}
		if len(values) != 1 {
			return fmt.Errorf("option %s is given %d times", name, len(values))
		}
	}
	choose := func(name string, values ...string) int {
		v := q.Get(name)
		i := slices.Index(values, v)
		if v == "" {
			i = 0
		}
		if i < 0 && err == nil {
			err = fmt.Errorf("option %s is %q, it can be %s", name, v, strings.Join(values, ", "))
		}
		return i
	}
	path := q.Get("path")
	switch choose("transport", "buffered", "framed", "http") {
	case 1:
		o.FramedTransport = true
	case 2:
		o.HTTPPath = "/"
		if path != "" {
			o.HTTPPath = path
		}
	}
	if path != "" && o.HTTPPath == "" {
		return errors.New("option path is for transport=http")
	}
	o.CompactProtocol = choose("protocol", "binary", "compact") == 1
	o.NoCompression = choose("compression", "on", "off") == 1
	o.Fsync = choose("fsync", "off", "on") == 1
	duration := func(name string, to *time.Duration) {
		if v := q.Get(name); v != "" && err == nil {
			if *to, err = time.ParseDuration(v); err != nil || *to <= 0 {
				err = fmt.Errorf("option %s is %q, it must be a duration such as 3s", name, v)
			}
		}
	}
	duration("timeout", &o.Timeout)
	duration("try-timeout", &o.TryTimeout)
	count := func(name string, to *int) {
		if v := q.Get(name); v != "" && err == nil {
			if *to, err = strconv.Atoi(v); err != nil || *to <= 0 || *to > 1<<16 {
				err = fmt.Errorf("option %s is %q, it must be a number from 1 to 65536", name, v)
			}
		}
	}
	count("tries", &o.Tries)
	count("connections", &o.Connections)
	count("scan-rows", &o.ScanRows)
	useTLS := choose("tls", "off", "on") == 1
	if err != nil {
		return err
	}
	return o.parseTLS(q, useTLS)
}

func (o *Options) parseTLS(q url.Values, use bool) error {
	for _, name := range []string{"ca", "cert", "key", "servername"} {
		if q.Get(name) != "" && !use {
			return fmt.Errorf("option %s needs tls=on", name)
		}
	}
	if !use {
		return nil
	}
	o.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: q.Get("servername")}
	if file := q.Get("ca"); file != "" {
		pem, err := readText(file)
		if err != nil {
			return err
		}
		o.TLS.RootCAs = x509.NewCertPool()
		if !o.TLS.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("there is no certificate in %s", file)
		}
	}
	cert, key := q.Get("cert"), q.Get("key")
	if (cert == "") != (key == "") {
		return errors.New("options cert and key go together")
	}
	if cert != "" {
		chain, err := readText(cert)
		if err != nil {
			return err
		}
		own, err := readText(key)
		if err != nil {
			return err
		}
		pair, err := tls.X509KeyPair(chain, own)
		if err != nil {
			return err
		}
		o.TLS.Certificates = []tls.Certificate{pair}
	}
	return nil
}

// readText reads a file, and drops a byte order mark at its beginning.
func readText(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	return bytes.TrimPrefix(text, []byte("\ufeff")), err
}
