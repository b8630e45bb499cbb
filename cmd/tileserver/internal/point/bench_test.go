package point

import (
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"quadrille/ask"
	"quadrille/ask/localtime"
	"quadrille/ask/pointinfo"
	"quadrille/cellstore/published"
)

// BenchmarkAt answers with everything about points on land, over the data that ingest has published
// in the directory QUADRILLE_DATA. It also measures separately the time to find their regions.
func BenchmarkAt(b *testing.B) {
	dir := os.Getenv("QUADRILLE_DATA")
	if dir == "" {
		b.Skip("set QUADRILLE_DATA to a directory that ingest has published data sets in")
	}
	c, err := published.OpenCatalog(dir)
	if err != nil {
		b.Fatal(err)
	}
	sets := ask.PublishedSets(c.Generations)
	if err := sets.Poll(b.Context()); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := sets.Close(); err != nil {
			b.Error(err)
		}
	})
	of := ask.NewViews(sets).Take(time.Now())
	b.Cleanup(of.Release)
	v := localtime.ViewOf(of)
	regions, err := v.Boundaries.Get()
	if err != nil {
		b.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	points := make([][2]float64, 1024)
	for i := range points {
		for {
			points[i] = [2]float64{rng.Float64()*130 - 55, rng.Float64()*360 - 180}
			found, err := regions.At(b.Context(), points[i][0], points[i][1])
			if err != nil {
				b.Fatal(err)
			}
			if localtime.CountryRegion(found) != "" {
				break
			}
		}
	}
	instant := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	b.Run("at", func(b *testing.B) {
		b.ReportAllocs()
		var dst []byte
		for i := 0; b.Loop(); i++ {
			q := pointinfo.Query{Lat: points[i%len(points)][0], Lon: points[i%len(points)][1], At: instant}
			if dst, err = answer(b.Context(), &v, &q, dst[:0]); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("regions alone", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := regions.At(b.Context(), points[i%len(points)][0], points[i%len(points)][1]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
