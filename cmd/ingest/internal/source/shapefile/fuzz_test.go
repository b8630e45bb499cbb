package shapefile_test

import (
	"bytes"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/planar"
	"pgregory.net/rapid"

	"quadrille/cmd/ingest/internal/source"
	"quadrille/cmd/internal/testfile"
)

// check asserts the invariants of a feature of any file.
func check(t interface{ Errorf(string, ...any) }, f source.Feature) {
	var polygons []orb.Polygon
	switch g := f.Geometry.(type) {
	case orb.Polygon:
		polygons = []orb.Polygon{g}
	case orb.MultiPolygon:
		polygons = g
	}
	if len(polygons) == 0 {
		t.Errorf("record %d: geometry %T", f.Line, f.Geometry)
	}
	for _, p := range polygons {
		if len(p) == 0 {
			t.Errorf("record %d: polygon without rings", f.Line)
		}
		for _, r := range p {
			if len(r) < 4 || !r.Closed() {
				t.Errorf("record %d: ring %v", f.Line, r)
			}
			for _, pt := range r {
				if !(math.Abs(pt[0]) <= 360 && math.Abs(pt[1]) <= 90) {
					t.Errorf("record %d: %v", f.Line, pt)
				}
			}
		}
	}
	for name, v := range f.Properties {
		switch v.(type) {
		case string, int64, float64, bool:
		default:
			t.Errorf("record %d: %s is a %T", f.Line, name, v)
		}
	}
}

func FuzzShapefile(f *testing.F) {
	two := shp(5, record(box(0, 0, 4, 4), hole(1, 1, 2, 2)), []byte{0, 0, 0, 0})
	f.Add(two, shx(two))
	f.Add(shp(5, record(hole(0, 0, 4, 4)), record(box(1, 1, 2, 2), box(5, 5, 6, 6), hole(8, 8, 9, 9))), []byte(nil))
	f.Add(shp(15, typed(15, box(0, 0, 1, 1)), typed(25, box(170, 0, 190, 1))), []byte(nil))
	f.Add(shp(5, record(orb.Ring{{0, 0}, {1, 1}, {1, 0}, {0, 1}})), []byte(nil))
	f.Fuzz(func(t *testing.T, b, index []byte) {
		content := map[string][]byte{"a.shp": b}
		if index != nil {
			content["a.shx"] = index
		}
		features, _, _ := read(files(t, content), "")
		for _, feature := range features {
			check(t, feature)
		}
	})
}

func FuzzDBF(f *testing.F) {
	f.Add(named("Zürich"), "UTF-8")
	f.Add(dbf(0x57, []column{
		{"NAME", 'C', 300},
		{"POP", 'N', 12},
		{"OLD", 'L', 1},
		{"SINCE", 'D', 8},
	}, []string{"São", "12", "T", "20200131"}), "")
	f.Add(dbf(0x65, []column{{"NAME", 'C', 3}, {"X", 'F', 20}}, []string{"*ab", "1e400"}), "1252")
	f.Fuzz(func(t *testing.T, b []byte, page string) {
		path := files(t, map[string][]byte{"a.shp": shp(5, record(box(0, 0, 1, 1))), "a.dbf": b, "a.cpg": []byte(page)})
		features, _, _ := read(path, "")
		for _, feature := range features {
			check(t, feature)
		}
	})
}

func FuzzPRJ(f *testing.F) {
	f.Add(wgs84)
	f.Add(utm)
	f.Fuzz(func(t *testing.T, text string) {
		read(files(t, map[string][]byte{"a.shp": shp(5), "a.prj": []byte(text)}), "")
	})
}

func FuzzArchive(f *testing.F) {
	f.Add(archive("a.shp", shp(5, record(box(0, 0, 1, 1))), "a.dbf", named("x"), "a.prj", []byte(wgs84)))
	f.Fuzz(func(t *testing.T, b []byte) {
		if !bytes.HasPrefix(b, []byte("PK")) {
			return
		}
		features, _, _ := read(testfile.WriteTemp(t, "a.zip", b), "")
		for _, feature := range features {
			check(t, feature)
		}
	})
}

// Polygons are read back unchanged, whatever the order of their rings.
func TestNestingProperty(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.shp")
	rapid.Check(t, func(t *rapid.T) {
		var rings []orb.Ring
		want := 0.0
		// The squares are side by side; each consists of nested squares.
		for i := range rapid.IntRange(1, 4).Draw(t, "polygons") {
			at, depth := float64(20*i-60), rapid.IntRange(1, 5).Draw(t, "depth")
			for d := range depth {
				in := float64(d)
				if d%2 == 0 {
					rings = append(rings, box(at+in, in, at+18-in, 18-in))
					want += (18 - 2*in) * (18 - 2*in)
				} else {
					rings = append(rings, hole(at+in, in, at+18-in, 18-in))
					want -= (18 - 2*in) * (18 - 2*in)
				}
			}
		}
		perm := rapid.Permutation(rings).Draw(t, "order")
		if rapid.Bool().Draw(t, "reversed") {
			perm = slices.Clone(perm)
			for i := range perm {
				perm[i] = slices.Clone(perm[i])
				slices.Reverse(perm[i])
			}
		}
		testfile.Write(t, path, shp(5, record(perm...)))
		features, bad, err := read(path, "")
		if err != nil || bad != nil || len(features) != 1 {
			t.Fatal(features, bad, err)
		}
		check(t, features[0])
		if got := planar.Area(features[0].Geometry); math.Abs(math.Abs(got)-want) > 1e-9 {
			t.Fatalf("area %v, want %v: %v", got, want, features[0].Geometry)
		}
	})
}
