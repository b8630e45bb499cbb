//go:build !race

package httpapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"quadrille/cmd/tileserver/internal/quota"
)

// The description of the interface is a contract: what it says is what the
// router and the handlers do, and what they do it says.

// Every route is described, and nothing else is.
func TestEveryRouteIsDescribed(t *testing.T) {
	f := newFixture(t, guarded(t, false, quota.Limits{})) // with every route there is
	doc := readAPIDoc(t)
	ops := doc.operations()
	e, ok := f.handler.(*echo.Echo)
	if !ok {
		t.Fatalf("the handler is a %T; let this test have its router", f.handler)
	}
	routes := e.Routes()
	for _, r := range routes {
		switch {
		case r.Method == echo.RouteNotFound, r.Method == "PROPFIND", r.Method == "REPORT", r.Method == http.MethodConnect,
			r.Method == http.MethodOptions && !strings.HasPrefix(r.Path, "/ip/headers"): // said in words
			continue
		case r.Method == http.MethodTrace, r.Method == http.MethodOptions:
			continue
		case r.Path == "/ip/batch" && r.Method != http.MethodPost: // answers 405
			continue
		case r.Path == "/docs.css": // a part of the page
			continue
		}
		if !slices.ContainsFunc(ops, func(o operation) bool { return o.method == r.Method && fits(r.Path, o.path) }) {
			t.Errorf("%s %s is not described: declare its endpoint in the room that answers it", r.Method, r.Path)
		}
	}
	for _, o := range ops {
		if o.members["servers"] != nil { // the operator's listener; see TestAdminIsDescribed of the program
			continue
		}
		if !slices.ContainsFunc(routes, func(r *echo.Route) bool { return r.Method == o.method && fits(r.Path, o.path) }) {
			t.Errorf("%s %s is described, but there is no such route", o.method, o.path)
		}
	}
}

// fits reports whether a path of the document is one of a route.
func fits(route, path string) bool {
	if route == "/*" {
		return path == "/" // of the files of the page, this is the one to know
	}
	r, p := strings.Split(route, "/"), strings.Split(path, "/")
	if len(r) != len(p) {
		return false
	}
	for i := range r {
		variable := strings.HasPrefix(r[i], ":") || r[i] == "*"
		if r[i] != p[i] && !(variable && strings.Contains(p[i], "{")) {
			return false
		}
	}
	return true
}

// TestDocumentStructure checks what a schema of OpenAPI would: that every
// reference leads somewhere, ids are unique, and parameters of paths are there.
func TestDocumentStructure(t *testing.T) {
	doc := readAPIDoc(t)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			doc.follow(v)
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(doc.root)
	seen := map[any]bool{}
	for _, o := range doc.operations() {
		if id := o.members["operationId"]; o.method != http.MethodHead && seen[id] || id == "" {
			t.Errorf("%s %s: operationId %v is not unique", o.method, o.path, id)
		}
		seen[o.members["operationId"]] = true
		for _, p := range o.parameters {
			in := strings.Contains(o.path, "{"+p["name"].(string)+"}")
			if in != (p["in"] == "path") || in && p["required"] != true || p["description"] == "" || p["schema"] == nil {
				t.Errorf("%s %s: parameter %v is not whole", o.method, o.path, p["name"])
			}
		}
		if n := strings.Count(o.path, "{"); n != len(slices.DeleteFunc(slices.Clone(o.parameters), func(p map[string]any) bool { return p["in"] != "path" })) {
			t.Errorf("%s %s: %d parameters in the path are not described", o.method, o.path, n)
		}
		for status, r := range o.members["responses"].(map[string]any) {
			content, _ := doc.follow(r).(map[string]any)["content"].(map[string]any)
			for media, c := range content {
				c := c.(map[string]any)
				if example, ok := c["example"]; ok && c["schema"] != nil {
					raw, err := json.Marshal(example)
					if err != nil {
						t.Fatal(err)
					}
					if raw != nil {
						at := o.pointer + "/responses/" + status
						if shared, ok := r.(map[string]any)["$ref"].(string); ok {
							at = strings.TrimPrefix(shared, "#")
						}
						doc.check("example of "+o.path, at+"/content/"+strings.ReplaceAll(media, "/", "~1")+"/schema", string(raw))
					}
				}
			}
		}
	}
}

// Every path answers as it is described: status, type, headers, and a body in
// which nothing is missing and nothing is unknown; so do errors, and answers to
// HEAD and to those who have the answer already.
func TestAnswersAreAsDescribed(t *testing.T) {
	doc := readAPIDoc(t)
	worlds := newContractWorlds(t)
	for _, o := range doc.operations() {
		calls, f := worlds.callsOf(&o)
		if len(calls) == 0 {
			t.Errorf("%s is never called: declare an example, or add requests to contractCalls in contract_calls_test.go", o.path)
			continue
		}
		for i, call := range calls {
			call = f.pin(call)
			parts := strings.Split(call, " | ")
			headers, sent := headersOf(parts[1:])
			what := o.method + " " + call
			var res *http.Response
			if sent != nil {
				res = f.sendTo(o.method, parts[0], sent, headers...)
			} else {
				res = f.do(o.method, parts[0], headers...)
			}
			if first := res.StatusCode; i == 0 && first/100 != 2 && !strings.Contains(o.path, "geoip") && !strings.HasSuffix(o.path, "/events") {
				t.Errorf("%s: %d, want a good answer first", what, first)
			}
			tag := res.Header.Get("Etag")
			doc.answered(what, &o, res)
			if tag != "" && sent == nil {
				again := f.do(o.method, parts[0], append(headers, "If-None-Match", tag)...)
				if again.StatusCode != http.StatusNotModified {
					t.Errorf("%s: %d to one who has the answer", what, again.StatusCode)
				}
				doc.answered(what+" again", &o, again)
			}
			if o.method == http.MethodGet || o.method == http.MethodHead {
				// RFC 9110, 13.2.1: a condition counts only where there is a good
				// answer without it.
				want := res.StatusCode
				if tag != "" {
					want = http.StatusNotModified
				}
				if again := f.do(o.method, parts[0], append(headers, "If-None-Match", "*")...); again.StatusCode != want {
					t.Errorf("%s: %d to one who has any answer, want %d", what, again.StatusCode, want)
				}
			}
		}
	}
	// A server with no data.
	nothing := newFixture(t, nil)
	for _, o := range doc.operations() {
		if o.method == http.MethodGet { // those of the operator's listener too: generated clients ignore the operation's servers
			call := firstCall(&o)
			call = strings.ReplaceAll(call, "{pinned}", "/g/1.0.0-00000000")
			doc.answered("GET "+call+" of an empty server", &o, nothing.get(call))
		}
	}
}

// Where keys are asked for and limits kept, every path answers as it is
// described too: without a key, with a wrong one, with one, and beyond a limit.
func TestRefusalsAreAsDescribed(t *testing.T) {
	doc := readAPIDoc(t)
	basic := func(password string) string {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetBasicAuth("1", password)
		return r.Header.Get("Authorization")
	}
	ops := doc.operations()
	// Each operation has a key of its own, good for one request.
	key := func(i int) string { return testKey + strconv.Itoa(i) }
	var lines strings.Builder
	for i := range ops {
		lines.WriteString(quota.Line("client"+strconv.Itoa(i), quota.HashOf(key(i)), []quota.Limit{{Requests: 1}}) + "\n")
	}
	keys, err := quota.ReadKeys(strings.NewReader(lines.String()))
	if err != nil {
		t.Fatal(err)
	}
	change := func(c *Config) {
		guarded(t, false, quota.Limits{100000})(c)
		c.Guard.Keys = func() *quota.Keys { return keys }
	}
	nothing, globe, addresses := newFixture(t, change), newGlobe(t, change).fixture, newAddresses(t, change)
	refused := map[int]int{}
	for n, o := range ops {
		if o.members["servers"] != nil {
			continue
		}
		call := firstCall(&o)
		call = strings.ReplaceAll(call, "{pinned}", "/g/1.0.0-00000000")
		_, asked := doc.follow(o.members["responses"].(map[string]any)["429"]).(map[string]any)
		words := slices.Contains(o.members["tags"].([]any), any("geonames")) || slices.Contains(o.members["tags"].([]any), any("geoip2")) || slices.Contains(o.members["tags"].([]any), any("photon")) || slices.Contains(o.members["tags"].([]any), any("nominatim"))
		words = words || strings.HasPrefix(o.path, "/ip/headers") // by a header
		worlds := []*fixture{nothing}
		switch tag := o.members["tags"].([]any)[0]; tag {
		case "places", "points", "geonames", "photon", "nominatim":
			worlds = append(worlds, globe)
		case "addresses", "geoip2":
			worlds = append(worlds, addresses)
		}
		for i, f := range worlds {
			for j, headers := range [][]string{nil, {"X-API-Key", "x"}, {"Authorization", basic("x")}, {"X-API-Key", key(n)}, {"X-API-Key", key(n)}} {
				what := fmt.Sprintf("%s %s of world %d, request %d", o.method, call, i, j)
				res := f.sendWith(o.method, call, headers...)
				status := res.StatusCode
				doc.answered(what, &o, res)
				refused[status]++
				switch {
				case words, !asked && o.path != "/usage":
				case j < 3 && status != http.StatusUnauthorized:
					t.Errorf("%s: %d, want 401", what, status)
				case j == 4 && asked && status != http.StatusTooManyRequests:
					t.Errorf("%s: %d, want 429", what, status)
				case j == 4 && asked && (res.Header.Get("Retry-After") == "" || res.Header.Get("RateLimit-Limit") != "1"):
					t.Errorf("%s: %v", what, res.Header)
				}
				if !asked && !words && o.path != "/usage" && (status == http.StatusUnauthorized || status == http.StatusTooManyRequests) {
					t.Errorf("%s: %d, though it asks for no key", what, status)
				}
				if o.path != "/usage" && asked != (o.members["security"] == nil || len(sliceOf(o.members["security"])) > 0) && !words {
					t.Errorf("%s: security is %v, and 429 is described: %v", what, o.members["security"], asked)
				}
			}
		}
	}
	if refused[http.StatusUnauthorized] < 200 || refused[http.StatusTooManyRequests] < 100 || refused[http.StatusPaymentRequired] < 10 {
		t.Errorf("too few were refused: %v", refused)
	}
}

// The bounds that are described are those that are enforced: what lies beyond
// one is refused by the name of its parameter, and what lies on it is not.
func TestBoundsAreAsDescribed(t *testing.T) {
	doc := readAPIDoc(t)
	worlds := newContractWorlds(t)
	checked := 0
	for _, o := range doc.operations() {
		if o.method == http.MethodHead || doc.refusal(&o) == "" {
			continue
		}
		calls, f := worlds.callsOf(&o)
		base := f.pin(firstCall(&o))
		if f == worlds.writers {
			base, _, _ = strings.Cut(calls[0], " | ")
			base += "?key=" + testKey
		}
		for _, p := range o.parameters {
			if p["in"] != "query" {
				continue
			}
			name := p["name"].(string)
			schema := p["schema"].(map[string]any)
			good, bad := atBounds(schema, p["explode"] == false && schema["type"] == "array")
			for _, value := range append(bad, "a\x01b") {
				res := f.send(o.method, withQuery(base, name, &value))
				checked++
				if got := wantProblem(t, res, http.StatusBadRequest, "bad-parameter"); got.Parameter != name && got.Parameter != "lat" && got.Parameter != "tile" {
					t.Errorf("%s of %s=%q: parameter %q: %s", o.path, name, value, got.Parameter, got.Detail)
				}
			}
			for _, value := range good {
				res := f.send(o.method, withQuery(base, name, &value))
				checked++
				if text := body(t, res); res.StatusCode == http.StatusBadRequest && !strings.Contains(text, "Add l") && !strings.Contains(text, "either") {
					t.Errorf("%s of %s=%q: %s", o.path, name, value, text)
				}
			}
			if p["required"] == true {
				if got := wantProblem(t, f.send(o.method, withQuery(base, name, nil)), http.StatusBadRequest, "bad-parameter"); got.Parameter != name {
					t.Errorf("%s without %s: parameter %q", o.path, name, got.Parameter)
				}
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d values were tried", checked)
	}
}

// refusal is the pointer to what a path says of parameters that are not valid,
// "" where it ignores them.
func (d *apiDoc) refusal(o *operation) string {
	r, _ := o.members["responses"].(map[string]any)["400"].(map[string]any)
	s, _ := r["$ref"].(string)
	if s == "" {
		return ""
	}
	described, _ := d.at(strings.TrimPrefix(s, "#")).(map[string]any)["description"].(string)
	if !strings.Contains(described, "`bad-parameter`") {
		return ""
	}
	return s
}

// The page holds every operation and schema, and nothing that could run.
func TestDocsPage(t *testing.T) {
	f := newFixture(t, func(cfg *Config) { cfg.Version = `<script>"&`; cfg.PublicURL = "https://maps.example.org/q" })
	res := f.get("/docs")
	page := body(t, res)
	if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") || !strings.Contains(res.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	for _, o := range readAPIDoc(t).operations() {
		if o.method != http.MethodHead && !strings.Contains(page, ">"+o.path+"<") {
			t.Errorf("%s is not on the page", o.path)
		}
	}
	for _, no := range []string{"<script", "ZgotmplZ", "style=", "curl http://127.0.0.1", "curl 'http://127.0.0.1", "curl &#39;http://127.0.0.1", "javascript:"} {
		if strings.Contains(page, no) {
			t.Errorf("the page has %q", no)
		}
	}
	if !strings.Contains(page, "https://maps.example.org/q/places/nearby?") {
		t.Error("examples do not use the public address")
	}
	if css := f.get("/docs.css"); css.StatusCode != 200 || !bytes.Contains([]byte(body(t, css)), []byte("--accent")) {
		t.Errorf("style: %d", css.StatusCode)
	}
	if !strings.Contains(body(t, f.get("/openapi.json")), `"servers":[{"url":"https://maps.example.org/q"}]`) {
		t.Error("the document does not have the public address")
	}
}
