//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/internal/testfile"
)

// said returns the packages that result from short events. In an event "p" begins the name of a
// package, ">" printed output, and anything else is the name of a test. The events are converted to
// the format of go test.
func said(t *testing.T, lines ...string) []*pkg {
	t.Helper()
	var b strings.Builder
	for _, line := range lines {
		action, rest, _ := strings.Cut(line, " ")
		where, output, _ := strings.Cut(rest, ">")
		name, part, _ := strings.Cut(strings.TrimSpace(where), " ")
		e := event{Action: action, Package: name, Test: part, Output: output, Elapsed: 1}
		if action == "unbuilt" {
			e.Action, e.FailedBuild = "fail", name
		}
		_ = json.NewEncoder(&b).Encode(e)
	}
	pkgs, err := read(strings.NewReader(b.String() + `{"Action":"out`))
	if err != nil {
		t.Fatal(err)
	}
	return pkgs
}

// TestVerdict tests the verdict about runs of gotestsum. The status of gotestsum does not count
// here.
func TestVerdict(t *testing.T) {
	fails := []string{"start p", "run p TestOne", "fail p TestOne", "output p>FAIL\n", "fail p"}
	passes := []string{"run p TestOne", "pass p TestOne", "output p>PASS\n", "pass p"}
	part := []string{"run p TestOne", "run p TestOne/a", "fail p TestOne/a", "fail p TestOne", "output p>FAIL\n", "fail p"}
	late := []string{"run p TestLong", "run p TestLong/part", "output p TestLong/part>panic: test timed out after 4m0s", "fail p"}
	for _, c := range []struct {
		name    string
		budget  string
		events  [][]string
		notes   string
		refused string
	}{
		{"all pass", "", [][]string{passes}, "", ""},
		{"fails twice", "", [][]string{fails, fails}, "", "p: TestOne failed"},
		{"fails once", "", [][]string{fails, passes}, "flaky: p TestOne", ""},
		{"fails and is not tried again", "", [][]string{fails}, "", "p: TestOne failed"},
		{"fails in a part", "", [][]string{part, passes}, "flaky: p TestOne", ""},
		{
			"another part fails then",
			"",
			[][]string{part, {"run p TestOne", "fail p TestOne/b", "fail p TestOne", "output p>FAIL\n", "fail p"}},
			"",
			"p: TestOne failed, p: TestOne/a failed",
		},
		{"is gone", "", [][]string{fails, {"output p>testing: warning: no tests to run", "output p>PASS\n", "pass p"}}, "", "p: TestOne failed"},
		{
			"a panic",
			"",
			[][]string{{"run p TestTwo", "output p TestTwo>panic: no", "fail p TestTwo", "output p>FAIL\tp\t1s\n", "fail p"}},
			"",
			"p: its tests were cut off",
		},
		{
			"an exit that does not happen again",
			"",
			[][]string{{"run p TestOne", "output p>FAIL\tp\t1s\n", "fail p"}, passes},
			"",
			"p: its tests were cut off",
		},
		{
			"a panic when tried again",
			"",
			[][]string{fails, {"run p TestOne", "output p TestOne>panic: no", "fail p TestOne", "fail p"}},
			"",
			"p: its tests were cut off",
		},
		{"over its time", "", [][]string{late}, "", "p: its tests were cut off"},
		{
			"a data race",
			"",
			[][]string{{"run p TestOne", "output p TestOne>WARNING: DATA RACE\n", "fail p TestOne", "output p>FAIL\n", "fail p"}},
			"",
			"p: a data race, which is no chance",
		},
		{
			"a data race when tried again",
			"",
			[][]string{fails, {"run p TestOne", "output p TestOne>WARNING: DATA RACE\n", "pass p TestOne", "output p>PASS\n", "pass p"}},
			"",
			"p: a data race, which is no chance",
		},
		{
			"a map used at once, not again",
			"",
			[][]string{{"run p TestOne", "output p TestOne>fatal error: concurrent map writes\n", "fail p"}, passes},
			"",
			"p: a map used by several goroutines at once, which is no chance",
		},
		{
			"a bad pointer",
			"",
			[][]string{{"run p TestOne", "output p TestOne>fatal error: found bad pointer in Go heap\n", "fail p"}},
			"",
			"p: a bad pointer, which is no chance",
		},
		{
			"is skipped then",
			"",
			[][]string{fails, {"run p TestOne", "skip p TestOne", "output p>PASS\n", "pass p"}},
			"",
			"p: TestOne failed, and then was skipped",
		},
		{
			"its part is skipped then",
			"",
			[][]string{part, {"skip p TestOne/a", "pass p TestOne", "output p>PASS\n", "pass p"}},
			"flaky: p TestOne",
			"p: TestOne/a failed, and then was skipped",
		},
		{
			"go test is killed",
			"",
			[][]string{{"start q", "run q TestTwo"}, fails, passes},
			"flaky: p TestOne",
			"q: go test ended before its tests did",
		},
		{"does not build", "", [][]string{{"unbuilt p"}}, "", "p: it does not build"},
		{
			"outside of tests",
			"",
			[][]string{{"run p TestOne", "pass p TestOne", "output p>FAIL\n", "fail p"}},
			"",
			"p: it failed outside of its tests",
		},
		{"no time for it", "4m", [][]string{late}, "not finished: p in 4m, which says nothing about it; at the end ran map[]", ""},
		{
			"one had failed",
			"4m",
			[][]string{append([]string{"run p TestBad", "run p TestBad/a", "fail p TestBad/a", "pause p TestBad/b"}, late...)},
			"not finished: p in 4m, which says nothing about it; at the end ran map[]",
			"p: TestBad/a failed",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := verdict{budget: c.budget, limit: 4 * time.Minute}
			for _, p := range said(t, slices.Concat(c.events...)...) {
				v.judge(p)
			}
			if notes, refused := strings.Join(v.notes, ", "), strings.Join(v.refused, ", "); notes != c.notes || refused != c.refused {
				t.Errorf("notes %q, refused %q, want %q and %q", notes, refused, c.notes, c.refused)
			}
		})
	}
}

// TestHung tests that a test that takes the whole time limit and only waits is a failure. A test
// that still works is not.
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
			for _, s := range []string{
				"panic: test timed out after 4m0s",
				"\trunning tests:",
				"\t\t" + c.held,
				"goroutine 40 [running]:",
				"goroutine 1 gp=0x1 m=nil [chan receive, 3 minutes]:",
				c.stack,
			} {
				lines = append(lines, "output p TestLong>"+s+"\n")
			}
			v := verdict{budget: "4m", limit: 4 * time.Minute}
			v.judge(said(t, append(lines, "fail p")...)[0])
			if (len(v.refused) == 1) != c.refused || v.excused == c.refused {
				t.Errorf("notes %q, failures %q", v.notes, v.refused)
			}
			if said := strings.Join(append(v.notes, v.refused...), " "); !strings.Contains(said, "TestLong") {
				t.Errorf("it does not name the test: %s", said)
			}
		})
	}
}

// TestUnjudged: if the program is stopped between the two attempts of a test, the notes name the
// test as failed.
func TestUnjudged(t *testing.T) {
	var v verdict
	v.unjudged(said(t, "fail p TestOne/a", "fail p TestOne", "fail p TestTwo", "fail p", "run p TestTwo", "pass p TestTwo",
		"pass p", "fail q TestThree"))
	if want := []string{"failed, not judged: p TestOne", "failed, not judged: p TestOne/a",
		"failed, not judged: q TestThree"}; !slices.Equal(v.notes, want) {
		t.Errorf("%q, want %q", v.notes, want)
	}
}

func TestOptions(t *testing.T) {
	for flags, want := range map[string][2]bool{ // whole tests again, all that is printed
		"-short":                           {true, false},
		"-v -run ^TestOne$":                {true, true},
		"-run ^TestSuite$/^(K1|W)$ -short": {false, false},
		"-run=^TestSuite$/^K1$":            {false, false},
	} {
		got := options(strings.Fields(flags), "e", "./p ./q")
		if slices.Contains(got, "--rerun-fails-run-root-test") != want[0] ||
			slices.Contains(got, "--format=standard-verbose") != want[1] || !slices.Contains(got, "--packages=./p ./q") {
			t.Errorf("%s: %q", flags, got)
		}
	}
}

func TestTimes(t *testing.T) {
	for args, note := range map[string]bool{"-timeout 20m": false, "-timeout=2m": true, "-timeout=3m": false, "": false, "-timeout 0": false} {
		v := verdict{limit: limit(strings.Fields(args))}
		v.times(io.Discard, []*pkg{{"p", []*run{{seconds: 90}}}, {"q", []*run{{seconds: 3}}}})
		if (len(v.notes) == 1) != note {
			t.Errorf("%q: %q", args, v.notes)
		}
	}
}

// TestMain acts as gotestsum if it is called as such: it writes the given events.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) != "gotestsum" {
		os.Exit(m.Run())
	}
	for _, arg := range os.Args {
		if file, is := strings.CutPrefix(arg, "--jsonfile="); is {
			_ = os.WriteFile(file, []byte(os.Getenv("EVENTS")), 0o600) // a test reads it
		}
	}
	if os.Getenv("EVENTS") == "" {
		time.Sleep(time.Minute)
	}
	os.Exit(1)
}

// TestTest tests that the status of gotestsum counts unless the budget excuses it.
func TestTest(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Symlink(program, filepath.Join(dir, "gotestsum")); err != nil {
		t.Skip(err)
	}
	t.Setenv("PATH", dir)
	late := `{"Action":"output","Package":"p","Output":"panic: test timed out after 4m0s"}` + "\n" +
		`{"Action":"fail","Package":"p","Elapsed":240}` + "\n"
	for name, c := range map[string]struct{ events, budget, notes, err string }{
		"status alone": {`{"Action":"pass","Package":"p"}` + "\n", "", "", "exit status 1"},
		"excused":      {late, "4m", "not finished: p in 4m, which says nothing about it; at the end ran map[]\n", "<nil>"},
		"refused": {
			late,
			"",
			"slow: p took 240 of its 300 seconds: let its tests try fewer cases with -short, or part it\n",
			"p: its tests were cut off",
		},
		"no events":    {"{\n", "", "", "unexpected end of JSON input"},
		"ended before": {"", "", "", "context deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			wait := time.Minute
			if c.events == "" {
				wait = 50 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			defer cancel()
			t.Setenv("EVENTS", c.events)
			notes := testfile.WriteTemp(t, "notes", "")
			err := test(ctx, io.Discard, notes, []string{"-timeout=5m", "./p"}, c.budget)
			if got := string(testfile.Read(t, notes)); got != c.notes || fmt.Sprint(err) != c.err {
				t.Errorf("notes %q, error %v, want %q and %s", got, err, c.notes, c.err)
			}
		})
	}
}

// TestGotestsum runs the program on a module, if gotestsum is installed, as in CI.
func TestGotestsum(t *testing.T) {
	if _, err := exec.LookPath("gotestsum"); err != nil {
		t.Skip("there is no gotestsum: .ci/run installs it")
	}
	dir := t.TempDir()
	once := func(pkg, then string) string {
		return "package " + pkg + "\n\nimport (\"os\"; \"testing\"; \"time\")\n\nfunc TestOnce(t *testing.T) {" +
			"if _, err := os.Stat(t.Name()); err != nil { _ = os.WriteFile(t.Name(), nil, 0o600); time.Sleep(1); " + then + " } }\n"
	}
	for name, text := range map[string]string{
		"go.mod":           "module m\n\ngo 1.21\n",
		"flaky/a_test.go":  once("flaky", `t.Run("part", func(t *testing.T) { t.Error("now and then") })`),
		"cut/a_test.go":    once("cut", `panic("now and then")`),
		"exits/a_test.go":  once("exits", `os.Exit(1)`),
		"maps/a_test.go":   once("maps", `m := map[int]int{}; for range 8 { go func() { for { m[0]++ } }() }; time.Sleep(time.Minute)`),
		"hangs/a_test.go":  once("hangs", `select {}`),
		"long/a_test.go":   once("long", `for { _ = t }`),
		"broken/a_test.go": "package broken\n\nfunc TestNothing() { return 1 }\n",
	} {
		testfile.Write(t, filepath.Join(dir, name), strings.ReplaceAll(text, "range 8", "i := 0; i < 8; i++"))
	}
	ran := regexp.MustCompile(`TestOnce:\d+s`)
	t.Chdir(dir)
	t.Setenv("GOFLAGS", "-mod=mod")
	t.Setenv("GOWORK", "off")
	for pkg, c := range map[string]struct{ budget, notes, refused string }{
		"./flaky":  {"", "flaky: m/flaky TestOnce\n", ""},
		"./cut":    {"", "", "m/cut: its tests were cut off"},
		"./exits":  {"", "", "m/exits: its tests were cut off"},
		"./maps":   {"", "", "m/maps: a map used by several goroutines at once, which is no chance"},
		"./hangs":  {"4s", "", "m/hangs: TestOnce waited for nothing but itself when the 4s were over"},
		"./long":   {"4s", "not finished: m/long in 4s, which says nothing about it; at the end ran map[TestOnce:…]\n", ""},
		"./broken": {"", "", "m/broken: it does not build"},
	} {
		notes := filepath.Join(dir, "notes"+filepath.Base(pkg))
		testfile.Write(t, notes, "")
		err := test(t.Context(), io.Discard, notes, []string{"-vet=off", "-count=1", pkg}, c.budget)
		got := ran.ReplaceAllString(string(testfile.Read(t, notes)), "TestOnce:…")
		if got != c.notes || c.refused == "" && err != nil ||
			c.refused != "" && fmt.Sprint(err) != c.refused {
			t.Errorf("%s: notes %q, error %v, want %q and %s", pkg, got, err, c.notes, c.refused)
		}
	}
	if err := os.Remove(filepath.Join("long", "TestOnce")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := test(ctx, io.Discard, filepath.Join(dir, "notes"), []string{"-vet=off", "-count=1", "./long"}, ""); err == nil || ctx.Err() == nil {
		t.Errorf("ended before its time: %v", err)
	}
}
