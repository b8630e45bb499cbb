//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"errors"
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
	Action, Package, Test, Output, FailedBuild string
	Elapsed                                    float64
}

// pkg is a package with its runs: first of the whole package, and then one for each test that was
// run again.
type pkg struct {
	name string
	runs []*run
}

type run struct {
	tests   map[string]string // the last action of each test
	action  string            // "pass", "fail" or "skip", once go test has said how it ended
	seconds float64
	unbuilt bool
	whole   bool                     // its tests have come to their end
	certain string                   // why it is broken for certain
	late    bool                     // it was cut off by its time limit
	held    map[string]time.Duration // by the tests that ran then
	stacks  int                      // printed then
	busy    bool                     // one of their goroutines computed, or waited for others
}

// read returns the packages of the events, by name.
func read(events io.Reader) ([]*pkg, error) {
	pkgs := map[string]*pkg{}
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) { // half a line is of a program that was ended
			return slices.SortedFunc(maps.Values(pkgs), func(a, b *pkg) int { return strings.Compare(a.name, b.name) }), nil
		}
		var e event
		if err == nil {
			err = json.Unmarshal(line, &e)
		}
		if err != nil {
			return nil, err
		}
		if e.Package == "" {
			continue
		}
		p := pkgs[e.Package]
		if p == nil {
			p = &pkg{name: e.Package}
			pkgs[e.Package] = p
		}
		if len(p.runs) == 0 || p.runs[len(p.runs)-1].action != "" {
			p.runs = append(p.runs, &run{tests: map[string]string{}, held: map[string]time.Duration{}})
		}
		p.runs[len(p.runs)-1].take(&e)
	}
}

// certain maps signs that something is certainly broken to their meanings.
var certain = map[string]string{
	"WARNING: DATA RACE":             "a data race",
	"fatal error: concurrent map":    "a map used by several goroutines at once",
	"fatal error: found bad pointer": "a bad pointer",
	"fatal error: checkptr":          "a bad pointer",
}

func (r *run) take(e *event) {
	switch {
	case e.Action != "output" && e.Test != "":
		r.tests[e.Test] = e.Action
		return
	case e.Action == "pass", e.Action == "fail", e.Action == "skip":
		r.action, r.seconds, r.unbuilt = e.Action, e.Elapsed, e.FailedBuild != ""
		return
	}
	for sign, why := range certain {
		if strings.Contains(e.Output, sign) {
			r.certain = why
		}
	}
	// This is the line for all tests together. A run that is cut off does not print it.
	r.whole = r.whole || e.Test == "" && (e.Output == "PASS\n" || e.Output == "FAIL\n")
	if r.late = r.late || strings.HasPrefix(e.Output, "panic: test timed out after "); r.late {
		r.cutOff(strings.TrimSuffix(e.Output, "\n"))
	}
}

// failed returns the tests and parts of tests that failed.
func (r *run) failed() (names []string) {
	for _, name := range slices.Sorted(maps.Keys(r.tests)) {
		if r.tests[name] == "fail" {
			names = append(names, name)
		}
	}
	return names
}

var (
	heldLine  = regexp.MustCompile(`^\t+(\S+) \((\S+)\)$`)
	stackLine = regexp.MustCompile(`^goroutine \d+ .*\[([^\],]+)(, \d+ minutes)?`)
)

// cutOff reads a line that go test prints at the time limit. First come the running tests, each
// with its time, and then the stacks, beginning with the stack of the alarm.
func (r *run) cutOff(line string) {
	if m := heldLine.FindStringSubmatch(line); m != nil && r.stacks == 0 {
		r.held[m[1]], _ = time.ParseDuration(m[2])
	}
	m := stackLine.FindStringSubmatch(line)
	if m == nil {
		return
	}
	r.stacks++
	switch state := m[1]; {
	case r.stacks == 1:
	case strings.HasPrefix(state, "select"), strings.HasPrefix(state, "chan "), strings.HasPrefix(state, "sync."),
		state == "sleep", state == "semacquire", state == "finalizer wait":
	case state == "IO wait" && m[2] != "": // a server that nobody asks
	default:
		r.busy = true
	}
}

// hung returns the tests that were running at the time limit, had run for most of the time, and
// only waited for each other.
func (r *run) hung(limit time.Duration) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(r.held)) {
		parted := false // into parts that run
		for other := range r.held {
			parted = parted || strings.HasPrefix(other, name+"/")
		}
		if !parted && !r.busy && r.stacks > 1 && r.held[name] > limit*8/10 {
			names = append(names, name)
		}
	}
	return names
}

// verdict is the verdict on the packages.
type verdict struct {
	budget  string
	limit   time.Duration // of a package
	notes   []string      // about flaky tests and slow packages
	refused []string
	excused bool // a package was cut off by the budget
}

// unjudged adds a note about each test that has failed and has not passed since. It is for a run
// without time to run the failed tests again.
func (v *verdict) unjudged(pkgs []*pkg) {
	for _, p := range pkgs {
		for _, name := range p.runs[0].failed() {
			if p.last(name) == "fail" {
				v.notes = append(v.notes, fmt.Sprintf("failed, not judged: %s %s", p.name, name))
			}
		}
	}
}

// last returns the last action of a test in all runs.
func (p *pkg) last(test string) (action string) {
	for _, r := range p.runs {
		if a := r.tests[test]; a != "" {
			action = a
		}
	}
	return action
}

// again reports whether a test failed when it was run again.
func (p *pkg) again(test string) bool {
	return slices.ContainsFunc(p.runs[1:], func(r *run) bool { return r.tests[test] == "fail" })
}

func (v *verdict) judge(p *pkg) {
	refuse := func(why string) { v.refused = append(v.refused, p.name+": "+why) }
	first := p.runs[0]
	for _, r := range p.runs {
		switch {
		case r.certain != "":
			refuse(r.certain + ", which is no chance")
		case r.action == "":
			refuse("go test ended before its tests did")
		case r.unbuilt:
			refuse("it does not build")
		case r.action != "fail" || r.whole:
			continue
		case !r.late || v.budget == "":
			refuse("its tests were cut off")
		default:
			if hung := r.hung(v.limit); len(hung) > 0 {
				refuse(fmt.Sprintf("%s waited for nothing but itself when the %s were over", strings.Join(hung, ", "), v.budget))
			} else {
				v.excused = true
				v.notes = append(v.notes, fmt.Sprintf("not finished: %s in %s, which says nothing about it; at the end ran %v",
					p.name, v.budget, r.held))
			}
			continue
		}
		return
	}
	failed := first.failed()
	if first.action == "fail" && first.whole && len(failed) == 0 {
		refuse("it failed outside of its tests")
	}
	for _, name := range failed {
		whole, _, part := strings.Cut(name, "/")
		switch {
		case p.last(name) == "skip":
			refuse(name + " failed, and then was skipped")
		case p.last(whole) != "pass", p.again(name):
			refuse(name + " failed")
		case !part:
			v.notes = append(v.notes, fmt.Sprintf("flaky: %s %s", p.name, name))
		}
	}
}
