package main

import (
	"bytes"
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

	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/toyworld"
)

// TestNginx runs the example of docs/ip-proxies.md. QUADRILLE_NGINX may name
// the program.
func TestNginx(t *testing.T) {
	program := os.Getenv("QUADRILLE_NGINX")
	if program == "" {
		var err error
		if program, err = exec.LookPath("nginx"); err != nil {
			t.Skip("nginx is not installed; QUADRILLE_NGINX may say where it is")
		}
	}
	doc, err := os.ReadFile("../../docs/ip-proxies.md")
	if err != nil {
		t.Fatal(err)
	}
	_, example, _ := strings.Cut(string(doc), "```nginx\n")
	example, _, ok := strings.Cut(example, "```")
	if !ok {
		t.Fatal("there is no example")
	}
	data := t.TempDir()
	c, err := dataset.Open(data, toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	if err := toyworld.PublishAddresses(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	server, _, stop := start(t, "--data", data, "--trusted-proxy", "127.0.0.1")
	seen := make(chan http.Header, 1)
	application := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.Header }))
	defer application.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	front := l.Addr().String()
	l.Close()
	example = strings.NewReplacer("127.0.0.1:8080", host(t, server), "127.0.0.1:3000", host(t, application.URL), "listen 80;", "listen "+front+";").Replace(example)

	dir := t.TempDir()
	var conf bytes.Buffer
	fmt.Fprintf(&conf, "daemon off; master_process off; pid %[1]s/pid; error_log stderr; events {}\nhttp { access_log off;", dir)
	for _, temp := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		fmt.Fprintf(&conf, " %s_temp_path %s/%s;", temp, dir, temp)
	}
	// The test's clients come from wherever they say.
	fmt.Fprintf(&conf, " set_real_ip_from 127.0.0.1; real_ip_header X-Test;\n%s}\n", example)
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, conf.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var out syncBuffer
	nginx := exec.CommandContext(t.Context(), program, "-p", dir, "-c", file)
	nginx.Stdout, nginx.Stderr = &out, &out
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _, _ = nginx.Process.Kill(), nginx.Wait() }()
	waitFor(t, "nginx", func() bool {
		conn, err := net.DialTimeout("tcp", front, time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})

	ask := func(method, client string) http.Header {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+front+"/shop?id=1", strings.NewReader("a body"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Test", client)
		for _, forged := range []string{"X-Geo-Country", "X-Geo-City", "X-Geo-Status"} {
			req.Header.Set(forged, "forged")
		}
		req.Header.Set("X-Forwarded-For", "8.8.8.8")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 200 {
			t.Fatalf("%s: %s: %s", client, res.Status, &out)
		}
		return <-seen
	}
	for _, method := range []string{"GET", "POST"} {
		if h := ask(method, toyworld.Address(0).String()); h.Get("X-Geo-Status") != "found" || h.Get("X-Geo-Country") != "DE" || len(h["X-Geo-City"]) != 0 {
			t.Errorf("known: %v", h)
		}
		if h := ask(method, toyworld.Address(3).String()); h.Get("X-Geo-Country") != "FR" {
			t.Errorf("known, IPv6: %v", h)
		}
		if h := ask(method, "10.0.0.1"); h.Get("X-Geo-Status") != "reserved" || len(h["X-Geo-Country"]) != 0 {
			t.Errorf("reserved: %v", h)
		}
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	if h := ask("GET", toyworld.Address(0).String()); len(h["X-Geo-Status"]) != 0 || len(h["X-Geo-Country"]) != 0 {
		t.Errorf("the server is down: %v", h)
	}
}

func host(t *testing.T, address string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}
