package apidoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/endpoint"
)

// small returns the files of a small description.
func small() fstest.MapFS {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	return fstest.MapFS{
		"head.json": file(`{"info":{"title":"T <b>","summary":"S"},"tags":[{"name":"one","description":"D"}]}`),
		"components.json": file(`{"securitySchemes":{},
			"headers":{"Cache-Control":{},"Cache-Control-No-Store":{},"ETag":{},"Last-Modified":{},"Vary":{},"Retry-After":{},"X-Request-Id":{},"WWW-Authenticate":{},"RateLimit-Limit":{},"RateLimit-Remaining":{},"RateLimit-Reset":{}}}`),
		"examples.json": file(`{"getX":{"a":"<script>"}}`),
	}
}

func one(change func(e *endpoint.Endpoint)) []endpoint.Endpoint {
	e := endpoint.Endpoint{
		Path:    "/x",
		ID:      "getX",
		Tag:     "one",
		Summary: "X",
		Params:  []endpoint.Param{endpoint.Lat.WithDoc("Use `<i>`.")},
		Cost:    endpoint.Light,
		Handle:  func(echo.Context, *endpoint.Params) error { return nil },
		Answers: endpoint.Content{"application/json": Answer{}}, CachePolicy: endpoint.CacheTagged, Problems: []string{"dataset-missing"},
		Example: endpoint.Example{Request: "/x?lat=1"},
	}
	change(&e)
	return []endpoint.Endpoint{e}
}

// Answer and ProblemBody are types for the description.
type Answer struct {
	_ struct{} `doc:"An answer."`
	A string   `json:"a"`
}

type ProblemBody struct {
	_ struct{} `name:"Problem" doc:"An error."`
}

func unchanged(*endpoint.Endpoint) {}

func smallProblems() (all []Problem) {
	for _, typ := range []string{"dataset-missing", "dataset-unavailable", "timeout", "data-corrupt", "too-busy",
		"body-too-large", "internal", "key-missing", "key-unknown", "rate-limited"} {
		all = append(all, Problem{Type: typ, Title: typ, Status: 503, Retry: true})
	}
	return all
}

func build(from fstest.MapFS, endpoints []endpoint.Endpoint) (doc []byte, page []byte, err error) {
	d, err := describe(from, Options{Version: "v1", Problem: ProblemBody{}, Problems: smallProblems(), Endpoints: endpoints})
	if err != nil {
		return nil, nil, err
	}
	if doc = d.AppendJSON(nil, ""); !json.Valid(doc) {
		return nil, nil, fmt.Errorf("not JSON: %.99s", doc)
	}
	return doc, d.HTML(), nil
}

func TestSmall(t *testing.T) {
	doc, page, err := build(small(), one(unchanged))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"/x":{"get":{"operationId":"getX"`, "\"parameters\":[{\"description\":\"Use `\\u003ci\\u003e`.\"",
		`"dataset-missing":{"$ref":"#/components/examples/dataset-missing"}`,
		`"304":{`, `"503":{"$ref":"#/components/responses/503-dataset-missing"}`, `"version":"v1"`, `"example":{"a":"\u003cscript\u003e"}`,
	} {
		if !bytes.Contains(doc, []byte(want)) {
			t.Errorf("the document has no %s:\n%s", want, doc)
		}
	}
	for _, no := range []string{`"head":`, `"options":`, "%7B"} {
		if bytes.Contains(doc, []byte(no)) {
			t.Errorf("the document has %s", no)
		}
	}
	for _, want := range []string{"T &lt;b&gt;", "Use <code>&lt;i&gt;</code>.", `href="./x?lat=1"`, "&lt;script",
		"curl &#39;http://127.0.0.1:8080/x?lat=1&#39;"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page has no %s:\n%s", want, page)
		}
	}
	if bytes.Contains(page, []byte("<script")) || bytes.Contains(page, []byte("ZgotmplZ")) {
		t.Error("text of the description is markup on the page")
	}
}

// Declarations that contradict each other are refused, and the error gives the place.
func TestRefused(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(e *endpoint.Endpoint)
		want   string
	}{
		"tag":     {func(e *endpoint.Endpoint) { e.Tag = "two" }, "two"},
		"path":    {func(e *endpoint.Endpoint) { e.Params = append(e.Params, endpoint.Zoom) }, "no parameter z"},
		"problem": {func(e *endpoint.Endpoint) { e.Problems = []string{"odd"} }, "odd"},
		"type": {func(e *endpoint.Endpoint) {
			e.Answers = endpoint.Content{"application/json": struct {
				A string `schema:"most=1"`
			}{}}
		}, "most"},
		"header": {func(e *endpoint.Endpoint) { e.Headers = []string{"X-Odd"} }, "X-Odd"},
		"twice":  {func(e *endpoint.Endpoint) { e.OtherPaths = []string{"/x"} }, "same path"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := build(small(), one(tt.change)); !errors.Is(err, ErrDescription) ||
				!strings.Contains(err.Error(), tt.want) || name != "type" && !strings.Contains(err.Error(), "getX") {
				t.Errorf("error %v, want one about %q that names the endpoint or the type", err, tt.want)
			}
		})
	}
	for name, change := range map[string]struct{ file, old, new, want string }{
		"syntax": {"head.json", `}]}`, `}]`, "head.json"},
		"member": {"components.json", `"headers"`, `"heads"`, "heads"},
	} {
		files := small()
		files[change.file].Data = []byte(strings.Replace(string(files[change.file].Data), change.old, change.new, 1))
		if _, _, err := build(files, one(unchanged)); !errors.Is(err, ErrDescription) || !strings.Contains(err.Error(), change.want) {
			t.Errorf("%s: error %v, want one about %q", name, err, change.want)
		}
	}
}

// The same description always gives the same bytes.
func TestDeterministic(t *testing.T) {
	doc, page, err := build(small(), one(unchanged))
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, againPage, err := build(small(), one(unchanged))
		if err != nil || !bytes.Equal(again, doc) || !bytes.Equal(againPage, page) {
			t.Fatalf("another document: %v", err)
		}
	}
}

// TestBelow tests the description below a prefix that also exists with a final slash, /x and /x/.
// Both become the path /, which is described only once, always in the same way.
func TestBelow(t *testing.T) {
	slash := one(func(e *endpoint.Endpoint) { e.OtherPaths = []string{"/x/"} })
	for range 20 {
		d, err := describe(small(), Options{Version: "v1", Problem: ProblemBody{}, Problems: smallProblems(), Endpoints: slash})
		if err != nil {
			t.Fatal(err)
		}
		below, err := d.OpenAPI30("/x", "http://127.0.0.1/x")
		if err != nil || !bytes.Contains(below, []byte(`"/":{"get":{`)) || !bytes.Contains(below, []byte(`"operationId":"getX",`)) {
			t.Fatalf("%v: %s", err, below)
		}
	}
}

// TestFold tests that fold changes only white space, and makes no long lines.
func TestFold(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `"x"`, `{"a":1e400,"b":[` + strings.Repeat(`{"c":"\u003cé","d":null},`, 9) + `true]}`,
		`[[[` + strings.Repeat(`1,`, 99) + `2]]]`,
	} {
		folded := fold([]byte(text), "")
		var flat bytes.Buffer
		if err := json.Compact(&flat, []byte(folded)); err != nil || flat.String() != text {
			t.Errorf("%s\nbecame\n%s: %v", text, folded, err)
		}
		for line := range strings.SplitSeq(folded, "\n") {
			if len(text) < 1000 && len(line) > 90 {
				t.Errorf("a line of %d: %s", len(line), line)
			}
		}
	}
}
