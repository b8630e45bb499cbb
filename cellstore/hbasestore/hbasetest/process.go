package hbasetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"time"
)

// spawner starts processes from one thread of the system. The thread lives as long as the spawner,
// because on Linux a process can be made to die with the thread that started it.
type spawner struct {
	work chan func()
	done sync.Once
}

func newSpawner() *spawner {
	s := &spawner{work: make(chan func())}
	go func() {
		runtime.LockOSThread()
		for f := range s.work {
			f()
		}
	}()
	return s
}

func (s *spawner) start(cmd *exec.Cmd) error {
	err := make(chan error, 1)
	s.work <- func() { err <- cmd.Start() }
	return <-err
}

func (s *spawner) end() { s.done.Do(func() { close(s.work) }) }

// Process is a process of a cluster. It can be killed and started again.
type Process struct {
	// Name is unique within its cluster; Addr is the address on which it listens.
	Name, Addr string
	// LogPath is the file of its output.
	LogPath string

	spawn *spawner
	path  string
	args  []string
	dir   string

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{} // closed once it has ended
}

// Start starts the process. It does not wait until the process listens.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		return fmt.Errorf("%s runs already", p.Name)
	}
	log, err := os.OpenFile(p.LogPath, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the process has its own handle
	cmd := exec.Command(p.path, p.args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = p.dir, log, log
	cmd.SysProcAttr = attributes()
	if err := p.spawn.start(cmd); err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	p.cmd, p.exited = cmd, make(chan struct{})
	go func(exited chan struct{}) {
		_ = cmd.Wait() // its log has the reason of its end
		close(exited)
	}(p.exited)
	return nil
}

// Kill ends the process at once, as a crash would, and waits until it has ended.
func (p *Process) Kill() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return nil
	}
	if err := p.signal(syscall.SIGKILL); err != nil && !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH) {
		return err
	}
	<-p.exited
	p.cmd = nil
	return nil
}

// Stop halts the process. The process keeps its connections but does nothing.
func (p *Process) Stop() error { return p.Signal(stopSignal) }

// Continue lets a halted process continue.
func (p *Process) Continue() error { return p.Signal(continueSignal) }

// Signal sends a signal to the process.
func (p *Process) Signal(s syscall.Signal) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return fmt.Errorf("%s does not run", p.Name)
	}
	return p.signal(s)
}

// ended reports whether a started process has ended by itself.
func (p *Process) ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// logTail returns the end of the process's log.
func (p *Process) logTail() string {
	b, err := os.ReadFile(p.LogPath)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("the end of %s:\n%s", filepath.Base(p.LogPath), tail(string(b), 25))
}

// poll is the pause between two checks of an awaited condition.
const poll = 50 * time.Millisecond
