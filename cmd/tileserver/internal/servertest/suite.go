package servertest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/httpapi"
)

// TestFace runs the tests that every face (group of endpoints) must pass. They compare the operations
// of a face with their description: answers to the declared examples, to HEAD, to conditional
// requests and without data; the bounds of each parameter; and hostile parameters. Package httpapi
// tests all faces together: a server without a face gives the same answers for everything else, the
// cost of requests, and access rights.
func TestFace(t *testing.T, name string) {
	t.Helper()
	operations := OperationsOf(httpapi.Compose(&httpapi.Config{}, httpapi.Faces()).Handlers(name).Endpoints())
	judge(t, name, func(o *Operation) bool { return slices.Contains(operations, o.Method+" "+o.Path) })
}

// TestNoFace runs the same tests as Face for the operations that belong to no face.
func TestNoFace(t *testing.T) {
	t.Helper()
	var all []string
	server := httpapi.Compose(&httpapi.Config{}, httpapi.Faces())
	for _, f := range httpapi.Faces() {
		if f.New != nil {
			all = append(all, OperationsOf(server.Handlers(f.Name).Endpoints())...)
		}
	}
	judge(t, "the server itself", func(o *Operation) bool { return !slices.Contains(all, o.Method+" "+o.Path) })
}

func judge(t *testing.T, name string, of func(*Operation) bool) {
	t.Helper()
	s := &suite{T: t, doc: ReadDescription(t), worlds: NewWorlds(t)}
	for _, o := range s.doc.Operations() {
		if of(&o) {
			s.operations = append(s.operations, o)
		}
	}
	if len(s.operations) == 0 {
		t.Fatalf("no operation of %s is described", name)
	}
	s.answers()
	s.bounds()
	s.hostile()
}

type suite struct {
	*testing.T

	doc        *apiDoc
	worlds     *contractWorlds
	operations []Operation
}

// answers sends each operation's declared requests. Status, type, headers and body must be as
// described, and the body must have no missing and no unknown members. The same applies to errors
// and to answers to HEAD and to conditional requests.
func (s *suite) answers() {
	doc, worlds, t := s.doc, s.worlds, s.T
	for _, o := range s.operations {
		calls, f := worlds.CallsOf(&o)
		if len(calls) == 0 {
			t.Errorf("%s is never called: declare an example, or add requests to contractCalls in servertest/calls.go", o.Path)
			continue
		}
		for i, call := range calls {
			call = f.Pin(call)
			parts := strings.Split(call, " | ")
			headers, sent := HeadersOf(parts[1:])
			what := o.Method + " " + call
			var res *http.Response
			if sent != nil {
				res = f.SendTo(o.Method, parts[0], sent, headers...)
			} else {
				res = f.Do(o.Method, parts[0], headers...)
			}
			if first := res.StatusCode; i == 0 && first/100 != 2 && !strings.Contains(o.Path, "geoip") && !strings.HasSuffix(o.Path, "/events") {
				t.Errorf("%s: %d, want a good answer first", what, first)
			}
			tag := res.Header.Get("Etag")
			doc.CheckAnswer(what, &o, res)
			if tag != "" && sent == nil {
				again := f.Do(o.Method, parts[0], append(headers, "If-None-Match", tag)...)
				if again.StatusCode != http.StatusNotModified {
					t.Errorf("%s: %d to one who has the answer", what, again.StatusCode)
				}
				doc.CheckAnswer(what+" again", &o, again)
			}
			if o.Method == http.MethodGet || o.Method == http.MethodHead {
				// By RFC 9110, section 13.2.1, a condition is evaluated only if the answer would be
				// a success without the condition.
				want := res.StatusCode
				if tag != "" {
					want = http.StatusNotModified
				}
				if again := f.Do(o.Method, parts[0], append(headers, "If-None-Match", "*")...); again.StatusCode != want {
					t.Errorf("%s: %d to one who has any answer, want %d", what, again.StatusCode, want)
				}
			}
		}
	}
	// This is a server without data.
	nothing := New(t, nil)
	for _, o := range s.operations {
		if o.Method == http.MethodGet { // those of the operator's listener too: generated clients ignore the operation's servers
			call := FirstCall(&o)
			call = strings.ReplaceAll(call, "{pinned}", "/g/1.0.0-00000000")
			doc.CheckAnswer("GET "+call+" of an empty server", &o, nothing.Get(call))
		}
	}
}

// bounds compares the described bounds with the enforced bounds. A value beyond a bound is refused
// with the name of its parameter; a value at the bound is accepted.
func (s *suite) bounds() {
	doc, worlds, t := s.doc, s.worlds, s.T
	for _, o := range s.operations {
		if o.Method == http.MethodHead || doc.Refusal(&o) == "" {
			continue
		}
		calls, f := worlds.CallsOf(&o)
		base := f.Pin(FirstCall(&o))
		if f == worlds.made["writers"] {
			base, _, _ = strings.Cut(calls[0], " | ")
			base += "?key=" + TestKey
		}
		for _, p := range o.Parameters {
			if p["in"] != "query" {
				continue
			}
			name := p["name"].(string)
			schema := p["schema"].(map[string]any)
			good, bad := ValuesAtBounds(schema, p["explode"] == false && schema["type"] == "array")
			bounded := slices.ContainsFunc([]string{"minimum", "maximum", "enum", "maxLength", "pattern", "maxItems"},
				func(k string) bool { return schema[k] != nil })
			if bounded && len(bad) == 0 {
				t.Errorf("%s of %s: its schema has a bound, and nothing is known that lies beyond it", o.Path, name)
			}
			for _, value := range append(bad, "a\x01b") {
				res := f.Send(o.Method, WithQuery(base, name, &value))
				if got := WantProblem(t, res, http.StatusBadRequest, "bad-parameter"); got.Parameter != name && got.Parameter != "lat" &&
					got.Parameter != "tile" {
					t.Errorf("%s of %s=%q: parameter %q: %s", o.Path, name, value, got.Parameter, got.Detail)
				}
			}
			for _, value := range good {
				res := f.Send(o.Method, WithQuery(base, name, &value))
				if text := Body(t, res); res.StatusCode == http.StatusBadRequest && !strings.Contains(text, "Add l") &&
					!strings.Contains(text, "either") {
					t.Errorf("%s of %s=%q: %s", o.Path, name, value, text)
				}
			}
			if p["required"] == true {
				if got := WantProblem(t, f.Send(o.Method, WithQuery(base, name, nil)), http.StatusBadRequest, "bad-parameter"); got.Parameter != name {
					t.Errorf("%s without %s: parameter %q", o.Path, name, got.Parameter)
				}
			}
		}
	}
}

// hostile repeats, empties and lengthens parameters. All are refused by their names, in
// the same way.
func (s *suite) hostile() {
	doc, worlds, t := s.doc, s.worlds, s.T
	long := strings.Repeat("1,", 5000)
	for _, o := range s.operations {
		if o.Method == http.MethodHead || o.Members["servers"] != nil || doc.Refusal(&o) == "" {
			continue
		}
		calls, f := worlds.CallsOf(&o)
		if calls == nil {
			t.Errorf("%s %s is not called", o.Method, o.Path)
			continue
		}
		base, _, _ := strings.Cut(calls[0], " | ")
		base = f.Pin(base)
		send := f.Send
		if f == worlds.made["writers"] {
			send = func(method, path string) *http.Response {
				return f.SendTo(method, path, strings.NewReader(""), "X-Api-Key", TestKey)
			}
		}
		sign := "?"
		if strings.Contains(base, "?") {
			sign = "&"
		}
		refused := func(what, path, parameter string) {
			t.Helper()
			res := send(o.Method, path)
			if p := WantProblem(t, res, http.StatusBadRequest,
				"bad-parameter"); p.Parameter != parameter && !(parameter == "lon" && p.Parameter == "lat") || len(p.Detail) > 600 {
				t.Errorf("%s of %s: parameter %.60q, %q", what, path[:min(len(path), 80)], p.Parameter, p.Detail)
			}
		}
		for _, p := range o.Parameters {
			if p["in"] != "query" {
				continue
			}
			name := p["name"].(string)
			value := url.Values{}
			if _, query, ok := strings.Cut(base, "?"); ok {
				value, _ = url.ParseQuery(query)
			}
			if !value.Has(name) {
				refused("repeated", base+sign+name+"=1&"+name+"=1", name)
			} else {
				refused("repeated", base+"&"+name+"="+url.QueryEscape(value.Get(name)), name)
				refused("repeated by another spelling", base+"&%"+strings.ToUpper(hexOf(name[0]))+name[1:]+"=1", name)
			}
			empty, tooLong := "", long
			if name != "tile" && name != "id" { // which exclude others that are given
				refused("empty", WithQuery(base, name, &empty), name)
				refused("too long", WithQuery(base, name, &tooLong), name)
			}
		}
		refused("an unknown name that is too long", base+sign+long+"=1", long[:40]+"…")
		for _, bad := range []string{"_=%zz", "%zz=1", "_=1;_=2", "a;b", "_=%", "_=%4"} {
			refused("a query that cannot be read", base+sign+bad, "")
		}
	}
}

func hexOf(c byte) string { return string("0123456789abcdef"[c>>4]) + string("0123456789abcdef"[c&15]) }
