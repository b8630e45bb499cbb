// Package apidoc describes the server's HTTP interface: as an OpenAPI 3.1
// document, and as a page to read.
//
// Both are made from the declarations of the endpoints. These files are next to this one:
//
//	head.json        title, groups ("tags") in the order they are shown
//	components.json  headers, and the ways to send a key
//	examples.json    recorded answers to the endpoints' examples, by operationId
//
// The contract test of package httpapi compares the description with the answers.
package apidoc

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/internal/jsontext"
)

//go:embed head.json components.json examples.json
var files embed.FS

// Options has the properties of the server that the description needs.
type Options struct {
	// Version is the version of the server.
	Version string
	// PublicURL is the address of the server, without a final slash, for examples on the
	// page. Empty means an address of this machine.
	PublicURL string
	// Script is the address of the module of the page's forms, below the server's
	// address. Empty means no forms.
	Script string
	// Guide lists the documents to which the page links.
	Guide []Link
	// Endpoints are the endpoints that are described. They may include hidden ones.
	Endpoints []endpoint.Endpoint
	// Problem is a value of the Go type of marshalled errors.
	Problem any
	// Problems are the errors in answers of type application/problem+json, by their
	// type. Endpoints name the types they may answer with.
	Problems []Problem
}

// Link leads to a page, by its address relative to the address of the description.
type Link struct{ Address, Title string }

// Problem is one type of error.
type Problem struct {
	Type, Title, Detail string
	Status              int
	// Retry is set if the answer has a Retry-After header.
	Retry bool
}

// Document is a finished description. It is immutable, and so are the bytes that it returns. Any
// number of goroutines may read them.
type Document struct {
	json []byte // without servers
	html []byte
}

// AppendJSON appends the OpenAPI 3.1 document of a server. server is its address without
// a final slash: a URL, or a path of the host from which the document was fetched; empty
// for the root of that host.
func (d *Document) AppendJSON(b []byte, server string) []byte {
	b = append(b, `{"servers":[{"url":`...)
	b = jsontext.AppendString(b, cmp.Or(server, "/"))
	return append(append(b, `}],`...), d.json[1:]...)
}

// HTML returns the page to read. Its links to the style sheet of package theme,
// and to the server's paths, are relative to its own address: it belongs at
// /docs.
func (d *Document) HTML() []byte { return d.html }

// object is a JSON object.
type object = map[string]any

// head is the file head.json.
type head struct {
	Info object `json:"info"`
	Tags []tag  `json:"tags"`
}

type tag struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// components is the file components.json.
type components struct {
	Headers         map[string]object `json:"headers"`
	SecuritySchemes map[string]object `json:"securitySchemes"`
}

// ErrDescription is matched by every error of New: the declarations of the endpoints, which are
// part of the program, contradict each other.
var ErrDescription = errors.New("the description of the interface is not valid")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDescription}, args...)...)
}

// New makes the description. It refuses declarations that contradict each other.
func New(o Options) (*Document, error) { return describe(files, o) }

func describe(from fs.FS, o Options) (*Document, error) {
	b := builder{
		options: o,
		uses:    map[*endpoint.Spec]int{},
		shared:  map[string]map[string]object{"parameters": {}, "responses": {}, "examples": {}},
		schemas: schemas{all: object{}, types: map[string]reflect.Type{}, refs: map[string]reflect.Type{}},
	}
	if err := b.read(from); err != nil {
		return nil, err
	}
	doc := b.document()
	if err := cmp.Or(b.failed, b.schemas.check()); err != nil {
		return nil, err
	}
	d := &Document{}
	var err error
	if d.json, err = json.Marshal(doc); err != nil {
		return nil, bad("%s", err)
	}
	d.html, err = b.page()
	return d, err
}

// builder holds the description while it is made.
type builder struct {
	options    Options
	head       head
	components components
	examples   map[string]json.RawMessage
	endpoints  []*endpoint.Endpoint // sorted by tag in the order of head, then by rank and path
	shared     map[string]map[string]object
	schemas    schemas
	uses       map[*endpoint.Spec]int // how many paths use a parameter
	at         *endpoint.Endpoint     // the endpoint being described
	failed     error                  // the first contradiction
}

// fail records a contradiction and its endpoint.
func (b *builder) fail(format string, args ...any) {
	if b.failed == nil {
		b.failed = bad("%s %s (%s): %s", b.at.Method(), b.at.Path, b.at.ID, fmt.Sprintf(format, args...))
	}
}

func (b *builder) read(from fs.FS) error {
	for name, into := range map[string]any{"head.json": &b.head, "components.json": &b.components, "examples.json": &b.examples} {
		if err := decode(from, name, into); err != nil {
			return err
		}
	}
	known := func(typ string) bool {
		return slices.ContainsFunc(b.options.Problems, func(p Problem) bool { return p.Type == typ })
	}
	if err := endpoint.Check(b.options.Endpoints, known); err != nil {
		return bad("%s", err)
	}
	for i := range b.options.Endpoints {
		e := &b.options.Endpoints[i]
		if e.Hidden {
			continue
		}
		if b.group(e) < 0 {
			return bad("%s (%s): tag %q is not in head.json", e.Path, e.ID, e.Tag)
		}
		b.endpoints = append(b.endpoints, e)
		for _, p := range e.Params {
			b.uses[p.Declaration()] += len(e.Paths())
		}
	}
	b.head.Tags = slices.DeleteFunc(b.head.Tags, func(t tag) bool {
		return !slices.ContainsFunc(b.endpoints, func(e *endpoint.Endpoint) bool { return e.Tag == t.Name })
	})
	slices.SortStableFunc(b.endpoints, func(x, y *endpoint.Endpoint) int {
		return cmp.Or(b.group(x)-b.group(y), x.Rank-y.Rank, strings.Compare(x.Path, y.Path))
	})
	return nil
}

// group returns the index of an endpoint's tag in head.
func (b *builder) group(e *endpoint.Endpoint) int {
	return slices.IndexFunc(b.head.Tags, func(t tag) bool { return t.Name == e.Tag })
}

// decode reads a file strictly, so that a misspelt member is noticed.
func decode(from fs.FS, name string, into any) error {
	raw, err := fs.ReadFile(from, name)
	if err != nil {
		return bad("%s", err)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return bad("%s: %s", name, err)
	}
	if d.More() {
		return bad("%s: there is more than one value", name)
	}
	return nil
}

// document returns the complete document.
func (b *builder) document() object {
	b.head.Info["version"] = b.options.Version
	paths := object{}
	for _, e := range b.endpoints {
		b.at = e
		for _, path := range e.Paths() {
			all, some := paths[path].(object)
			if !some {
				all = object{}
				paths[path] = all
			}
			for _, method := range described(e) {
				if all[method] != nil {
					b.fail("%s %s is described twice", method, path)
				}
				op := b.operation(e, path)
				if method != strings.ToLower(e.Method()) {
					id := op["operationId"].(string)
					op["operationId"] = method + strings.ToUpper(id[:1]) + id[1:]
				}
				all[method] = op
			}
		}
	}
	return object{
		"openapi":           "3.1.0",
		"jsonSchemaDialect": "https://spec.openapis.org/oas/3.1/dialect/base",
		"info":              b.head.Info,
		"tags":              b.head.Tags,
		"paths":             paths,
		"security":          keySchemes,
		"components": object{
			"schemas": b.schemas.all, "headers": b.components.Headers, "securitySchemes": b.components.SecuritySchemes,
			"parameters": b.shared["parameters"], "responses": b.shared["responses"], "examples": b.shared["examples"],
		},
	}
}

// described returns the methods that have operations. HEAD and OPTIONS are described only in text.
func described(e *endpoint.Endpoint) (methods []string) {
	for _, m := range e.OfferedMethods() {
		if m != http.MethodHead {
			methods = append(methods, strings.ToLower(m))
		}
	}
	if e.Any {
		methods = []string{"get", "post", "put", "patch", "delete"}
	}
	return methods
}
