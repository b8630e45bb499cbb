package geocoder

import (
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/cellstore/published"
	"quadrille/feature"
	"quadrille/internal/must"
	"quadrille/places"
)

// sessionOf returns a session over the data of the directory QUADRILLE_DATA, which ingest has
// published. Without one it skips the benchmark.
func sessionOf(b *testing.B) *Session {
	b.Helper()
	dir := os.Getenv("QUADRILLE_DATA")
	if dir == "" {
		b.Skip("QUADRILLE_DATA names no directory of published data")
	}
	c, err := published.OpenCatalog(dir)
	if err != nil {
		b.Fatal(err)
	}
	sets := ask.PublishedSets(c.Generations)
	must.Do(b, sets.Poll(b.Context()))
	b.Cleanup(func() { _ = sets.Close() })
	v := ask.NewViews(sets).Take(time.Now())
	b.Cleanup(v.Release)
	return &Session{View: v, NoAddresses: true}
}

// cities returns the distinct names of the populated places of a session, in random order.
func cities(b *testing.B, s *Session) (list []string) {
	b.Helper()
	finder := must.Get(s.View.Places.Get()).In(b)
	for f, err := range finder.Features(b.Context(), &feature.Query{Filter: places.OnlyPopulated}) {
		must.Do(b, err)
		var h places.Hit
		must.Do(b, h.FromFeature(f))
		list = append(list, h.Name)
	}
	slices.Sort(list)
	list = slices.Compact(list)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(list), func(i, k int) { list[i], list[k] = list[k], list[i] })
	return list
}

// BenchmarkSearch searches for names of cities in the data of the directory QUADRILLE_DATA, which
// ingest has published. "distinct" searches for another one each time until it has searched for all,
// "hot" for the same 64 again and again, and "misspelt" for names that lack their fourth letter.
func BenchmarkSearch(b *testing.B) {
	session := sessionOf(b)
	all := cities(b, session)
	var misspelt []string
	for _, name := range all {
		if letters := []rune(name); len(letters) > 5 {
			misspelt = append(misspelt, string(slices.Delete(letters, 3, 4)))
		}
	}
	for _, bench := range []struct {
		name  string
		texts []string
	}{{"distinct", all}, {"hot", all[:min(64, len(all))]}, {"misspelt", misspelt}} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; b.Loop(); i++ {
				if _, err := session.Search(b.Context(), Query{Text: bench.texts[i%len(bench.texts)]}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReverse looks up points near places in the data of the directory QUADRILLE_DATA, which
// ingest has published. For comparison, it measures the regions and the nearest place alone.
func BenchmarkReverse(b *testing.B) {
	session := sessionOf(b)
	v := session.View
	finder := must.Get(v.Places.Get()).In(b)
	rng := rand.New(rand.NewPCG(1, 2))
	points := make([][2]float64, 4096)
	for i := range points {
		hits, err := places.CollectHits(nil, finder.Features(b.Context(), &feature.Query{
			Near:  feature.NearTo(rng.Float64()*110-45, rng.Float64()*360-180, 0),
			Limit: 1,
		}))
		if err != nil || len(hits) == 0 {
			b.Fatal(err)
		}
		points[i] = [2]float64{min(hits[0].Lat+rng.NormFloat64()*0.05, 90), max(min(hits[0].Lon+rng.NormFloat64()*0.05, 180), -180)}
	}
	b.Run("reverse", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			p := points[i%len(points)]
			if _, err := session.Reverse(b.Context(), ReverseQuery{Lat: p[0], Lon: p[1]}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("regions alone", func(b *testing.B) {
		b.ReportAllocs()
		regions := must.Get(v.Boundaries.Get()).In(b)
		for i := 0; b.Loop(); i++ {
			p := points[i%len(points)]
			if _, err := regions.At(b.Context(), p[0], p[1]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("place alone", func(b *testing.B) {
		b.ReportAllocs()
		var hits []places.Hit
		for i := 0; b.Loop(); i++ {
			p := points[i%len(points)]
			var err error
			if hits, err = places.CollectHits(hits, finder.Features(b.Context(), &feature.Query{
				Near:   feature.NearTo(p[0], p[1], defaultReach),
				Filter: places.OnlyPopulated,
				Limit:  1,
			})); err != nil {
				b.Fatal(err)
			}
		}
	})
}
