package feature

import (
	"reflect"
	"testing"

	"github.com/paulmach/orb"
	"github.com/paulmach/orb/geojson"
	"pgregory.net/rapid"
)

// TestReadPolygons compares readPolygons with package geojson.
func TestReadPolygons(t *testing.T) {
	square := `[[0,0],[1.5,0],[1.5,-2.0000001],[0,0]]`
	for _, c := range []struct {
		text string
		read bool
	}{
		{`{"type":"Polygon","coordinates":[` + square + `]}`, true},
		{`{"type":"Polygon","coordinates":[` + square + `,` + square + `]}`, true},
		{`{"type":"MultiPolygon","coordinates":[[` + square + `],[` + square + `]]}`, true},
		{`{"type":"Polygon","coordinates":[[[-180,0.1],[-0,89.99999]]]}`, true},
		{`{"type":"Polygon","coordinates":[[[0,0,7]]]}`, false},
		{`{"type":"Polygon","coordinates":[[[1e1,0]]]}`, false},
		{`{"type":"Polygon", "coordinates":[[[1,0]]]}`, false},
		{`{"type":"Polygon","coordinates":[[[1,0]]],"bbox":[0,0,1,1]}`, false},
		{`{"type":"Polygon","coordinates":[]}`, false},
		{`{"type":"Polygon","coordinates":[[[1,0]]]} `, false},
		{`{"type":"Polygon","coordinates":[[[01,0]]]}`, false},
		{`{"type":"Polygon","coordinates":[[[.1,0]]]}`, false},
		{`{"type":"Polygon","coordinates":[[[1.,0]]]}`, false},
		{`{"type":"Polygon","coordinates":[[[-,0]]]}`, false},
		{`{"type":"Polygon","coordinates":[[[1-2,0]]]}`, false},
		{`{"type":"Polygon","coordinates":[[[1.2.3,0]]]}`, false},
		{`{"type":"LineString","coordinates":[[1,0],[2,2]]}`, false},
	} {
		if got := readPolygons([]byte(c.text)); (got != nil) != c.read {
			t.Errorf("%s is read as %v", c.text, got)
		}
		samePolygons(t, []byte(c.text))
	}
	rapid.Check(t, func(rt *rapid.T) {
		text := []byte(`{"type":"MultiPolygon","coordinates":[[` + square + `],[` + square + `]]}`)
		for range rapid.IntRange(0, 3).Draw(rt, "errors") {
			i := rapid.IntRange(0, len(text)-1).Draw(rt, "at")
			text[i] = rapid.SampledFrom([]byte(`0123456789.,-e[]{}" `)).Draw(rt, "byte")
		}
		samePolygons(rt, text[:rapid.IntRange(0, len(text)).Draw(rt, "length")])
	})
}

// samePolygons fails if readPolygons reads a text in another way than package geojson.
func samePolygons(t rapid.TB, text []byte) {
	t.Helper()
	got := readPolygons(text)
	if got == nil {
		return
	}
	want, err := geojson.UnmarshalGeometry(text)
	if err != nil || !reflect.DeepEqual(got, want.Geometry()) {
		t.Fatalf("%s is read as %v, want %v, %v", text, got, want, err)
	}
}

func BenchmarkOrb(b *testing.B) {
	ring := make(orb.Ring, 1000)
	for i := range ring {
		ring[i] = orb.Point{float64(i) / 7, -float64(i) / 13}
	}
	text, err := geojson.NewGeometry(orb.MultiPolygon{{ring}}).MarshalJSON()
	if err != nil {
		b.Fatal(err)
	}
	f := Feature{Geometry: GeoJSONGeometry(text)}
	for b.Loop() {
		if _, err := f.Orb(); err != nil {
			b.Fatal(err)
		}
	}
}
