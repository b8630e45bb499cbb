package tiles

import (
	"fmt"
	"math/rand/v2"

	"context"
	"testing"

	"quadrille/quadkey"
)

// BenchmarkBuild builds real boundaries from parsed features to committed
// tables.
func BenchmarkBuild(b *testing.B) {
	for _, set := range []struct{ name, file string }{
		{"110m", "110m/ne_110m_admin_0_countries.geojson.gz"},
		{"50m", "50m/ne_50m_admin_0_countries.geojson.gz"},
		{"10m", "10m/ne_10m_admin_0_countries.geojson.gz"},
	} {
		b.Run(set.name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				l := naturalEarth(b, "country", set.file, "ADM0_A3", "NAME")
				store := openStore(b)
				b.StartTimer()
				_, stats, err := Build(context.Background(), store, []Layer{l}, BuildOptions{Timestamp: 1})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(stats.Mixed), "mixed-rows")
				b.ReportMetric(float64(stats.Leaves), "leaf-rows")
				b.ReportMetric(float64(stats.Bytes)/float64(stats.Mixed+stats.Leaves), "B/row")
			}
		})
	}
}

// benchReader is a reader on the countries of the world at 1:50 m.
func benchReader(b *testing.B) *Reader {
	b.Helper()
	l := naturalEarth(b, "country", "50m/ne_50m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME")
	r, _, _ := buildReader(b, l)
	return r
}

// BenchmarkRead answers points and tiles out of the cache: points and tiles
// anywhere, as lookups of a service are spread, and on land borders.
func BenchmarkRead(b *testing.B) {
	r := benchReader(b)
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(1, 2))
	type place struct{ lat, lon float64 }
	var anywhere, border []place
	ref := newReferences(b, naturalEarth(b, "country", "50m/ne_50m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME"))[0]
	for range 1 << 12 {
		anywhere = append(anywhere, place{rnd.Float64()*170 - 85, rnd.Float64()*360 - 180})
		edges := ref.levels[rnd.IntN(len(ref.regions))][MaxZoom]
		p := edges[rnd.IntN(len(edges))].a
		border = append(border, place{max(-85, min(85, mercatorLat(float64(p.y)))), float64(p.x&(worldSize-1))/worldSize*360 - 180})
	}
	for _, set := range []struct {
		name   string
		places []place
	}{{"anywhere", anywhere}, {"border", border}} {
		b.Run("at/"+set.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for i := 0; b.Loop(); i++ {
				p := set.places[i%len(set.places)]
				found, err := r.At(ctx, p.lat, p.lon)
				if err != nil {
					b.Fatal(err)
				}
				n += len(found)
			}
			if n == 0 {
				b.Fatal("nothing found")
			}
		})
		for _, z := range []uint8{4, 10, 13, 16} {
			b.Run(fmt.Sprintf("mvt/%s/z%d", set.name, z), func(b *testing.B) {
				b.ReportAllocs()
				sel := []Selector{{Type: "country"}}
				var dst []byte
				bytes := 0
				for i := 0; b.Loop(); i++ {
					p := set.places[i%len(set.places)]
					t, err := quadkey.TileAt(p.lon, p.lat, z)
					if err != nil {
						b.Fatal(err)
					}
					if dst, err = r.AppendMVT(ctx, dst[:0], t, sel); err != nil {
						b.Fatal(err)
					}
					bytes += len(dst)
				}
				b.ReportMetric(float64(bytes)/float64(b.N), "B/tile")
			})
		}
	}
}
