//go:build !race

package httpapi_test

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

	"quadrille/cmd/tileserver/internal/httpapi"
	"quadrille/cmd/tileserver/internal/quota"
	"quadrille/cmd/tileserver/internal/servertest"
)

// The description of the interface is a contract: what it says is what the
// router and the handlers do, and what they do it says.

// Every route is described, and nothing else is.
func TestEveryRouteIsDescribed(t *testing.T) {
	f := servertest.New(t, servertest.Guarded(t, false, quota.Limits{})) // with every route there is
	doc := servertest.ReadDescription(t)
	ops := doc.Operations()
	e, ok := f.Handler.(*echo.Echo)
	if !ok {
		t.Fatalf("the handler is a %T; let this test have its router", f.Handler)
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
		if !slices.ContainsFunc(ops, func(o servertest.Operation) bool { return o.Method == r.Method && fits(r.Path, o.Path) }) {
			t.Errorf("%s %s is not described: declare its endpoint in the room that answers it", r.Method, r.Path)
		}
	}
	for _, o := range ops {
		if o.Members["servers"] != nil { // the operator's listener; see TestAdminIsDescribed of the program
			continue
		}
		if !slices.ContainsFunc(routes, func(r *echo.Route) bool { return r.Method == o.Method && fits(r.Path, o.Path) }) {
			t.Errorf("%s %s is described, but there is no such route", o.Method, o.Path)
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
	doc := servertest.ReadDescription(t)
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			doc.Follow(v)
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(doc.Root)
	seen := map[any]bool{}
	for _, o := range doc.Operations() {
		if id := o.Members["operationId"]; o.Method != http.MethodHead && seen[id] || id == "" {
			t.Errorf("%s %s: operationId %v is not unique", o.Method, o.Path, id)
		}
		seen[o.Members["operationId"]] = true
		for _, p := range o.Parameters {
			in := strings.Contains(o.Path, "{"+p["name"].(string)+"}")
			if in != (p["in"] == "path") || in && p["required"] != true || p["description"] == "" || p["schema"] == nil {
				t.Errorf("%s %s: parameter %v is not whole", o.Method, o.Path, p["name"])
			}
		}
		if n := strings.Count(o.Path, "{"); n != len(slices.DeleteFunc(slices.Clone(o.Parameters), func(p map[string]any) bool { return p["in"] != "path" })) {
			t.Errorf("%s %s: %d parameters in the path are not described", o.Method, o.Path, n)
		}
		for status, r := range o.Members["responses"].(map[string]any) {
			content, _ := doc.Follow(r).(map[string]any)["content"].(map[string]any)
			for media, c := range content {
				c := c.(map[string]any)
				if example, ok := c["example"]; ok && c["schema"] != nil {
					raw, err := json.Marshal(example)
					if err != nil {
						t.Fatal(err)
					}
					if raw != nil {
						at := o.Pointer + "/responses/" + status
						if shared, ok := r.(map[string]any)["$ref"].(string); ok {
							at = strings.TrimPrefix(shared, "#")
						}
						doc.Check("example of "+o.Path, at+"/content/"+strings.ReplaceAll(media, "/", "~1")+"/schema", string(raw))
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
	doc := servertest.ReadDescription(t)
	worlds := servertest.NewWorlds(t)
	for _, o := range doc.Operations() {
		calls, f := worlds.CallsOf(&o)
		if len(calls) == 0 {
			t.Errorf("%s is never called: declare an example, or add requests to contractCalls in servertest/calls.go", o.Path)
			continue
		}
		for i, call := range calls {
			call = f.Pin(call)
			parts := strings.Split(call, " | ")
			headers, sent := servertest.HeadersOf(parts[1:])
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
			doc.Answered(what, &o, res)
			if tag != "" && sent == nil {
				again := f.Do(o.Method, parts[0], append(headers, "If-None-Match", tag)...)
				if again.StatusCode != http.StatusNotModified {
					t.Errorf("%s: %d to one who has the answer", what, again.StatusCode)
				}
				doc.Answered(what+" again", &o, again)
			}
			if o.Method == http.MethodGet || o.Method == http.MethodHead {
				// RFC 9110, 13.2.1: a condition counts only where there is a good
				// answer without it.
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
	// A server with no data.
	nothing := servertest.New(t, nil)
	for _, o := range doc.Operations() {
		if o.Method == http.MethodGet { // those of the operator's listener too: generated clients ignore the operation's servers
			call := servertest.FirstCall(&o)
			call = strings.ReplaceAll(call, "{pinned}", "/g/1.0.0-00000000")
			doc.Answered("GET "+call+" of an empty server", &o, nothing.Get(call))
		}
	}
}

// Where keys are asked for and limits kept, every path answers as it is
// described too: without a key, with a wrong one, with one, and beyond a limit.
func TestRefusalsAreAsDescribed(t *testing.T) {
	doc := servertest.ReadDescription(t)
	basic := func(password string) string {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetBasicAuth("1", password)
		return r.Header.Get("Authorization")
	}
	ops := doc.Operations()
	// Each operation has a key of its own, good for one request.
	key := func(i int) string { return servertest.Key + strconv.Itoa(i) }
	var lines strings.Builder
	for i := range ops {
		lines.WriteString(quota.Line("client"+strconv.Itoa(i), quota.HashOf(key(i)), []quota.Limit{{Requests: 1}}) + "\n")
	}
	keys, err := quota.ReadKeys(strings.NewReader(lines.String()))
	if err != nil {
		t.Fatal(err)
	}
	change := func(c *httpapi.Config) {
		servertest.Guarded(t, false, quota.Limits{100000})(c)
		c.Guard.Keys = func() *quota.Keys { return keys }
	}
	nothing, globe, addresses := servertest.New(t, change), servertest.NewGlobe(t, change).Server, servertest.NewAddresses(t, change)
	refused := map[int]int{}
	for n, o := range ops {
		if o.Members["servers"] != nil {
			continue
		}
		call := servertest.FirstCall(&o)
		call = strings.ReplaceAll(call, "{pinned}", "/g/1.0.0-00000000")
		_, asked := doc.Follow(o.Members["responses"].(map[string]any)["429"]).(map[string]any)
		words := slices.Contains(o.Members["tags"].([]any), any("geonames")) || slices.Contains(o.Members["tags"].([]any), any("geoip2")) || slices.Contains(o.Members["tags"].([]any), any("photon")) || slices.Contains(o.Members["tags"].([]any), any("nominatim"))
		words = words || strings.HasPrefix(o.Path, "/ip/headers") // by a header
		worlds := []*servertest.Server{nothing}
		switch tag := o.Members["tags"].([]any)[0]; tag {
		case "places", "points", "geonames", "photon", "nominatim":
			worlds = append(worlds, globe)
		case "addresses", "geoip2":
			worlds = append(worlds, addresses)
		}
		for i, f := range worlds {
			for j, headers := range [][]string{nil, {"X-API-Key", "x"}, {"Authorization", basic("x")}, {"X-API-Key", key(n)}, {"X-API-Key", key(n)}} {
				what := fmt.Sprintf("%s %s of world %d, request %d", o.Method, call, i, j)
				res := f.SendWith(o.Method, call, headers...)
				status := res.StatusCode
				doc.Answered(what, &o, res)
				refused[status]++
				switch {
				case words, !asked && o.Path != "/usage":
				case j < 3 && status != http.StatusUnauthorized:
					t.Errorf("%s: %d, want 401", what, status)
				case j == 4 && asked && status != http.StatusTooManyRequests:
					t.Errorf("%s: %d, want 429", what, status)
				case j == 4 && asked && (res.Header.Get("Retry-After") == "" || res.Header.Get("RateLimit-Limit") != "1"):
					t.Errorf("%s: %v", what, res.Header)
				}
				if !asked && !words && o.Path != "/usage" && (status == http.StatusUnauthorized || status == http.StatusTooManyRequests) {
					t.Errorf("%s: %d, though it asks for no key", what, status)
				}
				if o.Path != "/usage" && asked != (o.Members["security"] == nil || len(servertest.SliceOf(o.Members["security"])) > 0) && !words {
					t.Errorf("%s: security is %v, and 429 is described: %v", what, o.Members["security"], asked)
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
	doc := servertest.ReadDescription(t)
	worlds := servertest.NewWorlds(t)
	checked := 0
	for _, o := range doc.Operations() {
		if o.Method == http.MethodHead || doc.Refusal(&o) == "" {
			continue
		}
		calls, f := worlds.CallsOf(&o)
		base := f.Pin(servertest.FirstCall(&o))
		if f == worlds.Writers {
			base, _, _ = strings.Cut(calls[0], " | ")
			base += "?key=" + servertest.Key
		}
		for _, p := range o.Parameters {
			if p["in"] != "query" {
				continue
			}
			name := p["name"].(string)
			schema := p["schema"].(map[string]any)
			good, bad := servertest.AtBounds(schema, p["explode"] == false && schema["type"] == "array")
			for _, value := range append(bad, "a\x01b") {
				res := f.Send(o.Method, servertest.WithQuery(base, name, &value))
				checked++
				if got := servertest.WantProblem(t, res, http.StatusBadRequest, "bad-parameter"); got.Parameter != name && got.Parameter != "lat" && got.Parameter != "tile" {
					t.Errorf("%s of %s=%q: parameter %q: %s", o.Path, name, value, got.Parameter, got.Detail)
				}
			}
			for _, value := range good {
				res := f.Send(o.Method, servertest.WithQuery(base, name, &value))
				checked++
				if text := servertest.Body(t, res); res.StatusCode == http.StatusBadRequest && !strings.Contains(text, "Add l") && !strings.Contains(text, "either") {
					t.Errorf("%s of %s=%q: %s", o.Path, name, value, text)
				}
			}
			if p["required"] == true {
				if got := servertest.WantProblem(t, f.Send(o.Method, servertest.WithQuery(base, name, nil)), http.StatusBadRequest, "bad-parameter"); got.Parameter != name {
					t.Errorf("%s without %s: parameter %q", o.Path, name, got.Parameter)
				}
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d values were tried", checked)
	}
}

// The page holds every operation and schema, and nothing that could run.
func TestDocsPage(t *testing.T) {
	f := servertest.New(t, func(cfg *httpapi.Config) { cfg.Version = `<script>"&`; cfg.PublicURL = "https://maps.example.org/q" })
	res := f.Get("/docs")
	page := servertest.Body(t, res)
	if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") || !strings.Contains(res.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	for _, o := range servertest.ReadDescription(t).Operations() {
		if o.Method != http.MethodHead && !strings.Contains(page, ">"+o.Path+"<") {
			t.Errorf("%s is not on the page", o.Path)
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
	if css := f.Get("/docs.css"); css.StatusCode != 200 || !bytes.Contains([]byte(servertest.Body(t, css)), []byte("--accent")) {
		t.Errorf("style: %d", css.StatusCode)
	}
	if !strings.Contains(servertest.Body(t, f.Get("/openapi.json")), `"servers":[{"url":"https://maps.example.org/q"}]`) {
		t.Error("the document does not have the public address")
	}
}
