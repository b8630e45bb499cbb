package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// startCmd measures the time from the start of the tile server's process to the first 200 of
// /readyz, and its memory, with the smallest caches: when it is ready, after one request of every
// scenario, and after load.
type startCmd struct {
	Data        string        `placeholder:"DIR" help:"Published data sets to serve; a small made-up world if not given."`
	Tileserver  string        `placeholder:"FILE" help:"The tileserver program; built from this module if not given."`
	Starts      int           `default:"11" help:"How many starts."`
	Duration    time.Duration `default:"1s" help:"How long each scenario runs under load."`
	Connections int           `default:"64" help:"Connections of that load."`
	JSON        bool          `help:"Print JSON instead of a table."`
}

const (
	startBudget = time.Second
	// anonBudget bounds RssAnon in bytes: heap, stacks and caches, which only the process itself
	// can release.
	anonBudget = 100 << 20
	// residentBudget bounds VmRSS in bytes, including the mapped pages of the program and of
	// ip.idx, which the kernel takes back when it needs them.
	residentBudget = 150 << 20
	leastCache     = "1MiB"
)

// footprint is the resident memory at one moment.
type footprint struct {
	When string  `json:"when"`
	RSS  float64 `json:"rss_bytes"`
	Anon float64 `json:"anonymous_bytes"`
}

func (s *startCmd) Run(ctx context.Context) (err error) {
	if s.Starts < 1 || s.Duration <= 0 || s.Connections < 1 {
		return errors.New("--starts, --duration and --connections must be positive")
	}
	tmp, err := os.MkdirTemp("", "httpbench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	data, err := worldIn(ctx, s.Data, tmp)
	if err != nil {
		return err
	}
	program, err := serverProgram(ctx, s.Tileserver, tmp)
	if err != nil {
		return err
	}
	times := make([]float64, s.Starts) // ms
	for i := range times {
		begin := time.Now()
		server, err := startServer(ctx, nil, program, serverFlags(data)...)
		if err != nil {
			return err
		}
		err = ready(ctx, server.url)
		times[i] = float64(time.Since(begin).Microseconds()) / 1e3
		server.stop()
		if err != nil {
			return err
		}
	}
	prints, err := s.footprints(ctx, program, data)
	if err != nil {
		return err
	}
	size, err := sizeOf(data)
	if err != nil {
		return err
	}
	if s.JSON {
		return printJSON(map[string]any{
			"ready_ms": times, "median_ms": median(times), "budget_ms": startBudget.Milliseconds(),
			"memory": prints, "anonymous_budget_bytes": anonBudget, "rss_budget_bytes": residentBudget, "data_bytes": size,
		})
	}
	fmt.Printf("| start, %s of data | median | longest | budget |\n|---|---|---|---|\n", mebibytes(float64(size)))
	fmt.Printf("| process to first 200 of /readyz | %.0f ms | %.0f ms | < %d ms |\n\n", median(times), slices.Max(times),
		startBudget.Milliseconds())
	fmt.Print(memoryTable(prints))
	fmt.Printf("\n%d starts on one core with warm files, load of %v per scenario over %d connections, by `bin/bench/httpbench start`. "+
		"Anonymous memory is RssAnon of the process: heap, stacks and caches, no mapped file. Resident memory is VmRSS: "+
		"that, and pages of mapped files, which the kernel may take back.\n",
		s.Starts, s.Duration, s.Connections)
	return nil
}

// memoryTable shows each of the two measures of memory with its own budget.
func memoryTable(prints []footprint) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| memory with --cache %s | anonymous (RssAnon) | its budget | resident, with mapped files (VmRSS) | "+
		"its budget |\n|---|---|---|---|---|\n", leastCache)
	for _, p := range prints {
		fmt.Fprintf(&b, "| %s | %s | ≤ %s | %s | ≤ %s |\n", p.When, mebibytes(p.Anon), mebibytes(anonBudget), mebibytes(p.RSS),
			mebibytes(residentBudget))
	}
	return b.String()
}

// ready waits for the first 200 of /readyz.
func ready(ctx context.Context, url string) error {
	for begin := time.Now(); ; time.Sleep(time.Millisecond) {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
		if err != nil {
			return err
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		if err := res.Body.Close(); err != nil {
			return err
		}
		if res.StatusCode == http.StatusOK {
			return nil
		}
		if time.Since(begin) > time.Minute {
			return fmt.Errorf("the server is not ready after a minute: %s", res.Status)
		}
	}
}

// footprints runs a server with small caches and measures its memory.
func (s *startCmd) footprints(ctx context.Context, program, data string) (all []footprint, err error) {
	server, err := startServer(ctx, nil, program, serverFlags(data, "--cache", leastCache)...)
	if err != nil {
		return nil, err
	}
	defer server.stop()
	note := func(when string) {
		rss, anon := memory(server.cmd.Process.Pid)
		all = append(all, footprint{when, rss, anon})
	}
	if err := ready(ctx, server.url); err != nil {
		return nil, err
	}
	note("ready")
	// This requests the answers of every scenario once.
	list, err := scenarios(ctx, server.url)
	if err != nil {
		return nil, err
	}
	note("every scenario asked for once")
	for _, sc := range list {
		c, err := newClient(server.url, sc.Answers, s.Connections)
		if err != nil {
			return nil, err
		}
		_, _, err = c.run(s.Duration)
		c.close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", sc.Name, err)
		}
	}
	note("every scenario under load")
	return all, nil
}

// sizeOf returns the size in bytes of the files below a directory.
func sizeOf(dir string) (size int64, err error) {
	err = filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return err
	})
	return size, err
}
