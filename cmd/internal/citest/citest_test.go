package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"quadrille/cmd/internal/testfile"
)

// said writes events as go test does, shortly: "p" begins the name of a package,
// anything else that of a test, ">" what it prints.
func said(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		action, rest, _ := strings.Cut(line, " ")
		where, output, _ := strings.Cut(rest, ">")
		name, part, _ := strings.Cut(strings.TrimSpace(where), " ")
		_ = json.NewEncoder(&b).Encode(event{Action: action, Package: name, Test: part, Output: output, Elapsed: 1})
	}
	return b.String()
}

func TestRun(t *testing.T) {
	one := []string{"start p", "run p TestOne", "output p TestOne>the reason", "fail p TestOne", "output p>FAIL\n", "output p>FAIL\tp\t1s\n", "fail p"}
	passes := []string{"run p TestOne", "pass p TestOne", "output p>PASS\n", "output p>ok\tp\t1s\n", "pass p"}
	many := []string{}
	for i := range most + 1 {
		many = append(many, fmt.Sprintf("run p Test%d", i), fmt.Sprintf("fail p Test%d", i))
	}
	for _, c := range []struct {
		name  string
		runs  [][]string // those that fail are those with a line "fail p"
		ok    bool
		says  []string
		asked []string // of go test, after the first time
	}{
		{"all pass", [][]string{passes}, true, []string{"ok\tp", "all 1 took 1.0:\n     1.0  p\n"}, nil},
		{"fails twice", [][]string{one, one}, false, []string{"the reason", "FAIL\tp", "FAIL p: TestOne failed again, alone"}, []string{"-short -count=1 -timeout=5m0s -run ^(TestOne)$ p"}},
		{"fails once", [][]string{one, passes}, true, []string{"the reason", "FAIL\tp", "flaky: p TestOne"}, []string{"-short -count=1 -timeout=5m0s -run ^(TestOne)$ p"}},
		{
			"fails in a part", [][]string{{"run p TestOne", "run p TestOne/a", "fail p TestOne/a", "fail p TestOne", "output p>FAIL\n", "fail p"}, passes},
			true, []string{"flaky: p TestOne\n"}, []string{"-short -count=1 -timeout=5m0s -run ^(TestOne)$ p"},
		},
		{"is gone", [][]string{one, {"output p>testing: warning: no tests to run", "output p>PASS\n", "pass p"}}, false, []string{"not there"}, []string{"-short -count=1 -timeout=5m0s -run ^(TestOne)$ p"}},
		{
			"cut off by the second of three, with one waiting", [][]string{
				{"run p TestZero", "pause p TestZero", "run p TestOne", "pass p TestOne", "run p TestTwo", "output p TestTwo>panic: no", "fail p TestTwo", "output p>FAIL\tp\t1s\n", "fail p"},
				{"run p TestTwo", "pass p TestTwo", "output p>PASS\n", "pass p"},
				{"run p TestThree", "fail p TestThree", "output p>FAIL\n", "fail p"},
			},
			false,
			[]string{"panic: no", "flaky: p TestTwo", "FAIL p: what comes after TestTwo failed again"},
			[]string{"-short -count=1 -timeout=5m0s -run ^(TestTwo)$ p", "-short -count=1 -timeout=5m0s -skip ^(TestOne|TestTwo)$ p"},
		},
		{
			"over its time", [][]string{
				{"run p TestOne", "output p TestOne>panic: test timed out", "fail p"},
				{"run p TestOne", "pass p TestOne", "output p>PASS\n", "pass p"},
				{"output p>PASS\n", "pass p"},
			},
			true, []string{"test timed out", "flaky: p TestOne"}, []string{"-short -count=1 -timeout=5m0s -run ^(TestOne)$ p", "-short -count=1 -timeout=5m0s -skip ^(TestOne)$ p"},
		},
		{"a data race", [][]string{{"run p TestOne", "output p TestOne>WARNING: DATA RACE\n", "fail p TestOne", "output p>FAIL\n", "fail p"}}, false, []string{"WARNING: DATA RACE", "FAIL p: a data race"}, nil},
		{"a data race when tried again", [][]string{one, {"run p TestOne", "output p TestOne>WARNING: DATA RACE\n", "pass p TestOne", "output p>PASS\n", "pass p"}}, false, []string{"then had a data race"}, []string{"-short -count=1 -timeout=5m0s -run ^(TestOne)$ p"}},
		{"a map used at once", [][]string{{"run p TestOne", "output p TestOne>fatal error: concurrent map writes\n", "fail p"}}, false, []string{"FAIL p: a map used by several"}, nil},
		{"a bad pointer", [][]string{{"run p TestOne", "output p TestOne>fatal error: found bad pointer in Go heap\n", "fail p"}}, false, []string{"FAIL p: a bad pointer"}, nil},
		{"is skipped then", [][]string{one, {"run p TestOne", "skip p TestOne", "output p>PASS\n", "pass p"}}, false, []string{"FAIL p: TestOne failed, and then was skipped"}, []string{"-short -count=1 -timeout=5m0s -run ^(TestOne)$ p"}},
		{
			"its part is skipped then", [][]string{
				{"run p TestOne", "run p TestOne/a", "fail p TestOne/a", "fail p TestOne", "output p>FAIL\n", "fail p"},
				{"run p TestOne", "run p TestOne/a", "skip p TestOne/a", "pass p TestOne", "output p>PASS\n", "pass p"},
			}, false, []string{"its part TestOne/a was skipped"}, []string{"-short -count=1 -timeout=5m0s -run ^(TestOne)$ p"},
		},
		{"go test is killed", [][]string{append([]string{"start q", "run q TestTwo"}, append(one, "fail")...), passes}, false, []string{"flaky: p TestOne", "FAIL q: go test ended before"}, []string{"-short -count=1 -timeout=5m0s -run ^(TestOne)$ p"}},
		{
			"hangs twice", [][]string{
				{"run p TestOne", "output p TestOne>panic: test timed out", "fail p"},
				{"run p TestOne", "output p TestOne>panic: test timed out", "fail p"},
			}, false, []string{"FAIL p: TestOne failed again"}, []string{"-short -count=1 -timeout=5m0s -run ^(TestOne)$ p"},
		},
		{"outside of tests", [][]string{{"run p TestOne", "pass p TestOne", "output p>PASS\n", "output p>FAIL\tp\t1s\n", "fail p"}}, false, []string{"outside of its tests"}, nil},
		{"too many", [][]string{append(many, "output p>FAIL\n", "fail p")}, false, []string{"11 tests failed in all"}, nil},
		{"no package at all", [][]string{{"fail"}}, false, []string{"exit status 1"}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			var asked []string
			var out strings.Builder
			run := &ci{args: []string{"-short", "./..."}, out: &out}
			run.goTest = func(args []string, read func(io.Reader) error) error {
				asked = append(asked, strings.Join(args, " "))
				if len(asked) > len(c.runs) {
					return errors.New("it is asked too often")
				}
				lines := c.runs[len(asked)-1]
				if err := read(strings.NewReader(said(lines...))); err != nil {
					return err
				}
				if slices.Contains(lines, "fail p") || slices.Contains(lines, "fail") {
					return errors.New("exit status 1")
				}
				return nil
			}
			if ok := run.run(); ok != c.ok {
				t.Errorf("it passed: %v, want %v", ok, c.ok)
			}
			if !slices.Equal(asked[1:], c.asked) {
				t.Errorf("tried again by %q, want %q", asked[1:], c.asked)
			}
			for _, s := range c.says {
				if !strings.Contains(out.String(), s) {
					t.Errorf("it does not say %q:\n%s", s, out.String())
				}
			}
		})
	}
}

// TestBudget: what there is no time for is no failure, but a test that failed before
// is.
func TestBudget(t *testing.T) {
	late := []string{"run p TestGood", "pass p TestGood", "run p TestLong", "run p TestLong/part", "output p TestLong/part>panic: test timed out after 4m0s", "fail p"}
	bad := append([]string{"run p TestBad", "run p TestBad/a", "fail p TestBad/a", "pause p TestBad/b"}, late...)
	for name, c := range map[string]struct {
		runs [][]string
		ok   bool
		note string
	}{
		"nothing failed": {[][]string{late}, true, "not finished: p in 4m"},
		"one had failed": {[][]string{bad, {"run p TestBad", "fail p TestBad", "output p>FAIL", "fail p"}}, false, "not finished: p in 4m"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			run := &ci{args: []string{"-timeout=1h", "./p"}, budget: "4m", out: io.Discard}
			run.goTest = func(args []string, read func(io.Reader) error) error {
				if want := "-timeout=1h -timeout=4m"; !strings.HasPrefix(strings.Join(args, " "), want) || asked == len(c.runs) {
					t.Fatalf("go test %q", args)
				}
				asked++
				if err := read(strings.NewReader(said(c.runs[asked-1]...))); err != nil {
					return err
				}
				return errors.New("exit status 1")
			}
			if ok := run.run(); ok != c.ok || asked != len(c.runs) || len(run.notes) != 1 || !strings.HasPrefix(run.notes[0], c.note) {
				t.Errorf("passed %v after %d runs, notes %q, failures %q", ok, asked, run.notes, run.broken)
			}
		})
	}
}

// TestHung: a test that holds the time by itself and waits for nothing is refused, one
// that works is not.
func TestHung(t *testing.T) {
	for name, c := range map[string]struct {
		held, stack string
		refused     bool
	}{
		"waits for ever":          {"TestLong (3m59s)", "goroutine 7 [select (no cases), 2 minutes]:", true},
		"waits, beside a server":  {"TestLong (3m59s)", "goroutine 7 [IO wait, 3 minutes]:", true},
		"computes":                {"TestLong (3m59s)", "goroutine 7 [runnable]:", false},
		"waits for a process":     {"TestLong (3m59s)", "goroutine 7 [syscall, 3 minutes]:", false},
		"one of many":             {"TestLong (59s)", "goroutine 7 [chan receive]:", false},
		"a part of one, in turns": {"TestLong/part (1s)", "goroutine 7 [chan receive]:", false},
	} {
		t.Run(name, func(t *testing.T) {
			lines := []string{"run p TestLong"}
			for _, s := range []string{"panic: test timed out after 4m0s", "\trunning tests:", "\t\t" + c.held, "goroutine 40 [running]:", "goroutine 1 gp=0x1 m=nil [chan receive, 3 minutes]:", c.stack} {
				lines = append(lines, "output p TestLong>"+s+"\n")
			}
			run := &ci{args: []string{"-timeout=1h", "./p"}, budget: "4m", out: io.Discard}
			run.goTest = func(_ []string, read func(io.Reader) error) error {
				return errors.Join(read(strings.NewReader(said(append(lines, "fail p")...))), errors.New("exit status 1"))
			}
			if ok := run.run(); ok == c.refused {
				t.Errorf("passed %v, notes %q, failures %q", ok, run.notes, run.broken)
			}
			if said := strings.Join(append(run.notes, run.broken...), " "); !strings.Contains(said, "TestLong") {
				t.Errorf("it does not name the test: %s", said)
			}
		})
	}
}

// TestNotesAtOnce: programs that write to one file of notes lose no line of each other.
func TestNotesAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes")
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			n := notes(file)
			for i := range 50 {
				err := errors.Join(n.add(fmt.Sprintf("stays %d %d", w, i), "goes"), n.takeBack("goes"))
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	b := testfile.Read(t, file)
	lines := slices.Sorted(strings.Lines(string(b)))
	if len(slices.Compact(slices.Clone(lines))) != 200 || len(lines) != 200 || strings.Contains(string(b), "goes") {
		t.Errorf("%d lines are left, want 200 different ones, none of those taken back:\n%s", len(lines), b)
	}
}

// TestUnjudged: whoever ends the program between the two tries of a test finds in the
// notes that it has failed.
func TestUnjudged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "notes")
	if err := notes(file).add("slow: q"); err != nil {
		t.Fatal(err)
	}
	had := func() string {
		b := testfile.Read(t, file)
		return string(b)
	}
	run := &ci{args: []string{"./p"}, out: io.Discard, file: notes(file)}
	asked := 0
	run.goTest = func(_ []string, read func(io.Reader) error) error {
		asked++
		if asked == 2 {
			if got := had(); got != "slow: q\nfailed, not judged: p TestOne\n" {
				t.Errorf("before the second try the notes are %q", got)
			}
			return read(strings.NewReader(said("run p TestOne", "pass p TestOne", "output p>PASS\n", "pass p")))
		}
		if err := read(strings.NewReader(said("run p TestOne", "run p TestOne/a", "fail p TestOne/a"))); err != nil {
			t.Error(err)
		}
		if got := had(); !strings.HasSuffix(got, "failed, not judged: p TestOne\n") {
			t.Errorf("while others run the notes are %q", got)
		}
		return errors.Join(read(strings.NewReader(said("run p TestOne", "fail p TestOne", "output p>FAIL\n", "fail p"))), errors.New("exit status 1"))
	}
	if !run.run() || had() != "slow: q\n" {
		t.Errorf("failures %q; at the end the notes are %q", run.broken, had())
	}
}

func TestParts(t *testing.T) {
	for run, want := range map[string]string{
		"":                               "",
		"^TestOne$":                      "",
		"^TestSuite$/^(K1|W)$/.*/^plain": "/^(K1|W)$/.*/^plain",
		"^Test[/]$/a":                    "/a",
		"^(A/b|C)$":                      "",
		"A/b|C/d":                        "",
	} {
		if got := parts(run); got != want {
			t.Errorf("%q: %q, want %q", run, got, want)
		}
	}
	var asked []string
	c := &ci{args: []string{"-run", "^TestSuite$/^plain$", "-timeout", "1m", "./p"}, out: io.Discard, goTest: func(args []string, _ func(io.Reader) error) error {
		asked = args
		return nil
	}}
	c.again(&pkg{name: "p"}, "-run", "TestSuite")
	if want := "-run ^TestSuite$/^plain$ -timeout 1m -count=1 -run ^(TestSuite)$/^plain$ p"; strings.Join(asked, " ") != want {
		t.Errorf("tried again by %q, want %q", asked, want)
	}
}

func TestTimes(t *testing.T) {
	for args, note := range map[string]bool{"-timeout 20m": false, "-timeout=2m": true, "-timeout=3m": false, "": false, "-timeout 0": false} {
		c := &ci{args: strings.Fields(args), out: io.Discard}
		c.times(map[string]*pkg{"p": {name: "p", seconds: 90}, "q": {name: "q", seconds: 3}})
		if (len(c.notes) == 1) != note {
			t.Errorf("%q: %q", args, c.notes)
		}
	}
}

// TestGo runs the program on a module, to see that go test says what is expected of
// it.
func TestGo(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	dir := t.TempDir()
	test := func(body string) string { return "import (\"os\"; \"testing\")\n\n" + body }
	once := func(then string) string {
		return "{ if _, err := os.Stat(t.Name()); err != nil { _ = os.WriteFile(t.Name(), nil, 0o600); " + then + " } }"
	}
	for name, text := range map[string]string{
		"go.mod":           "module m\n\ngo 1.21\n",
		"flaky/a_test.go":  "package flaky\n\n" + test("func TestGood(t *testing.T) { _ = os.Args }\n\nfunc TestOnce(t *testing.T) "+once(`t.Run("part", func(t *testing.T) { t.Error("now and then") })`)+"\n"),
		"cut/a_test.go":    "package cut\n\n" + test("func TestFirst(t *testing.T) {}\n\nfunc TestPanics(t *testing.T) "+once(`panic("now and then")`)+"\n\nfunc TestLast(t *testing.T) { t.Log(\"reached\") }\n"),
		"broken/a_test.go": "package broken\n\nfunc TestNothing() { return 1 }\n",
	} {
		path := filepath.Join(dir, name)
		testfile.Write(t, path, text)
	}
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "off")
	var out strings.Builder
	c := &ci{args: []string{"-vet=off", "./flaky", "./cut"}, goTest: goTest, out: &out}
	if !c.run() || len(c.notes) != 2 || c.notes[0] != "flaky: m/cut TestPanics" || c.notes[1] != "flaky: m/flaky TestOnce" {
		t.Errorf("it says %q:\n%s", c.notes, out.String())
	}
	for _, want := range []string{"now and then", "-skip ^(TestFirst|TestPanics)$ m/cut", "ok  \tm/cut"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	out.Reset()
	c = &ci{args: []string{"-vet=off", "./..."}, goTest: goTest, out: &out}
	if c.run() || !slices.Equal(c.broken, []string{"m/broken: it does not build"}) || len(c.notes) != 0 {
		t.Errorf("it says %q, %q:\n%s", c.broken, c.notes, out.String())
	}
}
