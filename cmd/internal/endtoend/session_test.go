package endtoend

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// session is a bash that runs the commands of a page one after another. It ends at the first
// command that fails, as with set -e.
type session struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	status *bufio.Reader // a line for each command that succeeded
	logs   string
	count  int
}

// commandTimeout bounds the time of a command, which might wait endlessly.
const commandTimeout = 5 * time.Minute

func startSession(t *testing.T, dir string, env []string) *session {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &session{cmd: exec.Command("bash", "--noprofile", "--norc", "-e"), status: bufio.NewReader(read), logs: t.TempDir()}
	s.cmd.Dir, s.cmd.Env, s.cmd.ExtraFiles = dir, env, []*os.File{write}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = write.Close()
	t.Cleanup(func() {
		_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // bash and all its children
		_ = s.stdin.Close()
		_ = s.cmd.Wait() // it was killed
		_ = read.Close()
	})
	return s
}

// run runs a command and returns its output. It fails if the command does not end in time, or if
// the shell ends.
func (s *session) run(command string) (stdout, stderr string, err error) {
	s.count++
	name := filepath.Join(s.logs, strconv.Itoa(s.count))
	if err := os.WriteFile(name, []byte(command+"\n"), 0o600); err != nil {
		return "", "", err
	}
	timer := time.AfterFunc(commandTimeout, func() { _ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) })
	// Background processes must not hold the pipe that signals the end.
	if _, err = fmt.Fprintf(s.stdin, "source '%[1]s' >'%[1]s.out' 2>'%[1]s.err' </dev/null 3>&-\necho done >&3\n", name); err == nil {
		_, err = s.status.ReadString('\n')
	}
	if !timer.Stop() {
		err = fmt.Errorf("it did not end within %s", commandTimeout)
	} else if err != nil {
		err = fmt.Errorf("it failed: %w", s.cmd.Wait())
	}
	read := func(path string) string {
		b, readErr := os.ReadFile(path)
		if readErr != nil {
			return ""
		}
		return string(b)
	}
	return read(name + ".out"), read(name + ".err"), err
}

// ports maps port 8080, and the ports of local addresses on a page, to free ports.
type ports map[string]string

func (p ports) of(t *testing.T, named string) string {
	t.Helper()
	if p[named] == "" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		p[named] = strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
		_ = l.Close()
	}
	return p[named]
}

var port = regexp.MustCompile(`:\d{4,5}\b`)

var localPort = regexp.MustCompile(`(?:127\.0\.0\.1|localhost|0\.0\.0\.0|--[a-z-]*listen[ =]):(\d{4,5})\b`)

func (p ports) in(t *testing.T, text string) string {
	t.Helper()
	for _, m := range localPort.FindAllStringSubmatch(text, -1) {
		p.of(t, m[1])
	}
	return port.ReplaceAllStringFunc(text, func(found string) string {
		if free := p[found[1:]]; free != "" {
			return ":" + free
		}
		return found
	})
}

// runPage runs the blocks of a page in a directory, and returns the errors of the page. It stops at
// the first command that fails.
func runPage(t *testing.T, dir, tools string, blocks []block) (wrong []string) {
	t.Helper()
	free := ports{}
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "QUADRILLE_") && !strings.HasPrefix(v, "PATH=") {
			env = append(env, v)
		}
	}
	env = append(env, "PATH="+tools+string(filepath.ListSeparator)+os.Getenv("PATH"), "QUADRILLE_LISTEN=127.0.0.1:"+free.of(t, "8080"))
	s := startSession(t, dir, env)
	for _, b := range blocks {
		list := commands("bash", b.text)
		for i, command := range list {
			stdout, stderr, err := s.run(free.in(t, command))
			if err != nil {
				return append(wrong, fmt.Sprintf("%s:%d: %s\n%v\nit wrote %s\nand as errors %s", b.page, b.lineOf(command), command, err,
					stdout, stderr))
			}
			if i == len(list)-1 && b.answer != nil {
				if differs := b.answer.differs(free.in(t, b.answer.text), stdout, stderr); differs != "" {
					wrong = append(wrong, fmt.Sprintf("%s:%d: %s\n%s\nthe page shows\n%s\nit wrote\n%s\nand as errors %s", b.page,
						b.lineOf(command), command, differs, b.answer.text, stdout, stderr))
				}
			}
		}
	}
	return wrong
}
