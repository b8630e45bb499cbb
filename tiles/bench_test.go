package tiles

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"quadrille/cellstore/pebblestore"
	"quadrille/quadkey"
)

// BenchmarkBuild builds real boundaries from parsed features to committed
// tables.
func BenchmarkBuild(b *testing.B) {
	for _, set := range []struct{ name, file string }{
		{"110m", "110m/ne_110m_admin_0_countries.geojson.gz"},
		{"50m", "50m/ne_50m_admin_0_countries.geojson.gz"},
		{"10m", "10m/ne_10m_admin_0_countries.geojson.gz"},
		{"10m and states", "10m/ne_10m_admin_0_countries.geojson.gz"},
	} {
		b.Run(set.name, func(b *testing.B) {
			vertices := 0
			for b.Loop() {
				b.StopTimer()
				layers := []Layer{naturalEarth(b, "country", set.file, "ADM0_A3", "NAME")}
				if strings.HasSuffix(set.name, "states") {
					layers = append(layers, naturalEarth(b, "state", "10m/ne_10m_admin_1_states_provinces.geojson.gz", "adm1_code", "name"))
				}
				for _, l := range layers {
					for _, f := range l.Features {
						vertices += countVertices(f.Geometry)
					}
				}
				store := openStore(b)
				b.StartTimer()
				_, stats, err := Build(context.Background(), store, layers, BuildOptions{Timestamp: 1})
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(stats.Mixed), "mixed-rows")
				b.ReportMetric(float64(stats.Leaves), "leaf-rows")
				b.ReportMetric(float64(stats.Bytes)/float64(stats.Mixed+stats.Leaves), "B/row")
			}
			b.ReportMetric(float64(vertices)/b.Elapsed().Seconds(), "vertices/s")
		})
	}
}

func countVertices(g orb.Geometry) (n int) {
	switch g := g.(type) {
	case orb.Polygon:
		for _, r := range g {
			n += len(r)
		}
	case orb.MultiPolygon:
		for _, p := range g {
			n += countVertices(p)
		}
	}
	return n
}

// BenchmarkColdTile asks for tiles on borders, of all zooms, from a store on
// the disk that is at least four times as large as its cache.
func BenchmarkColdTile(b *testing.B) {
	ctx := context.Background()
	layers := func() []Layer {
		return []Layer{
			naturalEarth(b, "country", "50m/ne_50m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME"),
			naturalEarth(b, "state", "50m/ne_50m_admin_1_states_provinces.geojson.gz", "adm1_code", "name"),
		}
	}
	dir := filepath.Join(b.TempDir(), "store")
	store, err := pebblestore.Open(dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	meta, _, err := Build(ctx, store, layers(), BuildOptions{Timestamp: 1})
	if err != nil {
		b.Fatal(err)
	}
	if err := store.Close(); err != nil {
		b.Fatal(err)
	}
	var size int64
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			info, err := d.Info()
			if err != nil {
				return err
			}
			size += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	if store, err = pebblestore.Open(dir, &pebblestore.Options{ReadOnly: true, CacheBytes: size / 4}); err != nil {
		b.Fatal(err)
	}
	defer store.Close()
	r, err := Open(ctx, store, meta)
	if err != nil {
		b.Fatal(err)
	}
	ref := newReferences(b, layers()...)[0]
	rnd := rand.New(rand.NewPCG(1, 2))
	sel := []Selector{{Type: "country"}, {Type: "state"}}
	var times []time.Duration
	var dst []byte
	for b.Loop() {
		edges := ref.levels[rnd.IntN(len(ref.regions))][MaxZoom]
		p := edges[rnd.IntN(len(edges))].a
		z := rnd.IntN(MaxZoom + 1)
		t := quadkey.Tile{Z: uint8(z), X: uint32(p.x&(worldSize-1)) >> tileShift(z), Y: uint32(min(max(p.y, 0), worldSize-1)) >> tileShift(z)}
		start := time.Now()
		if dst, err = r.AppendMVT(ctx, dst[:0], t, sel); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(start))
	}
	slices.Sort(times)
	at := func(share float64) float64 {
		return float64(times[int(share*float64(len(times)-1))].Microseconds())
	}
	b.ReportMetric(at(0.5), "p50-µs")
	b.ReportMetric(at(0.99), "p99-µs")
	b.ReportMetric(float64(size)/1e6, "MB-stored")
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
