package main

import (
	"bytes"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

const goOutput = `goos: linux
goarch: amd64
pkg: quadrille/quadkey
cpu: Some Processor
BenchmarkKey-2      	100000000	        10.00 ns/op	       0 B/op	       0 allocs/op
BenchmarkKey-2      	100000000	        11.00 ns/op	       0 B/op	       0 allocs/op
BenchmarkKey-2      	100000000	        12.00 ns/op	       0 B/op	       0 allocs/op
PASS
ok  	quadrille/quadkey	1.0s
pkg: quadrille/places
cpu: Some Processor
BenchmarkNearby/k=10-2         	    5000	    251234 ns/op	    2345678 rows/s	  1024 B/op	  12 allocs/op
BenchmarkNearby/a|b-2          	    5000	    2500000000 ns/op
BenchmarkUnfinished
--- some log line
ok  	quadrille/places	1.0s
`

func TestFormat(t *testing.T) {
	got, cpu := format(goOutput)
	want := "### quadrille/quadkey\n\n" +
		"| benchmark | time/op | B/op | allocs/op |\n" +
		"|---|---:|---:|---:|\n" +
		"| Key | 11 ns ± 9 % | 0 | 0 |\n\n" +
		"### quadrille/places\n\n" +
		"| benchmark | time/op | B/op | allocs/op | rows/s |\n" +
		"|---|---:|---:|---:|---:|\n" +
		"| Nearby/k=10 | 251 µs | 1,024 | 12 | 2,345,678 |\n" +
		"| Nearby/a\\|b | 2.5 s |  |  |  |\n\n"
	if got != want || cpu != "Some Processor" {
		t.Errorf("processor %q and\n%s\nwant\n%s", cpu, got, want)
	}
	if got, _ := format("pkg: quadrille/x\nPASS\n"); got != "" {
		t.Errorf("no benchmark ran, but there is %q", got)
	}
	if got, _ := format("| a | table |\n"); got != "| a | table |\n" {
		t.Errorf("other output became %q", got)
	}
}

func TestReplaceSection(t *testing.T) {
	text := ""
	for _, step := range []struct{ section, body string }{{"go", "one"}, {"http", "two"}, {"go", "three\n"}} {
		var err error
		if text, err = replaceSection(text, step.section, step.body); err != nil {
			t.Fatal(err)
		}
	}
	want := "# Benchmarks\n\n" +
		"<!-- figures: go -->\nthree\n<!-- end of figures: go -->\n\n" +
		"<!-- figures: http -->\ntwo\n<!-- end of figures: http -->\n"
	if text != want {
		t.Errorf("got\n%s\nwant\n%s", text, want)
	}
	for _, bad := range []string{
		"<!-- figures: go -->",
		"<!-- end of figures: go --><!-- figures: go -->",
		text + "<!-- figures: go -->",
	} {
		if _, err := replaceSection(bad, "go", "x"); err == nil {
			t.Errorf("no error for the marks in %q", bad)
		}
	}
}

func TestRun(t *testing.T) {
	t.Chdir(t.TempDir()) // outside any repository
	file := "B.md"
	intro := "# Figures\n\nWhat they mean.\n"
	if err := os.WriteFile(file, []byte(intro), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run(t.Context(), []string{"-file", file, "http", "--", "echo", "| it's | 3 |"}, io.Discard); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{intro, "```sh\necho '| it'\\''s | 3 |'\n```", "\n| it's | 3 |\n", "; 20"} {
		if !strings.Contains(string(got), want) {
			t.Errorf("%q is missing in\n%s", want, got)
		}
	}
	for _, args := range [][]string{
		{"-file", file, "http", "--", "false"},
		{"-file", file, "http", "--", "true"}, // prints nothing
		{"-file", file, "http", "--", "no-such-program"},
		{"-file", file, "http", "echo"},
		{"-file", file, "Not a name", "--", "echo"},
		{},
	} {
		if err := run(t.Context(), args, io.Discard); err == nil {
			t.Errorf("no error for %q", args)
		}
	}
	if after, err := os.ReadFile(file); err != nil || !bytes.Equal(after, got) {
		t.Errorf("a failed run changed the file: %v\n%s", err, after)
	}
}

// TestDirty tests that figures are measured only on a commit without changed files, unless the flag
// -dirty is set.
func TestDirty(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git")
	}
	dir := t.TempDir()
	t.Chdir(dir)
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x@example.org"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v: %s", args, err, out)
		}
	}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	report := func(args ...string) (string, error) {
		t.Helper()
		err := run(t.Context(), append(append([]string{"-file", "FIGURES.md"}, args...), "http", "--", "echo", "fast"), io.Discard)
		text, rerr := os.ReadFile("FIGURES.md")
		if rerr != nil {
			t.Fatal(rerr)
		}
		return string(text), err
	}
	git("init", "-q")
	write("FIGURES.md", "# Figures\n")
	write("main.go", "package main\n")
	git("add", ".")
	git("commit", "-q", "-m", "x")
	// The test runs twice, because the first run changes the file of figures itself.
	for range 2 {
		if text, err := report(); err != nil || !strings.Contains(text, ", at ") || strings.Contains(text, "dirty") {
			t.Fatalf("%v:\n%s", err, text)
		}
	}
	for _, name := range []string{"main.go", "new.go"} {
		write(name, "package main // changed\n")
		before, _ := os.ReadFile("FIGURES.md")
		if after, err := report(); err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "-dirty") ||
			after != string(before) {
			t.Errorf("%s is changed: %v:\n%s", name, err, after)
		}
		if text, err := report("-dirty"); err != nil || !strings.Contains(text, "-dirty.") {
			t.Errorf("%s is changed, and that is wanted: %v:\n%s", name, err, text)
		}
		git("add", ".")
		git("commit", "-q", "-m", "x")
	}
}
