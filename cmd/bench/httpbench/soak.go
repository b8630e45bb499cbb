package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/toyworld"
)

// soakCmd sends millions of mixed requests while generations are swapped. It fails if a request
// fails or if memory grows. It measures the live heap after a collection, resident memory without
// mapped files, goroutines and open files. Their medians in the last tenth of the requests may be
// at most growth times those in the fourth tenth, plus slack. In the fourth tenth the caches are
// full and every data set has been swapped.
type soakCmd struct {
	Tileserver  string `placeholder:"FILE" help:"The tileserver program; built from this module if not given."`
	Requests    int64  `default:"20000000" help:"How many requests."`
	Swaps       int    `default:"60" help:"How many swaps of generations, spread evenly."`
	Connections int    `default:"64" help:"Connections that are kept busy; every other one is closed and opened anew after 1,000 requests."`
	Samples     int    `default:"100" help:"How often memory is looked at; at least 30."`
	Cache       string `default:"16MiB" help:"Caches of the server; small ones are soon full."`
	JSON        bool   `help:"Print JSON instead of a table."`
}

const growth = 1.1

// slack is the amount by which a state may vary at any moment: because a generation is being opened
// while the one before is still being read, because of buffers, or because a collection has begun.
var slack = state{Anon: 16 << 20, Heap: 4 << 20, Goroutines: 16, Files: 16}

// soakResult is the result of a soak test.
type soakResult struct {
	Requests int64            `json:"requests"`
	Failed   int64            `json:"failed"`
	First    []string         `json:"first_failures,omitempty"`
	Seconds  float64          `json:"seconds"`
	Rate     float64          `json:"requests_per_second"`
	CPU      float64          `json:"cpu_us,omitempty"` // processor time of the server per request
	Opened   int64            `json:"connections_opened"`
	Swaps    int              `json:"swaps"`
	Kinds    map[string]int64 `json:"requests_by_kind"`
	Tenths   []state          `json:"tenths"` // medians
	Grown    []string         `json:"grown,omitempty"`
}

func (s *soakCmd) Run(ctx context.Context) (err error) {
	if s.Requests < 1000 || s.Swaps < 0 || s.Connections < 1 || s.Samples < 30 {
		return errors.New("--requests must be at least 1000, --samples 30, --connections 1, and --swaps not negative")
	}
	tmp, err := os.MkdirTemp("", "httpbench")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	catalog, err := dataset.Open(filepath.Join(tmp, "data"), toyworld.Open)
	if err != nil {
		return err
	}
	for range 2 {
		if err := toyworld.Publish(ctx, catalog.Dir()); err != nil {
			return err
		}
	}
	program, err := serverProgram(ctx, s.Tileserver, tmp)
	if err != nil {
		return err
	}
	admin, err := freeAddress()
	if err != nil {
		return err
	}
	server, err := startServer(ctx, nil, program, serverFlags(catalog.Dir(), "--cache", s.Cache, "--admin-listen", admin)...)
	if err != nil {
		return err
	}
	defer server.stop()
	swaps := &swapper{catalog: catalog, url: server.url, generation: [3]uint64{2, 2, 2}}
	mix, err := newMix(ctx, server.url, swaps)
	if err != nil {
		return err
	}
	load := newSoakLoad(server.url, mix, s.Connections, s.Requests)
	pid := server.cmd.Process.Pid
	pinSelf(ctx, 1)
	before := cpuTime(pid)
	res, err := s.watch(ctx, load, swaps.next, func() (state, error) { return look(ctx, "http://"+admin, pid) })
	if err != nil {
		return err
	}
	res.CPU = float64((cpuTime(pid) - before).Nanoseconds()) / 1e3 / float64(res.Requests)
	if s.JSON {
		err = printJSON(res)
	} else {
		err = s.table(os.Stdout, res)
	}
	if res.Failed > 0 {
		err = errors.Join(err, fmt.Errorf("%d requests failed, the first: %s", res.Failed, strings.Join(res.First, "; ")))
	}
	if len(res.Grown) > 0 {
		err = errors.Join(err, fmt.Errorf("the server grows: %s", strings.Join(res.Grown, "; ")))
	}
	return err
}

// watch runs the load, swaps generations, and observes the server meanwhile.
func (s *soakCmd) watch(ctx context.Context, load *soakLoad, swap func(context.Context) error,
	look func() (state, error)) (res soakResult, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	begin := time.Now()
	done := make(chan struct{})
	go func() {
		defer close(done)
		load.run(ctx)
	}()
	// However this function ends, the load has ended before.
	defer func() {
		cancel()
		<-done
	}()
	swapped := make(chan error, 1)
	go func() {
		swapped <- every(ctx, load, s.Swaps+1, func(i int) error {
			if i > s.Swaps {
				return nil // with the last request
			}
			if err := swap(ctx); err != nil {
				return err
			}
			res.Swaps = i
			return nil
		})
	}()
	tenths := make([][]state, 10)
	err = every(ctx, load, s.Samples, func(i int) error {
		st, err := look()
		if err != nil {
			return err
		}
		tenth := (i - 1) * 10 / s.Samples
		tenths[tenth] = append(tenths[tenth], st)
		if i%max(s.Samples/20, 1) == 0 {
			fmt.Fprintf(os.Stderr, "%3d %%: %d requests, %d failed, %.0f/s; resident %s, live heap %s, %.0f goroutines, %.0f files\n",
				100*i/s.Samples, load.done.Load(), load.failed.Load(), float64(load.done.Load())/time.Since(begin).Seconds(),
				mebibytes(st.RSS), mebibytes(st.Heap), st.Goroutines, st.Files)
		}
		return nil
	})
	if err != nil {
		cancel()
	}
	if err := errors.Join(err, <-swapped); err != nil {
		return res, err
	}
	<-done
	res.Requests, res.Failed, res.Opened = load.done.Load(), load.failed.Load(), load.opened.Load()
	res.First, res.Kinds = load.first, load.kinds()
	res.Seconds = time.Since(begin).Seconds()
	res.Rate = float64(res.Requests) / res.Seconds
	for _, t := range tenths {
		res.Tenths = append(res.Tenths, middle(t))
	}
	res.Grown = grown(res.Tenths[3], res.Tenths[9])
	return res, nil
}

// every calls f n times, each time when a further n-th of the load is done.
func every(ctx context.Context, load *soakLoad, n int, f func(i int) error) error {
	for i := 1; i <= n; i++ {
		for load.done.Load() < load.total/int64(n)*int64(i) {
			if err := ctx.Err(); err != nil {
				return err
			}
			time.Sleep(5 * time.Millisecond)
		}
		if err := f(i); err != nil {
			return err
		}
	}
	return nil
}

// middle returns the median of each figure.
func middle(all []state) state {
	of := func(figure func(*state) float64) float64 {
		v := make([]float64, len(all))
		for i := range all {
			v[i] = figure(&all[i])
		}
		return median(v)
	}
	return state{
		RSS:        of(func(s *state) float64 { return s.RSS }),
		Anon:       of(func(s *state) float64 { return s.Anon }),
		Heap:       of(func(s *state) float64 { return s.Heap }),
		Goroutines: of(func(s *state) float64 { return s.Goroutines }), Files: of(func(s *state) float64 { return s.Files }),
	}
}

// grown returns the names of the figures that have grown by more than the limit.
func grown(from, to state) (all []string) {
	for _, f := range []struct {
		name            string
		from, to, slack float64
	}{
		{"live heap", from.Heap, to.Heap, slack.Heap}, {"anonymous memory", from.Anon, to.Anon, slack.Anon},
		{"goroutines", from.Goroutines, to.Goroutines, slack.Goroutines}, {"open files", from.Files, to.Files, slack.Files},
	} {
		if f.to > f.from*growth+f.slack {
			all = append(all, fmt.Sprintf("%s from %.0f to %.0f", f.name, f.from, f.to))
		}
	}
	return all
}

func (s *soakCmd) table(w io.Writer, res soakResult) error {
	var b strings.Builder
	b.WriteString("| soak | requests | failed | requests/s | CPU per request | connections opened | swaps |\n|---|---|---|---|---|---|---|\n")
	fmt.Fprintf(&b, "| mixed | %d | %d | %.0f | %.1f µs | %d | %d |\n\n", res.Requests, res.Failed, res.Rate, res.CPU, res.Opened, res.Swaps)
	b.WriteString("| requests done | resident | apart from mapped files | live heap after collection | goroutines | open " +
		"files |\n|---|---|---|---|---|---|\n")
	for i, t := range res.Tenths {
		fmt.Fprintf(&b, "| %d–%d %% | %s | %s | %s | %.0f | %.0f |\n", 10*i, 10*(i+1), mebibytes(t.RSS), mebibytes(t.Anon),
			mebibytes(t.Heap), t.Goroutines, t.Files)
	}
	verdict := "nothing grows"
	if len(res.Grown) > 0 {
		verdict = "**it grows:** " + strings.Join(res.Grown, "; ")
	}
	names := make([]string, 0, len(res.Kinds))
	for name := range res.Kinds {
		names = append(names, name)
	}
	slices.Sort(names)
	for i, name := range names {
		names[i] = fmt.Sprintf("%s %.1f %%", name, 100*float64(res.Kinds[name])/float64(max(res.Requests, 1)))
	}
	fmt.Fprintf(&b, "\nMedians of %d looks, each after a forced collection; by the last tenth against the fourth, %s "+
		"(budget ≤ %.1f × + %s of heap, %s of memory, %.0f goroutines, %.0f files). %d connections, `--cache %s`, %.0f s, "+
		"by `bin/bench/httpbench soak`. Requests: %s.\n",
		s.Samples, verdict, growth, mebibytes(slack.Heap), mebibytes(slack.Anon), slack.Goroutines, slack.Files, s.Connections, s.Cache,
		res.Seconds, strings.Join(names, ", "))
	_, err := io.WriteString(w, b.String())
	return err
}

// swapper publishes two generations of each data set alternately. Both have the same data.
type swapper struct {
	catalog    *dataset.Catalog
	url        string
	generation [3]uint64 // of swapped, in service
	turn       int
}

var swapped = [3]string{"ip", "boundaries", "places"}

func (s *swapper) next(ctx context.Context) error {
	i := s.turn % len(swapped)
	s.turn++
	s.generation[i] = 3 - s.generation[i]
	return activate(ctx, s.catalog, s.url, swapped[i], s.generation[i], 0)
}

// allTags returns the entity tags that answers have under either generation of
// every data set.
func (s *swapper) allTags(ctx context.Context, like []answer) ([]string, error) {
	tags := make([]string, len(like))
	for range 2 {
		for i := range like {
			a := like[i]
			if err := a.fetch(ctx, s.url); err != nil {
				return nil, err
			}
			if a.Status != http.StatusOK || a.ETag == "" {
				return nil, fmt.Errorf("%s: answered %d, want 200 with an entity tag", a.Path, a.Status)
			}
			if tags[i] != "" {
				tags[i] += ", "
			}
			tags[i] += a.ETag
		}
		for range swapped {
			if err := s.next(ctx); err != nil {
				return nil, err
			}
		}
	}
	return tags, nil
}
