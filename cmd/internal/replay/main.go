// Replay asks two tile servers the same requests in the same order and lists what they
// answer differently: status, headers and bodies. A change of how endpoints are declared
// or served is judged with it, beside a server built before the change.
//
//	go run ./cmd/internal/replay --before http://127.0.0.1:8081 --after http://127.0.0.1:8082
//
// Both serve copies of one data directory by the same settings, and nobody else asks them:
// writes are among the requests. seeds.txt holds the requests, and says what settings they
// are for. Each is asked as it is, and then changed in every way that clients and attackers
// change requests. The /openapi.json of the server before has the parameters that a seed
// leaves out, and tells which operations no seed reaches. The requests depend on these two
// files alone.
//
// It exits with 1 if there are differences that --expected does not explain.
package main

import (
	"context"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"
)

//go:embed seeds.txt
var ownSeeds string

func main() {
	var o options
	flag.StringVar(&o.before, "before", "", "`URL` of the server as it was")
	flag.StringVar(&o.after, "after", "", "`URL` of the server as it is now")
	flag.StringVar(&o.seeds, "seeds", "", "`FILE` of requests to ask instead of our own, METHOD PATH [| Header: value]... [| Body: text] in each line")
	flag.StringVar(&o.expected, "expected", "", "`FILE` of regular expressions, one a line, of differences that are meant")
	flag.StringVar(&o.out, "out", "", "`FILE` for a line of every difference; without it they are printed")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	unexplained, err := run(ctx, &o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(2) //nolint:gocritic // nothing is left to end
	}
	if unexplained > 0 {
		os.Exit(1)
	}
}

type options struct{ before, after, seeds, expected, out string }

// run returns how many differences are not explained.
func run(ctx context.Context, o *options, stdout io.Writer) (unexplained int, err error) {
	if o.before == "" || o.after == "" {
		return 0, fmt.Errorf("give --before URL and --after URL")
	}
	text := ownSeeds
	if o.seeds != "" {
		raw, err := os.ReadFile(o.seeds)
		if err != nil {
			return 0, err
		}
		text = string(raw)
	}
	seeds, err := parseSeeds(text)
	if err != nil {
		return 0, err
	}
	rep := report{all: stdout}
	if o.expected != "" {
		raw, err := os.ReadFile(o.expected)
		if err != nil {
			return 0, err
		}
		if rep.expected, err = parseExpected(string(raw)); err != nil {
			return 0, fmt.Errorf("%s: %w", o.expected, err)
		}
	}
	if o.out != "" {
		f, err := os.Create(o.out)
		if err != nil {
			return 0, err
		}
		defer func() { err = f.Close() }()
		rep.all = f
	}
	before, after := newServer(o.before), newServer(o.after)
	ops, err := readOperations(ctx, before)
	if err != nil {
		return 0, err
	}
	begun := time.Now()
	p := pair{before: before, after: after, report: &rep, reached: map[*operation]bool{}}
	if err := p.replay(ctx, seeds, ops); err != nil {
		return 0, err
	}
	rep.unreached = p.unreached(ops)
	return rep.print(stdout, time.Since(begun)), nil
}

// A pair of servers is asked in step, so that what they keep stays the same.
type pair struct {
	before, after *server
	report        *report
	reached       map[*operation]bool // by an answer that is good
}

func (p *pair) replay(ctx context.Context, seeds []request, ops []*operation) error {
	known := map[*operation]bool{}
	made := map[string]request{} // the last request that wrote a path
	for _, seed := range seeds {
		if err := p.ask(ctx, seed, true, ops); err != nil {
			return err
		}
		path, _, _ := strings.Cut(seed.target, "?")
		op := find(ops, seed.method, path)
		mutations := seed.mutations()
		if op != nil && !known[op] {
			known[op] = true
			mutations = append(mutations, seed.completions(op.query)...)
		}
		for _, m := range mutations {
			if again, ok := made[path]; ok && seed.method == "DELETE" {
				// What is deleted must be there.
				if err := p.ask(ctx, again, false, ops); err != nil {
					return err
				}
			}
			if err := p.ask(ctx, m, false, ops); err != nil {
				return err
			}
		}
		if seed.method == "PUT" {
			// What follows finds what the seed wrote, and not what its changes made of it.
			made[path] = seed
			if err := p.ask(ctx, seed, true, ops); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pair) ask(ctx context.Context, r request, seed bool, ops []*operation) error {
	var second answer
	done := make(chan struct{})
	go func() {
		defer close(done)
		second = p.after.ask(ctx, r, seed)
	}()
	first := p.before.ask(ctx, r, seed)
	<-done
	if err := ctx.Err(); err != nil {
		return err
	}
	if path, _, _ := strings.Cut(r.target, "?"); first.status >= 200 && first.status < 300 {
		if op := find(ops, r.method, path); op != nil {
			p.reached[op] = true
		}
	}
	p.report.add(r, compare(r.target, first, second))
	return nil
}

func (p *pair) unreached(ops []*operation) (list []string) {
	for _, op := range ops {
		if !p.reached[op] {
			list = append(list, op.method+" "+op.path)
		}
	}
	return list
}
