package apidoc

import (
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// pathFile is a file of the directory paths. From it come operations of one path, and
// of those in Also, which answer the same. A path may have several files, each for other
// methods.
type pathFile struct {
	Path string   `json:"path"` // with {parameters}
	Also []string `json:"also,omitempty"`
	Tag  string   `json:"tag"`
	Rank int      `json:"rank,omitempty"` // within the tag, lower first; then by path
	ID   string   `json:"id"`             // operationId
	// Methods are GET, which brings HEAD with it, unless others are listed.
	Methods     []string `json:"methods,omitempty"`
	Summary     string   `json:"summary"`
	Description string   `json:"description,omitempty"`
	// Parameters are names of components, or parameters written out. Those of
	// the path come first.
	Parameters []parameter `json:"parameters,omitempty"`
	Body       object      `json:"body,omitempty"` // requestBody
	Security   []any       `json:"security,omitempty"`
	// Key says how a server with keys or limits turns requests away: "" by a
	// problem, "words" in the words of the service it stands in for, "none" not
	// at all.
	Key string `json:"key,omitempty"`
	// Admin says that the path is on the operator's own listener alone.
	Admin bool `json:"admin,omitempty"`

	// Answers has, by media type, the name of the schema of a 200, or null for
	// one that is not JSON. Empty says that there may be a 204 instead.
	Answers map[string]*string `json:"answers,omitempty"`
	Empty   string             `json:"empty,omitempty"`
	// Cache is how answers may be kept: "tagged" with an entity tag, "plain"
	// without one, "instant" with one if the parameter at is given and else not
	// at all, "file" as files of the map page are, "private", "none", or "admin",
	// none and of no other origin.
	Cache string `json:"cache"`
	// Headers are names of components that a 200 has besides.
	Headers []string `json:"headers,omitempty"`
	// Problems are the types of errors. With dataset-missing come those of a
	// data set that cannot be read, with any those of every request.
	Problems []string `json:"problems,omitempty"`
	// Responses are further ones, by status, as OpenAPI has them.
	Responses object `json:"responses,omitempty"`

	Example *example `json:"example,omitempty"`

	group int
}

// example is a request, relative to the server, and the 200 it got. A text
// stands for itself unless the answer is JSON.
type example struct {
	Request string          `json:"request"`
	Body    string          `json:"body,omitempty"`
	Note    string          `json:"note,omitempty"`
	Answer  json.RawMessage `json:"answer,omitempty"`
}

// parameter is the name of a component or a parameter.
type parameter struct {
	name string
	own  object
}

func (p *parameter) UnmarshalJSON(raw []byte) error {
	if raw[0] == '"' {
		return json.Unmarshal(raw, &p.name)
	}
	return json.Unmarshal(raw, &p.own)
}

// resolve returns the parameter itself.
func (b *builder) resolve(p parameter) (object, error) {
	if p.own != nil {
		return p.own, nil
	}
	if c := b.components.Parameters[p.name]; c != nil {
		return c, nil
	}
	return nil, bad("there is no parameter %q among the components", p.name)
}

func ref(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

// item is the path item of one path.
func (b *builder) item(p *pathFile, path string) (object, error) {
	params, err := b.parameters(p, path)
	if err != nil {
		return nil, err
	}
	responses, err := b.responses(p)
	if err != nil {
		return nil, err
	}
	item := object{}
	id := p.ID
	if path != p.Path {
		id += "_" + strconv.Itoa(slices.Index(p.Also, path)+2)
	}
	for _, method := range p.methods() {
		op := object{"operationId": id, "tags": []string{p.Tag}, "summary": p.Summary, "responses": responses}
		if p.Description != "" {
			op["description"] = p.Description
		}
		if len(params) > 0 {
			op["parameters"] = params
			if path != p.Path || method != p.methods()[0] {
				op["parameters"] = p.refer(params)
			}
		}
		if path != p.Path {
			op["responses"] = p.failuresOf(responses)
		}
		if method != p.methods()[0] {
			op["operationId"] = strings.ToLower(method) + strings.ToUpper(id[:1]) + id[1:]
		}
		if method == http.MethodHead {
			op["summary"] = "The headers of: " + p.Summary
			op["responses"] = withoutBodies(p.failuresOf(responses))
			delete(op, "description")
		} else if p.Body != nil {
			op["requestBody"] = p.Body
		}
		switch {
		case p.Security != nil:
			op["security"] = p.Security
		case p.Key != "none":
			op["security"] = keySchemes
		}
		if p.Admin {
			op["servers"] = adminServers
		}
		item[strings.ToLower(method)] = op
	}
	return item, nil
}

// refer replaces parameters that are written out by references to the first operation,
// which keeps the document small.
func (p *pathFile) refer(params []any) []any {
	list := slices.Clone(params)
	for i, param := range list {
		own, ok := param.(object)
		if !ok || own["$ref"] != nil {
			continue
		}
		at := slices.IndexFunc(p.Parameters, func(o parameter) bool { return o.own != nil && o.own["name"] == own["name"] })
		list[i] = p.first("parameters", strconv.Itoa(at))
	}
	return list
}

// failuresOf replaces the failures among responses by references to those of the first
// operation.
func (p *pathFile) failuresOf(responses object) object {
	all := object{}
	for status, r := range responses {
		if own, ok := r.(object); ok && own["$ref"] == nil && status >= "400" {
			r = p.first("responses", status)
		}
		all[status] = r
	}
	return all
}

// first refers to a part of the first operation.
func (p *pathFile) first(part, name string) object {
	// As a JSON pointer, and that as the fragment of an address, which has no braces.
	path := strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(p.Path)
	return object{"$ref": "#/paths/" + path + "/" + strings.ToLower(p.methods()[0]) + "/" + part + "/" + name}
}

func (p *pathFile) methods() []string {
	if len(p.Methods) > 0 {
		return p.Methods
	}
	return []string{http.MethodGet, http.MethodHead}
}

// parameters are those of a path, which of the ones in p.Also need not have
// all.
func (b *builder) parameters(p *pathFile, path string) ([]any, error) {
	var list []any
	for _, param := range p.Parameters {
		o, err := b.resolve(param)
		if err != nil {
			return nil, err
		}
		if o["in"] == "path" && !strings.Contains(path, "{"+o["name"].(string)+"}") {
			if path == p.Path {
				return nil, bad("%s has no parameter %s", path, o["name"])
			}
			continue
		}
		if param.own != nil {
			list = append(list, param.own)
		} else {
			list = append(list, ref("parameters", param.name))
		}
	}
	return list, nil
}

// responses are those of every method but HEAD.
func (b *builder) responses(p *pathFile) (object, error) {
	all := object{}
	headers, err := b.answerHeaders(p)
	if err != nil {
		return nil, err
	}
	if p.Answers != nil {
		content := object{}
		for media, schema := range p.Answers {
			c := object{}
			if schema != nil {
				if b.components.Schemas[*schema] == nil {
					return nil, bad("%s: there is no schema %s", p.Path, *schema)
				}
				c["schema"] = ref("schemas", *schema)
			}
			content[media] = c
		}
		if p.Example != nil && p.Example.Answer != nil {
			main := content[p.mainMedia()].(object)
			main["example"] = p.Example.Answer
		}
		all["200"] = object{"description": "The answer.", "headers": headers, "content": content}
	}
	if p.Empty != "" {
		all["204"] = object{"description": p.Empty, "headers": headers}
	}
	if slices.Contains([]string{"tagged", "instant", "varies", "file"}, p.Cache) {
		all["304"] = object{"description": "What the client has already, by If-None-Match, is still the answer.", "headers": headers}
	}
	if err := b.addProblems(all, p); err != nil {
		return nil, err
	}
	for status, r := range p.Responses {
		all[status] = r
	}
	if p.Key != "none" {
		for _, r := range all {
			b.addLimits(r)
		}
	}
	return all, nil
}

// keySchemes are the ways to send a key, none included: the operator may not ask
// for one.
var keySchemes = []any{object{}, object{"key": []string{}}, object{"bearer": []string{}}, object{"password": []string{}}, object{"parameter": []string{}}}

// adminServers is where the paths of the operator's own listener are.
var adminServers = []any{object{"url": "http://127.0.0.1:6060", "description": "What --admin-listen names."}}

// limitHeaders are those of every answer that uses up a limit.
var limitHeaders = []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}

// addLimits adds the headers of limits to a response that has headers of its
// own; responses that paths share have them already.
func (b *builder) addLimits(response any) {
	r, ok := response.(object)
	if !ok || r["$ref"] != nil {
		return
	}
	headers, ok := r["headers"].(object)
	if !ok {
		headers = object{}
		r["headers"] = headers
	}
	for _, name := range limitHeaders {
		headers[name] = ref("headers", name)
	}
}

// mainMedia is the media type that a client without an Accept header gets.
func (p *pathFile) mainMedia() string {
	first := ""
	for media := range p.Answers {
		switch {
		case media == "application/json":
			return media
		case first == "" || media < first:
			first = media
		}
	}
	return first
}

func (b *builder) answerHeaders(p *pathFile) (object, error) {
	names := []string{"Access-Control-Allow-Origin"}
	switch p.Cache {
	case "tagged":
		names = append(names, "Cache-Control", "ETag", "Vary")
	case "instant":
		names = append(names, "Cache-Control", "ETag-Of-Instant", "Vary")
	case "varies":
		names = append(names, "Cache-Control", "ETag-Of-Some", "Vary")
	case "plain":
		names = append(names, "Cache-Control", "Vary")
	case "file":
		names = append(names, "Cache-Control", "ETag", "Vary", "Content-Security-Policy")
	case "admin":
		names = []string{"Cache-Control-No-Store"}
	case "none", "private":
		names = append(names, "Cache-Control-No-Store", "Vary")
	default:
		return nil, bad("%s: cache is %q", p.Path, p.Cache)
	}
	headers := object{}
	for _, name := range append(names, p.Headers...) {
		if b.components.Headers[name] == nil {
			return nil, bad("%s: there is no header %s among the components", p.Path, name)
		}
		key := name
		switch name {
		case "ETag-Of-Instant", "ETag-Of-Some", "ETag-Of-Point":
			key = "ETag"
		case "WWW-Authenticate-Of-Some":
			key = "WWW-Authenticate"
		case "Cache-Control-No-Store":
			key = "Cache-Control"
		}
		headers[key] = ref("headers", name)
	}
	return headers, nil
}

// What else a path may answer with when it names certain problems.
var (
	ofDataset = []string{"dataset-unavailable", "timeout", "data-corrupt"}
	ofAll     = []string{"too-busy", "body-too-large", "internal"}
	ofKeyed   = []string{"key-missing", "key-unknown", "rate-limited"}
)

// problemTypes are the types a path may answer with, each once.
func (p *pathFile) problemTypes() []string {
	types := slices.Clone(p.Problems)
	if slices.Contains(types, "dataset-missing") {
		types = append(types, ofDataset...)
	}
	if len(types) > 0 {
		types = append(types, ofAll...)
	}
	if p.Key == "" {
		types = append(types, ofKeyed...)
	}
	return types
}

func (b *builder) problem(typ string) (*Problem, error) {
	for i := range b.options.Problems {
		if b.options.Problems[i].Type == typ {
			return &b.options.Problems[i], nil
		}
	}
	return nil, bad("there is no problem of type %q", typ)
}

// addProblems adds a response for each status.
func (b *builder) addProblems(all object, p *pathFile) error {
	byStatus := map[int][]*Problem{}
	for _, typ := range p.problemTypes() {
		k, err := b.problem(typ)
		if err != nil {
			return bad("%s: %s", p.Path, err)
		}
		byStatus[k.Status] = append(byStatus[k.Status], k)
	}
	for status, kinds := range byStatus {
		// Paths with the same problems share a response.
		name := strconv.Itoa(status)
		for _, k := range kinds {
			name += "-" + k.Type
		}
		if b.components.Responses == nil {
			b.components.Responses = map[string]object{}
		}
		b.components.Responses[name] = problemResponse(kinds)
		all[strconv.Itoa(status)] = ref("responses", name)
	}
	return nil
}

// problemResponse is one status, with an example for each type.
func problemResponse(kinds []*Problem) object {
	var texts []string
	examples := object{}
	headers := object{
		"Access-Control-Allow-Origin": ref("headers", "Access-Control-Allow-Origin"),
		"Cache-Control":               ref("headers", "Cache-Control-No-Store"),
		"X-Request-Id":                ref("headers", "X-Request-Id"),
	}
	for _, k := range kinds {
		texts = append(texts, "`"+k.Type+"`: "+k.Title+".")
		examples[k.Type] = object{"value": object{"type": k.Type, "title": k.Title, "status": k.Status, "detail": k.Detail}}
		if k.Retry {
			headers["Retry-After"] = ref("headers", "Retry-After")
		}
		if k.Status == http.StatusMethodNotAllowed {
			headers["Allow"] = ref("headers", "Allow")
		}
		if k.Status == http.StatusUnauthorized {
			headers["WWW-Authenticate"] = ref("headers", "WWW-Authenticate")
		}
	}
	for _, name := range limitHeaders {
		headers[name] = ref("headers", name)
	}
	return object{
		"description": strings.Join(texts, "\n\n"), "headers": headers,
		"content": object{"application/problem+json": object{"schema": ref("schemas", "Problem"), "examples": examples}},
	}
}

// withoutBodies are the responses to HEAD.
func withoutBodies(responses object) object {
	bare := object{}
	for status, r := range responses {
		r, ok := r.(object)
		if !ok {
			continue
		}
		if r["$ref"] != nil {
			bare[status] = r // what it has of a body is not sent
			continue
		}
		head := object{"description": r["description"]}
		if h := r["headers"]; h != nil {
			head["headers"] = h
		}
		bare[status] = head
	}
	return bare
}
