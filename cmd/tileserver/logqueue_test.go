package main

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A server whose log is not read, or whose log reader has ended, answers every request, reports how
// many lines it drops, and ends on request.
func TestLogWithoutReader(t *testing.T) {
	dropped := regexp.MustCompile(`(?m)^quadrille_log_dropped_total ([1-9].*)$`)
	for _, ended := range []bool{false, true} {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		reader, log, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		cmd := exec.CommandContext(t.Context(), exe, "--listen=127.0.0.1:0", "--data="+t.TempDir(), "--access-log")
		cmd.Env = append(os.Environ(), "TILESERVER_TEST_RUN=1")
		cmd.Stderr = log
		out, err := cmd.StdoutPipe()
		if err == nil {
			err = cmd.Start()
		}
		log.Close()
		if err != nil {
			t.Fatal(err)
		}
		line := make([]byte, 200)
		n, err := out.Read(line)
		if err != nil {
			t.Fatal(err)
		}
		url := strings.TrimSpace(strings.TrimPrefix(string(line[:n]), "Quadrille serves "))
		if ended {
			reader.Close()
		}
		client := http.Client{Timeout: time.Minute} // a hang fails
		ask := func(path string) string {
			res, err := client.Get(url + path)
			if err != nil {
				t.Fatalf("ended %v: %v", ended, err)
			}
			defer res.Body.Close()
			b, err := io.ReadAll(res.Body)
			if err != nil {
				t.Fatal(err)
			}
			return string(b)
		}
		counted := false
		for n := range 100_000 { // fills the pipe and the queue
			ask("/healthz?" + strings.Repeat("q", 500))
			if n%100 != 99 {
				continue
			}
			if counted = dropped.MatchString(ask("/metrics")); counted {
				break
			}
		}
		if !counted {
			t.Errorf("ended %v: it tells of no lines that it dropped", ended)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("ended %v: %v", ended, err)
		}
	}
}

// flakyWriter accepts a given number of bytes of each write, and fails if the write is longer.
type flakyWriter struct {
	b    strings.Builder
	take func(most int) int
}

var errFlaky = errors.New("no space left on device")

func (w *flakyWriter) Write(p []byte) (int, error) {
	n := w.take(len(p))
	w.b.Write(p[:n])
	if n < len(p) {
		return n, errFlaky
	}
	return n, nil
}

// Whatever happens to the writes, each line of a log is either complete, truncated at a failure, or
// counted as dropped. The log reports the number of dropped lines as soon as possible.
func TestLogTellsWhatItDropped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		failing := true
		w := &flakyWriter{}
		w.take = func(most int) int {
			if failing && rapid.Bool().Draw(t, "fails") {
				return rapid.IntRange(0, most-1).Draw(t, "taken")
			}
			return most
		}
		q := &logQueue{to: w, form: func(w io.Writer) slog.Handler { return slog.NewTextHandler(w, nil) }, wake: make(chan struct{}, 1)}
		lines := rapid.IntRange(1, 30).Draw(t, "lines")
		for i := range lines {
			fmt.Fprintf(q, "line %03d\n", i)
			if rapid.Bool().Draw(t, "turn") {
				q.turn()
			}
		}
		failing = false
		for q.turn() {
		}
		whole, reported := 0, 0
		for line := range strings.Lines(w.b.String()) {
			switch m := regexp.MustCompile(` dropped=(\d+)\n$`).FindStringSubmatch(line); {
			case regexp.MustCompile(`^line \d{3}\n$`).MatchString(line):
				whole++
			case m != nil:
				n, _ := strconv.Atoi(m[1])
				reported += n
			}
		}
		if whole+reported != lines || int64(reported) != q.dropped.Load() {
			t.Fatalf("of %d lines %d are whole, %d told as dropped, %d counted:\n%s", lines, whole, reported, q.dropped.Load(), w.b.String())
		}
	})
}

// TestLogQueueIsBounded writes many more lines than the queue can hold, while the reader is stuck.
// No write waits, and Close gives up within its time limit.
func TestLogQueueIsBounded(t *testing.T) {
	stuck, free := io.Pipe()
	defer stuck.Close()
	q := newLogQueue(free, (&config{}).handler)
	line := []byte(strings.Repeat("x", 1023) + "\n")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for range maxLogQueue / len(line) {
				_, _ = q.Write(line) // it never fails
			}
		})
	}
	all.Wait()
	if n := q.dropped.Load(); n < 1024 {
		t.Errorf("%d lines are dropped", n)
	}
	q.Close(time.Millisecond)
}
