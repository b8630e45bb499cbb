package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// most is how many tests may fail in a run for some to be tried again: more do not
// fail by chance.
const most = 10

// slowest is how many packages are listed with their times.
const slowest = 10

// ci is a run of tests.
type ci struct {
	args   []string // of go test
	budget string   // a time limit in place of that of args, which is no failure
	goTest func(args []string, read func(io.Reader) error) error
	out    io.Writer

	notes  []string // about flaky tests and slow packages
	broken []string
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
	r := &results{pkgs: map[string]*pkg{}, out: c.out, all: slices.Contains(args, "-v")}
	return r, c.goTest(args, r.read)
}

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

// judge tries again what failed in a package, of so many suspects in all.
func (c *ci) judge(p *pkg, suspects int) {
	names := c.suspects(p)
	refuse := func(why string) { c.broken = append(c.broken, fmt.Sprintf("%s: %s", p.name, why)) }
	switch {
	case p.race:
		refuse("a data race, which is no chance")
	case !p.failed:
	case p.unbuilt:
		refuse("it does not build")
	case suspects > most:
		refuse(fmt.Sprintf("%s; %d tests failed in all, too many to be by chance", strings.Join(names, ", "), suspects))
	case len(names) == 0 && p.ended:
		refuse("it failed outside of its tests")
	default:
		for _, name := range names {
			if why := c.again(p, "-run", name); why != "" {
				refuse(name + " " + why)
			} else {
				c.notes = append(c.notes, fmt.Sprintf("flaky: %s %s", p.name, name))
			}
		}
		switch {
		case p.ended:
		case p.late && c.budget != "":
			c.notes = append(c.notes, fmt.Sprintf("not finished: %s in %s, which says nothing about it", p.name, c.budget))
		default:
			if len(names) == 0 {
				c.notes = append(c.notes, fmt.Sprintf("flaky: %s was cut off outside of its tests", p.name))
			}
			begun := p.whole(failed, running, passed)
			if why := c.again(p, "-skip", begun...); why != "" {
				refuse("what comes after " + strings.Join(names, ", ") + " " + why)
			}
		}
	}
}

// again runs some tests of a package once more, alone. It says why they failed.
func (c *ci) again(p *pkg, flag string, tests ...string) string {
	args := append(c.flags(), "-count=1", flag, "^("+strings.Join(tests, "|")+")$", p.name)
	fmt.Fprintf(c.out, "\nagain, alone: go test %s\n", strings.Join(args, " "))
	r, err := c.test(args)
	now := r.pkgs[p.name]
	switch {
	case now != nil && now.race:
		return "failed, and then had a data race"
	case err != nil || now == nil:
		return "failed again, alone"
	case flag == "-run" && len(now.whole(passed)) == 0:
		return "failed, and is not there to be tried again"
	}
	return ""
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
	limit := 10 * time.Minute // go test's own
	for i, arg := range c.args {
		name, value, joined := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if name != "timeout" {
			continue
		}
		if !joined && i+1 < len(c.args) {
			value = c.args[i+1]
		}
		if d, err := time.ParseDuration(value); err == nil {
			limit = d
		}
	}
	return limit
}

// times lists the slowest packages, and notes those that may fail one day on a
// busy machine.
func (c *ci) times(pkgs map[string]*pkg) {
	var list []*pkg
	for _, p := range pkgs {
		if p.seconds >= 1 {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *pkg) int {
		return cmp.Or(cmp.Compare(b.seconds, a.seconds), strings.Compare(a.name, b.name))
	})
	limit := c.limit().Seconds()
	for i, p := range list {
		if i == 0 {
			fmt.Fprintln(c.out, "\nslowest packages, in seconds:")
		}
		if i < slowest {
			fmt.Fprintf(c.out, "%8.1f  %s\n", p.seconds, p.name)
		}
		if limit > 0 && c.budget == "" && p.seconds > limit/2 {
			c.notes = append(c.notes, fmt.Sprintf("slow: %s took %.0f of its %.0f seconds: let its tests try fewer cases with -short, or part it", p.name, p.seconds, limit))
		}
	}
}
