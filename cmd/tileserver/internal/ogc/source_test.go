package ogc

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	datasets "quadrille/ask"
	"quadrille/quadkey"
)

// largeRegions has n regions with borders of so many bytes.
type largeRegions struct {
	datasets.Boundaries
	n, bytes int
	read     int // regions that were read
}

func (b *largeRegions) EachRegion(_ context.Context, _, after string, geometry bool, fn func(id string, record, geometry []byte) error) error {
	for i := range b.n {
		id := fmt.Sprintf("%04d", i)
		if id <= after {
			continue
		}
		b.read++
		var border []byte
		if geometry {
			border = append(append([]byte(`{"type":"Polygon","coordinates":[`), bytes.Repeat([]byte{' '}, b.bytes)...), "]}"...)
		}
		if err := fn(id, fmt.Appendf(nil, `{"type":"t","id":"%s","bbox":[0,0,1,1],"name":"n"}`, id), border); err != nil {
			return err
		}
	}
	return nil
}

// However large regions are, a page and what is read for it stay within bounds, and every
// region comes once.
func TestLargeRegions(t *testing.T) {
	b := &largeRegions{n: 100, bytes: 3 << 20}
	c := &collection{id: "t", source: &regions{Boundaries: b, layer: "t"}}
	a := &ask{box: quadkey.World, limit: 1000, crs: crs84}
	seen := 0
	for pages := 0; ; pages++ {
		if pages > 100 {
			t.Fatal("the pages do not end")
		}
		b.read = 0
		var dst []byte
		next, err := a.page(t.Context(), c, true, func(f *item) (int, error) {
			if f.id != fmt.Sprintf("%04d", seen) || string(f.bbox) != "[0,0,1,1]" || string(f.properties) != `"type":"t","id":"`+f.id+`","name":"n"` {
				t.Fatalf("%s %s %s instead of %d", f.id, f.bbox, f.properties, seen)
			}
			seen++
			dst = f.append(dst, a.crs, nil)
			return len(dst), nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(dst) > maxPageBytes+2*b.bytes || b.read > 2*maxPageBytes/b.bytes+4 {
			t.Errorf("a page has %d bytes, of %d regions that were read", len(dst), b.read)
		}
		if a.cursor = next; next == "" {
			break
		}
	}
	if seen != b.n {
		t.Errorf("%d regions of %d", seen, b.n)
	}
}
