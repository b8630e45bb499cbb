package web

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"pgregory.net/rapid"
)

func TestAccepted(t *testing.T) {
	for _, tt := range []struct {
		accept     []string
		once, kept Coding
		stream     Coding
	}{
		{nil, Identity, Identity, Identity},
		{[]string{""}, Identity, Identity, Identity},
		{[]string{"gzip, deflate, br, zstd"}, zstded, brotlied, gzipped}, // Chromium, Firefox
		{[]string{"gzip,deflate,br,zstd"}, zstded, brotlied, gzipped},
		{[]string{"gzip, deflate, br"}, gzipped, brotlied, gzipped}, // Safari
		{[]string{"deflate, gzip, br"}, gzipped, brotlied, gzipped}, // curl
		{[]string{"gzip"}, gzipped, gzipped, gzipped},
		{[]string{"gzip", "br"}, gzipped, brotlied, gzipped},
		{[]string{"identity"}, Identity, Identity, Identity},
		{[]string{"identity, gzip"}, gzipped, gzipped, gzipped},
		{[]string{"identity, gzip;q=0.9"}, Identity, Identity, Identity},
		{[]string{"identity;q=0.5, br;q=0.6"}, brotlied, brotlied, Identity},
		{[]string{"identity;q=0"}, Identity, Identity, Identity},
		{[]string{"br;q=0.1, zstd;q=0.2, gzip;q=0.3"}, gzipped, gzipped, gzipped},
		{[]string{"br;q=0, zstd;q=0.001"}, zstded, zstded, Identity},
		{[]string{"*"}, gzipped, gzipped, gzipped},
		{[]string{"*;q=0.5, br"}, brotlied, brotlied, gzipped},
		{[]string{"gzip;q=0, *"}, Identity, Identity, Identity},
		{[]string{"gzip;q=9, br"}, gzipped, brotlied, gzipped},
		{[]string{"gzip;q=-1"}, Identity, Identity, Identity},
		{[]string{",,;q=1, ,gzip;;q=0.5;x=y"}, gzipped, gzipped, gzipped},
		{[]string{"compress, deflate"}, Identity, Identity, Identity},
	} {
		r := &http.Request{Header: http.Header{"Accept-Encoding": tt.accept}}
		if a, b, c := AcceptedCoding(r), AcceptedCacheCoding(r), preferStream.Of(r); a != tt.once || b != tt.kept || c != tt.stream {
			t.Errorf("%q: %d, %d, %d, want %d, %d, %d", tt.accept, a, b, c, tt.once, tt.kept, tt.stream)
		}
		if n := testing.AllocsPerRun(100, func() { AcceptedCoding(r) }); n != 0 {
			t.Errorf("%q: %v allocations", tt.accept, n)
		}
	}
}

// A chosen coding never has weight zero or less weight than another coding.
func TestAcceptedProperty(t *testing.T) {
	names := []string{"identity", "gzip", "zstd", "br"}
	rapid.Check(t, func(t *rapid.T) {
		weights := map[string]int{}
		var items []string
		for _, name := range rapid.Permutation(names).Draw(t, "order")[:rapid.IntRange(0, 4).Draw(t, "named")] {
			weights[name] = rapid.IntRange(0, 1000).Draw(t, "weight")
			items = append(items, fmt.Sprintf("%s;q=%d.%03d", name, weights[name]/1000, weights[name]%1000))
		}
		r := &http.Request{Header: http.Header{"Accept-Encoding": {strings.Join(items, ", ")}}}
		for _, p := range []*preference{&preferOnce, &preferKept, &preferStream} {
			got := p.Of(r)
			best := weights["identity"]
			for _, c := range p.order {
				best = max(best, weights[names[c]])
			}
			if got != Identity && (!slices.Contains(p.order, got) || weights[names[got]] == 0) || weights[names[got]] != best {
				t.Fatalf("%q: %s of %v", items, names[got], p.order)
			}
		}
	})
}

func TestCompress(t *testing.T) {
	text := strings.Repeat("Once upon a time there was a tile. ", 3000)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for c := Identity; c < codingCount; c++ {
				for _, e := range []effort{once, kept} {
					for _, want := range []string{"", "x", text[:compressFrom], text} {
						var b bytes.Buffer
						compress(&b, []byte(want), c, e)
						name := ""
						if c != Identity {
							name = contentEncodings[c][0]
						}
						if got := decoded(t, name, b.String()); got != want {
							t.Errorf("%q of effort %d: %d bytes became %d", name, e, len(want), len(got))
						}
						if c != Identity && len(want) > 10000 && b.Len()*20 > len(want) {
							t.Errorf("%s: %d bytes of %d", name, b.Len(), len(want))
						}
					}
				}
			}
		})
	}
	wait.Wait()
}

// decoded returns a body without its content coding.
func decoded(t testing.TB, encoding, body string) string {
	t.Helper()
	var r io.Reader = strings.NewReader(body)
	var err error
	switch encoding {
	case "gzip":
		r, err = gzip.NewReader(r)
	case "br":
		r = brotli.NewReader(r)
	case "zstd":
		r, err = zstd.NewReader(r)
	case "":
	default:
		t.Fatalf("coding %q", encoding)
	}
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func BenchmarkCompress(b *testing.B) {
	body := bytes.Repeat([]byte(`{"id":2657896,"name":"Zürich","lat":47.36667,"lon":8.55,"country":"CH","class":"P","code":"PPLA","population":341730},`), 100)
	for i := range body {
		if body[i] >= '0' && body[i] <= '9' {
			body[i] = '0' + byte(i*i%10)
		}
	}
	for c := gzipped; c < codingCount; c++ {
		for e, name := range []string{"once", "kept"} {
			b.Run(contentEncodings[c][0]+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(body)))
				b.ReportAllocs()
				var out bytes.Buffer
				for b.Loop() {
					out.Reset()
					compress(&out, body, c, effort(e))
				}
				b.ReportMetric(float64(out.Len())/float64(len(body)), "left")
			})
		}
	}
}
