package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/toyworld"
)

// swapCmd measures how publications affect concurrent requests: the load on a server alternates
// between runs in which nothing is published and runs in which generations of addresses are
// swapped. No request may fail, and the 99th percentile of the latter should stay within twice that
// of the former.
type swapCmd struct {
	Tileserver  string        `placeholder:"FILE" help:"The tileserver program; built from this module if not given."`
	Swaps       int           `default:"20" help:"How many swaps."`
	Duration    time.Duration `default:"1s" help:"Length of a run, of which there is one with a swap and one without for each."`
	Connections int           `default:"8" help:"Connections that are kept open and busy."`
	JSON        bool          `help:"Print JSON instead of a table."`
}

// swapBudget is the factor by which the 99th percentile may rise while generations are swapped.
const swapBudget = 2

// latencies has the latencies of the requests of all runs of one kind.
type latencies struct {
	Requests int     `json:"requests"`
	Failed   int     `json:"failed"`
	P50      float64 `json:"p50_us"`
	P99      float64 `json:"p99_us"`
	Max      float64 `json:"max_us"`
}

func summarize(all []time.Duration, failed int) latencies {
	slices.Sort(all)
	at := func(share float64) float64 {
		if len(all) == 0 {
			return 0
		}
		return float64(all[int(share*float64(len(all)-1))].Nanoseconds()) / 1e3
	}
	return latencies{Requests: len(all), Failed: failed, P50: at(0.5), P99: at(0.99), Max: at(1)}
}

func (s *swapCmd) Run(ctx context.Context) (err error) {
	if s.Swaps < 1 || s.Duration <= 0 || s.Connections < 1 {
		return errors.New("--swaps, --duration and --connections must be positive")
	}
	tmp, err := os.MkdirTemp("", "httpbench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	data := filepath.Join(tmp, "data")
	catalog, err := dataset.Open(data, toyworld.Open)
	if err != nil {
		return err
	}
	for range 2 {
		if err := toyworld.PublishAddresses(ctx, catalog); err != nil {
			return err
		}
	}
	program, err := serverProgram(ctx, s.Tileserver, tmp)
	if err != nil {
		return err
	}
	server, err := startServer(ctx, nil, program, "--data", data, "--listen", "127.0.0.1:0", "--trusted-proxy", "127.0.0.1")
	if err != nil {
		return err
	}
	defer server.stop()
	var answers []answer
	for i := range 2000 {
		a := answer{Path: "/ip/me", Forwarded: toyworld.Address(i * 7).String()}
		if err := a.fetch(ctx, server.url); err != nil {
			return err
		}
		answers = append(answers, a)
	}
	c, err := newClient(server.url, answers, s.Connections)
	if err != nil {
		return err
	}
	defer c.close()

	var sorts [2][]time.Duration
	var failed [2]int
	generation := uint64(2)
	for i := range 2 * (s.Swaps + 1) { // the first of each does not count
		swapping := i % 2
		end := time.Now().Add(s.Duration)
		swapped := make(chan error, 1)
		if swapping == 1 {
			generation = 3 - generation
			// The swap is in the middle of the run, so that the run includes the time after it.
			go func() { swapped <- activate(ctx, catalog, server.url, "ip", generation, s.Duration/4) }()
		} else {
			swapped <- nil
		}
		took, bad := c.timed(end)
		if err := <-swapped; err != nil {
			return err
		}
		if i >= 2 {
			sorts[swapping] = append(sorts[swapping], took...)
			failed[swapping] += bad
		}
	}
	quiet, busy := summarize(sorts[0], failed[0]), summarize(sorts[1], failed[1])
	ratio := 0.0
	if quiet.P99 > 0 {
		ratio = busy.P99 / quiet.P99
	}
	if s.JSON {
		e := json.NewEncoder(os.Stdout)
		e.SetIndent("", "  ")
		return e.Encode(map[string]any{"swaps": s.Swaps, "undisturbed": quiet, "swapping": busy, "p99_ratio": ratio, "budget": swapBudget})
	}
	fmt.Printf("| %d swaps under load | requests | failed | p50 | p99 | max |\n|---|---|---|---|---|---|\n", s.Swaps)
	for _, row := range []struct {
		name string
		l    latencies
	}{{"undisturbed", quiet}, {"a swap in each run", busy}} {
		fmt.Printf("| %s | %d | %d | %.0f µs | %.0f µs | %.0f µs |\n", row.name, row.l.Requests, row.l.Failed, row.l.P50, row.l.P99, row.l.Max)
	}
	fmt.Printf("\nRatio of the 99th percentiles %.2f, budget ≤ %d. `GET /ip/me` over %d connections, runs of %v by "+
		"turns, by `bin/bench/httpbench swap`.\n",
		ratio, swapBudget, s.Connections, s.Duration)
	return nil
}

// activate publishes a generation of a data set and waits until it is served.
func activate(ctx context.Context, catalog *dataset.Catalog, url, name string, generation uint64, after time.Duration) error {
	time.Sleep(after)
	if _, err := catalog.Activate(ctx, name, generation); err != nil {
		return err
	}
	for range 1000 {
		status := answer{Path: "/status"}
		if err := status.fetch(ctx, url); err != nil {
			return err
		}
		var doc struct {
			Datasets []struct {
				Name       string
				Generation uint64
			}
		}
		if err := json.Unmarshal(status.Body, &doc); err != nil {
			return err
		}
		for _, d := range doc.Datasets {
			if d.Name == name && d.Generation == generation {
				return nil
			}
		}
		time.Sleep(10 * time.Millisecond)
	}
	return fmt.Errorf("generation %d of %s was not taken into service", generation, name)
}

// timed keeps all connections busy until end. It returns the latencies of the requests, and the
// number that failed. A connection that fails is not used any more.
func (c *client) timed(end time.Time) (all []time.Duration, failed int) {
	took := make([][]time.Duration, len(c.conns))
	bad := make([]int, len(c.conns))
	var wg sync.WaitGroup
	for i := range c.conns {
		wg.Go(func() {
			for begin := time.Now(); begin.Before(end); {
				n := c.next[i] % len(c.requests)
				c.next[i]++
				_, err := c.conns[i].Write(c.requests[n])
				if err == nil {
					err = expect(c.readers[i], &c.answers[n])
				}
				if err != nil {
					bad[i]++
					return
				}
				now := time.Now()
				took[i] = append(took[i], now.Sub(begin))
				begin = now
			}
		})
	}
	wg.Wait()
	for i := range took {
		all = append(all, took[i]...)
		failed += bad[i]
	}
	return all, failed
}
