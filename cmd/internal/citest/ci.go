package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// most is the number of failed tests in a run up to which they are tried again.
// More do not fail by chance.
const most = 10

// retry bounds the time of a test that is tried again.
const retry = 5 * time.Minute

// slowest is the number of packages that are listed with their times.
const slowest = 15

// ci is a run of tests.
type ci struct {
	args   []string // of go test
	budget string   // a time limit that replaces the one in args; reaching it is no failure
	goTest func(args []string, read func(io.Reader) error) error
	out    io.Writer
	file   notes

	notes  []string // about flaky tests and slow packages
	broken []string
	open   []string // lines in the file about tests that failed and are not judged
}

// run runs the tests and reports whether they passed in the end.
func (c *ci) run() bool {
	if c.budget != "" {
		flags := c.flags()
		c.args = slices.Concat(flags, []string{"-timeout=" + c.budget}, c.args[len(flags):])
	}
	first, err := c.test(c.args)
	var suspects int
	for _, p := range first.pkgs {
		suspects += len(c.suspects(p))
	}
	anyFailed := false
	for _, p := range first.sorted() {
		anyFailed = anyFailed || p.failed
		c.judge(p, suspects)
	}
	if err != nil && !anyFailed {
		c.broken = append(c.broken, err.Error())
	}
	c.times(first.pkgs)
	for len(c.open) > 0 {
		c.judged(c.open[0]) // the status tells from here on
	}
	for _, line := range c.notes {
		fmt.Fprintln(c.out, line)
	}
	for _, line := range c.broken {
		fmt.Fprintln(c.out, "FAIL", line)
	}
	return len(c.broken) == 0
}

// test runs go test once.
func (c *ci) test(args []string) (*results, error) {
	r := &results{pkgs: map[string]*pkg{}, out: c.out, all: slices.Contains(args, "-v"), fail: c.unjudged}
	return r, c.goTest(args, r.read)
}

// unjudged notes in the file that a test has failed, in case this program is ended
// before it can judge it.
func (c *ci) unjudged(pkg, test string) {
	line := unjudged(pkg, test)
	if slices.Contains(c.open, line) {
		return
	}
	c.open = append(c.open, line)
	if err := c.file.add(line); err != nil {
		c.broken = append(c.broken, err.Error())
	}
}

// judged takes such a line back.
func (c *ci) judged(line string) {
	i := slices.Index(c.open, line)
	if i < 0 {
		return
	}
	c.open = slices.Delete(c.open, i, i+1)
	if err := c.file.takeBack(line); err != nil {
		c.broken = append(c.broken, err.Error())
	}
}

func unjudged(pkg, test string) string { return "failed, not judged: " + pkg + " " + test }

// suspects are tests that failed, or were running when their package was cut off.
func (c *ci) suspects(p *pkg) []string {
	switch {
	case !p.failed:
		return nil
	case p.late && c.budget != "":
		return p.whole(failed)
	}
	return p.whole(failed, running)
}

// judge tries again what failed in a package. There are so many suspects in all.
func (c *ci) judge(p *pkg, suspects int) {
	names := c.suspects(p)
	refuse := func(why string) { c.broken = append(c.broken, fmt.Sprintf("%s: %s", p.name, why)) }
	switch {
	case p.certain != "":
		refuse(p.certain + ", which is no chance")
	case !p.final:
		refuse("go test ended before its tests did")
	case !p.failed:
	case p.unbuilt:
		refuse("it does not build")
	case suspects > most:
		refuse(fmt.Sprintf("%s; %d tests failed in all, too many to be by chance", strings.Join(names, ", "), suspects))
	case len(names) == 0 && p.ended:
		refuse("it failed outside of its tests")
	default:
		refused := false
		for _, name := range names {
			c.unjudged(p.name, name)
			if why := c.again(p, "-run", name); why != "" {
				refuse(name + " " + why)
				refused = true
				if !p.ended {
					break // each may take its time limit again
				}
			} else {
				c.judged(unjudged(p.name, name))
				c.notes = append(c.notes, fmt.Sprintf("flaky: %s %s", p.name, name))
			}
		}
		switch {
		case p.ended:
		case p.late && c.budget != "":
			if hung := p.hung(c.limit()); len(hung) > 0 {
				refuse(fmt.Sprintf("%s waited for nothing but itself when the %s were over", strings.Join(hung, ", "), c.budget))
			} else {
				c.notes = append(c.notes, fmt.Sprintf("not finished: %s in %s, which says nothing about it; at the end ran %s", p.name, c.budget, p.ran()))
			}
		case refused:
		default:
			if len(names) == 0 {
				c.notes = append(c.notes, fmt.Sprintf("flaky: %s was cut off outside of its tests", p.name))
			}
			begun := p.whole(failed, running, passed, skipped)
			if why := c.again(p, "-skip", begun...); why != "" {
				refuse("what comes after " + strings.Join(names, ", ") + " " + why)
			}
		}
	}
}

// again runs some tests of a package once more, alone. It returns why they failed.
func (c *ci) again(p *pkg, flag string, tests ...string) string {
	pattern := "^(" + strings.Join(tests, "|") + ")$"
	if flag == "-run" {
		pattern += parts(c.flag("run"))
	}
	args := append(c.flags(), "-count=1")
	if limit := c.limit(); limit <= 0 || limit > retry {
		args = append(args, "-timeout="+retry.String())
	}
	args = append(args, flag, pattern, p.name)
	fmt.Fprintf(c.out, "\nagain, alone: go test %s\n", strings.Join(args, " "))
	r, err := c.test(args)
	now := r.pkgs[p.name]
	switch {
	case now != nil && now.certain != "":
		return "failed, and then had " + now.certain
	case err != nil || now == nil:
		return "failed again, alone"
	case flag != "-run":
		return ""
	case len(now.whole(skipped)) > 0:
		return "failed, and then was skipped"
	case len(now.whole(passed)) == 0:
		return "failed, and is not there to be tried again"
	}
	for name, t := range p.tests {
		if then := now.tests[name]; t.state == failed && then != nil && then.state == skipped {
			return "failed, and then its part " + name + " was skipped"
		}
	}
	return ""
}

// parts returns what a pattern of -run says about the parts of tests, from the slash
// on. If alternatives have parts of their own, it returns nothing: more is run then,
// not less.
func parts(run string) string {
	depth, at := 0, -1
	for i, r := range run {
		switch {
		case r == '(' || r == '[':
			depth++
		case r == ')' || r == ']':
			depth--
		case r == '|' && depth == 0:
			return ""
		case r == '/' && depth == 0 && at < 0:
			at = i
		}
	}
	if at < 0 {
		return ""
	}
	return run[at:]
}

// flags are the arguments without the packages.
func (c *ci) flags() []string {
	n := len(c.args)
	for n > 0 && strings.HasPrefix(c.args[n-1], "./") {
		n--
	}
	return slices.Clone(c.args[:n])
}

// limit is the time that a package has.
func (c *ci) limit() time.Duration {
	if d, err := time.ParseDuration(c.flag("timeout")); err == nil {
		return d
	}
	return 10 * time.Minute // go test's own
}

// flag is the value of a flag of go test, "" without it.
func (c *ci) flag(flag string) (last string) {
	for i, arg := range c.args {
		name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if name != flag || !strings.HasPrefix(arg, "-") {
			continue
		}
		if !joined && i+1 < len(c.args) {
			value = c.args[i+1]
		}
		last = value
	}
	return last
}

// times lists the slowest packages and the sum of all, and notes those that may fail one
// day on a busy machine.
func (c *ci) times(pkgs map[string]*pkg) {
	var list []*pkg
	var sum float64
	for _, p := range pkgs {
		sum += p.seconds
		if p.seconds >= 1 {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *pkg) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), strings.Compare(a.name, b.name))
	})
	if len(list) > 0 {
		fmt.Fprintf(c.out, "\nslowest packages, in seconds; all %d took %.1f:\n", len(pkgs), sum)
	}
	limit := c.limit().Seconds()
	for i, p := range list {
		if i < slowest {
			fmt.Fprintf(c.out, "%8.1f  %s\n", p.seconds, p.name)
		}
		if limit > 0 && c.budget == "" && p.seconds > limit/2 {
			c.notes = append(c.notes, fmt.Sprintf("slow: %s took %.0f of its %.0f seconds: let its tests try fewer cases with -short, or part it", p.name, p.seconds, limit))
		}
	}
}
