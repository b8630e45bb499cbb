//go:build unix

package main

import (
	"bufio"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"quadrille/cmd/internal/testfile"
)

// The first Ctrl-C ends a command cleanly. The command then names the data sets that are unchanged.
func TestInterrupt(t *testing.T) {
	asked := make(chan struct{}, 16)
	mirror := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done() // a publisher that never answers
	}))
	defer mirror.Close()
	cmd, stderr := begin(t, "world", "--only", "ip", "--mirror", mirror.URL, "--downloads", t.TempDir(), "--data", t.TempDir())
	<-asked
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(stderr)
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 130 {
		t.Errorf("%v, want exit code 130", err)
	}
	for _, want := range []string{stopping,
		"\ningest: interrupted: nothing was published; the data set ip is as before (none yet); the next run goes on"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(string(text), "context canceled") {
		t.Errorf("it speaks of a context:\n%s", text)
	}
}

// A second Ctrl-C ends a command at once, if the command does not end after the first.
func TestInterruptTwice(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "settings.yaml")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Skip(err)
	}
	cmd, stderr := begin(t, "list", "--config", fifo)
	writer, err := os.OpenFile(fifo, os.O_WRONLY, 0) // returns once it reads, which ends with this test
	if err != nil {
		t.Fatal(err)
	}
	defer writer.Close()
	for _, want := range []string{stopping, ""} {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		if line, _ := stderr.ReadString('\n'); !strings.Contains(line, want) {
			t.Fatalf("it said %q, want %q", line, want)
		}
	}
	err = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("%v: it was not ended by the signal", err)
	}
}

// Nothing of standard input stays on the disk, whatever ends the program: a reader that goes away, or a signal while the input
// is copied.
func TestNoCopyStays(t *testing.T) {
	data, temp := filepath.Join(t.TempDir(), "data"), t.TempDir()
	zones := testfile.WriteTemp(t, "zones.geojson", `{"type":"Feature","properties":{"id":"a","name":"Alpha"},
		"geometry":{"type":"Polygon","coordinates":[[[0,0],[10,0],[10,10],[0,10],[0,0]]]}}`)
	if err := run(t.Context(), []string{"boundaries", "--layer", "zone=" + zones, "--data", data}, io.Discard, io.Discard); err != nil {
		t.Fatal(err)
	}
	empty := func(when string) {
		t.Helper()
		if left, err := os.ReadDir(temp); err != nil || runtime.GOOS == "linux" && len(left) > 0 {
			t.Errorf("%s: left %v, %v", when, left, err)
		}
	}
	start := func(stdout io.Writer) (*exec.Cmd, io.WriteCloser, *strings.Builder) {
		cmd := exec.Command("ingest", "enrich", "-", "--out", "-", "--data", data)
		var said strings.Builder
		cmd.Env, cmd.Stdout, cmd.Stderr = append(os.Environ(), "TMPDIR="+temp), stdout, &said
		in, err := cmd.StdinPipe()
		if err == nil {
			err = cmd.Start()
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = cmd.Process.Kill() })
		return cmd, in, &said
	}
	rows := "lat,lon\n" + strings.Repeat("1,1\n", 100_000)

	reader, writer, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd, in, said := start(writer)
	_, err = io.WriteString(in, rows)
	if err = errors.Join(err, in.Close(), reader.Close(), writer.Close()); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 128+int(syscall.SIGPIPE) || strings.Contains(said.String(), "ingest:") {
		t.Errorf("%v, and it said %s", err, said)
	}
	empty("without a reader")

	cmd, in, _ = start(io.Discard)
	for range 20 { // more than pipes have room for, so that most has been read
		if _, err := io.WriteString(in, rows); err != nil {
			t.Fatal(err)
		}
	}
	empty("while it is copied")
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	empty("killed")
}

const stopping = "ingest: stopping; another Ctrl-C ends it at once"

// begin starts the program.
func begin(t *testing.T, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command("ingest", args...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	return cmd, bufio.NewReader(stderr)
}
