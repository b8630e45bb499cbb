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

// The description of the interface is a contract: the router and the handlers behave as described,
// and the description is complete.

// TestEveryRouteIsDescribed tests that the OpenAPI document describes exactly the routes of the
// server.
func TestEveryRouteIsDescribed(t *testing.T) {
	f := servertest.New(t, servertest.NewGuarded(t, false, quota.Limits{})) // with every route there is
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
			t.Errorf("%s %s is not described: declare its endpoint in the face that answers it", r.Method, r.Path)
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

// fits reports whether a path of the document belongs to a route.
func fits(route, path string) bool {
	if route == "/*" {
		return path == "/" // the one file of the page that is described
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

// TestDocumentStructure checks the same as a schema of OpenAPI: every reference has a target, ids
// are unique, and the parameters of paths exist.
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
		if n := strings.Count(o.Path,
			"{"); n != len(slices.DeleteFunc(slices.Clone(o.Parameters), func(p map[string]any) bool { return p["in"] != "path" })) {
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

// With keys and limits, every path also answers as described: without a key, with a wrong key, with
// a valid key, and beyond a limit.
func TestRefusalsAreAsDescribed(t *testing.T) {
	doc := servertest.ReadDescription(t)
	basic := func(password string) string {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.SetBasicAuth("1", password)
		return r.Header.Get("Authorization")
	}
	ops := doc.Operations()
	// Each operation has a separate key that admits one request.
	key := func(i int) string { return servertest.TestKey + strconv.Itoa(i) }
	var lines strings.Builder
	for i := range ops {
		lines.WriteString(quota.FormatLine("client"+strconv.Itoa(i), quota.HashOf(key(i)), []quota.Limit{{Requests: 1}}) + "\n")
	}
	keys, err := quota.ReadKeys(strings.NewReader(lines.String()))
	if err != nil {
		t.Fatal(err)
	}
	change := func(c *httpapi.Config) {
		servertest.NewGuarded(t, false, quota.Limits{100000})(c)
		c.Guard.Keys = func() *quota.Keys { return keys }
	}
	nothing, globe, addresses := servertest.New(t, change), servertest.NewGlobe(t, change), servertest.NewAddresses(t, change)
	refused := map[int]int{}
	for n, o := range ops {
		if o.Members["servers"] != nil {
			continue
		}
		call := servertest.FirstCall(&o)
		call = strings.ReplaceAll(call, "{pinned}", "/g/1.0.0-00000000")
		_, asked := doc.Follow(o.Members["responses"].(map[string]any)["429"]).(map[string]any)
		words := slices.Contains(o.Members["tags"].([]any), any("geonames")) ||
			slices.Contains(o.Members["tags"].([]any), any("geoip2")) || slices.Contains(o.Members["tags"].([]any), any("photon")) ||
			slices.Contains(o.Members["tags"].([]any), any("nominatim"))
		words = words || strings.HasPrefix(o.Path, "/ip/headers") // by a header
		worlds := []*servertest.Server{nothing}
		switch tag := o.Members["tags"].([]any)[0]; tag {
		case "places", "points", "geonames", "photon", "nominatim":
			worlds = append(worlds, globe)
		case "addresses", "geoip2":
			worlds = append(worlds, addresses)
		}
		for i, f := range worlds {
			for j, headers := range [][]string{
				nil,
				{"X-API-Key", "x"},
				{"Authorization", basic("x")},
				{"X-API-Key", key(n)},
				{"X-API-Key", key(n)},
			} {
				what := fmt.Sprintf("%s %s of world %d, request %d", o.Method, call, i, j)
				res := f.SendWith(o.Method, call, headers...)
				status := res.StatusCode
				doc.CheckAnswer(what, &o, res)
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

// The page has every operation and schema, and no executable code.
func TestDocsPage(t *testing.T) {
	f := servertest.New(t, func(cfg *httpapi.Config) { cfg.Version = `<script>"&`; cfg.PublicURL = "https://maps.example.org/q" })
	res := f.Get("/docs")
	page := servertest.Body(t, res)
	if res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Type"), "text/html") ||
		!strings.Contains(res.Header.Get("Content-Security-Policy"), "default-src 'none'") {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	for _, o := range servertest.ReadDescription(t).Operations() {
		if o.Method != http.MethodHead && !strings.Contains(page, ">"+o.Path+"<") {
			t.Errorf("%s is not on the page", o.Path)
		}
	}
	for _, no := range []string{"<script", "ZgotmplZ", "style=", "curl http://127.0.0.1", "curl 'http://127.0.0.1",
		"curl &#39;http://127.0.0.1", "javascript:"} {
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
