package collection

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"quadrille/cmd/tileserver/internal/webhook"
	"quadrille/internal/buildtest"
)

// withHooks adds webhooks, over the boundaries of halves.
func withHooks(t *testing.T, private bool) *service {
	t.Helper()
	s := newService(t, withHalves(t, new(buildtest.Faults)))
	hooks := webhook.Start(t.Context(), webhook.Config{Live: s.live, Views: s.handlers.Views, AllowPrivate: private})
	t.Cleanup(hooks.Close)
	s.handlers.Hooks = hooks
	return s
}

// A hook gets the same events as a stream.
func TestHooks(t *testing.T) {
	s := withHooks(t, true)
	s.make("taxis", "")
	bodies := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		bodies <- string(b)
	}))
	t.Cleanup(server.Close)
	stream := httptest.NewServer(s.handler)
	t.Cleanup(stream.Close)
	f := begin(t, stream, "?enter=state,country:north&within=10,10,5000", "")
	s.move("a", -5, -1)
	first := f.next()
	w := s.send(rootKey, "PUT", "/points/taxis/hooks/alarm",
		`{"url":"`+server.URL+`","enter":["state","country:north"],"within":["10,10,5000"]}`)
	s.want(w, 201, "")
	var created webhook.State
	if err := json.Unmarshal(w.Body.Bytes(), &created); err != nil || created.Name != "alarm" ||
		!strings.HasPrefix(created.Secret, "whsec_") || w.Header().Get("Cache-Control") != "private, no-store" {
		t.Errorf("%s %v", w.Body, w.Header())
	}
	s.move("a", 10, 10)
	var streamed []event
	for range 3 {
		streamed = append(streamed, f.next())
	}
	var doc struct {
		Collection, Hook string
		Events           []json.RawMessage
	}
	body := <-bodies
	if err := json.Unmarshal([]byte(body), &doc); err != nil || doc.Collection != "taxis" || doc.Hook != "alarm" ||
		len(doc.Events) != len(streamed) {
		t.Fatalf("%s, want %v", body, streamed)
	}
	for i, e := range streamed {
		want := strings.Replace(e.data, `{"id":`, `{"id":"`+e.id+`","type":"`+e.name+`","point":`, 1)
		if got := string(doc.Events[i]); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if strings.Contains(body, first.id) {
		t.Errorf("the hook is told of what was before it: %s", body)
	}
	w = s.send(rootKey, "PUT", "/points/taxis/hooks/alarm", `{"url":"`+server.URL+`"}`)
	s.want(w, 200, "")
	if strings.Contains(w.Body.String(), created.Secret) || !strings.Contains(w.Body.String(), "whsec_") {
		t.Errorf("replaced: %s", w.Body)
	}
	for _, path := range []string{"/points/taxis/hooks", "/points/taxis/hooks/alarm"} {
		w = s.send(rootKey, "GET", path, "")
		s.want(w, 200, "")
		if strings.Contains(w.Body.String(), "whsec_") || !strings.Contains(w.Body.String(), `"name":"alarm"`) {
			t.Errorf("%s: %s", path, w.Body)
		}
	}
	s.want(s.send(rootKey, "DELETE", "/points/taxis/hooks/alarm", ""), 204, "")
	s.want(s.send(rootKey, "DELETE", "/points/taxis/hooks/alarm", ""), 404, "hook-not-found")
	s.want(s.send(rootKey, "GET", "/points/taxis/hooks/alarm", ""), 404, "hook-not-found")
	if w := s.send(rootKey, "GET", "/points/taxis/hooks", ""); w.Body.String() != `{"hooks":[]}` {
		t.Errorf("%s", w.Body)
	}
}

// Only a client that may write a collection may use its hooks.
func TestHooksNeedAScope(t *testing.T) {
	s := withHooks(t, false)
	s.make("shops", "")
	s.make("taxis", "")
	const body = `{"url":"https://example.org/"}`
	s.want(s.send(shopsKey, "PUT", "/points/shops/hooks/a", body), 201, "")
	for _, tt := range []struct{ method, path string }{{"PUT", "/a"}, {"GET", "/a"}, {"DELETE", "/a"}, {"GET", ""}, {"GET", "/none"}} {
		path := "/points/shops/hooks" + tt.path
		s.want(s.send("", tt.method, path, body), 401, "")
		s.want(s.send(plainKey, tt.method, path, body), 403, "scope-missing")
		s.want(s.send(readerKey, tt.method, path, body), 403, "scope-missing")
		s.want(s.send(shopsKey, tt.method, strings.Replace(path, "shops", "taxis", 1), body), 403, "scope-missing")
	}
	s.want(s.send(shopsKey, "GET", "/points/shops/hooks/a", ""), 200, "")
}

func TestHooksRefuse(t *testing.T) {
	s := withHooks(t, false)
	s.make("taxis", "")
	for body, typ := range map[string]string{
		"":          "bad-hook",
		"[]":        "bad-hook",
		"{}":        "bad-hook",
		`{"url":5}`: "bad-hook",
		`{"url":"https://example.org","secret":"x"}`:       "bad-hook",
		`{"url":"https://example.org"}{}`:                  "bad-hook",
		`{"url":"https://example.org"}]`:                   "bad-hook",
		"null":                                             "bad-hook",
		`{"url":"http://example.org"}`:                     "bad-hook",
		`{"url":"https://127.0.0.1/"}`:                     "bad-hook",
		`{"url":"https://example.org","enter":"state"}`:    "bad-hook",
		`{"url":"https://example.org","within":["1,2"]}`:   "bad-hook",
		`{"url":"https://example.org","within":["1,2,x"]}`: "bad-parameter",
		"{\"url\":\"https://example.org/\xff\"}":           "bad-hook",
	} {
		s.want(s.send(rootKey, "PUT", "/points/taxis/hooks/a", body), 400, typ)
	}
	s.want(s.send(rootKey, "PUT", "/points/taxis/hooks/a", `{"url":"https://example.org","enter":["planet"]}`), 404, "unknown-layer")
	s.want(s.send(rootKey, "PUT", "/points/taxis/hooks/a", `{"url":"https://example.org","enter":["state:none"]}`), 404, "region-not-found")
	s.want(s.send(rootKey, "PUT", "/points/taxis/hooks/A", `{"url":"https://example.org"}`), 400, "bad-hook")
	s.want(s.send(rootKey, "PUT", "/points/taxis/hooks/a", strings.Repeat(" ", maxBody+1)), 413, "body-too-large")
	s.want(s.send(rootKey, "PUT", "/points/none/hooks/a", `{"url":"https://example.org"}`), 404, "collection-not-found")
	s.want(s.send(rootKey, "PUT", "/points/taxis/hooks/a/b", `{}`), 404, "not-found")
	s.want(s.send(rootKey, "POST", "/points/taxis/hooks/a", ""), 405, "")
	for i := range webhook.MaxHooks {
		s.want(s.send(rootKey, "PUT", fmt.Sprint("/points/taxis/hooks/h", i), `{"url":"https://example.org"}`), 201, "")
	}
	s.want(s.send(rootKey, "PUT", "/points/taxis/hooks/more", `{"url":"https://example.org"}`), 409, "too-many-hooks")
}

// TestPointsCalledHooks tests that the id of a point may be a word that the service uses in its
// paths.
func TestPointsCalledHooks(t *testing.T) {
	s := withHooks(t, false)
	s.make("taxis", `{"history":"1h"}`)
	s.want(s.send(rootKey, "PUT", "/points/taxis/%68ooks", pointFeature("hooks", 1, 2, "{}")), 201, "")
	s.want(s.send("", "GET", "/points/taxis/%68ooks", ""), 200, "")
	s.want(s.send("", "GET", "/points/taxis/%68ooks/track", ""), 200, "")
	s.want(s.send(rootKey, "GET", "/points/taxis/hooks", ""), 200, "")
	s.want(s.send(rootKey, "PATCH", "/points/taxis/%68ooks", `{"properties":{"a":1}}`), 200, "")
	s.want(s.send(rootKey, "DELETE", "/points/taxis/%68ooks", ""), 204, "")
}
