package ogc

import (
	"bytes"
	"fmt"
	"testing"

	"quadrille/feature"
	"quadrille/quadkey"
)

// However large features are, a page and the features that are read for it stay within bounds, and
// every feature is listed once.
func TestLargeFeatures(t *testing.T) {
	const n, border = 100, 3 << 20
	l := &fake{about: feature.Info{Name: "t"}, next: func(after feature.Mark, f *feature.Feature) bool {
		i := 0
		if after != nil {
			_, _ = fmt.Sscanf(string(after), "%d", &i)
			i++
		}
		id := fmt.Sprintf("%04d", i)
		*f = feature.Feature{
			ID:         id,
			Mark:       feature.Mark(id),
			Bounds:     quadkey.Box{East: 1, North: 1},
			Properties: feature.CompactProperties(fmt.Appendf(nil, `"type":"t","id":"%s"`, id)),
			Geometry: feature.GeoJSONGeometry(append(append([]byte(`{"type":"Polygon","coordinates":[`),
				bytes.Repeat([]byte{' '}, border)...), "]}"...)),
		}
		return i < n
	}}
	c := collectionOf(l)
	a := &question{limit: 1000, shown: shown{crs: crs84}}
	seen := 0
	for pages := 0; ; pages++ {
		if pages > 100 {
			t.Fatal("the pages do not end")
		}
		l.read = 0
		var dst []byte
		next, _, err := a.page(t.Context(), c, func(f *feature.Feature) (_ int, err error) {
			if f.ID != fmt.Sprintf("%04d", seen) {
				t.Fatalf("%s instead of %d", f.ID, seen)
			}
			seen++
			dst, err = (&shown{crs: crs84}).writer().Append(dst, f, "")
			return len(dst), err
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(dst) > maxPageBytes+2*border || l.read > 2*maxPageBytes/border+4 {
			t.Errorf("a page has %d bytes, of %d features that were read", len(dst), l.read)
		}
		if next == "" {
			break
		}
		if err := a.Continue(&c.LayerInfo, next); err != nil {
			t.Fatal(err)
		}
	}
	if seen != n {
		t.Errorf("%d features of %d", seen, n)
	}
}
