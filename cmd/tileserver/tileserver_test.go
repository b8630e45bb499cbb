package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"quadrille/cmd/internal/bytesize"
	"quadrille/cmd/internal/toyworld"
	"quadrille/cmd/internal/version"
	"quadrille/internal/testrace"
)

// syncBuffer is a buffer for the output of a running program.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// has reports whether a running program has logged a text. It waits, because the log may be
// delayed.
func (s *syncBuffer) has(text string) bool {
	for range 1000 {
		if strings.Contains(s.String(), text) {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

// adminOf returns the address of the admin listener, which the program logs.
func adminOf(t *testing.T, log *syncBuffer) string {
	t.Helper()
	const before = "msg=administration url="
	if !log.has(before) {
		t.Fatalf("no --admin-listen: %s", log)
	}
	_, admin, _ := strings.Cut(log.String(), before)
	admin, _, _ = strings.Cut(admin, "\n")
	return admin
}

// start runs the program and returns its address, its log, and a function that stops it. It is
// stopped at the end of the test at the latest. If the server ends with an error, the test fails.
func start(t *testing.T, args ...string) (url string, log *syncBuffer, stop func()) {
	t.Helper()
	url, log, end := tryStart(t, args...)
	if url == "" {
		t.Fatalf("%v: %s", end(), log)
	}
	stop = sync.OnceFunc(func() {
		if err := end(); err != nil {
			t.Errorf("the server ended with %v: %s", err, log)
		}
	})
	t.Cleanup(stop)
	return url, log, stop
}

// tryStart does the same as start, but the program may end immediately, without an address. stop
// returns its error.
func tryStart(t *testing.T, args ...string) (url string, log *syncBuffer, stop func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	out, in := io.Pipe()
	log = &syncBuffer{}
	done := make(chan error, 1)
	go func() {
		err := run(ctx, append([]string{"--listen", "127.0.0.1:0"}, args...), in, log)
		in.Close()
		done <- err
	}()
	stop = sync.OnceValue(func() error { cancel(); return <-done })
	t.Cleanup(func() { _ = stop() })
	line := make([]byte, 200)
	n, err := out.Read(line)
	if err != nil {
		return "", log, stop
	}
	_, url, ok := strings.Cut(strings.TrimSpace(string(line[:n])), "Quadrille serves ")
	if !ok {
		t.Fatalf("it said %q", line[:n])
	}
	return url, log, stop
}

func fetch(t *testing.T, url string) (int, string) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

// A server that was started on an empty directory serves generations that are published later, and
// drains when it is stopped.
func TestServe(t *testing.T) {
	dir := t.TempDir()
	url, log, stop := start(t, "--data", dir, "--access-log")
	answers(t, url+"/readyz", 200)
	answers(t, url+"/ip/"+toyworld.Address(0).String(), 404, "dataset-missing")
	if !log.has("nothing is published yet") {
		t.Errorf("it does not say that nothing is there: %s", log)
	}
	publish(t, dir)
	for _, path := range []string{"/tiles/country/5/16/11.mvt", "/places/nearby?lat=48&lon=6", "/ip/" + toyworld.Address(0).String()} {
		waitFor(t, path, func() bool { code, _ := fetch(t, url+path); return code == 200 })
	}
	_, b := fetch(t, url+"/status")
	var status struct {
		Version  string
		Datasets []struct {
			Name       string
			Generation int
		}
	}
	if err := json.Unmarshal([]byte(b), &status); err != nil || len(status.Datasets) < 3 || status.Datasets[0].Generation != 1 ||
		status.Version == "" {
		t.Errorf("status %s: %v", b, err)
	}
	_, b = fetch(t, url+"/tiles/country.json")
	if !strings.Contains(b, `"`+url+`/tiles/country/{z}/{x}/{y}.mvt"`) {
		t.Errorf("TileJSON has no address of %s: %s", url, b)
	}

	// Another generation is published while the server runs.
	c := catalogIn(t, dir)
	if err := toyworld.PublishAddresses(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "generation 2", func() bool { _, b := fetch(t, url+"/status"); return strings.Contains(b, `"generation":2`) })

	answers(t, url+"/", 200, "<!doctype html>")
	stop()
	if _, err := net.Dial("tcp", strings.TrimPrefix(url, "http://")); err == nil {
		t.Error("it still listens")
	}
	if !log.has("path=/readyz") || !log.has("client=127.0.0.1") {
		t.Errorf("no access log: %s", log)
	}
}

// waitFor polls until ok returns true, because reaction times depend on the machine.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 1000 {
		if ok() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s did not come", what)
}

// When the server is stopped, running requests are finished, and those that do not end in time are
// aborted.
func TestDrain(t *testing.T) {
	for _, patient := range []bool{true, false} {
		cfg, err := parse([]string{"--listen=127.0.0.1:0", "--drain-timeout=20s"}, io.Discard, io.Discard)
		if err != nil {
			t.Fatal(err)
		}
		if !patient {
			cfg.DrainTimeout = time.Millisecond
		}
		ctx, cancel := context.WithCancel(t.Context())
		running, finish := make(chan struct{}), make(chan struct{})
		out, in := io.Pipe()
		served := make(chan error, 1)
		go func() {
			served <- serve(ctx, cfg, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				close(running)
				<-finish
				_, _ = io.WriteString(w, "finished")
			}), nil, slog.New(slog.DiscardHandler), in)
		}()
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		answer := make(chan string, 1)
		go func() {
			res, err := http.Get(strings.TrimSpace(strings.TrimPrefix(line, "Quadrille serves ")))
			if err != nil {
				answer <- "cut off"
				return
			}
			b, _ := io.ReadAll(res.Body)
			answer <- string(b)
		}()
		<-running
		cancel()
		if patient {
			close(finish)
			if got, err := <-answer, <-served; got != "finished" || err != nil {
				t.Errorf("answer %q, %v", got, err)
			}
			continue
		}
		if err := <-served; err == nil || !strings.Contains(err.Error(), "--drain-timeout") {
			t.Errorf("%v, want one that names the flag", err)
		}
		close(finish)
		if got := <-answer; got != "cut off" {
			t.Errorf("answer %q", got)
		}
	}
}

// Connections that send oversized or malformed requests are answered, and
// nothing else breaks.
func TestHostileConnections(t *testing.T) {
	url, _, _ := start(t, "--data", t.TempDir())
	for _, tt := range []struct{ request, want string }{
		{"GET / HTTP/1.1\r\nHost: a\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", "431"},
		{"GET /" + strings.Repeat("x", 64<<10) + " HTTP/1.1\r\nHost: a\r\n\r\n", "431"},
		{"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n", "400"},
		{"GET / HTTP/1.1\r\nConnection: close\r\n\r\n", "400"},
		{"nonsense\r\n\r\n", "400"},
		{"GET /healthz HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\nConnection: close\r\n\r\n", "413"},
		{"GET //..//etc/passwd HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "404"},
		{"GET /tiles/%00/0/0/0.mvt HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", "404"},
	} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.WriteString(conn, tt.request) }() // it may be cut off
		b := make([]byte, 12)
		_, err = io.ReadFull(conn, b)
		conn.Close()
		if err != nil || string(b[9:]) != tt.want {
			t.Errorf("%.60q: %q, %v; want %s", tt.request, b, err, tt.want)
		}
	}
	answers(t, url+"/healthz", 200)
}

func TestListenTwice(t *testing.T) {
	url, _, _ := start(t, "--data", t.TempDir())
	refused(t, "--listen", "--data", t.TempDir(), "--listen", strings.TrimPrefix(url, "http://"))
}

func TestFlags(t *testing.T) {
	testrace.SkipUnderRace(t, "one server is started and asked, again and again")
	for _, tt := range []struct {
		args []string
		env  map[string]string
		want func(*config) any
		is   any
	}{
		{nil, nil, func(c *config) any { return c.Data + " " + c.Listen }, "./data 127.0.0.1:8080"},
		{nil, nil, func(c *config) any { return c.Cache }, bytesize.Size(256 << 20)},
		{[]string{"--cache=2GB"}, nil, func(c *config) any { return c.Cache }, bytesize.Size(2e9)},
		{[]string{"--cache", "1.5GiB"}, nil, func(c *config) any { return c.Cache }, bytesize.Size(3 << 29)},
		{nil, map[string]string{"QUADRILLE_CACHE": "1048576"}, func(c *config) any { return c.Cache }, bytesize.Size(1 << 20)},
		{nil, map[string]string{"QUADRILLE_DATA": "/d", "QUADRILLE_LISTEN": ":1"}, func(c *config) any { return c.Data + c.Listen }, "/d:1"},
		{[]string{"--data=/x"}, map[string]string{"QUADRILLE_DATA": "/d"}, func(c *config) any { return c.Data }, "/x"},
		{
			[]string{"--trusted-proxy=10.0.0.0/8", "--trusted-proxy", "::1"},
			nil,
			func(c *config) any { return fmt.Sprint(c.trusted()) },
			"[10.0.0.0/8 ::1/128]",
		},
		{
			nil,
			map[string]string{"QUADRILLE_TRUSTED_PROXY": "10.1.2.3/8,::ffff:1.2.3.0/120"},
			func(c *config) any { return fmt.Sprint(c.trusted()) },
			"[10.0.0.0/8 1.2.3.0/24]",
		},
		{[]string{"--public-url=https://a.example/maps/"}, nil, func(c *config) any { return c.publicURL() }, "https://a.example/maps/"},
		{nil, map[string]string{"QUADRILLE_PUBLIC_URL": "https://b.example"}, func(c *config) any { return c.publicURL() }, "https://b.example"},
		{
			nil,
			map[string]string{"QUADRILLE_CORS_ORIGIN": "none", "QUADRILLE_ACCESS_LOG": "true"},
			func(c *config) any { return fmt.Sprint(c.CORSOrigin, " ", c.AccessLog) },
			"none true",
		},
		{[]string{"--read-timeout=5s"}, nil, func(c *config) any { return c.ReadTimeout }, 5 * time.Second},
	} {
		for k, v := range tt.env {
			t.Setenv(k, v)
		}
		c, err := parse(tt.args, io.Discard, io.Discard)
		if err != nil {
			t.Errorf("%v %v: %v", tt.args, tt.env, err)
		} else if got := tt.want(c); got != tt.is {
			t.Errorf("%v %v: %v, want %v", tt.args, tt.env, got, tt.is)
		}
		for k := range tt.env {
			if err := os.Unsetenv(k); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, args := range [][]string{
		{"--cache=lots"}, {"--cache=-1"}, {"--cache=1"}, {"--cache=NaN"}, {"--cache=1e30"}, {"--trusted-proxy=example.com"},
		{"--trusted-proxy=::ffff:0:0/90"},
		{"--public-url=ftp://a"}, {"--public-url=/maps"}, {"--public-url=https://a?b"}, {"--public-url=https://u:p@a"}, {"--max-concurrent=0"},
		{"--read-timeout=0s"}, {"--drain-timeout=-1s"}, {"--log-format=xml"}, {"--nonsense"}, {"argument"}, {"--cache-control=a\nb"},
		{"--cors-origin=https://a.example/"}, {"--cors-origin=*.example"},
		{"--listen=unix:"}, {"--listen=nonsense"}, {"--listen=127.0.0.1:"}, {"--socket-mode=999"}, {"--socket-mode=1777"}, {"--socket-mode=rw"},
		{"--max-connections=-1"}, {"--drain-delay=-1s"}, {"--anonymous"}, {"--key-limit=1/1m"}, {"--usage=x"}, {"--address-limit=60"},
		{"--address-limit=1/1m", "--address-limit=2/1m"}, {"--address-limit=1/1m",
			"--usage-clients=1"}, {"--access-log-sample=0"}, {"--slow-request=0s"},
		{"--trace-sample=1.1"}, {"--trace-sample=-0.1"}, {"--trace-sample=NaN"}, {"--trace-sample=x"}, {"--otlp-endpoint=127.0.0.1:4318"},
		{"--otlp-endpoint=grpc://x:4317"}, {"--otlp-endpoint=http://u:p@x"}, {"--otlp-endpoint=http://x/?a=b"}, {"--otlp-endpoint=/x"},
	} {
		if _, err := parse(args, io.Discard, io.Discard); err == nil || errors.Is(err, errDone) {
			t.Errorf("%v: %v, want a refusal", args, err)
		} else if !strings.Contains(err.Error(), "--help") {
			t.Errorf("%v: %v does not say where to look", args, err)
		}
	}
}

func TestHelp(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--help"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"bin/ingest demo", "--data=DIR", "--listen=ADDR", "--cache=BYTES", "--trusted-proxy=CIDR",
		"--public-url=URL", "QUADRILLE_DATA", "QUADRILLE_TRUSTED_PROXY", "curl"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help has no %s:\n%s", want, out.String())
		}
	}
	out.Reset()
	if err := run(t.Context(), []string{"--version"}, &out, io.Discard); err != nil || strings.TrimSpace(out.String()) != version.String() {
		t.Errorf("version: %v %q", err, out.String())
	}
}
