package topojson_test

import (
	"bytes"
	"os"
	"testing"

	"quadrille/cmd/ingest/internal/source/topojson"
)

// BenchmarkCountries reads the 1:10m countries of world-atlas.
func BenchmarkCountries(b *testing.B) {
	text, err := os.ReadFile("../../../../../sample/node_modules/world-atlas/countries-10m.json")
	if err != nil {
		b.Skip("no sample packages: ", err)
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range topojson.Read(bytes.NewReader(text), "x", "countries") {
			if err != nil {
				b.Fatal(err)
			}
			n++
		}
		if n != 255 {
			b.Fatal(n)
		}
	}
}
