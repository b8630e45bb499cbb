package main

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/internal/testfile"
	"quadrille/cmd/tileserver/internal/quota"
)

func TestKeysCommand(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	var out bytes.Buffer
	for _, args := range [][]string{
		{"keys", "new", "acme", "--keys", file, "--limit=2/1m", "--limit=100/1d"},
		{"keys", "new", "other", "--keys", file},
	} {
		if err := run(t.Context(), args, &out, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	printed := strings.Fields(out.String())
	text := testfile.Read(t, file)
	if st, _ := os.Stat(file); st.Mode().Perm() != 0o600 {
		t.Errorf("the file has mode %v", st.Mode())
	}
	if len(printed) != 2 || strings.Contains(string(text), printed[0]) || strings.Count(string(text), "\n") != 2 {
		t.Fatalf("printed %q into\n%s", printed, text)
	}
	keys, err := (&guardConfig{Keys: file}).readKeys()
	if err != nil {
		t.Fatal(err)
	}
	if k := keys.Find(printed[0]); k == nil || k.Name != "acme" || k.Limits[0] != 2 {
		t.Errorf("found %+v", k)
	}
	for _, args := range [][]string{
		{"keys", "new", "two words", "--keys", file}, {"keys", "new", "a", "--keys", file, "--limit=1/2m"}, {"keys", "new", "a"}, {"keys"},
		{"keys", "new", "a", "--keys", file, "--limit=1/1m", "--limit=2/1m"}, {"keys", "new", "a", "--keys", "/etc/hostname-not/there"},
	} {
		if err := run(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%q was done", args)
		}
	}
	if after, _ := os.ReadFile(file); !bytes.Equal(after, text) {
		t.Errorf("refused commands changed the file to\n%s", after)
	}
}

func TestGuardFlags(t *testing.T) {
	for _, args := range [][]string{
		{"--keys=" + filepath.Join(t.TempDir(), "none"), "--listen=127.0.0.1:0"},
		{"--admin-listen=256.0.0.1:1", "--listen=127.0.0.1:0"},
	} {
		if err := run(t.Context(), append(args, "--data="+t.TempDir()), io.Discard, io.Discard); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}

// TestGuarded tests metrics, profiles, keys that change while the server runs, and counts that
// survive a restart.
func TestGuarded(t *testing.T) {
	dir, file, usage := t.TempDir(), filepath.Join(t.TempDir(), "keys"), t.TempDir()
	publish(t, dir)
	var out bytes.Buffer
	if err := run(t.Context(), []string{"keys", "new", "acme", "--keys", file, "--limit=3/1d"}, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	key := strings.TrimSpace(out.String())
	args := []string{"--data=" + dir, "--keys=" + file, "--usage=" + usage, "--admin-listen=127.0.0.1:0", "--no-public-metrics"}
	url, _, stop := start(t, args...)
	ask := func(want int) {
		t.Helper()
		if code, b := fetch(t, url+"/regions/at?lat=48&lon=4&key="+key); code != want {
			t.Fatalf("%d %s, want %d", code, b, want)
		}
	}
	ask(200)
	ask(200)
	stop()
	url, log, stop := start(t, args...)
	ask(200)
	ask(429)
	answers(t, url+"/ip/1.2.3.4", http.StatusUnauthorized)
	answers(t, url+"/metrics", http.StatusNotFound)
	answers(t, url+"/debug/pprof/", http.StatusNotFound)
	admin := adminOf(t, log)
	for path, want := range map[string]string{
		"/metrics":               "quadrille_http_refused_total{reason=\"no_key\"} 1",
		"/debug/pprof/":          "goroutine",
		"/debug/pprof/goroutine": "",
		"/healthz":               "ok",
		"/status":                "datasets",
		"/usage/top":             "127.0.0.1",
	} {
		answers(t, admin+path, 200, want)
	}
	for _, metric := range []string{`quadrille_store_seeks_total{dataset="ip",table="ip"}`, "quadrille_block_cache_bytes",
		"go_goroutines", "process_cpu_seconds_total", "quadrille_usage_clients"} {
		if _, b := fetch(t, admin+"/metrics"); !strings.Contains(b, metric) {
			t.Errorf("no %s in the metrics", metric)
		}
	}
	answers(t, admin+"/tiles/all.json", http.StatusNotFound)
	stop()
}

// The admin listener has no base path, because it is a separate host.
func TestAdminBasePath(t *testing.T) {
	_, log, stop := start(t, "--data="+t.TempDir(), "--base-path=/maps", "--admin-listen=127.0.0.1:0")
	admin := adminOf(t, log)
	for _, path := range []string{"/healthz", "/readyz", "/status", "/metrics"} {
		answers(t, admin+path, http.StatusOK)
	}
	stop()
}

func TestLocalOnly(t *testing.T) {
	h := localOnly(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	for host, want := range map[string]int{
		"localhost": 200, "LOCALHOST:6060": 200, "127.0.0.1:6060": 200, "127.9.9.9": 200, "[::1]:6060": 200, "::1": 200,
		"":                          403,
		"evil.example":              403,
		"evil.example:6060":         403,
		"localhost.evil.example":    403,
		"198.51.100.7":              403,
		"127.0.0.1.evil.example:80": 403,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = host
		w := httptest.NewRecorder()
		if h.ServeHTTP(w, r); w.Code != want {
			t.Errorf("%q: %d, want %d", host, w.Code, want)
		}
	}
}

// The time of the next check of files does not depend on the time of day.
func TestReloadInterval(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := (&newKeyCommand{Name: "one"}).addKey(t.Context(), file, "first", io.Discard); err != nil {
		t.Fatal(err)
	}
	keys, err := newReloaded(slog.New(slog.DiscardHandler), "--keys", (&guardConfig{Keys: file}).readKeys, file)
	if err != nil {
		t.Fatal(err)
	}
	var now time.Duration
	keys.elapsed = func() time.Duration { return now }
	for i, key := range []string{"second", "third", "fourth"} {
		if err := (&newKeyCommand{Name: "more"}).addKey(t.Context(), file, key, io.Discard); err != nil {
			t.Fatal(err)
		}
		if now += reloadInterval - 1; keys.get().Find(key) != nil {
			t.Errorf("look %d: before its time", i)
		}
		if now++; keys.get().Find(key) == nil {
			t.Errorf("look %d: not when it was due", i)
		}
	}
}

// Changed keys take effect. If the file is broken, the previous keys stay in use.
func TestKeysReload(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys")
	if err := (&newKeyCommand{Name: "one"}).addKey(t.Context(), file, "first", io.Discard); err != nil {
		t.Fatal(err)
	}
	var log syncBuffer
	keys, err := newReloaded(slog.New(slog.NewTextHandler(&log, nil)), "--keys", (&guardConfig{Keys: file}).readKeys, file)
	if err != nil {
		t.Fatal(err)
	}
	keys.interval = 0
	keys.next.Store(0)
	if err := (&newKeyCommand{Name: "two"}).addKey(t.Context(), file, "second", io.Discard); err != nil {
		t.Fatal(err)
	}
	if keys.get().Find("second") == nil {
		t.Error("a new key is not known")
	}
	testfile.Write(t, file, "broken")
	later := time.Now().Add(time.Minute)
	if err := os.Chtimes(file, later, later); err != nil {
		t.Fatal(err)
	}
	if keys.get().Find("first") == nil || !strings.Contains(log.String(), "--keys") {
		t.Errorf("a broken file: %s", log.String())
	}
}

// Without disk space for the store of counts, the server counts in memory. It makes the store once
// there is space.
func TestUsageWithoutRoom(t *testing.T) {
	var log syncBuffer
	full, opens := true, 0
	u := &usage{log: slog.New(slog.NewTextHandler(&log, nil)), openStore: func() (*pebblestore.Store, error) {
		if opens++; full {
			return nil, cellstore.ErrNoSpace
		}
		return pebblestore.Open(t.TempDir(), nil)
	}}
	err := u.open(t.Context())
	if !errors.Is(err, cellstore.ErrNoSpace) {
		t.Fatal(err)
	}
	u.report(err)
	meter, err := quota.Open(t.Context(), quota.Options{Table: u, Clients: 64})
	if err != nil || meter == nil {
		t.Fatal(err)
	}
	if _, err := u.Increment(t.Context(), cellstore.Increment{}, nil); !errors.Is(err, cellstore.ErrNoSpace) {
		t.Error(err)
	}
	if u.mend(t.Context()); !errors.Is(u.why(), cellstore.ErrNoSpace) {
		t.Error(u.why())
	}
	full = false
	if u.mend(t.Context()); u.why() != nil || u.table.Load() == nil || !strings.Contains(log.String(), "kept on the disk again") {
		t.Error(u.why(), log.String())
	}
	u.report(cellstore.ErrCorrupt)
	u.rests = 1
	if u.mend(t.Context()); u.why() == nil || u.rests != 0 || opens != 3 {
		t.Error("damage was not left alone", u.why(), u.rests, opens)
	}
	if _, err := u.Increment(t.Context(), cellstore.Increment{}, nil); !errors.Is(err, cellstore.ErrCorrupt) {
		t.Error(err)
	}
	if err := u.close(); err != nil {
		t.Error(err)
	}
}
