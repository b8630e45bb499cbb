package airports

import (
	"testing"

	"quadrille/cellstore"
)

// BenchmarkLookup compares Lookup with the get alone, without making a key or a record.
func BenchmarkLookup(b *testing.B) {
	list := scatter(9, 50_000)
	f, _ := newFinder(b, list)
	codes := make([]string, 4096)
	keys := make([][]byte, len(codes))
	for i := range codes {
		codes[i] = list[i*11].Ident
		keys[i] = append([]byte{byte(Local)}, codes[i]...)
	}
	b.Run("code", func(b *testing.B) {
		b.ReportAllocs()
		var r Record
		for i := 0; b.Loop(); i++ {
			if err := f.Lookup(b.Context(), codes[i%len(codes)], &r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("get", func(b *testing.B) {
		b.ReportAllocs()
		var row cellstore.Row
		for i := 0; b.Loop(); i++ {
			if found, err := f.codes.Get(b.Context(), keys[i%len(keys)], nil, &row); !found || err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("missing", func(b *testing.B) {
		b.ReportAllocs()
		var r Record
		for b.Loop() {
			if err := f.Lookup(b.Context(), "QQQ", &r); err == nil {
				b.Fatal("found")
			}
		}
	})
}
