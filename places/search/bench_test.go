package search

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/must"
)

// synthetic makes places with names of one to three words of two to four syllables. Populations are
// as unequal as real ones, and a third of the places has an alternate name.
func synthetic(n int) func(i int, e *Entry) {
	syllables := []string{"ba", "ber", "bourg", "burg", "ca", "chen", "da", "den", "do", "el", "en", "fel", "ga", "gor", "ham",
		"heim", "ing", "ka", "kar",
		"kirch", "la", "len", "lo", "ma", "mar", "mon", "na", "ni", "no", "ol", "or", "pa", "per", "ra", "ri", "ro", "sa", "san",
		"sta", "stadt", "ta", "ten", "ton",
		"tor", "va", "vil", "wa", "wei", "ya", "za", "zür"}
	words := []string{"San ", "Saint ", "New ", "Los ", "Villa ", "Al ", "Bad ", "Lake ", "Mount ", "Rio "}
	rng := rand.New(rand.NewPCG(7, uint64(n)))
	var text []byte
	name := func() string {
		text = text[:0]
		if rng.IntN(4) == 0 {
			text = append(text, words[rng.IntN(len(words))]...)
		}
		for w := rng.IntN(10) / 8; w >= 0; w-- {
			at := len(text)
			for range 2 + rng.IntN(3) {
				// Some syllables are much more common than others.
				text = append(text, syllables[rng.IntN(1+rng.IntN(len(syllables)))]...)
			}
			text[at] -= 'a' - 'A'
			if w > 0 {
				text = append(text, ' ')
			}
		}
		return string(text)
	}
	return func(i int, e *Entry) {
		*e = Entry{ID: uint32(i*2 + 1),
			Name:    name(),
			Class:   "PPPPSTHLA"[rng.IntN(9)],
			Code:    "PPL",
			Country: string([]byte{'A' + byte(rng.IntN(16)), 'A' + byte(rng.IntN(16))}),
			Admin1:  strconv.Itoa(rng.IntN(30)), Lat: rng.Int32N(180e7) - 90e7, Lon: int32(rng.Int64N(360e7) - 180e7), Names: e.Names[:0]}
		e.ASCIIName = e.Name
		if rng.IntN(3) == 0 {
			e.Population = uint64(100 / (1e-6 + rng.Float64()))
			e.Names = append(e.Names, Name{Text: name(), Lang: "de"})
		}
	}
}

func benchPlaces(b *testing.B) int {
	if s := os.Getenv("QUADRILLE_SEARCH_PLACES"); s != "" {
		n := must.Get(strconv.Atoi(s)).In(b)
		return n
	}
	return 200_000
}

// longMembers returns members that are as long as real ones.
func longMembers(id uint32, dst []byte) ([]byte, error) {
	return fmt.Appendf(dst, `"id":%d,"name":"Some name of it","country":"CH","class":"P","code":"PPL","population":341730,"admin1":"ZH","timezone":"Europe/Zurich","lat":47.36667,"lon":8.55`, id), nil
}

func buildSynthetic(b *testing.B, dir string, places int) (*pebblestore.Store, Meta) {
	b.Helper()
	store := must.Get(pebblestore.Open(dir, nil)).In(b)
	bl := must.Get(NewBuilder(b.Context(), store, Options{TempDir: b.TempDir(), Lookup: longMembers})).In(b)
	defer bl.Close()
	next := synthetic(places)
	var e Entry
	start := time.Now()
	for i := range places {
		next(i, &e)
		must.Do(b, bl.Add(&e))
	}
	added := time.Now()
	var stages string
	stage := added
	bl.opts.Progress = func(name string, done, total int64) {
		if done == total {
			stages += fmt.Sprintf(", %s %v", name, time.Since(stage).Round(time.Millisecond))
			stage = time.Now()
		}
	}
	meta := must.Get(bl.Finish()).In(b)
	b.Logf("%d places, %d names, %d answers: adding %v%s", places, meta.Names, meta.Prefixes, added.Sub(start).Round(time.Millisecond), stages)
	return store, meta
}

func diskSize(b *testing.B, dir string) (total int64) {
	must.Do(b, filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && !info.IsDir() {
			total += info.Size()
		}
		return err
	}))
	return total
}

// BenchmarkBuild reports places and names per second, sorting and all tables
// included, and bytes per place on disk. QUADRILLE_SEARCH_PLACES sets the number of places.
func BenchmarkBuild(b *testing.B) {
	places := benchPlaces(b)
	var disk int64
	var names int64
	for b.Loop() {
		dir := b.TempDir()
		store, meta := buildSynthetic(b, dir, places)
		if err := store.Close(); err != nil {
			b.Fatal(err)
		}
		disk, names = diskSize(b, dir), meta.Names
	}
	seconds := b.Elapsed().Seconds() / float64(b.N)
	b.ReportMetric(float64(places)/seconds, "places/s")
	b.ReportMetric(float64(names)/seconds, "names/s")
	b.ReportMetric(float64(disk)/float64(places), "B/place")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkRead measures answers over synthetic places on disk.
func BenchmarkRead(b *testing.B) {
	places := benchPlaces(b)
	store, meta := buildSynthetic(b, b.TempDir(), places)
	defer store.Close()
	ctx := context.Background()
	r, err := Open(ctx, store, meta)
	if err != nil {
		b.Fatal(err)
	}
	next := synthetic(places)
	var names [][]byte
	var e Entry
	for i := range min(places, 20_000) {
		next(i, &e)
		names = append(names, Fold(nil, e.Name))
	}
	runtime.GC()
	beginnings := func(n int) (texts []string) {
		for _, name := range names {
			if len(name) >= n && name[n-1] != ' ' {
				texts = append(texts, string(name[:n]))
			}
		}
		return texts
	}
	for _, n := range []int{1, 3, 5} {
		texts := beginnings(n)
		b.Run(fmt.Sprintf("complete/%d", n), func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			for i := 0; b.Loop(); i++ {
				if dst, _, err = r.Complete(ctx, texts[i%len(texts)], dst[:0]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	// This is the baseline for Complete: only the read.
	texts := beginnings(3)
	b.Run("get/3", func(b *testing.B) {
		b.ReportAllocs()
		var row cellstore.Row
		for i := 0; b.Loop(); i++ {
			if _, err := r.prefixes.Get(ctx, []byte(texts[i%len(texts)]), selectJSON, &row); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("complete/nonsense", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, found, err := r.Complete(ctx, "qqqxqq", nil); found || err != nil {
				b.Fatal(found, err)
			}
		}
	})
	run := func(name string, texts []string, q Query) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []Hit
			for i := 0; b.Loop(); i++ {
				q.Text = texts[i%len(texts)]
				if dst, _, err = r.Search(ctx, q, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	var whole, typos, swapped []string
	for _, name := range names {
		whole = append(whole, string(name))
		if words := bytes.Split(name, []byte(" ")); len(words) > 1 {
			swapped = append(swapped, string(bytes.Join([][]byte{words[1], words[0]}, []byte(" "))))
		} else if len(name) > 8 && len(words[0]) == len(name) {
			typos = append(typos, string(name[:4])+"q"+string(name[5:]))
		}
	}
	run("search/prefix3", beginnings(3), Query{})
	run("search/prefix8", beginnings(8), Query{})
	run("search/name", whole, Query{})
	run("search/words", swapped, Query{})
	run("search/typo", typos, Query{})
	run("search/bias3", beginnings(3), Query{Bias: true, Lat: 47, Lon: 8})
	run("search/country2", beginnings(2), Query{Countries: []string{"BB"}})
	run("search/rare1", beginnings(1), Query{Countries: []string{"BB"}, Classes: []string{"A"}, MinPopulation: 100_000})
}

// BenchmarkQuantiles prints the median and the 99th percentile of each kind of query.
// QUADRILLE_SEARCH_PLACES sets the number of places: 13000000 is the size of GeoNames.
func BenchmarkQuantiles(b *testing.B) {
	if os.Getenv("QUADRILLE_SEARCH_PLACES") == "" {
		b.Skip("QUADRILLE_SEARCH_PLACES names no number of places")
	}
	places := benchPlaces(b)
	store, meta := buildSynthetic(b, b.TempDir(), places)
	defer store.Close()
	r := must.Get(Open(b.Context(), store, meta)).In(b)
	// Each text is the first beginning of its kind, so that all kinds use the same names.
	cut := func(s string, n int) string { return string([]rune(s)[:min(n, len([]rune(s)))]) }
	wrong := func(s string, at int) string { return s[:at] + "q" + s[at+1:] }
	kinds := []struct {
		name string
		text func(fold string) string
		q    Query
	}{
		{"prefix", func(s string) string { return cut(s, 3) }, Query{}},
		{"name", func(s string) string { return s }, Query{}},
		{"words", func(s string) string { first, rest, _ := strings.Cut(s, " "); return rest + " " + first }, Query{}},
		{"context", func(s string) string { return s + " switzerland" }, Query{}},
		{"one typo", func(s string) string { return wrong(s, len(s)/2) }, Query{}},
		{"two typos", func(s string) string { return wrong(wrong(s, len(s)/3), len(s)*2/3) }, Query{}},
		{"no match", func(s string) string { return "xq" + s + "qx" }, Query{}},
		{"bias", func(s string) string { return cut(s, 3) }, Query{Bias: true, Lat: 47, Lon: 8}},
	}
	for _, k := range kinds {
		b.Run(k.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				took = took[:0]
				next := synthetic(places)
				var e Entry
				for i := 0; len(took) < 500 && i < places; i++ {
					next(i, &e)
					fold := string(Fold(nil, e.Name))
					if strings.Contains(fold, " ") != (k.name == "words") || len(fold) < 8 {
						continue
					}
					q := k.q
					q.Text = k.text(fold)
					start := time.Now()
					if _, found, err := r.Complete(b.Context(), q.Text, nil); err != nil || !found || q.Bias {
						if _, _, err := r.Search(b.Context(), q, nil); err != nil {
							b.Fatal(err)
						}
					}
					took = append(took, time.Since(start))
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e6, "ms-p50")
			b.ReportMetric(float64(took[len(took)*99/100].Nanoseconds())/1e6, "ms-p99")
			b.ReportMetric(0, "ns/op")
		})
	}
}
