package geojson_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"testing"

	orbjson "github.com/paulmach/orb/geojson"
)

// BenchmarkCountries reads Natural Earth's 1:50m countries. For comparison it uses orb's reader,
// which has the whole collection in memory.
func BenchmarkCountries(b *testing.B) {
	f, err := os.Open(shared + "/50m/ne_50m_admin_0_countries.geojson.gz")
	if err != nil {
		b.Skip("no shared data: ", err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		b.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		b.Fatal(err)
	}
	run := func(name string, read func() int) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if n := read(); n != 242 {
					b.Fatal(n)
				}
			}
		})
	}
	run("ours", func() (n int) {
		for _, err := range polygons(bytes.NewReader(text), "x") {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		return n
	})
	run("orb", func() int {
		fc, err := orbjson.UnmarshalFeatureCollection(text)
		if err != nil {
			b.Fatal(err)
		}
		return len(fc.Features)
	})
}
