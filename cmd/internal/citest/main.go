//go:build unix

// Command citest is "go test" for CI, which should refuse only real faults:
//
//	citest NOTES -short -race -timeout 20m ./...
//
// It takes the arguments of go test, flags first, and passes them to gotestsum, which runs a failed
// test once more, alone. If the test passes then, it is called flaky. The environment fixes the
// seeds of random tests (see internal/testseed), so a test that fails for its seed fails again.
// Certain faults are not tried again: a failed build, a data race, a panic, or more failed tests
// than chance explains. Gotestsum accepts a second attempt that was skipped. It also accepts a
// package that ended in the middle of its tests without a panic, although the remaining tests did
// not run. This program reads the events of all runs, and treats both as failures.
//
// CITEST_BUDGET in the environment is a time limit, such as 4m, for optional tests. A package that
// takes longer is reported as not finished, which is neither success nor failure. It has failed if
// a test has failed by then, or has hung (see run.hung).
//
// At the end the program prints the slowest packages, and those that took more than half of their
// time limit. It also adds lines about flaky tests and such packages to the file NOTES. On SIGTERM
// or an interrupt it adds "failed, not judged: NAME" for each test that has failed by then. The
// status is 0 if everything passed in the end.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "citest: name a file for notes, and what go test is to be given")
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	if err := test(ctx, os.Stdout, os.Args[1], os.Args[2:], os.Getenv("CITEST_BUDGET")); err != nil {
		fmt.Fprintln(os.Stderr, "FAIL", err)
		os.Exit(1)
	}
}

// slowest is the number of packages that are listed with their times.
const slowest = 15

// test runs the tests. If there is a budget, its time limit replaces the one in args. It prints to
// out.
func test(ctx context.Context, out io.Writer, notes string, args []string, budget string) error {
	events, err := os.CreateTemp("", "events")
	if err != nil {
		return err
	}
	defer os.Remove(events.Name())
	defer events.Close()
	at := len(args)
	for at > 0 && strings.HasPrefix(args[at-1], ".") && (at == 1 || args[at-2] != "-run") {
		at--
	}
	flags, packages := slices.Clip(args[:at]), strings.Join(args[at:], " ")
	if budget != "" {
		flags = append(flags, "-timeout="+budget)
	}
	cmd := exec.CommandContext(ctx, "gotestsum", append(options(flags, events.Name(), packages), flags...)...)
	cmd.Stdout, cmd.Stderr = out, out
	// Processes that gotestsum starts would otherwise outlive it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	ended := cmd.Run()
	pkgs, err := read(events)
	if err != nil {
		return err
	}
	v := verdict{budget: budget, limit: limit(flags)}
	if ctx.Err() != nil {
		v.unjudged(pkgs)
		return errors.Join(ctx.Err(), note(notes, v.notes))
	}
	for _, p := range pkgs {
		v.judge(p)
	}
	if ended != nil && len(v.refused) == 0 && !v.excused {
		v.refused = append(v.refused, ended.Error())
	}
	v.times(out, pkgs)
	fmt.Fprintln(out, strings.Join(v.notes, "\n"))
	err = note(notes, v.notes)
	for _, line := range v.refused {
		err = errors.Join(err, errors.New(line))
	}
	return err
}

// options returns the options of gotestsum. It repeats a whole test, because a subtest may need the
// subtests before it. But it repeats only what -run selects.
func options(flags []string, events, packages string) []string {
	format := "pkgname-and-test-fails"
	if slices.Contains(flags, "-v") {
		format = "standard-verbose"
	}
	list := []string{
		"--format=" + format, "--hide-summary=skipped", "--jsonfile=" + events, "--packages=" + packages,
		"--rerun-fails=1", "--rerun-fails-max-failures=10", "--rerun-fails-abort-on-data-race",
	}
	if !strings.Contains(flag(flags, "run"), "/") {
		list = append(list, "--rerun-fails-run-root-test")
	}
	return append(list, "--")
}

// limit returns the time limit of a package.
func limit(flags []string) time.Duration {
	if d, err := time.ParseDuration(flag(flags, "timeout")); err == nil {
		return d
	}
	return 10 * time.Minute // go test's own
}

// flag returns the value of a flag of go test, or "" if it is not set.
func flag(flags []string, name string) (last string) {
	for i, arg := range flags {
		if value, joined := strings.CutPrefix(arg, "-"+name+"="); joined {
			last = value
		} else if arg == "-"+name && i+1 < len(flags) {
			last = flags[i+1]
		}
	}
	return last
}

// times prints the slowest packages and the sum of all, and adds notes about those that may fail
// one day on a busy machine.
func (v *verdict) times(out io.Writer, pkgs []*pkg) {
	var sum float64
	for _, p := range pkgs {
		sum += p.runs[0].seconds
	}
	fmt.Fprintf(out, "\nslowest packages, in seconds; all %d took %.1f:\n", len(pkgs), sum)
	slices.SortStableFunc(pkgs, func(a, b *pkg) int { return cmp.Compare(b.runs[0].seconds, a.runs[0].seconds) })
	for i, p := range pkgs {
		seconds, most := p.runs[0].seconds, v.limit.Seconds()
		if i < slowest && seconds >= 1 {
			fmt.Fprintf(out, "%8.1f  %s\n", seconds, p.name)
		}
		if most > 0 && v.budget == "" && seconds > most/2 {
			v.notes = append(v.notes, fmt.Sprintf("slow: %s took %.0f of its %.0f seconds: let its tests try fewer cases with -short, or part it",
				p.name, seconds, most))
		}
	}
}

// note adds lines to the file that CI prints at its end. Several programs may do that at once.
func note(file string, lines []string) error {
	if len(lines) == 0 {
		return nil
	}
	f, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(strings.Join(lines, "\n") + "\n")
	return errors.Join(err, f.Close())
}
