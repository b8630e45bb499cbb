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

// unlike are headers that differ by nature: by the clock or at random.
var unlike = []string{"Date", "X-Request-Id", "Retry-After", "Ratelimit-Limit", "Ratelimit-Remaining", "Ratelimit-Reset"}

// bodiless matches paths whose good answers are compared without bodies, lengths and tags: the
// bodies have times and memory, or are generated from the declarations of the endpoints.
var bodiless = regexp.MustCompile(`^/(metrics|openapi\.json|docs|ogc/api)\b`)

// natural matches natural differences in texts: random values, the time since which a data set is
// served, and the versions of points, which come from the clock.
var natural = regexp.MustCompile(`("request_id":"|"secret":"whsec_|"since":")[^"]*|("version":|"v|version )1[78]\d{11}`)

// connection matches the description of a connection in its errors, in which the ports differ.
var connection = regexp.MustCompile(`\S+->\S+`)

var instant = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`)

// alike removes natural differences. It also removes times within minutes of the present, and of
// the time of expiry a day later, because they come from the server's clock.
func alike(text string) string {
	return instant.ReplaceAllStringFunc(natural.ReplaceAllString(text, "$1$2"), func(s string) string {
		t, err := time.Parse(time.RFC3339, s)
		for _, now := range []time.Time{time.Now(), time.Now().Add(24 * time.Hour)} {
			if err == nil && now.Sub(t).Abs() < 10*time.Minute {
				return "now"
			}
		}
		return s
	})
}

// A difference is one part of two answers that is not the same.
type difference struct{ what, before, after string }

// compare lists the differences between the answers to a request.
func compare(r request, before, after answer) (list []difference) {
	say := func(what, b, a string) {
		if b != a {
			list = append(list, difference{what, b, a})
		}
	}
	say("failure", connection.ReplaceAllString(fmt.Sprint(before.failure), ""), connection.ReplaceAllString(fmt.Sprint(after.failure), ""))
	say("status", strconv.Itoa(before.status), strconv.Itoa(after.status))
	b, a := before.text, after.text
	if b != a {
		b, a = alike(b), alike(a)
	}
	free := before.status < 300 && after.status < 300 && bodiless.MatchString(r.target)
	// Lengths are compared only where no natural difference can change them. A HEAD answer has no
	// body that would show such a difference, so its length counts only if the answer may be
	// stored. The answer to posted lines is written as the lines are ready, so its length is free.
	sized := !free && r.method != "POST" && (b != a || before.text == b) &&
		(r.method != "HEAD" || before.header.Get("Cache-Control") != "no-store")
	names := maps.Clone(before.header)
	maps.Copy(names, after.header)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if slices.Contains(unlike, name) || (name == "Content-Length" || name == "Transfer-Encoding") && !sized ||
			name == "Etag" && bodiless.MatchString(r.target) {
			continue
		}
		say("header "+name, alike(strings.Join(before.header[name], ", ")), alike(strings.Join(after.header[name], ", ")))
	}
	if free {
		return list
	}
	if b == a && sized && slices.Equal(before.header["Content-Encoding"], after.header["Content-Encoding"]) {
		say("body as "+before.header.Get("Content-Encoding")+" codes it", before.raw, after.raw)
	}
	if b == a {
		return list
	}
	bs, as, known := leaves(b), leaves(a), len(list)
	both := maps.Clone(bs)
	maps.Copy(both, as)
	for _, at := range slices.Sorted(maps.Keys(both)) {
		say("body "+at, bs[at], as[at])
	}
	if len(list) == known { // members are in another order, or spaces
		say("body", b, a)
	}
	return list
}

// leaves returns the values of a JSON document by their paths. The values of one list share a path.
// Any other text is one value.
func leaves(text string) map[string]string {
	var v any
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber() // 1.0 is not 1
	if d.Decode(&v) != nil || d.More() {
		return map[string]string{"": text}
	}
	found := map[string]string{}
	var walk func(at string, v any)
	walk = func(at string, v any) {
		if members, ok := v.(map[string]any); ok && len(members) > 0 {
			for name, v := range members {
				walk(at+"."+name, v)
			}
		} else if list, ok := v.([]any); ok && len(list) > 0 {
			for _, v := range list {
				walk(at+"[]", v)
			}
		} else {
			raw, _ := json.Marshal(v) // it was JSON
			found[at] = strings.TrimPrefix(found[at]+", "+string(raw), ", ")
		}
	}
	walk("", v)
	return found
}
