// Command httpbench measures the tile server over HTTP against a bare echo
// handler that writes the same bytes.
//
// The server under test, the bare server and the load generator are processes
// of their own. Both servers are pinned to one core and the generator to
// another, with one processor each (GOMAXPROCS=1), where the machine has taskset
// and two cores. Runs against the two alternate, so that whatever else the
// machine does meets both, and their medians are compared. The result is a
// Markdown table, or JSON.
//
//	go run ./cmd/internal/httpbench
//	go run ./cmd/internal/httpbench --data ./data --rounds 15 --duration 2s
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"quadrille/cmd/internal/toyworld"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var cli struct {
		Run  runCmd  `cmd:"" default:"withargs" help:"Measure."`
		Swap swapCmd `cmd:"" help:"Measure what swaps of generations do to requests."`
		Bare bareCmd `cmd:"" hidden:"" help:"Serve answers read from standard input."`
		Load loadCmd `cmd:"" hidden:"" help:"Send the requests read from standard input."`
	}
	k := kong.Parse(&cli, kong.Name("httpbench"), kong.Description("Measure the tile server against a bare echo handler writing the same bytes."))
	k.BindTo(ctx, (*context.Context)(nil))
	k.FatalIfErrorf(k.Run())
}

// budget is the share of the bare handler's rate the server has to reach.
const budget = 0.85

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
	Name  string  `json:"name"`
	Ours  float64 `json:"requests_per_second"`
	Bare  float64 `json:"bare_requests_per_second"`
	Ratio float64 `json:"ratio"`
	// Processor time of the server per request, in microseconds; 0 where the
	// system does not tell. It varies less than rates on a busy machine.
	OursCPU float64 `json:"cpu_us,omitempty"`
	BareCPU float64 `json:"bare_cpu_us,omitempty"`
	Budget  float64 `json:"budget"`
	Bytes   int     `json:"mean_body_bytes"`
	Rounds  int     `json:"rounds"`
}

func (r *runCmd) Run(ctx context.Context) (err error) {
	if r.Rounds < 7 || r.Duration <= 0 || r.Connections < 1 {
		return errors.New("--rounds must be at least 7, --duration and --connections positive")
	}
	tmp, err := os.MkdirTemp("", "httpbench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	data := r.Data
	if data == "" {
		data = filepath.Join(tmp, "data")
		if err := toyworld.Publish(ctx, data); err != nil {
			return err
		}
	}
	program, err := serverProgram(ctx, r.Tileserver, tmp)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}

	ours, err := startServer(ctx, nil, program, "--data", data, "--listen", "127.0.0.1:0", "--trusted-proxy", "127.0.0.1")
	if err != nil {
		return err
	}
	defer ours.stop()
	scenarios, err := scenarios(ctx, ours.url)
	if err != nil {
		return err
	}
	answers, err := json.Marshal(slices.Concat(answersOf(scenarios)...))
	if err != nil {
		return err
	}
	bare, err := startServer(ctx, answers, self, "bare")
	if err != nil {
		return err
	}
	defer bare.stop()

	var results []result
	for _, s := range scenarios {
		if !strings.Contains(s.Name, r.Only) {
			continue
		}
		res, err := r.compare(ctx, self, [2]*running{ours, bare}, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		fmt.Fprintf(os.Stderr, "%-34s %7.0f requests/s, bare %7.0f, ratio %.3f; %5.1f µs CPU, bare %5.1f\n",
			res.Name, res.Ours, res.Bare, res.Ratio, res.OursCPU, res.BareCPU)
		results = append(results, res)
	}
	if r.JSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(results)
	}
	return r.table(os.Stdout, results)
}

func (r *runCmd) table(w io.Writer, results []result) error {
	var b strings.Builder
	b.WriteString("| over HTTP | requests/s | bare echo handler, same bytes | ratio | budget | CPU per request | bare | mean body |\n|---|---|---|---|---|---|---|---|\n")
	for _, res := range results {
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | %.2f | ≥ %.2f | %.1f µs | %.1f µs | %d B |\n",
			res.Name, res.Ours, res.Bare, res.Ratio, res.Budget, res.OursCPU, res.BareCPU, res.Bytes)
	}
	fmt.Fprintf(&b, "\nMedians of %d alternating pairs of runs of %v, %d connections, servers on one core and load generator on another: `tileserver` against `httpbench bare`, by `go run ./cmd/internal/httpbench`.\n",
		r.Rounds, r.Duration, r.Connections)
	_, err := io.WriteString(w, b.String())
	return err
}

// compare has the load generator alternate between the two servers.
func (r *runCmd) compare(ctx context.Context, self string, servers [2]*running, s scenario) (result, error) {
	requests, err := json.Marshal(s.Answers)
	if err != nil {
		return result{}, err
	}
	args := []string{"load", "--rounds", fmt.Sprint(r.Rounds), "--duration", r.Duration.String(), "--connections", fmt.Sprint(r.Connections)}
	for _, server := range servers {
		args = append(args, "--url", server.url, "--pid", fmt.Sprint(server.cmd.Process.Pid))
	}
	cmd := pinned(ctx, 1, self, args...)
	cmd.Stdin = bytes.NewReader(requests)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return result{}, fmt.Errorf("load generator: %w", err)
	}
	var got [2]measured
	if err := json.Unmarshal(out, &got); err != nil {
		return result{}, err
	}
	size := 0
	for _, a := range s.Answers {
		size += len(a.Body)
	}
	res := result{
		Name: s.Name, Ours: median(got[0].Rates), Bare: median(got[1].Rates), OursCPU: median(got[0].CPU), BareCPU: median(got[1].CPU),
		Budget: budget, Bytes: size / len(s.Answers), Rounds: r.Rounds,
	}
	if res.Bare > 0 {
		res.Ratio = res.Ours / res.Bare
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
