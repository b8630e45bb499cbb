package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// A hook survives a restart of the server.
func TestHooksOverRestarts(t *testing.T) {
	taken := make(chan string, 100)
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var doc struct {
			Events []struct{ Point, Type string }
		}
		if err := json.NewDecoder(r.Body).Decode(&doc); err != nil {
			t.Error(err)
		}
		for _, e := range doc.Events {
			taken <- e.Type + " " + e.Point
		}
	}))
	t.Cleanup(receiver.Close)
	dir := t.TempDir()
	keys := filepath.Join(dir, "keys")
	var key strings.Builder
	if err := run(t.Context(), []string{"keys", "new", "fleet", "--keys", keys, "--scope", "write:taxis"}, &key, io.Discard); err != nil {
		t.Fatal(err)
	}
	args := []string{"--data", t.TempDir(), "--live", filepath.Join(dir, "live"), "--keys", keys}
	send := func(url, path, body string, status int) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url+"/points/taxis"+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Api-Key", strings.TrimSpace(key.String()))
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		if text, _ := io.ReadAll(res.Body); res.StatusCode != status {
			t.Fatalf("%s: %s %s, want %d", path, res.Status, text, status)
		}
	}
	hook := `{"url":"` + receiver.URL + `","bbox":["0,0,10,10"]}`
	point := `{"type":"Feature","geometry":{"type":"Point","coordinates":[5,5]}}`
	url, _, stop := start(t, args...)
	send(url, "", "", http.StatusCreated)
	send(url, "/hooks/alarm", hook, http.StatusBadRequest) // to this machine, and over http
	stop()
	args = append(args, "--hooks-private")
	url, _, stop = start(t, args...)
	send(url, "/hooks/alarm", hook, http.StatusCreated)
	send(url, "/t-1", point, http.StatusCreated)
	if got := <-taken; got != "enter t-1" {
		t.Error(got)
	}
	stop()
	url, _, _ = start(t, args...)
	send(url, "/t-2", point, http.StatusCreated)
	for got := range taken {
		if got == "enter t-2" {
			break
		}
		if got != "enter t-1" { // which may come again
			t.Error(got)
		}
	}
	eventually(t, url+"/metrics", `quadrille_hook_deliveries_total{outcome="delivered"}`)
}
