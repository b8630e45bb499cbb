package ip

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"quadrille/cmd/ingest/internal/job"
)

// cityList writes a list of n ranges in the columns of ip-location-db, with the given number of
// distinct cities in random order.
func cityList(b *testing.B, n, cities int) job.Input {
	var s strings.Builder
	for i := range n {
		c := i * 7919 % cities
		first := uint32(1)<<24 + uint32(i)*256
		fmt.Fprintf(&s, "%d.%d.%d.0,%d.%d.%d.255,%s,State%d,,City %d,,%.4f,%.4f,Europe/Zurich\n", first>>24, first>>16&255,
			first>>8&255, first>>24, first>>16&255, first>>8&255,
			[]string{"CH", "US", "FR", "DE"}[c%4], c%300, c, float64(c%120)-60+float64(c%9999)/1e4, float64(c%360)-180+float64(c%9999)/1e4)
	}
	path := filepath.Join(b.TempDir(), "city.csv")
	if err := os.WriteFile(path, []byte(s.String()), 0o644); err != nil {
		b.Fatal(err)
	}
	return job.Input{Path: path}
}

// BenchmarkIPList reads a list of cities, once into fields only and once into ranges with their
// records. The list has few cities, or too many to remember.
func BenchmarkIPList(b *testing.B) {
	const n = 200_000
	for _, cities := range []int{1000, 150_000} {
		in := cityList(b, n, cities)
		b.Run(fmt.Sprintf("cities=%d", cities), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r, err := openRanges(b.Context(), []Input{{Input: in}}, Options{}, nil, b.TempDir())
				if err != nil {
					b.Fatal(err)
				}
				rows := 0
				for _, err := range r.ranges {
					if err != nil {
						b.Fatal(err)
					}
					rows++
				}
				if err := r.close(); err != nil || rows != n {
					b.Fatal(rows, err)
				}
			}
			b.ReportMetric(float64(n*b.N)/b.Elapsed().Seconds(), "ranges/s")
		})
	}
}
