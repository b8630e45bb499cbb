package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore/dataset"
	"quadrille/cmd/internal/toyworld"
	"quadrille/internal/testrace"
	"quadrille/places/points"
)

// eventually waits until an answer has a text in it.
func eventually(t *testing.T, url, text string) {
	t.Helper()
	for hopeless := time.After(2 * time.Minute); ; {
		_, got := fetch(t, url)
		if strings.Contains(got, text) {
			return
		}
		select {
		case <-hopeless:
			t.Fatalf("%s: no %s in %s", url, text, got)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// A collection that is published while the server runs is served, and told of as other
// data sets are.
func TestPublishedCollections(t *testing.T) {
	testrace.Plain(t, "one server is started and asked, again and again")
	dir := t.TempDir()
	c, err := dataset.Open(dir, toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	url, _, stop := start(t, "--data", dir)
	if code, got := fetch(t, url+"/points"); code != http.StatusOK || got != `{"collections":[]}` {
		t.Errorf("%d %s", code, got)
	}
	for _, number := range []string{"20", "30"} {
		n := map[string]int{"20": 20, "30": 30}[number]
		if err := toyworld.PublishShops(t.Context(), c, n); err != nil {
			t.Fatal(err)
		}
		eventually(t, url+"/points", `"points":`+number)
		eventually(t, url+"/points/shops/count", `{"count":`+number+`}`)
	}
	eventually(t, url+"/status", `"name":"points-shops","state":"serving","generation":2`)
	eventually(t, url+"/metrics", `dataset="points-shops"`)
	if code, got := fetch(t, url+"/readyz"); code != http.StatusOK {
		t.Errorf("%d %s", code, got)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
	// It is there from the start the next time. A name that is no collection's is left alone.
	if err := os.MkdirAll(filepath.Join(dir, "points-"), 0o755); err != nil {
		t.Fatal(err)
	}
	url, _, stop = start(t, "--data", dir)
	if code, got := fetch(t, url+"/points/shops/s-2"); code != http.StatusOK || !strings.Contains(got, `"id":"s-2"`) {
		t.Errorf("%d %s", code, got)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// A collection that is dropped while the server runs, or whose directory is removed, is
// like one that has never been, and nothing else suffers.
func TestDroppedCollections(t *testing.T) {
	dir := t.TempDir()
	c, err := dataset.Open(dir, toyworld.Open)
	if err != nil {
		t.Fatal(err)
	}
	if err := toyworld.PublishShops(t.Context(), c, 20); err != nil {
		t.Fatal(err)
	}
	url, log, stop := start(t, "--data", dir)
	neverCode, never := fetch(t, url+"/points/stops")
	for name, take := range map[string]func() error{
		"dropped": func() error { _, err := c.Drop(t.Context(), "points-shops"); return err },
		"removed": func() error { return os.RemoveAll(filepath.Join(dir, "points-shops")) },
	} {
		eventually(t, url+"/points/shops/count", `{"count":20}`)
		if err := take(); err != nil {
			t.Fatal(err)
		}
		eventually(t, url+"/points/shops", "collection-not-found")
		if code, got := fetch(t, url+"/points/shops"); code != neverCode || got != never {
			t.Errorf("%s: %d %s, want %d %s", name, code, got, neverCode, never)
		}
		for path, want := range map[string]string{"/points": `{"collections":[]}`, "/readyz": `{"status":"ready"}`} {
			if code, got := fetch(t, url+path); code != http.StatusOK || got != want {
				t.Errorf("%s: %s: %d %s", name, path, code, got)
			}
		}
		if _, got := fetch(t, url+"/metrics"); strings.Contains(got, `dataset="points-shops",state`) {
			t.Errorf("%s: still in the metrics", name)
		}
		if name == "dropped" {
			_, err = c.Rollback(t.Context(), "points-shops")
		} else {
			err = toyworld.PublishShops(t.Context(), c, 20)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, url+"/points/shops/count", `{"count":20}`)
	if !log.has("out of service") {
		t.Errorf("nobody is told: %s", log)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}

// Live collections are those of a directory, which one server has.
func TestLiveCollections(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "live")
	args := []string{"--data", t.TempDir(), "--live", dir}
	url, _, stop := start(t, args...)
	if code, got := fetch(t, url+"/points"); code != http.StatusOK || got != `{"collections":[]}` {
		t.Errorf("%d %s", code, got)
	}
	err := run(t.Context(), append([]string{"--listen", "127.0.0.1:0"}, args...), io.Discard, io.Discard)
	if err == nil || !strings.Contains(err.Error(), "--live: "+dir+" is in use by another process: stop it") {
		t.Errorf("the second server: %v", err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	store, err := toyworld.Open("", dir, false)
	if err != nil {
		t.Fatal(err)
	}
	live, err := points.OpenLive(t.Context(), store)
	if err != nil {
		t.Fatal(err)
	}
	l, err := live.Create(t.Context(), points.Meta{Name: "drivers"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Write(t.Context(), []points.Write{{ID: "a", Lat: 1, Lon: 2, Properties: []byte(`{}`)}}, make([]points.Outcome, 1)); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{live.Close(), store.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	url, _, stop = start(t, args...)
	if code, got := fetch(t, url+"/points/drivers/nearby?lat=0&lon=0"); code != http.StatusOK || !strings.Contains(got, `"id":"a","lat":1,"lon":2`) {
		t.Errorf("%d %s", code, got)
	}
	eventually(t, url+"/metrics", `{dataset="points",table="points"}`)
	if err := stop(); err != nil {
		t.Error(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]string{"hbase://host:9090/ns": "--live must be a directory", file: "--live: "} {
		if err := run(t.Context(), []string{"--data", t.TempDir(), "--live", arg}, io.Discard, io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", arg, err)
		}
	}
}
