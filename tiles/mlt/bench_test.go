package mlt_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"quadrille/quadkey"
	"quadrille/tiles/mlt"
	"quadrille/tiles/mvt"
)

// neighbours returns a tile of regions in a grid, with borders of many vertices between them.
func neighbours(n, steps int32) []byte {
	r := rand.New(rand.NewPCG(3, 4))
	size := int32(mvt.Extent) / n
	// border returns the line from a corner to the next, the same in both directions.
	borders := map[[2]mvt.XY][]mvt.XY{}
	border := func(a, b mvt.XY) []mvt.XY {
		if way, ok := borders[[2]mvt.XY{a, b}]; ok {
			return way
		}
		way := []mvt.XY{a}
		for i := int32(1); i < steps; i++ {
			way = append(way, mvt.XY{X: a.X + (b.X-a.X)*i/steps + r.Int32N(9) - 4, Y: a.Y + (b.Y-a.Y)*i/steps + r.Int32N(9) - 4})
		}
		back := []mvt.XY{b}
		for i := len(way) - 1; i > 0; i-- {
			back = append(back, way[i])
		}
		borders[[2]mvt.XY{a, b}], borders[[2]mvt.XY{b, a}] = way, back
		return way
	}
	var l mvt.Layer
	l.Reset("country")
	for x := range n {
		for y := range n {
			corners := []mvt.XY{
				{X: x * size, Y: y * size},
				{X: (x + 1) * size, Y: y * size},
				{X: (x + 1) * size, Y: (y + 1) * size},
				{X: x * size, Y: (y + 1) * size},
			}
			l.Begin(r.Uint64()>>11, mvt.Polygon)
			l.TagString("id", string('a'+x)+string('a'+y))
			l.TagString("name", "Region of the grid")
			l.TagInt("map_color", int64(r.IntN(6)))
			var ring []mvt.XY
			for i := range corners {
				ring = append(ring, border(corners[i], corners[(i+1)%4])...)
			}
			l.Ring(ring)
			l.End()
		}
	}
	return l.AppendTo(nil)
}

// BenchmarkAppendTile encodes a tile of 100 regions and 9,900 vertices, where each border occurs
// twice, and a tile of a single region. For comparison, it also reads the first tile completely
// with package mvt.
func BenchmarkAppendTile(b *testing.B) {
	for _, tt := range []struct {
		name string
		tile []byte
	}{{"large", neighbours(10, 25)}, {"small", neighbours(1, 3)}} {
		b.Run(tt.name, func(b *testing.B) {
			var e mlt.Encoder
			var dst []byte
			var err error
			b.ReportAllocs()
			for b.Loop() {
				if dst, err = e.AppendTile(dst[:0], tt.tile); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(len(dst))/float64(len(tt.tile)), "size/mvt")
		})
	}
	b.Run("reading", func(b *testing.B) {
		tile := neighbours(10, 25)
		var v mvt.LayerView
		var pts []mvt.XY
		b.ReportAllocs()
		for b.Loop() {
			if _, _, err := mvt.NextLayer(tile, &v); err != nil {
				b.Fatal(err)
			}
			for i := range v.Len() {
				f, _ := v.Feature(i)
				var p mvt.Path
				for p.Reset(f); ; {
					var ok bool
					if pts, _, ok, _ = p.Next(pts[:0]); !ok {
						break
					}
				}
			}
		}
	})
}

// BenchmarkSize measures the tiles of the world as MapLibre Tiles, relative to their size as Mapbox
// Vector Tiles with gzip: once with gzip, and once with gzip only where that is shorter. A tile
// that represents all tiles below it counts once for each zoom.
func BenchmarkSize(b *testing.B) {
	r := world(b)
	var e mlt.Encoder
	var table []byte
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	gzipped := func(data []byte) int {
		packed.Reset()
		z.Reset(&packed)
		_, _ = z.Write(data) // a buffer takes everything
		_ = z.Close()
		return packed.Len()
	}
	for _, zooms := range [][2]int{{0, 0}, {1, 4}, {5, 8}, {9, 11}, {12, 13}, {0, 13}} {
		b.Run(fmt.Sprintf("z%d-%d", zooms[0], zooms[1]), func(b *testing.B) {
			var before, both, best, n float64
			for b.Loop() {
				before, both, best, n = 0, 0, 0, 0
				for zoom := zooms[0]; zoom <= zooms[1]; zoom++ {
					err := r.Walk(context.Background(), worldLayers, zoom, func(_ quadkey.Tile, tile []byte) (err error) {
						if table, err = e.AppendTile(table[:0], tile); err != nil {
							return err
						}
						size := gzipped(table)
						n++
						before += float64(gzipped(tile))
						both += float64(size)
						best += float64(min(size, len(table)))
						return nil
					})
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(both/before, "mlt.gz/mvt.gz")
			b.ReportMetric(best/before, "mlt/mvt.gz")
			b.ReportMetric(before/n, "mvt.gz-B/tile")
		})
	}
}
