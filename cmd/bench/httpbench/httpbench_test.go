package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// The generator alternates between two servers, and notices answers that differ from the expected
// ones.
func TestLoadBare(t *testing.T) {
	answers := []answer{
		{Path: "/tiles/a/1/0/0.mvt", Type: "application/x", Body: bytes.Repeat([]byte("x"), 100_000)},
		{Path: "/tiles/a/1/0/0.mvt", Accept: "br", Type: "application/x", Encoding: "br", Body: []byte("xx")},
		{Path: "/ip/1.2.3.4", Accept: "gzip", Type: "application/json", Encoding: "gzip", Body: []byte("{}")},
		{Path: "/ip/me", Forwarded: "5.6.7.8", Type: "application/json", Body: []byte("{5.6.7.8}")},
	}
	one, two := httptest.NewServer(bare(answers)), httptest.NewServer(bare(answers))
	defer one.Close()
	defer two.Close()
	l := loadCmd{
		URL:         []string{one.URL, two.URL},
		PID:         []int{os.Getpid(), os.Getpid()},
		Rounds:      3,
		Duration:    5 * time.Millisecond,
		Connections: 3,
	}
	got, err := l.measure([][]answer{answers, answers[1:]})
	if err != nil {
		t.Fatal(err)
	}
	for i, m := range got {
		if len(m.Rates) != 3 || len(m.CPU) != 3 || median(m.Rates) <= 0 {
			t.Errorf("server %d: %+v", i, m)
		}
	}
	p := pacedCmd{URL: l.URL, Rate: 2000, Rounds: 3, Duration: 10 * time.Millisecond, Connections: 3}
	for name, wrong := range map[string]answer{
		"bytes, want":  {Path: "/ip/1.2.3.4", Accept: "gzip", Body: []byte("longer than that")},
		"answered 404": {Path: "/ip/none"},
		"answered 200": {Path: "/ip/1.2.3.4", Accept: "gzip", Status: 304},
		"bytes, want ": {Path: "/tiles/a/1/0/0.mvt"},
	} {
		list := [][]answer{{wrong}, answers}
		if _, err := l.measure(list); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%+v: %v, want an error with %q", wrong, err, name)
		}
		if _, err := p.measure(list); err == nil || !strings.Contains(err.Error(), strings.TrimSpace(name)) {
			t.Errorf("%+v, at fixed times: %v, want an error with %q", wrong, err, name)
		}
	}
	for _, few := range [][][]answer{nil, {answers}, {answers, nil}} {
		if _, err := l.measure(few); err == nil {
			t.Errorf("no error for %d lists", len(few))
		}
	}
}

// At a fixed rate, the latency of a stalled answer counts from the time at which its request was
// due.
func TestPaced(t *testing.T) {
	answers := []answer{{Path: "/ip/1.2.3.4", Body: bytes.Repeat([]byte("x"), 200_000)}, {Path: "/ip/5.6.7.8", Body: []byte("{}")}}
	var asked atomic.Int64
	const stall = 60 * time.Millisecond
	handler := bare(answers)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if asked.Add(1) == 2 {
			time.Sleep(stall)
		}
		handler.ServeHTTP(w, r)
	}))
	defer server.Close()
	p, err := newPacer(server.URL, answers, 1)
	if err != nil {
		t.Skip(err)
	}
	defer p.close()
	took, err := p.run(500, 100*time.Millisecond)
	if err != nil {
		t.Fatal(err)
	}
	if len(took) != 50 {
		t.Fatalf("%d requests, want 50", len(took))
	}
	// The second request stalls, and the later ones on the same connection are late too.
	for i, least := range []time.Duration{0, stall, stall - 10*time.Millisecond, stall - 20*time.Millisecond} {
		if took[i] < least {
			t.Errorf("request %d took %v, want %v at least", i, took[i], least)
		}
	}
}

// TestNotModified tests that the scenario of notModified expects status 304 for a request with the
// ETag. The tile server is compared with its own full answers.
func TestNotModified(t *testing.T) {
	tile := answer{Path: "/tiles/a/1/0/0.mvt", Status: 200, ETag: `"x"`, Body: []byte("tile")}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", tile.ETag)
		if r.Header.Get("If-None-Match") == tile.ETag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write(tile.Body)
	}))
	defer server.Close()
	s := notModified([]answer{tile})
	b := &bench{ours: &running{url: server.URL}, bare: &running{url: "http://nobody"}}
	servers, answers := b.against(s)
	l := loadCmd{PID: []int{os.Getpid(), os.Getpid()}, Rounds: 2, Duration: time.Millisecond, Connections: 1}
	for _, r := range servers {
		l.URL = append(l.URL, r.url)
	}
	if _, err := l.measure(answers); err != nil {
		t.Error(err)
	}
	if _, err := l.measure([][]answer{s.Own, s.Own}); err != nil {
		t.Error(err)
	}
	got := tile
	got.Match = tile.ETag
	if err := got.fetch(t.Context(), server.URL); err != nil || got.Status != 304 || len(got.Body) != len(tile.Body) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTable(t *testing.T) {
	r := runCmd{Rounds: 7, Duration: time.Second, Connections: 8}
	results := []result{
		{Name: "tile", Ours: 90, Against: against, Theirs: 100, Ratio: 0.9, Budget: budget},
		{Name: "304", Ours: 110, Against: "our own", Theirs: 100, Ratio: 1.1, Budget: 1},
	}
	var b strings.Builder
	if err := r.table(&b, results); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| tile | 90 | bare echo handler, same bytes | 100 | 0.90 | ≥ 0.85 |",
		"| 304 | 110 | our own | 100 | 1.10 | ≥ 1.00 |"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &b)
		}
	}
}

func TestMedian(t *testing.T) {
	for _, tt := range []struct {
		v    []float64
		want float64
	}{{nil, 0}, {[]float64{3}, 3}, {[]float64{5, 1, 3}, 3}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(tt.v); got != tt.want {
			t.Errorf("median of %v is %v, want %v", tt.v, got, tt.want)
		}
	}
}

// Each measure of memory is shown with its own budget.
func TestMemoryTable(t *testing.T) {
	got := memoryTable([]footprint{{When: "ready", RSS: 60 << 20, Anon: 20 << 20}})
	want := "| memory with --cache 1MiB | anonymous (RssAnon) | its budget | resident, with mapped files (VmRSS) | its " +
		"budget |\n|---|---|---|---|---|\n" +
		"| ready | 20.0 MiB | ≤ 100.0 MiB | 60.0 MiB | ≤ 150.0 MiB |\n"
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
