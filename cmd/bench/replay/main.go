// Replay sends the same requests in the same order to two tile servers, and lists the differences
// between their answers: status, headers and bodies. With it, a change of the declaration or
// implementation of endpoints is compared with a server from before the change.
//
//	bin/bench/replay --before http://127.0.0.1:8081 --after http://127.0.0.1:8082
//
// Both serve copies of the same data with the same settings, which seeds.txt names. They must have
// no other clients, because some of the requests write. Each request of seeds.txt is sent
// unchanged, and changed in all ways of changes.txt. The /openapi.json of the server before the
// change gives the parameters that a request lacks, and shows the operations that no request
// reaches.
//
// It exits with 1 if there are differences that --expected does not explain.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"time"
)

func main() {
	before := flag.String("before", "", "`URL` of the server as it was")
	after := flag.String("after", "", "`URL` of the server as it is now")
	seeds := flag.String("seeds", "cmd/bench/replay/seeds.txt",
		"`FILE` of requests, METHOD PATH [| Header: value]... [| Body: text] in each line")
	expected := flag.String("expected", os.DevNull, "`FILE` of regular expressions, one a line, of differences that are meant")
	out := flag.String("out", os.DevNull, "`FILE` for a line of every difference")
	flag.Parse()
	differences, err := run(*before, *after, *seeds, *expected, *out)
	if err != nil {
		fmt.Fprintln(os.Stderr, "replay:", err)
		os.Exit(2)
	}
	os.Exit(min(1, differences))
}

// run returns the number of unexplained differences.
func run(before, after, seedsFile, expectedFile, out string) (int, error) {
	p := pair{before: newServer(before), after: newServer(after)}
	var seeds []request
	err := cmp.Or(
		eachLine(seedsFile, func(line string) error {
			r, err := parseRequest(line)
			seeds = append(seeds, r)
			return err
		}),
		eachLine(expectedFile, p.report.expect))
	if err != nil {
		return 0, err
	}
	if p.operations, err = readOperations(p.before); err != nil {
		return 0, err
	}
	begun := time.Now()
	p.replay(seeds)
	text := p.report.text(3)
	for _, op := range p.operations {
		if !op.reached {
			text += fmt.Sprintf("no good answer by %s %s\n", op.method, op.path)
		}
	}
	fmt.Printf("%s%d requests in %s, %d without an answer: %d differences, and %d that are expected\n", text, p.report.asked,
		time.Since(begun).Round(time.Second), p.failed, p.report.found, p.report.explained)
	return p.report.found, os.WriteFile(out, []byte(p.report.text(math.MaxInt)), 0o644)
}

// eachLine reads the lines of a file that are neither empty nor comments.
func eachLine(file string, read func(string) error) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for i, line := range strings.Split(string(raw), "\n") {
		if line == "" || line[0] == '#' {
			continue
		}
		if err := read(line); err != nil {
			return fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
	}
	return nil
}

// A pair of servers gets the same requests in step, so that both keep the same data.
type pair struct {
	before, after *server
	operations    []*operation
	report        report
	failed        int // requests without an answer from before
}

func (p *pair) replay(seeds []request) {
	known, made := map[*operation]bool{}, map[string]request{}
	for _, seed := range seeds {
		p.ask(seed, true)
		op := find(p.operations, seed)
		mutations := seed.mutations(op == nil || !known[op])
		if op != nil && !known[op] {
			known[op] = true
			mutations = append(mutations, seed.completions(op)...)
		}
		for _, m := range mutations {
			if again, ok := made[seed.target]; ok && seed.method == "DELETE" {
				p.ask(again, false) // there must be something to delete
			}
			p.ask(m, false)
		}
		if seed.method == "PUT" { // later requests find this write, not the changed ones
			made[seed.target] = seed
			p.ask(seed, true)
		}
	}
}

func (p *pair) ask(r request, seed bool) {
	second := make(chan answer)
	go func() { second <- p.after.ask(r, seed) }()
	first := p.before.ask(r, seed)
	if op := find(p.operations, r); op != nil && first.status/100 == 2 {
		op.reached = true
	}
	if first.failure != nil {
		p.failed++
	}
	p.report.add(r, compare(r, first, <-second))
}
