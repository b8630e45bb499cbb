package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// measured has the figures of a run of ingest.
type measured struct {
	wall, cpu time.Duration
	memory    int64  // peak, resident
	disk      int64  // of the published generation
	rows      string // of each kind
	stage     string // the last one that was reported
	message   string // of the error, if it failed
}

// ingest runs the program on an empty directory.
func (c *cli) ingest(ctx context.Context, s *scenario, data string, args []string) (measured, error) {
	args = append([]string{"--data", data, "--json", "--memory", fmt.Sprint(int64(s.memory))}, args...)
	cmd := exec.CommandContext(ctx, c.Ingest, args...)
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		return measured{}, err
	}
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		return measured{}, err
	}
	over, peak := make(chan struct{}), make(chan int64)
	go func() { peak <- watchMemory(cmd.Process.Pid, over) }()
	m := follow(out)
	close(over) // the program has closed its output, and is about to end
	m.memory = <-peak
	err = cmd.Wait()
	m.wall = time.Since(begin)
	m.cpu = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if err != nil {
		return m, fmt.Errorf("%s %s: %w: %s", c.Ingest, strings.Join(args, " "), err, m.message)
	}
	return m, nil
}

// watchMemory returns the peak of the resident memory of a process in bytes, or 0 if the system does not tell it. The
// system's figure for a process that has ended is no use: it is at least what its parent had when it began.
func watchMemory(pid int, over <-chan struct{}) (peak int64) {
	for ended := false; !ended; {
		select {
		case <-over:
			ended = true
		case <-time.After(20 * time.Millisecond):
		}
		status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(status)) {
			if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
				kib, _ := strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(rest), "kB")), 10, 64)
				peak = max(peak, kib<<10)
			}
		}
	}
	return peak
}

// follow reads the events of ingest, and shows the stages.
func follow(r io.Reader) (m measured) {
	var rows []string
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e struct {
			Event, Message, Text, Stage string
			Records                     map[string]int64
			Bytes                       int64
			Phases                      []struct {
				Stage   string
				Seconds float64
			}
		}
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		switch e.Event {
		case "note":
			fmt.Fprintln(os.Stderr, "  "+e.Text)
		case "error":
			m.message = e.Message
		case "progress":
			m.stage = e.Stage
		case "published":
			m.disk += e.Bytes
			for _, kind := range slices.Sorted(maps.Keys(e.Records)) {
				rows = append(rows, fmt.Sprintf("%d %s", e.Records[kind], kind))
			}
			for _, p := range e.Phases {
				fmt.Fprintf(os.Stderr, "  %7.1f s  %s\n", p.Seconds, p.Stage)
			}
		}
	}
	m.rows = strings.Join(rows, ", ")
	return m
}

// verify checks the published generation.
func (c *cli) verify(ctx context.Context, data, dataset string) error {
	out, err := exec.CommandContext(ctx, c.Ingest, "--data", data, "--quiet", "verify", dataset).CombinedOutput()
	if err != nil {
		return fmt.Errorf("verify %s: %w: %s", dataset, err, bytes.TrimSpace(out))
	}
	return nil
}

// generate runs a generator, which is in the directory of this program, and writes its standard
// output to a file.
func generate(ctx context.Context, file, program string, args ...string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(self), program), args...)
	cmd.Stdout, cmd.Stderr = f, os.Stderr
	err = cmd.Run()
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return fmt.Errorf("%s: %w: make check-big builds it", cmd, err)
	}
	return nil
}
