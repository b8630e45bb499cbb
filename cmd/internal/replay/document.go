package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
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
	query        []parameter
}

// A parameter is one of a query, with values that its description names.
type parameter struct {
	name   string
	values []string
}

// described is what is read of a parameter, or of the schema of one.
type described struct {
	Ref     string `json:"$ref"`
	Name    string
	In      string
	Example any
	Schema  *described
	Enum    []any
	Minimum json.Number
	Maximum json.Number
	Items   *described
}

// readOperations reads the description of a server. One that has none has no operations:
// the operator's listener is such a one.
func readOperations(ctx context.Context, s *server) ([]*operation, error) {
	a := s.ask(ctx, request{method: http.MethodGet, target: "/openapi.json"}, false)
	if a.status == http.StatusNotFound {
		return nil, nil
	}
	var doc struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct{ Parameters, Schemas map[string]*described }
	}
	err := errors.New(a.failure)
	if a.failure == "" {
		err = json.Unmarshal([]byte(a.text), &doc)
	}
	if err != nil {
		return nil, fmt.Errorf("the description at %s/openapi.json: %w", s.url, err)
	}
	resolve := func(d *described) *described {
		if d != nil && d.Ref != "" {
			name := d.Ref[strings.LastIndexByte(d.Ref, '/')+1:]
			d = cmp.Or(doc.Components.Parameters[name], doc.Components.Schemas[name])
		}
		return cmp.Or(d, &described{})
	}
	var ops []*operation
	for _, path := range slices.Sorted(maps.Keys(doc.Paths)) {
		item := doc.Paths[path]
		for _, method := range slices.Sorted(maps.Keys(item)) {
			var o struct{ Parameters []*described }
			if !slices.Contains([]string{"get", "put", "post", "delete", "patch"}, method) {
				continue
			}
			if err := json.Unmarshal(item[method], &o); err != nil {
				return nil, fmt.Errorf("the description of %s: %w", path, err)
			}
			op := &operation{method: strings.ToUpper(method), path: path, matches: pattern(path)}
			for _, d := range o.Parameters {
				if d = resolve(d); d.In == "query" {
					schema := resolve(d.Schema)
					op.query = append(op.query, parameter{d.Name, schema.values(d.Example, resolve(schema.Items))})
				}
			}
			ops = append(ops, op)
		}
	}
	return ops, nil
}

// values are the words and bounds of a schema, and the example.
func (d *described) values(example any, items *described) (list []string) {
	if examples, ok := example.([]any); ok {
		list = append(list, strings.Trim(strings.ReplaceAll(fmt.Sprint(examples), " ", ","), "[]"))
	} else if example != nil {
		list = append(list, url.QueryEscape(fmt.Sprint(example)))
	}
	for _, word := range slices.Concat(d.Enum, items.Enum) {
		list = append(list, url.QueryEscape(fmt.Sprint(word)))
	}
	for _, bound := range []json.Number{d.Minimum, d.Maximum} {
		if bound != "" {
			list = append(list, string(bound), string(bound)+"0", string(bound)+".5")
		}
	}
	return list
}

var variable = regexp.MustCompile(`\\\{[^}]*\\\}`)

func pattern(path string) *regexp.Regexp {
	return regexp.MustCompile("^" + variable.ReplaceAllString(regexp.QuoteMeta(path), "[^/]+") + "$")
}

// find is the operation that a request is for: of those that match, the one with the
// fewest variables.
func find(ops []*operation, method, path string) (found *operation) {
	for _, op := range ops {
		if op.method == method && op.matches.MatchString(path) && (found == nil || strings.Count(op.path, "{") < strings.Count(found.path, "{")) {
			found = op
		}
	}
	return found
}
