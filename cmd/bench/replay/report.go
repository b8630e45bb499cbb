package main

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// A report counts differences by their kinds. Its zero value is ready.
type report struct {
	expected                []*regexp.Regexp
	used                    []int // number of differences that each of expected explains
	asked, found, explained int
	kinds                   map[string][]string // lines of those found
}

func (r *report) expect(line string) error {
	pattern, err := regexp.Compile(line)
	r.expected, r.used = append(r.expected, pattern), append(r.used, 0)
	return err
}

func (r *report) add(q request, differences []difference) {
	r.asked++
	for _, d := range differences {
		same := 0 // as both begin
		for same < min(len(d.before), len(d.after)) && d.before[same] == d.after[same] {
			same++
		}
		same = max(0, same-30)
		line := fmt.Sprintf("%s: %s: %s → %s", q, d.what, shorten(d.before[same:], 150), shorten(d.after[same:], 150))
		if i := slices.IndexFunc(r.expected, func(e *regexp.Regexp) bool { return e.MatchString(line) }); i >= 0 {
			r.used[i]++
			r.explained++
			continue
		}
		if r.kinds == nil {
			r.kinds = map[string][]string{}
		}
		kind := d.what
		if kind == "status" {
			kind = "status " + d.before + " → " + d.after
		}
		r.found++
		r.kinds[kind] = append(r.kinds[kind], line)
	}
}

// text lists the kinds, the most frequent first, with some lines of each.
func (r *report) text(most int) string {
	var out strings.Builder
	for _, kind := range slices.SortedFunc(maps.Keys(r.kinds),
		func(a, b string) int { return cmp.Or(len(r.kinds[b])-len(r.kinds[a]), cmp.Compare(a, b)) }) {
		lines := r.kinds[kind]
		fmt.Fprintf(&out, "%d × %s\n    %s\n", len(lines), kind, strings.Join(lines[:min(most, len(lines))], "\n    "))
	}
	for i, e := range r.expected {
		if r.used[i] == 0 {
			fmt.Fprintf(&out, "expected, but not there: %s\n", e)
		}
	}
	return out.String()
}

// shorten returns the beginning of a text in one line.
func shorten(s string, most int) string {
	if len(s) > most {
		s = fmt.Sprintf("%s… of %d bytes", s[:most], len(s))
	}
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '·'
	}, s)
}
