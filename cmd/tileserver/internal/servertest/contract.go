package servertest

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// apiDoc compares answers with the description.

type apiDoc struct {
	t        *testing.T
	Root     map[string]any
	compiler *jsonschema.Compiler
	schemas  map[string]*jsonschema.Schema
}

func ReadDescription(t *testing.T) *apiDoc {
	t.Helper()
	res := New(t, nil).Get("/openapi.json")
	if res.StatusCode != 200 || res.Header.Get("Content-Type") != "application/json" || res.Header.Get("Etag") == "" {
		t.Fatalf("%s: %d %v", "/openapi.json", res.StatusCode, res.Header)
	}
	root, err := jsonschema.UnmarshalJSON(strings.NewReader(Body(t, res)))
	if err != nil {
		t.Fatal(err)
	}
	d := &apiDoc{t: t, Root: root.(map[string]any), compiler: jsonschema.NewCompiler(), schemas: map[string]*jsonschema.Schema{}}
	strict(d.At("/components/schemas"))
	// The dialect of OpenAPI is 2020-12 with annotations.
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	d.compiler.AssertFormat()
	delete(d.Root, "jsonSchemaDialect")
	if err := d.compiler.AddResource("openapi.json", d.Root); err != nil {
		t.Fatal(err)
	}
	return d
}

// strict forbids additional properties in the schema of every object that lists its properties.
func strict(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			strict(e)
		}
	case map[string]any:
		if _, named := v["properties"].(map[string]any); named && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for _, e := range v {
			strict(e)
		}
	}
}

// At returns the value of a JSON pointer, and follows references.
func (d *apiDoc) At(pointer string) any {
	d.t.Helper()
	var v any = d.Root
	for part := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		part = strings.NewReplacer("~1", "/", "~0", "~", "%7B", "{", "%7D", "}").Replace(part)
		if list, ok := v.([]any); ok {
			i, err := strconv.Atoi(part)
			if err != nil || i >= len(list) {
				d.t.Fatalf("the document has no %s: there is no element %s", pointer, part)
			}
			v = list[i]
			continue
		}
		m, ok := d.Follow(v).(map[string]any)
		if !ok || m[part] == nil {
			d.t.Fatalf("the document has no %s: %s is missing", pointer, part)
		}
		v = m[part]
	}
	return d.Follow(v)
}

func (d *apiDoc) Follow(v any) any {
	if m, ok := v.(map[string]any); ok {
		if r, ok := m["$ref"].(string); ok {
			return d.At(strings.TrimPrefix(r, "#"))
		}
	}
	return v
}

// Check checks a value against the schema at a pointer.
func (d *apiDoc) Check(what, pointer, value string) {
	d.t.Helper()
	s := d.schemas[pointer]
	if s == nil {
		var err error
		if s, err = d.compiler.Compile("openapi.json#" + pointer); err != nil {
			d.t.Fatalf("%s: %v", pointer, err)
		}
		d.schemas[pointer] = s
	}
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(value))
	if err != nil {
		d.t.Errorf("%s: %v: %s", what, err, value)
		return
	}
	if err := s.Validate(v); err != nil {
		d.t.Errorf("%s: %v\n%s", what, err, value)
	}
}

// Operation is one method of a path.
type Operation struct {
	Method, Path string
	Pointer      string
	Members      map[string]any
	Parameters   []map[string]any
}

// Operations returns all operations, in a fixed order.
func (d *apiDoc) Operations() (all []Operation) {
	paths := d.At("/paths").(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item := paths[path].(map[string]any)
		for _, method := range slices.Sorted(maps.Keys(item)) {
			if members, ok := item[method].(map[string]any); ok {
				var params []map[string]any
				for _, p := range SliceOf(members["parameters"]) {
					params = append(params, d.Follow(p).(map[string]any))
				}
				pointer := "/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(path) + "/" + method
				all = append(all, Operation{strings.ToUpper(method), path, pointer, members, params})
				if method == "get" && members["servers"] == nil { // HEAD is described in words: the same without a body
					all = append(all, Operation{http.MethodHead, path, pointer, members, params})
				}
			}
		}
	}
	return all
}

// CheckAnswer compares an answer with the document's description of its status.
func (d *apiDoc) CheckAnswer(what string, o *Operation, res *http.Response) {
	d.t.Helper()
	text := Body(d.t, res)
	responses := o.Members["responses"].(map[string]any)
	described, ok := d.Follow(responses[strconv.Itoa(res.StatusCode)]).(map[string]any)
	if !ok {
		d.t.Errorf("%s: status %d is not described: %s", what, res.StatusCode, text)
		return
	}
	headers, _ := described["headers"].(map[string]any)
	for name, h := range headers {
		h := d.Follow(h).(map[string]any)
		value, sent := "", len(res.Header.Values(name)) > 0
		if sent {
			value = res.Header.Values(name)[0]
		}
		if !sent && h["required"] == true {
			d.t.Errorf("%s: %d has no header %s", what, res.StatusCode, name)
		}
		if pattern, ok := h["schema"].(map[string]any)["pattern"].(string); ok && sent && !strings.Contains(value, pattern) {
			d.t.Errorf("%s: %s is %q", what, name, value)
		}
	}
	isDescribed := func(name string) bool {
		for known := range headers {
			if strings.EqualFold(known, name) {
				return true
			}
		}
		return false
	}
	for name := range res.Header {
		switch name {
		case "Connection", "Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Cross-Origin-Resource-Policy",
			"Content-Type", "Content-Length", "Content-Encoding", "Date", "X-Content-Type-Options", "Referrer-Policy", "Cross-Origin-Opener-Policy":
		default:
			if !isDescribed(name) {
				d.t.Errorf("%s: header %s of %d is not described", what, name, res.StatusCode)
			}
		}
	}
	content, _ := described["content"].(map[string]any)
	if o.Method == http.MethodHead || content == nil {
		if text != "" {
			d.t.Errorf("%s: there is a body, which is not described: %s", what, text)
		}
		return
	}
	media, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	c, ok := content[media].(map[string]any)
	if !ok {
		d.t.Errorf("%s: type %q of %d is not described", what, media, res.StatusCode)
		return
	}
	// The pointer passes through references to responses, which the compiler does not support, so
	// the pointer of the schema itself is used.
	schema, _ := c["schema"].(map[string]any)
	if schema == nil || len(schema) == 1 && schema["type"] == "string" {
		return // any text
	}
	if lines, ok := schema["contentSchema"].(map[string]any); ok {
		schema = lines
	}
	pointer, _ := schema["$ref"].(string)
	if pointer = strings.TrimPrefix(pointer, "#"); pointer == "" {
		d.t.Errorf("%s: the schema of %s has no name", what, media)
		return
	}
	lines := []string{text}
	if media == "application/x-ndjson" {
		lines = strings.Split(strings.TrimSpace(text), "\n")
	}
	for _, line := range lines {
		d.Check(what, pointer, line)
	}
}

// Refusal returns the $ref of the operation's 400 response, or "" if this response does not
// describe bad-parameter.
func (d *apiDoc) Refusal(o *Operation) string {
	r, _ := o.Members["responses"].(map[string]any)["400"].(map[string]any)
	s, _ := r["$ref"].(string)
	if s == "" {
		return ""
	}
	described, _ := d.At(strings.TrimPrefix(s, "#")).(map[string]any)["description"].(string)
	if !strings.Contains(described, "`bad-parameter`") {
		return ""
	}
	return s
}
