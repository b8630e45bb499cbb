package apidoc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"
)

// small is a description of one path.
func small() fstest.MapFS {
	file := func(s string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(s)} }
	return fstest.MapFS{
		"head.json": file(`{"info":{"title":"T <b>","summary":"S"},"tags":[{"name":"one","description":"D"}]}`),
		"components.json": file(`{"parameters":{"lat":{"name":"lat","in":"query","description":"Use ` + "`<i>`" + `.","schema":{"type":"number"}}},
			"headers":{"Access-Control-Allow-Origin":{},"Cache-Control":{},"Cache-Control-No-Store":{},"ETag":{},"Vary":{},"Retry-After":{},"WWW-Authenticate":{},"RateLimit-Limit":{},"RateLimit-Remaining":{},"RateLimit-Reset":{}}}`),
		"paths/x.json": file(`{"path":"/x","tag":"one","id":"getX","summary":"X","parameters":["lat"],"answers":{"application/json":"Answer"},"cache":"tagged",
			"problems":["dataset-missing"],"example":{"request":"/x?lat=1","answer":{"a":"<script>"}}}`),
	}
}

type smallProblem struct {
	_ struct{} `name:"Problem" doc:"An error."`
}

type Answer struct {
	_ struct{} `doc:"An answer."`
	A string   `json:"a,omitempty"`
}

func smallProblems() (all []Problem) {
	for _, typ := range []string{"dataset-missing", "dataset-unavailable", "timeout", "data-corrupt", "too-busy", "body-too-large", "internal", "key-missing", "key-unknown", "rate-limited"} {
		all = append(all, Problem{Type: typ, Title: typ, Status: 503, Retry: true})
	}
	return all
}

func build(from fstest.MapFS) (doc []byte, page []byte, err error) {
	b := builder{options: Options{Version: "v1", Problems: smallProblems(), Types: []any{smallProblem{}, Answer{}}}}
	if err := b.read(from); err != nil {
		return nil, nil, err
	}
	o, err := b.document()
	if err != nil {
		return nil, nil, err
	}
	if doc, err = json.Marshal(o); err != nil {
		return nil, nil, err
	}
	if doc = (&Document{json: doc}).AppendJSON(nil, ""); !json.Valid(doc) {
		return nil, nil, fmt.Errorf("not JSON: %.99s", doc)
	}
	page, err = b.page()
	return doc, page, err
}

func TestSmall(t *testing.T) {
	doc, page, err := build(small())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"/x":{"get":{"operationId":"getX"`, `"head":{"operationId":"headGetX"`, `"parameters":[{"$ref":"#/components/parameters/lat"}]`,
		`"304":{`, `"503":{"$ref":"#/components/responses/503-dataset-missing-dataset-unavailable-`, `"version":"v1"`,
	} {
		if !bytes.Contains(doc, []byte(want)) {
			t.Errorf("the document has no %s:\n%s", want, doc)
		}
	}
	for _, want := range []string{"T &lt;b&gt;", "Use <code>&lt;i&gt;</code>.", `href="./x?lat=1"`, "&lt;script", "curl &#39;http://127.0.0.1:8080/x?lat=1&#39;"} {
		if !bytes.Contains(page, []byte(want)) {
			t.Errorf("the page has no %s:\n%s", want, page)
		}
	}
	if bytes.Contains(page, []byte("<script")) || bytes.Contains(page, []byte("ZgotmplZ")) {
		t.Error("text of the description is markup on the page")
	}
}

// What contradicts itself is refused, and the error says where.
func TestRefused(t *testing.T) {
	for name, change := range map[string]struct{ file, old, new, want string }{
		"member":    {"paths/x.json", `"cache"`, `"cash"`, "cash"},
		"tag":       {"paths/x.json", `"one"`, `"two"`, "two"},
		"cache":     {"paths/x.json", `"tagged"`, `"often"`, "often"},
		"schema":    {"paths/x.json", `"Answer"`, `"Unknown"`, "Unknown"},
		"parameter": {"paths/x.json", `["lat"]`, `["long"]`, "long"},
		"path":      {"paths/x.json", `["lat"]`, `[{"name":"id","in":"path"}]`, "id"},
		"problem":   {"paths/x.json", `["dataset-missing"]`, `["odd"]`, "odd"},
		"header":    {"components.json", `"ETag":{},`, ``, "ETag"},
		"twice":     {"paths/x.json", `"path":"/x"`, `"path":"/x","also":["/x"]`, "twice"},
		"syntax":    {"head.json", `}]}`, `}]`, "head.json"},
	} {
		t.Run(name, func(t *testing.T) {
			files := small()
			text := string(files[change.file].Data)
			if !strings.Contains(text, change.old) {
				t.Fatalf("%s has no %s", change.file, change.old)
			}
			files[change.file].Data = []byte(strings.Replace(text, change.old, change.new, 1))
			if _, _, err := build(files); !errors.Is(err, ErrDescription) || !strings.Contains(err.Error(), change.want) {
				t.Errorf("error %v, want one about %q", err, change.want)
			}
		})
	}
}

// The same bytes come of the same description.
func TestDeterministic(t *testing.T) {
	doc, page, err := build(small())
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		again, againPage, err := build(small())
		if err != nil || !bytes.Equal(again, doc) || !bytes.Equal(againPage, page) {
			t.Fatalf("another document: %v", err)
		}
	}
}

// Folding changes nothing but white space.
func TestFold(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, `"x"`, `{"a":1e400,"b":[` + strings.Repeat(`{"c":"\u003cé","d":null},`, 9) + `true]}`, `[[[` + strings.Repeat(`1,`, 99) + `2]]]`,
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
