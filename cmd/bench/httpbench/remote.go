package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// remoteCmd compares a server whose data is in a cluster, its caches hot, with
// the same program over the directory they were pushed from.
type remoteCmd struct {
	Store       string        `required:"" placeholder:"URL" help:"Where the data sets are, as the tile server's --store."`
	Data        string        `required:"" placeholder:"DIR" help:"The directory they were pushed from by ingest push."`
	Tileserver  string        `placeholder:"FILE" help:"The tileserver program; built from this module if not given."`
	Rounds      int           `default:"41" help:"Pairs of runs; at least 7."`
	Duration    time.Duration `default:"100ms" help:"Length of a run."`
	Connections int           `default:"8" help:"Connections that are kept open and busy."`
	JSON        bool          `help:"Print JSON instead of a table."`
}

// remoteBudget is the share of the local server's rate that the remote one has to reach.
const remoteBudget = 0.8

// tableOnly makes both servers look IP addresses up in the table. With the index, which is a local
// file, the remote server would not use its store.
const tableOnly = "--no-ip-index"

func (r *remoteCmd) Run(ctx context.Context) (err error) {
	run := runCmd{Rounds: r.Rounds, Duration: r.Duration, Connections: r.Connections}
	if err := run.check(); err != nil {
		return err
	}
	b, err := r.bench(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.close()) }()
	results, err := run.compareAll(ctx, b, b.scenarios)
	if err != nil {
		return err
	}
	if r.JSON {
		return printJSON(results)
	}
	return r.table(os.Stdout, results)
}

// bench starts both servers. The local server takes the place of the bare one.
func (r *remoteCmd) bench(ctx context.Context) (_ *bench, err error) {
	b, err := emptyBench()
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, b.close())
		}
	}()
	program, err := serverProgram(ctx, r.Tileserver, b.tmp)
	if err != nil {
		return nil, err
	}
	copies := filepath.Join(b.tmp, "data")
	if b.ours, err = startServer(ctx, nil, program, serverFlags(copies, "--store", r.Store, tableOnly)...); err != nil {
		return nil, err
	}
	if b.bare, err = startServer(ctx, nil, program, serverFlags(r.Data, tableOnly)...); err != nil {
		return nil, err
	}
	if b.scenarios, err = scenarios(ctx, b.ours.url); err != nil {
		return nil, err
	}
	// Scenarios in which the server is compared with itself are measured elsewhere.
	b.scenarios = slices.DeleteFunc(b.scenarios, func(s scenario) bool { return s.Own != nil })
	var near, regions []answer
	for i := range 100 { // of Europe, again and again
		at := fmt.Sprintf("lat=%d.%d&lon=%d.%d", 43+i%10, i*37%100, 2+i/10, i*61%100)
		near = append(near, answer{Path: "/places/nearby?" + at})
		regions = append(regions, answer{Path: "/regions/at?" + at})
	}
	if b.scenarios, err = add(ctx, b.scenarios, b.ours.url, "places nearby", near, 50); err != nil {
		return nil, err
	}
	if b.scenarios, err = add(ctx, b.scenarios, b.ours.url, "regions at a point", regions, 50); err != nil {
		return nil, err
	}
	for i := range b.scenarios {
		b.scenarios[i].Against, b.scenarios[i].Budget = "over the embedded store", remoteBudget
	}
	return b, nil
}

func (r *remoteCmd) table(w io.Writer, results []result) error {
	var b strings.Builder
	b.WriteString("| over HTTP, data in a cluster | requests/s | over the embedded store | ratio | budget | CPU per " +
		"request | its CPU | mean body |\n|---|---|---|---|---|---|---|---|\n")
	for _, res := range results {
		fmt.Fprintf(&b, "| %s | %.0f | %.0f | %.2f | ≥ %.2f | %.1f µs | %.1f µs | %d B |\n",
			res.Name, res.Ours, res.Theirs, res.Ratio, res.Budget, res.OursCPU, res.TheirsCPU, res.Bytes)
	}
	fmt.Fprintf(&b, "\nMedians of %d runs of %v against each by turns, %d connections, caches hot, %s, servers on one "+
		"core and load generator on another, by `bin/bench/httpbench remote`.\n",
		r.Rounds, r.Duration, r.Connections, tableOnly)
	_, err := io.WriteString(w, b.String())
	return err
}
