package endtoend

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os/exec"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/internal/testseed"

	"quadrille/cmd/internal/programs"
)

// TestKilled kills each ingest at random moments. The published generation must be undamaged, and
// either the previous or the new one. Another run of the command must give the rows of an
// undisturbed run.
func TestKilled(t *testing.T) {
	kills, records := 2, 4000
	switch {
	case full:
		kills, records = 25, 40_000
	case testing.Short():
		kills, records = 1, 2000
	}
	rnd := testseed.Rand(t)
	dir := t.TempDir()
	programs.Path(t, programs.Ingest) // so that building it is not measured
	before, after := inputs(t, dir, "A", 40), inputs(t, dir, "B", records)
	for i, in := range after {
		t.Run(in.dataset, func(t *testing.T) {
			calm := t.TempDir()
			begin := time.Now()
			mustIngest(t, calm, in.args...)
			took := time.Since(begin)
			want := rows(t, calm, in.dataset)

			data := t.TempDir()
			mustIngest(t, data, before[i].args...)
			old := rows(t, data, in.dataset)
			killed, runs := 0, 0
			for ; killed < kills && runs < 5*kills; runs++ {
				cmd, out := ingest(t, data, in.args...)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				// Sometimes the ingest is finished before the kill. Such a run does not count.
				timer := time.AfterFunc(time.Duration(rnd.Int64N(int64(took))), func() { _ = cmd.Process.Kill() })
				err := cmd.Wait()
				timer.Stop()
				var exit *exec.ExitError
				switch {
				case errors.As(err, &exit) && exit.ExitCode() == -1:
					killed++
				case err != nil:
					t.Fatalf("%v: %s", err, out)
				}
				mustIngest(t, data, "verify", in.dataset)
				if got := rows(t, data, in.dataset); got != old && got != want {
					t.Fatal("what is published is neither what was nor what was to be")
				}
			}
			mustIngest(t, data, in.args...)
			mustIngest(t, data, "verify", in.dataset)
			if got := rows(t, data, in.dataset); got != want {
				t.Error("run again after being killed, it publishes other rows than undisturbed")
			}
			t.Logf("killed in %d of %d runs, which take %v", killed, runs, took.Round(time.Millisecond))
		})
	}
}

// rows returns a digest of every published cell.
func rows(t *testing.T, data, name string) string {
	t.Helper()
	g, err := catalogOf(t, data).OpenCurrent(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	ctx := t.Context()
	names, err := g.Store.Tables(ctx)
	if err != nil {
		t.Fatal(err)
	}
	h := sha256.New()
	cells := 0
	for _, name := range names {
		table, err := g.Store.Table(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		for row, err := range table.Scan(ctx, cellstore.Scan{}) {
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range row.Cells {
				cells++
				fmt.Fprintf(h, "%s %q %q %q %d %q\n", name, row.Key, c.Family, c.Qualifier, c.Timestamp, c.Value)
			}
		}
	}
	if cells == 0 {
		t.Fatalf("%s: nothing is stored", name)
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}
