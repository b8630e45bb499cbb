package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// event is one of `go test -json`; `go doc test2json` describes them.
type event struct {
	Action, Package, ImportPath, Test, Output, FailedBuild string
	Elapsed                                                float64
}

// state of a test.
type state byte

const (
	running state = iota
	paused        // until others have ended
	passed
	skipped
	failed
)

// test is a test or a part of one.
type test struct {
	state  state
	output []string
}

// pkg is what is known about the run of a package.
type pkg struct {
	name    string
	tests   map[string]*test
	order   []string // of tests, as they began
	output  []string // of none of them
	ended   bool     // its tests have, and were not cut off
	failed  bool
	final   bool // go test said how it ended
	unbuilt bool
	certain string                   // why it is broken for certain
	late    bool                     // it was cut off by its time limit
	held    map[string]time.Duration // by the tests that ran then
	stacks  int                      // printed then
	busy    bool                     // one of their goroutines computed, or waited for others
	seconds float64
}

// results are those of a run of go test.
type results struct {
	pkgs map[string]*pkg
	out  io.Writer
	all  bool // print the output of tests that pass too
	fail func(pkg, test string)
}

// read takes events until they end, and prints what go test would.
func (r *results) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) != nil || e.Action == "" {
				fmt.Fprint(r.out, line) // of a program that writes past go test
			} else {
				r.take(&e)
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (r *results) take(e *event) {
	if e.Package == "" {
		if e.Action == "build-output" {
			fmt.Fprint(r.out, e.Output)
		}
		return
	}
	p := r.pkgs[e.Package]
	if p == nil {
		p = &pkg{name: e.Package, tests: map[string]*test{}}
		r.pkgs[e.Package] = p
	}
	if e.Action == "output" {
		r.output(p, e)
		return
	}
	if e.Test == "" {
		switch e.Action {
		case "pass", "skip", "fail":
			p.final, p.failed, p.unbuilt, p.seconds = true, e.Action == "fail", e.FailedBuild != "", e.Elapsed
			r.print(p)
		}
		return
	}
	t := p.test(e.Test)
	switch e.Action {
	case "run", "cont":
		t.state = running
	case "pause":
		t.state = paused
	case "pass", "bench":
		t.state = passed
		t.output = nil
	case "skip":
		t.state = skipped
		t.output = nil
	case "fail":
		t.state = failed
		whole, _, _ := strings.Cut(e.Test, "/")
		r.fail(p.name, whole)
	}
}

func (p *pkg) test(name string) *test {
	t := p.tests[name]
	if t == nil {
		t = &test{}
		p.tests[name], p.order = t, append(p.order, name)
	}
	return t
}

func (r *results) output(p *pkg, e *event) {
	for sign, why := range certain {
		if strings.Contains(e.Output, sign) {
			p.certain = why
		}
	}
	p.late = p.late || strings.HasPrefix(e.Output, "panic: test timed out after ")
	if p.late {
		p.cutOff(e.Output)
	}
	switch {
	case r.all:
		fmt.Fprint(r.out, e.Output)
	case e.Test != "" && !strings.HasPrefix(e.Output, "=== "):
		t := p.test(e.Test)
		t.output = append(t.output, e.Output)
	case e.Test == "":
		p.output = append(p.output, e.Output)
	}
	// The line of all tests together. A run that is cut off prints none.
	p.ended = p.ended || e.Test == "" && (e.Output == "PASS\n" || e.Output == "FAIL\n")
}

// certain are signs that something is certainly broken, with their meanings.
var certain = map[string]string{
	"WARNING: DATA RACE":             "a data race",
	"fatal error: concurrent map":    "a map used by several goroutines at once",
	"fatal error: found bad pointer": "a bad pointer",
	"fatal error: checkptr":          "a bad pointer",
}

var (
	heldLine  = regexp.MustCompile(`^\t+(\S+) \((\S+)\)$`)
	stackLine = regexp.MustCompile(`^goroutine \d+ .*\[([^\],]+)(, \d+ minutes)?`)
)

// cutOff takes a line of what is printed at the time limit: first the tests that
// run, each with its time, and then the stacks, beginning with that of the alarm.
func (p *pkg) cutOff(line string) {
	line = strings.TrimSuffix(line, "\n")
	if m := heldLine.FindStringSubmatch(line); m != nil && p.stacks == 0 {
		if d, err := time.ParseDuration(m[2]); err == nil {
			if p.held == nil {
				p.held = map[string]time.Duration{}
			}
			p.held[m[1]] = d
		}
	}
	m := stackLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	p.stacks++
	switch state := m[1]; {
	case p.stacks == 1:
	case strings.HasPrefix(state, "select"), strings.HasPrefix(state, "chan "), strings.HasPrefix(state, "sync."), state == "sleep", state == "semacquire", state == "finalizer wait":
	case state == "IO wait" && m[2] != "": // a server that nobody asks
	default:
		p.busy = true
	}
}

// hung returns the tests that were running at the time limit, had run for most of
// the time, and waited for nothing but each other.
func (p *pkg) hung(limit time.Duration) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(p.held)) {
		parted := false // into parts that run
		for other := range p.held {
			parted = parted || strings.HasPrefix(other, name+"/")
		}
		if !parted && !p.busy && p.stacks > 1 && p.held[name] > limit*8/10 {
			names = append(names, name)
		}
	}
	return names
}

// ran tells which tests ran at the time limit, and for how long.
func (p *pkg) ran() string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(p.held)) {
		list = append(list, fmt.Sprintf("%s (%s)", name, p.held[name]))
	}
	if list == nil {
		return "no test"
	}
	return strings.Join(list, ", ")
}

// print prints a package that has ended.
func (r *results) print(p *pkg) {
	if r.all {
		return
	}
	for _, name := range p.order {
		if t := p.tests[name]; p.failed && t.state != passed && t.state != skipped {
			fmt.Fprint(r.out, strings.Join(t.output, ""))
		}
		p.tests[name].output = nil
	}
	for _, line := range p.output {
		if p.failed || line != "PASS\n" {
			fmt.Fprint(r.out, line)
		}
	}
	p.output = nil
}

// sorted are the packages by name.
func (r *results) sorted() []*pkg {
	return slices.SortedFunc(maps.Values(r.pkgs), func(a, b *pkg) int { return strings.Compare(a.name, b.name) })
}

// whole returns the tests in one of the states that are not parts of others. A
// test counts as failed if a part of it has failed.
func (p *pkg) whole(states ...state) (names []string) {
	bad := map[string]bool{}
	for name, t := range p.tests {
		if whole, _, _ := strings.Cut(name, "/"); t.state == failed {
			bad[whole] = true
		}
	}
	for _, name := range p.order {
		s := p.tests[name].state
		if bad[name] {
			s = failed
		}
		if !strings.Contains(name, "/") && slices.Contains(states, s) {
			names = append(names, name)
		}
	}
	return names
}
