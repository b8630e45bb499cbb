//go:build !race

package tiles_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"quadrille/feature"
	"quadrille/quadkey"
	"quadrille/tiles"
)

// BenchmarkLookup looks up the countries of the world at 1:50 m at points, near points and in
// boxes, with a warm cache. It reports the median time in addition to the mean.
func BenchmarkLookup(b *testing.B) {
	r, store := benchReader(b)
	ctx := context.Background()
	ref := newStoredWorld(b, store, "country")
	rnd := rand.New(rand.NewPCG(41, 42))
	type place struct{ lat, lon float64 }
	near := func(n int, reach float64) (out []place) {
		for range n {
			lon, lat := ref.vertex(rnd)
			out = append(out, place{max(-90, min(90, lat+reach*rnd.NormFloat64())), math.Remainder(lon+reach*rnd.NormFloat64(), 360)})
		}
		return out
	}
	var anywhere, sea []place
	for range 1 << 12 {
		anywhere = append(anywhere, place{rnd.Float64()*170 - 85, rnd.Float64()*360 - 180})
	}
	for _, p := range near(1<<14, 0.1) {
		if found, err := r.At(ctx, p.lat, p.lon); err == nil && len(found) == 0 {
			sea = append(sea, p)
		}
	}
	run := func(name string, fn func(i int) int) {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var took []time.Duration
			n := 0
			for i := 0; b.Loop(); i++ {
				start := time.Now()
				n += fn(i)
				if took = append(took, time.Since(start)); len(took) == 1<<16 {
					took = took[:1<<15]
				}
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2]), "p50-ns")
			b.ReportMetric(float64(took[len(took)*99/100]), "p99-ns")
			b.ReportMetric(float64(n)/float64(b.N), "found/op")
		})
	}
	for _, set := range []struct {
		name   string
		places []place
	}{{"anywhere", anywhere}, {"border", near(1<<12, 0)}} {
		run("at/"+set.name, func(i int) int {
			p := set.places[i%len(set.places)]
			found, err := r.At(ctx, p.lat, p.lon)
			if err != nil {
				b.Fatal(err)
			}
			return len(found)
		})
	}
	for _, radius := range []float64{1000, tiles.MaxSnapM} {
		for _, set := range []struct {
			name   string
			places []place
		}{{"coast", sea}, {"anywhere", anywhere}} {
			run(fmt.Sprintf("nearest/%s/%.0fm", set.name, radius), func(i int) int {
				p := set.places[i%len(set.places)]
				found, err := r.Nearest(ctx, p.lat, p.lon, radius)
				if err != nil {
					b.Fatal(err)
				}
				if found[0].Kind == tiles.MatchNone {
					return 0
				}
				return 1
			})
		}
	}
	corners := near(1<<10, 0)
	countries := layerOf(b, r, "country")
	for _, most := range []int{1, 10} {
		run(fmt.Sprintf("nearest/anywhere/%d", most), func(i int) (n int) {
			p := anywhere[i%len(anywhere)]
			q := feature.Query{Near: feature.NearTo(p.lat, p.lon, 0), Limit: most, Detail: feature.WithoutGeometry}
			for _, err := range countries.Features(ctx, &q) {
				if errors.Is(err, feature.ErrTooMuchWork) {
					break
				}
				if err != nil {
					b.Fatal(err)
				}
				n++
			}
			return n
		})
	}
	within := func(box quadkey.Box) (n int) {
		for _, err := range countries.Features(ctx, &feature.Query{In: feature.Box(box), Detail: feature.WithoutGeometry}) {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		return n
	}
	for _, size := range []float64{0.01, 1, 10, 60} {
		box := func(i int) quadkey.Box {
			p := corners[i%len(corners)]
			return quadkey.Box{
				West: p.lon, South: max(-90, p.lat-size/4), East: math.Remainder(p.lon+size, 360), North: min(90, p.lat+size/4),
			}
		}
		run(fmt.Sprintf("within/%v°", size), func(i int) int {
			return within(box(i))
		})
		var dst []byte
		run(fmt.Sprintf("cutout/%v°", size), func(i int) int {
			bx := box(i)
			p := corners[i%len(corners)]
			at, err := r.At(ctx, p.lat, p.lon)
			if err != nil {
				b.Fatal(err)
			}
			if len(at) == 0 {
				return 0
			}
			if dst, _, err = r.AppendCutout(ctx, dst[:0], "country", at[0].ID, bx); err != nil {
				b.Fatal(err)
			}
			return len(dst)
		})
	}
	run("within/world", func(int) int { return within(quadkey.World) })
	run("within/hemisphere", func(int) int { return within(quadkey.Box{West: -170, South: -80, East: 10, North: 80}) })
}
