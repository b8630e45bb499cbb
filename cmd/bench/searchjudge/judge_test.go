package main

import (
	"bytes"
	"context"
	"flag"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"quadrille/cmd/bench/judged"
)

var update = flag.Bool("update", false, "write the recorded files of failing queries")

func queriesOf(t *testing.T) []query {
	t.Helper()
	list, err := readHalves()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestTable(t *testing.T) {
	list := queriesOf(t)
	type identity struct{ text, near, set string }
	seen := map[identity]bool{}
	for i := range list {
		q := &list[i]
		for _, set := range []string{setDemo, setFull} {
			is := identity{q.text, q.near, set}
			if q.on(set) && seen[is] {
				t.Errorf("%q near %q is there twice for %s", q.text, q.near, set)
			}
			seen[is] = seen[is] || q.on(set)
		}
	}
	for _, h := range halves {
		for _, set := range []string{setDemo, setFull} {
			n := 0
			for i := range list {
				if list[i].half == h.name && list[i].on(set) {
					n++
				}
			}
			if n < 300 {
				t.Errorf("%d queries of %s in %s.tsv", n, set, h.name)
			}
		}
	}
	for _, bad := range []string{
		"", "x", header + "\nboth\tc\tq\t", header + "\nnone\tc\tq\t\tplace US", header + "\nboth\tc\tq\tx\tplace US",
		header + "\nboth\tc\tq\t\tplace", header + "\nboth\tc\tq\t\tnothing FR 1,2",
		header + "\nboth\tc\tq\t\tplace US 1 2", header + "\nboth\tc\tq\t\tplace US 1,2 0",
	} {
		if _, err := readQueries(halfFresh, bad); err == nil {
			t.Errorf("%q is a table", bad)
		}
	}
}

func TestFigures(t *testing.T) {
	list, err := readQueries(halfFresh,
		header+"\nboth\tplaces\ta\t\tplace FR 48,2 10 | country FR\nboth\tplaces\tb\t\tplace FR\nboth\tplaces\tc\t\tplace FR\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a    answer
		want bool
	}{
		{answer{Kind: "place", Country: "FR", Lat: 48.05, Lon: 2}, true},
		{answer{Kind: "place", Country: "FR", Lat: 48.1, Lon: 2}, false},
		{answer{Kind: "place", Country: "US", Lat: 48, Lon: 2}, false},
		{answer{Kind: "airport", Country: "FR", Lat: 48, Lon: 2}, false},
		{answer{Kind: "region", Type: "country", Country: "FR"}, true},
	} {
		if got := list[0].meets(&c.a); got != c.want {
			t.Errorf("%+v: %v", c.a, got)
		}
	}
	j := judgement{set: "demo", outcomes: []outcome{{&list[0], 1, "place A"}, {&list[1], 2, "place B"}, {&list[2], 0, "nothing"}}}
	if got, want := figures([]judgement{j}), "| demo | fresh.tsv | places | 3 | 0.333 | 0.667 | 0.500 |\n| demo | "+
		"fresh.tsv | **all** | 3 | 0.333 | 0.667 | 0.500 |\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s", got)
	}
	const failing = "category\tquery\tnear\trank\tfirst answer\nplaces\tb\t\t2\tplace B\nplaces\tc\t\t0\tnothing\n"
	if got := string(j.failing(halfFresh)); got != failing {
		t.Errorf("got\n%s", got)
	}
	const none = "category\tquery\tnear\trank\tfirst answer\n"
	if got := string(j.failing(halfQueries)); got != none {
		t.Errorf("got\n%s", got)
	}
}

// TestNothing searches for texts that name nothing.
func TestNothing(t *testing.T) {
	list, err := readQueries(halfFresh, header+"\nboth\tmiss\ta\t\tnothing\nboth\tmiss\ta\t\tnothing | place FR\nboth\tmiss\ta\t\tplace FR\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status int
		body   string
		ranks  []int
	}{
		{http.StatusOK, `{"results":[]}`, []int{1, 1, 0}},
		{http.StatusOK, `{"results":[{"kind":"place","country":"FR"}]}`, []int{0, 1, 1}},
		{http.StatusOK, `{"results":[{"kind":"place","country":"US"}]}`, []int{0, 0, 0}},
		{http.StatusBadRequest, `{}`, []int{0, 0, 0}},
	} {
		site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			_, _ = io.WriteString(w, c.body)
		}))
		j, err := ask(t.Context(), site.URL, setDemo, list)
		site.Close()
		if err != nil {
			t.Fatal(err)
		}
		for i, rank := range c.ranks {
			if got := j.outcomes[i].rank; got != rank {
				t.Errorf("%d %s: query %d has rank %d instead of %d", c.status, c.body, i, got, rank)
			}
		}
	}
}

// TestDemo compares the failures on the demo's data with the recorded ones: a change shows which
// queries it repairs and which it breaks.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("the demo's data takes minutes: run without -short")
	}
	p := judged.Programs{Dir: t.TempDir()}
	data, sample := os.Getenv("QUADRILLE_DEMO_DATA"), filepath.Join("..", "..", "..", "sample")
	if data == "" {
		if _, err := os.Stat(filepath.Join(sample, "node_modules")); err != nil {
			t.Skip("the sample packages are not installed: run make sample, or name the demo's data in QUADRILLE_DEMO_DATA")
		}
	}
	if err := p.Build(t.Context()); err != nil {
		t.Fatal(err)
	}
	if data == "" {
		data = t.TempDir()
		if err := p.Ingest(t.Context(), data, "demo", "--sample", sample); err != nil {
			t.Fatal(err)
		}
	}
	var j judgement
	err := p.Serve(t.Context(), data, func(ctx context.Context, site string) (err error) {
		j, err = ask(ctx, site, setDemo, queriesOf(t))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range halves {
		path := filepath.Join("testdata", recorded(setDemo, h.name))
		now := j.failing(h.name)
		if *update {
			if err := os.WriteFile(path, now, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(before, now) {
			t.Errorf("what fails of %s.tsv has changed (- before, + now); if that is right, run with -update:\n%s", h.name,
				judged.Difference(before, now))
		}
	}
	if !slices.ContainsFunc(j.outcomes, func(o outcome) bool { return o.rank == 1 }) {
		t.Error("nothing is found at all")
	}
}
