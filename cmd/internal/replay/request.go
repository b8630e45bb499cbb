package main

import (
	"fmt"
	"slices"
	"strings"
)

// A request is what is sent to both servers.
type request struct {
	method  string
	target  string // path and query, as they are sent
	headers []string
	body    string
}

// parseSeeds reads METHOD PATH [| Header: value]... [| Body: text] of each line. In a body
// \n begins a line. {etag}, {cursor} and {pinned} stand for what the last seed that had
// such a thing was answered by the same server.
func parseSeeds(text string) (seeds []request, err error) {
	for i, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Split(line, " | ")
		method, target, ok := strings.Cut(parts[0], " ")
		if !ok || !strings.HasPrefix(target, "/") {
			return nil, fmt.Errorf("line %d of the seeds: write METHOD PATH, not %q", i+1, parts[0])
		}
		r := request{method: method, target: target}
		for _, part := range parts[1:] {
			name, value, ok := strings.Cut(part, ": ")
			switch {
			case !ok:
				return nil, fmt.Errorf("line %d of the seeds: write Header: value or Body: text, not %q", i+1, part)
			case name == "Body":
				r.body = strings.ReplaceAll(value, `\n`, "\n")
			default:
				r.headers = append(r.headers, part)
			}
		}
		seeds = append(seeds, r)
	}
	return seeds, nil
}

// String is the request in one line, as a line of the seeds would have it.
func (r request) String() string {
	s := r.method + " " + shorten(r.target, 160)
	for _, h := range r.headers {
		if !strings.HasPrefix(h, "X-Api-Key: replay") {
			s += " | " + shorten(h, 60)
		}
	}
	if r.body != "" {
		s += fmt.Sprintf(" | Body: %s", shorten(strings.ReplaceAll(r.body, "\n", `\n`), 60))
	}
	return s
}

// shorten keeps the beginning of a text, and of a longer one says how much is left out.
func shorten(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + fmt.Sprintf("…(%d more)", len(s)-most)
}

func (r request) to(target string) request { r.target = target; return r }

func (r request) by(method string) request { r.method = method; return r }

func (r request) holding(body string) request { r.body = body; return r }

// with is the request with a header in place of those of its name.
func (r request) with(header string) request {
	name, _, _ := strings.Cut(header, ":")
	r.headers = append(slices.DeleteFunc(slices.Clone(r.headers), func(h string) bool { return strings.HasPrefix(h, name+":") }), header)
	return r
}

func (r request) keyed() bool {
	return slices.ContainsFunc(r.headers, func(h string) bool { return strings.HasPrefix(h, "X-Api-Key:") })
}
