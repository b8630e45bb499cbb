package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

// An expectation explains the differences whose lines it matches.
type expectation struct {
	pattern *regexp.Regexp
	used    int
}

// parseExpected reads a regular expression of each line that is not empty or a comment.
func parseExpected(text string) (list []*expectation, err error) {
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		re, err := regexp.Compile(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		list = append(list, &expectation{pattern: re})
	}
	return list, nil
}

// A report counts differences by their kinds.
type report struct {
	all       io.Writer
	expected  []*expectation
	unreached []string

	asked, explained int
	groups           map[string]*group
}

type group struct {
	count int
	first []string
}

func (r *report) add(q request, differences []difference) {
	r.asked++
	for _, d := range differences {
		line := fmt.Sprintf("%s: %s: %s → %s", q, d.what, shorten(d.before, 200), shorten(d.after, 200))
		if i := slices.IndexFunc(r.expected, func(e *expectation) bool { return e.pattern.MatchString(line) }); i >= 0 {
			r.expected[i].used++
			r.explained++
			continue
		}
		fmt.Fprintln(r.all, line)
		if r.groups == nil {
			r.groups = map[string]*group{}
		}
		g := r.groups[d.group]
		if g == nil {
			g = &group{}
			r.groups[d.group] = g
		}
		if g.count++; g.count <= 3 {
			g.first = append(g.first, line)
		}
	}
}

// print writes the kinds, the most frequent first, with their first lines, and returns how
// many differences there are that nothing explains.
func (r *report) print(w io.Writer, took time.Duration) (unexplained int) {
	names := slices.SortedFunc(maps.Keys(r.groups), func(a, b string) int {
		return cmp.Or(r.groups[b].count-r.groups[a].count, strings.Compare(a, b))
	})
	for _, name := range names {
		g := r.groups[name]
		unexplained += g.count
		fmt.Fprintf(w, "%d × %s\n    %s\n", g.count, name, strings.Join(g.first, "\n    "))
	}
	for _, e := range r.expected {
		if e.used == 0 {
			fmt.Fprintf(w, "expected, but not there: %s\n", e.pattern)
		}
	}
	if len(r.unreached) > 0 {
		fmt.Fprintf(w, "no good answer from %d operations: %s\n", len(r.unreached), strings.Join(r.unreached, ", "))
	}
	fmt.Fprintf(w, "%d requests in %s: %d differences, and %d that are expected\n", r.asked, took.Round(time.Second), unexplained, r.explained)
	return unexplained
}
