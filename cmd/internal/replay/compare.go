package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// unlike are headers that differ by nature.
var unlike = map[string]bool{
	"Date":                true, // the clock
	"X-Request-Id":        true, // random
	"Retry-After":         true, // the clock
	"Ratelimit-Limit":     true, // of these, how much of a window is left is the clock's
	"Ratelimit-Remaining": true,
	"Ratelimit-Reset":     true,
}

// bodiless are paths whose good bodies are not compared, nor their lengths and tags.
var bodiless = []string{
	"/metrics",      // times and memory
	"/openapi.json", // it is made from the declarations that change
	"/docs",         // it is drawn from /openapi.json
	"/ogc/api",      // it is a part of /openapi.json
}

// natural is what differs in texts by nature.
var natural = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`"request_id":"[^"]*"`), `"request_id":""`},        // random
	{regexp.MustCompile(`"secret":"whsec_[^"]*"`), `"secret":"whsec_"`},    // random
	{regexp.MustCompile(`("version":|"v|version )1[78]\d{11}\b`), `${1}0`}, // of points: milliseconds of the clock
	{regexp.MustCompile(`"since":"[^"]*"`), `"since":""`},                  // of /status: since a data set is served
	{regexp.MustCompile(`("(?:uptime|age)[a-z_]*":)[0-9.]+`), `${1}0`},     // the clock
}

var instant = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)

// alike puts in the place of what differs by nature what is the same. Of times those are
// such as are about now: the server's clock has written them.
func alike(text string) string {
	for _, n := range natural {
		text = n.pattern.ReplaceAllString(text, n.instead)
	}
	return instant.ReplaceAllStringFunc(text, func(s string) string {
		t, err := time.Parse(time.RFC3339Nano, s)
		if d := time.Since(t).Abs(); err != nil || d > 10*time.Minute {
			return s
		}
		return "now" + instant.FindStringSubmatch(s)[2]
	})
}

// A difference is one thing that two answers have otherwise.
type difference struct {
	what, group, before, after string
}

// compare lists what differs in the answers to a target.
func compare(target string, before, after answer) (list []difference) {
	say := func(what, b, a string) {
		list = append(list, difference{what: what, group: what, before: b, after: a})
	}
	if before.failure != "" || after.failure != "" {
		if before.failure != after.failure {
			say("failure", before.failure, after.failure)
		}
		return list
	}
	if before.status != after.status {
		say("status", strconv.Itoa(before.status), strconv.Itoa(after.status))
		list[0].group = fmt.Sprintf("status %d → %d", before.status, after.status)
	}
	path, _, _ := strings.Cut(target, "?")
	opaque := slices.ContainsFunc(bodiless, func(p string) bool { return strings.HasPrefix(path, p) })
	good := before.status < 300 && after.status < 300
	natural := before.text != before.raw || after.text != after.raw
	names := maps.Clone(before.header)
	maps.Copy(names, after.header)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		b, a := alike(strings.Join(before.header[name], ", ")), alike(strings.Join(after.header[name], ", "))
		switch {
		case b == a || unlike[name]:
		case name == "Content-Length" && (opaque && good || natural && before.text == after.text):
		case name == "Etag" && opaque:
		default:
			say("header "+name, b, a)
		}
	}
	if opaque && good {
		return list
	}
	if before.text != after.text {
		return append(list, compareBodies(before.text, after.text)...)
	}
	coding := before.header.Get("Content-Encoding")
	if coding != "" && coding == after.header.Get("Content-Encoding") && before.raw != after.raw && alike(before.text) == before.text {
		say("body as coded by "+coding, fmt.Sprint(len(before.raw), " bytes"), fmt.Sprint(len(after.raw), " bytes"))
	}
	return list
}

// compareBodies names the members that differ, if both are JSON.
func compareBodies(before, after string) (list []difference) {
	var b, a any
	seen := map[string]bool{}
	if parse(before, &b) && parse(after, &a) {
		compareJSON("", b, a, func(member, b, a string) {
			if !seen[member] {
				seen[member] = true
				list = append(list, difference{what: "body " + member, group: "body " + member, before: b, after: a})
			}
		})
	}
	if len(list) > 0 {
		return list
	}
	// The beginnings that both have say nothing.
	i := 0
	for i < min(len(before), len(after)) && before[i] == after[i] {
		i++
	}
	i = max(0, i-20)
	return []difference{{what: fmt.Sprintf("body from byte %d", i), group: "body", before: before[i:], after: after[i:]}}
}

func parse(text string, v *any) bool {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // 1.0 is not 1
	return d.Decode(v) == nil && !d.More()
}

func compareJSON(member string, b, a any, say func(member, b, a string)) {
	if bs, ok := b.(map[string]any); ok {
		if as, ok := a.(map[string]any); ok {
			names := maps.Clone(bs)
			maps.Copy(names, as)
			for _, name := range slices.Sorted(maps.Keys(names)) {
				bv, had := bs[name]
				av, has := as[name]
				if had && has {
					compareJSON(member+"."+name, bv, av, say)
				} else {
					say(member+"."+name, show(bv, had), show(av, has))
				}
			}
			return
		}
	}
	bs, isList := b.([]any)
	as, wasList := a.([]any)
	if isList && wasList && len(bs) == len(as) {
		for i := range bs {
			compareJSON(member+"[]", bs[i], as[i], say)
		}
		return
	}
	if b, a := show(b, true), show(a, true); b != a {
		say(member, b, a)
	}
}

func show(v any, there bool) string {
	if !there {
		return "(none)"
	}
	b, _ := json.Marshal(v) // it was JSON
	return string(b)
}
