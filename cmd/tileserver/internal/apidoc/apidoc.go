// Package apidoc describes the server's HTTP interface: as an OpenAPI 3.1
// document, and as a page to read.
//
// The description is kept in small files beside this one, written by hand:
//
//	head.json        title, groups ("tags") in the order they are shown
//	components.json  parameters and headers that several paths share
//	paths/NAME.json  one path each; the names of the files mean nothing
//
// Schemas of answers come from their Go types. A new endpoint is described by one more file in paths, in the form of pathFile,
// which leaves out what can be told from the rest. The contract test of package
// httpapi holds every file against the router and the answers.
package apidoc

import (
	"bytes"
	"cmp"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"quadrille/internal/jsontext"
)

//go:embed head.json components.json paths
var files embed.FS

// Options are what the description takes from the server it describes.
type Options struct {
	// Version is that of the server.
	Version string
	// PublicURL is where the server is reached, without a final slash, for examples on the
	// page. Empty means an address of this machine.
	PublicURL string
	// Script is the module of the page's forms, below the server's address; "" is
	// none.
	Script string
	// Problems are the errors that answers of type application/problem+json
	// have, by their type. Paths name the types they may answer with.
	Problems []Problem
	// Types are values of the Go types of answers; see schemas.
	Types []any
}

// Problem is one sort of error.
type Problem struct {
	Type, Title, Detail string
	Status              int
	// Retry says that the answer has a Retry-After header.
	Retry bool
}

// Document is a finished description. It is not changed once it is made, and
// may be read by any number of goroutines; so may the bytes it returns.
type Document struct {
	json []byte // without servers
	html []byte
}

// AppendJSON appends the OpenAPI 3.1 document of a server that is reached at an address
// without a final slash: a URL, or a path of the host that the document was fetched from.
// Empty means the root of that.
func (d *Document) AppendJSON(b []byte, server string) []byte {
	b = append(b, `{"servers":[{"url":`...)
	b = jsontext.AppendString(b, cmp.Or(server, "/"))
	return append(append(b, `}],`...), d.json[1:]...)
}

// HTML is the page to read. It links to the style sheet of package look, and to
// the server's paths, relative to its own address: it belongs at /docs.
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
	Schemas         map[string]object `json:"schemas"` // of types, see schemas
	Parameters      map[string]object `json:"parameters"`
	Headers         map[string]object `json:"headers"`
	SecuritySchemes map[string]object `json:"securitySchemes,omitempty"`
	Responses       map[string]object `json:"responses,omitempty"`
}

// ErrDescription is matched by every error of New: the description, which is
// part of the program, contradicts itself.
var ErrDescription = errors.New("the description of the interface is not valid")

func bad(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrDescription}, args...)...)
}

// New makes the description from the files that are part of the program.
func New(o Options) (*Document, error) {
	b := builder{options: o}
	if err := b.read(files); err != nil {
		return nil, err
	}
	doc, err := b.document()
	if err != nil {
		return nil, err
	}
	d := &Document{}
	if d.json, err = json.Marshal(doc); err != nil {
		return nil, bad("%s", err)
	}
	d.html, err = b.page()
	return d, err
}

// builder holds the files while they are joined.
type builder struct {
	options    Options
	head       head
	components components
	paths      []*pathFile // by tag in the order of head, then by path
}

func (b *builder) read(from fs.FS) error {
	if err := decode(from, "head.json", &b.head); err != nil {
		return err
	}
	if err := decode(from, "components.json", &b.components); err != nil {
		return err
	}
	if b.components.Schemas != nil {
		return bad("components.json has schemas, which come from Go types")
	}
	var err error
	if b.components.Schemas, err = schemasOf(b.options.Types); err != nil {
		return err
	}
	names, err := fs.Glob(from, "paths/*.json")
	if err != nil {
		return bad("%s", err)
	}
	for _, name := range names {
		p := &pathFile{}
		if err := decode(from, name, p); err != nil {
			return err
		}
		p.group = slices.IndexFunc(b.head.Tags, func(t tag) bool { return t.Name == p.Tag })
		if p.group < 0 {
			return bad("%s: tag %q is not in head.json", name, p.Tag)
		}
		b.paths = append(b.paths, p)
	}
	slices.SortStableFunc(b.paths, func(x, y *pathFile) int {
		if x.group != y.group {
			return x.group - y.group
		}
		if x.Rank != y.Rank {
			return x.Rank - y.Rank
		}
		return strings.Compare(x.Path, y.Path)
	})
	return nil
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

// document joins everything.
func (b *builder) document() (object, error) {
	b.head.Info["version"] = b.options.Version
	paths := object{}
	ids := map[string]string{}
	for _, p := range b.paths {
		for _, path := range append([]string{p.Path}, p.Also...) {
			item, err := b.item(p, path)
			if err != nil {
				return nil, err
			}
			all, some := paths[path].(object)
			if !some {
				all = object{}
				paths[path] = all
			}
			for method, op := range item {
				if all[method] != nil {
					return nil, bad("%s %s is described twice", method, path)
				}
				all[method] = op
				id := op.(object)["operationId"].(string)
				if ids[id] != "" {
					return nil, bad("%s and %s are both called %s", ids[id], path, id)
				}
				ids[id] = path
			}
		}
	}
	return object{
		"openapi":           "3.1.0",
		"jsonSchemaDialect": "https://spec.openapis.org/oas/3.1/dialect/base",
		"info":              b.head.Info,
		"tags":              b.head.Tags,
		"paths":             paths,
		"components":        b.components,
	}, nil
}
