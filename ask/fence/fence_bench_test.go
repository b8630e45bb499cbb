package fence

import (
	"math"
	"math/rand/v2"
	"os"
	"testing"

	"quadrille/ask"
	"quadrille/cellstore"
	"quadrille/cellstore/dataset"
	"quadrille/cellstore/pebblestore"
	"quadrille/internal/manypoints"
	"quadrille/internal/must"
	"quadrille/places/live"
	"quadrille/tiles"
)

// BenchmarkFence tests moves of about 100 m against every state of the boundaries in the directory
// QUADRILLE_DATA, which ingest has published. Positions are anywhere on land, and some are
// distributed like places.
func BenchmarkFence(b *testing.B) {
	dir := os.Getenv("QUADRILLE_DATA")
	if dir == "" {
		b.Skip("set QUADRILLE_DATA to a directory that ingest has published boundaries with states in")
	}
	catalog := must.Get(dataset.Open(dir, func(_, dir string, readOnly bool) (cellstore.Store, error) {
		return pebblestore.Open(dir, &pebblestore.Options{ReadOnly: readOnly, CacheBytes: 512 << 20})
	})).In(b)
	g := must.Get(catalog.OpenCurrent(b.Context(), ask.BoundariesName)).In(b)
	b.Cleanup(func() { g.Close() })
	r := must.Get(tiles.OpenPublished(b.Context(), g)).In(b)
	rnd := rand.New(rand.NewPCG(1, 1))
	var cities [][2]float64
	for p := range manypoints.Each(100_000) {
		cities = append(cities, [2]float64{p.Lon, p.Lat})
	}
	for name, position := range map[string]func() [2]float64{
		"anywhere": func() [2]float64 { return [2]float64{360*rnd.Float64() - 180, 150*rnd.Float64() - 65} },
		"cities":   func() [2]float64 { return cities[rnd.IntN(len(cities))] },
	} {
		b.Run(name, func(b *testing.B) { benchmarkFence(b, r, rnd, position) })
	}
}

func benchmarkFence(b *testing.B, r *tiles.Reader, rnd *rand.Rand, position func() [2]float64) {
	views := ask.NewViews(ask.Sets{Boundaries: dataset.NewFixedLive[*tiles.Reader](r, dataset.Manifest{})})
	states := []Region{{Type: "state"}}
	f, err := New(Fences{Enter: states, Leave: states})
	if err != nil {
		b.Fatal(err)
	}
	var moves []live.Event
	for len(moves) < 20_000 {
		from := position()
		at := must.Get(r.At(b.Context(), from[1], from[0], "state")).In(b)
		if len(at) == 0 {
			continue // at sea
		}
		turn := 2 * math.Pi * rnd.Float64()
		to := [2]float64{max(-180, min(180, from[0]+0.001*math.Sin(turn))), from[1] + 0.001*math.Cos(turn)}
		moves = append(moves, live.Event{From: &from, To: &to, Edition: 1})
	}
	b.ReportAllocs()
	crossed, asked := 0, 0
	var dst []Event
	for i := 0; b.Loop(); i++ {
		if dst, err = f.AppendCrossings(b.Context(), dst[:0], &moves[i%len(moves)], views); err != nil {
			b.Fatal(err)
		}
		crossed += len(dst)
		asked++
	}
	b.ReportMetric(float64(crossed)/float64(asked), "crossings/move")
}
