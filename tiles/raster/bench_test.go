package raster

import (
	"image"
	"image/png"
	"io"
	"testing"
)

// BenchmarkAppendPNG draws real countries and states with borders and names,
// at 256 pixels (x1) and 512 (x2): the world, the largest tiles of their
// zooms, a tile on borders, one inside a country.
func BenchmarkAppendPNG(b *testing.B) {
	r := newRenderer(b)
	country := readWorld(b, "country", "50m/ne_50m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME")
	state := readWorld(b, "state", "50m/ne_50m_admin_1_states_provinces.geojson.gz", "adm1_code", "name")
	for _, set := range []struct {
		name    string
		z, x, y int
	}{{"world", 0, 0, 0}, {"europe", 2, 2, 1}, {"canada", 3, 2, 1}, {"alps", 5, 16, 11}, {"kansas", 8, 58, 98}} {
		for scale := 1; scale <= 2; scale++ {
			tile := makeTile(set.z, set.x, set.y, scale, country, state)
			b.Run(set.name+[]string{"/x1", "/x2"}[scale-1], func(b *testing.B) {
				b.ReportAllocs()
				var dst []byte
				var err error
				for b.Loop() {
					if dst, err = r.AppendPNG(dst[:0], tile); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(len(dst)), "B/png")
				b.ReportMetric(float64(len(tile.Vector)), "B/vector")
			})
		}
	}
}

// BenchmarkEncode encodes one picture with our encoder and with the standard library's.
func BenchmarkEncode(b *testing.B) {
	r := newRenderer(b)
	tile := makeTile(5, 16, 11, 2, readWorld(b, "country", "50m/ne_50m_admin_0_countries.geojson.gz", "ADM0_A3", "NAME"))
	c := new(canvas)
	c.reset(2)
	if err := r.draw(c, tile); err != nil {
		b.Fatal(err)
	}
	pix := append([]uint8(nil), c.pix...)
	b.Run("ours", func(b *testing.B) {
		b.ReportAllocs()
		var dst []byte
		for b.Loop() {
			copy(c.pix, pix)
			var err error
			if dst, err = c.appendPNG(dst[:0]); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(len(dst)), "B/png")
	})
	b.Run("image-png", func(b *testing.B) {
		b.ReportAllocs()
		var n counter
		for b.Loop() {
			n = 0
			copy(c.pix, pix)
			unmultiply(c.pix)
			if err := png.Encode(&n, &image.NRGBA{Pix: c.pix, Stride: 4 * c.size, Rect: image.Rect(0, 0, c.size, c.size)}); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(n), "B/png")
	})
}

type counter int

func (c *counter) Write(b []byte) (int, error) { *c += counter(len(b)); return len(b), nil }

var _ io.Writer = new(counter)
