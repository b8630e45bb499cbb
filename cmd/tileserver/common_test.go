package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// What takes seconds to make and no test changes is made once for all tests,
// when the first asks for it, and done away with after the last.
var common struct {
	mu      sync.Mutex
	ends    []func()
	browser context.Context
	ingest  string
}

func TestMain(m *testing.M) {
	if os.Getenv("TILESERVER_TEST_RUN") != "" { // see keysNew
		main()
		return
	}
	code := m.Run()
	common.mu.Lock()
	for _, end := range slices.Backward(common.ends) {
		end()
	}
	os.Exit(code)
}

// commonBrowser returns the context of the one browser. Its options are those
// that every test can do with.
func commonBrowser(t *testing.T) context.Context {
	t.Helper()
	path := findChromium(t)
	common.mu.Lock()
	defer common.mu.Unlock()
	if common.browser == nil {
		browser, stop, err := runBrowser(path)
		common.ends = append(common.ends, stop)
		if err != nil {
			t.Fatal(err)
		}
		common.browser = browser //nolint:fatcontext // one for all tests, not one in another
	}
	return common.browser
}

// buildIngest builds the ingest command and returns a function that runs it and
// returns what it said.
func buildIngest(t *testing.T) func(args ...string) string {
	t.Helper()
	run := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, out)
		}
		return string(out)
	}
	common.mu.Lock()
	defer common.mu.Unlock()
	if common.ingest == "" {
		//nolint:usetesting // it outlives the test
		dir, err := os.MkdirTemp("", "quadrille-ingest-")
		if err != nil {
			t.Fatal(fmt.Errorf("a place for the ingest command: %w", err))
		}
		common.ends = append(common.ends, func() { os.RemoveAll(dir) })
		command := filepath.Join(dir, "ingest")
		run("go", "build", "-o", command, "quadrille/cmd/ingest")
		common.ingest = command
	}
	command := common.ingest
	return func(args ...string) string {
		t.Helper()
		return run(command, args...)
	}
}
