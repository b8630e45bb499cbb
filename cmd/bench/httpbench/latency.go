package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"
)

// latencyCmd sends requests at half of the tile server's greatest rate to the tile server and to
// the bare handler, and compares their latencies. The latency of a request counts from the time at
// which it had to be sent, which is fixed in advance.
type latencyCmd struct {
	Data        string        `placeholder:"DIR" help:"Published data sets to serve; a small made-up world if not given."`
	Tileserver  string        `placeholder:"FILE" help:"The tileserver program; built from this module if not given."`
	Rounds      int           `default:"21" help:"Pairs of runs; at least 7."`
	Duration    time.Duration `default:"500ms" help:"Length of a run."`
	Connections int           `default:"64" help:"Connections that requests find one free of, or wait."`
	Only        string        `placeholder:"TEXT" help:"Of the scenarios of run, those whose name contains this, instead of one each of tiles, addresses and autocomplete."`
	JSON        bool          `help:"Print JSON instead of a table."`
}

// latencyBudget is the factor by which the 99th percentile may exceed the bare handler's.
const latencyBudget = 3

// latencyScenarios are the scenarios measured by default.
var latencyScenarios = []string{tilesHigh, addresses, completions}

// paced are the results of the runs at a fixed rate against one server, run by run, in
// microseconds.
type paced struct{ P50, P99 []float64 }

// latencyResult is the comparison of one scenario; times are in microseconds.
type latencyResult struct {
	Name    string  `json:"name"`
	Rate    float64 `json:"offered_per_second"`
	P50     float64 `json:"p50_us"`
	BareP50 float64 `json:"bare_p50_us"`
	P99     float64 `json:"p99_us"`
	BareP99 float64 `json:"bare_p99_us"`
	Ratio   float64 `json:"p99_ratio"`
	Budget  float64 `json:"budget"`
}

func (l *latencyCmd) Run(ctx context.Context) (err error) {
	if l.Rounds < 7 || l.Duration <= 0 || l.Connections < 1 {
		return errors.New("--rounds must be at least 7, --duration and --connections positive")
	}
	bench, err := newBench(ctx, l.Data, l.Tileserver)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bench.close()) }()
	var results []latencyResult
	for _, s := range bench.scenarios {
		if s.Own != nil || !l.chosen(s.Name) {
			continue
		}
		res, err := l.compare(ctx, bench, s)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		fmt.Fprintf(os.Stderr, "%-34s %7.0f requests/s: p50 %.0f µs, bare %.0f; p99 %.0f µs, bare %.0f, ratio %.2f\n",
			res.Name, res.Rate, res.P50, res.BareP50, res.P99, res.BareP99, res.Ratio)
		results = append(results, res)
	}
	switch {
	case len(results) == 0:
		return errNone(l.Only)
	case l.JSON:
		return printJSON(results)
	}
	fmt.Print("| at half of the greatest rate | offered | p50 | bare | p99 | bare | ratio of p99 | budget " +
		"|\n|---|---|---|---|---|---|---|---|\n")
	for _, res := range results {
		fmt.Printf("| %s | %.0f/s | %.0f µs | %.0f µs | %.0f µs | %.0f µs | %.2f | ≤ %.0f |\n",
			res.Name, res.Rate, res.P50, res.BareP50, res.P99, res.BareP99, res.Ratio, res.Budget)
	}
	fmt.Printf("\nMedians of the percentiles of %d pairs of runs of %v by turns, at fixed times and counted from those, "+
		"over %d connections: `tileserver` against `httpbench bare`, by `bin/bench/httpbench latency`.\n",
		l.Rounds, l.Duration, l.Connections)
	return nil
}

func (l *latencyCmd) chosen(name string) bool {
	if l.Only != "" {
		return strings.Contains(name, l.Only)
	}
	for _, s := range latencyScenarios {
		if s == name {
			return true
		}
	}
	return false
}

// compare finds the greatest rate of the tile server, and sends half of it to both servers.
func (l *latencyCmd) compare(ctx context.Context, bench *bench, s scenario) (latencyResult, error) {
	var most []measured
	args := []string{"--rounds", "11", "--duration", "200ms", "--connections", "8"}
	if err := bench.load(ctx, "load", []*running{bench.ours}, [][]answer{s.Answers}, args, &most); err != nil {
		return latencyResult{}, err
	}
	rate := median(most[0].Rates) / 2
	servers, answers := bench.against(s)
	args = []string{
		"--rounds",
		fmt.Sprint(l.Rounds),
		"--duration",
		l.Duration.String(),
		"--connections",
		fmt.Sprint(l.Connections),
		"--rate",
		fmt.Sprint(rate),
	}
	var got []paced
	if err := bench.load(ctx, "paced", servers, answers, args, &got); err != nil {
		return latencyResult{}, err
	}
	res := latencyResult{
		Name: s.Name, Rate: rate, Budget: latencyBudget,
		P50: median(got[0].P50), P99: median(got[0].P99), BareP50: median(got[1].P50), BareP99: median(got[1].P99),
	}
	if res.BareP99 > 0 {
		res.Ratio = res.P99 / res.BareP99
	}
	return res, nil
}

// pacedCmd sends requests at fixed times, alternating between servers. Standard input has a list of
// requests for each server.
type pacedCmd struct {
	URL         []string      `required:"" help:"The servers."`
	PID         []int         `help:"Their processes; no matter."`
	Rate        float64       `required:"" help:"Requests per second."`
	Rounds      int           `required:""`
	Duration    time.Duration `required:""`
	Connections int           `required:""`
}

func (p *pacedCmd) Run() error {
	var answers [][]answer
	if err := json.NewDecoder(os.Stdin).Decode(&answers); err != nil {
		return err
	}
	got, err := p.measure(answers)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(got)
}

// measure makes the rounds, after one that does not count.
func (p *pacedCmd) measure(answers [][]answer) ([]paced, error) {
	if len(p.URL) == 0 || len(answers) != len(p.URL) || !(p.Rate > 0) {
		return nil, errors.New("each server needs its address and requests, and the rate must be positive")
	}
	pacers := make([]*pacer, len(p.URL))
	for i, url := range p.URL {
		var err error
		if pacers[i], err = newPacer(url, answers[i], p.Connections); err != nil {
			return nil, err
		}
		defer pacers[i].close()
	}
	got := make([]paced, len(pacers))
	for round := range p.Rounds + 1 {
		for i := range pacers {
			which := (i + round) % len(pacers)
			took, err := pacers[which].run(p.Rate, p.Duration)
			if err != nil {
				return nil, err
			}
			if round == 0 {
				continue
			}
			sum := summarize(took, 0)
			got[which].P50 = append(got[which].P50, sum.P50)
			got[which].P99 = append(got[which].P99, sum.P99)
		}
	}
	return got, nil
}
