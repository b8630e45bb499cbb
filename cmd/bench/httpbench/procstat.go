package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
)

// state has the resources of a server process at one moment, as bytes and counts.
type state struct {
	RSS        float64 `json:"rss_bytes"`       // resident memory
	Anon       float64 `json:"anonymous_bytes"` // the part that is no file: heap, stacks, caches
	Heap       float64 `json:"live_heap_bytes"` // right after a garbage collection
	Goroutines float64 `json:"goroutines"`
	Files      float64 `json:"open_files"` // connections included
}

// memory reads the resident memory of a process. It is 0 if the system does not report it.
func memory(pid int) (rss, anon float64) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, 0
	}
	values := lines(bytes.NewReader(b), "VmRSS:", "RssAnon:")
	return values[0] * 1024, values[1] * 1024
}

// look reads the state of a server from its operators' listener. The server first collects its
// garbage.
func look(ctx context.Context, admin string, pid int) (s state, err error) {
	heap, err := ask(ctx, admin+"/debug/pprof/heap?gc=1&debug=1", "# HeapAlloc =")
	if err != nil {
		return s, err
	}
	counts, err := ask(ctx, admin+"/metrics", "go_goroutines ", "process_open_fds ")
	if err != nil {
		return s, err
	}
	s.Heap, s.Goroutines, s.Files = heap[0], counts[0], counts[1]
	s.RSS, s.Anon = memory(pid)
	return s, nil
}

// ask reads numbers from a page of lines. In a line the number follows its name.
func ask(ctx context.Context, url string, names ...string) ([]float64, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", url, res.Status)
	}
	return lines(res.Body, names...), nil
}

// lines finds numbers in lines that begin with their names. A missing number is 0.
func lines(r io.Reader, names ...string) []float64 {
	values := make([]float64, len(names))
	for scan := bufio.NewScanner(r); scan.Scan(); {
		for i, name := range names {
			rest, ok := strings.CutPrefix(scan.Text(), name)
			if fields := strings.Fields(rest); ok && len(fields) > 0 {
				if v, err := strconv.ParseFloat(fields[0], 64); err == nil {
					values[i] = v
				}
			}
		}
	}
	return values
}

// mebibytes writes a number of bytes.
func mebibytes(b float64) string { return fmt.Sprintf("%.1f MiB", b/(1<<20)) }
