package jsonscan_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"quadrille/cmd/ingest/internal/source/jsonscan"
)

// BenchmarkCoordinates reads the main content of boundary files, compared with the standard
// library.
func BenchmarkCoordinates(b *testing.B) {
	var text bytes.Buffer
	text.WriteByte('[')
	for i := range 10000 {
		if i > 0 {
			text.WriteByte(',')
		}
		fmt.Fprintf(&text, "[%.13f,%.13f]", float64(i)/100, -float64(i)/200)
	}
	text.WriteByte(']')
	read := func(b *testing.B, f func(r *bytes.Reader) float64) {
		b.SetBytes(int64(text.Len()))
		b.ReportAllocs()
		var sum float64
		for b.Loop() {
			sum += f(bytes.NewReader(text.Bytes()))
		}
		if sum == 0 {
			b.Fatal(sum)
		}
	}
	b.Run("jsonscan", func(b *testing.B) {
		read(b, func(r *bytes.Reader) (sum float64) {
			s := jsonscan.New(r)
			if err := s.Array(func(int) error {
				return s.Array(func(int) error {
					f, err := s.Float()
					sum += f
					return err
				})
			}); err != nil {
				b.Fatal(err)
			}
			return sum
		})
	})
	b.Run("encoding-json", func(b *testing.B) {
		read(b, func(r *bytes.Reader) (sum float64) {
			var v [][]float64
			if err := json.NewDecoder(r).Decode(&v); err != nil {
				b.Fatal(err)
			}
			for _, p := range v {
				sum += p[0] + p[1]
			}
			return sum
		})
	})
}
