package endtoend

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/toyworld"
)

// full is asked for by make test-full.
var full = os.Getenv("QUADRILLE_FULL") != ""

// programs are built once for all tests that need them.
var programs = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "endtoend")
	if err != nil {
		return "", err
	}
	out, err := exec.Command("go", "build", "-o", dir+"/", "quadrille/cmd/ingest", "quadrille/cmd/tileserver").CombinedOutput()
	if err != nil {
		return dir, fmt.Errorf("%w: %s", err, out)
	}
	return dir, nil
})

var built bool

func TestMain(m *testing.M) {
	code := m.Run()
	if built {
		if dir, _ := programs(); dir != "" {
			_ = os.RemoveAll(dir) // of the temporary directory
		}
	}
	os.Exit(code)
}

func program(t *testing.T, name string) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command to build the programs with")
	}
	built = true
	dir, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// plainEnv is the environment without settings of the programs.
func plainEnv() []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "QUADRILLE_") {
			env = append(env, v)
		}
	}
	return env
}

// ingest prepares a run of the program.
func ingest(t *testing.T, data string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	var out bytes.Buffer
	cmd := exec.Command(program(t, "ingest"), append([]string{"--data", data}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = plainEnv(), &out, &out
	return cmd, &out
}

func mustIngest(t *testing.T, data string, args ...string) string {
	t.Helper()
	cmd, out := ingest(t, data, args...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("ingest %q: %v: %s", args, err, out)
	}
	return out.String()
}

// server is a running tile server.
type server struct {
	url string
	cmd *exec.Cmd

	stopped sync.Once

	mu  sync.Mutex
	log bytes.Buffer
}

func (s *server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}

func (s *server) logged() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// stop ends the server, once.
func (s *server) stop(t *testing.T) {
	s.stopped.Do(func() {
		_ = s.cmd.Process.Signal(syscall.SIGTERM)
		if err := s.cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v: %s", err, s.logged())
		}
	})
}

func serve(t *testing.T, data string, args ...string) *server {
	t.Helper()
	s := &server{}
	s.cmd = exec.Command(program(t, "tileserver"), append([]string{"--data", data, "--listen", "127.0.0.1:0"}, args...)...)
	s.cmd.Env, s.cmd.Stderr = plainEnv(), s
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.stop(t) })
	line, err := bufio.NewReader(out).ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), " serves ")
	if err != nil || !ok {
		t.Fatalf("it said %q, %v: %s", line, err, s.logged())
	}
	s.url = url
	return s
}

// get returns the status, the body and the header of an answer.
func get(t *testing.T, url string) (int, string, http.Header) {
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
	return res.StatusCode, string(b), res.Header
}

// waitFor polls: how soon something is noticed depends on the machine.
func waitFor(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 500 {
		if ok() {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	t.Fatalf("%s did not come", what)
}

func catalogOf(t *testing.T, data string) *dataset.Catalog {
	t.Helper()
	c, err := dataset.Open(data, toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func writeFile(t *testing.T, path, text string) string {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := os.Chtimes(path, at, at); err != nil {
		t.Fatal(err)
	}
	return path
}
