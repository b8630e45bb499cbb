package main

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the recorded files of failing queries")

func queriesOf(t *testing.T) []query {
	t.Helper()
	list, err := readQueries(table)
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
	for _, set := range []string{setDemo, setFull} {
		n := 0
		for i := range list {
			if list[i].on(set) {
				n++
			}
		}
		if n < 400 {
			t.Errorf("%d queries of %s", n, set)
		}
	}
	for _, bad := range []string{
		"", "x", header + "\nboth\tc\tq\t", header + "\nnone\tc\tq\t\tplace US", header + "\nboth\tc\tq\tx\tplace US",
		header + "\nboth\tc\tq\t\tplace", header + "\nboth\tc\tq\t\tplace US 1 2", header + "\nboth\tc\tq\t\tplace US 1,2 0",
	} {
		if _, err := readQueries(bad); err == nil {
			t.Errorf("%q is a table", bad)
		}
	}
}

func TestFigures(t *testing.T) {
	list, err := readQueries(header + "\nboth\tplaces\ta\t\tplace FR 48,2 10 | country FR\nboth\tplaces\tb\t\tplace FR\nboth\tplaces\tc\t\tplace FR\n")
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
	if got, want := figures([]judgement{j}), "| demo | places | 3 | 0.333 | 0.667 | 0.500 |\n| demo | **all** | 3 | 0.333 | 0.667 | 0.500 |\n"; !strings.HasSuffix(got, want) {
		t.Errorf("got\n%s", got)
	}
	const failing = "category\tquery\tnear\trank\tfirst answer\nplaces\tb\t\t2\tplace B\nplaces\tc\t\t0\tnothing\n"
	if got := string(j.failing()); got != failing {
		t.Errorf("got\n%s", got)
	}
	if got := difference([]byte("a\nb\n"), []byte("b\nc\n")); got != "-a\n+c\n" {
		t.Errorf("got %q", got)
	}
}

// TestDemo compares what fails on the demo's data with what is recorded: a change shows
// what it mends and what it breaks.
func TestDemo(t *testing.T) {
	if testing.Short() {
		t.Skip("the demo's data takes minutes: run without -short")
	}
	p := binaries{t.TempDir()}
	data, sample := os.Getenv("QUADRILLE_DEMO_DATA"), filepath.Join("..", "..", "..", "sample")
	if data == "" {
		if _, err := os.Stat(filepath.Join(sample, "node_modules")); err != nil {
			t.Skip("the sample packages are not installed: run make sample, or name the demo's data in QUADRILLE_DEMO_DATA")
		}
	}
	if err := p.build(t.Context()); err != nil {
		t.Fatal(err)
	}
	if data == "" {
		data = t.TempDir()
		if err := p.ingest(t.Context(), data, "demo", "--sample", sample); err != nil {
			t.Fatal(err)
		}
	}
	j, err := p.judge(t.Context(), data, setDemo, queriesOf(t))
	if err != nil {
		t.Fatal(err)
	}
	recorded := filepath.Join("testdata", "demo.failing")
	now := j.failing()
	if *update {
		if err := os.WriteFile(recorded, now, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, now) {
		t.Errorf("what fails has changed (- before, + now); if that is right, run with -update:\n%s", difference(before, now))
	}
	if !slices.ContainsFunc(j.outcomes, func(o outcome) bool { return o.rank == 1 }) {
		t.Error("nothing is found at all")
	}
}
