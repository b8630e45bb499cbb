package main

import (
	_ "embed"
	"maps"
	"regexp"
	"slices"
	"strings"
)

//go:embed changes.txt
var changesText string

// changes are the templates of changes.txt by kind.
var changes = func() map[string][]string {
	kinds := map[string][]string{"body": {strings.Repeat("[", 20000), strings.Repeat("x", 1<<18)}}
	for line := range strings.SplitSeq(changesText+"value "+strings.Repeat("x", 300)+"\nvalue "+strings.Repeat("9,", 2000), "\n") {
		kind, template, _ := strings.Cut(line, " ")
		if kinds[kind] = append(kinds[kind], escapes.Replace(template)); kind == "value" {
			kinds["param"] = append(kinds["param"], "${1}="+template)
		}
	}
	return kinds
}()

var escapes = strings.NewReplacer(`\n`, "\n", `\0`, "\x00", `\xff`, "\xff", `\ufeff`, "\ufeff")

// places are the parts of a request that templates replace. Places marked once are not useful in a
// second request of an operation.
var places = []struct {
	kind    string
	once    bool
	pattern *regexp.Regexp
	of      func(*request) *string
}{
	{"param", false, regexp.MustCompile(`([^?&=]+)=([^&]*)`), target},
	{"query", true, regexp.MustCompile(`^([^?]*)\??(.*)$`), target},
	{"path", true, regexp.MustCompile(`^[^?]*`), target},
	{"segment", true, regexp.MustCompile(`([^/?.]+)([^/?]*)`), target},
	{"body", false, regexp.MustCompile(`(?s)^.+$`), body},
	{"token", false, regexp.MustCompile(`"[^"]*"|-?[0-9][0-9.eE]*|[a-z]+`), body},
}

func target(r *request) *string { return &r.target }
func body(r *request) *string   { return &r.body }

// mutations returns the changed forms of a request that need only the request itself. first is set
// for the first request of an operation.
func (r request) mutations(first bool) (list []request) {
	for _, place := range places {
		if place.once && !first {
			continue
		}
		text := *place.of(&r)
		for _, at := range place.pattern.FindAllStringSubmatchIndex(text, -1) {
			for _, template := range changes[place.kind] {
				changed := r
				with := place.pattern.ExpandString(nil, template, text, at)
				*place.of(&changed) = strings.ReplaceAll(text[:at[0]]+string(with)+text[at[1]:], "?&", "?")
				list = append(list, changed)
			}
		}
	}
	kinds := []string{"as"}
	if !slices.ContainsFunc(r.headers, func(h string) bool { return strings.HasPrefix(h, "X-Api-Key:") }) {
		kinds = append(kinds, "keyless")
	}
	if r.body != "" {
		kinds = append(kinds, "bodied")
	}
	for _, kind := range kinds {
		for _, template := range changes[kind] {
			list = append(list, r.as(strings.Split(template, " | ")))
		}
	}
	return list
}

// as returns the request by another method, with the given headers in place of headers of the same
// name.
func (r request) as(parts []string) request {
	if parts[0] != "." {
		r.method = parts[0]
	}
	for _, header := range parts[1:] {
		name, _, _ := strings.Cut(header, ":")
		r.headers = append(slices.DeleteFunc(slices.Clone(r.headers), func(h string) bool { return strings.HasPrefix(h, name+":") }), header)
	}
	return r
}

// completions returns the request with each missing parameter of its operation added in turn.
func (r request) completions(op *operation) (list []request) {
	path, query, _ := strings.Cut(r.target, "?")
	for _, name := range slices.Sorted(maps.Keys(op.query)) {
		if strings.Contains("&"+query, "&"+name+"=") {
			continue
		}
		for _, v := range slices.Concat(op.query[name], changes["segment"]) {
			r.target = path + "?" + strings.TrimPrefix(query+"&"+name+"="+v, "&")
			list = append(list, r)
		}
	}
	return list
}
