package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// A soak sends the requested number of requests, of every kind, swaps generations meanwhile and
// counts failures.
func TestSoak(t *testing.T) {
	var broken atomic.Bool
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/gone":
			http.Error(w, "worded one way or the other", http.StatusNotFound)
		case r.Header.Get("If-None-Match") != "":
			w.WriteHeader(http.StatusNotModified)
		case broken.Load():
			http.Error(w, "broken", http.StatusInternalServerError)
		default:
			_, _ = w.Write([]byte("body"))
		}
	}))
	defer server.Close()
	mix := []kind{
		{"found", 50, []answer{{Path: "/a", Body: []byte("body")}, {Path: "/b", Body: []byte("body")}}},
		{"not found", 25, []answer{{Path: "/gone", Status: 404}}},
		{"not modified", 25, []answer{{Path: "/a", Match: `"x"`, Status: 304}}},
	}
	cmd := soakCmd{Swaps: 3, Samples: 30, Connections: 4, Requests: 6000}
	load := newSoakLoad(server.URL, mix, cmd.Connections, cmd.Requests)
	swaps, looks := 0, 0
	res, err := cmd.watch(t.Context(), load, func(context.Context) error {
		swaps++
		return nil
	}, func() (state, error) {
		looks++
		return state{Heap: float64(looks) * (8 << 20), Goroutines: 7}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	sum := int64(0)
	for _, n := range res.Kinds {
		sum += n
	}
	if res.Requests != 6000 || sum != 6000 || res.Failed != 0 || res.Swaps != 3 || swaps != 3 || looks != 30 || res.Kinds["found"] < 2500 {
		t.Errorf("%+v, %d swaps, %d looks", res, swaps, looks)
	}
	if res.Opened < 6 || len(res.Tenths) != 10 || res.Tenths[0].Heap != 16<<20 || len(res.Grown) != 1 {
		t.Errorf("%+v", res)
	}
	var b strings.Builder
	if err := cmd.table(&b, res); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| mixed | 6000 | 0 |", "| 90–100 % |", "**it grows:** live heap", "not found 25."} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is missing in\n%s", want, &b)
		}
	}

	broken.Store(true)
	load = newSoakLoad(server.URL, mix, 2, 1000)
	load.run(t.Context())
	if n := load.kinds()["found"]; load.failed.Load() != n || n == 0 || len(load.first) != maxTold ||
		!strings.Contains(load.first[0], "answered 500, want 200") {
		t.Errorf("%d of %d failed: %q", load.failed.Load(), n, load.first)
	}

	// If the server cannot be observed, the soak test ends, including the load.
	load = newSoakLoad(server.URL, mix, 2, 1<<40)
	if _, err := (&soakCmd{Samples: 1 << 30}).watch(t.Context(), load, nil,
		func() (state, error) { return state{}, errors.New("dead") }); err == nil {
		t.Error("no error")
	}
}

func TestGrown(t *testing.T) {
	base := state{RSS: 90 << 20, Anon: 80 << 20, Heap: 20 << 20, Goroutines: 90, Files: 90}
	for _, tt := range []struct {
		name string
		to   state
		want int
	}{
		{"equal", base, 0},
		{"within", state{RSS: 200 << 20, Anon: 104 << 20, Heap: 26 << 20, Goroutines: 115, Files: 115}, 0},
		{"smaller", state{}, 0},
		{"all of it", state{Anon: 105 << 20, Heap: 27 << 20, Goroutines: 116, Files: 116}, 4},
	} {
		if got := grown(base, tt.to); len(got) != tt.want {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
	if got := middle([]state{{Heap: 3}, {Heap: 1}, {Heap: 2, Files: 9}}); got != (state{Heap: 2}) {
		t.Errorf("%+v", got)
	}
}

// TestKindCheck tests that answers that do not fit the purpose of their kind of requests are
// refused, because they mean that the mix has a mistake.
func TestKindCheck(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		ok     bool
	}{
		{"tiles", 200, true},
		{"tiles", 204, true},
		{"tiles", 404, false},
		{"not found", 404, true},
		{"not found", 200, false},
		{"refused", 400, true},
		{"not modified", 200, false},
		{"not modified", 304, true},
	} {
		k := kind{name: tt.name, all: []answer{{Status: tt.status}}}
		if err := k.check(); (err == nil) != tt.ok {
			t.Errorf("%s %d: %v", tt.name, tt.status, err)
		}
	}
}

func TestLines(t *testing.T) {
	text := "# HeapAlloc = 123\nVmRSS:\t  4567 kB\ngo_goroutines 9\ngo_goroutines_x nothing\nbroken\n"
	if got := lines(strings.NewReader(text), "# HeapAlloc =", "VmRSS:", "go_goroutines ", "none"); !slices.Equal(got,
		[]float64{123, 4567, 9, 0}) {
		t.Errorf("%v", got)
	}
}
