package gazgen_test

import (
	"context"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/cmd/bench/gazgen"
	"quadrille/feature"
	"quadrille/internal/testrace"
	"quadrille/places"
)

// counting counts the rows that scans of tile_places yield.
type counting struct {
	cellstore.Store
	rows atomic.Int64
}

type countingTable struct {
	cellstore.Table
	rows *atomic.Int64
}

func (c *counting) Table(ctx context.Context, name string) (cellstore.Table, error) {
	t, err := c.Store.Table(ctx, name)
	if err == nil && name == "tile_places" {
		t = countingTable{t, &c.rows}
	}
	return t, err
}

func (t countingTable) Scan(ctx context.Context, scan cellstore.Scan) iter.Seq2[*cellstore.Row, error] {
	return func(yield func(*cellstore.Row, error) bool) {
		for row, err := range t.Table.Scan(ctx, scan) {
			t.rows.Add(1)
			if !yield(row, err) {
				return
			}
		}
	}
}

// generated opens n places on disk.
func generated(tb testing.TB, n int) (*places.Finder, *counting) {
	tb.Helper()
	dir := tb.TempDir()
	disk, err := pebblestore.Open(dir, &pebblestore.Options{CacheBytes: 256 << 20})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { disk.Close() })
	store := &counting{Store: disk}
	meta, _, err := places.Build(tb.Context(), store, places.Source{Places: gazgen.Seq(n, 1)}, places.BuildOptions{TempDir: dir})
	if err != nil {
		tb.Fatal(err)
	}
	f, err := places.Open(tb.Context(), store, meta)
	if err != nil {
		tb.Fatal(err)
	}
	return f, store
}

// size reads a number of places from the environment.
func size(tb testing.TB, otherwise int) int {
	text := os.Getenv("QUADRILLE_PLACES")
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		tb.Fatalf("QUADRILLE_PLACES is %q; set it to a number of places", text)
	}
	return n
}

// rare are queries with a filter that few places pass, or none nearby.
var rare = []struct {
	name     string
	lat, lon float64
	filter   places.Filter
}{
	{"an observatory in Fiji from Europe", 48, 11, places.Filter{Codes: []string{"OBSR"}, Countries: []string{"FJ"}}},
	{"people in a forest", 48, 11, places.Filter{Classes: []string{"V"}, MinPopulation: 1}},
	{"a hotel with people", 48, 11, places.Filter{Codes: []string{"HTL"}, MinPopulation: 1}},
	{"a code where its country has none", 47, 8, places.Filter{Codes: []string{"ZOO", "OBS", "ASTR"}, Countries: []string{"CH", "LI", "VA"}}},
	{"a tiny country from within", 41.903, 12.45, places.Filter{Countries: []string{"VA"}}},
	{"a tiny country from far away", -40, 170, places.Filter{Countries: []string{"VA"}}},
	{"seamounts from a city", 40.7, -74, places.Filter{Classes: []string{"U"}, Codes: []string{"VALU", "HLLU"}}},
	{"mid-sized towns of a large country from the other side", -30, 25, places.Filter{Countries: []string{"US"}, MinPopulation: 90_000}},
	{"metropolises", 0, -30, places.Filter{MinPopulation: 5_000_000}},
	{"capitals of few", 0, -30, places.Filter{Codes: []string{"PPLC"}, Countries: []string{"TV", "NR", "MC"}}},
	{"no such country", 48, 11, places.Filter{Countries: []string{"QQ"}}},
}

// Even if very few places pass a filter, a search examines only a few more than it finds, because
// the index knows in which blocks of 128 they are.
func TestRareFiltersAreBounded(t *testing.T) {
	n := 100_000
	switch {
	case os.Getenv("QUADRILLE_FULL") != "":
		n = 2_000_000
	case testing.Short():
		n = 30_000
	}
	f, store := generated(t, size(t, n))
	for _, r := range rare {
		for _, limit := range []int{1, 10, 100} {
			store.rows.Store(0)
			began := time.Now()
			hits, err := ask(t, f, feature.Query{Near: feature.NearTo(r.lat, r.lon, 0), Limit: limit + 1}, r.filter, nil)
			if err != nil {
				t.Fatalf("%s: %v", r.name, err)
			}
			took := time.Since(began)
			examined := int(store.rows.Swap(0))
			t.Logf("%s: %d of %d wanted, %d examined, %v", r.name, len(hits), limit, examined, took)
			if most := 3*128*(len(hits)+1) + 2000; examined > most {
				t.Errorf("%s: %d places looked at for %d, want at most %d", r.name, examined, len(hits), most)
			}
		}
	}
}

// A search for the most important places of a code in the whole world reads the blocks that have
// such places with a population. If these are too few, it reads all blocks that have places of the
// code.
func TestCodesOfTheWorldAreBounded(t *testing.T) {
	testrace.SkipUnderRace(t, "one goroutine goes through much data")
	n := 60_000
	if testing.Short() {
		n = 30_000
	}
	n = size(t, n)
	all, peopled := map[string]int{}, map[string]int{}
	for p := range gazgen.Seq(n, 1) {
		if all[p.Code]++; p.Population > 0 {
			peopled[p.Code]++
		}
	}
	f, store := generated(t, n)
	for code, of := range all {
		store.rows.Store(0)
		hits, err := ask(t, f, feature.Query{Order: feature.Order{Importance: true}, Limit: 10}, places.Filter{Codes: []string{code}}, nil)
		if err != nil || len(hits) != min(of, 10) {
			t.Fatalf("%s: %d places of %d, %v", code, len(hits), of, err)
		}
		if peopled[code] > len(hits) {
			of = peopled[code]
		}
		if examined, most := int(store.rows.Load()), 3*128*of+2000; examined > most {
			t.Errorf("%s: %d places looked at for %d of %d with people, want at most %d", code, examined, peopled[code], all[code], most)
		}
	}
}

// ask appends the places that pass a filter to dst[:0].
func ask(tb testing.TB, f *places.Finder, q feature.Query, of places.Filter, dst []places.Hit) (hits []places.Hit, err error) {
	tb.Helper()
	if q.Filter, err = of.FeatureFilter(); err != nil {
		tb.Fatal(err)
	}
	return places.CollectHits(dst, f.Features(tb.Context(), &q))
}

// peak returns the greatest memory use of the process while fn runs.
func peak(fn func()) uint64 {
	var most atomic.Uint64
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			most.Store(max(most.Load(), m.Sys-m.HeapReleased))
			select {
			case <-stop:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	fn()
	close(stop)
	<-stopped
	return most.Load()
}

// treeSize returns the size in bytes of the files of a directory.
func treeSize(tb testing.TB, dir string) (total int64) {
	tb.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
	return total
}

// BenchmarkBuildGenerated builds the table of places alone, and with the other
// tables: alternate names, parents and codes.
func BenchmarkBuildGenerated(b *testing.B) {
	n := size(b, 1_000_000)
	for _, bm := range []struct {
		name   string
		source func() places.Source
	}{
		{"places", func() places.Source { return places.Source{Places: gazgen.Seq(n, 1)} }},
		{"all_tables", func() places.Source { return gazgen.Source(n, 1) }},
	} {
		b.Run(bm.name, func(b *testing.B) { benchmarkBuild(b, n, bm.source) })
	}
}

func benchmarkBuild(b *testing.B, n int, source func() places.Source) {
	for b.Loop() {
		dir := b.TempDir()
		store, err := pebblestore.Open(dir, nil)
		if err != nil {
			b.Fatal(err)
		}
		var stats places.Stats
		most := peak(func() {
			_, stats, err = places.Build(b.Context(), store, source(), places.BuildOptions{TempDir: dir})
		})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(most)/(1<<20), "MiB")
		b.ReportMetric(float64(stats.Spilled)/float64(n), "spilledB/place")
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(treeSize(b, dir))/float64(n), "diskB/place")
	}
	b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "rows/s")
}
