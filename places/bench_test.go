package places

import (
	"math/rand/v2"
	"slices"
	"testing"

	"quadrille/feature"
	"quadrille/internal/buildtest"
	"quadrille/internal/must"
	"quadrille/quadkey"
)

// cities returns n places like real ones: most are populated, and few pass a filter.
func cities(n int) []Place {
	list := scatter(42, n, clustered)
	for i := range list {
		list[i].Name = "Sankt Florian am Inn"
		list[i].Class, list[i].Code, list[i].Country = "P", "PPL", "AT"
		list[i].Admin1, list[i].TimeZone = "04", "Europe/Vienna"
	}
	return list
}

func BenchmarkNearby(b *testing.B) {
	list := cities(100_000)
	f := build(b, list)
	queries := make([]NearbyQuery, 1024)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range queries {
		queries[i].Lon, queries[i].Lat = clustered(rng)
	}
	run := func(b *testing.B, change func(*NearbyQuery)) {
		b.ReportAllocs()
		var dst []Hit
		var sum float64
		for i := 0; b.Loop(); i++ {
			q := queries[i%len(queries)]
			change(&q)
			var err error
			if dst, _, err = f.Nearby(b.Context(), q, dst); err != nil {
				b.Fatal(err)
			}
			sum += dst[0].DistanceM
		}
		if sum == 0 {
			b.Fatal("no distance")
		}
	}
	b.Run("k=10", func(b *testing.B) { run(b, func(q *NearbyQuery) {}) })
	b.Run("k=1", func(b *testing.B) { run(b, func(q *NearbyQuery) { q.Limit = 1 }) })
	b.Run("k=100", func(b *testing.B) { run(b, func(q *NearbyQuery) { q.Limit = 100 }) })
	b.Run("k=10,population", func(b *testing.B) { run(b, func(q *NearbyQuery) { q.MinPopulation = 100_000 }) })
	b.Run("k=10,brute force", func(b *testing.B) {
		b.ReportAllocs()
		sum := 0.0
		for i := 0; b.Loop(); i++ {
			sum += bruteNearby(list, queries[i%len(queries)])[0].DistanceM
		}
		if sum == 0 {
			b.Fatal("no distance")
		}
	})
}

// BenchmarkFilters searches places of all kinds with filters. One is for a country whose places are
// all in the far west.
func BenchmarkFilters(b *testing.B) {
	list := scatter(42, 100_000, clustered)
	for i := range list {
		if list[i].Country == "FJ" && list[i].Lon > -150 {
			list[i].Country = "NZ"
		}
	}
	f := build(b, list)
	queries := make([][2]float64, 1024)
	rng := rand.New(rand.NewPCG(5, 6))
	for i := range queries {
		queries[i][0], queries[i][1] = clustered(rng)
	}
	for _, bench := range []struct {
		name string
		q    NearbyQuery
	}{
		{"plain", NearbyQuery{Limit: 10}},
		{"one P", NearbyQuery{Limit: 1, Classes: []string{"P"}}},
		{"class", NearbyQuery{Limit: 10, Classes: []string{"T"}}},
		{"frequent code", NearbyQuery{Limit: 10, Codes: []string{"PPL"}}},
		{"absent code", NearbyQuery{Limit: 10, Codes: []string{"ZZZ"}}},
		{"far country", NearbyQuery{Limit: 10, Countries: []string{"FJ"}}},
	} {
		b.Run("near/"+bench.name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []Hit
			for i := 0; b.Loop(); i++ {
				q := bench.q
				q.Lon, q.Lat = queries[i%len(queries)][0], queries[i%len(queries)][1]
				var err error
				if dst, _, err = f.Nearby(b.Context(), q, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	for name, classes := range map[string][]string{"plain": nil, "class": {"T"}} {
		b.Run("box/"+name, func(b *testing.B) {
			b.ReportAllocs()
			var dst []Hit
			for i := 0; b.Loop(); i++ {
				lon, lat := queries[i%len(queries)][0], queries[i%len(queries)][1]
				q := WithinQuery{
					Limit:   100,
					Classes: classes,
					Box:     quadkey.Box{West: max(-180, lon-2), East: min(180, lon+2), South: max(-90, lat-2), North: min(90, lat+2)},
				}
				var err error
				if dst, _, err = f.Within(b.Context(), q, dst); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// nowhere is a feature.Pen that writes nothing.
type nowhere struct{}

func (nowhere) Begin(uint64, quadkey.Position) error { return nil }
func (nowhere) Text(string, string)                  {}
func (nowhere) Integer(string, int64)                {}
func (nowhere) Boolean(string, bool)                 {}
func (nowhere) End()                                 {}

func BenchmarkTile(b *testing.B) {
	list := cities(100_000)
	f := build(b, list)
	for _, z := range []uint8{4, 10, 11, 14} {
		b.Run(quadkey.Tile{Z: z}.String()[:2], func(b *testing.B) {
			tiles := make([]quadkey.Tile, 1024)
			for i := range tiles {
				t := must.Get(quadkey.TileAt(list[i].Lon, list[i].Lat, z)).In(b)
				tiles[i] = t
			}
			b.Run("shown", func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					if err := f.Draw(b.Context(), tiles[i%len(tiles)], nil, nowhere{}); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run("features", func(b *testing.B) {
				b.ReportAllocs()
				for i := 0; b.Loop(); i++ {
					for _, err := range f.Tile(b.Context(), tiles[i%len(tiles)], nil) {
						if err != nil {
							b.Fatal(err)
						}
					}
				}
			})
			b.Run("geojson", func(b *testing.B) {
				b.ReportAllocs()
				var dst []byte
				total := 0
				w := feature.Writer{GeoJSON: true, NumericIDs: true}
				for i := 0; b.Loop(); i++ {
					dst = dst[:0]
					for shown, err := range f.Tile(b.Context(), tiles[i%len(tiles)], nil) {
						if err != nil {
							b.Fatal(err)
						}
						if dst, err = w.Append(dst, shown, ""); err != nil {
							b.Fatal(err)
						}
					}
					total += len(dst)
				}
				b.ReportMetric(float64(total)/float64(b.N), "B/tile")
			})
		})
	}
}

func BenchmarkPlace(b *testing.B) {
	f := build(b, cities(100_000))
	b.ReportAllocs()
	total := 0
	for i := 0; b.Loop(); i++ {
		record, err := f.Place(b.Context(), uint32(i*7919%100_000+1))
		if err != nil {
			b.Fatal(err)
		}
		total += len(record)
	}
	if total == 0 {
		b.Fatal("nothing read")
	}
}

func BenchmarkBuild(b *testing.B) {
	list := cities(100_000)
	for i := range list {
		list[i].AlternateNames = "Florian,St. Florian am Inn,Szent Flórián,Сан Флориан,圣弗洛里安"
	}
	rows := 0
	b.ReportAllocs()
	for b.Loop() {
		_, stats, err := Build(b.Context(), buildtest.NewStore(b), source(list), BuildOptions{TempDir: b.TempDir()})
		if err != nil {
			b.Fatal(err)
		}
		rows += int(stats.Stored)
	}
	b.ReportMetric(float64(rows)/b.Elapsed().Seconds(), "rows/s")
}

func BenchmarkImportance(b *testing.B) {
	qualifiers := [][]byte{[]byte("P.PPL"), []byte("P.PPLA2"), []byte("S.HTL"), []byte("A.ADM3")}
	var all []uint64
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		all = append(all[:0], importance(qualifiers[i%len(qualifiers)], uint64(i), 0))
	}
	if slices.Max(all) == 0 {
		b.Fatal("no importance")
	}
}
