package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/internal/toyworld"
)

// overSocket returns a client for a socket file.
func overSocket(t *testing.T, path string) *http.Client {
	t.Helper()
	tr := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

// get sends a GET with headers given as name, value, ….
func get(t *testing.T, client *http.Client, url string, headers ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(b)
}

func TestUnixSocket(t *testing.T) {
	data := publish(t, t.TempDir())
	dir, err := os.MkdirTemp("", "q") //nolint:usetesting // paths of sockets must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s.sock")
	url, log, stop := start(t, "--data", data, "--listen", "unix:"+path, "--socket-mode=0600", "--trusted-proxy=127.0.0.1", "--access-log")
	if url != "unix:"+path {
		t.Errorf("it says it serves %s", url)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 || st.Mode().Type() != os.ModeSocket {
		t.Errorf("%v %v", st, err)
	}
	client := overSocket(t, path)
	// The peer is a trusted proxy.
	address := toyworld.Address(0).String()
	res, b := get(t, client, "http://maps.example/ip/me", "X-Forwarded-For", address, "X-Request-Id", "from-the-proxy.1")
	if res.StatusCode != 200 || !strings.Contains(b, address) || res.Header.Get("X-Request-Id") != "from-the-proxy.1" {
		t.Errorf("%d %v %s", res.StatusCode, res.Header, b)
	}
	if !log.has("request_id=from-the-proxy.1") || !log.has("client="+address) {
		t.Errorf("log: %s", log)
	}

	// A second server does not replace a socket that is in use.
	refused(t, "another server listens", "--data", data, "--listen", "unix:"+path)
	if res, _ := get(t, client, "http://maps.example/healthz"); res.StatusCode != 200 {
		t.Errorf("afterwards: %d", res.StatusCode)
	}
	stop()
	if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}

	// A socket that a killed server has left is replaced, but a file that is not a socket is not
	// replaced.
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	_, _, stop = start(t, "--data", data, "--listen", "unix:"+path)
	if res, _ := get(t, overSocket(t, path), "http://maps.example/healthz"); res.StatusCode != 200 {
		t.Errorf("over a stale socket: %d", res.StatusCode)
	}
	// If another file has replaced the socket, this file is not removed.
	other := filepath.Join(dir, "other")
	testfile.Write(t, other, "precious")
	if err := os.Rename(other, path); err != nil {
		t.Fatal(err)
	}
	stop()
	err = run(t.Context(), []string{"--data", data, "--listen", "unix:" + path}, io.Discard, io.Discard)
	if b, rerr := os.ReadFile(path); err == nil || !strings.Contains(err.Error(), "not a socket") || string(b) != "precious" {
		t.Errorf("%v; the file holds %q, %v", err, b, rerr)
	}
}

func TestNoSocketHandedOver(t *testing.T) {
	refused(t, ".socket unit", "--data", t.TempDir(), "--listen=systemd")
}

// childEnv is the variable that makes TestInheritedSocket run as the server that it starts.
const childEnv = "QUADRILLE_TEST_INHERITED"

func TestInheritedSocket(t *testing.T) {
	if data := os.Getenv(childEnv); data != "" {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_ = run(ctx, []string{"--data", data, "--listen=systemd"}, os.Stdout, os.Stderr)
		return
	}
	if runtime.GOOS != "linux" {
		t.Skip("systemd is of Linux")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" -test.run='^TestInheritedSocket$'`, os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+t.TempDir())
	cmd.ExtraFiles = []*os.File{f}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || !strings.Contains(line, l.Addr().String()) {
		t.Errorf("it said %q, %v", line, err)
	}
	answers(t, "http://"+l.Addr().String()+"/healthz", 200)
}

// TestMaxConnections tests that connections beyond the limit wait until others end.
func TestMaxConnections(t *testing.T) {
	url, log, stop := start(t, "--data", t.TempDir(), "--max-connections=2")
	address := strings.TrimPrefix(url, "http://")
	dial := func() (net.Conn, *bufio.Reader) {
		t.Helper()
		c, err := net.Dial("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		if _, err := io.WriteString(c, "GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		return c, bufio.NewReader(c)
	}
	status := func(r *bufio.Reader) string {
		t.Helper()
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.Status
	}
	first, a := dial()
	_, b := dial()
	if x, y := status(a), status(b); x != "200 OK" || y != "200 OK" {
		t.Errorf("%s, %s", x, y)
	}
	_, c := dial()
	waitFor(t, "the warning", func() bool { return strings.Contains(log.String(), "--max-connections") })
	first.Close()
	if got := status(c); got != "200 OK" {
		t.Errorf("after its wait: %s", got)
	}
	stop() // while none is free
}

// After the signal to stop, the server first reports this and continues to serve.
func TestDrainDelay(t *testing.T) {
	data := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	out, in := io.Pipe()
	log := &syncBuffer{}
	done := make(chan error, 1)
	go func() {
		done <- run(ctx, []string{"--data", data, "--listen=127.0.0.1:0", "--drain-delay=1h"}, in, log)
	}()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	url := strings.TrimSpace(strings.TrimPrefix(line, "Quadrille serves "))
	answers(t, url+"/readyz", 200)
	cancel()
	waitFor(t, "not ready", func() bool {
		code, b := fetch(t, url+"/readyz")
		return code == 503 && strings.Contains(b, `"draining"`)
	})
	for _, path := range []string{"/healthz", "/status"} {
		answers(t, url+path, 200)
	}
	select {
	case err := <-done:
		t.Errorf("it ended: %v", err)
	default:
	}
	// run still waits for an hour. It ends with the test binary, and so does the listener.
}

// Changed files are used immediately after SIGHUP, which does not end the server.
func TestHangup(t *testing.T) {
	a, cert, key := certified(t)
	url, log, stop := start(t, "--data", t.TempDir(), "--tls-cert", cert, "--tls-key", key)
	want := a.issue(t, cert, key)
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the reload", func() bool { return strings.Contains(log.String(), "changed files are in use") })
	res, err := a.client(false).Get(url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if got := res.TLS.PeerCertificates[0].SerialNumber.Int64(); got != want {
		t.Errorf("certificate %d, want %d", got, want)
	}
	stop()
}

// Two servers on one directory take the same publications into service and give the same ETags,
// whichever server a client uses.
func TestTwoServers(t *testing.T) {
	data := publish(t, t.TempDir())
	one, _, _ := start(t, "--data", data)
	two, _, _ := start(t, "--data", data, "--pin-tiles")
	paths := []string{"/tiles/country/5/16/11.mvt", "/tiles/country,places/5/16/11.geojson", "/places/nearby?lat=48&lon=6",
		"/places/search?q=a"}
	etags := func(url, coding string) (all string) {
		for _, path := range paths {
			res, b := get(t, http.DefaultClient, url+path, "Accept-Encoding", coding)
			if res.StatusCode >= 300 || res.Header.Get("Etag") == "" {
				t.Errorf("%s%s: %d %v %s", url, path, res.StatusCode, res.Header, b)
			}
			all += fmt.Sprintln(path, res.Header.Get("Etag"), len(b))
		}
		return all
	}
	generation := func(url string) string {
		_, b := get(t, http.DefaultClient, url+"/status")
		var status struct {
			Datasets []struct {
				Name       string
				Generation int
			}
		}
		if err := json.Unmarshal([]byte(b), &status); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(status.Datasets)
	}
	var pinned string
	{
		_, b := get(t, http.DefaultClient, two+"/tiles/country.json")
		var doc struct{ Tiles []string }
		if err := json.Unmarshal([]byte(b), &doc); err != nil || len(doc.Tiles) != 1 || !strings.Contains(doc.Tiles[0], "/g/boundaries.1-") {
			t.Fatalf("%s: %v", b, err)
		}
		pinned = strings.NewReplacer("{z}", "5", "{x}", "16", "{y}", "11", two, "").Replace(doc.Tiles[0])
	}
	for range 3 {
		before := generation(one)
		for _, coding := range []string{"identity", "gzip", "br", "zstd"} {
			if a, b := etags(one, coding), etags(two, coding); a != b {
				t.Errorf("%s: one server answers\n%s, the other\n%s", coding, a, b)
			}
		}
		publish(t, data)
		waitFor(t, "the swap of both", func() bool {
			g := generation(one)
			return g != before && g == generation(two) && !strings.Contains(g, " 1}")
		})
		// Both still serve the pinned generation.
		for _, url := range []string{one, two} {
			if res, b := get(t, http.DefaultClient, url+pinned); res.StatusCode != 200 ||
				!strings.Contains(res.Header.Get("Cache-Control"), "immutable") {
				t.Errorf("%s%s: %d %s", url, pinned, res.StatusCode, b)
			}
		}
	}
}
