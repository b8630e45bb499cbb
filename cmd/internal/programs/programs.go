// Package programs builds ingest and tileserver from this module and runs them as processes, for
// tests and measurements from a user's side.
package programs

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"quadrille/cellstore/filelock"
	"quadrille/internal/testrace"
)

// These are the names of the programs.
const (
	Ingest     = "ingest"
	TileServer = "tileserver"
)

// Build builds programs into a directory, with further flags of go build. The caller's working
// directory is in this module or in one that requires it. The programs are always built in this
// module, so the other module's go.mod need not list the requirements of the programs.
func Build(ctx context.Context, dir string, names []string, flags ...string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return err
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "quadrille")
	root, err := list.Output()
	if err != nil {
		return fmt.Errorf("%s: %w: run it in a checkout of Quadrille", strings.Join(list.Args, " "), err)
	}
	args := append([]string{"build", "-C", strings.TrimSpace(string(root)), "-o", dir + string(filepath.Separator)}, flags...)
	for _, name := range names {
		args = append(args, "quadrille/cmd/"+name)
	}
	build := exec.CommandContext(ctx, "go", args...)
	if !slices.Contains(flags, "-race") {
		build.Env = append(os.Environ(), "CGO_ENABLED=0") // like make build, to share its cache
	}
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("go %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// Start starts a tile server that listens on a free port, and returns its address once it reports
// that it serves. The command's standard output must not be set yet. If the server ends earlier,
// the address is empty. The caller must call Wait in both cases.
func Start(server *exec.Cmd) (url string, err error) {
	out, err := server.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := server.Start(); err != nil {
		return "", err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), " serves ")
	if !ok {
		return "", fmt.Errorf("tileserver did not say where it serves, but %q: %w", line,
			errors.Join(err, errors.New("its standard error tells why")))
	}
	return url, nil
}

// FolderVariable is the name of the environment variable that gives a folder for the programs that tests
// build. Several test processes share it, so that each program is linked once. If it is not set, a
// process builds its own programs.
const FolderVariable = "TEST_PROGRAMS"

// built has the programs that tests of this process have requested. Each is built once.
var built struct {
	mu    sync.Mutex
	dir   string
	owned bool // by this process, which removes it
	err   map[string]error
}

// Main runs the tests of a package that uses Path, Ingest or Serve. Then it calls ends, which stop
// what the package has started. At last it removes the programs that were built for the tests, and
// exits.
func Main(m *testing.M, ends ...func()) {
	code := m.Run()
	for _, end := range ends {
		end()
	}
	built.mu.Lock()
	if built.owned {
		_ = os.RemoveAll(built.dir) // of the temporary directory
	}
	os.Exit(code)
}

// Path returns the path of a program and builds it on the first call. The tile server has the
// race detector if the tests have it, because it handles many concurrent requests.
func Path(t testing.TB, name string) string {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command to build the programs with")
	}
	built.mu.Lock()
	defer built.mu.Unlock()
	if built.err == nil {
		if err := place(); err != nil {
			t.Fatalf("a place for the programs: %v", err)
		}
		built.err = map[string]error{}
	}
	err, known := built.err[name]
	if !known {
		err = build(name)
		built.err[name] = err
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(built.dir, name)
}

// place chooses the folder of the programs. Programs with the race detector are in a separate
// folder.
func place() (err error) {
	if dir := os.Getenv(FolderVariable); dir != "" {
		built.dir = filepath.Join(dir, map[bool]string{false: "plain", true: "race"}[testrace.Enabled])
		return os.MkdirAll(built.dir, 0o755)
	}
	built.owned = true
	built.dir, err = os.MkdirTemp("", "quadrille-programs-")
	return err
}

// build builds one program under a lock. The go command skips a program that is up to date, but two
// go commands may write one file at the same time.
func build(name string) error {
	file := filepath.Join(built.dir, name+".lock")
	lock, err := filelock.Open(file)
	for errors.Is(err, filelock.ErrLocked) {
		time.Sleep(100 * time.Millisecond)
		lock, err = filelock.Open(file)
	}
	if err != nil {
		return err
	}
	defer lock.Close()
	var flags []string
	if testrace.Enabled && name == TileServer {
		flags = append(flags, "-race")
	}
	return Build(context.Background(), built.dir, []string{name}, flags...)
}

// Command prepares a run of a program in an environment without the program's variables.
func Command(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(Path(t, name), args...)
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "QUADRILLE_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	return cmd
}

// Run runs a program to its end and returns all its output. A run that fails fails
// the test.
func Run(t testing.TB, name string, args ...string) string {
	t.Helper()
	out, err := Command(t, name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %q: %v: %s", name, args, err, out)
	}
	return string(out)
}

// Ingester returns a function that runs ingest for a test and returns its output.
func Ingester(t testing.TB) func(args ...string) string {
	return func(args ...string) string {
		t.Helper()
		return Run(t, Ingest, args...)
	}
}

// Server is a running tile server.
type Server struct {
	URL string // without a slash at its end
	Cmd *exec.Cmd

	stopped sync.Once
	mu      sync.Mutex
	log     bytes.Buffer
}

// Serve starts a tile server on a free port, or on the address in the arguments. The server is
// stopped at the end of the test at the latest.
func Serve(t testing.TB, args ...string) *Server {
	t.Helper()
	s := &Server{Cmd: Command(t, TileServer, append([]string{"--listen", "127.0.0.1:0"}, args...)...)}
	s.Cmd.Stderr = s
	url, err := Start(s.Cmd)
	if s.Cmd.Process != nil {
		t.Cleanup(func() { s.Stop(t) })
	}
	if err != nil {
		t.Fatalf("%v: %s", err, s.Log())
	}
	s.URL = url
	return s
}

// Stop interrupts the server and waits until it has ended, once. If it does not end in an orderly
// way, or has detected a race, the test fails.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	s.stopped.Do(func() {
		_ = s.Cmd.Process.Signal(syscall.SIGTERM)
		if err := s.Cmd.Wait(); err != nil {
			t.Errorf("the server ended with %v: %s", err, s.Log())
		}
	})
}

// Kill ends the server at once, like a crash.
func (s *Server) Kill() {
	s.stopped.Do(func() {
		_ = s.Cmd.Process.Kill()
		_ = s.Cmd.Wait() // it was killed
	})
}

// Log returns the server's log so far.
func (s *Server) Log() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.String()
}

// Write appends to the server's log.
func (s *Server) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.log.Write(p)
}
