package regiongen

import (
	"bytes"
	"math"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"
)

// read returns the features of a level, as a reader of GeoJSON gets them.
func read(t *testing.T, l *Land, level Level) []*geojson.Feature {
	t.Helper()
	var b bytes.Buffer
	if err := l.Write(&b, level); err != nil {
		t.Fatal(err)
	}
	fc, err := geojson.UnmarshalFeatureCollection(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	return fc.Features
}

func polygonsOf(g orb.Geometry) orb.MultiPolygon {
	if p, ok := g.(orb.Polygon); ok {
		return orb.MultiPolygon{p}
	}
	return g.(orb.MultiPolygon)
}

// Each edge inside the land is an edge of two municipalities, once each way,
// and the regions of every level have the same area together.
func TestRegionsShareBorders(t *testing.T) {
	const n = 3000
	l := New(n, 7)
	var areas [Province + 1]float64
	for level := Municipality; level <= Province; level++ {
		features := read(t, l, level)
		if len(features) != l.Len(level) {
			t.Errorf("%d features of level %v, want %d", len(features), level, l.Len(level))
		}
		type edge struct{ a, b orb.Point }
		count := map[edge]int{}
		for _, f := range features {
			for _, p := range polygonsOf(f.Geometry) {
				for _, r := range p {
					for i := 1; i < len(r); i++ {
						count[edge{r[i-1], r[i]}]++
						areas[level] += (r[i-1][0]*r[i][1] - r[i][0]*r[i-1][1]) / 2
					}
				}
			}
		}
		inner := 0
		for e, times := range count {
			if times != 1 {
				t.Fatalf("level %v has edge %v %d times", level, e, times)
			}
			if count[edge{e.b, e.a}] > 0 {
				inner++
			}
		}
		if inner == 0 || inner == len(count) {
			t.Errorf("level %v: %d of %d edges lie between two regions; some must, and the coast must not", level, inner, len(count))
		}
	}
	for level, a := range areas {
		if box := (east - west) * (north - south); a < box/10 || a > box/2 || math.Abs(a-areas[0]) > 1e-6*a {
			t.Errorf("the regions of level %v have %f square degrees, municipalities %f", Level(level), a, areas[0])
		}
	}
}

func TestSameSeedSameLand(t *testing.T) {
	var a, b, c bytes.Buffer
	for out, seed := range map[*bytes.Buffer]uint64{&a: 1, &b: 1, &c: 2} {
		if err := New(500, seed).Write(out, District); err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) || bytes.Equal(a.Bytes(), c.Bytes()) {
		t.Error("a seed must give one land, and another seed another")
	}
}
