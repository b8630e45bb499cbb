package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/internal/toyworld"
)

// A proxy runs an example of docs/ip.md in front of a server and an application.
type proxy struct {
	program string // its name on the PATH
	example string // the language of the example's block
	listen  string // how the example says where it listens, if it does
	// configure completes the configuration of the example, for a proxy that listens on an address
	// and stores its files in a directory.
	configure func(example, listen, dir string) string
	args      func(file, dir string) []string
	header    string // in which the test's clients say where they come from
}

var proxies = map[string]proxy{
	"nginx": {
		program: "nginx", example: "nginx", listen: "listen 80;", header: "X-Test",
		configure: func(example, _, dir string) string {
			var b strings.Builder
			fmt.Fprintf(&b, "daemon off; master_process off; pid %[1]s/pid; error_log stderr; events {}\nhttp { access_log off;", dir)
			for _, temp := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
				fmt.Fprintf(&b, " %s_temp_path %s/%s;", temp, dir, temp)
			}
			fmt.Fprintf(&b, " set_real_ip_from 127.0.0.1; real_ip_header X-Test;\n%s}\n", example)
			return b.String()
		},
		args: func(file, dir string) []string { return []string{"-p", dir, "-c", file} },
	},
	"Caddy": {
		program: "caddy", example: "caddyfile", listen: ":80 {", header: "X-Forwarded-For",
		configure: func(example, _, _ string) string {
			// Debian 12 has Caddy 2.6, so nothing newer is used.
			return "{\n\tadmin off\n}\n" + strings.ReplaceAll(example, "/ip/headers\n", "/ip/headers\n\t\t\ttrusted_proxies 127.0.0.1\n")
		},
		args: func(file, _ string) []string { return []string{"run", "--adapter", "caddyfile", "--config", file} },
	},
	"Envoy": {
		program: "envoy", example: "yaml", header: "X-Forwarded-For",
		configure: func(example, listen, _ string) string {
			host, port, _ := net.SplitHostPort(listen)
			_, clusters, _ := strings.Cut(example, "clusters:")
			example, _, _ = strings.Cut(example, "clusters:")
			return `static_resources:
  listeners:
  - address: { socket_address: { address: ` + host + `, port_value: ` + port + ` } }
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: front
          use_remote_address: true
          route_config:
            virtual_hosts:
            - name: all
              domains: ["*"]
              routes: [{ match: { prefix: / }, route: { cluster: application } }]
          ` + strings.ReplaceAll(strings.TrimSpace(example), "\n", "\n          ") + `
  clusters:` + strings.ReplaceAll(strings.TrimRight(clusters, "\n "), "\n", "\n  ") + "\n"
		},
		args: func(file, _ string) []string {
			return []string{"--config-path", file, "--disable-hot-restart", "--concurrency", "1", "--log-level", "warning"}
		},
	},
}

// TestProxies runs each example of docs/ip.md in its proxy.
func TestProxies(t *testing.T) {
	doc := document(t, "docs", "ip.md")
	for name, p := range proxies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program, err := exec.LookPath(p.program)
			if err != nil {
				t.Skipf("%s is not on the PATH", p.program)
			}
			_, example, _ := strings.Cut(doc, "```"+p.example+"\n")
			example, _, ok := strings.Cut(example, "```")
			if !ok {
				t.Fatal("there is no example")
			}
			p.judge(t, program, example)
		})
	}
}

// TestNginxDeny runs the example of nginx with the line that refuses countries.
func TestNginxDeny(t *testing.T) {
	p := proxies["nginx"]
	program, err := exec.LookPath(p.program)
	if err != nil {
		t.Skipf("%s is not on the PATH", p.program)
	}
	const line, deny = "proxy_pass http://quadrille/ip/headers;", "proxy_pass http://quadrille/ip/headers?deny=FR,AT;"
	doc := document(t, "docs", "ip.md")
	_, example, _ := strings.Cut(doc, "```nginx\n")
	example, _, _ = strings.Cut(example, "```")
	if !strings.Contains(example, line) || !strings.Contains(doc, deny) {
		t.Fatalf("docs/ip.md lacks %q or %q", line, deny)
	}
	ask, out, stop := p.begin(t, program, strings.Replace(example, line, deny, 1))
	for _, method := range []string{"GET", "POST"} {
		for client, want := range map[string]int{toyworld.Address(0).String(): 200, toyworld.Address(3).String(): 403, "10.0.0.1": 200} {
			if status, _ := ask(method, client); status != want {
				t.Errorf("%s by %s: %d, want %d: %s", method, client, status, want, out)
			}
		}
	}
	stop()
	if status, _ := ask("GET", toyworld.Address(3).String()); status != 200 {
		t.Errorf("the server is down: %d", status)
	}
}

func (p proxy) judge(t *testing.T, program, example string) {
	try, out, stop := p.begin(t, program, example)
	ask := func(method, client string) http.Header {
		t.Helper()
		status, h := try(method, client)
		if status != 200 {
			t.Fatalf("%s: %d: %s", client, status, out)
		}
		return h
	}
	for _, method := range []string{"GET", "POST"} {
		if h := ask(method, toyworld.Address(0).String()); h.Get("X-Geo-Status") != "found" || h.Get("X-Geo-Country") != "DE" ||
			h.Get("X-Geo-City") != "" {
			t.Errorf("known: %v", h)
		}
		if h := ask(method, toyworld.Address(3).String()); h.Get("X-Geo-Country") != "FR" {
			t.Errorf("known, IPv6: %v", h)
		}
		if h := ask(method, "10.0.0.1"); h.Get("X-Geo-Status") != "reserved" || h.Get("X-Geo-Country") != "" {
			t.Errorf("reserved: %v", h)
		}
	}
	stop()
	if h := ask("GET", toyworld.Address(0).String()); len(h["X-Geo-Status"]) != 0 || len(h["X-Geo-Country"]) != 0 ||
		len(h["X-Geo-City"]) != 0 {
		t.Errorf("the server is down: %v", h)
	}
}

// begin starts the proxy in front of a server and an application. ask sends a request of a client
// with forged headers about its location. It returns the status and, for 200, the headers that the
// application received. out is the output of the proxy, and stop stops the server.
func (p proxy) begin(t *testing.T, program, example string) (ask func(method, client string) (int, http.Header),
	out fmt.Stringer, stop func()) {
	t.Helper()
	data := t.TempDir()
	c := catalogIn(t, data)
	if err := toyworld.PublishAddresses(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	args := []string{"--data", data, "--trusted-proxy", "127.0.0.1"}
	// For a caller on the loopback interface, Envoy sends the machine's own address.
	own, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range own {
		address, _, _ := strings.Cut(a.String(), "/")
		args = append(args, "--trusted-proxy", address)
	}
	server, _, stop := start(t, args...)
	seen := make(chan http.Header, 1)
	application := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header }))
	t.Cleanup(application.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := l.Addr().String()
	l.Close()
	port := func(address string) string { return "port_value: " + address[strings.LastIndex(address, ":")+1:] }
	replace := []string{
		"127.0.0.1:8080", host(t, server), "127.0.0.1:3000", host(t, application.URL),
		"port_value: 8080", port(server), "port_value: 3000", port(application.URL),
	}
	if p.listen != "" {
		replace = append(replace, p.listen, strings.Replace(strings.Replace(p.listen, ":80", "http://"+front, 1), " 80;", " "+front+";", 1))
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "conf.yaml")
	testfile.Write(t, file, p.configure(strings.NewReplacer(replace...).Replace(example), front, dir))
	output := new(syncBuffer)
	cmd := exec.CommandContext(t.Context(), program, p.args(file, dir)...)
	cmd.Stdout, cmd.Stderr = output, output
	cmd.Env = append(os.Environ(), "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir) // where Caddy keeps its last configuration
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), <-ended })
	waitFor(t, p.program, func() bool {
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ended: %v\n%s", p.program, err, output)
		default:
		}
		conn, err := net.DialTimeout("tcp", front, time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})

	return func(method, client string) (int, http.Header) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+front+"/shop?id=1", strings.NewReader("a body"))
		if err != nil {
			t.Fatal(err)
		}
		for _, forged := range []string{"X-Geo-Country", "X-Geo-City", "X-Geo-Status"} {
			req.Header.Set(forged, "forged")
		}
		req.Header.Set("X-Forwarded-For", "8.8.8.8")
		req.Header.Set(p.header, client)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 200 {
			return res.StatusCode, nil
		}
		return res.StatusCode, <-seen
	}, output, stop
}

func host(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}
