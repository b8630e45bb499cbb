package geopackage

import (
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/paulmach/orb"
	"github.com/paulmach/orb/encoding/wkb"
	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source"
)

// Well-known binary gives the same result as with another library.
func TestAgreesWithOrb(t *testing.T) {
	point := rapid.Custom(func(t *rapid.T) orb.Point {
		return orb.Point{rapid.Float64Range(-180, 180).Draw(t, "x"), rapid.Float64Range(-90, 90).Draw(t, "y")}
	})
	ring := rapid.Custom(func(t *rapid.T) orb.Ring {
		r := orb.Ring(rapid.SliceOfN(point, 3, 8).Draw(t, "ring"))
		return append(r, r[0])
	})
	polygon := rapid.Custom(func(t *rapid.T) orb.Polygon { return rapid.SliceOfN(ring, 1, 3).Draw(t, "polygon") })
	rapid.Check(t, func(t *rapid.T) {
		polygons := rapid.SliceOfN(polygon, 1, 3).Draw(t, "polygons")
		order := []binary.ByteOrder{binary.BigEndian, binary.LittleEndian}[rapid.IntRange(0, 1).Draw(t, "order")]
		body, err := wkb.Marshal(source.JoinPolygons(polygons), order)
		if err != nil {
			t.Fatal(err)
		}
		want, err := wkb.Unmarshal(body)
		if err != nil {
			t.Fatal(err)
		}
		g, reason, _ := decode(append([]byte("GP\x00\x01\x00\x00\x00\x00"), body...), 4326)
		if d := cmp.Diff(want, g); d != "" || reason != "" {
			t.Fatal(reason, d)
		}
	})
}

func FuzzGeometry(f *testing.F) {
	body, err := wkb.Marshal(orb.Collection{orb.MultiPolygon{{{{0, 0}, {1, 0}, {1, 1}, {0, 0}}}}, orb.Point{1, 1}})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append([]byte("GP\x00\x01\x00\x00\x00\x00"), body...))
	f.Add(append([]byte("GP\x00\x03\xe6\x10\x00\x00"), append(make([]byte, 32), body...)...))
	f.Add(append([]byte("GP\x00\x00\x00\x00\x10\xe6"), body[9:]...))
	f.Fuzz(func(t *testing.T, b []byte) {
		kept := slices.Clone(b)
		g, reason, _ := decode(b, 4326)
		if (reason == "") != (g != nil) {
			t.Fatalf("%q and %v", reason, g)
		}
		if !slices.Equal(kept, b) {
			t.Fatal("the blob was changed")
		}
		var polygons orb.MultiPolygon
		switch g, _, _, _ := source.PolygonsOf(g); g := g.(type) {
		case orb.Polygon:
			polygons = orb.MultiPolygon{g}
		case orb.MultiPolygon:
			polygons = g
		}
		for _, p := range polygons {
			for _, r := range p {
				if len(r) < 4 || !r.Closed() {
					t.Fatalf("ring %v", r)
				}
				for _, pt := range r {
					if !(math.Abs(pt[0]) <= 360 && math.Abs(pt[1]) <= 90) {
						t.Fatal(pt)
					}
				}
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	ring := make(orb.Ring, 0, 10_001)
	for i := range 10_000 {
		sin, cos := math.Sincos(float64(i) / 10_000 * 2 * math.Pi)
		ring = append(ring, orb.Point{10 * cos, 10 * sin})
	}
	body, err := wkb.Marshal(orb.Polygon{append(ring, ring[0])})
	if err != nil {
		b.Fatal(err)
	}
	blob := append([]byte("GP\x00\x01\x00\x00\x00\x00"), body...)
	b.ReportAllocs()
	b.SetBytes(int64(len(blob)))
	for b.Loop() {
		g, reason, _ := decode(blob, 4326)
		if reason == "" {
			_, _, reason, _ = source.PolygonsOf(g)
		}
		if reason != "" {
			b.Fatal(reason)
		}
	}
}
