package tiles_test

import (
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"quadrille/cellstore"
	"quadrille/cellstore/pebblestore"
	"quadrille/quadkey"
	"quadrille/tiles"
	"quadrille/tiles/build"
	"quadrille/tiles/internal/grid"
)

// BenchmarkColdTile reads tiles on borders, of all zooms, from a store on the disk that is at least
// four times as large as its cache.
func BenchmarkColdTile(b *testing.B) {
	ctx := context.Background()
	layers := func() []build.Layer {
		return []build.Layer{
			naturalEarth(b, "country", "50m/ne_50m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME"),
			naturalEarth(b, "state", "50m/ne_50m_admin_1_states_provinces.geojson.gz", "adm1_code", "name"),
		}
	}
	dir := filepath.Join(b.TempDir(), "store")
	store, err := pebblestore.Open(dir, nil)
	if err != nil {
		b.Fatal(err)
	}
	meta, _, err := build.Run(ctx, store, layers(), build.Options{Timestamp: 1})
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
	r, err := tiles.Open(ctx, store, meta)
	if err != nil {
		b.Fatal(err)
	}
	ref := newStoredWorld(b, store, "country")
	rnd := rand.New(rand.NewPCG(1, 2))
	sel := []tiles.Selector{{Type: "country"}, {Type: "state"}}
	var times []time.Duration
	var dst []byte
	for b.Loop() {
		lon, lat := ref.vertex(rnd)
		t, err := quadkey.TileAt(lon, lat, uint8(rnd.IntN(grid.MaxZoom+1)))
		if err != nil {
			b.Fatal(err)
		}
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

// benchReader returns a reader on the countries of the world at 1:50 m.
func benchReader(b *testing.B) (*tiles.Reader, cellstore.Store) {
	b.Helper()
	l := naturalEarth(b, "country", "50m/ne_50m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME")
	r, store, _ := buildReader(b, l)
	return r, store
}

// BenchmarkRead answers points and tiles from the cache: spread over the world, as the lookups of a
// service are, and on land borders.
func BenchmarkRead(b *testing.B) {
	r, store := benchReader(b)
	ctx := context.Background()
	rnd := rand.New(rand.NewPCG(1, 2))
	type place struct{ lat, lon float64 }
	var anywhere, border []place
	ref := newStoredWorld(b, store, "country")
	for range 1 << 12 {
		anywhere = append(anywhere, place{rnd.Float64()*170 - 85, rnd.Float64()*360 - 180})
		lon, lat := ref.vertex(rnd)
		border = append(border, place{max(-85, min(85, lat)), lon})
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
			if n == 0 && b.N > len(set.places) { // the first alone may be at sea
				b.Fatal("nothing found")
			}
		})
		for _, z := range []uint8{4, 10, 13, 16} {
			b.Run(fmt.Sprintf("mvt/%s/z%d", set.name, z), func(b *testing.B) {
				b.ReportAllocs()
				sel := []tiles.Selector{{Type: "country"}}
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
