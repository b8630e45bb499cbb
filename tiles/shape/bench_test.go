package shape_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/paulmach/orb"

	"quadrille/internal/must"
	"quadrille/quadkey"
	"quadrille/tiles/shape"
)

// rough returns a polygon around 8° E, 47° N.
func rough(vertices int) orb.Polygon {
	rnd := rand.New(rand.NewPCG(1, 2))
	var r orb.Ring
	for i := range vertices {
		sin, cos := math.Sincos(2 * math.Pi * float64(i) / float64(vertices))
		far := 3 + 0.3*math.Sin(float64(i)/50) + 0.05*rnd.Float64()
		r = append(r, orb.Point{8 + far*cos, 47 + far*sin})
	}
	return orb.Polygon{append(r, r[0])}
}

// BenchmarkNew measures the preparation of a polygon of 10,000 positions.
func BenchmarkNew(b *testing.B) {
	p := rough(10_000)
	for b.Loop() {
		must.Get(shape.New(p, 0)).In(b)
	}
}

// BenchmarkContains measures positions around such a polygon.
func BenchmarkContains(b *testing.B) {
	a := must.Get(shape.New(rough(10_000), 0)).In(b)
	rnd := rand.New(rand.NewPCG(3, 4))
	for b.Loop() {
		a.Contains(quadkey.Position{Lon: 4 + 8*rnd.Float64(), Lat: 43 + 8*rnd.Float64()})
	}
}
