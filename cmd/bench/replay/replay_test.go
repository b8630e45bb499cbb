package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestMutationsAreTheSameEachTime(t *testing.T) {
	var seeds []request
	if err := eachLine("seeds.txt", func(line string) error {
		r, err := parseRequest(line)
		seeds = append(seeds, r)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, seed := range seeds {
		mutations := seed.mutations(true)
		if asked += len(mutations); !reflect.DeepEqual(mutations, seed.mutations(true)) {
			t.Errorf("%s is changed in another way the second time", seed)
		}
	}
	if asked < 6000 {
		t.Errorf("%d requests, want 6000 or more", asked)
	}
}

func TestMutations(t *testing.T) {
	r, err := parseRequest(`POST /at/me.json?lat=1&lon=2 | Accept: a/b | Body: {"q":1}\nx`)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for _, m := range r.mutations(true) {
		got[m.String()] = true
	}
	for _, want := range []string{
		`POST /at/me.json?lon=2 | Accept: a/b | Body: {"q":1}·x`,
		`POST /at/me.json?lat=1&lon=2&lon=2 | Accept: a/b | Body: {"q":1}·x`,
		`POST /at/me.json?lat=NaN&lon=2 | Accept: a/b | Body: {"q":1}·x`,
		`POST /at/me.json?lat=1&lon=2&unknown=1 | Accept: a/b | Body: {"q":1}·x`,
		`POST /at/me.json..%2f?lat=1&lon=2 | Accept: a/b | Body: {"q":1}·x`,
		`POST /at/NaN.json?lat=1&lon=2 | Accept: a/b | Body: {"q":1}·x`,
		`POST /at/me.json?lat=1&lon=2 | Accept: image/png | Body: {"q":1}·x`,
		`DELETE /at/me.json?lat=1&lon=2 | Accept: a/b | Body: {"q":1}·x`,
		`POST /at/me.json?lat=1&lon=2 | Accept: a/b | Content-Encoding: gzip | Body: {"q":1}·x`,
		`POST /at/me.json?lat=1&lon=2 | Accept: a/b | Body: {"q":1e400}·x`,
		`POST /at/me.json?lat=1&lon=2 | Accept: a/b`,
	} {
		if !got[want] {
			t.Errorf("%s is not asked", want)
		}
	}
}

func TestCompare(t *testing.T) {
	answerOf := func(status int, body, header, value string) answer {
		return answer{status: status, raw: body, text: body, header: http.Header{header: {value}}}
	}
	for _, tc := range []struct {
		name          string
		before, after answer
		want          string // of what differs
	}{
		{"the clock", answerOf(200, `{"version":1795751630364}`, "Date", "x"), answerOf(200, `{"version":1795751630999}`, "Date", "y"), ""},
		{"random", answerOf(400, `{"request_id":"a"}`, "X-Request-Id", "x"), answerOf(400, `{"request_id":"b"}`, "X-Request-Id", "y"), ""},
		{"status", answerOf(200, "x", "Vary", "a"), answerOf(204, "x", "Vary", "a"), "status"},
		{"header", answerOf(200, "x", "Vary", "a"), answerOf(200, "x", "Vary", "b"), "header Vary"},
		{"member", answerOf(200, `{"a":[{"b":1},{"b":2}]}`, "", ""), answerOf(200, `{"a":[{"b":1},{"b":"2"}]}`, "", ""), "body .a[].b"},
		{"order", answerOf(200, `{"a":1,"b":2}`, "", ""), answerOf(200, `{"b":2,"a":1}`, "", ""), "body"},
		{"version of a style", answerOf(200, `{"version":8}`, "", ""), answerOf(200, `{"version":9}`, "", ""), "body .version"},
	} {
		var what []string
		for _, d := range compare(request{method: "GET", target: "/x"}, tc.before, tc.after) {
			what = append(what, d.what)
		}
		if got := strings.Join(what, ","); got != tc.want {
			t.Errorf("%s: %q differ, want %q", tc.name, got, tc.want)
		}
	}
}

// TestRun finds a difference that is planted, and explains it.
func TestRun(t *testing.T) {
	serve := func(detail string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/openapi.json":
				_, _ = w.Write([]byte(`{"paths":{"/places/{id}":{"get":{"parameters":[{"$ref":"#/components/parameters/lang"}]}},"/none":{"get":{}}},
					"components":{"parameters":{"lang":{"name":"lang","in":"query","schema":{"enum":["de","fr"]}}}}}`))
			case r.URL.Query().Get("lang") == "fr":
				http.Error(w, `{"detail":"`+detail+`"}`, http.StatusBadRequest)
			}
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	before, after := serve("before"), serve("after")
	dir := t.TempDir()
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	seeds, out := file("seeds", "# one\n\nGET /places/1\n"), filepath.Join(dir, "out")
	for _, tc := range []struct {
		name, after, expected string
		found                 bool
		want                  string // in the report
	}{
		{"the same", before, "", false, ""},
		{"a planted difference", after, "", true, `GET /places/1?lang=fr: body .detail: "before" → "after"`},
		{"one that is expected", after, "# why\nbody .detail: \"before\"\nContent-Length\n", false, ""},
		{"an expectation of nothing", before, "never", false, "expected, but not there: never"},
	} {
		found, err := run(before, tc.after, seeds, file("expected", tc.expected), out)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := os.ReadFile(out); found > 0 != tc.found || err != nil || !strings.Contains(string(text), tc.want) {
			t.Errorf("%s: %d differences: %v, %s; want %q", tc.name, found, err, text, tc.want)
		}
	}
}
