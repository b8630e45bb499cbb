// Command citest is "go test" for CI, which is to refuse only what is broken:
//
//	citest NOTES -short -race -timeout 20m ./...
//
// It takes the arguments of go test, flags first, and prints what go test does. A
// test that fails is run once more, alone. When it passes then, the run goes on and
// the test is called flaky. As the seeds of random tests are fixed by the
// environment (see internal/testseed), chance is not in them: what fails for its
// seed fails again. What is broken for certain is not tried again: what does not
// build, a data race or what the runtime calls fatal like it, a package that fails
// outside of its tests or never ends, or more tests than fail by chance.
//
// When a test takes down its package by a panic, an exit or the time limit, the
// tests that had not begun are run too, unless it did so twice. They get no second
// chance. What is tried again has at most five minutes.
//
// CITEST_BUDGET in the environment is a time, such as 4m, for tests that there may
// be no time for: a package that takes longer is called not finished, which says
// nothing about it, unless a test had failed by then, or hung: one that took most of
// that time by itself while none of its goroutines computed, or waited for a process
// or the network.
//
// At the end stand the slowest packages, with the seconds of all together, and those that
// took more than half of their time limit. Lines about flaky tests and such packages are
// added to the file NOTES too. Until a test that failed is judged, NOTES has a line
// "failed, not judged: NAME", for whoever ends this program before. The status is 0 when
// everything passed in the end.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "citest: name a file for notes, and what go test is to be given")
		os.Exit(2)
	}
	c := &ci{args: os.Args[2:], budget: os.Getenv("CITEST_BUDGET"), goTest: goTest, out: os.Stdout, file: notes(os.Args[1])}
	ok := c.run()
	if err := c.file.add(c.notes...); err != nil {
		fmt.Fprintln(os.Stderr, "citest:", err)
		ok = false
	}
	if !ok {
		os.Exit(1)
	}
}

// goTest runs go test and hands over its events.
func goTest(args []string, read func(io.Reader) error) error {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	err = read(events)
	if ended := cmd.Wait(); err == nil {
		err = ended
	}
	return err
}
