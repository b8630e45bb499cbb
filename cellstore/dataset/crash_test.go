package dataset

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"quadrille/internal/must"
	"quadrille/internal/testseed"
)

// The test binary runs itself as the ingesting process that gets killed.
const (
	crashDir  = "DATASET_TEST_CRASH_DIR"
	crashStep = "DATASET_TEST_CRASH_STEP" // dies there; empty: goes on until killed
	crashReal = "DATASET_TEST_CRASH_REAL" // not empty: with real stores
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		if err := crashingIngest(dir, os.Getenv(crashStep)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// crashingIngest publishes, prunes and rolls back in turn. It prints the content of each generation
// before and after publishing it.
func crashingIngest(dir, dieAt string) error {
	opener := new(fileStats).opener
	if os.Getenv(crashReal) != "" {
		opener = pebbleOpener
	}
	c, err := Open(dir, opener)
	if err != nil {
		return err
	}
	c.onStep = func(step string) error {
		if step == dieAt {
			self, err := os.FindProcess(os.Getpid())
			if err != nil {
				return err
			}
			if err := self.Kill(); err != nil { // SIGKILL: nothing is cleaned up
				return err
			}
			select {}
		}
		return nil
	}
	for {
		text := fmt.Sprint("text ", rand.Uint64())
		fmt.Println("begin", text)
		m, err := ingest(c, "ip", text)
		if err != nil {
			return err
		}
		fmt.Println("end", text)
		if _, err := c.Prune(context.Background(), 2, 0); err != nil {
			return err
		}
		if m.Generation%3 == 0 {
			fmt.Println("rollback")
			if _, err := c.Rollback(context.Background(), "ip"); err != nil {
				return err
			}
		}
	}
}

func crasher(t *testing.T, dir, step string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	must.Do(t, err)
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), crashDir+"="+dir, crashStep+"="+step)
	cmd.Stderr = os.Stderr
	return cmd
}

// intact checks that the published generation is complete, and that the killed process had begun
// it. It checks that this generation and its neighbours have the recorded bytes.
func intact(t *testing.T, c *Catalog, begun map[string]bool) string {
	t.Helper()
	got, err := content(c, "ip")
	if err != nil {
		t.Fatalf("nothing is published any more: %v", err)
	}
	if !begun[got] {
		t.Fatalf("published %q, which nobody began", got)
	}
	list, err := c.List(t.Context())
	must.Do(t, err)
	for _, in := range list {
		if err := c.Verify(t.Context(), "ip", in.Generation, nil); err != nil {
			t.Fatalf("generation %d: %v", in.Generation, err)
		}
	}
	return got
}

func TestKilledAtEveryStep(t *testing.T) {
	for _, step := range append(append([]string{}, unpublishedSteps...), publishedStep, "unlisted", "generation removed") {
		t.Run(step, func(t *testing.T) {
			c, _ := newCatalog(t)
			begun := map[string]bool{"one": true, "two": true}
			mustIngest(t, c, "ip", "one")
			mustIngest(t, c, "ip", "two")
			out, err := crasher(t, c.Dir(), step).Output()
			var exit *exec.ExitError
			if !errors.As(err, &exit) || exit.ExitCode() != -1 {
				t.Fatalf("the child was not killed: %v", err)
			}
			var last string
			for line := range strings.Lines(string(out)) {
				if text, ok := strings.CutPrefix(strings.TrimSpace(line), "begin "); ok {
					begun[text], last = true, text
				}
			}
			got := intact(t, c, begun)
			want := "two"
			if step == publishedStep || step == "unlisted" || step == "generation removed" {
				want = last
			}
			if got != want {
				t.Errorf("published %q, want %q", got, want)
			}
			rerun(t, c)
		})
	}
}

func TestKilledAtRandomMoments(t *testing.T) {
	t.Run("files", func(t *testing.T) {
		c, _ := newCatalog(t)
		killAtRandom(t, c, 15, 20*time.Millisecond)
	})
	t.Run("pebblestore", func(t *testing.T) {
		t.Setenv(crashReal, "1")
		killAtRandom(t, newPebbleCatalog(t), 8, 200*time.Millisecond)
	})
}

func killAtRandom(t *testing.T, c *Catalog, kills int, within time.Duration) {
	begun := map[string]bool{"one": true}
	mustIngest(t, c, "ip", "one")
	rnd := testseed.Rand(t)
	for range kills {
		cmd := crasher(t, c.Dir(), "")
		out, err := cmd.StdoutPipe()
		must.Do(t, err)
		must.Do(t, cmd.Start())
		lines := bufio.NewScanner(out)
		delay := time.Duration(rnd.Int64N(int64(within)))
		for first := true; lines.Scan(); first = false {
			if first { // count from here: the time of starting up varies
				time.AfterFunc(delay, func() { cmd.Process.Kill() })
			}
			if text, ok := strings.CutPrefix(lines.Text(), "begin "); ok {
				begun[text] = true
			}
		}
		var exit *exec.ExitError
		if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != -1 {
			t.Fatalf("the child was not killed: %v", err)
		}
		intact(t, c, begun)
	}
	t.Logf("%d builds were begun, %d ended", len(begun), lastNumber(t, c))
	rerun(t, c)
}

func lastNumber(t *testing.T, c *Catalog) uint64 {
	t.Helper()
	p, err := c.requirePointer(t.Context(), "ip")
	must.Do(t, err)
	return p.Last
}

// rerun checks that the remains of a killed process hinder nothing and are removed.
func rerun(t *testing.T, c *Catalog) {
	t.Helper()
	mustIngest(t, c, "ip", "again")
	wantContent(t, c, "ip", "again")
	if _, err := c.Prune(t.Context(), 100, 0); err != nil { // for what a killed prune left
		t.Fatal(err)
	}
	disk := storedNumbers(t, c.Generations, "ip")
	listed := strings.Fields(numbers(t, c, "ip"))
	if len(disk) != len(listed) {
		t.Errorf("%v on disk, %v listed", disk, listed)
	}
}
