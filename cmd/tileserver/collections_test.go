package main

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/internal/toyworld"
	"quadrille/internal/testrace"
	"quadrille/places/live"
	"quadrille/places/points"
)

// eventually waits until the answer of url contains text.
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

// The server serves a collection that is published while it runs, and lists it like other data
// sets.
func TestPublishedCollections(t *testing.T) {
	testrace.SkipUnderRace(t, "one server is started and asked, again and again")
	dir := t.TempDir()
	c := catalogIn(t, dir)
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
	answers(t, url+"/readyz", http.StatusOK)
	stop()
	// The next server serves it from the start. The server ignores a directory whose name is not
	// that of a collection.
	if err := os.MkdirAll(filepath.Join(dir, "points-"), 0o755); err != nil {
		t.Fatal(err)
	}
	url, _, stop = start(t, "--data", dir)
	answers(t, url+"/points/shops/s-2", http.StatusOK, `"id":"s-2"`)
	stop()
}

// A collection is dropped, or its directory is removed, while the server runs. The server then
// behaves as if the collection had never existed. Other collections are not affected.
func TestDroppedCollections(t *testing.T) {
	dir := t.TempDir()
	c := catalogIn(t, dir)
	if err := toyworld.PublishShops(t.Context(), c, 20); err != nil {
		t.Fatal(err)
	}
	url, log, stop := start(t, "--data", dir)
	neverCode, never := fetch(t, url+"/points/stops")
	for name, take := range map[string]func() error{
		"dropped": func() error { _, err := c.Unpublish(t.Context(), "points-shops"); return err },
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
		var err error
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
	stop()
}

// Live collections are in a directory, which only one server may open.
func TestLiveCollections(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "live")
	args := []string{"--data", t.TempDir(), "--live", dir}
	url, _, stop := start(t, args...)
	if code, got := fetch(t, url+"/points"); code != http.StatusOK || got != `{"collections":[]}` {
		t.Errorf("%d %s", code, got)
	}
	refused(t, "--live: "+dir+" is in use by another process: stop it", append([]string{"--listen", "127.0.0.1:0"}, args...)...)
	stop()
	store, err := toyworld.Open("", dir, false)
	if err != nil {
		t.Fatal(err)
	}
	opened, err := live.Open(t.Context(), store, points.LiveKind)
	if err != nil {
		t.Fatal(err)
	}
	l, err := opened.Create(t.Context(), live.Meta{Name: "drivers"})
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Write(t.Context(), []live.Write{{ID: "a", Lat: 1, Lon: 2, Properties: []byte(`{}`)}}, make([]live.Outcome, 1)); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{opened.Close(), store.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	url, _, stop = start(t, args...)
	answers(t, url+"/points/drivers/nearby?lat=0&lon=0", http.StatusOK, `"id":"a","lat":1,"lon":2`)
	eventually(t, url+"/metrics", `{dataset="points",table="points"}`)
	stop()
	file := filepath.Join(t.TempDir(), "file")
	testfile.Write(t, file, "")
	for arg, want := range map[string]string{"hbase://host:9090/ns": "--live must be a directory", file: "--live: "} {
		refused(t, want, "--data", t.TempDir(), "--live", arg)
	}
}
