package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"quadrille/cmd/internal/programs"
)

// pinned returns a command with GOMAXPROCS=processors that runs on one core, if the machine
// supports that.
func pinned(ctx context.Context, core, processors int, name string, args ...string) *exec.Cmd {
	if taskset, err := exec.LookPath("taskset"); err == nil && runtime.NumCPU() > core {
		args = append([]string{"-c", fmt.Sprint(core), name}, args...)
		name = taskset
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), fmt.Sprint("GOMAXPROCS=", processors))
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	return cmd
}

// pinSelf moves this process to a core, with GOMAXPROCS=1, if the machine supports that.
func pinSelf(ctx context.Context, core int) {
	taskset, err := exec.LookPath("taskset")
	if err != nil || runtime.NumCPU() <= core {
		return
	}
	if err := exec.CommandContext(ctx, taskset, "-a", "-c", "-p", fmt.Sprint(core), fmt.Sprint(os.Getpid())).Run(); err == nil {
		runtime.GOMAXPROCS(1)
	}
}

// running is a server process.
type running struct {
	url string
	cmd *exec.Cmd
}

// startServer starts a server on the servers' core.
func startServer(ctx context.Context, stdin []byte, name string, args ...string) (*running, error) {
	return startOn(ctx, 1, stdin, name, args...)
}

// writerProcessors is the GOMAXPROCS of servers that take writes: while one processor waits for the
// disk, the other one continues.
const writerProcessors = 2

// startOn does the same as startServer, with GOMAXPROCS=processors, but still on one core.
func startOn(ctx context.Context, processors int, stdin []byte, name string, args ...string) (*running, error) {
	cmd := pinned(ctx, 0, processors, name, args...)
	cmd.Stdin = bytes.NewReader(stdin)
	cmd.Stderr = os.Stderr
	return startCommand(cmd)
}

// startCommand starts a server and waits for the output line with its address.
func startCommand(cmd *exec.Cmd) (*running, error) {
	url, err := programs.Start(cmd)
	if err == nil {
		return &running{url, cmd}, nil
	}
	if cmd.Process != nil {
		err = errors.Join(err, cmd.Cancel(), cmd.Wait())
	}
	return nil, fmt.Errorf("%s: %w", cmd, err)
}

// stop ends the process. The way in which it ends does not affect the measurement.
func (r *running) stop() {
	_ = r.cmd.Cancel()
	_ = r.cmd.Wait()
}

// freeAddress returns an address on this machine on which no program listens. It is for programs
// that cannot choose and report an address themselves.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// cpuTime returns the processor time that a process has used so far, or 0 if the system has no
// /proc. taskset replaces itself by the program that it starts, so the started process is the
// server itself.
func cpuTime(pid int) time.Duration {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	if err != nil {
		return 0
	}
	var sum time.Duration
	for _, t := range threads {
		b, err := os.ReadFile(t)
		if err != nil {
			continue
		}
		var ns int64
		if _, err := fmt.Sscan(string(b), &ns); err == nil {
			sum += time.Duration(ns)
		}
	}
	return sum
}

// serverProgram returns the tile server to measure: the named program, or else one that it builds
// into dir from this module.
func serverProgram(ctx context.Context, named, dir string) (string, error) {
	if named != "" {
		return named, nil
	}
	if err := programs.Build(ctx, dir, []string{programs.TileServer}); err != nil {
		return "", fmt.Errorf("build the tile server, or name one with --tileserver: %w", err)
	}
	return filepath.Join(dir, programs.TileServer), nil
}
