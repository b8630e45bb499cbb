package apidoc

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"html/template"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/cmd/tileserver/internal/theme"
)

//go:embed docs.html
var pageText string

// localURL is the address of the server in commands if its public address is not known.
const localURL = "http://127.0.0.1:8080"

type pageDoc struct {
	Title, Summary, Version, Base string
	Intro                         template.HTML
	Groups                        []pageGroup
	Schemas                       []pageSchema
	Problems                      []Problem
	Starts                        []pageStart
	Guide                         []Link
}

// pageStart is one of the first requests to try.
type pageStart struct{ Note, Curl string }

type pageGroup struct {
	Name        string
	Description string
	Operations  []pageOperation
}

type pageOperation struct {
	ID, Method, Path, Summary string
	Also                      []string
	Description               template.HTML
	Parameters                []pageParameter
	Answers                   []pageAnswer
	Problems                  []pageStatus
	Note, Try, Curl, Answer   string
	// Elsewhere is the address of the documentation of the service that the endpoint imitates.
	Elsewhere string
	// Request and Body are the example's request and body, for the page's forms.
	Request, Body string
	// Writes is set if the operation changes something.
	Writes bool
}

type pageParameter struct {
	Name, In, Kind string
	Required       bool
	Description    template.HTML
}

type pageAnswer struct{ Media, Schema string }

type pageStatus struct {
	Status int
	Types  []string
	Text   template.HTML
}

type pageSchema struct {
	Name    string
	Text    template.HTML
	Members []pageMember
	Kind    template.HTML
}

type pageMember struct {
	Name     string
	Kind     template.HTML
	Required bool
	Text     template.HTML
}

// page makes the page to read. It is complete without its script, which shows one operation at a
// time, with a form. docs/decisions/dependencies.md explains why the page and its script are not
// third-party software.
func (b *builder) page() ([]byte, error) {
	info := func(name string) string { s, _ := b.head.Info[name].(string); return s }
	doc := pageDoc{
		Title: info("title"), Summary: info("summary"), Version: b.options.Version, Intro: prose(info("description")),
		Base: b.options.PublicURL, Problems: b.options.Problems, Guide: b.options.Guide,
	}
	if doc.Base == "" {
		doc.Base = localURL
	}
	for _, t := range b.head.Tags {
		group := pageGroup{Name: t.Name, Description: t.Description}
		for _, e := range b.endpoints {
			if e.Tag == t.Name {
				group.Operations = append(group.Operations, b.pageOperation(e, doc.Base))
			}
		}
		if len(group.Operations) > 0 {
			doc.Groups = append(doc.Groups, group)
		}
	}
	for _, s := range starts {
		doc.Starts = append(doc.Starts, pageStart{Note: s.Note, Curl: (&example{Example: s}).curl(doc.Base)})
	}
	for name, schema := range plain(b.schemas.all) {
		schema, _ := schema.(object)
		doc.Schemas = append(doc.Schemas, newPageSchema(name, schema))
	}
	slices.SortFunc(doc.Schemas, func(x, y pageSchema) int { return strings.Compare(x.Name, y.Name) })

	tmpl, err := template.New("docs").Parse(pageText)
	if err != nil {
		return nil, bad("%s", err)
	}
	var out bytes.Buffer
	if err := tmpl.Execute(&out, &doc); err != nil {
		return nil, bad("%s", err)
	}
	//nolint:gosec // the template has escaped it
	page := theme.Document{Title: "HTTP interface", Here: "docs", Script: b.options.Script, Body: template.HTML(out.String())}
	return page.HTML()
}

// starts lists the requests that a new user tries first.
var starts = []endpoint.Example{
	{Note: "what is at a point", Request: "/at?lat=47.3769&lon=8.5417"},
	{Note: "the nearest places", Request: "/places/nearby?lat=47.3769&lon=8.5417&limit=5"},
	{Note: "what a text names", Request: "/geocode?q=portland%20oregon"},
	{Note: "where an address is", Request: "/ip/8.8.8.8"},
	{Note: "a vector tile, and the style of a whole map", Request: "/tiles/country,state/3/4/2.mvt"},
	{Request: "/style.json", Note: "for MapLibre GL and QGIS"},
}

func (b *builder) pageOperation(e *endpoint.Endpoint, base string) pageOperation {
	method := e.Method()
	op := pageOperation{
		ID: e.ID, Method: method, Writes: e.Tag == "collections" && method != http.MethodGet, Path: e.Path, Also: e.OtherPaths,
		Summary: e.Summary, Description: prose(e.Doc), Elsewhere: e.DocsURL, Problems: b.pageStatuses(e),
	}
	for _, p := range e.Params {
		s := p.Declaration()
		op.Parameters = append(op.Parameters, pageParameter{
			Name:        s.Name,
			In:          s.In,
			Kind:        bounds(plain(s.Schema)),
			Required:    s.Required,
			Description: spans(s.Doc),
		})
	}
	for _, media := range slices.Sorted(maps.Keys(e.Answers)) {
		a := pageAnswer{Media: media}
		if of := e.Answers[media]; of != nil {
			component, _ := b.schemas.of(reflect.TypeOf(of))["$ref"].(string)
			a.Schema = component[strings.LastIndexByte(component, '/')+1:]
		}
		op.Answers = append(op.Answers, a)
	}
	if x := (&example{e.Example, b.examples[e.ID]}); x.Request != "" {
		op.Note, op.Curl, op.Answer = x.Note, x.curl(base), x.text()
		op.Request, op.Body = x.Request, x.Body
		if method == http.MethodGet {
			op.Try = "." + x.Request // relative to the page, whatever path it is under
		}
	}
	return op
}

// plain returns a schema as decoded JSON.
func plain(s map[string]any) (o object) {
	if raw, err := json.Marshal(s); err == nil {
		_ = json.Unmarshal(raw, &o) // raw was marshalled above, so it decodes
	}
	return o
}

// pageStatuses returns the answers with a status other than 200, sorted by status.
func (b *builder) pageStatuses(e *endpoint.Endpoint) (list []pageStatus) {
	add := func(status int, typ string, text template.HTML) {
		i := slices.IndexFunc(list, func(s pageStatus) bool { return s.Status == status })
		if i < 0 {
			list = append(list, pageStatus{Status: status, Text: text})
			i = len(list) - 1
		}
		if typ != "" {
			list[i].Types = append(list[i].Types, typ)
		}
	}
	if e.Empty != "" {
		add(http.StatusNoContent, "", spans(e.Empty))
	}
	for _, typ := range problemTypes(e) {
		add(b.problem(typ).Status, typ, "")
	}
	for _, o := range e.OtherAnswers {
		add(o.Status, "", spans(o.Text))
	}
	slices.SortFunc(list, func(x, y pageStatus) int { return x.Status - y.Status })
	return list
}

// example is the example of an endpoint, with the recorded answer if there is one. If the answer is
// not JSON, the recorded text is shown unchanged.
type example struct {
	endpoint.Example
	Answer json.RawMessage
}

// curl returns the command that sends the request.
func (e *example) curl(base string) string {
	at := base + e.Request
	if strings.ContainsAny(at, "?&") {
		at = "'" + at + "'"
	}
	if e.Body == "" {
		return "curl " + at
	}
	return "printf '" + strings.ReplaceAll(e.Body, "\n", `\n`) + "' | curl --data-binary @- " + at
}

// text returns the answer, with line breaks where a line would be too long.
func (e *example) text() string {
	if len(e.Answer) == 0 {
		return ""
	}
	var s string
	if e.Answer[0] == '"' && json.Unmarshal(e.Answer, &s) == nil {
		return s
	}
	var v any
	d := json.NewDecoder(bytes.NewReader(e.Answer))
	d.UseNumber()
	if d.Decode(&v) != nil {
		return string(e.Answer)
	}
	var flat bytes.Buffer
	if json.Compact(&flat, e.Answer) != nil {
		return string(e.Answer)
	}
	return fold(flat.Bytes(), "")
}

// fold writes indented JSON. A value that fits on one line stays on one line.
func fold(raw []byte, indent string) string {
	const width = 78
	if len(raw)+len(indent) <= width || raw[0] != '{' && raw[0] != '[' {
		return string(raw)
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	open, err := d.Token()
	if err != nil {
		return string(raw)
	}
	deeper := indent + "  "
	var lines []string
	for d.More() {
		name := ""
		if open == json.Delim('{') {
			key, err := d.Token()
			if err != nil {
				return string(raw)
			}
			quoted, _ := json.Marshal(key)
			name = string(quoted) + ":"
		}
		var v json.RawMessage
		if d.Decode(&v) != nil {
			return string(raw)
		}
		lines = append(lines, deeper+name+fold(v, deeper))
	}
	return string(raw[:1]) + "\n" + strings.Join(lines, ",\n") + "\n" + indent + string(raw[len(raw)-1:])
}
