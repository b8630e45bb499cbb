package apidoc

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"quadrille/cmd/tileserver/internal/endpoint"
	"quadrille/internal/jsontext"
)

func ref(kind, name string) object { return object{"$ref": "#/components/" + kind + "/" + name} }

// share makes v a component of this name and returns a reference to it. A different thing of the
// same name gets a longer name.
func (b *builder) share(kind, name string, v object) object {
	all := b.shared[kind]
	for n := 2; ; n++ {
		is, taken := all[name]
		if !taken {
			all[name] = v
		}
		if !taken || equal(is, v) {
			return ref(kind, name)
		}
		name = strings.TrimSuffix(name, "-"+strconv.Itoa(n-1)) + "-" + strconv.Itoa(n)
	}
}

// equal reports whether two objects are the same when printed.
func equal(a, b object) bool { return fmt.Sprint(a) == fmt.Sprint(b) }

// operation describes an endpoint at one of its paths.
func (b *builder) operation(e *endpoint.Endpoint, path string) object {
	op := object{"operationId": e.ID, "tags": []string{e.Tag}, "summary": e.Summary, "responses": b.responses(e)}
	if i := slices.Index(e.OtherPaths, path); i >= 0 {
		op["operationId"] = e.ID + "_" + strconv.Itoa(i+2)
	}
	if e.Doc != "" {
		op["description"] = e.Doc
	}
	if e.DocsURL != "" {
		op["externalDocs"] = object{"url": e.DocsURL}
	}
	var params []object
	for _, p := range e.Params { // the suffix of names keeps them apart from answers: generators have one name space for both
		if s := p.Declaration(); s.In != endpoint.InPath || strings.Contains(path, "{"+s.Name+"}") {
			if p := parameter(s); b.uses[s] > 1 {
				params = append(params, b.share("parameters", s.Name+"-parameter", p))
			} else {
				params = append(params, p)
			}
		}
	}
	if params != nil {
		op["parameters"] = params
	}
	if e.BodyContent != nil {
		body := object{"content": b.content(e.BodyContent)}
		if e.BodyRequired {
			body["required"] = true
		}
		op["requestBody"] = body
	}
	if schemes := security(e); len(schemes) != len(keySchemes) || e.Keys == endpoint.KeysByHandler {
		op["security"] = schemes
	}
	if e.Admin {
		op["servers"] = adminServers
	}
	return op
}

// parameter describes a parameter. Lists have commas between their entries.
func parameter(s *endpoint.Spec) object {
	o := object{"name": s.Name, "in": s.In, "description": s.Doc, "schema": s.Schema}
	if s.In == endpoint.InQuery {
		o["in"] = "query"
	}
	if s.Required {
		o["required"] = true
	}
	if s.Example != nil {
		o["example"] = s.Example
	}
	if s.Schema["type"] == "array" {
		o["explode"] = false
	}
	return o
}

// mediaTypes are descriptions of media types by name. The main one is marshalled first, because
// generators of clients use the first as the answer's type.
type mediaTypes object

func (m mediaTypes) MarshalJSON() ([]byte, error) {
	main, all := mainMedia(m), []byte{'{'}
	names := slices.Sorted(maps.Keys(m))
	slices.SortStableFunc(names, func(x, y string) int {
		switch main {
		case x:
			return -1
		case y:
			return 1
		}
		return 0
	})
	for _, name := range names {
		b, err := json.Marshal(m[name])
		if err != nil {
			return nil, err
		}
		all = append(append(jsontext.AppendString(jsontext.Next(all), name), ':'), b...)
	}
	return append(all, '}'), nil
}

// ndjson is the media type of lines of JSON. The whole body is text, not JSON. Its schema describes
// one line.
const ndjson = "application/x-ndjson"

// content describes the content of bodies.
func (b *builder) content(all endpoint.Content) mediaTypes {
	content := mediaTypes{}
	for media, of := range all {
		c := object{}
		switch of := of.(type) {
		case nil:
			if strings.HasPrefix(media, "text/") { // without a schema, generated clients know nothing of any form
				c["schema"] = object{"type": "string"}
			}
		case endpoint.Schema:
			c["schema"] = of
		default:
			if c["schema"] = b.schemas.of(reflect.TypeOf(of)); media == ndjson {
				c["schema"] = object{
					"type":             "string",
					"description":      "A JSON value in each line.",
					"contentMediaType": "application/json",
					"contentSchema":    c["schema"],
				}
			}
		}
		content[media] = c
	}
	return content
}

// responses returns the answers of an endpoint, by status.
func (b *builder) responses(e *endpoint.Endpoint) object {
	all := object{}
	headers := b.headers(answerHeaders(e)...)
	if e.Answers != nil {
		content := b.content(e.Answers)
		if example := b.examples[e.ID]; example != nil {
			content[mainMedia(e.Answers)].(object)["example"] = example
		}
		all["200"] = object{"description": "The answer.", "headers": headers, "content": content}
	}
	if e.Empty != "" {
		all["204"] = object{"description": e.Empty, "headers": headers}
	}
	if e.CachePolicy.Revalidated() {
		all["304"] = object{
			"description": "What the client has already, by If-None-Match or If-Modified-Since, is still the answer.",
			"headers":     headers,
		}
	}
	b.addProblems(all, e)
	problems := b.problemsOf(e)
	for _, o := range e.OtherAnswers {
		answer := b.other(e, &o)
		if kinds := problems[o.Status]; kinds != nil { // the status may also be a problem
			problem := b.problemResponse(kinds)
			answer["description"] = o.Text + "\n\n" + problem["description"].(string)
			maps.Copy(answer["headers"].(object), problem["headers"].(object))
			maps.Copy(answer["content"].(mediaTypes), problem["content"].(mediaTypes))
		}
		all[strconv.Itoa(o.Status)] = answer
	}
	if e.Keys != endpoint.KeysIgnored && e.Keys != endpoint.KeysByHandler {
		for status, r := range all {
			r := r.(object)
			if h, own := r["headers"].(object); own {
				h = maps.Clone(h)
				maps.Copy(h, b.headers(limitHeaders...))
				all[status] = object{"description": r["description"], "headers": h, "content": r["content"]}
				if r["content"] == nil {
					delete(all[status].(object), "content")
				}
			}
		}
	}
	// All paths of an endpoint share its answers. Many endpoints share the answers without a
	// body.
	for status, r := range all {
		switch r := r.(object); {
		case r["$ref"] != nil:
		case len(e.OtherPaths) > 0 || e.Any:
			all[status] = b.share("responses", e.ID+"-"+status, r)
		case status == "304":
			all[status] = b.share("responses", "304-"+string(e.CachePolicy), r)
		}
	}
	return all
}

// other describes an answer whose status is declared.
func (b *builder) other(e *endpoint.Endpoint, o *endpoint.OtherAnswer) object {
	r := object{"description": o.Text}
	names := slices.Clone(o.Headers)
	if !e.Admin {
		names = append(names, "Cache-Control-No-Store")
	}
	switch o.Status {
	case http.StatusUnauthorized:
		names = append(names, "WWW-Authenticate")
	case http.StatusPaymentRequired, http.StatusTooManyRequests, http.StatusServiceUnavailable:
		names = append(names, "Retry-After")
	}
	if len(names) > 0 {
		r["headers"] = b.headers(names...)
	}
	if o.Content != nil {
		r["content"] = b.content(o.Content)
	}
	return r
}

// security returns the ways to send a key. Sending none is one of them, because a server can run
// without keys.
func security(e *endpoint.Endpoint) []object {
	switch {
	case e.Keys == endpoint.KeysIgnored:
		return []object{}
	case e.Keys == endpoint.KeysByHandler:
		return keySchemes[1:]
	case e.Keys == endpoint.KeysOfProxy:
		return schemes("key")
	case e.Tag == "geoip2": // which may have accounts of its own
		return schemes("account", "key", "bearer", "password", "parameter")
	}
	return keySchemes
}

// keySchemes are the ways to send a key to most endpoints.
var keySchemes = schemes("key", "bearer", "password", "parameter")

// schemes returns the ways to send a key; the first is to send no key.
func schemes(names ...string) []object {
	list := []object{{}}
	for _, name := range names {
		list = append(list, object{name: []string{}})
	}
	return list
}

// adminServers is the address of the operator's own listener, for its paths.
var adminServers = []any{object{"url": "http://127.0.0.1:6060", "description": "What --admin-listen names."}}

// limitHeaders are the headers of every answer that counts against a rate limit.
var limitHeaders = []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}

// mainMedia returns the media type that a client without an Accept header gets.
func mainMedia[T any](answers map[string]T) string {
	if _, plain := answers["application/json"]; plain {
		return "application/json"
	}
	return slices.Min(slices.Collect(maps.Keys(answers)))
}

// answerHeaders returns the headers of an endpoint's answers as names of components. The CORS
// headers are not among them, because the text describes them once for all endpoints.
func answerHeaders(e *endpoint.Endpoint) []string {
	var names []string
	switch e.CachePolicy {
	case endpoint.CacheTagged:
		names = append(names, "Cache-Control", "ETag", "Last-Modified", "Vary")
	case endpoint.CacheByInstant:
		names = append(names, "Cache-Control", "ETag-Of-Instant", "Last-Modified", "Vary")
	case endpoint.CacheVaries:
		names = append(names, "Cache-Control", "ETag-Of-Some", "Last-Modified", "Vary")
	case endpoint.CacheUntagged:
		names = append(names, "Cache-Control", "Vary")
	case endpoint.CacheFile:
		names = append(names, "Cache-Control", "ETag", "Vary", "Content-Security-Policy")
	case endpoint.CacheAdmin:
		names = []string{"Cache-Control-No-Store"}
	default:
		names = append(names, "Cache-Control-No-Store", "Vary")
	}
	return append(names, e.Headers...)
}

// headers returns references to components. The keys are the names of the headers in an answer.
func (b *builder) headers(names ...string) object {
	headers := object{}
	for _, name := range names {
		if b.components.Headers[name] == nil {
			b.fail("there is no header %s among the components", name)
		}
		key, _, _ := strings.Cut(strings.TrimSuffix(strings.TrimSuffix(name, "-No-Store"), "-Optional"), "-Of-")
		headers[key] = ref("headers", name)
	}
	return headers
}

// These are further answers of endpoints that declare certain problems.
var (
	ofDataset = []string{"dataset-unavailable", "timeout", "data-corrupt"}
	ofAll     = []string{"too-busy", "body-too-large", "internal"}
	ofKeyed   = []string{"key-missing", "key-unknown", "rate-limited"}
)

// problemTypes returns the types of problems that an endpoint may answer with, each once.
func problemTypes(e *endpoint.Endpoint) []string {
	types := slices.Clone(e.Problems)
	if slices.Contains(types, "dataset-missing") {
		types = append(types, ofDataset...)
	}
	if len(types) > 0 {
		types = append(types, ofAll...)
	}
	if e.Keys != endpoint.KeysIgnored && e.Keys != endpoint.KeysByHandler && e.Refuse == nil {
		types = append(types, ofKeyed...)
	}
	var once []string
	for _, t := range types {
		if !slices.Contains(once, t) {
			once = append(once, t)
		}
	}
	return once
}

func (b *builder) problem(typ string) *Problem {
	i := slices.IndexFunc(b.options.Problems, func(p Problem) bool { return p.Type == typ })
	if i < 0 {
		b.fail("there is no problem of type %q", typ)
		return &Problem{}
	}
	return &b.options.Problems[i]
}

// problemsOf returns the problems of an endpoint, by status.
func (b *builder) problemsOf(e *endpoint.Endpoint) map[int][]*Problem {
	byStatus := map[int][]*Problem{}
	for _, typ := range problemTypes(e) {
		k := b.problem(typ)
		byStatus[k.Status] = append(byStatus[k.Status], k)
	}
	return byStatus
}

// addProblems adds a response for each status. Endpoints with the same problems share one.
func (b *builder) addProblems(all object, e *endpoint.Endpoint) {
	others := func(status int) bool {
		return slices.ContainsFunc(e.OtherAnswers, func(o endpoint.OtherAnswer) bool { return o.Status == status && o.Content != nil })
	}
	for status, kinds := range b.problemsOf(e) {
		if others(status) {
			continue
		}
		all[strconv.Itoa(status)] = b.share("responses", strconv.Itoa(status)+"-"+kinds[0].Type, b.problemResponse(kinds))
	}
}

// problemResponse describes the problems of one status, with an example for each type.
func (b *builder) problemResponse(kinds []*Problem) object {
	var texts []string
	examples := object{}
	names := append([]string{"Cache-Control-No-Store", "X-Request-Id"}, limitHeaders...)
	for _, k := range kinds {
		texts = append(texts, "`"+k.Type+"`: "+k.Title+".")
		examples[k.Type] = b.share("examples", k.Type, object{"value": object{
			"type":   k.Type,
			"title":  k.Title,
			"status": k.Status,
			"detail": k.Detail,
		}})
		if k.Retry {
			names = append(names, "Retry-After")
		}
		if k.Status == http.StatusMethodNotAllowed {
			names = append(names, "Allow")
		}
		if k.Status == http.StatusUnauthorized {
			names = append(names, "WWW-Authenticate")
		}
	}
	return object{
		"description": strings.Join(texts, "\n\n"), "headers": b.headers(names...),
		"content": mediaTypes{"application/problem+json": object{
			"schema":   b.schemas.of(reflect.TypeOf(b.options.Problem)),
			"examples": examples,
		}},
	}
}
