package zones

import (
	"math/rand/v2"
	"testing"
	"time"
)

// BenchmarkOffset compares Offset with Go's own lookup in a loaded zone, which reads no table.
func BenchmarkOffset(b *testing.B) {
	r := newReader(b, some)
	locations := make([]*time.Location, len(some))
	for i, name := range some {
		locations[i] = location(b, name)
	}
	rng := rand.New(rand.NewPCG(1, 2))
	at := make([]time.Time, 4096)
	for i := range at {
		at[i] = first.Add(time.Duration(rng.Int64N(int64(after.Sub(first)/time.Second))) * time.Second)
	}
	b.Run("store", func(b *testing.B) {
		b.ReportAllocs()
		sum := 0
		for i := 0; b.Loop(); i++ {
			o, err := r.Offset(b.Context(), some[i%len(some)], at[i%len(at)])
			if err != nil {
				b.Fatal(err)
			}
			sum += o.Seconds
		}
		if sum == 0 {
			b.Fatal("no offsets")
		}
	})
	b.Run("time.Location", func(b *testing.B) {
		b.ReportAllocs()
		sum := 0
		for i := 0; b.Loop(); i++ {
			_, seconds := at[i%len(at)].In(locations[i%len(some)]).Zone()
			sum += seconds
		}
		if sum == 0 {
			b.Fatal("no offsets")
		}
	})
}
