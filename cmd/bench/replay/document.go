package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// An operation is one of the description.
type operation struct {
	method, path string
	matches      *regexp.Regexp
	literal      int                 // literal part of the path
	query        map[string][]string // parameters, with values that their descriptions name
	reached      bool                // by a request that was answered well
}

var (
	variable = regexp.MustCompile(`\\\{[^}]*\\\}`)
	named    = regexp.MustCompile(`"(?:example|minimum|maximum|enum)":(?:\[([^\]]*)\]|"([^"]*)"|([^,}]+))`)
)

// readOperations reads the description of a server. If there is none, as on the operator's
// listener, only the seeds are sent.
func readOperations(s *server) (ops []*operation, err error) {
	a := s.ask(request{method: "GET", target: "/openapi.json"}, false)
	if a.failure != nil || a.status != http.StatusOK {
		return nil, a.failure
	}
	var doc struct {
		Paths      map[string]map[string]struct{ Parameters []json.RawMessage }
		Components struct{ Parameters map[string]json.RawMessage }
	}
	if err := json.Unmarshal([]byte(a.text), &doc); err != nil {
		return nil, fmt.Errorf("%s/openapi.json: %w", s.url, err)
	}
	for path, item := range doc.Paths {
		quoted := regexp.QuoteMeta(path)
		for method, described := range item {
			op := &operation{method: strings.ToUpper(method),
				path:    path,
				literal: len(variable.ReplaceAllString(quoted, "")),
				query:   map[string][]string{},
				matches: regexp.MustCompile("^" + variable.ReplaceAllString(quoted, "[^/]+") + "$")}
			for _, raw := range described.Parameters {
				var p struct {
					Ref      string `json:"$ref"`
					Name, In string
				}
				_ = json.Unmarshal(raw, &p) // it has been read once
				if p.Ref != "" {
					raw = doc.Components.Parameters[p.Ref[strings.LastIndexByte(p.Ref, '/')+1:]]
					_ = json.Unmarshal(raw, &p)
				}
				if p.In == "query" {
					op.query[p.Name] = values(string(raw))
				}
			}
			ops = append(ops, op)
		}
	}
	slices.SortFunc(ops, func(a, b *operation) int { return cmp.Compare(a.path+a.method, b.path+b.method) })
	return ops, nil
}

// values returns the example, words and bounds of a parameter.
func values(described string) (list []string) {
	for _, m := range named.FindAllStringSubmatch(described, -1) {
		for v := range strings.SplitSeq(m[1]+m[2]+m[3], ",") {
			list = append(list, url.QueryEscape(strings.Trim(v, `"`)))
		}
	}
	return list
}

// find returns the operation of a request: of the operations that match, the most literal.
func find(ops []*operation, r request) (found *operation) {
	path, _, _ := strings.Cut(r.target, "?")
	for _, op := range ops {
		if op.method == r.method && op.matches.MatchString(path) && (found == nil || op.literal > found.literal) {
			found = op
		}
	}
	return found
}
