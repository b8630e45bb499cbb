package dataset

import (
	"sync/atomic"
	"testing"
)

// BenchmarkAcquire measures the cost to every request of swapping generations under load.
func BenchmarkAcquire(b *testing.B) {
	c, _ := newCatalog(b)
	mustIngest(b, c, "ip", "one")
	l, _ := newLive(b, c)
	if err := l.Poll(b.Context()); err != nil {
		b.Fatal(err)
	}
	once := func(b *testing.B) int {
		h, err := l.Acquire()
		if err != nil {
			b.Fatal(err)
		}
		n := len(h.Value().want)
		h.Release()
		return n
	}
	b.Run("one", func(b *testing.B) {
		b.ReportAllocs()
		n := 0
		for b.Loop() {
			n += once(b)
		}
		if n == 0 {
			b.Error("nothing was served")
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		var total atomic.Int64
		b.RunParallel(func(pb *testing.PB) {
			n := 0
			for pb.Next() {
				n += once(b)
			}
			total.Add(int64(n))
		})
		if total.Load() == 0 {
			b.Error("nothing was served")
		}
	})
}

// BenchmarkPoll measures the check of an unchanged CURRENT, made every two seconds.
func BenchmarkPoll(b *testing.B) {
	c, _ := newCatalog(b)
	mustIngest(b, c, "ip", "one")
	l, _ := newLive(b, c)
	b.ReportAllocs()
	for b.Loop() {
		if err := l.Poll(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpenCurrent measures this package's part of a server's start: pointer, manifest, sizes
// of files, store.
func BenchmarkOpenCurrent(b *testing.B) {
	c := newPebbleCatalog(b)
	mustIngest(b, c, "ip", "one")
	b.ReportAllocs()
	for b.Loop() {
		g, err := c.OpenCurrent(b.Context(), "ip")
		if err != nil {
			b.Fatal(err)
		}
		if err := g.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
