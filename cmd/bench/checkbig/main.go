// Command checkbig ingests large data sets, checks them, and compares them with readers by other
// authors. `make check-big` runs it on packages that it fetches and on data that it makes.
//
//	bin/bench/checkbig --packages bin/big/node_modules --ingest bin/ingest
//
// Every scenario is a run of `ingest` as a process of its own, whose time and peak memory the
// system counts. `ingest verify` follows, and then a comparison:
//
//   - addresses with maxminddb-golang, at random addresses and at both ends of
//     networks
//   - regions with the polygons of the source, point by point, ring by ring
//
// Time zones are compared with timezonefinder by a test of cmd/tileserver, which
// make check-big runs too.
//
// Of generated data a tenth is ingested first. The time of the whole divided by the time of the
// tenth is the growth. Then comes hostile input. It is built within its memory or refused, and the
// published generation stays. Last come disks that are too small, and fill up in one stage after
// another. The results are three Markdown tables. The command fails if any answer differs, or if a
// scenario takes more memory than it was given. Times depend on the machine, and are shown next to
// their aims.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"quadrille/cmd/internal/bytesize"
)

type cli struct {
	Packages string   `default:"bin/big/node_modules" type:"path" help:"Where the npm packages are."`
	Ingest   string   `default:"bin/ingest" type:"path" help:"The program that is checked."`
	Scratch  string   `type:"path" help:"Directory for data; a temporary one beside --packages that is removed, if not given."`
	Only     []string `help:"Only these scenarios, separated by commas."`
	Tenth    bool     `help:"A tenth of what is generated, and nothing else."`
	Points   int      `default:"20000" help:"Random points and addresses of each comparison."`
	Seed     uint64   `default:"1" help:"Another seed asks other points."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	kong.Parse(&c, kong.Description("Ingest what is large, check it, and compare it with other readers."))
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "checkbig:", err)
		os.Exit(1)
	}
}

// scenario is data of one kind that is ingested and compared.
type scenario struct {
	name   string
	memory bytesize.Size // of --memory
	aim    time.Duration // of the ingest, on two idle cores
	// make writes the input below dir, or a tenth of it if tenth is set. It returns a description
	// of the input and the arguments of ingest. Errors that match errAbsent skip the scenario.
	make func(ctx context.Context, c *cli, dir string, tenth bool) (what string, args []string, err error)
	// generated is set if the data are generated. Then there is also a version with a tenth of the
	// data.
	generated bool
	// verified is the data set that `ingest verify` checks.
	verified string
	// compare returns a summary of the comparison; its error says what differs.
	compare func(ctx context.Context, c *cli, data, input string) (string, error)
	// both is set if both the tenth and the whole are compared.
	both bool
}

// errAbsent is matched by errors about missing packages.
var errAbsent = errors.New("skipped")

// outcome is a row of the table.
type outcome struct {
	scenario *scenario
	what     string
	whole    measured
	tenth    time.Duration
	verify   time.Duration
	compared string
	err      error
}

func (c *cli) run(ctx context.Context) (err error) {
	scratch := c.Scratch
	if scratch == "" {
		if scratch, err = os.MkdirTemp(filepath.Dir(c.Packages), "scratch-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
	}
	all := scenarios()
	for _, name := range c.Only {
		if name != "hostile" && name != "disks" && !slices.ContainsFunc(all, func(s *scenario) bool { return s.name == name }) {
			return fmt.Errorf("there is no scenario %q; there are %s", name, names(all))
		}
	}
	var outcomes []outcome
	for _, s := range all {
		if !c.wants(s.name) || c.Tenth && !s.generated {
			continue
		}
		o := c.play(ctx, s, filepath.Join(scratch, s.name))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(o.err, errAbsent) {
			fmt.Fprintf(os.Stderr, "%s: %v\n", s.name, o.err)
			continue
		}
		if o.err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", s.name, o.err)
			err = errors.Join(err, fmt.Errorf("%s: %w", s.name, o.err))
		}
		outcomes = append(outcomes, o)
	}
	printTable(outcomes)
	if c.Tenth {
		return err
	}
	if c.wants("hostile") {
		err = errors.Join(err, c.hostile(ctx, scratch))
	}
	if c.wants("disks") {
		err = errors.Join(err, c.disks(ctx, scratch))
	}
	return err
}

// wants reports whether a part is to be played.
func (c *cli) wants(name string) bool { return len(c.Only) == 0 || slices.Contains(c.Only, name) }

func (c *cli) hostile(ctx context.Context, scratch string) (err error) {
	var list []endured
	for i, h := range hostiles() {
		e, failed := c.endure(ctx, h, filepath.Join(scratch, fmt.Sprint("hostile-", i)))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", h.name, failed))
			e.name, e.outcome = h.name, "FAILED: "+failed.Error()
		}
		list = append(list, e)
	}
	printEndured(list)
	return err
}

func (c *cli) disks(ctx context.Context, scratch string) (err error) {
	var list []filled
	for _, j := range diskJobs() {
		f := c.fill(ctx, j, filepath.Join(scratch, "disks"))
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(f.failed, errAbsent) {
			fmt.Fprintf(os.Stderr, "%s: %v\n", f.name, f.failed)
			continue
		}
		if f.failed != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", f.name, f.failed))
		}
		list = append(list, f)
	}
	printFilled(list)
	return err
}

func names(all []*scenario) string {
	list := []string{"hostile", "disks"}
	for _, s := range all {
		list = append(list, s.name)
	}
	return strings.Join(list, ", ")
}

// play runs a scenario below dir and then removes its files.
func (c *cli) play(ctx context.Context, s *scenario, dir string) (o outcome) {
	o.scenario = s
	defer func() { o.err = errors.Join(o.err, os.RemoveAll(dir)) }()
	if s.generated && !c.Tenth {
		if o.err = c.tenth(ctx, s, filepath.Join(dir, "tenth"), &o); o.err != nil {
			return o
		}
	}
	input, data := filepath.Join(dir, "input"), filepath.Join(dir, "data")
	var args []string
	if o.what, args, o.err = s.prepare(ctx, c, input, c.Tenth); o.err != nil {
		return o
	}
	if o.whole, o.err = c.ingest(ctx, s, data, args); o.err != nil {
		return o
	}
	begin := time.Now()
	if o.err = c.verify(ctx, data, s.verified); o.err != nil {
		return o
	}
	o.verify = time.Since(begin)
	if s.compare != nil {
		var compared string
		compared, o.err = s.compare(ctx, c, data, input)
		o.compared += compared
	}
	if o.err == nil && o.whole.memory > int64(s.memory) {
		o.err = fmt.Errorf("it took %d bytes of memory, and was given %d", o.whole.memory, s.memory)
	}
	return o
}

func (c *cli) tenth(ctx context.Context, s *scenario, dir string, o *outcome) error {
	defer os.RemoveAll(dir)
	_, args, err := s.prepare(ctx, c, filepath.Join(dir, "input"), true)
	if err != nil {
		return err
	}
	m, err := c.ingest(ctx, s, filepath.Join(dir, "data"), args)
	o.tenth = m.wall
	if err == nil && s.both {
		o.compared, err = s.compare(ctx, c, filepath.Join(dir, "data"), filepath.Join(dir, "input"))
		o.compared = "of a tenth " + o.compared + "; of all "
	}
	return err
}

func (s *scenario) prepare(ctx context.Context, c *cli, dir string, tenth bool) (string, []string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", nil, err
	}
	fmt.Fprintf(os.Stderr, "== %s\n", s.name)
	return s.make(ctx, c, dir, tenth)
}

// printTable writes the table.
func printTable(outcomes []outcome) {
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	fmt.Fprintln(w, "| data\t| rows\t| time\t| aim\t| processor time\t| peak memory\t| aim\t| on disk\t| growth from a "+
		"tenth\t| verified in\t| compared\t|")
	fmt.Fprintln(w, "|---\t|---:\t|---:\t|---:\t|---:\t|---:\t|---:\t|---:\t|---:\t|---:\t|---\t|")
	for _, o := range outcomes {
		growth := ""
		if o.tenth > 0 {
			growth = fmt.Sprintf("%.1f ×", o.whole.wall.Seconds()/o.tenth.Seconds())
		}
		compared := o.compared
		if o.err != nil {
			compared = "FAILED: " + strings.ReplaceAll(o.err.Error(), "\n", "; ")
		}
		fmt.Fprintf(w, "| %s\t| %s\t| %s\t| ≤ %s\t| %s\t| %.2f GiB\t| ≤ %.3g GiB\t| %d MB\t| %s\t| %s\t| %s\t|\n",
			o.what, o.whole.rows, round(o.whole.wall), round(o.scenario.aim), round(o.whole.cpu),
			float64(o.whole.memory)/(1<<30), float64(o.scenario.memory)/(1<<30), o.whole.disk/1e6, growth, round(o.verify), compared)
	}
	_ = w.Flush()
}

func round(d time.Duration) string { return d.Round(time.Second).String() }
