package quadkey

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geo"
	"github.com/paulmach/orb/maptile"
)

// cityPoints returns points that are distributed like people: seven in eight around cities, most
// within 15 km, and one in eight anywhere.
func cityPoints(n int) []orb.Point {
	cities := []orb.Point{
		{139.69, 35.69}, {77.21, 28.61}, {121.47, 31.23}, {-46.63, -23.55}, {-99.13, 19.43},
		{31.24, 30.04}, {72.88, 19.08}, {-74.01, 40.71}, {2.35, 48.85}, {13.40, 52.52},
		{3.38, 6.52}, {151.21, -33.87}, {178.44, -18.14}, {-149.90, 61.22}, {18.96, 69.65},
	}
	r := rand.New(rand.NewPCG(7, 7))
	points := make([]orb.Point, n)
	for i := range points {
		c := cities[r.IntN(len(cities))]
		points[i] = orb.Point{c[0] + r.NormFloat64()*0.15, c[1] + r.NormFloat64()*0.1}
		if r.IntN(8) == 0 {
			points[i] = orb.Point{r.Float64()*360 - 180, r.Float64()*160 - 80}
		}
	}
	return points
}

const benchPoints = 1 << 12 // a power of two, so masks can index

func BenchmarkCellOf(b *testing.B) {
	points := cityPoints(benchPoints)
	b.ReportAllocs()
	var sum Cell
	for i := 0; b.Loop(); i++ {
		p := &points[i%benchPoints]
		c, err := CellOf(p[0], p[1])
		if err != nil {
			b.Fatal(err)
		}
		sum += c
	}
	_ = sum
}

func BenchmarkTileAt(b *testing.B) {
	points := cityPoints(benchPoints)
	b.Run("quadkey", func(b *testing.B) {
		b.ReportAllocs()
		var sum uint32
		for i := 0; b.Loop(); i++ {
			p := &points[i%benchPoints]
			t, err := TileAt(p[0], p[1], 13)
			if err != nil {
				b.Fatal(err)
			}
			sum += t.X + t.Y
		}
		_ = sum
	})
	b.Run("orb", func(b *testing.B) {
		b.ReportAllocs()
		var sum uint32
		for i := 0; b.Loop(); i++ {
			t := maptile.At(points[i%benchPoints], 13)
			sum += t.X + t.Y
		}
		_ = sum
	})
}

func BenchmarkKey(b *testing.B) {
	tiles := make([]Tile, benchPoints)
	for i, p := range cityPoints(benchPoints) {
		tiles[i], _ = TileAt(p[0], p[1], uint8(i%14))
	}
	b.ReportAllocs()
	var sum byte
	for i := 0; b.Loop(); i++ {
		k := tiles[i%benchPoints].Key()
		sum += k[3]
	}
	_ = sum
}

func BenchmarkPacked(b *testing.B) {
	points := cityPoints(benchPoints)
	b.Run("quadkey", func(b *testing.B) {
		b.ReportAllocs()
		var sum uint64
		t, _ := TileAt(points[0][0], points[0][1], MaxZoom)
		for b.Loop() {
			sum += t.Packed()
			t.X++
		}
		_ = sum
	})
	b.Run("orb", func(b *testing.B) {
		b.ReportAllocs()
		var sum uint64
		t := maptile.At(points[0], MaxZoom)
		for b.Loop() {
			sum += t.Quadkey()
			t.X++
		}
		_ = sum
	})
}

func BenchmarkDistance(b *testing.B) {
	points := cityPoints(benchPoints)
	b.Run("quadkey", func(b *testing.B) {
		b.ReportAllocs()
		var sum float64
		for i := 0; b.Loop(); i++ {
			p, q := &points[i%benchPoints], &points[(i+1)%benchPoints]
			sum += Distance(p[0], p[1], q[0], q[1])
		}
		_ = sum
	})
	b.Run("orb", func(b *testing.B) {
		b.ReportAllocs()
		var sum float64
		for i := 0; b.Loop(); i++ {
			sum += geo.DistanceHaversine(points[i%benchPoints], points[(i+1)%benchPoints])
		}
		_ = sum
	})
}

// BenchmarkMinDistance measures like a nearest-place search: tiles around the point.
func BenchmarkMinDistance(b *testing.B) {
	points := cityPoints(benchPoints)
	tiles := make([]Tile, benchPoints)
	for i, p := range points {
		t, err := TileAt(p[0], p[1], uint8(8+i%9))
		if err != nil {
			b.Fatal(err)
		}
		n := uint32(1) << t.Z
		tiles[i] = Tile{t.Z, (t.X + uint32(i%5) + n - 2) % n, (t.Y + uint32(i/5%5) + n - 2) % n}
	}
	b.ReportAllocs()
	var sum float64
	for i := 0; b.Loop(); i++ {
		p := &points[i%benchPoints]
		sum += tiles[i%benchPoints].MinDistance(p[0], p[1])
	}
	_ = sum
}

func BenchmarkCoverBox(b *testing.B) {
	points := cityPoints(benchPoints)
	for _, size := range []float64{0.02, 0.5, 10} { // degrees: a street map, a city, a country
		for _, limit := range []int{8, 32} {
			b.Run(fmt.Sprintf("%vdeg/%d", size, limit), func(b *testing.B) {
				b.ReportAllocs()
				n := 0
				for i := 0; b.Loop(); i++ {
					p := &points[i%benchPoints]
					box := Box{p[0] - size/2, p[1] - size/4, p[0] + size/2, p[1] + size/4}
					if box.West < -180 || box.East > 180 {
						continue
					}
					r, err := CoverBox(box, limit)
					if err != nil {
						b.Fatal(err)
					}
					n += len(r)
				}
				b.ReportMetric(float64(n)/float64(b.N), "ranges/op")
			})
		}
	}
}

func BenchmarkCoverCircle(b *testing.B) {
	points := cityPoints(benchPoints)
	for _, radius := range []float64{1e3, 25e3, 1e6} {
		for _, limit := range []int{8, 32} {
			b.Run(fmt.Sprintf("%vkm/%d", radius/1000, limit), func(b *testing.B) {
				b.ReportAllocs()
				n := 0
				for i := 0; b.Loop(); i++ {
					p := &points[i%benchPoints]
					r, err := CoverCircle(p[0], p[1], radius, limit)
					if err != nil {
						b.Fatal(err)
					}
					n += len(r)
				}
				b.ReportMetric(float64(n)/float64(b.N), "ranges/op")
			})
		}
	}
}
