package mvt_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/paulmach/orb"
	orbmvt "github.com/paulmach/orb/encoding/mvt"
	"pgregory.net/rapid"

	"quadrille/tiles/mvt"
)

func ExampleLayer() {
	var l mvt.Layer
	l.Reset("country")
	l.Begin(7, mvt.Polygon)
	l.TagString("name", "Lesotho")
	l.Ring([]mvt.XY{{X: 0, Y: 0}, {X: 4096, Y: 0}, {X: 4096, Y: 4096}})
	l.End()
	tile := l.AppendTo(nil)

	var v mvt.LayerView
	_, _, err := mvt.NextLayer(tile, &v)
	if err != nil {
		panic(err)
	}
	f, err := v.Feature(0)
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s %d %s\n", v.Name, f.ID, v.StringTag(f, "name"))
	// Output: country 7 Lesotho
}

// TestRoundTrip tests that both our reader and another decoder read back what the writer has
// written.
func TestRoundTrip(t *testing.T) {
	var l mvt.Layer // reused: leftovers of one layer must not show in the next
	rapid.Check(t, func(rt *rapid.T) {
		type feature struct {
			id    uint64
			name  string
			pop   int64
			rings [][]mvt.XY
		}
		var want []feature
		l.Reset("land")
		n := rapid.IntRange(1, 5).Draw(rt, "features")
		for i := range n {
			f := feature{
				id:   uint64(i + 1),
				name: rapid.StringMatching(`[a-zé]{0,4}`).Draw(rt, "name"),
				pop:  int64(rapid.IntRange(-5, 5).Draw(rt, "pop")),
			}
			l.Begin(f.id, mvt.Polygon)
			l.TagString("name", f.name)
			l.TagInt("pop", f.pop)
			for range rapid.IntRange(1, 3).Draw(rt, "rings") {
				x := int32(rapid.IntRange(-100, 4000).Draw(rt, "x"))
				y := int32(rapid.IntRange(-100, 4000).Draw(rt, "y"))
				d := int32(rapid.IntRange(1, 100).Draw(rt, "d"))
				ring := []mvt.XY{{X: x, Y: y}, {X: x + d, Y: y}, {X: x + d, Y: y + d}, {X: x, Y: y + d}}
				l.Ring(ring)
				f.rings = append(f.rings, ring)
			}
			l.End()
			want = append(want, f)
		}
		tile := l.AppendTo(nil)

		layers, err := orbmvt.Unmarshal(tile)
		if err != nil {
			rt.Fatal(err)
		}
		if len(layers) != 1 || layers[0].Name != "land" || layers[0].Extent != mvt.Extent || layers[0].Version != 2 ||
			len(layers[0].Features) != n {
			rt.Fatalf("decoded %+v", layers)
		}
		var v mvt.LayerView
		rest, ok, err := mvt.NextLayer(tile, &v)
		if err != nil || !ok || len(rest) != 0 || v.Len() != n {
			rt.Fatalf("%v %v %d %d", err, ok, len(rest), v.Len())
		}
		for i, w := range want {
			of := layers[0].Features[i]
			if of.Properties["name"] != w.name || fmt.Sprint(of.Properties["pop"]) != fmt.Sprint(w.pop) {
				rt.Fatalf("properties %v, want %+v", of.Properties, w)
			}
			var rings int
			switch g := of.Geometry.(type) {
			case orb.Polygon:
				rings = len(g)
			case orb.MultiPolygon:
				for _, p := range g {
					rings += len(p)
				}
			}
			if rings != len(w.rings) {
				rt.Fatalf("%d rings, want %d", rings, len(w.rings))
			}
			f, err := v.Feature(i)
			if err != nil || f.ID != w.id || f.Type != mvt.Polygon {
				rt.Fatalf("%+v, %v", f, err)
			}
			if got := v.StringTag(f, "name"); string(got) != w.name || got == nil {
				rt.Fatalf("name %q, want %q", got, w.name)
			}
			err = v.EachTag(f, func(key, value []byte) bool {
				if string(key) == "pop" {
					if n, ok := mvt.NumberValue(value); !ok || n != float64(w.pop) {
						rt.Fatalf("pop %v %v, want %d", n, ok, w.pop)
					}
				}
				return true
			})
			if err != nil {
				rt.Fatal(err)
			}
			var p mvt.Path
			p.Reset(f)
			for _, ring := range w.rings {
				pts, closed, ok, err := p.Next(nil)
				if err != nil || !ok || !closed || !slices.Equal(pts, ring) {
					rt.Fatalf("ring %v %v %v %v, want %v", pts, closed, ok, err, ring)
				}
			}
			if _, _, ok, err := p.Next(nil); ok || err != nil {
				rt.Fatalf("more than the rings: %v %v", ok, err)
			}
		}
	})
}

func TestEmptyLayerIsNothing(t *testing.T) {
	var l mvt.Layer
	l.Reset("land")
	l.Begin(1, mvt.Polygon)
	l.Ring([]mvt.XY{{X: 0, Y: 0}, {X: 1, Y: 1}}) // no ring
	l.End()
	if got := l.AppendTo(nil); len(got) != 0 || l.Len() != 0 {
		t.Errorf("%x", got)
	}
}

// walk reads everything in a tile.
func walk(tile []byte) error {
	var v mvt.LayerView
	for {
		rest, ok, err := mvt.NextLayer(tile, &v)
		if err != nil || !ok {
			return err
		}
		tile = rest
		for i := range v.Len() {
			f, err := v.Feature(i)
			if err != nil {
				return err
			}
			if err := v.EachTag(f, func(_, value []byte) bool {
				mvt.StringValue(value)
				mvt.NumberValue(value)
				return true
			}); err != nil {
				return err
			}
			v.StringTag(f, "name")
			var p mvt.Path
			p.Reset(f)
			for {
				_, _, ok, err := p.Next(nil)
				if err != nil {
					return err
				}
				if !ok {
					break
				}
			}
		}
	}
}

const fixtures = "../../../shared/data/mvt-fixtures"

// The reader reads every tile of the public fixture set without a panic, and the valid ones without
// an error.
func TestFixtures(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join(fixtures, "*/tile.mvt"))
	if len(files) == 0 {
		t.Skipf("no fixtures in %s", fixtures)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.ReadFile(filepath.Join(filepath.Dir(file), "info.json"))
		if err != nil {
			t.Fatal(err)
		}
		err = walk(data)
		if err != nil && !errors.Is(err, mvt.ErrMalformed) {
			t.Errorf("%s: an error of another kind: %v", file, err)
		}
		// Fixture 057 declares 536,870,911 points and has one. By the wording of the specification
		// it is valid, but a reader must not trust such a count.
		if err != nil && validV2(info) && filepath.Base(filepath.Dir(file)) != "057" {
			t.Errorf("%s is valid and refused: %v", file, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	files, _ := filepath.Glob(filepath.Join(fixtures, "*/tile.mvt"))
	for _, file := range files {
		if data, err := os.ReadFile(file); err == nil {
			f.Add(data)
		}
	}
	var l mvt.Layer
	l.Reset("x")
	l.Begin(1, mvt.Point)
	l.TagInt("n", -3)
	l.Point(mvt.XY{X: 5, Y: 6})
	l.End()
	f.Add(l.AppendTo(nil))
	f.Fuzz(func(t *testing.T, tile []byte) {
		if err := walk(tile); err != nil && !errors.Is(err, mvt.ErrMalformed) {
			t.Fatal(err)
		}
	})
}

// validV2 reads the fixture's verdict for version 2 of the specification.
func validV2(info []byte) bool {
	var v struct {
		Validity struct{ V2 any }
	}
	return json.Unmarshal(info, &v) == nil && v.Validity.V2 == true
}
