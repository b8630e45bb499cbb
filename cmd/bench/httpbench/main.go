// Command httpbench measures the tile server over HTTP against a bare echo
// handler that writes the same bytes.
//
// The server under test, the bare server and the load generator are processes of their own. Both
// servers are pinned to one core and the generator to another, with one processor each
// (GOMAXPROCS=1), where the machine has taskset and two cores. Runs against the servers alternate,
// so that other work of the machine affects all of them alike. The medians of the runs are
// compared. The result is a Markdown table, or JSON. The commands:
//
//   - run: closed loop. Every connection sends its next request when the last is
//     answered; the result is the number of requests per second. A 304 is compared with the
//     server's own 200 of the same tile, everything else with the bare handler.
//   - latency: open loop. Half of the server's greatest rate is offered to it and to
//     the bare handler, each request at a time fixed beforehand whether or not those
//     before it are answered. Its latency counts from that time, so that a server
//     that stalls answers for all requests that should have been sent meanwhile.
//   - beside: open loop, too. What troublemakers do to the latency of mixed requests of
//     others.
//   - start: time from the start of the process to the first 200 of /readyz, and
//     resident memory with caches as small as they may be.
//   - soak: millions of mixed requests over connections that come and go, while
//     generations are swapped. No request may fail, and memory must stay flat.
//   - swap: what swaps of generations do to the latency of requests.
//   - remote: as run, but a server whose data is in a cluster against the same
//     program over the directory it was pushed from.
//   - archives: tiles of a base map, beside go-pmtiles.
//   - points: collections of points, published and live, beside Tile38 and Redis.
//
// Examples:
//
//	bin/bench/httpbench
//	bin/bench/httpbench --data ./data --rounds 15 --duration 2s
//	bin/bench/httpbench soak --requests 300000
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var cli struct {
		Run      runCmd      `cmd:"" default:"withargs" help:"Measure."`
		Latency  latencyCmd  `cmd:"" help:"Measure latencies at half of the greatest rate."`
		Beside   besideCmd   `cmd:"" help:"Measure latencies beside clients, and readers of the log, that would keep others out."`
		Start    startCmd    `cmd:"" help:"Measure the time a start takes, and memory."`
		Soak     soakCmd     `cmd:"" help:"Send millions of mixed requests while generations are swapped, and watch memory."`
		Swap     swapCmd     `cmd:"" help:"Measure what swaps of generations do to requests."`
		Remote   remoteCmd   `cmd:"" help:"Measure a server whose data is in a cluster against one over a directory."`
		Archives archivesCmd `cmd:"" help:"Measure tiles of a base map, beside go-pmtiles."`
		Points   pointsCmd   `cmd:"" help:"Measure collections of points, beside Tile38 and Redis."`
		Bare     bareCmd     `cmd:"" hidden:"" help:"Serve answers read from standard input."`
		Load     loadCmd     `cmd:"" hidden:"" help:"Send the requests read from standard input."`
		Trouble  troubleCmd  `cmd:"" hidden:"" help:"Make trouble for a server."`
		Paced    pacedCmd    `cmd:"" hidden:"" help:"Send the requests read from standard input at fixed times."`
	}
	k := kong.Parse(&cli, kong.Name("httpbench"),
		kong.Description("Measure the tile server against a bare echo handler writing the same bytes."))
	k.BindTo(ctx, (*context.Context)(nil))
	k.FatalIfErrorf(k.Run())
}

type runCmd struct {
	Data        string        `placeholder:"DIR" help:"Published data sets to serve; a small made-up world if not given."`
	Tileserver  string        `placeholder:"FILE" help:"The tileserver program; built from this module if not given."`
	Rounds      int           `default:"41" help:"Pairs of runs; at least 7."`
	Duration    time.Duration `default:"100ms" help:"Length of a run. Many short ones by turns meet the same disturbances."`
	Connections int           `default:"8" help:"Connections that are kept open and busy."`
	Only        string        `placeholder:"TEXT" help:"Only the scenarios whose name contains this."`
	JSON        bool          `help:"Print JSON instead of a table."`
}

// result is the comparison of one scenario.
type result struct {
	Name    string  `json:"name"`
	Ours    float64 `json:"requests_per_second"`
	Against string  `json:"against"`
	Theirs  float64 `json:"their_requests_per_second"`
	Ratio   float64 `json:"ratio"`
	// OursCPU is the processor time of the server per request, in microseconds. It is 0 if the
	// system does not report it. It varies less than rates on a busy machine.
	OursCPU   float64 `json:"cpu_us,omitempty"`
	TheirsCPU float64 `json:"their_cpu_us,omitempty"`
	Budget    float64 `json:"budget"`
	Bytes     int     `json:"mean_body_bytes"`
	Rounds    int     `json:"rounds"`
}

func (r *runCmd) Run(ctx context.Context) (err error) {
	if err := r.check(); err != nil {
		return err
	}
	bench, err := newBench(ctx, r.Data, r.Tileserver)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bench.close()) }()
	todo := slices.DeleteFunc(slices.Clone(bench.scenarios), func(s scenario) bool { return !strings.Contains(s.Name, r.Only) })
	if len(todo) == 0 {
		return errNone(r.Only)
	}
	results, err := r.compareAll(ctx, bench, todo)
	if err != nil {
		return err
	}
	if r.JSON {
		return printJSON(results)
	}
	return r.table(os.Stdout, results)
}

func (r *runCmd) check() error {
	if r.Rounds < 7 || r.Duration <= 0 || r.Connections < 1 {
		return errors.New("--rounds must be at least 7, --duration and --connections positive")
	}
	return nil
}

// compareAll measures the scenarios one by one, and reports the result of each on standard error.
func (r *runCmd) compareAll(ctx context.Context, bench *bench, todo []scenario) ([]result, error) {
	var results []result
	for _, s := range todo {
		res, err := r.compare(ctx, bench, s)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		fmt.Fprintf(os.Stderr, "%-34s %7.0f requests/s, %s %7.0f, ratio %.3f; %5.1f µs CPU, theirs %5.1f\n",
			res.Name, res.Ours, res.Against, res.Theirs, res.Ratio, res.OursCPU, res.TheirsCPU)
		results = append(results, res)
	}
	return results, nil
}

// errNone returns the error of a measurement without anything to measure.
func errNone(only string) error {
	return fmt.Errorf("no scenario has %q in its name: choose another --only", strings.TrimSpace(only))
}

func printJSON(v any) error {
	e := json.NewEncoder(os.Stdout)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

func (r *runCmd) table(w io.Writer, results []result) error {
	var b strings.Builder
	b.WriteString("| over HTTP | requests/s | compared with | its requests/s | ratio | budget | CPU per request | its " +
		"CPU | mean body |\n|---|---|---|---|---|---|---|---|---|\n")
	for _, res := range results {
		fmt.Fprintf(&b, "| %s | %.0f | %s | %.0f | %.2f | ≥ %.2f | %.1f µs | %.1f µs | %d B |\n",
			res.Name, res.Ours, res.Against, res.Theirs, res.Ratio, res.Budget, res.OursCPU, res.TheirsCPU, res.Bytes)
	}
	fmt.Fprintf(&b, "\nMedians of %d runs of %v against each by turns, %d connections, servers on one core and load "+
		"generator on another: `tileserver` against `httpbench bare`, by `bin/bench/httpbench`.\n",
		r.Rounds, r.Duration, r.Connections)
	_, err := io.WriteString(w, b.String())
	return err
}

// compare makes the load generator alternate between the server and its comparator.
func (r *runCmd) compare(ctx context.Context, bench *bench, s scenario) (result, error) {
	servers, answers := bench.against(s)
	args := []string{"--rounds", fmt.Sprint(r.Rounds), "--duration", r.Duration.String(), "--connections", fmt.Sprint(r.Connections)}
	var got []measured
	if err := bench.load(ctx, "load", servers, answers, args, &got); err != nil {
		return result{}, err
	}
	size := 0
	for _, a := range s.Answers {
		size += len(a.Body)
	}
	res := result{
		Name:      s.Name,
		Ours:      median(got[0].Rates),
		OursCPU:   median(got[0].CPU),
		Against:   s.Against,
		Theirs:    median(got[1].Rates),
		TheirsCPU: median(got[1].CPU),
		Budget:    s.Budget, Bytes: size / len(s.Answers), Rounds: r.Rounds,
	}
	if res.Theirs > 0 {
		res.Ratio = res.Ours / res.Theirs
	}
	return res, nil
}

func median(v []float64) float64 {
	if len(v) == 0 {
		return 0
	}
	v = slices.Clone(v)
	slices.Sort(v)
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
